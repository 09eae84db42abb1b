from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.cli import fit_run, fitting, folder
from plaggm.cli.group import commands
from plaggm.cli.group_levels import split_levels
from plaggm.cli.layout import ENTRIES
from plaggm.report.changes import compare
from plaggm.simulate import simulate_paper

# Loading the libraries on a busy machine, in seconds.
PATIENCE = 300
THRESHOLD = "60"
# Bytes of a page for a handful of variables.
LARGEST_PAGE = 1_000_000

Run = Callable[..., Result]


def _folds(settings: dict[str, Any]) -> dict[str, int]:
    """Few folds where there are any."""
    return {"cv": 3} if settings["criterion"] == "cv" else {}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    data = simulate_paper(5, n=240, seed=1, even=True, threshold=60.0)
    names = {"v1": "wheat", "v2": "Ω <b>", "v3": "a,b", "v4": "iron", "v5": "gold"}
    return data.to_frame().rename(columns={**names, "confounder": "motion"})


@pytest.fixture
def data(table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in the folder where the command is run."""
    monkeypatch.chdir(tmp_path)
    path = Path("prices.csv")
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def run(data: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process, with a short path and without pictures."""
    monkeypatch.setattr(
        fitting, "PLAGGMCV", lambda **settings: PLAGGMCV(**_folds(settings), alphas=8, **settings)
    )
    return lambda *arguments: CliRunner().invoke(
        commands, ["fit", *map(str, arguments), "--stability", "2"]
    )


def content(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def refused(result: Result) -> str:
    """The one line on stderr of a run that ended with status 2 and left nothing."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert not [path for path in Path().iterdir() if path.is_dir()]
    return line


@pytest.fixture(scope="module")
def done(
    table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One full run of the installed command, pictures and page included."""
    home = tmp_path_factory.mktemp("run")
    table.to_csv(home / "prices.csv", index=False)
    finished = subprocess.run(
        [
            Path(sys.executable).with_name("plaggm"),
            *("fit", "prices.csv", "--confounder", "motion", "--threshold", THRESHOLD),
        ],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        encoding="utf-8",
    )
    assert finished.returncode == 0, finished.stderr
    return home / "prices-network", finished


class TestFolder:
    def test_says_what_was_learnt(
        self, done: tuple[Path, subprocess.CompletedProcess[str]]
    ) -> None:
        _, finished = done
        # On a fresh machine matplotlib says that it looks for fonts.
        assert [line for line in finished.stderr.splitlines() if "font cache" not in line] == []
        assert finished.stdout.startswith(
            "No sign that the network depends on motion.\n\nNo test shows"
        )
        last = finished.stdout.splitlines()[-1]
        assert last.startswith("No sign that the network depends on motion (p = ")
        assert "in the network of all samples. Page" in last
        assert last.endswith(f"Page: {Path('prices-network') / 'report.html'}")

    def test_has_every_file(self, done: tuple[Path, Any]) -> None:
        place, _ = done
        assert [entry.name for entry in place.parent.iterdir() if entry.name.startswith(".")] == []
        found = {entry.name for entry in place.iterdir()}
        assert found == {
            "arrays.npz",
            "centrality.csv",
            "edges.csv",
            "figures",
            "matrix.csv",
            "moderation.csv",
            "network.graphml",
            "nuisance.csv",
            "pairs.csv",
            "path.npz",
            "report.html",
            "result.json",
            "settings.toml",
            "summary.txt",
            "unadjusted",
        }
        assert found <= set(ENTRIES)
        pictures = {
            "network", "matrix", "forest", "before_after", "path", "selection", "edge", "moderation",
            "centrality",
        }  # fmt: skip
        names = {entry.name for entry in (place / "figures").iterdir()}
        assert names == {f"{name}.{kind}" for name in pictures for kind in ("png", "svg")}
        for name in pictures:
            assert (place / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (place / "figures" / f"{name}.svg").read_text(encoding="utf-8")

    def test_tells_which_edges_change(self, done: tuple[Path, Any], table: pd.DataFrame) -> None:
        place, finished = done
        found = pd.read_csv(place / "moderation.csv")
        model = PLAGGMCV(threshold=float(THRESHOLD))
        model.fit(table.drop(columns="motion"), confounder=table["motion"])
        expected = model.moderation()
        np.testing.assert_allclose(found["p_value"], expected["p_value"], rtol=1e-6)
        assert found["confounder"].unique().tolist() == ["motion"]
        text = " ".join(finished.stdout.split())
        changing = int((found["q_value"] <= 0.05).sum())
        assert changing == 0
        assert "No pair is shown to change with motion (5% FDR)" in text

    def test_is_the_fit_of_the_library(self, done: tuple[Path, Any], table: pd.DataFrame) -> None:
        place, _ = done
        x, g = table.drop(columns="motion"), table["motion"]
        expected = PLAGGMCV(threshold=float(THRESHOLD)).fit(x, confounder=g)
        result = read_result(place)
        assert result.names == ("wheat", "Ω <b>", "a,b", "iron", "gold")
        assert result.confounder_names == ("motion",)
        np.testing.assert_allclose(result.omega, expected.omega_, atol=1e-12)
        before = read_result(place / "unadjusted")
        np.testing.assert_allclose(before.omega, PLAGGMCV().fit(x).omega_, atol=1e-12)
        assert before.confounder_names == ()

    def test_edges_have_a_stability(self, done: tuple[Path, Any], table: pd.DataFrame) -> None:
        place, _ = done
        result = read_result(place)
        edges = pd.read_csv(place / "edges.csv")
        assert list(edges)[:5] == ["source", "target", "partial_correlation", "weight", "precision"]
        assert list(edges)[-1] == "stability"
        assert set(result.inference().columns) < set(edges)
        assert result.stability is not None
        assert result.settings["stability_halves"] == 20
        assert np.all(result.stability * 20 == np.round(result.stability * 20))
        assert 0.0 < result.stability.max() <= 1.0
        np.testing.assert_array_equal(result.stability, result.stability.T)
        strongest = edges.iloc[0]
        assert strongest["stability"] > 0.5

    def test_summary_in_words(self, done: tuple[Path, Any]) -> None:
        place, _ = done
        text = (place / "summary.txt").read_text(encoding="utf-8")
        result, before = read_result(place), read_result(place / "unadjusted")
        flat = " ".join(text.split())
        assert "240 samples of 5 variables" in flat
        assert "confounded" not in flat
        assert "files in the folder unadjusted" in flat
        assert compare(before, result).count == 0
        assert f"{before.n_edges} edges (" in flat
        strongest = before.edges().iloc[0]
        assert (
            f"Strongest edges with 95% intervals: {strongest.source} – {strongest.target}" in flat
        )

    @pytest.mark.usefixtures("all_permutations")
    def test_summary_where_the_confounder_does_something(self, run: Run) -> None:
        data = simulate_paper(6, n=1500, seed=0, even=True, threshold=60.0)
        data.to_frame().rename(columns={"confounder": "motion"}).to_csv("moved.csv", index=False)
        finished = run("moved.csv", "--confounder", "motion", "--threshold", THRESHOLD)
        assert finished.exit_code == 0, finished.stderr
        flat = " ".join(finished.stdout.split())
        assert flat.startswith(
            "The network without motion. The network depends on motion (p = 0.005, by permutations). "
        )
        place = Path("moved-network")
        result, before = read_result(place), read_result(place / "unadjusted")
        free = result.diagnostics["n_unconfounded"]
        assert f"the other {1500 - free:,}" in flat
        assert "Each of the 15 pairs was tested with motion taken out" in flat
        assert "What adjusting changes was tested for each pair too" in flat
        changes = compare(before, result)
        assert changes.count
        for edge in (*changes.vanished, *changes.appeared, *changes.moved):
            assert f"{edge.source} – {edge.target} ({edge.written})" in flat
        for heading, found in (
            ("vanish once motion is taken out", changes.vanished),
            ("appear once motion is taken out", changes.appeared),
            ("Pairs that change in strength (", changes.moved),
        ):
            assert (heading in flat) == bool(found)
        assert "with motion taken out;" in finished.stdout.splitlines()[-1]

    def test_page_is_whole_and_escapes_names(self, done: tuple[Path, Any]) -> None:
        place, _ = done
        page = (place / "report.html").read_text(encoding="utf-8")
        assert len(page) < LARGEST_PAGE
        assert page.rstrip().endswith("</html>")
        assert "Ω <b>" not in page
        assert "iron" in page

    @pytest.mark.usefixtures("all_permutations")
    def test_settings_repeat_the_run(
        self, done: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        place, _ = done
        settings = tomllib.loads((place / "settings.toml").read_text(encoding="utf-8"))
        assert settings["fit"]["confounder"] == ["motion"]
        assert settings["fit"]["threshold"] == [60.0]
        assert len(settings["run"]["sha256"]) == 64
        monkeypatch.chdir(tmp_path)
        arguments = ["fit", "--config", str(place / "settings.toml"), "--output", "again"]
        again = CliRunner().invoke(commands, arguments)
        assert again.exit_code == 0, again.output
        assert again.stderr == ""
        first, second = content(place), content(tmp_path / "again")
        differ = {name for name in second if first[name] != second[name]}
        assert differ == set()


class TestFormats:
    def test_each_gives_the_same_network(self, run: Run, table: pd.DataFrame) -> None:
        table.to_csv("prices.tsv", sep="\t", index=False)
        table.to_parquet("prices.parquet")
        table.to_feather("prices.feather")
        table.to_excel("prices.xlsx", index=False)
        np.savez("prices.npz", **{name: table[name].to_numpy() for name in table})
        fits = {}
        for ending in ("csv", "tsv", "parquet", "feather", "xlsx", "npz"):
            result = run(f"prices.{ending}", "--confounder", "motion", "--output", ending)
            assert result.exit_code == 0, result.output
            fits[ending] = read_result(ending)
        for fitted in fits.values():
            assert fitted.names == fits["csv"].names
            np.testing.assert_allclose(fitted.omega, fits["csv"].omega, atol=1e-9)


class TestColumns:
    def names(self, result: Result, place: str = "prices-network") -> tuple[str, ...]:
        assert result.exit_code == 0, result.output
        return read_result(place).names

    def test_chosen_and_left_out(self, run: Run, data: Path) -> None:
        chosen = run(data, "--confounder", "motion", "--columns", "gold,wheat", "--columns", "a,b")
        assert self.names(chosen) == ("gold", "wheat", "a,b")
        without = run(data, "--confounder", "motion", "--exclude", "*o*", "--force")
        assert self.names(without) == ("wheat", "Ω <b>", "a,b")

    def test_several_confounders(self, run: Run, data: Path) -> None:
        result = run(
            data, "--confounder", "motion", "--confounder", "gold", "--threshold", "60,0.5"
        )
        assert self.names(result) == ("wheat", "Ω <b>", "a,b", "iron")
        assert read_result("prices-network").confounder_names == ("motion", "gold")
        assert read_result("prices-network").threshold.tolist() == [60.0, 0.5]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (
                ["--confounder", "Motoin"],
                "no column 'Motoin' (--confounder). Did you mean 'motion'?",
            ),
            (["--confounder", "zzz"], "It has 'wheat'"),
            (["--confounder", "motion", "--columns", "irn"], "(--columns). Did you mean 'iron'?"),
            (["--confounder", "motion", "--exclude", "silver"], "no column 'silver' (--exclude)"),
            (["--confounder", "motion", "--group-by", "day"], "no column 'day' (--group-by)"),
            (
                ["--confounder", "motion", "--columns", "iron"],
                "at least 2 variables; 1 of the columns",
            ),
            (
                ["--confounder", "motion", "--columns", "motion,iron"],
                "'motion' cannot be a variable",
            ),
            (["--confounder", "motion", "--group-by", "motion"], "the confounder and the group"),
            (["--confounder", "motion", "--group-by", "*o*"], "--group-by takes one column"),
        ],
    )
    def test_refused(self, run: Run, data: Path, options: list[str], words: str) -> None:
        assert words in refused(run(data, *options))


class TestValues:
    def edited(self, data: Path, row: int, column: str, value: Any) -> Path:
        frame = pd.read_csv(data).astype(object)
        frame.loc[row, column] = value
        frame.to_csv(data, index=False)
        return data

    def test_missing_values_are_counted(self, run: Run, data: Path) -> None:
        for row in (4, 7):
            self.edited(data, row, "iron", np.nan)
        self.edited(data, 7, "motion", np.nan)
        line = refused(run(data, "--confounder", "motion"))
        assert (
            "2 in 'iron' (first in row 5 (line 6)), 1 in 'motion' (first in row 8 (line 9))" in line
        )
        assert "--missing drop, which leaves 238 of 240 rows" in line

    def test_dropping_is_not_offered_where_it_leaves_no_rows(self, run: Run, data: Path) -> None:
        frame = pd.read_csv(data)
        even = np.arange(len(frame)) % 2 == 0
        frame.loc[even, "iron"] = np.nan
        frame.loc[~even, "gold"] = np.nan
        frame.to_csv(data, index=False)
        line = refused(run(data, "--confounder", "motion"))
        assert "Use --missing em, which keeps all rows that have a confounder" in line
        assert "only 0 of 240 rows are complete" in line
        assert "which leaves" not in line

    def test_missing_values_elsewhere_do_not_matter(self, run: Run, data: Path) -> None:
        self.edited(data, 4, "iron", np.nan)
        assert run(data, "--confounder", "motion", "--exclude", "iron").exit_code == 0

    def test_drop(self, run: Run, data: Path) -> None:
        self.edited(data, 4, "iron", np.nan)
        self.edited(data, 9, "motion", np.nan)
        result = run(data, "--confounder", "motion", "--missing", "drop")
        assert result.exit_code == 0, result.output
        assert result.stderr == "Warning: 2 of 240 rows with missing values were left out.\n"
        assert read_result("prices-network").diagnostics["n_samples"] == 238

    @pytest.mark.parametrize(
        "given", [("--missing", "drop", "--exclude", "day"), ("--time", "day")]
    )
    def test_influential_rows_are_those_of_the_file(
        self, run: Run, data: Path, given: tuple[str, ...]
    ) -> None:
        """Whatever was left out or sorted before, as the warning before the fit names them."""
        frame = pd.read_csv(data).assign(day=np.random.default_rng(0).permutation(240))
        if "drop" in given:
            frame.loc[[3, 50, 51], "iron"] = np.nan
        frame.loc[200, "gold"] = 300.0 * frame["gold"].std()
        frame.to_csv(data, index=False)
        result = run(data, "--confounder", "motion", *given)
        assert result.exit_code == 0, result.output
        assert "row 201 (line 202)" in result.stderr
        folder = Path("prices-network")
        for place in (folder, folder / "unadjusted"):
            found = read_result(place).diagnostics
            assert found["leading_row"] == 200
            assert found["leading_place"] == "row 201 (line 202)"
        for name in ("summary.txt", "report.html"):
            words = " ".join((folder / name).read_text(encoding="utf-8").split())
            assert "most of all row 201 (line 202) by gold" in words
            assert "most of all sample" not in words

    def test_impute(self, run: Run, data: Path) -> None:
        self.edited(data, 4, "iron", np.nan)
        self.edited(data, 9, "motion", np.nan)
        result = run(data, "--confounder", "motion", "--missing", "impute")
        assert result.exit_code == 0, result.output
        assert "1 missing value was imputed" in result.stderr
        assert "1 row without confounder left out" in result.stderr
        assert read_result("prices-network").diagnostics["n_samples"] == 239
        for place in ("prices-network", "prices-network/unadjusted"):
            assert read_result(place).diagnostics["imputed_cells"] == 1
        for name in ("summary.txt", "report.html"):
            words = Path("prices-network", name).read_text(encoding="utf-8")
            assert "1 missing value, in iron, was filled in" in " ".join(words.split())
        first = content(Path("prices-network"))["arrays.npz"]
        run(data, "--confounder", "motion", "--missing", "impute", "--force")
        assert content(Path("prices-network"))["arrays.npz"] == first

    def test_em(self, run: Run, data: Path) -> None:
        for row in (4, 5, 6):
            self.edited(data, row, "iron", np.nan)
        self.edited(data, 9, "motion", np.nan)
        result = run(data, "--confounder", "motion", "--missing", "em", "--stability", "2")
        assert result.exit_code == 0, result.output
        assert "3 missing values in 3 rows" in result.stderr
        assert "most in 'iron': 1.3%" in result.stderr
        assert "1 row without confounder left out" in result.stderr
        found = read_result("prices-network")
        assert found.diagnostics["n_samples"] == 239
        assert found.diagnostics["missing_most"] == "iron"
        assert found.settings["missing"] == "em"
        words = " ".join(Path("prices-network/summary.txt").read_text(encoding="utf-8").split())
        assert "of the cells are missing, most of them in iron (1.26%), in 3 of 239 rows" in words

    def test_em_refuses_what_it_cannot_do(self, run: Run, data: Path) -> None:
        self.edited(data, 4, "iron", np.nan)
        given = (data, "--confounder", "motion", "--missing", "em")
        assert "needs smoother='spline'" in refused(run(*given, "--smoother", "kernel"))
        assert "does not take time series" in refused(run(*given, "--temporal", "1"))

    def test_equal_columns_are_told_with_their_file(self, run: Run, data: Path) -> None:
        frame = pd.read_csv(data)
        frame.assign(twin=frame["iron"]).to_csv(data, index=False)
        line = refused(run(data, "--confounder", "motion", "--columns", "iron,twin,gold"))
        assert line.startswith("Error: prices.csv: ")
        assert "'twin' equals 'iron'" in line

    def test_too_few_confounded_samples_to_learn_from(self, run: Run, data: Path) -> None:
        largest = np.sort(pd.read_csv(data)["motion"].abs())
        result = run(data, "--confounder", "motion", "--threshold", largest[-4])
        assert result.exit_code == 0, result.output
        assert "Only 3 samples lie beyond, too few to learn" in " ".join(result.stdout.split())
        last = result.stdout.splitlines()[-1]
        assert "with nothing taken out: too few samples to learn what motion does." in last
        page = Path("prices-network/report.html").read_text(encoding="utf-8")
        assert "<title>The network of" in page

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            ("n.d.", "'iron' of prices.csv holds 'n.d.' in row 5 (line 6), which is not a number"),
            ("inf", "'iron' of prices.csv holds an infinite value in row 5 (line 6)"),
            ("1" * 400, "in row 5 (line 6)"),
            (
                "x" * 9000,
                "...xxxxxxxxxxxxxxxxxxxxxxxxxxxx' in row 5 (line 6), which is not a number",
            ),
        ],
    )
    def test_text_and_infinity(self, run: Run, data: Path, value: str, words: str) -> None:
        self.edited(data, 4, "iron", value)
        assert words in refused(run(data, "--confounder", "motion"))
        assert words in refused(run(data, "--confounder", "iron"))
        assert words in refused(run(data, "--confounder", "motion", "--missing", "drop"))

    def test_whole_numbers_of_hundreds_of_digits(self, run: Run, data: Path) -> None:
        frame = pd.read_csv(data)
        numbers = [str(10**400), *map(str, range(1, len(frame)))]
        frame.assign(iron=numbers).to_csv(data, index=False)
        line = refused(run(data, "--confounder", "motion"))
        # pandas before 3 leaves such numbers as text.
        assert "'iron' of prices.csv holds " in line
        assert "in row 1 (line 2), " in line

    def test_constants(self, run: Run, data: Path) -> None:
        frame = pd.read_csv(data)
        frame.assign(iron=3.0).to_csv(data, index=False)
        assert "Column 'iron' of prices.csv is constant" in refused(
            run(data, "--confounder", "motion", "--columns", "iron,gold,wheat")
        )
        assert "The confounder 'iron' of prices.csv is constant" in refused(
            run(data, "--confounder", "iron")
        )

    @pytest.mark.parametrize(
        ("factor", "words"),
        [(1e200, "'iron' of prices.csv holds"), (1e-200, "'iron' of prices.csv vary by")],
    )
    def test_sizes_that_cannot_be_squared(
        self, run: Run, data: Path, factor: float, words: str
    ) -> None:
        frame = pd.read_csv(data)
        frame.assign(iron=frame["iron"] * factor).to_csv(data, index=False)
        line = refused(run(data, "--confounder", "motion"))
        assert words in line
        assert "se other units" in line

    def test_too_few_rows(self, run: Run, data: Path) -> None:
        pd.read_csv(data).head(19).to_csv(data, index=False)
        line = refused(run(data, "--confounder", "motion"))
        assert "prices.csv has 19 usable rows; at least 20 are needed" in line

    @pytest.mark.parametrize(("threshold", "side"), [("0.01", "below"), ("400", "above")])
    def test_one_sided_threshold(self, run: Run, data: Path, threshold: str, side: str) -> None:
        line = refused(run(data, "--confounder", "motion", "--threshold", threshold))
        assert f"--threshold {threshold} leaves no sample {side} it: |motion| runs from" in line

    def test_number_of_thresholds(self, run: Run, data: Path) -> None:
        line = refused(run(data, "--confounder", "motion", "--threshold", "1,2"))
        assert "--threshold takes one number; got 2." in line


