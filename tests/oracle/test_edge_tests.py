"""Tests of the edges against explicit n x n covariances, one node and one left-out group at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Lasso

from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.inference.change_tests import change_tests
from plaggm.core.inference.cluster_jackknife import (
    CLEARLY,
    HEAVY_TAILED,
    block_dispersion,
    jackknife_variances,
)
from plaggm.core.inference.desparsified import desparsified_tests, scaled_lasso_level
from plaggm.core.inference.edge_tests import edge_tests
from plaggm.core.inference.gram_tests import least_squares_tests
from plaggm.core.inference.nuisance_average import (
    PRICE,
    SHARE_WEIGHTS,
    SHARES,
    NodePosterior,
    average_nuisance,
    in_units,
    node_posterior,
)
from plaggm.core.nuisance.prior import START_TAU, PriorForm
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.statistics import SplineStatistics, spline_statistics, split_statistics
from plaggm.core.spline.system import SplineSystem, smooth_system, spline_system

# The mean's functions have a ridge of 1e-8, which the literal formulas leave out.
AGREEMENT = 1e-6
# Of p-values against SciPy's.
REFEREE = 1e-8
# Coordinate descent of another library, stopped at its own tolerance.
LASSO = 1e-6

P, N, GROUPS = 4, 160, 8
PAIRS = list(zip(*np.triu_indices(P, 1), strict=True))


@dataclass(frozen=True)
class Problem:
    """Rows with a confounder, their statistics, and a prior of the nuisance."""

    z: np.ndarray
    phi: np.ndarray
    weights: np.ndarray
    basis: SplineBasis
    statistics: SplineStatistics
    groups: tuple[SplineStatistics, ...]
    labels: np.ndarray

    @property
    def b(self) -> np.ndarray:
        return np.column_stack([self.z, np.ones(N)])

    @property
    def system(self) -> SplineSystem:
        return smooth_system(self.statistics, self.basis)[0]


@pytest.fixture(scope="module")
def problem() -> Problem:
    rng = np.random.default_rng(3)
    g = rng.uniform(-3.0, 3.0, (N, 1))
    z = rng.standard_normal((N, P)) @ np.linalg.cholesky(np.eye(P) + 0.4).T
    z[:, 0] += 0.8 * z[:, 1] * (np.abs(g[:, 0]) > 1.0)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    weights = rng.uniform(0.5, 1.5, N)
    basis = spline_basis(g, np.array([1.0]), functions=2, degree=2)
    phi = basis.evaluate(g)
    labels = rng.permutation(np.arange(N) % GROUPS)
    b = np.column_stack([z, np.ones(N)])
    total = spline_statistics(b, phi, weights)
    groups = split_statistics(b, phi, labels, GROUPS, weights)
    return Problem(z, phi, weights, basis, total, groups, labels)


@dataclass(frozen=True)
class Literal:
    """Generalised least squares of one node with the whole covariance of its rows."""

    coefficients: np.ndarray  # of the other variables
    posterior: np.ndarray  # their variances, noise aside
    sampling: np.ndarray
    map: np.ndarray  # from the response to the coefficients
    noise: float
    deviance: float


def literal_node(
    z: np.ndarray, functions: np.ndarray, weights: np.ndarray, prior: np.ndarray, j: int
) -> Literal:
    """Node j with nuisance coefficients N(0, s^2 prior) for every other variable."""
    n, p = z.shape
    root = np.sqrt(weights)[:, None]
    others = np.delete(z, j, axis=1)
    fixed = np.column_stack([others, np.ones(n), functions]) * root
    y = z[:, j] * root[:, 0]
    covariance = np.eye(n)
    for k in range(p - 1):
        columns = functions * others[:, [k]] * root
        covariance += columns @ prior @ columns.T
    inverse = np.linalg.inv(covariance)
    spread = np.linalg.inv(fixed.T @ inverse @ fixed)
    whole_map = spread @ fixed.T @ inverse
    solution = whole_map @ y
    residual = y - fixed @ solution
    degrees = n - fixed.shape[1]
    own = slice(0, p - 1)
    deviance = (
        np.linalg.slogdet(covariance)[1]
        - np.linalg.slogdet(spread)[1]
        + (n - p) * np.log(residual @ inverse @ residual)
    )
    return Literal(
        solution[own],
        np.diagonal(spread)[own],
        np.sum(whole_map[own] ** 2, axis=1),
        whole_map[own],
        float(residual @ inverse @ residual / degrees),
        float(deviance),
    )


def literal_pairs(nodes: list[Literal]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, posterior and sampling variances of all pairs, both regressions averaged."""
    found = []
    for j, k in PAIRS:
        sides = []
        for node, other in ((j, k), (k, j)):
            place = other if other < node else other - 1
            one = nodes[node]
            unit = np.sqrt(nodes[other].noise / one.noise)
            errors = np.sqrt(np.array([one.posterior[place], one.sampling[place]]) * one.noise)
            sides.append([one.coefficients[place] * unit, *(errors * unit)])
        found.append(np.mean(sides, axis=0))
    estimate, posterior, sampling = np.array(found).T
    return estimate, posterior**2, sampling**2


