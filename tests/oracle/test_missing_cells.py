"""The EM algorithm for missing cells against a literal one, row by row in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.missing.cell_regressions import SHIFT_RIDGE, PairPrior, learn_cells
from plaggm.core.missing.cells import CellModel, complete_cells, covariance_sums
from plaggm.core.nuisance.node_regressions import RIDGE
from plaggm.core.profile.spline import MEAN_RIDGE
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics
from plaggm.core.variance.binned import row_weights
from plaggm.estimators import em
from plaggm.estimators.rows import array_rows
from plaggm.estimators.spec import fit_spec
from plaggm.simulate import simulate_paper

# Products of a few hundred rows in another order.
ROUNDING = 1e-8
STEPS = 5


def holes(n: int, p: int, seed: int, share: float = 0.2, **settings: object) -> tuple:
    data = simulate_paper(p, n=n, seed=seed, even=True, threshold=60.0, **settings)
    x = data.x.copy()
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.0
    return x, data.confounder


def literal_rows(model: CellModel, z, functions, variance):
    """E[b b'] of every row: shape (n, q, q)."""
    n, p = z.shape
    found = np.empty((n, p + 1, p + 1))
    for i in range(n):
        effects = np.einsum("a,ajk->jk", functions[i], model.effects)
        shift = functions[i] @ model.shifts
        precision = (np.eye(p) - effects) / variance[i]
        gone = np.isnan(z[i])
        y = z[i] / model.deviation
        covariance = np.zeros((p, p))
        if gone.any():
            inverse = np.linalg.inv(precision[np.ix_(gone, gone)])
            right = shift[gone] / variance[i] - precision[np.ix_(gone, ~gone)] @ y[~gone]
            y[gone] = inverse @ right
            covariance[np.ix_(gone, gone)] = inverse
        b = np.append(y * model.deviation, 1.0)
        found[i] = np.outer(b, b)
        found[i, :p, :p] += covariance * np.outer(model.deviation, model.deviation)
    return found


def literal_model(products, functions, weights, prior: PairPrior, deviation) -> CellModel:
    """One node after the other: penalised least squares from expected products."""
    n, q = len(products), products.shape[1]
    p, size = q - 1, functions.shape[1]
    unit = np.append(deviation, 1.0)
    scaled = products / np.outer(unit, unit)
    moments = np.einsum("i,ia,ic,ijk->ajck", weights, functions, functions, scaled) / n
    flat = moments.reshape(size * q, size * q)
    inverse = np.linalg.inv(prior.nuisance) / n if size > 1 else np.zeros((0, 0))
    noise, effects = np.empty(p), np.zeros((size, p, p))
    for j in range(p):
        columns = [(a, k) for a in range(size) for k in range(q) if k != j]
        place = [a * q + k for a, k in columns]
        penalty = np.zeros((len(place), len(place)))
        for one, (a, k) in enumerate(columns):
            if a == 0:
                penalty[one, one] = RIDGE * np.trace(moments[0, :, 0, :]) / q
            for two, (c, other) in enumerate(columns):
                if a and c and k == other and k < p:
                    penalty[one, two] += inverse[a - 1, c - 1]
                if a and c and k == other == p:
                    penalty[one, two] += MEAN_RIDGE * moments[a, p, c, p]
        gram = flat[np.ix_(place, place)] + penalty
        right = flat[place, j]
        found = np.linalg.solve(gram, right)
        noise[j] = (flat[j, j] - right @ found) * n / (n - (size + p - 1))
        for value, (a, k) in zip(found, columns, strict=True):
            if k < p:
                effects[a, j, k] = value
    spread = np.sqrt(noise)
    effects = effects * spread[None, None, :] / spread[None, :, None]
    effects = 0.5 * (effects + effects.transpose(0, 2, 1))
    total = deviation * spread
    means = np.einsum("i,ia,ic,ik->ack", weights, functions, functions, products[:, -1]) / n
    y = means[:, :, :-1] / total
    right = y[0] - np.einsum("cjk,ack->aj", effects, y)
    ridge = SHIFT_RIDGE * np.diag(np.maximum(np.diagonal(means[:, :, -1]), SHIFT_RIDGE))
    shifts = np.linalg.solve(means[:, :, -1] + ridge, right)
    return CellModel(effects, shifts, total, np.full(p, np.inf))


@pytest.mark.parametrize("confounded", [False, True])
def test_steps_equal_literal_ones(confounded: bool) -> None:
    x, g = holes(500, 4, 3)
    spec = fit_spec(PLAGGM(0.05, threshold=60.0, missing="em", variance="conditional"))
    rows = array_rows(spec, PLAGGM, x, g if confounded else None)
    found = em.complete(spec, rows)
    functions = np.column_stack([np.ones(len(x)), found.design.basis.evaluate(rows.confounder)])
    z = (x - found.units.location) / found.units.scale
    weights = row_weights(found.design, found.variance, rows.confounder)
    assert found.prior is not None
    assert np.isinf(found.prior.network)
    fast = literal = found.model
    for _ in range(STEPS):
        total = found.totals([fast])[0]
        fast = learn_cells(total, found.design.basis, fast.deviation, found.prior)
        products = literal_rows(literal, z, functions, 1.0 / weights)
        literal = literal_model(products, functions, weights, found.prior, literal.deviation)
    np.testing.assert_allclose(fast.effects, literal.effects, atol=ROUNDING)
    np.testing.assert_allclose(fast.deviation, literal.deviation, rtol=ROUNDING)
    np.testing.assert_allclose(fast.shifts, literal.shifts, atol=ROUNDING)


def test_expected_sums_equal_literal_ones() -> None:
    x, _ = holes(60, 5, 1, share=0.4)
    rng = np.random.default_rng(0)
    effects = rng.uniform(-0.15, 0.15, (3, 5, 5))
    effects = 0.5 * (effects + effects.transpose(0, 2, 1))
    effects[:, np.arange(5), np.arange(5)] = 0.0
    model = CellModel(
        effects, rng.standard_normal((3, 5)), rng.uniform(0.5, 2.0, 5), np.full(5, 9.0)
    )
    functions = np.column_stack([np.ones(60), rng.uniform(0.0, 1.0, (60, 2))])
    variance, labels = rng.uniform(0.5, 2.0, 60), rng.integers(0, 2, 60)
    cells = complete_cells(model, x, functions, variance)
    assert cells.shrunken == 0
    products = literal_rows(model, x, functions, variance)
    more = covariance_sums(cells, functions, labels, 2, 1.0 / variance)
    upper, pairs = np.triu_indices(6), np.triu_indices(3)
    for number in (0, 1):
        rows = labels == number
        b = np.column_stack([cells.z[rows], np.ones(rows.sum())])
        found = spline_statistics(b, functions[rows, 1:], 1.0 / variance[rows])
        found = found + SplineStatistics(more[number], 0, 2)
        for slot, (a, c) in enumerate(zip(*pairs, strict=True)):
            weight = (functions[:, a] * functions[:, c] / variance)[rows]
            expected = np.einsum("i,ijk->jk", weight, products[rows])[upper]
            np.testing.assert_allclose(found.sums[slot], expected, atol=ROUNDING)
