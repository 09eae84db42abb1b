"""Findings about the numbers of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from plaggm import PLAGGM
from plaggm.checks import examine_values

N = 300
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def table():
    return pd.DataFrame(np.random.default_rng(0).standard_normal((N, 4)), columns=NAMES)


def found_in(frame, confounders=(), **options):
    variables = [name for name in frame if name not in confounders]
    return {one.kind: one for one in examine_values(frame, variables, confounders, **options)}


def test_independent_gaussian_rows_have_no_findings(table):
    for seed in range(10):
        draw = np.random.default_rng(seed)
        frame = pd.DataFrame(draw.standard_normal((N, 4)), columns=NAMES)
        assert found_in(frame.assign(g=draw.gamma(1.0, size=N)), ["g"]) == {}


def test_outliers_are_named_with_row_and_size(table):
    table.loc[[5, 50], "b"] = (25.0, -40.0)
    found = found_in(table)["outlier"]
    assert found.level == "warning"
    assert (found.columns, found.rows) == (("b",), (50, 5))
    assert found.size == pytest.approx(-40.0, rel=0.1)
    assert "--robust winsor" in found.option
    assert found_in(table, robust=True)["outlier"].level == "note"


def test_outliers_of_many_columns_are_told_together(table):
    table["e"] = np.random.default_rng(2).standard_normal(N)
    for row, name in enumerate("abce"):
        table.loc[row, name] = 30.0 + 10.0 * row
    found = [one for one in examine_values(table, list(table)) if one.kind == "outlier"]
    (one,) = found
    assert one.columns == ("e", "c", "b", "a")
    assert one.rows == (3, 2, 1, 0)
    assert one.text.startswith("4 columns hold values many robust standard deviations from")
    assert "'e' (60, " in one.text


def test_columns_with_one_value_in_nearly_all_rows(table):
    table["rare"] = 1.0
    table.loc[[4, 8], "rare"] = 2.0
    found = found_in(table)["nearly constant"]
    assert found.text == "'rare' is 1 in all but 2 rows."
    assert (found.level, found.rows, found.option) == ("warning", (4, 8), "--exclude rare")
    table.loc[:4, "rare"] = 2.0
    assert "nearly constant" not in found_in(table)


def test_incomplete_rows_can_be_copies(table):
    table["e"] = np.random.default_rng(2).standard_normal(N)
    table.loc[:9, "d"] = np.nan
    again = pd.concat([table, table.iloc[:10]], ignore_index=True)
    found = found_in(again)["duplicated rows"]
    assert found.text == "10 rows are copies of others."
    assert found.rows == (300, 301, 302, 303, 304)


def test_what_the_confounder_does_to_mean_and_variance_makes_no_outliers(table):
    g = np.random.default_rng(1).gamma(1.0, size=N)
    inflated = table.mul(np.exp(0.8 * g), axis=0).add(5.0 * g, axis=0).assign(g=g)
    assert "outlier" not in found_in(inflated, ["g"])
    inflated.loc[7, "c"] = 1e5
    assert found_in(inflated, ["g"])["outlier"].rows == (7,)


def test_codes_are_not_told_as_outliers_too(table):
    table.loc[[3, 9], "c"] = -999.0
    found = found_in(table)
    assert "outlier" not in found
    assert (found["code"].columns, found["code"].size) == (("c",), -999.0)
    assert "--na -999" in found["code"].option


def test_codes_of_the_confounder_are_found(table):
    g = np.random.default_rng(1).uniform(20.0, 60.0, N)
    g[4] = 999.0
    assert found_in(table.assign(age=g), ["age"])["code"].columns == ("age",)


def test_heavy_tails_offer_a_remedy(table):
    table["d"] = np.exp(2.0 * table["d"])
    found = found_in(table)["heavy tails"]
    assert found.columns == ("d",)
    assert "--robust winsor" in found.option
    assert "logarithms of 'd'" in found.option


def test_missing_values_are_counted_by_column_and_row(table):
    table.loc[:29, "a"] = np.nan
    table.loc[20:49, "b"] = np.nan
    found = found_in(table)["missing"]
    assert found.level == "refused"
    assert found.columns == ("a", "b")
    assert found.size == pytest.approx(60 / (4 * N))
    assert "250 of 300 rows are complete" in found.text
    assert found_in(table, missing="drop")["missing"].level == "note"


def test_rows_that_resemble_their_neighbours(table):
    table["c"] = lfilter([1.0], [1.0, -0.7], table["c"])
    found = found_in(table)["neighbouring rows"]
    assert found.columns == ("c",)
    assert 0.5 < found.size < 0.8
    assert "neighbouring rows" not in found_in(table, series=True)
    # Runs of two rows leave a correlation that is half as large.
    assert found_in(table, runs=np.arange(N) // 2)["neighbouring rows"].size < found.size
    assert "neighbouring rows" not in found_in(table, runs=np.arange(N))


def test_copied_rows(table):
    frame = pd.concat([table, table[:30]], ignore_index=True)
    found = found_in(frame)["duplicated rows"]
    assert (found.level, found.rows[0]) == ("warning", N)
    single = pd.concat([table, table[:1]], ignore_index=True)
    assert found_in(single)["duplicated rows"].level == "note"
    # Answers on short scales coincide by chance.
    answers = pd.DataFrame(np.random.default_rng(0).integers(1, 3, (N, 4)), columns=NAMES)
    assert "duplicated rows" not in found_in(answers)


def test_near_copies_and_few_rows(table):
    table["d"] = table["a"] + 0.01 * table["d"]
    assert found_in(table)["near copy"].columns == ("d", "a")
    assert found_in(table[:30])["few rows"].level == "warning"


def test_near_copies_are_told_together(table):
    noise = np.random.default_rng(1).standard_normal((2, N))
    frame = table.assign(e=table["a"] + 0.01 * noise[0], f=table["b"] + 0.01 * noise[1])
    found = found_in(frame)["near copy"]
    assert found.text.startswith("2 pairs of columns hardly differ (correlation): ")
    assert set(found.columns) == {"a", "b", "e", "f"}


def test_kinds_are_told_together(table):
    draw = np.random.default_rng(0)
    frame = table.assign(
        one=draw.integers(1, 6, N), two=draw.integers(1, 6, N), sex=draw.integers(0, 2, N)
    )
    found = found_in(frame)
    assert found["ordinal"].columns == ("one", "two")
    assert found["binary"].columns == ("sex",)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tables_of_a_few_rows_are_looked_at(table, rows):
    assert "few rows" in found_in(table[:rows].assign(g=np.arange(rows)), ["g"])


def test_tables_of_missing_values_are_looked_at(table):
    assert "missing" in found_in(table * np.nan)


def test_ordinal_columns_are_offered_ranks_and_ranked_ones_are_not_warned_of():
    draw = np.random.default_rng(5)
    table = pd.DataFrame({"a": draw.integers(1, 6, 300), "b": draw.standard_t(1.5, 300)})
    assert "--margins rank" in found_in(table)["ordinal"].option
    assert "--margins rank" in found_in(table)["heavy tails"].option
    ranked = found_in(table, ranks=True)
    assert {ranked[kind].action for kind in ("ordinal", "heavy tails")} == {
        "Replaced by normal scores of their ranks."
    }
    assert "warning" not in {finding.level for finding in ranked.values()}


def test_pairs_that_no_row_observes_are_told_where_missing_values_are_completed(table):
    half = np.arange(N) < N // 2
    table.loc[half, "a"] = np.nan
    table.loc[~half, "b"] = np.nan
    found = found_in(table, missing="em")
    assert "few rows" not in found
    assert found["unobserved pairs"].columns == ("a", "b")
    assert "pair: 'a' and 'b'." in found["unobserved pairs"].text
    assert "unobserved pairs" not in found_in(table, missing="drop")
    assert found_in(table, missing="drop")["few rows"].text.startswith("0 complete rows")
    assert found_in(table[N // 2 - 15 : N // 2 + 15], missing="em")["few rows"].text == (
        "22 observed rows for 4 variables."
    )
    table.loc[N - 1, "b"] = 0.0
    assert "unobserved pairs" not in found_in(table, missing="em")


def test_rows_that_are_all_incomplete_are_not_fitted_beside_a_refusal(table):
    half = np.arange(N) < N // 2
    table.loc[half, "a"] = np.nan
    table.loc[~half, "b"] = np.nan
    found = found_in(table)
    # Rows that remain once the missing values are treated are many.
    assert "few rows" not in found
    assert "0 of 300 rows are complete" in found["missing"].text
    assert "--missing em" in found["missing"].option
    assert "drop" not in found["missing"].option
    assert found["unobserved pairs"].columns == ("a", "b")
    assert found["unobserved pairs"].action.startswith("Refused")
    short = found_in(table[N // 2 - 15 : N // 2 + 15])
    assert short["few rows"].text == "22 observed rows for 4 variables."
    assert not [one.kind for one in short.values() if one.action.startswith("Fitted")]
    # Nor is a table fitted whose incomplete rows are dropped.
    dropped = found_in(table, missing="drop")["few rows"]
    assert (dropped.level, dropped.action[:8]) == ("refused", "Refused;")


def test_remedies_are_other_treatments_that_leave_enough_rows(table):
    table.loc[:49, "a"] = np.nan
    treatments = {"em", "drop", "impute"}
    for used in ("refuse", *treatments):
        option = found_in(table, missing=used)["missing"].option
        named = {one for one in treatments if f"--missing {one}" in option}
        assert named == treatments - {used}
    assert "--missing drop, which leaves 250 of 300 rows" in found_in(table)["missing"].option
    # As many complete rows as variables, or too few to fit, are not offered.
    table.loc[: N - 20, "a"] = np.nan
    assert "drop" not in found_in(table)["missing"].option


def test_missing_values_are_counted_as_by_the_fit(table):
    g = np.random.default_rng(1).gamma(1.0, size=N)
    table.loc[:29, "a"] = np.nan
    table.loc[[40, 41], NAMES] = np.nan
    g[20:35] = np.nan
    with pytest.warns(
        UserWarning, match="15 rows without confounder and 2 rows without any variable"
    ):
        model = PLAGGM(missing="em").fit(table, confounder=g)
    fitted = model.to_result().diagnostics
    found = found_in(table.assign(g=g), ["g"], missing="em")["missing"]
    assert found.size == fitted["missing_share"] == 20 / (4 * (N - 17))
    assert found.columns == ("a", "g")
    assert found.text.startswith(
        "20 values of variables (1.8%) missing, most in 'a' (7.1%); 15 rows without confounder: 'g' (15); "
        "2 rows without any variable; "
    )
    alone = found_in(table[50:].assign(g=np.where(np.arange(50, N) == 60, np.nan, g[50:])), ["g"])
    assert alone["missing"].text.startswith("1 row without confounder: 'g' (1); 249 of 250 rows")