class TestSettings:
    def settings(self, text: str) -> Path:
        path = Path("settings.toml")
        path.write_text(text, encoding="utf-8")
        return path

    def test_command_line_comes_first(self, run: Run, data: Path) -> None:
        config = self.settings(
            '[fit]\ndata = "prices.csv"\nconfounder = "motion"\ncriterion = "bic"\nseed = 3\n'
            'exclude = ["gold"]\nthreshold = 60\n'
        )
        result = run("--config", config, "--criterion", "aic")
        assert result.exit_code == 0, result.output
        fitted = read_result("prices-network")
        assert fitted.settings["criterion"] == "aic"
        assert fitted.settings["random_state"] == 3
        assert fitted.threshold.tolist() == [60.0]
        assert "gold" not in fitted.names

    def test_paths_are_relative_to_the_file(self, run: Run, data: Path) -> None:
        Path("deep").mkdir()
        config = Path("deep/settings.toml")
        config.write_text('[fit]\ndata = "../prices.csv"\nconfounder = "motion"\n')
        assert run("--config", config).exit_code == 0

    def test_changed_data_are_noticed(self, run: Run, data: Path) -> None:
        config = self.settings(
            '[fit]\ndata = "prices.csv"\nconfounder = "motion"\n[run]\nsha256 = "0"\n'
        )
        assert "has changed since the settings file was written" in run("--config", config).stderr

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[fit]\ncriterio = 1\n", "unknown setting 'criterio'. Did you mean 'criterion'?"),
            ('[fit]\ncriterion = "dic"\n', "criterion must be one of cv, aic, bic, ebic, refit"),
            ('[fit]\nedges = "all"\n', "edges must be one of fdr, penalty; got 'all'"),
            ("[fit]\nfdr = 1\n", "fdr must be a number between zero and one; got 1"),
            ('[fit]\nthreshold = "low"\n', "threshold must be 'auto' or one number"),
            ("[fit]\nseed = -1\n", "seed must be a whole number from zero to"),
            ("[fit]\nconfounder = 3\n", "confounder must be a list of names"),
            ("[fit]\njobs = 0\n", "jobs must be a whole number other than zero"),
            ("[fit]\ntau = 0\n", "tau must be one of focused, reml or a positive number"),
            ("[other]\n", "no section [fit]"),
            ("[fit\n", "not a settings file in TOML"),
            (f"[fit]\nthreshold = {'1' * 400}\n", "threshold must be 'auto' or one number"),
            (f"[fit]\nthreshold = {'1' * 5000}\n", "a number of thousands of digits"),
            (f"[fit]\ntau = {'1' * 400}\n", "tau must be one of focused, reml or a positive"),
            (f"[fit]\nseed = {'1' * 400}\n", "seed must be a whole number from zero to 4294967295"),
            (f"[fit]\njobs = {'1' * 400}\n", "jobs must be a whole number other than zero, at mo"),
            (
                "[fit]\nstability = 1000000\n",
                "stability must be a whole number from zero to 100000",
            ),
            (f"a = {'[' * 100_000}\n", "it is nested too deeply"),
            ('[fit]\ndata = "a\\u0000.csv"\n', "its name holds a zero byte"),
            (f'[fit]\ndata = "{"a" * 5000}.csv"\n', "too long"),
            (f'[fit]\ndata = "a.csv"\ntruth = "{"a" * 5000}.json"\n', "too long"),
        ],
    )
    def test_refused(self, run: Run, text: str, words: str) -> None:
        assert words in refused(run("--config", self.settings(text)))

    def test_what_declares_edges(self, run: Run, data: Path) -> None:
        assert run(data, "--confounder", "motion", "--fdr", "0.5", "--output", "a").exit_code == 0
        tested = read_result("a")
        assert tested.fdr == read_result("a/unadjusted").fdr == 0.5
        again = run("--config", "a/settings.toml", "--output", "b")
        assert again.exit_code == 0, again.output
        assert read_result("b").fdr == 0.5
        kept = run(data, "--confounder", "motion", "--edges", "penalty", "--output", "c")
        assert kept.exit_code == 0, kept.output
        penalised = read_result("c")
        assert penalised.fdr is None
        edges = (tested.omega != 0.0) & ~np.eye(len(tested.names), dtype=bool)
        np.testing.assert_array_equal(penalised.adjacency, edges)

    def test_no_such_file(self, run: Run) -> None:
        assert "There is no settings file nowhere.toml" in refused(run("--config", "nowhere.toml"))
        assert "There is no settings file no where.toml" in refused(
            run("--config", "no\nwhere.toml")
        )

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (
                ["--smoother", "kernel", "--tau", "reml"],
                "--tau is used with --smoother spline only",
            ),
            (["--edges", "penalty", "--fdr", "0.1"], "--fdr is used with --edges fdr only"),
            (["--truth", "x.json", "--group-by", "iron"], "--truth is about one network"),
            (["--truth", "x.json"], "There is no file x.json (--truth)"),
            (["--jobs", "0"], "--jobs must not be 0"),
            (["--sheet", "one"], "is not an Excel file"),
        ],
    )
    def test_what_does_not_go_together(
        self, run: Run, data: Path, options: list[str], words: str
    ) -> None:
        assert words in refused(run(data, "--confounder", "motion", *options))

    @pytest.mark.parametrize(
        "options",
        [
            ["--threshold", "-1"],
            ["--threshold", "x"],
            ["--tau", "0"],
            ["--criterion", "dic"],
            ["--edges", "all"],
            ["--fdr", "0"],
            ["--fdr", "nan"],
            ["--missing", "ignore"],
            ["--smoother", "loess"],
            ["--seed", "-1"],
            ["--seed", str(2**32)],
            ["--jobs", "1" * 400],
            ["--threshold", "1" * 400],
        ],
    )
    def test_wrong_options(self, run: Run, data: Path, options: list[str]) -> None:
        result = run(data, "--confounder", "motion", *options)
        assert result.exit_code == 2
        assert options[0] in result.stderr
        assert list(Path().iterdir()) == [data]

    @pytest.mark.parametrize("option", ["--config", "--truth", "--output"])
    @pytest.mark.parametrize("path", ["a\0b", "a" * 5000])
    def test_impossible_paths(self, run: Run, data: Path, option: str, path: str) -> None:
        line = refused(run(data, "--confounder", "motion", option, path))
        assert "Cannot use the path" in line
        assert list(Path().iterdir()) == [data]
        assert "Cannot use the path" in refused(run(path, "--confounder", "motion"))

    def test_settings_that_are_no_text(self, run: Run) -> None:
        Path("s.toml").write_bytes(b"[fit]\n\xff")
        assert "(it is not UTF-8 text: byte 0xff at position 7)" in refused(
            run("--config", "s.toml")
        )

    def test_options_reach_the_estimator(self, run: Run, data: Path) -> None:
        options = ["--smoother", "kernel", "--criterion", "ebic", "--threshold", "150"]
        result = run(data, "--confounder", "motion", *options, "--seed", "5", "--jobs", "2")
        assert result.exit_code == 0, result.output
        settings = read_result("prices-network").settings
        assert settings["smoother"] == "kernel"
        assert settings["criterion"] == "ebic"
        assert settings["random_state"] == 5
        run(data, "--confounder", "motion", "--tau", "0.5", "--force")
        assert read_result("prices-network").settings["tau"] == 0.5

    def test_number_of_workers_does_not_matter(self, run: Run, data: Path) -> None:
        run(data, "--confounder", "motion", "--output", "one")
        run(data, "--confounder", "motion", "--output", "two", "--jobs", "2")
        np.testing.assert_array_equal(read_result("one").omega, read_result("two").omega)
        np.testing.assert_array_equal(read_result("one").stability, read_result("two").stability)


