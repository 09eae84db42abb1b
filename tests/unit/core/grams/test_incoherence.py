"""The incoherence condition, against the literal Hessian and against what the lasso does."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.grams.incoherence import incoherence_of, pair_hessian
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.literal import literal_objective
from plaggm.core.lasso.path import solve_path


def grams_of(x: np.ndarray) -> NodeGrams:
    b = np.column_stack([x, np.ones(len(x))])
    return NodeGrams((b.T @ b / len(b))[None], len(b), np.zeros(x.shape[1]))


def own_grams(p: int, rng: np.random.Generator) -> NodeGrams:
    """Gram matrices that differ between the nodes, as those of the smoothers do."""
    tables = rng.normal(size=(p, 60, p + 1)) + 0.3
    return NodeGrams(np.einsum("jik,jil->jkl", tables, tables) / 60, 60, np.zeros(p))


def test_hessian_is_the_second_derivative_of_the_objective() -> None:
    p, rng = 4, np.random.default_rng(0)
    grams = own_grams(p, rng)
    rows, columns = np.triu_indices(p, 1)

    def loss(values: np.ndarray) -> float:
        pairs, intercepts = values[: len(rows)], values[len(rows) :]
        omega = np.zeros((p, p))
        omega[rows, columns] = omega[columns, rows] = pairs
        np.fill_diagonal(omega, intercepts)
        return literal_objective(grams.grams, omega, 0.0)

    size = len(rows) + p
    unit = np.eye(size)
    full = np.array(
        [[loss(a + b) - loss(a) - loss(b) + loss(np.zeros(size)) for b in unit] for a in unit]
    )
    s = slice(len(rows), size)
    pairs = slice(0, len(rows))
    profiled = full[pairs, pairs] - full[pairs, s] @ np.linalg.inv(full[s, s]) @ full[s, pairs]
    np.testing.assert_allclose(pair_hessian(grams), profiled, atol=1e-9)
    # The paper's S holds the intercepts too: its columns of the edges are the same.
    omega = np.zeros((p, p))
    omega[0, 1] = omega[1, 0] = 1.0
    edge = omega[rows, columns] != 0.0
    chosen = np.concatenate([np.flatnonzero(edge), np.arange(len(rows), size)])
    rest = np.flatnonzero(~edge)
    printed = full[np.ix_(rest, chosen)] @ np.linalg.inv(full[np.ix_(chosen, chosen)])
    expected = np.abs(printed[:, :1]).sum(axis=1).max()
    assert incoherence_of(grams, omega).norm == pytest.approx(expected)


def test_independent_variables_are_incoherent() -> None:
    found = incoherence_of(
        NodeGrams(np.eye(6)[None], 100, np.zeros(5)), np.diag(np.full(4, 0.2), 1)
    )
    assert found.norm == 0.0
    assert found.coefficient == 1.0
    assert found.inverse_norm == pytest.approx(0.5)
    assert found.smallest_edge == pytest.approx(0.2)
    assert "holds with α = 1.00" in str(found)


def test_empty_and_full_networks() -> None:
    grams = grams_of(np.random.default_rng(1).normal(size=(50, 4)))
    empty = incoherence_of(grams, np.zeros((4, 4)))
    assert empty.holds
    assert "no edges" in str(empty)
    assert incoherence_of(grams, np.ones((4, 4))).norm == 0.0


def test_what_cannot_be_told_apart() -> None:
    x = np.random.default_rng(2).normal(size=(3, 6))
    found = incoherence_of(grams_of(x), np.ones((6, 6)))
    assert np.isinf(found.norm)
    assert "cannot be judged" in str(found)


@pytest.mark.parametrize(("p", "strength", "can"), [(4, 0.45, True), (5, 0.4, False)])
def test_the_lasso_finds_the_edges_where_it_can(p: int, strength: float, can: bool) -> None:
    """Without noise: exact covariances of two nodes that have all others as common neighbours."""
    omega = np.zeros((p, p))
    for hub in (0, p - 1):
        omega[hub, 1:-1] = omega[1:-1, hub] = strength
    full = np.zeros((1, p + 1, p + 1))
    full[0, :p, :p], full[0, p, p] = np.linalg.inv(np.eye(p) - omega), 1.0
    grams = NodeGrams(full, 1_000_000, np.zeros(p))
    found = incoherence_of(grams, omega)
    path = solve_path(grams, np.geomspace(1.0, 1e-4, 200), tol=1e-11, max_iter=20_000)
    off = ~np.eye(p, dtype=bool)
    exact = [np.array_equal(one[off] != 0.0, omega[off] != 0.0) for one in path.omega]
    assert any(exact[-40:]) == can == (found.with_signs < 1.0)
    assert found.with_signs <= found.norm + 1e-12
    assert found.holds == ("holds with" in str(found))
