"""How the confounder inflates the noise.

The noisiest samples are usually the most confounded ones, which would dominate least squares. The variance
of all nodes is multiplied by a common factor exp(a' psi(g)), with piecewise linear functions psi of the
confounders that are zero below the threshold. In a few rounds a pilot fit is weighted by the inverse of the
factor, and a is fitted to its squared residuals by a gamma regression with logarithmic link. The data are a
`VarianceData`: rows, or the statistics of bins of the confounder (`plaggm.core.variance.binned`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import residual_coefficients
from plaggm.core.nuisance.node_regressions import bordered_inverse, least_squares_network
from plaggm.core.profile.spline import (
    column_penalty,
    profile_spline,
    smoothing_penalty,
    spline_coefficients,
)
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.statistics import (
    CHUNK_ROWS,
    SplineStatistics,
    function_products,
    no_rows,
    spline_statistics,
)
from plaggm.core.spline.system import SplineSystem, in_other_functions, smooth_system
from plaggm.core.variance.gamma_regressions import SHRINKAGE, newton_slopes

VARIANCE_FUNCTIONS = 2
PILOT_TAU = 1.0
PILOT_SMOOTHNESS = 3.0
ROUNDS = 3
# Largest Newton step of a slope at which the regression ends.
TOLERANCE = 1e-8
# Smallest variance of a standardised column.
TINY = 1e-12
LEAST_RIDGE = 1e-10
# Largest degrees of freedom of the pilot's baseline for each row, and bisections for the ridge that ensures
# it; largest degrees of freedom of the nuisance for each row if this ridge is not zero.
MOST_FITTED, BISECTIONS = 2.0 / 3.0, 40
MOST_NUISANCE = 1.0 / 6.0
# Smallest value of one minus the leverage of a row.
LEAST_KEPT = 0.05


@dataclass(frozen=True, slots=True)
class VarianceFunction:
    """The factor exp(a' psi(g)) of all variances.

    Attributes
    ----------
    basis : SplineBasis
        psi.
    coefficients : ndarray of shape (functions,)
    """

    basis: SplineBasis
    coefficients: Array

    def log_variance(self, confounder: Array) -> Array:
        """Logarithm of the factor at every sample: shape (n,)."""
        return self.basis.evaluate(confounder) @ self.coefficients

    def weights(self, confounder: Array) -> Array:
        """Inverse of the factor at every sample: shape (n,)."""
        return np.exp(-self.log_variance(confounder))


def constant_variance() -> VarianceFunction:
    """The variance function that is one everywhere."""
    return VarianceFunction(SplineBasis(()), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Pilot:
    """A penalised fit as linear and quadratic forms in the products [b, phi_1 b, ...] of a row.

    Attributes
    ----------
    residual : ndarray of shape ((1 + M) q, p)
        Residual of every node divided by the square root of p times the node's variance.
    leverage : ndarray of shape ((1 + M) q, (1 + M) q)
        With H the hat matrix, n times the diagonal entry of 2H - HH' for a row of unit weight. Squared
        residuals are corrected for it, since it is largest at extreme confounders.
    n : int
    """

    residual: Array
    leverage: Array
    n: int


def pilot_fit(system: SplineSystem, roughness: Array) -> Pilot:
    """Fit every node by penalised least squares.

    Parameters
    ----------
    system : SplineSystem
    roughness : ndarray of shape (M,)
        Roughness of the system's functions.

    Returns
    -------
    Pilot
        Fit in the functions of the basis.
    """
    ridge, tau = baseline_ridge(system), PILOT_TAU
    if ridge and system.functions:
        # The degrees of freedom of a ridge regression are at most the trace of its moments over the ridge.
        tau = max(tau, float(np.trace(system.h)) / (MOST_NUISANCE * system.n))
    fit = profile_spline(system, smoothing_penalty(roughness, tau, PILOT_SMOOTHNESS))
    omega, variance = least_squares_network(system, fit.penalty, ridge, fit)
    p, q, size = system.p, system.q, 1 + system.functions
    rotation = block_diag(1.0, system.rotation)
    slopes = np.concatenate([omega[None], spline_coefficients(fit, omega)])
    residual = residual_coefficients(slopes)
    # The response has no coefficient in the nuisance.
    residual[1:, np.arange(p), np.arange(p)] = 0.0
    residual = np.tensordot(rotation, residual, axes=1)
    # F is the inverse of K = W'W / n + P, hence 2F - F (W'W / n) F = F + F P F.
    penalty = np.append(np.full(q, LEAST_RIDGE), column_penalty(fit.penalty, q))
    penalty[:p] += ridge
    inverse = bordered_inverse(system, fit, penalty[:q])
    leverage = in_other_functions(inverse + (inverse * penalty) @ inverse, rotation)
    return Pilot(
        residual.reshape(size * q, p) / np.sqrt(np.maximum(variance, TINY) * p),
        leverage,
        system.n,
    )


def baseline_ridge(system: SplineSystem) -> float:
    """Ridge under which the baseline has at most two thirds as many degrees of freedom as rows.

    It is zero with at most as many variables. Without it the residuals of n <= p rows would be rounding
    errors.
    """
    limit = MOST_FITTED * system.n
    if system.p <= limit:
        return 0.0
    values = np.maximum(np.linalg.eigvalsh(system.bb[:-1, :-1]), 0.0)
    low, high = np.log(LEAST_RIDGE), np.log(max(values.sum() / limit, LEAST_RIDGE))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        enough = np.sum(values / (values + np.exp(middle))) <= limit
        low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(high))


class VarianceData(Protocol):
    """The interface to the data in each round."""

    def statistics(self, variance: VarianceFunction) -> SplineStatistics:
        """Statistics of all rows, weighted by the inverse of a variance."""
        ...

    def energies(self, variance: VarianceFunction, pilot: Pilot) -> tuple[Array, Array, Array]:
        """psi of shape (k, functions), mean energies and numbers of rows of shape (k,), for the regression.

        The energy of a row is the mean over the nodes of its squared residual, divided by the node's
        variance and by one minus the row's leverage.
        """
        ...


def learn_variance(data: VarianceData, basis: SplineBasis, noise: SplineBasis) -> VarianceFunction:
    """The variance function, by alternating pilot fits and regressions of their squared residuals.

    Parameters
    ----------
    data : VarianceData
    basis : SplineBasis
        Functions of the nuisance.
    noise : SplineBasis
        psi; without functions the variance is constant.

    Returns
    -------
    VarianceFunction
    """
    variance = VarianceFunction(noise, np.zeros(noise.size))
    for _ in range(ROUNDS if noise.terms else 0):
        pilot = pilot_fit(*smooth_system(data.statistics(variance), basis))
        coefficients = gamma_regression(*data.energies(variance, pilot), size=noise.mean_square())
        variance = VarianceFunction(noise, coefficients)
    return variance


@dataclass(frozen=True, slots=True)
class RowVariance:
    """:class:`VarianceData` of rows that are read again in every round.

    Attributes
    ----------
    read : callable
        Yields b (n, q) and confounders (n, m) of some rows, every time from the start.
    basis : SplineBasis
        Functions of the nuisance.
    n_threads : int, optional
    """

    read: Callable[[], Iterable[tuple[Array, Array]]]
    basis: SplineBasis
    n_threads: int | None = None

    def statistics(self, variance: VarianceFunction) -> SplineStatistics:
        """See :class:`VarianceData`."""
        total: SplineStatistics | None = None
        for b, confounder in self.read():
            total = no_rows(self.basis.size, b.shape[1]) if total is None else total
            total = total + spline_statistics(
                b,
                self.basis.evaluate(confounder),
                variance.weights(confounder),
                n_threads=self.n_threads,
            )
        assert total is not None
        return total

    def energies(self, variance: VarianceFunction, pilot: Pilot) -> tuple[Array, Array, Array]:
        """See :class:`VarianceData`."""
        psi, energy = [], []
        for b, confounder in self.read():
            weights = variance.weights(confounder)
            psi.append(variance.basis.evaluate(confounder))
            energy.append(row_energies(pilot, b, self.basis.evaluate(confounder), weights))
        found = np.concatenate(energy)
        return np.concatenate(psi), found, np.ones(len(found))


def row_energies(pilot: Pilot, b: Array, phi: Array, weights: Array) -> Array:
    """Energy of every row: see :meth:`VarianceData.energies`.

    Parameters
    ----------
    pilot : Pilot
    b : ndarray of shape (n, q)
    phi : ndarray of shape (n, M)
    weights : ndarray of shape (n,)
        Weights of the rows in the pilot fit.

    Returns
    -------
    ndarray of shape (n,)
    """
    energy = np.empty(len(b))
    for start in range(0, len(b), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        products = function_products(b[rows], phi[rows])
        lost = np.einsum("ir,ir->i", products @ pilot.leverage, products) / pilot.n
        kept = np.maximum(1.0 - weights[rows] * lost, LEAST_KEPT)
        energy[rows] = np.sum((products @ pilot.residual) ** 2, axis=1) / kept
    return energy


def fit_variance_function(
    b: Array,
    confounder: Array,
    basis: SplineBasis,
    threshold: Array,
    n_threads: int | None = None,
) -> VarianceFunction:
    """The variance function from rows in memory.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    confounder : ndarray of shape (n, m)
    basis : SplineBasis
        Functions of the nuisance.
    threshold : ndarray of shape (m,)
    n_threads : int, optional

    Returns
    -------
    VarianceFunction
    """
    noise = spline_basis(confounder, threshold, functions=VARIANCE_FUNCTIONS, degree=1)
    data = RowVariance(lambda: [(b, confounder)], basis, n_threads)
    return learn_variance(data, basis, noise)


def gamma_regression(
    psi: Array, energy: Array, counts: Array | None = None, size: Array | None = None
) -> Array:
    """Slopes of log(mean energy) on psi, with a free intercept, by Newton's method.

    Parameters
    ----------
    psi : ndarray of shape (n, functions)
    energy : ndarray of shape (n,)
    counts : ndarray of shape (n,), optional
        Number of samples whose mean is the energy of each row; one if absent.
    size : ndarray of shape (functions, functions), optional
        Matrix of the quadratic penalty of the slopes; the identity if absent.

    Returns
    -------
    ndarray of shape (functions,)
    """
    design = np.column_stack([np.ones(len(psi)), psi])
    energy = np.maximum(energy, TINY)
    counts = np.ones(len(psi)) if counts is None else counts
    penalty = SHRINKAGE * block_diag(0.0, np.eye(psi.shape[1]) if size is None else size)
    start = np.zeros(design.shape[1])
    start[0] = np.log(counts @ energy / counts.sum())
    return newton_slopes(design, energy, start, penalty, counts, TOLERANCE)[1:]