class TestNodeGroups:
    def test_colour_the_variables_and_stay_with_the_result(
        self, run: Run, data: Path, table: pd.DataFrame
    ) -> None:
        variables = [name for name in table if name != "motion"]
        groups = pd.DataFrame(
            {"variable": variables, "group": ["food", "food", "food", "ore", "=ore"]}
        )
        groups.to_csv("sectors.csv", index=False)
        result = run(data, "--confounder", "motion", "--node-groups", "sectors.csv")
        assert result.exit_code == 0, result.output
        place = Path("prices-network")
        found = pd.read_csv(place / "centrality.csv")
        assert {"group", "bridge_strength", "bridge_strength_low"} <= set(found)
        page = (place / "report.html").read_text(encoding="utf-8")
        assert '"groups":{"titles":["food","ore","=ore"]' in page
        again = CliRunner().invoke(commands, ["report", str(place)])
        assert again.exit_code == 0, again.output
        assert (place / "report.html").read_text(encoding="utf-8") == page
        assert 'node_groups = "' in (place / "settings.toml").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("variable,group\nwheat,food\n", "no group for 4 of 5 variables"),
            ("a,b,c\n1,2,3\n", "needs the columns variable and group; it has a, b, c"),
            ("variable,group\nwheat,a\nwheat,b\n", "several rows for 'wheat'"),
        ],
    )
    def test_refused(self, run: Run, data: Path, text: str, words: str) -> None:
        Path("sectors.csv").write_text(text)
        line = refused(run(data, "--confounder", "motion", "--node-groups", "sectors.csv"))
        assert words in line
        assert "sectors.csv" in line

    def test_no_such_file(self, run: Run, data: Path) -> None:
        line = refused(run(data, "--confounder", "motion", "--node-groups", "none.csv"))
        assert "There is no file none.csv (--node-groups)." in line


