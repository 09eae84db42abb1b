from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.graphs.centrality import centrality

# Of standard deviations over 2,000 simulated data sets, and of first-order variances at n = 2,000.
CHANCE = 0.1


def test_sums_with_and_without_groups() -> None:
    estimate = np.zeros((12, 12))
    for j, k, value in ((0, 1, 0.3), (0, 2, -0.2), (5, 6, 0.25)):
        estimate[j, k] = estimate[k, j] = value
    error = np.full((12, 12), 1e-3)
    every = centrality(estimate, error)
    np.testing.assert_allclose(every.strength[:4], [0.5, 0.3, 0.2, 0.0], atol=2e-3)
    np.testing.assert_allclose(every.influence[:4], [0.1, 0.3, -0.2, 0.0], atol=2e-3)
    groups = np.repeat([0, 1], [2, 10])
    between = centrality(estimate, error, groups)
    np.testing.assert_allclose(between.strength[:4], [0.2, 0.0, 0.2, 0.0], atol=2e-3)
    np.testing.assert_allclose(between.influence[:4], [-0.2, 0.0, -0.2, 0.0], atol=2e-3)


def test_errors_are_those_of_simulated_data() -> None:
    rng = np.random.default_rng(3)
    p, n, sets = 6, 2000, 2000
    # All pairs are clearly there, so that nothing is shrunk: errors are those of sampling.
    omega = np.triu(rng.uniform(0.2, 0.3, (p, p)) * rng.choice([-1.0, 1.0], (p, p)), 1)
    omega += omega.T
    omega *= 0.75 / np.abs(np.linalg.eigvalsh(omega)).max()
    assert np.abs(omega[np.triu_indices(p, 1)]).min() > 0.1
    root = np.linalg.cholesky(np.linalg.inv(np.eye(p) - omega))
    found = []
    for _ in range(sets):
        precision = np.linalg.inv(np.cov((rng.standard_normal((n, p)) @ root.T).T))
        deviation = np.sqrt(np.diagonal(precision))
        r = -precision / np.outer(deviation, deviation)
        np.fill_diagonal(r, 0.0)
        found.append((np.abs(r).sum(axis=1), r.sum(axis=1)))
    spread = np.std(found, axis=0)
    known = centrality(omega, (1.0 - omega**2) / np.sqrt(n - p - 1.0))
    np.testing.assert_allclose(known.strength_error, spread[0], rtol=CHANCE)
    np.testing.assert_allclose(known.influence_error, spread[1], rtol=CHANCE)


def test_nothing_known_is_nothing_said() -> None:
    found = centrality(np.zeros((3, 3)), np.full((3, 3), np.inf))
    assert found.strength.tolist() == found.strength_error.tolist() == [0.0, 0.0, 0.0]
    assert centrality(np.zeros((1, 1)), np.zeros((1, 1))).strength == pytest.approx([0.0])


def test_chunks_of_pairs_and_sums_by_matrix_products_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    estimate = np.triu(rng.choice([0.0, 0.05, -0.1], (20, 20)), 1)
    estimate += estimate.T
    # Correlations of a positive definite matrix are never cut off at one.
    assert np.linalg.eigvalsh(np.eye(20) - estimate).min() > 0.0
    error = np.full((20, 20), 0.02)
    formed = centrality(estimate, error)
    monkeypatch.setattr("plaggm.core.graphs.adaptive_shrinkage.CHUNK_PAIRS", 7)
    monkeypatch.setattr("plaggm.core.graphs.centrality.FORMED", 13)
    summed = centrality(estimate, error)
    for name in ("strength", "strength_error", "influence", "influence_error"):
        np.testing.assert_allclose(getattr(summed, name), getattr(formed, name), rtol=1e-10)
