"""``plaggm check``, and what other commands do about columns that are not measures."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm import PLAGGMCV, read_result
from plaggm.cli import fitting
from plaggm.cli.group import commands

N = 120
Run = Callable[..., Result]


@pytest.fixture
def table() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.standard_normal((N, 4)), columns=["bia", "hip", "arm", "leg"])
    frame["motion"] = draw.gamma(1.0, size=N)
    return frame


@pytest.fixture
def odd(table: pd.DataFrame) -> pd.DataFrame:
    """The same with columns that people really have."""
    draw = np.random.default_rng(1)
    return table.assign(
        id=draw.permutation(9000)[:N],
        row=range(1, N + 1),
        day=pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        site=draw.choice(["Ulm", "Bonn"], N),
        country="DE",
        study=1,
        hip_mm=10.0 * table["hip"],
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command on a table, in a folder of its own, with a short path and without pictures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitting, "PLAGGMCV", lambda **given: PLAGGMCV(alphas=5, **given))

    def call(command: str, frame: pd.DataFrame, *options: str) -> Result:
        frame.to_csv("table.csv", index=False)
        extra = ["--stability", "0", "--criterion", "bic", "--force"] if command == "fit" else []
        return CliRunner().invoke(commands, [command, "table.csv", *options, *extra])

    return call


def variables() -> tuple[str, ...]:
    return read_result(Path("table-network")).names


MEASURES = ("bia", "hip", "arm", "leg")


class TestFit:
    def test_leaves_out_what_is_no_measure_and_says_so(self, run: Run, odd: pd.DataFrame) -> None:
        result = run("fit", odd, "--confounder", "motion")
        assert result.exit_code == 0, result.output
        assert variables() == MEASURES
        said = result.stderr
        for words in (
            "'id' is an id by its name and differs in every row. Left out",
            "'row' increases by one in every row. Left out",
            "'day' holds dates such as '2024-01-01'. Left out: it is not a measure. To change that: --time",
            "2 text columns, 'site', 'country'",
            "'study' is 1 in every row. Left out",
            "'hip_mm' is, but for unit and origin, 'hip'. Left out",
        ):
            assert words in said
        settings = tomllib.loads(Path("table-network/settings.toml").read_text())
        assert settings["fit"]["columns"] == list(MEASURES)
        gone = ["id", "row", "day", "site", "country", "study", "hip_mm"]
        assert settings["run"]["left_out"] == gone

    def test_nothing_is_said_about_measures(self, run: Run, table: pd.DataFrame) -> None:
        assert run("fit", table, "--confounder", "motion").stderr == ""

    def test_left_out_columns_are_told_quietly_too(self, run: Run, odd: pd.DataFrame) -> None:
        result = run("fit", odd, "--confounder", "motion", "--quiet")
        assert "'id' is an id" in result.stderr

    def test_named_columns_are_kept_with_a_word(self, run: Run, odd: pd.DataFrame) -> None:
        result = run("fit", odd, "--confounder", "motion", "--columns", "bia,hip,id")
        assert variables() == ("bia", "hip", "id")
        assert "'id' is an id by its name and differs in every row. Kept" in result.stderr

    def test_patterns_do_not_name(self, run: Run, odd: pd.DataFrame) -> None:
        result = run("fit", odd, "--confounder", "motion", "--columns", "*")
        assert result.exit_code == 0, result.output
        assert variables() == MEASURES

    def test_a_pattern_may_match_the_confounder(self, run: Run, table: pd.DataFrame) -> None:
        frame = table.rename(columns={"motion": "bia_di", "hip": "bip"})
        result = run("fit", frame, "--columns", "b*", "--confounder", "bia_di")
        assert result.exit_code == 0, result.output
        assert variables() == ("bia", "bip")
        result = run("fit", frame, "--columns", "bia,bia_di", "--confounder", "bia_di")
        assert result.exit_code == 2
        assert "'bia_di' cannot be a variable of the network and its confounder" in result.stderr

    def test_copies_of_the_confounder_are_no_variables(self, run: Run, table: pd.DataFrame) -> None:
        result = run("fit", table.assign(cm=table["motion"] / 10.0), "--confounder", "motion")
        assert variables() == MEASURES
        assert "'cm' is, but for unit and origin, the confounder 'motion'" in result.stderr

    def test_sums_and_units_are_refused_with_the_remedy(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        result = run("fit", table.assign(all=table["arm"] + table["leg"]), "--confounder", "motion")
        assert result.exit_code == 2
        assert "'all' is the sum of 'arm', 'leg'" in result.stderr
        assert "--exclude all" in result.stderr
        units = table.assign(arm=[f"{value:.2f} cm" for value in table["arm"]])
        result = run("fit", units, "--confounder", "motion")
        assert result.exit_code == 2
        assert "cm' in row 1 (line 2), which is not a number" in result.stderr

    def test_too_few_are_left(self, run: Run, odd: pd.DataFrame) -> None:
        result = run("fit", odd[["bia", "id", "site", "motion"]], "--confounder", "motion")
        assert result.exit_code == 2
        assert "1 of the columns of table.csv are left: 'id' is an id" in result.stderr

    def test_what_undermines_the_result_is_said_first_and_kept(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        table.loc[11, "arm"] = 40.0
        table.loc[[3, 60], "leg"] = -999.0
        result = run("fit", table, "--confounder", "motion")
        assert "'arm' is 40" in result.stderr
        assert "First in row 12 (line 13). Taken as they are" in result.stderr
        assert "'leg' is -999 in 2 rows" in result.stderr
        summary = Path("table-network/summary.txt").read_text(encoding="utf-8")
        assert summary.split("\n\n")[0] == "No sign that the network depends on motion."
        assert summary.split("\n\n")[1].startswith("Beware: 'leg' is -999 in 2 rows")
        page = Path("table-network/report.html").read_text(encoding="utf-8")
        top = page[: page.index('<div class="lead">')]
        assert "Before you rely on it" in top
        assert "robust standard deviations above what is usual" in top

    def test_robust_pulls_far_values_in_and_says_so(self, run: Run, table: pd.DataFrame) -> None:
        table.loc[11, "arm"] = 40.0
        result = run("fit", table, "--confounder", "motion", "--robust", "winsor")
        assert result.stderr == ""
        assert "were moved to that distance" in " ".join(result.stdout.split())
        assert read_result(Path("table-network")).settings["robust"] == "winsor"

    def test_ranks_take_the_place_of_skewed_variables_and_say_so(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        table["arm"] = np.exp(2.0 * table["arm"])
        assert "--margins rank" in run("check", table, "--confounder", "motion").stdout
        result = run("fit", table, "--confounder", "motion", "--margins", "rank")
        assert "normal scores of their ranks" in " ".join(result.stdout.split())
        assert read_result(Path("table-network")).settings["margins"] == "rank"
        result = run("fit", table, "--margins", "rank", "--robust", "winsor", "--force")
        assert result.exit_code == 2
        assert "--robust" in result.stderr

    def test_codes_become_missing_values(self, run: Run, table: pd.DataFrame) -> None:
        table.loc[[3, 4], "leg"] = -999.0
        options = ("--confounder", "motion", "--missing", "drop", "--na", "-999")
        result = run("fit", table, *options)
        assert f"2 of {N} rows with missing values were left out" in result.stderr
        result = run("fit", table, *options, "--na", "12345")
        assert result.exit_code == 2
        assert "has no cell '12345' (--na)" in result.stderr

    def test_usual_codes_are_missing_without_asking(self, run: Run, table: pd.DataFrame) -> None:
        frame = table.astype(object)
        for row, code in enumerate([".", "NA", "n/a", "?", "-", "n.a."]):
            frame.loc[row, "arm"] = code
        result = run("fit", frame, "--confounder", "motion", "--missing", "drop")
        assert result.exit_code == 0, result.output
        assert f"6 of {N} rows with missing values were left out" in result.stderr

    def test_rows_without_group_are_dropped_where_asked_to(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        table["site"] = np.where(np.arange(N) % 2, "a", "b")
        table.loc[[0, 7], "site"] = None
        options = ("--confounder", "motion", "--group-by", "site")
        result = run("fit", table, *options)
        assert result.exit_code == 2
        assert "--missing drop leaves such rows out" in result.stderr
        result = run("fit", table, *options, "--missing", "drop")
        assert result.exit_code == 0, result.output
        assert "2 rows without 'site' left out (--missing drop)" in result.stderr

    def test_without_confounder_it_is_the_plain_network(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        result = run("fit", table)
        assert result.exit_code == 0, result.output
        assert "No confounder is named (--confounder COL)" in result.stderr
        assert "with no confounder taken into account" in result.stdout
        found = read_result(Path("table-network"))
        assert found.confounder_names == ()
        plain = PLAGGMCV(criterion="bic", alphas=5).fit(table)
        np.testing.assert_allclose(found.omega, plain.omega_, atol=1e-12)
        assert not Path("table-network/unadjusted").exists()
        assert "The network of 5 variables" in Path("table-network/report.html").read_text("utf-8")
        result = run("fit", table, "--threshold", "1")
        assert result.exit_code == 2
        assert "--threshold is about the confounder" in result.stderr

    @pytest.mark.parametrize("option", [("--reference", "average"), ("--categorical", "arm")])
    def test_options_of_confounders_need_one(
        self, run: Run, table: pd.DataFrame, option: tuple[str, str]
    ) -> None:
        result = run("fit", table, *option)
        assert result.exit_code == 2
        assert f"{option[0]} is about the confounder: name that with --confounder." in result.stderr

    def test_groups_without_confounder(self, run: Run, table: pd.DataFrame) -> None:
        table["site"] = np.where(np.arange(N) % 2, "a", "b")
        result = run("fit", table, "--group-by", "site")
        assert result.exit_code == 0, result.output
        assert "one for each level of site, with no confounder taken into account." in result.stdout
        assert "b: 60 samples; " in result.stdout
        page = Path("table-network/report.html")
        first = page.read_bytes()
        again = CliRunner().invoke(commands, ["report", "table-network"])
        assert again.exit_code == 0, again.output
        assert page.read_bytes() == first

    def test_one_standard_error(self, run: Run, table: pd.DataFrame) -> None:
        result = run("fit", table, "--confounder", "motion", "--one-se")
        assert result.exit_code == 2
        assert "--one-se is used with --criterion cv only" in result.stderr


class TestCompare:
    def test_leaves_out_the_same(self, run: Run, odd: pd.DataFrame) -> None:
        options = ("--methods", "pooled", "--quick", "--resamples", "0", "--jobs", "1")
        result = run("compare", odd, "--confounder", "motion", *options)
        assert result.exit_code == 0, result.output
        assert "'row' increases by one in every row. Left out" in result.stderr
        facts = json.loads(Path("table-comparison/comparison.json").read_text())
        assert facts["n_samples"] == N


class TestCheck:
    def test_prints_every_finding_and_ends_well(self, run: Run, odd: pd.DataFrame) -> None:
        odd.loc[11, "arm"] = 40.0
        result = run("check", odd, "--confounder", "motion")
        assert result.exit_code == 0, result.output
        said = " ".join(result.stdout.split())
        assert "'id' is an id by its name and differs in every row." in said
        assert "First in row 12 (line 13)." in said
        assert "To change that: correct them if they are errors, or --robust winsor" in said
        assert "table.csv: 120 rows, 4 variables, 1 confounder: 7 left out, 1 warning." in said

    def test_says_so_where_there_is_nothing(self, run: Run, table: pd.DataFrame) -> None:
        result = run("check", table)
        assert result.stdout == "table.csv: 120 rows, 5 variables: nothing to report.\n"

    def test_findings_that_a_fit_refuses_are_no_failure(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        frame = table.assign(total=table["arm"] + table["leg"], cm=["1.5 cm"] * N)
        frame.loc[5, "hip"] = np.nan
        result = run("check", frame, "--confounder", "motion")
        assert result.exit_code == 0, result.output
        assert "3 refused" in result.stdout

    @pytest.mark.parametrize("ending", ["json", "csv"])
    def test_writes_the_findings(self, run: Run, table: pd.DataFrame, ending: str) -> None:
        table.loc[11, "arm"] = 40.0
        place = Path(f"found.{ending}")
        result = run("check", table, "--confounder", "motion", "--output", str(place))
        assert result.exit_code == 0, result.output
        if ending == "csv":
            (found,) = pd.read_csv(place).to_dict("records")
            assert found["rows"] == 12
        else:
            content = json.loads(place.read_text(encoding="utf-8"))
            (found,) = content["findings"]
            assert content["variables"] == list(MEASURES)
            assert found["rows"] == [12]
        assert (found["level"], found["kind"]) == ("warning", "outlier")
        assert run("check", table, "--output", str(place)).exit_code == 2
        assert run("check", table, "--output", str(place), "--force").exit_code == 0

    def test_columns_that_never_change_within_a_run(self, run: Run, table: pd.DataFrame) -> None:
        table["session"] = np.repeat([f"s{k}" for k in range(6)], N // 6)
        table["age"] = np.repeat([31.5, 24.0, 55.0, 42.5, 24.0, 60.0], N // 6)
        table["sex"] = np.repeat([0, 1, 1, 0, 1, 0], N // 6)
        options = ("--confounder", "motion", "--run", "session")
        said = " ".join(run("check", table, *options).stdout.split())
        assert "'age' never changes within a run. Left out" in said
        assert "120 rows, 4 variables, 1 confounder: 2 left out" in said
        plain = run("check", table, "--confounder", "motion", "--exclude", "session").stdout
        assert "within a run" not in plain
        result = run("fit", table, *options)
        assert result.exit_code == 0, result.output
        assert variables() == MEASURES
        assert "Left out: 2 run-level columns, 'age', 'sex'. To change that" in result.stderr
        named = ("--columns", "bia,hip,age,sex")
        result = run("fit", table, *options, *named)
        assert variables() == ("bia", "hip", "age", "sex")
        assert (
            "Kept, since --columns names them: 2 run-level columns, 'age', 'sex'. To change that: "
            "--exclude age,sex." in result.stderr
        )

    def test_runs_are_those_of_their_group(self, run: Run, table: pd.DataFrame) -> None:
        table["person"] = np.repeat(["p", "q"], N // 2)
        table["session"] = np.tile(np.repeat(["s1", "s2"], N // 4), 2)
        table["dose"] = np.repeat([0.5, 1.5, 2.5, 1.0], N // 4)
        said = run("check", table, "--run", "session", "--group-by", "person").stdout
        assert "'dose' never changes within a run." in said

    def test_rows_without_run_are_dropped_as_by_a_fit(self, run: Run, table: pd.DataFrame) -> None:
        table["session"] = np.repeat(["s1", "s2"], N // 2)
        table.loc[[0, 70], "session"] = None
        result = run("check", table, "--run", "session", "--missing", "drop")
        assert result.exit_code == 0, result.output
        assert "118 rows, 5 variables" in result.stdout
        assert "2 rows without 'session' left out (--missing drop)" in result.stderr
        assert (
            "--missing drop leaves such rows out" in run("check", table, "--run", "session").stderr
        )

    def test_a_place_that_cannot_be_written_to_is_no_crash(
        self, run: Run, table: pd.DataFrame
    ) -> None:
        Path("found.csv").mkdir()
        result = run("check", table, "--output", "found.csv", "--force")
        assert result.exit_code == 2, result.output
        assert "Cannot write to found.csv" in result.stderr
        assert "Choose another file with --output." in result.stderr

    def test_order_of_time_and_runs_count(self, run: Run, table: pd.DataFrame) -> None:
        series = table.copy()
        series["arm"] = series["arm"].cumsum()
        series["day"] = pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d")
        shuffled = series.sample(frac=1.0, random_state=0)
        assert "resemble the row before" in " ".join(run("check", series).stdout.split())
        assert "resemble the row before" not in " ".join(run("check", shuffled).stdout.split())
        said = run("check", shuffled, "--time", "day", "--temporal", "ar").stdout
        assert "'day'" not in said

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("absent.csv",), "There is no file absent.csv"),
            (("table.csv", "--confounder", "moton"), "Did you mean 'motion'?"),
            (("table.csv", "--output", "found.txt"), "must end in .json or .csv"),
            (("table.csv", "--output", "nowhere/found.csv"), "There is no folder nowhere"),
            (("table.csv", "--columns", "arm"), "at least 2 variables"),
        ],
    )
    def test_unreadable_tables_and_options_end_with_two(
        self, run: Run, table: pd.DataFrame, arguments: tuple[str, ...], words: str
    ) -> None:
        run("check", table)
        result = CliRunner().invoke(commands, ["check", *arguments])
        assert result.exit_code == 2
        assert words in result.stderr
