"""Coordinate descent over the pairs of a symmetric lasso, at one penalty.

The problem, with G_j node j's Gram matrix (intercept minimised out) whose row j belongs to its response:

    min  sum_j { 1/2 Omega_j' G_j Omega_j - G_j[j, :] Omega_j + 1/2 G_j[j, j] }
         + lambda sum_{j<k} |Omega_jk|       over symmetric Omega with zero diagonal

The state is Omega and one gradient row for each node, gamma_j = G_j Omega_j - G_j[:, j]. A pair (j, k) has
curvature G_j[k, k] + G_k[j, j] and gradient gamma_j[k] + gamma_k[j]; changing it adds one row of G_j to
gamma_j and one of G_k to gamma_k. The duality gap follows from the gradients: with residuals r,
-gamma_j[j] = y_j'r_j and r_j'r_j = y_j'r_j + Omega_j'gamma_j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array, Index, Mask
from plaggm.core.lasso.short_rows import ShortRows
from plaggm.core.numerics.compiled import compiled
from plaggm.core.numerics.coordinate_steps import add_scaled, duality_gap, soft_threshold

# Factor of the sweeps' tolerance each time that the gap is still too large.
TIGHTEN = 0.1
# Number of iterates that an extrapolation combines.
MEMORY = 6
# Number of rounds of sweeps after which the gradients are recomputed in every round.
PATIENCE = 12


@compiled()
def refresh_gradient(grams: Array, index: Index, omega: Array, gradient: Array) -> None:
    """Recompute the gradients from the solution, so that rounding does not add up."""
    p = omega.shape[0]
    for j in range(p):
        row = gradient[j]
        for k in range(p):
            row[k] = -grams[index[j], j, k]
        for k in range(p):
            if k != j and omega[j, k] != 0.0:
                add_scaled(row, grams[index[j], k], omega[j, k])


@compiled()
def objective(omega: Array, gradient: Array, level: float) -> float:
    """The objective, from the solution and its gradients."""
    p = omega.shape[0]
    total = 0.0
    for j in range(p):
        total -= 0.5 * gradient[j, j]
        for k in range(p):
            total += 0.5 * omega[j, k] * gradient[j, k]
        for k in range(j + 1, p):
            total += level * abs(omega[j, k])
    return total


@compiled()
def joint_gap(
    omega: Array,
    gradient: Array,
    curvature: Array,
    first: Index,
    second: Index,
    level: float,
    floor: float,
) -> float:
    """Duality gap of the symmetric problem; ``floor`` is the sum of the unexplained energies."""
    p = omega.shape[0]
    own = 0.0
    fitted = 0.0
    penalty = 0.0
    steepest = 0.0
    for j in range(p):
        own -= gradient[j, j]
        for k in range(p):
            fitted += omega[j, k] * gradient[j, k]
        for k in range(j + 1, p):
            penalty += abs(omega[j, k])
            steepest = max(steepest, abs(gradient[j, k] + gradient[k, j]))
    if level == 0.0:
        # Only zero is dual feasible: the sum of the gains of exact steps of all pairs instead.
        gain = 0.0
        for pair in range(first.shape[0]):
            j, k = first[pair], second[pair]
            if curvature[pair] > 0.0:
                gain += 0.5 * (gradient[j, k] + gradient[k, j]) ** 2 / curvature[pair]
        return gain
    own -= floor
    return duality_gap(own, own + fitted, level * penalty, steepest, level)


@compiled()
def predict(
    omega: Array,
    gradient: Array,
    omega_before: Array,
    gradient_before: Array,
    ratio: float,
    level: float,
) -> None:
    """Move to a point on the line through the last two solutions if that lowers the objective.

    The solution is piecewise linear in lambda, so that this is exact between changes of the support. The
    solution before the move is written into ``omega_before`` and ``gradient_before``.
    """
    candidate = omega + ratio * (omega - omega_before)
    slope = gradient + ratio * (gradient - gradient_before)
    better = objective(candidate, slope, level) < objective(omega, gradient, level)
    omega_before[:] = omega
    gradient_before[:] = gradient
    if better:
        omega[:] = candidate
        gradient[:] = slope


@compiled()
def _extrapolate(
    omegas: Array, gradients: Array, omega: Array, gradient: Array, level: float
) -> None:
    """Anderson extrapolation from the last iterates, if it lowers the objective.

    The gradient is affine in Omega, so that a combination of iterates with weights that sum to one has the
    same combination of their gradients.
    """
    last = omegas.shape[0] - 1
    p = omega.shape[0]
    products = np.zeros((last, last))
    for a in range(last):
        for b in range(a + 1):
            total = 0.0
            for j in range(p):
                for k in range(j + 1, p):
                    total += (omegas[a + 1, j, k] - omegas[a, j, k]) * (
                        omegas[b + 1, j, k] - omegas[b, j, k]
                    )
            products[a, b] = total
            products[b, a] = total
    trace = np.trace(products)
    if not trace > 0.0:
        return
    for a in range(last):
        products[a, a] += 1e-12 * trace
    weights = np.linalg.solve(products, np.ones(last))
    weights /= weights.sum()
    candidate = np.zeros((p, p))
    slope = np.zeros((p, p))
    for a in range(last):
        candidate += weights[a] * omegas[a + 1]
        slope += weights[a] * gradients[a + 1]
    if objective(candidate, slope, level) < objective(omega, gradient, level):
        omega[:] = candidate
        gradient[:] = slope


@compiled(fastmath=frozenset({"contract", "nsz"}))
def _sweep(
    short: ShortRows,
    omega: Array,
    gradient: Array,
    change: NDArray[np.float32],
    touched: Mask,
    curvature: Array,
    first: Index,
    second: Index,
    members: Index,
    count: int,
    level: float,
) -> float:
    """One pass over some pairs; returns the largest curvature times squared step.

    ``change`` (p, width) and ``touched`` (p,) are work arrays, zero before and after.
    """
    rows, place_first, place_second, unit = short
    p = omega.shape[0]
    width = rows.shape[1]
    largest = 0.0
    for position in range(count):
        pair = members[position]
        j = first[pair]
        k = second[pair]
        a = curvature[pair]
        if a <= 0.0:
            continue
        old = omega[j, k]
        slope = gradient[j, k] + gradient[k, j]
        slope += unit * (np.float64(change[j, k]) + np.float64(change[k, j]))
        new = soft_threshold(a * old - slope, level) / a
        if new != old:
            step = new - old
            omega[j, k] = new
            omega[k, j] = new
            move = np.float32(step)
            # Explicit loops, since slices would cost as much as the additions.
            at = place_first[pair]
            for i in range(width):
                change[j, i] += move * rows[at, i]
            at = place_second[pair]
            for i in range(width):
                change[k, i] += move * rows[at, i]
            touched[j] = True
            touched[k] = True
            largest = max(largest, a * step * step)
    for j in range(p):
        if touched[j]:
            touched[j] = False
            for i in range(p):
                gradient[j, i] += unit * np.float64(change[j, i])
            for i in range(width):
                change[j, i] = 0.0
    return largest


@compiled()
def descend(
    grams: Array,
    short: ShortRows,
    index: Index,
    omega: Array,
    gradient: Array,
    curvature: Array,
    first: Index,
    second: Index,
    level: float,
    level_before: float,
    floor: float,
    tolerance: float,
    budget: int,
) -> tuple[float, int]:
    """Sweep until the duality gap is at most ``tolerance`` or the budget of sweeps is spent.

    Sweeps run over the pairs selected by the sequential strong rule, mostly over the non-zero ones, with an
    extrapolation every few sweeps. Other pairs that violate their optimality condition are then added. The
    gap is that of all pairs.

    Parameters
    ----------
    grams : ndarray of shape (p or 1, p, p)
    short : ShortRows
        Single-precision rows for the sweeps.
    index : ndarray of shape (p,)
    omega, gradient : ndarray of shape (p, p)
        The state, changed in place.
    curvature, first, second : ndarray of shape (pairs,)
    level, level_before : float
        This lambda and the one before it on the grid.
    floor : float
        See :func:`plaggm.core.grams.unexplained_energy.unexplained_energy`.
    tolerance : float
    budget : int

    Returns
    -------
    gap : float
    sweeps : int
    """
    p = omega.shape[0]
    pairs = first.shape[0]
    selected = np.empty(pairs, np.int64)
    is_selected = np.zeros(pairs, np.bool_)
    active = np.empty(pairs, np.int64)
    omegas = np.empty((MEMORY, p, p))
    gradients = np.empty((MEMORY, p, p))
    change = np.zeros((p, short[0].shape[1]), np.float32)
    touched = np.zeros(p, np.bool_)
    count = 0
    for pair in range(pairs):
        j, k = first[pair], second[pair]
        slope = abs(gradient[j, k] + gradient[k, j])
        is_selected[pair] = omega[j, k] != 0.0 or slope >= 2.0 * level - level_before
        if is_selected[pair]:
            selected[count] = pair
            count += 1
    step_tolerance = tolerance
    sweeps = 0
    rounds = 0
    gap = joint_gap(omega, gradient, curvature, first, second, level, floor)
    while gap > tolerance and sweeps < budget:
        while sweeps < budget:
            largest = _sweep(
                short,
                omega,
                gradient,
                change,
                touched,
                curvature,
                first,
                second,
                selected,
                count,
                level,
            )
            sweeps += 1
            if largest <= step_tolerance:
                break
            n_active = 0
            for i in range(count):
                if omega[first[selected[i]], second[selected[i]]] != 0.0:
                    active[n_active] = selected[i]
                    n_active += 1
            stored = 0
            while sweeps < budget:
                largest = _sweep(
                    short,
                    omega,
                    gradient,
                    change,
                    touched,
                    curvature,
                    first,
                    second,
                    active,
                    n_active,
                    level,
                )
                sweeps += 1
                if largest <= step_tolerance:
                    break
                omegas[stored] = omega
                gradients[stored] = gradient
                stored += 1
                if stored == MEMORY:
                    _extrapolate(omegas, gradients, omega, gradient, level)
                    stored = 0
        for pair in range(pairs):
            if not is_selected[pair]:
                j, k = first[pair], second[pair]
                if abs(gradient[j, k] + gradient[k, j]) > level:
                    is_selected[pair] = True
                    selected[count] = pair
                    count += 1
        gap = joint_gap(omega, gradient, curvature, first, second, level, floor)
        rounds += 1
        if gap <= tolerance or sweeps >= budget or rounds >= PATIENCE:
            # The final gap must not contain the rounding errors of many updates of the gradients, which may
            # also be why the gap stays too large.
            refresh_gradient(grams, index, omega, gradient)
            gap = joint_gap(omega, gradient, curvature, first, second, level, floor)
        step_tolerance *= TIGHTEN
    return gap, sweeps
