"""The nuisance as a table, and how it stays short where there are many pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.nuisance_table import FEWEST_POINTS, MOST_ROWS, listed_pairs, nuisance_frame
from plaggm.result import GraphResult


def curves(k: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = rng.normal(size=(p, p))
    grid = np.linspace(-1.0, 1.0, k)
    return grid[:, None], grid[:, None, None] ** 2 * (shape + shape.T)


def test_few_pairs_are_all_listed() -> None:
    grid, nuisance = curves(7, 4)
    names = tuple("abcd")
    whole = nuisance_frame(names, ("g",), {}, grid, nuisance, None)
    assert len(whole) == 7 * 6
    first = np.zeros(6, dtype=bool)
    pd.testing.assert_frame_equal(
        nuisance_frame(names, ("g",), {}, grid, nuisance, None, first), whole
    )


def test_declared_pairs_come_first_then_the_largest() -> None:
    _, nuisance = curves(10, 30)
    size = np.abs(nuisance).max(axis=0)[np.triu_indices(30, 1)]
    first = np.zeros(435, dtype=bool)
    first[np.argsort(size)[:5]] = True
    pairs, points = listed_pairs(nuisance, first, 10, most=200)
    assert points is None
    assert len(pairs) == 20
    assert (np.diff(pairs) > 0).all()
    assert set(np.flatnonzero(first)) <= set(pairs)
    others = np.setdiff1d(pairs, np.flatnonzero(first))
    assert set(others) == set(np.argsort(-size)[:15])


def test_many_declared_pairs_are_listed_at_fewer_values() -> None:
    _, nuisance = curves(60, 30)
    pairs, points = listed_pairs(nuisance, np.ones(435, dtype=bool), 60, most=435 * FEWEST_POINTS)
    assert points == FEWEST_POINTS
    assert len(pairs) == 435


def test_the_file_of_many_variables_is_short(tmp_path: Path) -> None:
    p, k = 127, 60
    grid, nuisance = curves(k, p)
    omega = np.zeros((p, p))
    omega[0, 126] = omega[126, 0] = 0.3
    result = GraphResult(
        names=tuple(f"region {j}" for j in range(p)),
        omega=omega,
        location=np.zeros(p),
        scale=np.ones(p),
        alpha=0.1,
        confounder_names=("motion",),
        confounder_grid=grid,
        nuisance=nuisance,
    )
    assert len(result.nuisance_table()) == k * p * (p - 1) // 2
    result.write_files(tmp_path)
    table = pd.read_csv(tmp_path / "nuisance.csv")
    assert 0.9 * MOST_ROWS < len(table) <= MOST_ROWS
    assert (tmp_path / "nuisance.csv").stat().st_size < 4e6
    edge = table[(table["source"] == "region 0") & (table["target"] == "region 126")]
    np.testing.assert_allclose(edge["value"], grid[:, 0], atol=1e-7)
