"""Distribution of a confounder, and its effects on the network, the mean and the variance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.signal import lfilter

from .graphs import scale_factor

SHAPES = ("paper", "ramp", "saturating", "bump", "none")
CONFOUNDERS = ("grid", "uniform", "skewed", "heavy-tailed")

# The confounder values of the paper's simulation, and its threshold g*.
PAPER_LOW, PAPER_HIGH, PAPER_THRESHOLD = -400.0, 399.0, 10.0

# Scale of the Student t (3 degrees of freedom) confounder: about a quarter lies within g* = 10.
HEAVY_SCALE, HEAVY_DEGREES = 30.0, 3

# Motion in units of the threshold: a small autocorrelated drift, and bursts that decay like measured
# framewise displacement (lag-one autocorrelation about one half). About a fifth exceeds 1.
DRIFT_SD, DRIFT_CORRELATION = 0.5, 0.7
BURST_RATE, BURST_SHAPE, BURST_SCALE, BURST_DECAY = 0.05, 4.0, 1.0, 0.6
# Number of initial samples that are discarded, after which drift and bursts are stationary.
MOTION_BURN_IN = 50


def paper_response(g: np.ndarray, *, even: bool = False, printed: bool = False) -> np.ndarray:
    r"""The function f of the paper's simulation, for g* = 10.

    .. math:: f(g) = \operatorname{sign}(g)\,h(|g| - 10), \qquad
              h(e) = 0,\; e^2/4,\; e - 1 \text{ for } e \le 0,\; 0 < e \le 2,\; e > 2,

    which is odd and continuous, with a continuous derivative. The supplement prints g - 10 beyond 12, where
    the quadratic function ends at 1, and a function on (-12, -10] that is 2 at -10.

    Parameters
    ----------
    g : array_like
    even : bool
        Use f(abs(g)), which does not average to zero over a symmetric confounder.
    printed : bool
        Evaluate the function exactly as the supplement prints it.

    Returns
    -------
    ndarray of the shape of ``g``

    Examples
    --------
    >>> paper_response([-12.0, -10.0, 0.0, 11.0, 12.0, 13.0])
    array([-1.  ,  0.  ,  0.  ,  0.25,  1.  ,  2.  ])
    >>> paper_response([-12.0, -10.0, 0.0, 11.0, 12.0, 13.0], printed=True)
    array([-2.  ,  2.  ,  0.  ,  0.25,  1.  ,  3.  ])
    """
    g = np.asarray(g, dtype=np.float64)
    if even:
        g = np.abs(g)
    if printed:
        return np.select(
            [g > 12.0, g > 10.0, g > -10.0, g > -12.0],
            [g - 10.0, g + (g - 12.0) ** 2 / 4 - 11.0, 0.0, g + (g + 12.0) ** 2 / 4 + 11.0],
            default=g + 10.0,
        )
    excess = np.maximum(np.abs(g) - 10.0, 0.0)
    return np.copysign(np.where(excess <= 2.0, excess**2 / 4, excess - 1.0), g) + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """The scalar functions f_m of the confounders in R, which are zero within the thresholds.

    Attributes
    ----------
    shape : "paper", "ramp", "saturating" or "bump"
        How R grows with the confounder beyond the threshold.
    threshold : ndarray of shape (m,)
        g* of every confounder.
    even, printed : bool
        Whether f_m is even, and whether the function is used as the supplement prints it.
    span : ndarray of shape (m,)
        Largest distance beyond the threshold in the data, in thresholds; "bump" peaks at a
        quarter of it.
    peak : ndarray of shape (m,)
        Largest abs(f_m) in the data.

    Examples
    --------
    >>> from plaggm.simulate import simulate_paper
    >>> response = simulate_paper(4, n=200, seed=0, threshold=20.0).nuisance.response
    >>> response.shape, response.threshold
    ('paper', array([20.]))
    """

    shape: str
    threshold: np.ndarray
    even: bool
    printed: bool
    span: np.ndarray
    peak: np.ndarray

    @classmethod
    def over(
        cls, confounder: np.ndarray, *, shape: str, threshold: np.ndarray, even: bool, printed: bool
    ) -> Self:
        """The response with the span and peak of a confounder (n, m); "ramp" if the shape is "none"."""
        shape = "ramp" if shape == "none" else shape
        span = np.maximum(np.abs(confounder) / threshold - 1.0, 0.0).max(axis=0)
        raw = cls(shape, threshold, even, printed, span, np.ones_like(threshold))
        peak = np.abs(raw(confounder)).max(axis=0)
        return cls(shape, threshold, even, printed, span, peak)

    def columns(self, g: np.ndarray) -> np.ndarray:
        """Confounder values as an array of shape (k, m)."""
        g = np.asarray(g, dtype=np.float64)
        m = self.threshold.size
        if g.ndim <= 1 and (m == 1 or g.shape == (m,)):
            return g.reshape(-1, m)
        if g.ndim != 2 or g.shape[1] != m:
            raise ValueError(
                f"g must hold {m} confounder value(s) in each row; got an array of shape {g.shape}."
            )
        return g

    def __call__(self, g: np.ndarray) -> np.ndarray:
        """f_m(g_m) for each row and confounder, an array of shape (k, m)."""
        g = self.columns(g)
        if self.shape == "paper":
            in_paper_units = g * (PAPER_THRESHOLD / self.threshold)
            return paper_response(in_paper_units, even=self.even, printed=self.printed)
        excess = np.maximum(np.abs(g) / self.threshold - 1.0, 0.0)
        if self.shape == "saturating":
            excess = excess**2 / (1.0 + excess**2)
        elif self.shape == "bump":
            # (e/c)^2 exp(2 - 2 e/c): one at e = c = span / 4, and below 0.04 at the span's end.
            ratio = excess / np.where(self.span > 0.0, self.span / 4, 1.0)
            excess = ratio**2 * np.exp(2.0 - 2.0 * ratio)
        return excess if self.even else np.copysign(excess, g) + 0.0

    def relative(self, g: np.ndarray) -> np.ndarray:
        """f_m(g_m) / peak_m: between -1 and 1 on the data; shape (k, m)."""
        value = self(g)
        return value / np.where(self.peak > 0.0, self.peak, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Nuisance:
    r"""The true nuisance :math:`R(g) = \sum_m f_m(g_m) W_m`, and effects on means and variances.

    Calling it with k confounder values gives R, an array of shape (k, p, p) with a zero diagonal.
    Within the thresholds R and the mean are zero and the scale is one.

    Attributes
    ----------
    weights : ndarray of shape (m, p, p)
        The matrices W_m after scaling.
    response : Response
        The functions f_m.
    shift : ndarray of shape (m, p)
        Mean of each variable where f_m is largest.
    inflation : float
        The conditional variance is multiplied by 1 + inflation * max_m abs(f_m) / peak_m.

    Examples
    --------
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0, threshold=20.0)
    >>> data.nuisance(np.array([10.0, 90.0])).any(axis=(1, 2))
    array([False,  True])
    """

    weights: np.ndarray = field(repr=False)
    response: Response = field(repr=False)
    shift: np.ndarray = field(repr=False)
    inflation: float

    def __call__(self, g: np.ndarray) -> np.ndarray:
        """R(g), an array of shape (k, p, p)."""
        return np.tensordot(self.response(g), self.weights, axes=1)

    def mean(self, g: np.ndarray) -> np.ndarray:
        """Mean of the variables at g, an array of shape (k, p)."""
        return self.response.relative(g) @ self.shift

    def scale(self, g: np.ndarray) -> np.ndarray:
        """Conditional standard deviation at g, common to all variables, of shape (k,)."""
        strength = np.abs(self.response.relative(g)).max(axis=1)
        return np.sqrt(1.0 + self.inflation * strength)

    def node_scale(self, g: np.ndarray) -> np.ndarray:
        """Conditional standard deviation of every variable at g, an array of shape (k, p)."""
        p = self.weights.shape[1]
        return np.broadcast_to(self.scale(g)[:, None], (len(self.response.columns(g)), p))


@dataclass(frozen=True, slots=True, eq=False)
class DefiniteNuisance(Nuisance):
    r"""The nuisance of precision matrices :math:`I - \Omega_0 + \sum_m f_m(g_m) W_m`, W positive definite.

    With f >= 0 they are positive definite whatever the size of f. Their diagonals grow with f, so the
    conditional variances fall; Ω(g) holds the partial correlations, and R(g) their departure from Ω0.

    Attributes
    ----------
    omega : ndarray of shape (p, p)
        Ω0.
    """

    omega: np.ndarray = field(repr=False)

    def __call__(self, g: np.ndarray) -> np.ndarray:
        """R(g), an array of shape (k, p, p)."""
        precision = self._precision(g)
        root = np.sqrt(np.einsum("kjj->kj", precision))
        partial = -precision / (root[:, :, None] * root[:, None, :])
        np.einsum("kjj->kj", partial)[...] = 0.0
        return partial - self.omega

    def node_scale(self, g: np.ndarray) -> np.ndarray:
        """Conditional standard deviation of every variable at g, an array of shape (k, p)."""
        return self.scale(g)[:, None] / np.sqrt(np.einsum("kjj->kj", self._precision(g)))

    def _precision(self, g: np.ndarray) -> np.ndarray:
        return (
            np.eye(len(self.omega)) - self.omega + np.tensordot(self.response(g), self.weights, 1)
        )


def build_nuisance(
    weights: np.ndarray,
    confounder: np.ndarray,
    *,
    shape: str,
    threshold: np.ndarray,
    even: bool,
    printed: bool,
    radius: float,
    direction: np.ndarray,
    inflation: float,
) -> tuple[Nuisance, np.ndarray]:
    """The nuisance, with W scaled so that the largest spectral radius of R over the rows is ``radius``.

    All f_m W_m have the same largest radius, and the largest sum of their radii over the rows is
    ``radius``. With one confounder this sum is the spectral radius of R(g).

    Parameters
    ----------
    weights : ndarray of shape (m, p, p)
        Before scaling.
    confounder : ndarray of shape (n, m)
        Confounders of every sample.
    shape : one of ``SHAPES``
        Shape of the functions f_m. With "none" R is zero; mean and variance then follow "ramp".
    threshold : ndarray of shape (m,)
        g* of every confounder.
    even, printed : bool
        Whether f_m is even, and whether the function is used as the supplement prints it.
    radius : float
    direction : ndarray of shape (m, p)
    inflation : float

    Returns
    -------
    nuisance : Nuisance
    scales : ndarray of shape (m,)
        The factors of the W_m; zero if no value exceeds the threshold.
    """
    response = Response.over(
        confounder, shape=shape, threshold=threshold, even=even, printed=printed
    )
    total = np.abs(response.relative(confounder)).sum(axis=1).max()
    if shape == "none" or total == 0.0:
        scales = np.zeros(len(weights))
    else:
        peak = np.where(response.peak > 0.0, response.peak, np.inf)
        scales = scale_factor(radius / total, weights) / peak
    nuisance = Nuisance(scales[:, None, None] * weights, response, direction, inflation)
    return nuisance, scales


def definite_nuisance(
    weights: np.ndarray,
    omega: np.ndarray,
    confounder: np.ndarray,
    *,
    shape: str,
    threshold: np.ndarray,
    direction: np.ndarray,
    inflation: float,
) -> DefiniteNuisance:
    """The nuisance of positive definite W, which need no scaling since f(abs(g)) >= 0.

    Parameters
    ----------
    weights : ndarray of shape (m, p, p)
        Positive definite.
    omega : ndarray of shape (p, p)
        Ω0, of spectral radius below one.
    confounder, shape, threshold, direction, inflation
        See :func:`build_nuisance`.
    """
    response = Response.over(confounder, shape=shape, threshold=threshold, even=True, printed=False)
    used = np.zeros_like(weights) if shape == "none" else weights
    return DefiniteNuisance(used, response, direction, inflation, omega)


def draw_confounder(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """One confounder in the units of the paper, where g* is 10.

    Parameters
    ----------
    kind : one of ``CONFOUNDERS``
        "grid" is n evenly spaced values from -400 to 399 (the paper's integers for n = 800),
        "uniform" is random over the same range, "skewed" is the size of a motion-like series
        (non-negative, autocorrelated, mostly small, with bursts), and "heavy-tailed" is a
        Student t variable.
    n : int
        Number of samples.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (n,)
    """
    if kind == "grid":
        return np.linspace(PAPER_LOW, PAPER_HIGH, n)
    if kind == "uniform":
        return rng.uniform(PAPER_LOW, PAPER_HIGH, n)
    if kind == "heavy-tailed":
        return HEAVY_SCALE * rng.standard_t(HEAVY_DEGREES, n)
    return PAPER_THRESHOLD * np.abs(draw_motion(1, n, 1, rng)[0, :, 0])


def draw_motion(
    n_series: int, n_times: int, n_columns: int, rng: np.random.Generator
) -> np.ndarray:
    """Signed motion-like series in units of the threshold: slow drift and decaying bursts.

    Bursts occur at the same times in all columns of one series, with independent signs and heights.

    Returns
    -------
    ndarray of shape (n_series, n_times, n_columns)
    """
    length = n_times + MOTION_BURN_IN
    shape = (n_series, length, n_columns)
    innovation = np.sqrt(1.0 - DRIFT_CORRELATION**2) * rng.standard_normal(shape)
    drift = DRIFT_SD * lfilter([1.0], [1.0, -DRIFT_CORRELATION], innovation, axis=1)
    onset = rng.random((n_series, length, 1)) < BURST_RATE
    height = rng.choice([-1.0, 1.0], shape) * rng.gamma(BURST_SHAPE, BURST_SCALE, shape)
    bursts = lfilter([1.0], [1.0, -BURST_DECAY], np.where(onset, height, 0.0), axis=1)
    return (drift + bursts)[:, MOTION_BURN_IN:]