def in_conditional_units(problem: Problem) -> np.ndarray:
    """Columns over what weighted least squares on the others leaves of them."""
    precision = np.linalg.inv((problem.b * problem.weights[:, None]).T @ problem.b / N)
    return problem.z * np.sqrt(np.diagonal(precision)[:-1])


def literal_nodes(problem: Problem, posterior_prior: np.ndarray) -> list[Literal]:
    functions = problem.phi @ problem.system.rotation
    z = in_conditional_units(problem)
    return [literal_node(z, functions, problem.weights, posterior_prior, j) for j in range(P)]


def some_prior(size: int) -> np.ndarray:
    root = np.random.default_rng(5).standard_normal((size, size))
    return 0.3 * (root @ root.T + np.eye(size)) / N


def test_pairs_equal_generalised_least_squares(problem):
    average = average_nuisance(problem.system, PriorForm(problem.basis.confounders))
    for prior, pairs in zip(average.priors, average.pairs, strict=True):
        estimate, posterior, sampling = literal_pairs(literal_nodes(problem, prior))
        np.testing.assert_allclose(pairs.estimate, estimate, rtol=AGREEMENT, atol=AGREEMENT)
        np.testing.assert_allclose(pairs.variance, posterior, rtol=AGREEMENT)
        np.testing.assert_allclose(pairs.sampling, sampling, rtol=AGREEMENT)


@pytest.mark.parametrize("confounders", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 2]])
def test_weights_are_those_of_the_restricted_likelihood(problem, confounders):
    form = PriorForm(np.array(confounders))
    average = average_nuisance(problem.system, form)
    size = problem.system.functions

    def likelihood(prior: np.ndarray) -> float:
        return -0.25 * sum(node.deviance for node in literal_nodes(problem, prior))

    shares = np.array([likelihood(prior) for prior in average.priors[1:]])
    among = np.exp(shares - shares.max()) * np.array(SHARE_WEIGHTS)
    learnt = average.priors[1 + SHARES.index(1.0)]
    beside = 0.01 * np.eye(size) / N
    absent = 1.0
    for confounder in set(confounders):
        own = np.array(confounders) == confounder
        variances, directions = np.linalg.eigh(np.where(np.outer(own, own), learnt, 0.0))
        leading = variances[-1] * np.outer(directions[:, -1], directions[:, -1])
        odds = np.exp(likelihood(leading + beside) - likelihood(beside) - PRICE * own.sum())
        absent /= 1.0 + odds
    expected = np.append(absent, (1.0 - absent) * among / among.sum())
    np.testing.assert_allclose(average.weights, expected, rtol=1e-4)


def test_p_value_is_the_posterior_probability_of_the_other_sign(problem):
    average = average_nuisance(problem.system, PriorForm(problem.basis.confounders))
    tests = edge_tests(problem.statistics, problem.basis, profile_pooled(problem.b))
    for place in range(len(PAIRS)):
        below = sum(
            weight
            * stats.t.cdf(0.0, average.degrees, one.estimate[place], one.variance[place] ** 0.5)
            for weight, one in zip(average.weights, average.pairs, strict=True)
        )
        assert tests.p_value[place] == pytest.approx(2.0 * min(below, 1.0 - below), rel=1e-9)


def typical_posterior(problem: Problem) -> tuple[NodePosterior, list[SplineSystem]]:
    average = average_nuisance(problem.system, PriorForm(problem.basis.confounders))
    posterior = node_posterior(average.system, some_prior(problem.system.functions))
    systems = [
        in_units(spline_system(group, posterior.system.rotation), average.units)
        for group in problem.groups
    ]
    return posterior, systems


