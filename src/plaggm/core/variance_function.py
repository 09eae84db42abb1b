"""How the confounder inflates the noise.

The noisiest samples are usually the most confounded ones, and least squares would let them dominate. The
variance of all nodes is multiplied by a common factor exp(a' psi(g)), psi being piecewise linear functions
of the confounders that vanish below the threshold, so that it is one there. a is fitted to the squared
residuals of a pilot fit as a gamma regression with logarithmic link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plaggm.core.profile.spline import (
    SplineSystem,
    penalty_weights,
    profile_spline,
    spline_coefficients,
    spline_system,
)
from plaggm.core.spline_basis import SplineBasis, spline_basis
from plaggm.core.spline_statistics import CHUNK_ROWS, spline_statistics
from plaggm.core.spline_targets import least_squares_targets, moments, symmetric_inverse

Array = NDArray[np.float64]

VARIANCE_FUNCTIONS = 2
PILOT_TAU = 1.0
PILOT_SMOOTHNESS = 3.0
ROUNDS = 3
NEWTON_STEPS = 25
# Prior precision of a, in samples: keeps functions with few samples near zero.
SHRINKAGE = 5.0
# Variance of a standardised column below which nothing is left of it.
TINY = 1e-12
LEAST_RIDGE = 1e-10
# A row whose residual keeps less than this part of its noise tells nothing about it.
LEAST_KEPT = 0.05


@dataclass(frozen=True, slots=True)
class VarianceFunction:
    """exp(a' psi(g)).

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
        """Row weights, the inverse of the factor: shape (n,)."""
        return np.exp(-self.log_variance(confounder))


def constant_variance() -> VarianceFunction:
    """No inflation."""
    return VarianceFunction(SplineBasis(()), np.zeros(0))


def fit_variance_function(
    b: Array, confounder: Array, basis: SplineBasis, threshold: Array
) -> VarianceFunction:
    """Alternate between a pilot fit and the regression of its squared residuals on psi.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    confounder : ndarray of shape (n, m)
    basis : SplineBasis
        Of the nuisance.
    threshold : ndarray of shape (m,)

    Returns
    -------
    VarianceFunction
    """
    psi_basis = spline_basis(confounder, threshold, functions=VARIANCE_FUNCTIONS, degree=1)
    if not psi_basis.sides:
        return constant_variance()
    phi, psi = basis.evaluate(confounder), psi_basis.evaluate(confounder)
    coefficients = np.zeros(psi.shape[1])
    for _ in range(ROUNDS):
        weights = np.exp(-psi @ coefficients)
        system = spline_system(spline_statistics(b, phi, weights), basis)
        energy = relative_residual_energy(b, phi, weights, system)
        energy /= kept_energy(b, phi, weights, system)
        coefficients = gamma_regression(psi, energy)
    return VarianceFunction(psi_basis, coefficients)


def relative_residual_energy(b: Array, phi: Array, weights: Array, system: SplineSystem) -> Array:
    """Squared residual of every row, averaged over the nodes, each relative to its own variance.

    Parameters
    ----------
    b : ndarray of shape (n, q)
    phi : ndarray of shape (n, M)
    weights : ndarray of shape (n,)
        Of the pilot fit.
    system : SplineSystem

    Returns
    -------
    ndarray of shape (n,)
    """
    fit = profile_spline(system, PILOT_TAU, PILOT_SMOOTHNESS)
    omega, variance = least_squares_targets(system, fit.penalty)
    p = system.p
    gamma = np.einsum("ab,bjk->ajk", system.rotation, spline_coefficients(fit, omega))
    energy = np.empty(len(b))
    for start in range(0, len(b), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        z = b[rows, :p]
        residual = z - _predict(z, omega)
        for function, slope in zip(phi[rows].T, gamma, strict=True):
            residual -= function[:, None] * _predict(z, slope)
        energy[rows] = np.mean(residual**2 / np.maximum(variance, TINY), axis=1)
    return energy


def kept_energy(b: Array, phi: Array, weights: Array, system: SplineSystem) -> Array:
    """Part of constant noise that the pilot fit leaves in the residual of each row.

    With H the pilot's hat matrix, the diagonal of (1 - H)(1 - H)'. Rows far out in the confounder have
    the largest leverage; left uncorrected, their overfit would be taken for low noise.

    Parameters
    ----------
    b, phi, weights, system
        As for :func:`relative_residual_energy`.

    Returns
    -------
    ndarray of shape (n,)
    """
    penalty = penalty_weights(system, PILOT_TAU, PILOT_SMOOTHNESS)
    lost = taken_forms(system, penalty)
    turned = np.column_stack([np.ones(len(phi)), phi @ system.rotation])
    kept = np.empty(len(b))
    for start in range(0, len(b), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        design = (turned[rows, :, None] * b[rows, None, :]).reshape(-1, len(lost))
        leverage = np.einsum("ir,ir->i", design @ lost, design) / system.n
        kept[rows] = 1.0 - weights[rows] * leverage
    return np.maximum(kept, LEAST_KEPT)


def taken_forms(system: SplineSystem, penalty: Array) -> Array:
    """2 F - F (W'W / n) F, the form on [b, phi_1 b, ...] of what a fit takes of constant noise in a row.

    F is the inverse of K = W'W / n + Q, hence the form is F + F Q F.

    Parameters
    ----------
    system : SplineSystem
    penalty : ndarray of shape (M q,)

    Returns
    -------
    ndarray of shape ((1 + M) q, (1 + M) q)
    """
    ridge = np.append(np.full(system.q, LEAST_RIDGE), penalty)
    inverse = symmetric_inverse(moments(system) + np.diag(ridge))
    return np.asarray(inverse + (inverse * ridge) @ inverse)


def _predict(z: Array, omega: Array) -> Array:
    """Prediction of every node from the others and its intercept on the diagonal: shape (n, p)."""
    diagonal = np.diagonal(omega)
    return (z @ omega) - z * diagonal + diagonal


def gamma_regression(psi: Array, energy: Array, counts: Array | None = None) -> Array:
    """Slopes of log(mean energy) on psi, with a free intercept, by Newton's method.

    Parameters
    ----------
    psi : ndarray of shape (n, functions)
    energy : ndarray of shape (n,)
    counts : ndarray of shape (n,), optional
        Samples that each row stands for; one when absent.

    Returns
    -------
    ndarray of shape (functions,)
    """
    design = np.column_stack([np.ones(len(psi)), psi])
    energy = np.maximum(energy, TINY)
    counts = np.ones(len(psi)) if counts is None else counts
    shrink = np.full(design.shape[1], SHRINKAGE)
    shrink[0] = 0.0
    a = np.zeros(design.shape[1])
    a[0] = np.log(counts @ energy / counts.sum())
    for _ in range(NEWTON_STEPS):
        ratio = energy * np.exp(-design @ a)
        gradient = design.T @ (counts * (1.0 - ratio)) + shrink * a
        hessian = (design * (counts * ratio)[:, None]).T @ design + np.diag(shrink)
        step = np.linalg.solve(hessian, gradient)
        # A step of more than one unit of log-variance is cut: far from the optimum Newton overshoots.
        a -= step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    return a[1:]
