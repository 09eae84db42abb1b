"""Tests of changing pairs against least squares on the rows, one pair and one left-out group at a time."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from plaggm.core.inference.moderation_tests import moderation_tests, orthonormal_functions
from plaggm.core.inference.nuisance_average import conditional_units
from plaggm.core.inference.score_tests import EMPHASIS
from plaggm.core.inference.weighted_chi_squares import ratio_tail
from plaggm.core.nuisance.node_regressions import RIDGE
from plaggm.core.nuisance.prior import PriorForm, prior_covariance
from plaggm.core.profile.spline import MEAN_RIDGE
from plaggm.core.spline.statistics import spline_statistics, split_statistics
from plaggm.core.spline.system import spline_system

AGREEMENT = 1e-8
P, N, GROUPS = 4, 240, 8
# Two functions of one confounder, three of another.
OWNERS = np.array([0, 0, 1, 1, 1])
PAIRS = list(zip(*np.triu_indices(P, 1), strict=True))


@dataclass(frozen=True)
class Rows:
    """Weighted rows, their functions and groups."""

    z: np.ndarray
    phi: np.ndarray
    weights: np.ndarray
    labels: np.ndarray

    @property
    def b(self) -> np.ndarray:
        return np.column_stack([self.z, np.ones(len(self.z))])


@pytest.fixture(scope="module")
def rows() -> Rows:
    rng = np.random.default_rng(11)
    g = rng.uniform(0.0, 1.0, (N, 2))
    phi = np.column_stack([g[:, 0], g[:, 0] ** 2, g[:, 1], g[:, 1] ** 2, g[:, 1] > 0.8])
    z = rng.standard_normal((N, P)) @ np.linalg.cholesky(np.eye(P) + 0.3).T
    z[:, 0] += 1.2 * z[:, 1] * g[:, 0] + g[:, 1]
    return Rows(z, phi, rng.uniform(0.5, 1.5, N), np.arange(N) % GROUPS)


class Literal:
    """The model of each node written out: rows, columns and penalties."""

    def __init__(self, rows: Rows) -> None:
        total = spline_statistics(rows.b, rows.phi, rows.weights)
        rotation = orthonormal_functions(total, OWNERS)
        system, units = conditional_units(spline_system(total, rotation))
        self.prior = prior_covariance(system, PriorForm(OWNERS))
        self.functions = rows.phi @ rotation
        root = np.sqrt(rows.weights)[:, None]
        self.z = rows.z / units[:-1]
        self.weighted = root * self.z
        self.one = root
        self.ridge = RIDGE * np.trace(system.bb) / (P + 1)
        self.labels = rows.labels
        self.size = self.functions.shape[1]
        deviations = [self.posterior(j)[2] for j in range(P)]
        self.noise = np.array(deviations)

    def columns(self, j: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Columns of node j's regression, the square root of their penalties over n, and the others."""
        others = [k for k in range(P) if k != j]
        plain = np.column_stack([self.weighted[:, others], self.one])
        means = self.functions * self.one
        products = [self.functions * self.weighted[:, [k]] for k in others]
        design = np.column_stack([plain, means, *products])
        # n P is the inverse of the prior.
        root = np.linalg.cholesky(np.linalg.inv(self.prior) / N).T
        penalty = np.zeros((design.shape[1], design.shape[1]))
        free = P + self.size
        penalty[np.arange(P), np.arange(P)] = np.sqrt(self.ridge)
        penalty[np.arange(P, free), np.arange(P, free)] = np.sqrt(MEAN_RIDGE)
        for place in range(P - 1):
            block = slice(free + place * self.size, free + (place + 1) * self.size)
            penalty[block, block] = root
        return design, penalty, others

    def posterior(
        self, j: int, kept: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Coefficients by least squares with penalties as rows, their covariance, the noise."""
        design, penalty, _ = self.columns(j)
        y = self.weighted[:, j]
        if kept is not None:
            design, y = design[kept], y[kept]
        stacked = np.vstack([design, np.sqrt(N) * penalty])
        response = np.append(y, np.zeros(len(penalty)))
        found = np.linalg.lstsq(stacked, response, rcond=None)[0]
        left = np.sum((response - stacked @ found) ** 2)
        covariance = N * np.linalg.inv(stacked.T @ stacked)
        return found, covariance, float(left / (N - P - self.size))

    def score(self, j: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Score of the functions of k at zero, information, and the part of the other pairs' prior.

        The covariance of the rows is written out, without the functions of the pair itself.
        """
        _, _, others = self.columns(j)
        covariance = np.eye(N)
        effects = []
        for other in others:
            if other != k:
                columns = self.functions * self.weighted[:, [other]]
                effects.append(columns @ self.prior @ columns.T)
                covariance += effects[-1]
        inverse = np.linalg.inv(covariance)
        fixed = np.column_stack([self.weighted[:, others], self.one, self.functions * self.one])
        ridge = np.append(np.full(P, self.ridge), np.full(self.size, MEAN_RIDGE))
        inner = fixed.T @ inverse @ fixed + N * np.diag(ridge)
        project = inverse - inverse @ fixed @ np.linalg.solve(inner, fixed.T @ inverse)
        own = self.functions * self.weighted[:, [k]]
        left = project @ own
        return (
            left.T @ self.weighted[:, j] / N,
            own.T @ left / N,
            sum(left.T @ effect @ left for effect in effects) / N,
        )

    def paired(self, of_node) -> np.ndarray:
        """Mean of a quantity over both regressions of every pair."""
        return np.array([0.5 * (of_node(j, k) + of_node(k, j)) for j, k in PAIRS])

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, information and the prior's part of all pairs."""
        noise = self.noise
        return (
            self.paired(lambda j, k: np.sqrt(N / (noise[j] * noise[k])) * self.score(j, k)[0]),
            self.paired(lambda j, k: self.score(j, k)[1] / noise[k]),
            self.paired(lambda j, k: self.score(j, k)[2] / noise[k]),
        )

    def correlations(self) -> np.ndarray:
        """Partial correlations at the means of the functions."""
        weights = self.one[:, 0] ** 2
        mean = weights @ self.functions / weights.sum()

        def coefficient(j: int, k: int) -> float:
            found, _, _ = self.posterior(j)
            place = [other for other in range(P) if other != j].index(k)
            start = P + self.size + place * self.size
            value = found[place] + mean @ found[start : start + self.size]
            return value * np.sqrt(self.noise[k] / self.noise[j])

        return self.paired(coefficient)

    def contribution(self, group: int) -> np.ndarray:
        """What the rows of a group contribute to the scores of all pairs."""
        kept = self.labels != group
        share = 1.0 - kept.mean()
        pull = np.linalg.inv(self.prior) / N

        def one(j: int, k: int) -> np.ndarray:
            place = [other for other in range(P) if other != j].index(k)
            start = P + self.size + place * self.size
            own = slice(start, start + self.size)
            whole, covariance, _ = self.posterior(j)
            left = self.posterior(j, kept)[0][own]
            solved = np.linalg.solve(covariance[own, own], whole[own] - left)
            scale = np.sqrt(N / (self.noise[j] * self.noise[k]))
            return scale * ((1.0 - share) * solved - share * pull @ left)

        return self.paired(one)


def literal_tests(literal: Literal, confounder: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Statistics and p-values of one confounder, pair by pair."""
    scores, information, prior = literal.scores()
    r = literal.correlations()
    contributions = [literal.contribution(group) for group in range(groups)]
    mine = np.isin(OWNERS, confounder)
    others = ~mine
    u, covariances, lefts = [], [], []
    for x in range(len(PAIRS)):
        sampling = (1.0 - r[x] ** 2) * (information[x] - prior[x])
        if groups:
            sampling = sum(np.outer(one[x], one[x]) for one in contributions)
            sampling = sampling * groups / (groups - 1.0)
        slope = information[x][np.ix_(mine, others)] @ np.linalg.inv(
            information[x][np.ix_(others, others)]
        )
        take = np.zeros((mine.sum(), len(OWNERS)))
        take[:, mine] = np.eye(mine.sum())
        take[:, others] = -slope
        u.append(take @ scores[x])
        covariances.append(take @ (sampling + prior[x]) @ take.T)
        lefts.append(take @ information[x] @ take.T)
    # Any root of the mean information gives the same statistics.
    half = np.linalg.inv(np.linalg.cholesky(np.mean(lefts, axis=0)))
    u = [half @ one for one in u]
    covariances = [half @ one @ half.T for one in covariances]
    statistics, p_values = [], []
    for x in range(len(PAIRS)):
        rest = [y for y in range(len(PAIRS)) if y != x]
        excess = np.mean([np.outer(u[y], u[y]) - covariances[y] for y in rest], axis=0)
        values, vectors = np.linalg.eigh(excess)
        positive = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
        weights = np.eye(len(values)) + EMPHASIS * positive
        shape = np.mean(covariances, axis=0) if groups else covariances[x]
        eigen = np.linalg.eigvals(weights @ shape).real
        eigen = eigen / eigen.sum()
        degrees = (groups - 1.0) / np.sum(eigen**2) if groups else N - P - len(OWNERS)
        statistic = u[x] @ weights @ u[x] / np.trace(weights @ covariances[x])
        statistics.append(statistic)
        p_values.append(ratio_tail(eigen[None], np.array([statistic]), np.array([degrees]))[0])
    return np.array(statistics), np.array(p_values)


@pytest.mark.parametrize("groups", [0, GROUPS])
@pytest.mark.filterwarnings("ignore:Tests of changing edges rest on")
def test_tests_are_those_of_least_squares_on_the_rows(rows: Rows, groups: int) -> None:
    total = spline_statistics(rows.b, rows.phi, rows.weights)
    parts = split_statistics(rows.b, rows.phi, rows.labels, GROUPS, rows.weights)
    basis = SimpleNamespace(size=len(OWNERS), confounders=OWNERS, terms=(), slices=list)
    found = moderation_tests(total, basis, groups=parts if groups else ())
    literal = Literal(rows)
    for place, confounder in enumerate((0, 1)):
        statistic, p_value = literal_tests(literal, confounder, groups)
        assert found.statistic[place] == pytest.approx(statistic, rel=AGREEMENT)
        assert found.p_value[place] == pytest.approx(p_value, rel=AGREEMENT)
    # The pair that changes is found, with the confounder that it changes with.
    assert np.argmin(found.p_value[0]) == 0
    assert found.p_value[0, 0] < 0.01
