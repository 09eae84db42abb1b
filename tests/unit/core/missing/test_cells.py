"""Conditional distributions of missing cells."""

from __future__ import annotations

import numpy as np

from plaggm.core.missing.cells import (
    MOST_VARIANCE,
    CellModel,
    complete_cells,
    draw_cells,
    independent_cells,
)


def pair_model(effect: float, nuisance: float = 0.0) -> CellModel:
    effects = np.zeros((2, 2, 2))
    effects[0] = effect * np.array([[0.0, 1.0], [1.0, 0.0]])
    effects[1] = nuisance * np.array([[0.0, 1.0], [1.0, 0.0]])
    return CellModel(effects, np.zeros((2, 2)), np.array([1.0, 2.0]), np.ones(2))


def test_missing_cell_takes_its_regression() -> None:
    z = np.array([[1.0, np.nan], [np.nan, 4.0], [0.5, 0.5]])
    found = complete_cells(pair_model(0.5), z, np.ones((3, 2)) * [1.0, 0.0], np.array([1, 2, 1.0]))
    # y_2 | y_1 has mean 0.5 y_1; z_2 = 2 y_2.
    np.testing.assert_allclose(found.z, [[1.0, 1.0], [1.0, 4.0], [0.5, 0.5]])
    np.testing.assert_allclose(found.covariance, [4.0, 2.0])
    assert found.first.tolist() == [0, 1, 2, 2]
    assert found.shrunken == 0


def test_observed_cells_stay_to_the_last_digit() -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((50, 3)) * 1e5
    gone = rng.random(z.shape) < 0.3
    table = np.where(gone, np.nan, z)
    found = complete_cells(independent_cells(3, 0), table, np.ones((50, 1)), np.ones(50))
    assert np.array_equal(found.z[~gone], z[~gone])
    assert np.all(found.z[gone] == 0.0)


def test_impossible_nuisance_is_shrunken() -> None:
    # With both cells missing, 1 - 1.3^2 is negative: no distribution. The baseline alone has one.
    z = np.full((1, 2), np.nan)
    found = complete_cells(pair_model(0.3, 1.0), z, np.ones((1, 2)), np.ones(1))
    assert found.shrunken == 1
    covariance = found.covariance.reshape(2, 2) / np.outer([1.0, 2.0], [1.0, 2.0])
    assert np.all(np.linalg.eigvalsh(covariance) > 0.0)
    assert np.all(np.diagonal(covariance) <= MOST_VARIANCE)


def test_cells_that_would_vary_more_than_their_column_are_shrunken() -> None:
    # 1 / (1 - 0.8^2) = 2.8 is the variance of a distribution, but not one of cells with variance one.
    z = np.full((1, 2), np.nan)
    found = complete_cells(pair_model(0.3, 0.5), z, np.ones((1, 2)), np.ones(1))
    assert found.shrunken == 1
    assert np.all(np.diagonal(found.covariance.reshape(2, 2)) / [1.0, 4.0] <= MOST_VARIANCE)


def test_impossible_baseline_is_shrunken_too() -> None:
    found = complete_cells(pair_model(2.0), np.full((1, 2), np.nan), np.ones((1, 2)), np.ones(1))
    assert found.shrunken == 1
    assert np.all(np.linalg.eigvalsh(found.covariance.reshape(2, 2)) > 0.0)


def test_draws_have_the_conditional_covariance() -> None:
    n = 20_000
    found = complete_cells(
        pair_model(0.5), np.full((n, 2), np.nan), np.ones((n, 2)) * [1.0, 0.0], np.ones(n)
    )
    drawn = draw_cells(found, np.random.default_rng(0).standard_normal(2 * n))
    np.testing.assert_allclose(np.cov(drawn.T), found.covariance[:4].reshape(2, 2), atol=0.15)