def test_jackknife_leaves_out_one_group_of_rows_at_a_time(problem):
    posterior, systems = typical_posterior(problem)
    prior = some_prior(problem.system.functions)
    functions = problem.phi @ problem.system.rotation
    z = in_conditional_units(problem)
    whole = literal_nodes(problem, prior)
    left_out = []
    for group in range(GROUPS):
        rows = problem.labels != group
        part = [
            literal_node(z[rows], functions[rows], problem.weights[rows], prior, j)
            for j in range(P)
        ]
        # The units stay those of all rows.
        known = [
            Literal(a.coefficients, a.posterior, a.sampling, a.map, b.noise, a.deviance)
            for a, b in zip(part, whole, strict=True)
        ]
        left_out.append(literal_pairs(known)[0])
    expected = (GROUPS - 1) * np.var(left_out, axis=0)
    np.testing.assert_allclose(jackknife_variances(posterior, systems), expected, rtol=1e-5)


def test_dispersion_rests_on_the_influence_of_every_block(problem):
    posterior, systems = typical_posterior(problem)
    prior = some_prior(problem.system.functions)
    functions = problem.phi @ problem.system.rotation
    z = in_conditional_units(problem)
    deviation = np.sqrt([node.noise for node in literal_nodes(problem, prior)])
    step = 1e-4
    total = np.zeros(len(PAIRS))
    for group in range(GROUPS):
        # More weight on a block's rows, and as much more on the prior.
        rows = problem.labels == group
        moved = np.zeros((P, P))
        for sign in (1.0, -1.0):
            weights = problem.weights * (1.0 + sign * step * rows)
            own = prior / (1.0 + sign * step * rows.mean())
            for j in range(P):
                found = literal_node(z, functions, weights, own, j).coefficients
                moved[j, np.arange(P) != j] += sign * found / (2.0 * step)
        moved *= deviation[None, :] / deviation[:, None]
        total += [(0.5 * (moved[j, k] + moved[k, j])) ** 2 for j, k in PAIRS]
    sampling = posterior.pairs().sampling
    first_order = total.sum() / sampling.sum() * GROUPS / (GROUPS - 1)
    limit = 1.0 + CLEARLY * np.sqrt(2.0 / ((GROUPS - 1) * len(PAIRS)))
    assert first_order < limit
    assert block_dispersion(posterior, lambda: systems).factor == 1.0
    # A sampling variance that is clearly too small: the factor is the jackknife's.
    factor = 1.05 * limit / first_order
    small = replace(posterior, noise=posterior.noise / factor)
    expected = factor * jackknife_variances(posterior, systems).sum() / sampling.sum()
    assert block_dispersion(small, lambda: systems).factor == pytest.approx(expected)
    # Slightly too small: first-order effects do not show it, and the jackknife only where it is clear.
    for nearly in (0.99 * limit / first_order, 0.7 * limit / first_order):
        almost = replace(posterior, noise=posterior.noise / nearly)
        shown = nearly * jackknife_variances(posterior, systems).sum() / sampling.sum()
        kept, unpenalised = N - N / GROUPS, P + functions.shape[1]
        fewer = kept**2 * (N - unpenalised) ** 2 / (N * (kept - unpenalised) ** 3)
        clear = shown > HEAVY_TAILED * fewer
        assert clear == (nearly > 0.9 * limit / first_order)
        expected = shown / fewer if clear else 1.0
        assert block_dispersion(almost, lambda one=almost: systems).factor == pytest.approx(
            expected
        )


def test_hausman_variance_is_that_of_the_difference(problem):
    prior = np.eye(problem.system.functions) / (START_TAU * N)
    nodes = literal_nodes(problem, prior)
    z = in_conditional_units(problem)
    none = np.zeros((N, 0))
    plain = [literal_node(z, none, problem.weights, np.zeros((0, 0)), j) for j in range(P)]
    difference, variance = [], []
    for j, k in PAIRS:
        sides = []
        for node, other in ((j, k), (k, j)):
            place = other if other < node else other - 1
            unit = np.sqrt(nodes[other].noise / nodes[node].noise)
            moved = nodes[node].coefficients[place] - plain[node].coefficients[place]
            spread = nodes[node].map[place] - plain[node].map[place]
            sides.append([moved * unit, np.linalg.norm(spread) * np.sqrt(plain[node].noise) * unit])
        mean = np.mean(sides, axis=0)
        difference.append(mean[0])
        variance.append(mean[1] ** 2)
    found = change_tests(problem.statistics, problem.basis)
    np.testing.assert_allclose(found.difference, difference, rtol=1e-5, atol=AGREEMENT)
    np.testing.assert_allclose(found.standard_error**2, variance, rtol=1e-5)


