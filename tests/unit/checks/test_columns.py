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
