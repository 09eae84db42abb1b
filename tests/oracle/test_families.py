"""Networks of several families against a literal twin: reweighted least squares on the stacked design.

The twin writes every coefficient (pairs, intercepts, every node's nuisance) as one vector, forms the
weights of all rows anew in each step, and minimises the quadratic model by plain coordinate descent.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from plaggm.core.families.columns import family_columns
from plaggm.core.families.nodes import NuisancePenalty
from plaggm.core.families.path import networks, solve_family_path
from plaggm.core.families.rows import family_rows

# Both solve the same strictly convex problem to rounding.
AGREEMENT = 1e-8
N, P, M = 150, 4, 2
FAMILIES = {
    "binomial": ("binomial",) * P,
    "poisson": ("poisson",) * P,
    "mixed": ("binomial", "poisson", "gaussian", "binomial"),
}


def data(families, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.uniform(-1.0, 1.0, N)
    common = rng.standard_normal(N)
    x = np.empty((N, P))
    for j, family in enumerate(families):
        eta = 0.7 * common * (1.0 + g) + 0.5 * g - 0.3
        if family == "binomial":
            x[:, j] = rng.uniform(size=N) < expit(eta)
        elif family == "poisson":
            x[:, j] = rng.poisson(np.exp(0.5 * eta + 0.3))
        else:
            x[:, j] = eta + rng.standard_normal(N)
    phi = np.column_stack([np.clip(g - 0.2, 0.0, None), np.clip(-g - 0.2, 0.0, None)])
    a = rng.standard_normal((M, M))
    network = 0.05 * (a @ a.T + np.eye(M))
    means = np.array([1e-3 * (1 + j) * np.eye(M) for j in range(P)])
    return x, phi, NuisancePenalty(network, means)


def mean_and_variance(family, y_scale, eta):
    if family == "gaussian":
        return eta, np.ones_like(eta)
    if family == "binomial":
        mean = expit(eta / y_scale)
        return mean, mean * (1.0 - mean)
    mean = np.exp(eta / y_scale)
    return mean, mean


def literal(x, phi, penalty, families, columns, level):
    """All coefficients by reweighted least squares and coordinate descent."""
    z = columns.seen(x)
    pairs = [(j, k) for j in range(P) for k in range(j + 1, P)]
    names = [("pair", j, k) for j, k in pairs] + [("intercept", j, -1) for j in range(P)]
    for j in range(P):
        for a in range(M):
            names += [("nuisance", j, (a, k)) for k in [*range(P), P] if k != j]
    designs, ridge = [], np.zeros((len(names), len(names)))
    for j in range(P):
        design = np.zeros((N, len(names)))
        for place, (kind, first, second) in enumerate(names):
            if kind == "pair" and j in (first, second):
                design[:, place] = z[:, second if j == first else first]
            elif kind == "intercept" and j == first:
                design[:, place] = 1.0
            elif kind == "nuisance" and j == first:
                a, k = second
                design[:, place] = phi[:, a] * (z[:, k] if k < P else 1.0)
        designs.append(design)
    for place, (kind, j, more) in enumerate(names):
        for other, (kind2, j2, more2) in enumerate(names):
            if kind == kind2 == "nuisance" and j == j2 and more[1] == more2[1]:
                matrix = penalty.network if more[1] < P else penalty.means[j]
                ridge[place, other] = matrix[more[0], more2[0]]
    beta = np.zeros(len(names))
    for j in range(P):
        if families[j] != "gaussian":
            share = x[:, j].mean()
            start = np.log(share / (1 - share)) if families[j] == "binomial" else np.log(share)
            beta[len(pairs) + j] = columns.scale[j] * start
    for _ in range(200):
        hessian, right = ridge.copy(), np.zeros(len(names))
        for j in range(P):
            eta = designs[j] @ beta
            unit = 1.0 if families[j] == "gaussian" else columns.scale[j]
            y = z[:, j] if families[j] == "gaussian" else x[:, j]
            mean, variance = mean_and_variance(families[j], unit, eta)
            weights = variance / unit**2
            working = eta + (y - mean) / unit / weights
            hessian += designs[j].T @ (weights[:, None] * designs[j]) / N
            right += designs[j].T @ (weights * working) / N
        new = beta.copy()
        slope = hessian @ new - right
        for _ in range(20_000):
            largest = 0.0
            for place in range(len(names)):
                a = hessian[place, place]
                wanted = new[place] - slope[place] / a
                if place < len(pairs):
                    wanted = np.sign(wanted) * max(abs(wanted) - level / a, 0.0)
                step = wanted - new[place]
                if step:
                    slope += hessian[place] * step
                    new[place] = wanted
                    largest = max(largest, abs(step))
            if largest < 1e-13:
                break
        moved = np.max(np.abs(new - beta))
        beta = new
        if moved < 1e-11:
            break
    omega = np.diag(beta[len(pairs) : len(pairs) + P])
    for (j, k), value in zip(pairs, beta, strict=False):
        omega[j, k] = omega[k, j] = value
    gamma = np.zeros((M, P + 1, P))
    for (kind, j, more), value in zip(names, beta, strict=True):
        if kind == "nuisance":
            gamma[more[0], more[1], j] = value
    return omega, gamma


@pytest.mark.parametrize("name", FAMILIES)
def test_every_coefficient_is_that_of_the_literal_twin(name):
    families = FAMILIES[name]
    x, phi, penalty = data(families)
    columns = family_columns(x, families)
    rows = family_rows(x, phi, columns)
    top = float(solve_family_path(rows, penalty, 1, tol=1e-9, max_iter=200).alphas[0])
    alphas = top * np.array([0.6, 0.2, 0.02])
    found = solve_family_path(rows, penalty, alphas, tol=1e-13, max_iter=200)
    for step, level in enumerate(alphas):
        omega, gamma = literal(x, phi, penalty, families, columns, level)
        np.testing.assert_allclose(networks(found.coefficients[step]), omega, atol=AGREEMENT)
        nuisance = found.coefficients[step].reshape(1 + M, P + 1, P)[1:]
        np.testing.assert_allclose(nuisance, gamma, atol=AGREEMENT)


@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_are_those_of_the_objective(name):
    families = FAMILIES[name]
    x, phi, penalty = data(families, seed=1)
    rows = family_rows(x, phi, family_columns(x, families))
    rng = np.random.default_rng(2)
    coefficients = 0.1 * rng.standard_normal((rows.size, P))
    nodes = np.arange(P)
    coefficients.reshape(1 + M, P + 1, P)[:, nodes, nodes] = 0.0

    def objective(values):
        return rows.loss(rows.predictors(values)) + penalty.value(values)

    eta = rows.predictors(coefficients)
    slopes = rows.gradient(rows.evaluate(eta)[1]) + penalty.slopes(coefficients)
    for place in rng.choice(rows.size * P, 25, replace=False):
        step = np.zeros(rows.size * P)
        step[place] = 1e-5
        step = step.reshape(rows.size, P)
        row, node = divmod(int(place), P)
        if row % (P + 1) == node:
            assert slopes[row, node] == 0.0
            continue
        change = objective(coefficients + step) - objective(coefficients - step)
        assert slopes[row, node] == pytest.approx(change / 2e-5, abs=1e-7)
