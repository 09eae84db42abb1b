"""Networks of binary, count and mixed variables along a confounder, drawn by Gibbs sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.arguments import check_count
from plaggm.core.families.distributions import FAMILIES
from plaggm.core.families.gibbs import SWEEPS, gibbs_rows
from plaggm.parameter_types import FamilyName
from plaggm.wording import shown

from .confounding import PAPER_THRESHOLD, Nuisance
from .design import draw_design
from .graphs import NUISANCES
from .paper import table
from .validate import SeedLike, check_choice, check_range

# Choices of the families of all variables; "mixed" repeats the families of MIXED.
FAMILY_CHOICES = ("binomial", "poisson", "mixed")
MIXED: tuple[FamilyName, ...] = ("gaussian", "binomial", "poisson")
# Smallest standard deviation by which couplings are divided: with strong couplings a rare event would
# become frequent in all rows.
SMALLEST_SCALE = 0.3
# Number of couplings held in memory at a time: 16 MB.
CHUNK_DOUBLES = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedFamily:
    r"""Data from a network of nodes of several families, with the truth.

    Node j given the others and g has the natural parameter
    :math:`\theta_j(g) + \sum_k (\Omega_{0,jk} + R_{jk}(g))\, t_k(x_k)`.

    Attributes
    ----------
    x : ndarray of shape (n, p)
        Variables, one row for each sample.
    confounder : ndarray of shape (n,) or (n, m)
        Confounders of the same rows.
    families : tuple of str
        Family of every variable.
    omega : ndarray of shape (p, p)
        The true Ω0 in units of the natural parameter: between binary variables log odds ratios. Zero on
        the diagonal.
    support : ndarray of bool, shape (p, p)
        True where Ω0 is not zero.
    scale : ndarray of shape (p,)
        Standard deviations of the variables at their centre: ``omega * scale[:, None] * scale`` compares
        couplings of different families.
    centre : ndarray of shape (p,)
        Means of the variables without couplings; t of a count equals the count there.
    threshold : float or ndarray of shape (m,)
        g*, in the units of the confounder.
    nuisance : Nuisance
        Called with confounder values, gives the true R(g) of shape (k, p, p).
    settings : dict
        All arguments of the simulation, and the factors of Ω0 and W.

    Examples
    --------
    >>> from plaggm.simulate import simulate_family
    >>> data = simulate_family(4, n=100, seed=0, family="binomial")
    >>> data.families
    ('binomial', 'binomial', 'binomial', 'binomial')
    >>> data.omega_at(0.0).shape
    (1, 4, 4)
    """

    x: np.ndarray = field(repr=False)
    confounder: np.ndarray = field(repr=False)
    families: tuple[FamilyName, ...]
    omega: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    scale: np.ndarray = field(repr=False)
    centre: np.ndarray = field(repr=False)
    threshold: float | np.ndarray
    nuisance: Nuisance = field(repr=False)
    settings: dict[str, Any]

    def omega_at(self, g: ArrayLike) -> np.ndarray:
        """Ω0 + R(g), an array of shape (k, p, p) with a zero diagonal."""
        return self.omega + self.nuisance(np.asarray(g))

    def intercept_at(self, g: ArrayLike) -> np.ndarray:
        """θ(g), an array of shape (k, p)."""
        g = np.asarray(g)
        return intercepts(self.families, self.centre, self.omega_at(g), self.nuisance.mean(g))

    def to_frame(self) -> pd.DataFrame:
        """Variables and confounder as one table with named columns."""
        return table(self.x, self.confounder)


def simulate_family(
    p: int,
    n: int = 2000,
    *,
    seed: SeedLike,
    family: str | Sequence[str] = "binomial",
    prevalence: float = 0.5,
    mean_count: float = 3.0,
    overdispersion: float = 0.0,
    even: bool = False,
    threshold: float | ArrayLike = PAPER_THRESHOLD,
    density: float = 0.3,
    graph: str = "erdos-renyi",
    shape: str = "saturating",
    nuisance: str = "dense",
    nuisance_density: float | None = None,
    confounder: str | ArrayLike = "uniform",
    target_radius: float = 0.35,
    nuisance_radius: float = 0.5,
    mean_shift: float = 0.0,
    sweeps: int = SWEEPS,
) -> SimulatedFamily:
    r"""Simulate a network of binary, count or mixed variables along a confounder.

    Node j given the others and g is Bernoulli, Poisson or Gaussian with natural parameter

    .. math:: \theta_j(g) + \sum_k (\Omega_{0,jk} + R_{jk}(g))\, t_k(x_k), \qquad R(g) = f(g) W,

    where t is the identity except for counts (:mod:`plaggm.core.families.distributions`). Every row is the end of a
    separate Gibbs chain. Couplings are drawn as by :func:`simulate_paper` and divided by the standard
    deviations of both variables at their centre, at least 0.3 (for counts of mean m by the root of 1 + m,
    under which chains are stable), so that radii are comparable between families. Intercepts are such that
    the means of the variables are near their centre. There is no joint distribution with these conditional
    distributions of counts: with counts the conditional distribution of the last variable is exact, and
    those of the others are approximate.

    Parameters
    ----------
    p : int
        Number of variables, at least 2.
    n : int
        Number of samples; that of ``confounder`` if this is an array.
    seed : int, SeedSequence, Generator or None
        Handed to ``numpy.random.default_rng``.
    family : {"binomial", "poisson", "mixed"} or sequence of str of length p
        Family of the variables: the same for all; Gaussian, binary and count variables alternately; or one
        for each.
    prevalence : float in (0, 1)
        Approximate share of ones of binary variables.
    mean_count : float
        Approximate mean of counts.
    overdispersion : float
        Counts have the conditional variance mean + ``overdispersion`` mean²; zero is Poisson.
    even, threshold, density, graph, shape, nuisance, nuisance_density, confounder
        See :func:`simulate_paper`.
    target_radius, nuisance_radius : float
        Spectral radii of Ω0 and of R where it is largest, both between standardised variables. Their sum
        must be below 1.
    mean_shift : float
        The natural parameter of variable j is shifted by ``mean_shift`` d_j f(g) / max abs(f), with d_j
        standard normal.
    sweeps : int
        Number of sweeps of each Gibbs chain.

    Returns
    -------
    SimulatedFamily

    Examples
    --------
    >>> from plaggm.simulate import simulate_family
    >>> data = simulate_family(6, n=500, seed=0, family="mixed")
    >>> data.families
    ('gaussian', 'binomial', 'poisson', 'gaussian', 'binomial', 'poisson')
    >>> np.unique(data.x[:, 1])
    array([0., 1.])
    """
    check_count("p", p, 2)
    families = family_names(family, p)
    check_range("prevalence", prevalence, 0.0, 1.0, low_open=True)
    check_range("mean_count", mean_count, 0.0, 1e4, low_open=True)
    check_range("overdispersion", overdispersion, 0.0, 100.0)
    check_count("sweeps", sweeps, 1)
    check_choice("nuisance", nuisance, NUISANCES)
    design = draw_design(
        p,
        n,
        seed=seed,
        even=even,
        printed=False,
        threshold=threshold,
        density=density,
        graph=graph,
        shape=shape,
        nuisance=nuisance,
        nuisance_density=nuisance_density,
        confounder=confounder,
        target_radius=target_radius,
        nuisance_radius=nuisance_radius,
        mean_shift=mean_shift,
        variance_inflation=0.0,
    )
    means = {"gaussian": 0.0, "binomial": float(prevalence), "poisson": float(mean_count)}
    centre = np.array([means[name] for name in families])
    scale = np.sqrt(
        [FAMILIES[name].variance(one[None])[0] for name, one in zip(families, centre, strict=True)]
    )
    counts = np.array([name == "poisson" for name in families])
    # Means depend on powers of counts, whose sums are below one in these units, so that chains are stable.
    unit = np.where(counts, np.sqrt(1.0 + centre), np.maximum(scale, SMALLEST_SCALE))
    natural = 1.0 / np.outer(unit, unit)
    omega = design.omega * natural
    effect = replace(design.nuisance, weights=design.nuisance.weights * natural)
    columns = design.columns
    seeds = design.noise.integers(0, 2**32, len(columns))
    x = np.empty((len(columns), p))
    step = max(1, CHUNK_DOUBLES // (p * p))
    for start in range(0, len(columns), step):
        rows = slice(start, min(start + step, len(columns)))
        omegas = omega + effect(columns[rows])
        x[rows] = gibbs_rows(
            omegas,
            intercepts(families, centre, omegas, effect.mean(columns[rows])),
            np.arange(len(omegas)),
            families,
            centre,
            np.where(counts, float(overdispersion), 0.0),
            seeds[rows],
            sweeps,
        )
    settings = {name: value for name, value in design.settings.items() if name != "printed"}
    return SimulatedFamily(
        x=x,
        confounder=design.confounder,
        families=families,
        omega=omega,
        support=omega != 0.0,
        scale=scale,
        centre=centre,
        threshold=design.threshold,
        nuisance=effect,
        settings={
            **settings,
            "family": family if isinstance(family, str) else list(families),
            "prevalence": float(prevalence),
            "mean_count": float(mean_count),
            "overdispersion": float(overdispersion),
            "sweeps": int(sweeps),
        },
    )


def intercepts(
    families: Sequence[FamilyName], centre: np.ndarray, omega: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """Intercepts (k, p) under which the mean of a node is its centre if its neighbours are at theirs.

    Parameters
    ----------
    families : sequence of str
    centre : ndarray of shape (p,)
    omega : ndarray of shape (k, p, p)
    shift : ndarray of shape (k, p)
        Shift added to the natural parameters.
    """
    base = [
        float(FAMILIES[name].natural(one[None])[0])
        for name, one in zip(families, centre, strict=True)
    ]
    return np.asarray(base + shift - omega @ centre)


def family_names(family: str | Sequence[str], p: int) -> tuple[FamilyName, ...]:
    """The family of every variable."""
    if isinstance(family, str):
        if family == "mixed":
            return tuple(MIXED[j % len(MIXED)] for j in range(p))
        if family in FAMILY_CHOICES:
            return (cast("FamilyName", family),) * p
    elif len(family) == p and all(name in FAMILIES for name in family):
        return tuple(cast("FamilyName", name) for name in family)
    words = ", ".join(map(repr, FAMILY_CHOICES))
    names = ", ".join(map(repr, FAMILIES))
    raise ValueError(
        f"family must be one of {words}, or the families ({names}) of all {p} variables; got "
        f"{shown(family)}."
    )
