"""The paper's simulation and its generalisations: one sample at each confounder value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .confounding import PAPER_THRESHOLD, Nuisance
from .design import DEFINITE, draw_design
from .sampling import sample_rows
from .validate import SeedLike

NUISANCE_RADIUS = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Data from a partially linear additive Gaussian graphical model, with the truth.

    Attributes
    ----------
    x : ndarray of shape (n, p)
        Variables, one row for each sample.
    confounder : ndarray of shape (n,) or (n, m)
        Confounders of the same rows.
    omega : ndarray of shape (p, p)
        The true Ω0: minus the precision matrix off the diagonal, zero on it.
    support : ndarray of bool, shape (p, p)
        True where Ω0 is not zero.
    threshold : float or ndarray of shape (m,)
        g*, in the units of the confounder.
    nuisance : Nuisance
        Called with confounder values, gives the true R(g) of shape (k, p, p); also the true mean
        and scale along the confounder.
    settings : dict
        Every argument of the simulation, and the factors ``omega_scale`` and ``nuisance_scale``
        that brought Ω0 and W to their spectral radii.

    Examples
    --------
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0)
    >>> data.to_frame().columns.tolist()
    ['v1', 'v2', 'v3', 'v4', 'confounder']
    >>> data.omega_at([0.0, 90.0]).shape
    (2, 4, 4)
    """

    x: np.ndarray = field(repr=False)
    confounder: np.ndarray = field(repr=False)
    omega: np.ndarray = field(repr=False)
    support: np.ndarray = field(repr=False)
    threshold: float | np.ndarray
    nuisance: Nuisance = field(repr=False)
    settings: dict[str, Any]

    def omega_at(self, g: ArrayLike) -> np.ndarray:
        """Ω0 + R(g), an array of shape (k, p, p) with a zero diagonal."""
        return self.omega + self.nuisance(np.asarray(g))

    def covariance_at(self, g: ArrayLike) -> np.ndarray:
        """Covariance of the variables at g, an array of shape (k, p, p)."""
        scale = self.nuisance.node_scale(np.asarray(g))
        precision = np.eye(self.omega.shape[0]) - self.omega_at(g)
        return scale[:, :, None] * scale[:, None, :] * np.linalg.inv(precision)

    def to_frame(self) -> pd.DataFrame:
        """Variables and confounder as one table with named columns."""
        return table(self.x, self.confounder)


