"""Warnings of rows that are no independent samples, and the test of R = 0 where moments are not trusted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from plaggm import PLAGGM, confounding_test
from plaggm.core.confounding.rearranged_test import (
    circular_shifts,
    permutations,
    row_influence,
    tail_weight,
)
from plaggm.core.preparation.copies import first_copies
from plaggm.estimators import row_warnings
from plaggm.estimators.row_warnings import most_autocorrelated
from plaggm.report.certainty import certainty

COPIES = "rows are copies of others"


@pytest.fixture(scope="module")
def series():
    noise = np.random.default_rng(0).standard_normal((250, 4))
    x = noise.copy()
    x[:, 2] = lfilter([1.0], [1.0, -0.6], noise[:, 2])
    return x


def test_autocorrelated_residuals_are_named(series):
    with pytest.warns(
        UserWarning, match=r"Residuals of 'x2'.*lag-1 correlation 0\.[56].*temporal='ar'"
    ):
        PLAGGM(0.1).fit(series)


def test_other_rows_cause_no_warning(series):
    draw = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PLAGGM(0.1).fit(series[draw.permutation(250)])
        PLAGGM(0.1, temporal="ar").fit(series)
        PLAGGM(0.1).fit(series, groups=np.arange(250) // 10)
        # Sorted by a variable, or by the confounder that moves the means: no time.
        PLAGGM(0.1).fit(series[np.argsort(series[:, 0])])
        g = np.sort(draw.gamma(1.0, size=250))
        PLAGGM(0.1).fit(draw.standard_normal((250, 4)) + 3.0 * g[:, None], confounder=g)
        for seed in range(10):
            PLAGGM(0.3).fit(np.random.default_rng(seed).standard_normal((30, 6)))


def test_copies_are_named_and_counted_once():
    draw = np.random.default_rng(0)
    x, g = draw.standard_normal((100, 4)), draw.gamma(1.0, size=100)
    once = confounding_test(x, g)
    with pytest.warns(UserWarning, match=f"900 of 1000 {COPIES}.*counted once"):
        copied = confounding_test(np.tile(x, (10, 1)), np.tile(g, 10))
    assert copied.p_value == pytest.approx(once.p_value)
    with pytest.warns(UserWarning, match=f"{COPIES}.*row 100 is row 0.*p-values are too small"):
        PLAGGM(0.1).fit(np.tile(x, (10, 1)))


def test_chance_makes_no_copies():
    draw = np.random.default_rng(0)
    assert first_copies(draw.integers(0, 2, (500, 8)).astype(float)) is None
    assert first_copies(draw.standard_normal((500, 3))) is None
    few = draw.standard_normal((500, 3))
    few[:20] = few[20:40]
    assert first_copies(few) is None


def test_copies_are_alike_in_all_columns():
    table = np.random.default_rng(0).standard_normal((60, 8))
    table[:, :3] = table[0, :3]
    assert first_copies(table) is None
    table[30:] = table[:30]
    np.testing.assert_array_equal(first_copies(table), np.arange(30))


def test_neighbours_of_a_long_table_are_compared_in_stretches(monkeypatch):
    """Rows of a stretch have all their predecessors, its first row has none of another stretch."""
    draw = np.random.default_rng(2)
    x = draw.standard_normal((3000, 4))
    x[:, 2] = lfilter([1.0], [1.0, -0.6], x[:, 2])
    position = np.arange(3000) % 100
    whole = most_autocorrelated(x, None, position)
    monkeypatch.setattr(row_warnings, "MOST_ROWS", 2000)
    rows, offset = row_warnings._stretches(3000)
    assert rows[0] == 0
    assert rows[-1] == 2999
    assert len(rows) == len(np.unique(rows)) == 2000
    starts = np.flatnonzero(offset == 0)
    np.testing.assert_array_equal(np.diff(rows)[np.diff(offset) == 1], 1)
    np.testing.assert_array_equal(starts, np.arange(0, 2000, 200))
    found = most_autocorrelated(x, None, position)
    assert found[0] == whole[0] == 2
    assert found[1] == pytest.approx(whole[1], abs=0.05)
    assert found[1] != whole[1]


def test_shifts_stay_within_runs():
    runs = np.repeat([0, 1, 2], [6, 1, 4])
    orders = circular_shifts(runs, 0)
    for _ in range(20):
        order = next(orders)
        np.testing.assert_array_equal(runs[order], runs)
        for run in range(3):
            steps = np.diff(order[runs == run]) % max((runs == run).sum(), 1)
            assert (steps == 1).all() or (runs == run).sum() == 1
        assert (order != np.arange(11)).any()
    assert sorted(next(permutations(5, 0))) == list(range(5))


def test_a_few_rows_that_decide_are_judged_by_permutations():
    draw = np.random.default_rng(2)
    x, g, limit = draw.standard_normal((300, 4)), draw.gamma(1.0, size=300), np.array([0.3])

    def weight(x):
        return tail_weight(row_influence(x, g[:, None], limit).squares()[0], 4)

    assert confounding_test(x, g).method == "cumulants"
    assert weight(x) == pytest.approx(1.0, abs=0.4)
    # Nearly the same series but for a few rows.
    x = 0.1 * x + x[:, :1]
    x[::30] = draw.standard_normal((10, 4))
    assert weight(x) > 2.0
    found = confounding_test(x, g, threshold=0.3, n_rearranged=19)
    assert (found.method, found.n_rearranged) == ("permutations", 19)
    assert found.p_value >= 0.05
    assert found.leading_row % 30 == 0
    told = PLAGGM(0.1, threshold=0.3).fit(x, confounder=g).to_result()
    assert told.diagnostics["leading_row"] == found.leading_row
    assert told.diagnostics["leading_variable"] == f"x{found.leading_column}"
    assert f"most of all sample {found.leading_row + 1} by x" in " ".join(certainty(told))
    again = confounding_test(x, g, threshold=0.3, n_rearranged=19)
    assert again.p_value == found.p_value


def test_series_are_judged_by_shifts(capsys):
    draw = np.random.default_rng(3)
    x = lfilter([1.0], [1.0, -0.8], draw.standard_normal((300, 6)), axis=0)
    g = np.abs(lfilter([1.0], [1.0, -0.95], draw.standard_normal(300)))
    assert confounding_test(x, g).p_value < 0.01
    found = confounding_test(
        x, g, temporal="ar", runs=np.arange(300) // 100, n_rearranged=39, verbose=1
    )
    assert found.method == "circular shifts"
    assert found.p_value > 0.05
    assert "39 of 39 rearranged confounders" in capsys.readouterr().out
    with pytest.raises(ValueError, match="runs says where time series begin"):
        confounding_test(x, g, runs=np.zeros(300))
    with pytest.raises(ValueError, match="temporal must be None, 'ar' or the order"):
        confounding_test(x, g, temporal=True)


def test_series_of_one_row_each_are_independent_rows():
    draw = np.random.default_rng(5)
    x, g = draw.standard_normal((80, 3)), draw.gamma(1.0, size=80)
    found = confounding_test(x, g, temporal=0, runs=np.arange(80))
    assert found.method == "cumulants"
    assert found.p_value == pytest.approx(confounding_test(x, g).p_value)


def test_shifts_see_a_network_that_changes():
    draw = np.random.default_rng(4)
    g = np.abs(lfilter([1.0], [1.0, -0.9], draw.standard_normal(500)))
    noise = draw.standard_normal((500, 5))
    noise[:, 1] += np.where(g > 1.0, 0.8, 0.0) * noise[:, 0]
    x = lfilter([1.0], [1.0, -0.6], noise, axis=0)
    assert confounding_test(x, g, threshold=0.5, temporal="ar", n_rearranged=99).p_value == 0.01


def test_few_directions_are_judged_by_permutations_where_it_matters():
    """Variables that are nearly one: three cumulants do not tell the tail of one direction's null."""
    draw = np.random.default_rng(11)
    common, methods = draw.standard_normal((400, 1)), []
    x = common + 0.2 * draw.standard_normal((400, 5))
    for seed in range(30):
        g = np.random.default_rng(seed).gamma(1.0, size=400)
        found = confounding_test(x, g, n_rearranged=39)
        assert found.leading_row is None
        if found.method == "cumulants":
            # Nobody would reject.
            assert found.p_value >= 0.2
        methods.append(found.method)
    assert set(methods) == {"cumulants", "permutations"}
    assert confounding_test(draw.standard_normal((400, 5)), g).method == "cumulants"
