"""Outliers, heavy tails and codes for missing values."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.preparation.far_values import detached_codes, far_cells, heavy_tails


@pytest.fixture
def normal():
    return np.random.default_rng(0).standard_normal((5000, 3))


def test_gaussian_columns_have_neither_far_cells_nor_heavy_tails(normal):
    assert heavy_tails(normal) == ()
    assert far_cells(normal) == ()


def test_far_cells_come_furthest_first_and_missing_ones_do_not_count(normal):
    normal[3, 1], normal[9, 2], normal[11, 0] = 12.0, -25.0, np.nan
    found = far_cells(normal)
    assert [(cell.row, cell.column, cell.distance) for cell in found] == [
        (9, 2, -25.0),
        (3, 1, 12.0),
    ]


def test_a_heavy_tail_is_told_from_single_cells(normal):
    normal[:, 1] = np.random.default_rng(1).standard_t(2, 5000)
    tails = heavy_tails(normal)
    assert [tail.column for tail in tails] == [1]
    assert 0.005 < tails[0].share < 0.1
    # Cells that any heavy tail has are not told one by one.
    assert len(far_cells(normal, tails)) < len(far_cells(normal))


@pytest.mark.parametrize("code", [-9.0, -99.0, -999.0, 999.0, 9999.0])
def test_codes_are_found_where_they_are_detached(code):
    likert = np.random.default_rng(0).integers(1, 6, (200, 1)).astype(float)
    likert[7, 0] = code
    (found,) = detached_codes(likert)
    assert (found.value, found.count, found.first_row) == (code, 1, 7)


def test_the_same_numbers_within_a_distribution_are_no_codes():
    draw = np.random.default_rng(0)
    degrees = draw.integers(-20, 40, (500, 1)).astype(float)
    degrees[:5] = -9.0
    income = draw.integers(0, 20_000, (500, 1)).astype(float)
    income[:5] = 999.0
    assert detached_codes(np.hstack([degrees, income])) == ()


def test_a_single_nine_in_counts_is_no_code_and_several_are():
    few = np.random.default_rng(0).integers(1, 5, (200, 1)).astype(float)
    few[0] = 9.0
    assert detached_codes(few) == ()
    few[:4] = 9.0
    assert [code.count for code in detached_codes(few)] == [4]


def test_a_column_of_codes_alone_has_nothing_to_be_detached_from():
    assert detached_codes(np.full((30, 1), -9.0)) == ()
    assert detached_codes(np.where(np.arange(40) % 2, -9.0, 1.0)[:, None]) == ()
