"""check_table: a look at a table from Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import check_table


@pytest.fixture
def table():
    return pd.DataFrame(np.random.default_rng(0).standard_normal((100, 3)), columns=list("abc"))


def test_a_clean_table_has_no_findings(table):
    found = check_table(table)
    assert found.empty
    assert list(found) == ["level", "kind", "columns", "rows", "size", "finding", "fit", "option"]


def test_arrays_and_frames_tell_the_same(table):
    values = table.to_numpy().copy()
    values[3, 1] = 50.0
    array, frame = check_table(values), check_table(pd.DataFrame(values, columns=list("abc")))
    assert array["columns"].tolist() == ["x1"]
    assert frame["columns"].tolist() == ["b"]
    assert array["rows"].tolist() == frame["rows"].tolist() == ["3"]


def test_most_serious_first(table):
    table["when"] = pd.date_range("2024-01-01", periods=100)
    table["sex"] = np.arange(100) % 2
    table["total"] = table["a"] + table["b"]
    table.loc[5, "c"] = -60.0
    levels = check_table(table)["level"].tolist()
    assert levels == ["refused", "left out", "warning", "note"]


def test_a_copy_of_the_confounder_is_told(table):
    found = check_table(table, confounder=table["b"].to_numpy())
    assert found.loc[0, ["level", "kind"]].tolist() == ["left out", "copy"]
    named = check_table(table, confounder=table["b"])
    assert named.loc[0, "columns"] == "b, confounder b"


@pytest.mark.parametrize(
    ("x", "confounder", "words"),
    [
        (np.zeros(5), None, "must be a table with rows and columns"),
        (np.zeros((0, 3)), None, "X is empty"),
        (np.zeros((5, 2)), np.zeros(4), "confounder has 4 rows but X has 5"),
        (pd.DataFrame(np.zeros((5, 2)), columns=["a", "a"]), None, "'a' twice"),
        ([[1.0], [1.0, 2.0]], None, "rows of the same length"),
    ],
)
def test_no_tables_are_refused(x, confounder, words):
    with pytest.raises(ValueError, match=words):
        check_table(x, confounder)
