"""The node-wise lasso with linear covariates against its optimality conditions, written out."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.families.columns import family_columns
from plaggm.core.families.covariate_lasso import covariate_lasso
from plaggm.core.families.distributions import FAMILIES
from plaggm.core.families.rows import family_rows
from plaggm.simulate import simulate_family

TOL = 1e-8


@pytest.fixture(scope="module", params=["binomial", "poisson", "mixed"])
def data(request):
    return simulate_family(5, n=300, seed=2, family=request.param, threshold=60.0, mean_shift=0.5)


def rows_of(data, covariates):
    return family_rows(data.x, covariates, family_columns(data.x, data.families))


def literal_slopes(data, covariates, coefficients, node):
    """Slopes of one node's mean log-likelihood by its coefficients, one column at a time."""
    x, columns = data.x, family_columns(data.x, data.families)
    family, scale = FAMILIES[data.families[node]], columns.scale[node]
    names, values = [], []
    functions = [np.ones(len(x)), *covariates.T]
    for a, function in enumerate(functions):
        for k in range(x.shape[1] + 1):
            if k == node:
                continue
            names.append(a * (x.shape[1] + 1) + k)
            seen = np.ones(len(x))
            if k < x.shape[1]:
                seen = FAMILIES[data.families[k]].neighbour(x[:, k], columns.centre[k])
                seen = (seen - columns.location[k]) / columns.scale[k]
            values.append(function * seen)
    design = np.array(values).T
    eta = design @ coefficients[names, node]
    if data.families[node] == "gaussian":
        left = (x[:, node] - columns.location[node]) / scale - eta
    else:
        left = (x[:, node] - family.mean(eta / scale)) / scale
    return np.array(names), design.T @ left / len(x)


@pytest.mark.parametrize("interactions", [True, False])
def test_every_step_is_optimal(data, interactions):
    covariates = data.confounder[:, None] / 200.0
    path = covariate_lasso(
        rows_of(data, covariates), 8, tol=TOL, max_iter=300, interactions=interactions
    )
    assert path.violations.max() <= TOL
    p = 5
    for alpha, coefficients in zip(path.alphas, path.coefficients, strict=True):
        for node in range(p):
            names, slopes = literal_slopes(data, covariates, coefficients, node)
            found = coefficients[names, node]
            free = names == p
            absent = (names > p) & (names != 2 * p + 1) if not interactions else np.zeros(10, bool)
            assert abs(slopes[free]).max() <= 10 * TOL
            assert not found[absent].any()
            kept = ~free & ~absent
            active = kept & (found != 0.0)
            np.testing.assert_allclose(slopes[active], alpha * np.sign(found[active]), atol=1e-6)
            assert np.abs(slopes[kept]).max() <= alpha + 1e-6
    assert not path.omega()[0][~np.eye(p, dtype=bool)].any()


def test_networks_are_means_of_both_ends(data):
    path = covariate_lasso(rows_of(data, np.zeros((300, 0))), 5, tol=1e-6, max_iter=100)
    omega = path.omega()[-1]
    main = path.coefficients[-1]
    assert omega[1, 3] == omega[3, 1] == 0.5 * (main[1, 3] + main[3, 1])
    np.testing.assert_array_equal(np.diagonal(omega), main[5])
