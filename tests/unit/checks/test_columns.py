"""Columns that are left out, refused, or kept since they are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm.checks import unusable_columns

N = 80


@pytest.fixture
def table():
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.standard_normal((N, 3)), columns=["a", "b", "c"])
    frame["age"] = draw.uniform(20.0, 60.0, N)
    return frame


def told(frame, variables=None, confounders=("age",), named=()):
    wanted = [name for name in frame if name not in confounders] if variables is None else variables
    found = unusable_columns(frame, wanted, confounders, named)
    return [(finding.level, finding.kind, *finding.columns) for finding in found]


def test_measures_are_taken_without_a_word(table):
    assert told(table) == []


def test_copies_of_columns_and_confounders_are_left_out(table):
    table["again"] = table["a"]
    table["mm"] = 10.0 * table["b"] - 3.0
    table["minus"] = -table["a"]
    table["months"] = 12.0 * table["age"]
    assert told(table) == [
        ("left out", "copy", "months", "age"),
        ("left out", "copy", "again", "a"),
        ("left out", "copy", "minus", "a"),
        ("left out", "copy", "mm", "b"),
    ]


def test_copies_are_found_beside_missing_values(table):
    table["again"] = table["a"]
    table.loc[::7, ["a", "b"]] = np.nan
    assert told(table) == [("left out", "copy", "again", "a")]


def test_sums_are_refused_and_the_total_is_named(table):
    table["total"] = table["a"] + table["b"] + table["c"] + 5.0
    (found,) = unusable_columns(table, ["a", "b", "c", "total"], ["age"])
    assert found.level == "refused"
    assert found.text == "'total' is the sum of 'a', 'b', 'c', up to a constant."
    assert "--exclude total" in found.option


def test_sums_with_the_confounder_are_refused(table):
    """As education and experience are given age."""
    table["age"] = table["a"] + table["b"] - 6.0
    (found,) = unusable_columns(table, ["a", "b", "c"], ["age"])
    assert (found.level, found.kind, found.columns) == ("refused", "sum", ("a", "b"))
    assert found.text == "'a', 'b' follow from each other given 'age'."
    noise = np.random.default_rng(5).standard_normal(len(table))
    table["age"] += 0.01 * noise
    assert not unusable_columns(table, ["a", "b", "c"], ["age"])


def test_shares_have_no_total(table):
    shares = table[["a", "b", "c"]].abs()
    shares = shares.div(shares.sum(axis=1), axis=0)
    (found,) = unusable_columns(shares, list(shares))
    assert (found.level, found.kind) == ("refused", "sum")
    assert "each follows exactly from the others" in found.text


def test_named_columns_are_kept_where_they_are_numbers(table):
    table["id"] = np.arange(N)
    table["site"] = "x"
    table["again"] = table["a"]
    assert told(table, named={"id"})[:2] == [
        ("warning", "row number", "id"),
        ("left out", "text", "site"),
    ]
    assert told(table, named={"site", "again"}) == [
        ("left out", "row number", "id"),
        ("refused", "text", "site"),
        ("refused", "copy", "again", "a"),
    ]


def test_too_few_complete_rows_tell_no_copies(table):
    table["again"] = table["a"]
    table.loc[2:, "b"] = np.nan
    assert told(table) == []


class TestRuns:
    """Columns that never change within a run say nothing about changes from row to row."""

    RUNS = np.repeat(np.arange(8), N // 8)

    def levels(self, frame, runs=RUNS, named=()):
        found = unusable_columns(frame, list(frame), (), named, runs)
        return [(finding.level, finding.kind, *finding.columns) for finding in found]

    def test_columns_of_runs_are_left_out(self, table):
        table["score"] = np.array([31.5, 4.0, 17.0, 8.0, 22.0, 4.0, 25.0, 19.0])[self.RUNS]
        table["sex"] = self.RUNS % 2
        table.loc[::9, "score"] = np.nan
        assert self.levels(table) == [
            ("left out", "run-level", "score"),
            ("left out", "run-level", "sex"),
        ]
        assert self.levels(table, runs=None) == []

    def test_the_remedy_is_named(self, table):
        table["sex"] = self.RUNS % 2
        (found,) = unusable_columns(table, list(table), (), (), self.RUNS)
        assert found.text == "'sex' never changes within a run."
        assert found.option.startswith("--confounder to adjust for it; name it in --columns")

    def test_named_ones_are_kept_with_a_warning(self, table):
        table["sex"] = self.RUNS % 2
        (found,) = unusable_columns(table, list(table), (), {"sex"}, self.RUNS)
        assert (found.level, found.kind) == ("warning", "run-level")
        assert "its edges rest on 8 runs" in found.action

    def test_one_change_within_a_run_is_enough(self, table):
        table["sex"] = self.RUNS % 2
        table.loc[3, "sex"] = 1
        assert self.levels(table) == []

    def test_runs_of_single_rows_tell_nothing(self, table):
        assert self.levels(table, runs=np.arange(N)) == []
        assert self.levels(table, runs=np.full(N, -1)) == []
