"""Scores, changes and influences of several families against weighted least squares, written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t

from plaggm.core.families.change_tests import family_change_tests
from plaggm.core.families.columns import family_columns
from plaggm.core.families.edge_tests import family_edge_tests
from plaggm.core.families.influence import left_out
from plaggm.core.families.moderation_tests import family_moderation_tests, family_scores
from plaggm.core.families.posterior import fit_nodes, unpenalised_fit
from plaggm.core.families.rows import family_rows
from plaggm.core.inference.nuisance_average import BESIDE, POOLING, SHARES
from plaggm.core.nuisance.prior import PriorForm, retain_share
from plaggm.core.spline.statistics import function_products, spline_statistics
from plaggm.core.spline.system import spline_system

# All are solutions of the same small linear systems.
AGREEMENT = 1e-8
N, P, M, GROUPS = 240, 4, 2, 24
FAMILIES = {
    "binomial": ("binomial",) * P,
    "mixed": ("binomial", "poisson", "gaussian", "binomial"),
}
PAIRS = [(j, k) for j in range(P) for k in range(j + 1, P)]
OWNERS = np.zeros(M, dtype=np.intp)


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
    return family_rows(x, phi, family_columns(x, families))


@pytest.fixture(scope="module", params=FAMILIES)
def fit(request):
    rows = data(FAMILIES[request.param])
    rotation = np.diag(1.0 / np.sqrt(np.mean(rows.phi**2, axis=0)))
    seen = spline_system(spline_statistics(rows.b, rows.phi), rotation)
    return unpenalised_fit(rows, np.zeros((rows.size, P)), seen, PriorForm(OWNERS))


def systems_of(fit, node, kept_rows):
    """Weighted design, response and penalty of one node, its own columns left out."""
    weights, response = fit.rows.working(fit.eta)
    table = function_products(fit.rows.b, fit.rows.phi @ fit.systems.systems[0].rotation)
    penalty = fit.systems.penalty(node, np.linalg.inv(fit.prior) / N)
    columns = [c for c in range(table.shape[1]) if c % (P + 1) != node]
    heavy = weights[kept_rows, node, None] * table[np.ix_(kept_rows, columns)]
    gram = heavy.T @ table[np.ix_(kept_rows, columns)] / N + penalty[np.ix_(columns, columns)]
    return columns, gram, heavy.T @ response[kept_rows, node] / N


def test_scores_are_slopes_where_a_pair_does_not_change(fit):
    turn = np.array([[1.0, 0.3], [0.0, 0.5]])
    rotation = fit.systems.systems[0].rotation @ turn
    found = family_scores(fit, rotation, None)
    for place, (j, k) in enumerate(PAIRS):
        score, information = np.zeros(M), np.zeros((M, M))
        for node, other in ((j, k), (k, j)):
            columns, gram, right = systems_of(fit, node, np.arange(N))
            own = [columns.index((1 + a) * (P + 1) + other) for a in range(M)]
            rest = [c for c in range(len(columns)) if c not in own]
            solved = np.linalg.solve(gram[np.ix_(rest, rest)], right[rest])
            score += 0.5 * (right[own] - gram[np.ix_(own, rest)] @ solved)
            inner = np.linalg.solve(gram[np.ix_(rest, rest)], gram[np.ix_(rest, own)])
            free = gram[np.ix_(own, own)] - np.linalg.inv(fit.prior) / N
            noise = fit.systems.dispersion[node]
            information += 0.5 * noise * (free - gram[np.ix_(own, rest)] @ inner)
        np.testing.assert_allclose(found.score[place], np.sqrt(N) * turn.T @ score, atol=AGREEMENT)
        np.testing.assert_allclose(
            found.information[place], turn.T @ information @ turn, atol=AGREEMENT
        )


@pytest.mark.parametrize("grouped", [False, True])
def test_moves_are_those_of_regressions_without_the_rows(fit, grouped):
    groups = np.arange(N) % GROUPS if grouped else None
    fits = fit_nodes(fit.systems, fit.prior)
    moved = np.concatenate(list(left_out(fit.rows, fit.eta, fit.systems, fits, groups)))
    assert len(moved) == (GROUPS if grouped else N)
    for number in (0, 7):
        gone = np.flatnonzero(groups == number) if grouped else [number]
        rows = np.delete(np.arange(N), gone)
        for node in range(P):
            columns, gram, right = systems_of(fit, node, rows)
            without = np.linalg.solve(gram, right)
            expected = without - fits[node].coefficients[columns]
            np.testing.assert_allclose(moved[number, node, columns], expected, atol=AGREEMENT)


def regressions(fit, prior):
    """Coefficients, posterior and sampling variances of all nodes, and half their log-likelihood."""
    weights, response = fit.rows.working(fit.eta)
    under = replace(fit, prior=prior)
    found, likelihood = np.zeros((3, P, P)), 0.0
    for node in range(P):
        columns, gram, right = systems_of(under, node, np.arange(N))
        inverse, noise = np.linalg.inv(gram), fit.systems.dispersion[node]
        ridge = fit.systems.penalty(node, np.linalg.inv(prior) / N)[np.ix_(columns, columns)]
        place = [columns.index(k) for k in range(P) if k != node]
        others = [k for k in range(P) if k != node]
        residual = np.mean(weights[:, node] * response[:, node] ** 2) - right @ inverse @ right
        likelihood -= 0.25 * (N * residual / noise + np.linalg.slogdet(gram)[1])
        likelihood -= 0.25 * (P - 1) * np.linalg.slogdet(N * prior)[1]
        found[0, node, others] = (inverse @ right)[place]
        found[1, node, others] = noise / N * np.diag(inverse)[place]
        sampled = inverse @ (gram - ridge) @ inverse
        found[2, node, others] = noise / N * np.diag(sampled)[place]
    return found, likelihood


def left_out_variances(fit, prior):
    """Sums of the squared moves of all coefficients when rows are left out, each regressed anew."""
    under, found = replace(fit, prior=prior), np.zeros((P, P))
    for node in range(P):
        columns, gram, right = systems_of(under, node, np.arange(N))
        whole = np.linalg.solve(gram, right)
        others = [k for k in range(P) if k != node]
        for row in range(N):
            _, gram, right = systems_of(under, node, np.delete(np.arange(N), row))
            moved = np.linalg.solve(gram, right) - whole
            found[node, others] += [moved[columns.index(k)] ** 2 for k in others]
    return found


def test_edge_tests_average_over_priors(fit):
    counts = "poisson" in fit.rows.columns.families
    pooling = POOLING / N * np.eye(M)
    priors = [pooling, *(retain_share(fit.prior, fit.means, share) for share in SHARES)]
    found = [regressions(fit, prior) for prior in priors]
    # Networks with counts weigh all shares alike, and put no price on R.
    weigh = np.array([1.0 if counts else 5.0, 1.0, 1.0, 1.0, 1.0])
    shares = weigh * np.exp([one - found[4][1] for _, one in found[1:]])
    size, direction = (part[..., -1] for part in np.linalg.eigh(fit.prior))
    beside = BESIDE / N * np.eye(M)
    leading = beside + size * np.outer(direction, direction)
    evidence = regressions(fit, leading)[1] - regressions(fit, beside)[1]
    present = expit(evidence - (0.0 if counts else 0.25 * M))
    weights = np.append(1.0 - present, present * shares / shares.sum())
    typical = sum(weight * prior for weight, prior in zip(weights, priors, strict=True))
    enlarged = np.ones(len(PAIRS))
    if counts:
        seen, expected = left_out_variances(fit, typical), regressions(fit, typical)[0][2]
        binary = fit.rows.columns.of("binomial")
        seen[binary] = expected[binary]
        enlarged = np.array(
            [
                (np.sqrt(seen[j, k]) + np.sqrt(seen[k, j])) ** 2
                / (np.sqrt(expected[j, k]) + np.sqrt(expected[k, j])) ** 2
                for j, k in PAIRS
            ]
        )
    tests, _ = family_edge_tests(fit)
    for place, (j, k) in enumerate(PAIRS):
        below, above = 0.0, 0.0
        for weight, (parts, _) in zip(weights, found, strict=True):
            estimate = 0.5 * (parts[0, j, k] + parts[0, k, j])
            posterior, sampling = (
                (0.5 * (np.sqrt(part[j, k]) + np.sqrt(part[k, j]))) ** 2 for part in parts[1:]
            )
            variance = posterior - sampling + enlarged[place] * sampling
            below += weight * t.cdf(-estimate / np.sqrt(variance), N - P - M)
            above += weight * t.cdf(estimate / np.sqrt(variance), N - P - M)
        np.testing.assert_allclose(tests.p_value[place], 2.0 * min(below, above), rtol=1e-6)


def test_moderation_does_not_depend_on_the_functions_but_by_their_span(fit):
    rotation = fit.systems.systems[0].rotation
    first = family_moderation_tests(fit, rotation, OWNERS)
    turned = rotation @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    np.testing.assert_allclose(
        family_moderation_tests(fit, turned, OWNERS).p_value, first.p_value, atol=1e-6
    )
    grouped = family_moderation_tests(fit, rotation, OWNERS, np.arange(N) % GROUPS)
    assert np.all((grouped.p_value > 0.0) & (grouped.p_value <= 1.0))


def test_one_group_is_refused(fit):
    with pytest.raises(ValueError, match="one group"):
        family_moderation_tests(fit, np.eye(M), OWNERS, np.zeros(N, dtype=np.intp))


def test_changes_are_those_between_a_fit_with_and_one_without_functions(fit):
    rows = fit.rows
    rotation = fit.systems.systems[0].rotation
    start = np.zeros((rows.size, P))
    found = family_change_tests(rows, start, rotation)
    plain = replace(rows, phi=np.zeros((N, 0)), tables=None)
    none = spline_system(spline_statistics(plain.b, plain.phi), np.zeros((0, 0)))
    pooled = unpenalised_fit(plain, start[: P + 1], none, PriorForm(OWNERS[:0]))
    both = [one.coefficients[:P] for one in fit_nodes(pooled.systems, np.zeros((0, 0)))]
    expected = [0.5 * (both[j][k] + both[k][j]) for j, k in PAIRS]
    np.testing.assert_allclose(found.pooled, expected, atol=AGREEMENT)
    assert np.all(found.standard_error > 0.0)
    grouped = family_change_tests(rows, start, rotation, np.arange(N) % GROUPS)
    np.testing.assert_allclose(grouped.difference, found.difference)