def simulate_paper(
    p: int,
    n: int = 800,
    *,
    seed: SeedLike,
    even: bool = False,
    printed: bool = False,
    threshold: float | ArrayLike = PAPER_THRESHOLD,
    density: float = 0.3,
    graph: str = "erdos-renyi",
    shape: str = "paper",
    nuisance: str = "dense",
    nuisance_density: float | None = None,
    confounder: str | ArrayLike = "grid",
    target_radius: float = 0.35,
    nuisance_radius: float = NUISANCE_RADIUS,
    mean_shift: float = 0.0,
    variance_inflation: float = 0.0,
) -> Simulated:
    r"""Simulate as in the paper's supplement, with corrections and variations.

    One sample is drawn at each confounder value g from the Gaussian whose precision matrix is
    :math:`I - \Omega_0 - R(g)` with :math:`R(g) = f(g) W`. Ω0 is scaled to spectral radius
    ``target_radius``, and W so that R has at most ``nuisance_radius``; their sum is below one, so
    every precision matrix is positive definite. Graph, nuisance, confounder and noise have separate
    random streams: with the same seed, Ω0 does not depend on the parameters of the confounding.

    Parameters
    ----------
    p : int
        Number of variables, at least 2. The paper uses 10, 20, 50 and 100.
    n : int
        Number of samples; that of ``confounder`` if this is an array.
    seed : int, SeedSequence, Generator or None
        Handed to ``numpy.random.default_rng``.
    even : bool
        Use f(abs(g)); with the paper's odd f the average of R over the grid is about zero.
    printed : bool
        Use f exactly as the supplement prints it, which jumps at -12, -10 and 12 and gives
        f(-10) = 2; only with ``shape="paper"``.
    threshold : float or array_like of shape (m,)
        g*: R(g) = 0 for abs(g) <= g*. The argument of f is in units of it.
    density : float in [0, 1]
        Share of pairs that are edges of Ω0 (a probability for "erdos-renyi", the nearest possible
        share for the other families), and of a "sparse" W unless ``nuisance_density`` is given.
    graph : {"erdos-renyi", "scale-free", "band", "block", "hub"}
        Family of Ω0.
    shape : {"paper", "ramp", "saturating", "bump", "none"}
        f: the paper's, linear beyond g*, bounded, with a single peak, or R = 0.
    nuisance : {"dense", "rank-one", "sparse", "definite"}
        Kind of W. ``"definite"`` is the interpretation of the paper's "dense precision matrix" without
        scaling: the precision matrix is :math:`I - \Omega_0 + f(|g|) W` with W positive definite
        (Wishart, mean I). Conditional variances then decrease with f, Ω(g) holds the partial correlations,
        and ``nuisance_radius`` is not used. It needs ``even=True``, since f must not be negative.
    nuisance_density : float in [0, 1], optional
        Share of pairs that change with each confounder, by default ``density``; only with
        ``nuisance="sparse"``.
    confounder : {"grid", "uniform", "skewed", "heavy-tailed"} or array_like
        Distribution of g in the units of the paper (-400 to 399), or its values, of shape (n,) or (n, m).
        With m columns R is the sum of m terms with different W.
    target_radius, nuisance_radius : float
        Spectral radii of Ω0 and of R where it is largest. Their sum must be below 1.
    mean_shift : float
        The mean of variable j is ``mean_shift`` d_j f(g) / max abs(f), with d_j standard normal.
    variance_inflation : float
        The variance is multiplied by 1 + ``variance_inflation`` abs(f(g)) / max abs(f). Where
        ``shape`` is "none", mean and variance follow "ramp".

    Returns
    -------
    Simulated

    References
    ----------
    Geng, Yan, Kolar and Koyejo, "Partially Linear Additive Gaussian Graphical Models", ICML 2019,
    supplement, section "Data Simulation".

    Examples
    --------
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(10, seed=0)
    >>> data.x.shape, data.confounder[[0, -1]]
    ((800, 10), array([-400.,  399.]))
    >>> abs(data.nuisance([-10.0, 10.0])).max()
    np.float64(0.0)
    >>> precision = np.eye(10) - data.omega_at(data.confounder)
    >>> bool(np.linalg.eigvalsh(precision).min() > 0)
    True
    """
    if nuisance == DEFINITE:
        check_definite(even, printed, nuisance_radius)
    design = draw_design(
        p,
        n,
        seed=seed,
        even=even,
        printed=printed,
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
        variance_inflation=variance_inflation,
    )
    omega, effect, columns = design.omega, design.nuisance, design.columns
    x = sample_rows(lambda rows: omega + effect(columns[rows]), len(columns), p, design.noise)
    return Simulated(
        x=effect.mean(columns) + effect.node_scale(columns) * x,
        confounder=design.confounder,
        omega=omega,
        support=omega != 0.0,
        threshold=design.threshold,
        nuisance=effect,
        settings=design.settings,
    )


def table(x: np.ndarray, confounder: np.ndarray) -> pd.DataFrame:
    """Variables (n, p) and confounders (n,) or (n, m) as one table with named columns."""
    names = ["confounder"]
    if confounder.ndim > 1:
        names = numbered("confounder", confounder.shape[1])
    columns = numbered("v", x.shape[1]) + names
    return pd.DataFrame(np.column_stack([x, confounder]), columns=columns)


def numbered(stem: str, count: int) -> list[str]:
    """Column names stem1, stem2, ... padded with zeros so that they sort."""
    width = len(str(count))
    return [f"{stem}{k:0{width}d}" for k in range(1, count + 1)]


def check_definite(even: bool, printed: bool, radius: float) -> None:
    """Raise for arguments that cannot be combined with a positive definite W."""
    if not even or printed:
        raise ValueError(
            "nuisance='definite' needs even=True and printed=False: where f is negative, the precision "
            "matrix would not be positive definite."
        )
    if radius != NUISANCE_RADIUS:
        raise ValueError(
            f"nuisance='definite' takes W as it is drawn; leave nuisance_radius out (got {radius:g})."
        )
