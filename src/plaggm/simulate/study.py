"""A simulated study: groups of people, scanned over time, whose motion distorts their networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.arguments import check_count
from plaggm.wording import shown

from .confounding import SHAPES, Nuisance, build_nuisance, draw_motion
from .graphs import (
    GRAPHS,
    NUISANCES,
    draw_nuisance,
    draw_support,
    draw_weights,
    rewire,
    scale_factor,
    spectral_radius,
)
from .paper import numbered
from .sampling import sample_rows
from .validate import (
    SeedLike,
    check_choice,
    check_confounder,
    check_flag,
    check_radii,
    check_range,
    check_threshold,
    random_streams,
)

# Standard deviation of the logarithm of the amount by which people move: that of the mean framewise
# displacement in a resting-state cohort.
SUBJECT_MOTION_SPREAD = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedStudy:
    """Data of a study, one row for each person and time point, with the truth.

    Attributes
    ----------
    x : ndarray of shape (n, p)
        Rows are ordered by person, then by time.
    confounder : ndarray of shape (n, m)
        Confounders of the same rows.
    subject, group : ndarray of str, shape (n,)
        Subject of every row, and the group of that subject.
    time : ndarray of int, shape (n,)
        Number of the row among its subject's, from zero.
    groups : tuple of str
        The G group labels, in the order of ``omega``.
    subjects : tuple of str
        The S subject labels, in the order of ``subject_omega``.
    omega, support : ndarray of shape (G, p, p)
        True Ω0 of each group (zero diagonal) and where it is not zero.
    subject_omega : ndarray of shape (S, p, p)
        True Ω0 of each person: the edges of the group with individual strengths.
    threshold : ndarray of shape (m,)
        g* of every confounder.
    nuisance : Nuisance
        R(g), the same for everybody.
    settings : dict
        Every argument, and the factors ``omega_scale`` and ``nuisance_scale``.

    Examples
    --------
    >>> from plaggm.simulate import simulate_study
    >>> study = simulate_study(4, seed=0, n_subjects=2, n_times=30)
    >>> study.subjects
    ('sub-1', 'sub-2', 'sub-3', 'sub-4')
    >>> study.difference("control", "patient").shape
    (4, 4)
    """

    x: np.ndarray = field(repr=False)
    confounder: np.ndarray = field(repr=False)
    subject: np.ndarray = field(repr=False)
    group: np.ndarray = field(repr=False)
    time: np.ndarray = field(repr=False)
    groups: tuple[str, ...]
    subjects: tuple[str, ...] = field(repr=False)
    omega: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    subject_omega: np.ndarray = field(repr=False)
    threshold: np.ndarray
    nuisance: Nuisance = field(repr=False)
    settings: dict[str, Any]

    def difference(self, first: str | None = None, second: str | None = None) -> np.ndarray:
        """True Ω0 of the second group minus that of the first, by label; shape (p, p)."""
        a = 0 if first is None else self._position(first)
        b = min(1, len(self.groups) - 1) if second is None else self._position(second)
        return self.omega[b] - self.omega[a]

    def to_frame(self) -> pd.DataFrame:
        """All rows as one table: subject, group, time, motion columns and variables."""
        labels = pd.DataFrame({"subject": self.subject, "group": self.group, "time": self.time})
        motion = pd.DataFrame(self.confounder, columns=numbered("motion", self.confounder.shape[1]))
        x = pd.DataFrame(self.x, columns=numbered("v", self.x.shape[1]))
        return pd.concat([labels, motion, x], axis=1)

    def _position(self, label: str) -> int:
        check_choice("group", label, self.groups)
        return self.groups.index(label)


def simulate_study(
    p: int = 20,
    *,
    seed: SeedLike,
    groups: Sequence[str] = ("control", "patient"),
    n_subjects: int | Sequence[int] = 10,
    n_times: int = 150,
    n_confounders: int = 3,
    confounder: ArrayLike | None = None,
    threshold: float | ArrayLike = 0.5,
    motion_ratio: float = 1.5,
    difference: float = 0.2,
    density: float = 0.2,
    graph: str = "erdos-renyi",
    shape: str = "saturating",
    even: bool = True,
    nuisance: str = "dense",
    target_radius: float = 0.35,
    subject_radius: float = 0.05,
    nuisance_radius: float = 0.55,
    mean_shift: float = 0.0,
    variance_inflation: float = 0.0,
) -> SimulatedStudy:
    r"""Simulate people in groups, measured over time while they move.

    Row t of person s, who belongs to group c, is drawn from the Gaussian with precision matrix
    :math:`I - (\Omega_c + E_s) - \sum_m f_m(g_{stm}) W_m`. The groups share all edges except a
    given share; E_s perturbs the strengths of the group's edges. The effect of motion is the same for all
    people, but later groups may move more, so that networks without adjustment differ in pairs that do not
    differ in truth. Given the confounder, time points are independent.

    Parameters
    ----------
    p : int
        Number of variables (regions), at least 2.
    seed : int, SeedSequence, Generator or None
        Handed to ``numpy.random.default_rng``.
    groups : sequence of str
        Distinct group labels.
    n_subjects : int or sequence of int
        People in each group.
    n_times : int
        Time points for each person.
    n_confounders : int
        Motion columns m. They are signed, autocorrelated and mostly small, and burst together.
    confounder : array_like of shape (S, T, m), optional
        Measured confounders to use instead, for the S people in the order of the groups; it then
        sets ``n_times`` and ``n_confounders``, and ``motion_ratio`` has no effect.
    threshold : float or array_like of shape (m,)
        g* of each confounder. Simulated motion is generated in these units.
    motion_ratio : float
        Ratio of the amounts of motion of each group and the previous one.
    difference : float in [0, 1]
        Share of the first group's edges that each other group lacks; it has as many others.
    density, graph, shape, even, nuisance
        See `simulate_paper`. Here R is even by default, since motion in either direction has the same
        effect, and bounded, so that its scale does not depend on a single burst.
    target_radius, subject_radius, nuisance_radius : float
        Spectral radii of the strongest group's Ω0, of each E_s, and of R where it is largest (for
        several confounders the sum of their terms). The three must add up to less than 1.
    mean_shift, variance_inflation : float
        See `simulate_paper`.

    Returns
    -------
    SimulatedStudy

    Examples
    --------
    >>> from plaggm.simulate import simulate_study
    >>> study = simulate_study(8, n_subjects=3, n_times=50, seed=0)
    >>> study.x.shape, study.confounder.shape, study.groups
    ((300, 8), (300, 3), ('control', 'patient'))
    >>> study.to_frame().groupby("group")["subject"].nunique().to_dict()
    {'control': 3, 'patient': 3}
    """
    check_count("p", p, 2)
    groups = (groups,) if isinstance(groups, str) else groups
    if not isinstance(groups, Sequence) or not all(isinstance(label, str) for label in groups):
        raise ValueError(f"groups must be a list of labels; got {shown(groups)}.")
    groups = tuple(groups)
    if not groups or len(set(groups)) != len(groups):
        raise ValueError(f"groups must be one or more distinct labels; got {groups!r}.")
    sizes = _group_sizes(n_subjects, len(groups))
    check_range("motion_ratio", motion_ratio, 0.0, low_open=True)
    check_range("difference", difference, 0.0, 1.0, high_open=False)
    check_range("density", density, 0.0, 1.0, high_open=False)
    check_choice("graph", graph, GRAPHS)
    check_choice("shape", shape, SHAPES)
    check_choice("nuisance", nuisance, NUISANCES)
    check_radii(
        target_radius=target_radius,
        subject_radius=subject_radius,
        nuisance_radius=nuisance_radius,
    )
    check_range("mean_shift", mean_shift, 0.0)
    check_range("variance_inflation", variance_inflation, 0.0)
    check_flag("even", even)

    streams = random_streams(seed, 5)
    graph_rng, subject_rng, nuisance_rng, confounder_rng, noise_rng = streams
    membership = np.repeat(np.arange(len(groups)), sizes)
    if confounder is None:
        check_count("n_times", n_times, 1)
        check_count("n_confounders", n_confounders, 1)
        thresholds = check_threshold(threshold, n_confounders)
        amount = np.exp(SUBJECT_MOTION_SPREAD * confounder_rng.standard_normal(len(membership)))
        amount *= motion_ratio**membership
        series = draw_motion(len(membership), n_times, n_confounders, confounder_rng)
        series *= amount[:, None, None] * thresholds
    else:
        series = check_confounder(confounder, (3,))
        if len(series) != len(membership):
            raise ValueError(
                f"confounder holds {len(series)} people; n_subjects={n_subjects!r} in "
                f"{len(groups)} groups makes {len(membership)}. They must agree."
            )
        thresholds = check_threshold(threshold, series.shape[2])
    n_times, m = series.shape[1:]
    g = series.reshape(-1, m)
    person = np.repeat(np.arange(len(membership)), n_times)

    omega, omega_scale = _group_networks(
        p, len(groups), graph, density, difference, target_radius, graph_rng
    )
    support = omega != 0.0
    subject_omega = omega[membership] + _subject_effects(
        support[membership], subject_radius, subject_rng
    )
    effect, nuisance_scale = build_nuisance(
        np.stack([draw_nuisance(nuisance, p, density, nuisance_rng) for _ in range(m)]),
        g,
        shape=shape,
        threshold=thresholds,
        even=even,
        printed=False,
        radius=nuisance_radius,
        direction=mean_shift * nuisance_rng.standard_normal((m, p)),
        inflation=float(variance_inflation),
    )
    x = sample_rows(
        lambda rows: subject_omega[person[rows]] + effect(g[rows]), len(g), p, noise_rng
    )
    x = effect.mean(g) + effect.scale(g)[:, None] * x
    subjects = tuple(numbered("sub-", len(membership)))
    return SimulatedStudy(
        x=x,
        confounder=g,
        subject=np.array(subjects)[person],
        group=np.array(groups)[membership[person]],
        time=np.tile(np.arange(n_times), len(membership)),
        groups=groups,
        subjects=subjects,
        omega=omega,
        support=support,
        subject_omega=subject_omega,
        threshold=thresholds,
        nuisance=effect,
        settings={
            "p": p,
            "seed": int(seed) if isinstance(seed, Integral) else None,
            "threshold": thresholds.tolist(),
            "groups": list(groups),
            "n_subjects": sizes,
            "n_times": n_times,
            "n_confounders": m,
            "confounder": "motion" if confounder is None else "given",
            "motion_ratio": motion_ratio,
            "difference": difference,
            "density": density,
            "graph": graph,
            "shape": shape,
            "even": even,
            "nuisance": nuisance,
            "target_radius": target_radius,
            "subject_radius": subject_radius,
            "nuisance_radius": nuisance_radius,
            "mean_shift": mean_shift,
            "variance_inflation": variance_inflation,
            "omega_scale": omega_scale,
            "nuisance_scale": nuisance_scale.tolist(),
        },
    )


def _group_sizes(n_subjects: int | Sequence[int], n_groups: int) -> list[int]:
    sizes: list[Any] = [n_subjects] * n_groups
    if isinstance(n_subjects, Sequence | np.ndarray) and np.ndim(n_subjects):
        if len(n_subjects) != n_groups:
            raise ValueError(
                f"n_subjects must be one number or one for each of the {n_groups} groups; "
                f"got {n_subjects!r}."
            )
        sizes = list(n_subjects)
    for size in sizes:
        check_count("n_subjects", size, 1)
    return [int(size) for size in sizes]


def _group_networks(
    p: int,
    n_groups: int,
    graph: str,
    density: float,
    difference: float,
    radius: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Ω0 of each group, of shape (G, p, p), and their common scale.

    Because of the common scale, a shared edge has the same strength in all groups.
    """
    base = draw_weights(draw_support(graph, p, density, rng), rng)
    networks = np.stack([base] + [rewire(base, difference, rng) for _ in range(n_groups - 1)])
    strongest = networks[np.argmax(spectral_radius(networks))]
    scale = float(scale_factor(radius, strongest))
    return scale * networks, scale


def _subject_effects(support: np.ndarray, radius: float, rng: np.random.Generator) -> np.ndarray:
    """A symmetric perturbation E_s of each person's edges, of shape (S, p, p)."""
    upper = np.triu(np.where(support, rng.standard_normal(support.shape), 0.0), k=1)
    effects = upper + upper.swapaxes(-1, -2)
    return scale_factor(radius, effects)[:, None, None] * effects