def partial_correlation_test(z: np.ndarray, j: int, k: int) -> tuple[float, float]:
    """SciPy's correlation of two residuals, with the degrees of freedom of a partial correlation."""
    rest = np.column_stack([np.delete(z, [j, k], axis=1), np.ones(len(z))])
    left = z[:, [j, k]] - rest @ np.linalg.lstsq(rest, z[:, [j, k]], rcond=None)[0]
    r = stats.pearsonr(*left.T).statistic
    degrees = len(z) - z.shape[1]
    return r, 2.0 * stats.t.sf(abs(r) * np.sqrt(degrees / (1.0 - r**2)), degrees)


def test_without_confounder_it_is_the_t_test_of_a_partial_correlation(problem):
    b = problem.b
    plain = spline_statistics(b, np.zeros((N, 0)))
    expected = np.array([partial_correlation_test(problem.z, j, k) for j, k in PAIRS])
    fisher = np.arctanh(expected[:, 0])
    half = stats.norm.isf(0.025) / np.sqrt(N - P - 1)
    for tests in (
        edge_tests(plain, SplineBasis(()), profile_pooled(b)),
        least_squares_tests(profile_pooled(b)),
    ):
        np.testing.assert_allclose(tests.estimate, expected[:, 0], rtol=REFEREE)
        np.testing.assert_allclose(tests.p_value, expected[:, 1], rtol=REFEREE)
        np.testing.assert_allclose(tests.low, np.tanh(fisher - half), rtol=REFEREE)
        np.testing.assert_allclose(tests.high, np.tanh(fisher + half), rtol=REFEREE)
        assert tests.degrees_of_freedom == N - P


def test_residualised_samples_have_the_test_given_the_regressors(problem):
    g = np.column_stack([problem.phi[:, :1], np.ones(N)])
    left = problem.z - g @ np.linalg.lstsq(g, problem.z, rcond=None)[0]
    grams = profile_pooled(np.column_stack([left, np.ones(N)]))
    tests = least_squares_tests(type(grams)(grams.grams, N, np.ones(P)))
    joint = np.column_stack([problem.z, problem.phi[:, :1]])
    expected = [partial_correlation_test(joint, j, k)[1] for j, k in PAIRS]
    np.testing.assert_allclose(tests.p_value, expected, rtol=REFEREE)


def literal_desparsified(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T of Jankova and van de Geer (2017), its z-scores and Theta, by scikit-learn's lasso."""
    n, p = x.shape
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    level = scaled_lasso_level(n - 1, p)
    theta = np.zeros((p, p))
    for j in range(p):
        others = np.delete(np.arange(p), j)
        sigma = 1.0
        for _ in range(200):
            lasso = Lasso(level * sigma, fit_intercept=False, tol=1e-14, max_iter=200_000)
            coefficients = lasso.fit(x[:, others], x[:, j]).coef_
            before = sigma
            sigma = np.sqrt(np.mean((x[:, j] - x[:, others] @ coefficients) ** 2))
            if abs(sigma - before) < 1e-12:
                break
        theta[others, j] = -coefficients / sigma**2
        theta[j, j] = 1.0 / sigma**2
    gram = x.T @ x / n
    corrected = theta + theta.T - theta.T @ gram @ theta
    mean = 0.5 * (theta + theta.T)
    variance = (np.outer(np.diagonal(theta), np.diagonal(theta)) + mean**2) / (n - 1)
    size = np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta)))
    return -corrected / size, -corrected / np.sqrt(variance), theta


@pytest.mark.parametrize(("n", "p"), [(30, 12), (12, 20)])
def test_desparsified_lasso_equals_its_definition(n, p):
    rng = np.random.default_rng(11)
    x = rng.standard_normal((n, p))
    x[:, 1] += 0.9 * x[:, 0]
    x[:, 2] -= 0.7 * x[:, 1]
    estimate, z, _ = literal_desparsified(x)
    tests = desparsified_tests(profile_pooled(np.column_stack([x * 3.0 + 2.0, np.ones(n)])))
    upper = np.triu_indices(p, 1)
    np.testing.assert_allclose(tests.estimate, estimate[upper], atol=LASSO)
    np.testing.assert_allclose(tests.z, z[upper], atol=100.0 * LASSO)