class TestGroups:
    @pytest.fixture
    def grouped(self, data: Path) -> Path:
        frame = pd.read_csv(data)
        frame["site"] = np.where(np.arange(len(frame)) % 2, "<i>north</i>", "so/uth")
        frame.to_csv(data, index=False)
        return data

    def test_one_network_for_each_level(self, run: Run, grouped: Path) -> None:
        result = run(grouped, "--confounder", "motion", "--group-by", "site")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[-1].startswith("2 networks, one for each level of site.")
        place = Path("prices-network")
        table = pd.read_csv(place / "groups.csv")
        assert table["site"].tolist() == ["so/uth", "<i>north</i>"]
        assert table["samples"].tolist() == [120, 120]
        frame = pd.read_csv(grouped)
        for home, level in zip(table["folder"], table["site"], strict=True):
            part = frame[frame["site"] == level]
            found = read_result(place / home)
            # All levels refer to the same.
            assert found.references == {"motion": "average"}
            expected = PLAGGM(found.alpha).fit(
                part.drop(columns=["site", "motion"]), confounder=part["motion"]
            )
            np.testing.assert_allclose(read_result(place / home).omega, expected.omega_, atol=1e-6)
            assert (place / home / "report.html").is_file()
            assert (place / home / "unadjusted" / "result.json").is_file()
        differ = pd.read_csv(place / "differences.csv")
        assert len(differ) == 10
        assert {"difference", "p_value", "q_value", "estimate so/uth"} <= set(differ)
        pairs = pd.read_csv(place / "edges_by_group.csv")
        assert list(pairs) == ["source", "target", "levels", "so/uth", "<i>north</i>"]
        found = (pairs[["so/uth", "<i>north</i>"]] != 0.0).sum(axis=1)
        assert pairs["levels"].tolist() == found.tolist()
        assert "so/uth: 120 samples" in (place / "summary.txt").read_text(encoding="utf-8")

    def test_overview_escapes_and_links(self, run: Run, grouped: Path) -> None:
        run(grouped, "--confounder", "motion", "--group-by", "site")
        place = Path("prices-network")
        page = (place / "report.html").read_text(encoding="utf-8")
        assert "<i>north" not in page
        assert "&lt;i&gt;north&lt;/i&gt;" in page
        for home in pd.read_csv(place / "groups.csv")["folder"]:
            assert f'href="{home}/report.html"' in page
            assert Path(home).resolve().is_relative_to(Path("groups").resolve())

    @pytest.mark.parametrize(
        ("values", "order"),
        [
            (["10", "9"], ["9", "10"]),
            (["2.5", "-1"], ["-1", "2.5"]),
            (["b", "a"], ["b", "a"]),
        ],
    )
    def test_levels_have_their_natural_order(
        self, data: Path, values: list[str], order: list[str]
    ) -> None:
        frame = pd.read_csv(data)
        frame["site"] = np.resize(values, len(frame))
        assert [level for level, _ in split_levels(frame, "site", data)] == order
        category = pd.CategoricalDtype(values[::-1], ordered=True)
        frame["site"] = frame["site"].astype(category)
        assert [level for level, _ in split_levels(frame, "site", data)] == values[::-1]

    def test_a_level_that_cannot_be_fitted_is_named(self, run: Run, grouped: Path) -> None:
        frame = pd.read_csv(grouped)
        frame.loc[:9, "site"] = "west"
        frame.to_csv(grouped, index=False)
        line = refused(run(grouped, "--confounder", "motion", "--group-by", "site"))
        assert "Level 'west' of 'site': prices.csv has 10 usable rows" in line
        frame["site"] = frame["site"].where(frame.index != 3)
        frame.to_csv(grouped, index=False)
        line = refused(run(grouped, "--confounder", "motion", "--group-by", "site"))
        assert "'site' of prices.csv (--group-by) has 1 missing value(s), first in row 4" in line

    def test_text_that_is_named_is_refused(self, run: Run, grouped: Path) -> None:
        line = refused(run(grouped, "--confounder", "motion", "--columns", "iron,gold,site"))
        assert "Column 'site' of prices.csv holds 'so/uth' in row 1 (line 2)" in line
        assert "--exclude" in line


