from __future__ import annotations

import numpy as np

from plaggm.core.centrality import centrality

# Of standard deviations over 3,000 simulated data sets, and of first-order variances at n = 600.
CHANCE = 0.06


def test_sums_with_and_without_groups() -> None:
    network = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.0], [-0.2, 0.0, 1.0]])
    every = centrality(network)
    assert every.degree.tolist() == [2, 1, 1]
    np.testing.assert_allclose(every.strength, [0.5, 0.3, 0.2])
    np.testing.assert_allclose(every.influence, [0.1, 0.3, -0.2])
    assert np.isnan(every.strength_error).all()
    between = centrality(network, groups=np.array([0, 0, 1]))
    np.testing.assert_allclose(between.strength, [0.2, 0.0, 0.2])
    np.testing.assert_allclose(between.influence, [-0.2, 0.0, -0.2])


def test_errors_are_those_of_simulated_data() -> None:
    rng = np.random.default_rng(3)
    p, n, sets = 6, 600, 3000
    omega = np.triu(rng.uniform(0.1, 0.35, (p, p)) * rng.choice([-1.0, 1.0], (p, p)), 1)
    omega += omega.T
    omega *= 0.75 / np.abs(np.linalg.eigvalsh(omega)).max()
    edges = (np.abs(omega) > 0.05) & ~np.eye(p, dtype=bool)
    root = np.linalg.cholesky(np.linalg.inv(np.eye(p) - omega))
    found = []
    for _ in range(sets):
        precision = np.linalg.inv(np.cov((rng.standard_normal((n, p)) @ root.T).T))
        deviation = np.sqrt(np.diagonal(precision))
        r = -precision / np.outer(deviation, deviation)
        sums = centrality(np.where(edges, r, 0.0))
        found.append((sums.strength, sums.influence))
    spread = np.std(found, axis=0)
    errors = (1.0 - omega**2) / np.sqrt(n - p - 1.0)
    known = centrality(np.where(edges, omega, 0.0), errors, omega)
    np.testing.assert_allclose(known.strength_error, spread[0], rtol=CHANCE)
    np.testing.assert_allclose(known.influence_error, spread[1], rtol=CHANCE)


def test_a_variable_without_edges_is_known_to_be_zero() -> None:
    found = centrality(np.zeros((3, 3)), np.full((3, 3), 0.1))
    assert found.strength.tolist() == found.strength_error.tolist() == [0.0, 0.0, 0.0]