def test_blocks_show_heavy_tails_to_the_desparsified_lasso():
    rng = np.random.default_rng(12)
    n, p, labels = 60, 40, np.arange(60) % 10
    x = rng.standard_normal((n, p))
    x[:, 1] += 0.9 * x[:, 0]
    upper = np.triu_indices(p, 1)
    for rows, heavy in ((x, False), (x * np.sqrt(3.0 / rng.chisquare(3.0, n))[:, None], True)):
        b = np.column_stack([rows, np.ones(n)])
        blocks = split_statistics(b, np.zeros((n, 0)), labels, 10)
        plain, tests = (desparsified_tests(profile_pooled(b), own) for own in ((), blocks))
        assert (tests.dispersion > 1.0) == heavy
        if heavy:
            theta = literal_desparsified(rows)[2]
            residual = (rows - rows.mean(axis=0)) / rows.std(axis=0) @ theta
            size = np.sqrt(np.outer(np.diagonal(theta), np.diagonal(theta)))
            parts = np.array([residual[labels == k].T @ residual[labels == k] for k in range(10)])
            shares = (parts / (n * size))[:, *upper]
            scatter = np.sum((shares - shares.mean(axis=0)) ** 2, axis=0) * 10 / 9
            variance = (1.0 + (0.5 * (theta + theta.T) / size)[upper] ** 2) / (n - 1)
            assert tests.dispersion == pytest.approx(scatter.sum() / variance.sum(), rel=1e-4)
            assert tests.dispersion > 1.3
        # Halves of intervals on Fisher's scale, which both tests share.
        np.testing.assert_allclose(
            tests.z / plain.z, np.full(len(plain.z), tests.dispersion**-0.5), rtol=1e-3
        )


@pytest.mark.parametrize("own", [False, True], ids=["one Gram for all", "one for each node"])
def test_least_squares_jackknife_refits_without_each_group(own):
    """Every node regressed by lstsq on all rows but those of a group, in the units of the whole fit."""
    draw = np.random.default_rng(5)
    z = draw.standard_normal((N, P))
    z[:, 1] += 0.5 * z[:, 0]
    b = np.column_stack([z, np.ones(N)])
    labels = np.arange(N) // (N // GROUPS)
    # Where transformed columns depend on the node, each node has its own weights of the rows here.
    weights = draw.uniform(0.5, 1.5, (P, N)) if own else np.ones((P, N))

    def grams(rows: np.ndarray) -> NodeGrams:
        each = [
            (b[rows] * w[rows, None]).T @ (b[rows] * w[rows, None]) / len(rows) for w in weights
        ]
        return NodeGrams(np.array(each if own else each[:1]), len(rows), np.zeros(P))

    def regressions(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coefficients, deviations = np.zeros((P, P)), np.zeros(P)
        for j in range(P):
            weighted = b[rows] * weights[j, rows, None]
            others = np.delete(weighted, j, axis=1)
            found = np.linalg.lstsq(others, weighted[:, j], rcond=None)[0]
            coefficients[j, np.delete(np.arange(P), j)] = found[:-1]
            residual = weighted[:, j] - others @ found
            deviations[j] = np.sqrt(residual @ residual / (len(rows) - P))
        return coefficients, deviations

    everything = np.arange(N)
    whole, deviations = regressions(everything)
    units = deviations[None, :] / deviations[:, None]

    def pairs(coefficients: np.ndarray) -> np.ndarray:
        values = coefficients * units
        return np.array([0.5 * (values[j, k] + values[k, j]) for j, k in PAIRS])

    without = np.array(
        [pairs(regressions(everything[labels != group])[0]) for group in range(GROUPS)]
    )
    variance = (GROUPS - 1) / GROUPS * np.sum((without - without.mean(axis=0)) ** 2, axis=0)
    found = least_squares_tests(
        grams(everything), (grams(everything[labels == group]) for group in range(GROUPS))
    )
    np.testing.assert_allclose(found.estimate, pairs(whole), rtol=REFEREE)
    np.testing.assert_allclose(found.standard_error, np.sqrt(variance), rtol=REFEREE)
    expected = 2.0 * stats.t.sf(np.abs(pairs(whole)) / np.sqrt(variance), GROUPS - 1)
    np.testing.assert_allclose(found.p_value, expected, rtol=REFEREE)
    assert found.method == "least squares, cluster jackknife"
    with pytest.raises(ValueError, match="one group"):
        least_squares_tests(grams(everything), [grams(everything)])