class TestOutput:
    def test_not_overwritten_unless_forced(self, run: Run, data: Path) -> None:
        assert run(data, "--confounder", "motion").exit_code == 0
        first = content(Path("prices-network"))
        again = run(data, "--confounder", "motion", "--seed", "9")
        assert again.exit_code == 2
        assert "prices-network is not empty" in again.stderr
        assert content(Path("prices-network")) == first

    def test_force_leaves_nothing_of_the_earlier_run(self, run: Run, data: Path) -> None:
        run(data, "--confounder", "motion")
        place = Path("prices-network")
        (place / "notes.txt").write_text("mine")
        CliRunner().invoke(commands, ["report", str(place), "--export", "gexf"])
        assert (place / "network.gexf").is_file()
        frame = pd.read_csv(data)
        frame.assign(site=np.arange(len(frame)) % 2).to_csv(data, index=False)
        result = run(data, "--confounder", "motion", "--group-by", "site", "--force")
        assert result.exit_code == 0, result.output
        assert {entry.name for entry in place.iterdir()} == {
            "differences.csv",
            "edges_by_group.csv",
            "groups",
            "groups.csv",
            "map.csv",
            "notes.txt",
            "report.html",
            "settings.toml",
            "summary.txt",
        }
        run(data, "--confounder", "motion", "--exclude", "site", "--force")
        assert not (place / "groups").exists()
        assert read_result(place).names

    def test_force_spares_foreign_folders(self, run: Run, data: Path) -> None:
        Path("mine/figures").mkdir(parents=True)
        Path("mine/figures/thesis.txt").write_text("mine")
        result = run(data, "--confounder", "motion", "--output", "mine", "--force")
        assert result.exit_code == 2
        assert "is not a plaggm result, so --force leaves it alone" in result.stderr
        assert content(Path("mine")) == {"figures/thesis.txt": b"mine"}

    def test_must_be_a_folder(self, run: Run, data: Path) -> None:
        Path("file").write_text("mine")
        assert "file is a file" in refused(run(data, "--confounder", "motion", "--output", "file"))
        line = refused(run(data, "--confounder", "motion", "--output", "file/below"))
        assert "Cannot write to" in line

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system that refuses all")
    def test_unwritable(self, run: Run, data: Path) -> None:
        # Not even the owner of the machine may write there.
        line = refused(run(data, "--confounder", "motion", "--output", "/proc/result"))
        assert "Cannot write to /proc/result" in line

    def test_full_disk(self, run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_space(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(folder, "draw_figures", no_space)
        line = refused(run(data, "--confounder", "motion"))
        assert "Cannot write to prices-network (No space left on device)" in line

    def test_quiet_and_verbose(self, run: Run, data: Path) -> None:
        loud = run(data, "--confounder", "motion", "--verbose")
        quiet = run(data, "--confounder", "motion", "--quiet", "--force")
        assert quiet.stdout.splitlines() == loud.stdout.splitlines()[-1:]
        assert quiet.stderr == ""
        steps = [line.split(" s  ")[1] for line in loud.stderr.splitlines()]
        assert steps[:2] == ["reading the table", "loading"]
        assert fit_run.RESAMPLE in steps

    def test_without_stability(self, data: Path) -> None:
        arguments = ["fit", str(data), "--confounder", "motion", "--stability", "0"]
        assert CliRunner().invoke(commands, arguments).exit_code == 0
        assert read_result("prices-network").stability is None

    @pytest.mark.parametrize("package", ["matplotlib", "jinja2", "tomli_w"])
    def test_missing_library(
        self, run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, package: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        line = refused(run(data, "--confounder", "motion"))
        assert f"plaggm fit needs {package}: pip install 'plaggm[cli,plot]'" in line


class TestTruth:
    def test_goes_to_the_page(self, run: Run) -> None:
        simulated = ["simulate", "paper", "--variables", "5", "--even", "--threshold", "60"]
        assert CliRunner().invoke(commands, [*simulated, "--output", "sim"]).exit_code == 0
        result = run("sim/data.csv", "--confounder", "confounder", "--truth", "sim/truth.json")
        assert result.exit_code == 0, result.output
        assert "their truth is known" in " ".join(result.stdout.split())
        assert Path("data-network/truth.json").read_bytes() == Path("sim/truth.json").read_bytes()

    def test_of_other_variables(self, run: Run, data: Path) -> None:
        Path("truth.json").write_text('{"format": "plaggm-truth", "names": ["a"], "omega": [[0]]}')
        line = refused(run(data, "--confounder", "motion", "--truth", "truth.json"))
        assert "other variables" in line


class TestInterrupt:
    def test_leaves_nothing(self, run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(folder, "draw_figures", interrupt)
        result = run(data, "--confounder", "motion")
        assert result.exit_code == 130
        assert result.stderr == "Interrupted.\n"
        assert result.stdout == ""
        assert list(Path().iterdir()) == [data]

    @pytest.mark.skipif(os.name != "posix", reason="signals")
    @pytest.mark.parametrize(
        ("number", "status", "words"),
        [(signal.SIGINT, 130, ["Interrupted."]), (signal.SIGTERM, 143, [])],
    )
    def test_of_the_installed_command(
        self, data: Path, number: signal.Signals, status: int, words: list[str]
    ) -> None:
        program = Path(sys.executable).with_name("plaggm")
        options = ["--confounder", "motion", "--stability", "100000", "--verbose"]
        with subprocess.Popen(
            [program, "fit", data, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # Where the tests themselves run in the background, they ignore Ctrl-C and would hand that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if fit_run.RESAMPLE in line:
                    process.send_signal(number)
                    break
            output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == status
        assert errors.splitlines() == words
        assert output == ""
        assert list(Path().iterdir()) == [data]


BAD_FILES: dict[str, tuple[str, bytes | None, str]] = {
    "missing": ("nowhere.csv", None, "There is no file nowhere.csv"),
    "empty": ("x.csv", b"", "x.csv is empty"),
    "names only": ("x.csv", b"a,b,motion\n", "no rows below its names"),
    "binary": ("x.csv", bytes(range(256)), "binary data"),
    "binary parquet": ("x.parquet", bytes(range(256)), "cannot be read as a Parquet file"),
    "ragged": ("x.csv", b"a,b,motion\n1,2,3\n4,5\n", "Line 3 of x.csv has 2 values"),
    "not UTF-8": ("x.csv", b"a,b,motion\n1,2,\xe9\n", "not UTF-8 text: line 2"),
    "duplicate names": ("x.csv", b"a,a,motion\n1,2,3\n", "repeated column names: 'a'"),
    "unknown column": ("x.csv", b"a,b,notion\n1,2,3\n", "Did you mean 'notion'?"),
    "text": ("x.csv", b"a,b,motion\n1,2,3\n4,five,6\n", "'five' in row 2 (line 3)"),
    "NaN": ("x.csv", b"a,b,motion\n1,2,3\n4,nan,6\n2,9,1\n", "1 in 'b' (first in row 2 (line 3))"),
    "infinity": ("x.csv", b"a,b,motion\n1,2,3\n4,inf,6\n", "infinite value in row 2 (line 3)"),
    "too few rows": ("x.csv", b"a,b,motion\n1,2,3\n4,7,6\n", "2 usable rows"),
    "other format": ("x.sav", b"a", "no known file extension"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(run: Run, case: str) -> None:
    name, content, words = BAD_FILES[case]
    if content is not None:
        Path(name).write_bytes(content)
    before = sorted(Path().iterdir())
    assert words in refused(run(name, "--confounder", "motion"))
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--threshold", "1e9"], "leaves no sample above it"),
        (["--threshold", "1e-9"], "leaves no sample below it"),
        (["--output", "prices.csv"], "prices.csv is a file"),
        (["--output", "."], ". is not empty"),
        (["--output", "prices.csv/below"], "Cannot write to"),
        (["--exclude", "*", "--columns", "iron"], "at least 2 variables"),
    ],
)
def test_options_that_do_not_fit_the_table(run: Run, options: list[str], words: str) -> None:
    assert words in refused(run("prices.csv", "--confounder", "motion", *options))
    assert list(Path().iterdir()) == [Path("prices.csv")]


def test_a_constant_confounder_is_refused(data: Path) -> None:
    pd.read_csv(data).assign(motion=1.0).to_csv(data, index=False)
    line = refused(CliRunner().invoke(commands, ["fit", str(data), "--confounder", "motion"]))
    assert "The confounder 'motion' of prices.csv is constant" in line
    assert list(Path().iterdir()) == [data]
