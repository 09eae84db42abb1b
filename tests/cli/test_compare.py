from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm.cli.group import commands
from plaggm.comparison import METHODS
from plaggm.simulate import simulate_paper

Run = Callable[..., Result]
FILES = [
    "agreement.csv",
    "comparison.csv",
    "comparison.html",
    "comparison.json",
    "comparison.png",
    "edges.csv",
    "scores.csv",
    "tests.csv",
]
FEW = ("--methods", "spline,ggm,pooled", "--quick", "--resamples", "2", "--jobs", "1")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in a folder with a small table."""
    monkeypatch.chdir(tmp_path)
    data = simulate_paper(
        5, n=200, seed=0, even=True, threshold=100.0, target_radius=0.7, nuisance_radius=0.2
    )
    frame = data.to_frame().rename(columns={"confounder": "motion"})
    frame["who"] = np.repeat([f"s{k}" for k in range(10)], 20)
    frame.to_csv("scan.csv", index=False)
    return lambda *arguments: CliRunner().invoke(commands, ["compare", *arguments])


def assert_refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.stderr


def test_missing_cells_are_not_completed(run: Run) -> None:
    result = run("scan.csv", "--confounder", "motion", "--exclude", "who", "--missing", "em")
    assert_refused(result, "plaggm compare does not take --missing em", "--missing drop")


class TestOutput:
    def test_refitted_networks_of_all_kinds_of_methods(self, run: Run, tmp_path: Path) -> None:
        methods = ("spline", "con-ggm", "lr-ggm", "tv-ggm", "pooled")
        result = run(
            *("scan.csv", "--confounder", "motion", "--exclude", "who", "--edges", "penalty"),
            *(
                "--criterion",
                "refit",
                "--quick",
                "--methods",
                ",".join(methods),
                "--resamples",
                "0",
                "--jobs",
                "1",
            ),
        )
        assert result.exit_code == 0, result.stderr
        table = pd.read_csv(tmp_path / "scan-comparison" / "comparison.csv")
        assert list(table["method"]) == list(methods)
        assert table["edges"].notna().all()
        assert "penalties chosen by refit" in result.stdout

    def test_verbose_tells_the_steps(self, run: Run) -> None:
        result = run("scan.csv", "--confounder", "motion", "--exclude", "who", *FEW, "--verbose")
        told = [line.split(" s  ")[1] for line in result.stderr.splitlines() if " s  " in line]
        each = [f"fitting {name}" for name in ("spline", "ggm", "pooled")]
        assert told == ["reading the table", *each, "writing"]

    @pytest.mark.pictures
    def test_writes_tables_and_a_picture(self, run: Run, tmp_path: Path) -> None:
        amount = ["--confounder", "motion", "--reference", "zero"]
        result = run("scan.csv", *amount, "--exclude", "who", *FEW)
        assert result.exit_code == 0, result.stderr
        folder = tmp_path / "scan-comparison"
        assert sorted(path.name for path in folder.iterdir()) == FILES
        table = pd.read_csv(folder / "comparison.csv")
        assert list(table["method"]) == ["spline", "ggm", "pooled"]
        # What can be judged on one's own data comes first.
        leading = ["held_out", "behind_best", "behind_best_se", "stability", "agreement", "edges"]
        assert list(table.columns[2:8]) == leading
        assert list(table["network"]) == [
            "at motion = 0",
            "samples with little motion",
            "all samples, motion ignored",
        ]
        agreement = pd.read_csv(folder / "agreement.csv", index_col="method")
        assert agreement.loc["spline", "spline"] == 1.0
        assert len(pd.read_csv(folder / "scores.csv")) == 2
        edges = pd.read_csv(folder / "edges.csv")
        assert set(edges["source"]) <= {f"v{k}" for k in range(1, 6)}
        facts = json.loads((folder / "comparison.json").read_text())
        assert facts["confounders"] == ["motion"]
        assert facts["criterion"] == "bic"
        assert (facts["edges"], facts["fdr"]) == ("fdr", 0.05)
        tests = pd.read_csv(folder / "tests.csv")
        assert list(tests.columns[:4]) == ["method", "source", "target", "estimate"]
        counts = tests[tests["q_value"] <= 0.05].groupby("method").size()
        by_tests = table.set_index("method")["edges"].dropna()
        assert by_tests.to_dict() == counts.reindex(by_tests.index, fill_value=0).to_dict()
        assert set(facts["seconds"]) == {"spline", "ggm", "pooled"}
        assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
        page = (folder / "comparison.html").read_text()
        for words in ("Behind best", "at motion = 0", "Run only on request", "--methods all"):
            assert words in page
        lines = result.stdout.splitlines()
        assert lines[0].startswith("200 samples of 5 variables")
        assert lines[-1].startswith("3 of 3 methods were fitted.")
        assert lines[-1].endswith(f"Page: {Path('scan-comparison/comparison.html')}")
        words = " ".join(result.stdout.split())
        assert "The reference is the network at motion = 0." in words
        # Methods that run only on request are told once, with what they would cost here.
        assert (result.stdout + result.stderr).count("tv-ggm-fused (about ") == 1
        assert "Run only on request: tv-ggm-average (about " in result.stdout
        assert "slow" not in result.stdout + result.stderr

    def test_a_method_that_fails_leaves_a_reason(self, run: Run, tmp_path: Path) -> None:
        result = run(
            "scan.csv", "--confounder", "motion", "--exclude", "who", "--threshold", "7", *FEW
        )
        assert result.exit_code == 0, result.stderr
        assert "ggm: Only 4 of 200 samples are free" in result.stdout
        assert "2 of 3 methods were fitted" in result.stdout
        table = pd.read_csv(tmp_path / "scan-comparison/comparison.csv").set_index("method")
        assert np.isnan(table.loc["ggm", "edges"])
        assert "Only 4" in table.loc["ggm", "reason"]

    def test_subjects(self, run: Run, tmp_path: Path) -> None:
        result = run(
            "scan.csv", "--confounder", "motion", "--subject", "who", "--quiet", "--seed", "3", *FEW
        )
        assert result.exit_code == 0, result.stderr
        assert len(result.stdout.splitlines()) == 1
        facts = json.loads((tmp_path / "scan-comparison/comparison.json").read_text())
        assert (facts["n_groups"], facts["seed"]) == (10, 3)

    def test_rows_without_subject_or_run(self, run: Run, tmp_path: Path) -> None:
        frame = pd.read_csv("scan.csv")
        frame.loc[[7, 120], "who"] = None
        frame.to_csv("scan.csv", index=False)
        for option in ("--subject", "--run"):
            base = ("scan.csv", "--confounder", "motion", option, "who", *FEW)
            words = (
                f"({option}) has 2 missing value(s), first in row 8",
                "--missing drop leaves such",
            )
            assert_refused(run(*base), *words)
        result = run(
            "scan.csv", "--confounder", "motion", "--subject", "who", *FEW, "--missing", "drop"
        )
        assert result.exit_code == 0, result.stderr
        assert "2 rows without 'who' left out (--missing drop)" in result.stderr
        facts = json.loads((tmp_path / "scan-comparison/comparison.json").read_text())
        assert (facts["n_groups"], facts["n_samples"]) == (10, 198)

    def test_time_series(self, run: Run, tmp_path: Path) -> None:
        """Rows are sorted within their runs, and every method filters them."""
        frame = pd.read_csv("scan.csv")
        frame["t"] = np.tile(np.arange(20), 10)
        frame.sample(frac=1.0, random_state=0).to_csv("scan.csv", index=False)
        options = ("--run", "who", "--time", "t", "--temporal", "1", "--reference", "zero")
        result = run("scan.csv", "--confounder", "motion", *options, "--quiet", *FEW)
        assert result.exit_code == 0, result.stderr
        facts = json.loads((tmp_path / "scan-comparison/comparison.json").read_text())
        assert (facts["temporal"], facts["n_runs"]) == (1, 10)
        table = pd.read_csv(tmp_path / "scan-comparison/comparison.csv")
        assert table["held_out"].notna().all()

    def test_same_seed_same_tables(self, run: Run, tmp_path: Path) -> None:
        for name, jobs in (("a", "1"), ("b", "2")):
            result = run(
                "scan.csv", "--confounder", "motion", "--exclude", "who", "--output", name,
                *FEW, "--jobs", jobs,
            )  # fmt: skip
            assert result.exit_code == 0, result.stderr
        for name in ("comparison.csv", "agreement.csv", "edges.csv", "scores.csv"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["scan.csv", "--confounder", "age"], ["no column 'age'", "--confounder"]),
            (["scan.csv"], ["--confounder"]),
            (["none.csv", "--confounder", "motion"], ["none.csv"]),
            (
                ["scan.csv", "--confounder", "motion", "--columns", "who,*"],
                ["'who'", "not a number"],
            ),
            (["scan.csv", "--confounder", "motion", "--subject", "hwo"], ["'hwo'", "--subject"]),
            (["scan.csv", "--confounder", "motion", "--subject", "motion"], ["at once"]),
            (
                ["scan.csv", "--confounder", "motion", "--exclude", "who", "--methods", "splin"],
                ["no method 'splin'", "Did you mean 'spline'"],
            ),
            (["scan.csv", "--confounder", "motion", "--jobs", "0"], ["--jobs must not be 0"]),
            (["scan.csv", "--confounder", "motion", "--threshold", "-1"], ["--threshold"]),
        ],
    )
    def test_bad_input(
        self, run: Run, tmp_path: Path, arguments: list[str], words: list[str]
    ) -> None:
        assert_refused(run(*arguments), *words)
        assert [path.name for path in tmp_path.iterdir()] == ["scan.csv"]

    def test_an_earlier_result_is_not_replaced(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "scan-comparison").mkdir()
        (tmp_path / "scan-comparison" / "notes.txt").write_text("mine")
        result = run("scan.csv", "--confounder", "motion", "--exclude", "who", *FEW)
        assert_refused(result, "--force")
        forced = run("scan.csv", "--confounder", "motion", "--exclude", "who", "--force", *FEW)
        assert forced.exit_code == 0, forced.stderr
        assert (tmp_path / "scan-comparison" / "notes.txt").read_text() == "mine"


def test_all_methods_include_the_slow_ones(run: Run, tmp_path: Path) -> None:
    result = run(
        *(
            "scan.csv",
            "--confounder",
            "motion",
            "--reference",
            "zero",
            "--exclude",
            "who",
            "--quick",
        ),
        *("--methods", "all", "--resamples", "0", "--jobs", "1"),
    )
    assert result.exit_code == 0, result.stderr
    assert "only on request" not in result.stderr + result.stdout
    table = pd.read_csv(tmp_path / "scan-comparison/comparison.csv").set_index("method")
    assert list(table.index) == list(METHODS)
    assert table.loc["tv-ggm-fused", "edges"] >= 0
    assert table.loc["tv-ggm-fused", "network"] == "the bin at motion = 0"


def test_the_average_is_offered_only_where_it_differs(run: Run) -> None:
    result = run("scan.csv", *("--confounder", "motion", "--reference", "average", "--exclude", "who"),
                 *("--methods", "tv-ggm,pooled", "--quick", "--resamples", "0", "--jobs", "1"))  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "Run only on request: tv-ggm-fused (about " in result.stdout
    assert "tv-ggm-average" not in result.stdout
    assert "average over motion" in result.stdout


def test_families_are_read_from_the_columns(run: Run, tmp_path: Path) -> None:
    table = pd.read_csv(tmp_path / "scan.csv")
    for name in table.columns.drop(["who", "motion"]):
        table[name] = (table[name] > table[name].median()).astype(int)
    table.to_csv(tmp_path / "items.csv", index=False)
    result = run("items.csv", *("--confounder", "motion", "--reference", "zero", "--exclude", "who"),
                 *("--family", "auto", "--methods", "mrf,pooled,lr-ggm", "--quick", "--resamples", "0"),
                 *("--jobs", "1"))  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "as binary (binomial)" in result.stderr
    table = pd.read_csv(tmp_path / "items-comparison/comparison.csv").set_index("method")
    assert "Gaussian variables" in table.loc["lr-ggm", "reason"]
    assert table.loc["mrf", "edges"] >= 0
    page = (tmp_path / "items-comparison/comparison.html").read_text()
    assert "All methods have the same families" in page


def test_help_has_an_example(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "plaggm compare prices.csv --confounder volatility" in result.output


def test_all_methods_are_known_by_name() -> None:
    assert all("," not in name and " " not in name for name in METHODS)
