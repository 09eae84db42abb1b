"""What a column is, by its values and its name."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from plaggm.checks.column_kinds import column_kind

N = 60
DRAW = np.random.default_rng(0)
NUMBERS = np.arange(N)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("a", DRAW.standard_normal(N), "measure"),
        ("id", DRAW.permutation(10_000)[:N], "id"),
        ("SubjectID", DRAW.permutation(10_000)[:N], "id"),
        ("subject_id", NUMBERS % 7, "id"),
        ("participant", NUMBERS % 7 + 100, "id"),
        ("index", DRAW.permutation(10_000)[:N], "id"),
        # Not an id by name, or no whole numbers.
        ("mood_index", DRAW.permutation(10_000)[:N], "count"),
        ("acid", DRAW.permutation(10_000)[:N], "count"),
        ("id", DRAW.standard_normal(N), "measure"),
        ("id", NUMBERS % 2, "binary"),
        ("n", NUMBERS + 1, "row number"),
        ("seconds", 0.72 * NUMBERS, "row number"),
        ("down", -NUMBERS, "row number"),
        ("kept", np.delete(np.arange(N + 5), [3, 9, 20, 21, 40]), "row number"),
        ("volume", NUMBERS % 20, "row number"),
        ("sorted", np.sort(DRAW.standard_normal(N)), "measure"),
        ("rownames", np.sort(DRAW.permutation(10_000)[:N]), "id"),
        ("codes", np.sort(DRAW.permutation(10_000)[:200]), "row number"),
        ("amounts", np.sort(DRAW.permutation(10_000)[:N]), "count"),
        ("unix", 1.6e9 + 86_400 * NUMBERS + DRAW.integers(0, 1000, N), "date"),
        ("revenue", 1e9 + 86_400 * DRAW.permutation(N), "measure"),
        ("uuid", ["4e1", "77", *(f"{k:04x}a" for k in range(N - 2))], "text"),
        ("constant", np.full(N, 3.5), "constant"),
        ("empty", np.full(N, np.nan), "empty"),
        ("sex", DRAW.integers(0, 2, N), "binary"),
        ("flag", DRAW.random(N) < 0.5, "binary"),
        ("item", DRAW.integers(1, 6, N), "ordinal"),
        ("visits", DRAW.poisson(7.0, N) ** 2, "count"),
        ("year", DRAW.integers(1990, 2020, N), "date"),
        ("day", [20240100 + k % 28 + 1 for k in range(N)], "date"),
        ("day", pd.date_range("2024-01-01", periods=N), "date"),
        ("day", pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"), "date"),
        ("month", [f"2024-{k % 12 + 1:02d}" for k in range(N)], "date"),
        ("day", [datetime.date(2024, 1, k % 28 + 1) for k in range(N)], "date"),
        ("clock", [f"{k % 24}:30" for k in range(N)], "date"),
        ("site", [f"S{k % 3}" for k in range(N)], "text"),
        ("weight", [f"{k}.5 kg" for k in range(N)], "written number"),
        ("price", [f"${k + 1},000" for k in range(N)], "written number"),
        ("mixed", [1.5] * (N - 8) + ["low"] * 8, "mixed"),
        ("written", [str(value) for value in DRAW.standard_normal(N)], "measure"),
        ("infinite", [*range(N - 1), np.inf], "mixed"),
        ("huge", [*range(N - 1), 1e300], "mixed"),
    ],
)
def test_kinds(name, values, kind):
    assert column_kind(pd.Series(values, name=name)).name == kind


def test_few_rows_tell_no_row_number():
    assert column_kind(pd.Series([1, 2, 3], name="a")).name == "ordinal"


def test_missing_values_hide_nothing_but_the_order():
    values = pd.Series([*range(N - 1), None], name="score")
    assert column_kind(values).name == "count"
    assert column_kind(values.rename("id")).name == "id"


def test_the_reason_is_a_sentence_about_the_column():
    assert column_kind(pd.Series(NUMBERS, name="n")).why == "increases by one in every row"
    assert column_kind(pd.Series(["a", "b"], name="n")).why == "holds text such as 'a'"
