from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm.cli import simulate as command
from plaggm.cli.group import commands
from plaggm.report import read_truth
from plaggm.simulate import (
    CONFOUNDERS,
    FAMILY_CHOICES,
    GRAPHS,
    MARGINS,
    NUISANCES,
    SHAPES,
    simulate_family,
    simulate_paper,
    simulate_study,
    with_margins,
)
from plaggm.tables import read_table

# Loading the libraries on a busy machine, in seconds.
PATIENCE = 300
# pandas before 3 reads numbers from text to the last digit but one.
LAST_DIGITS = 4e-15

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["simulate", *arguments])


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert not list(Path().iterdir())
    return line


class TestPaper:
    def test_is_the_simulation_of_the_library(self, run: Run) -> None:
        options = [
            "--variables",
            "6",
            "--samples",
            "50",
            "--even",
            "--seed",
            "4",
            "--shape",
            "ramp",
        ]
        result = run("paper", *options, "--density", "0.5", "--threshold", "30")
        assert result.exit_code == 0, result.output
        expected = simulate_paper(
            6, 50, seed=4, even=True, shape="ramp", density=0.5, threshold=30.0
        )
        place = Path("plaggm-simulated")
        assert {entry.name for entry in place.iterdir()} == {
            "data.csv",
            "settings.toml",
            "truth.csv",
            "truth.json",
        }
        pd.testing.assert_frame_equal(read_table(place / "data.csv"), expected.to_frame())
        truth = pd.read_csv(place / "truth.csv", index_col=0)
        np.testing.assert_allclose(truth, expected.omega, rtol=LAST_DIGITS)
        assert truth.index.tolist() == truth.columns.tolist() == [f"v{j}" for j in range(1, 7)]
        settings = tomllib.loads((place / "settings.toml").read_text(encoding="utf-8"))
        assert settings["simulate"] == {"design": "paper", **expected.settings}

    def test_truth_for_the_page(self, run: Run) -> None:
        run("paper", "--variables", "4", "--samples", "30", "--output", "sim")
        truth = read_truth(Path("sim/truth.json"), ("v1", "v2", "v3", "v4"))
        expected = simulate_paper(4, 30, seed=0)
        np.testing.assert_allclose(truth.omega, expected.omega, atol=1e-6)
        assert truth.confounder_grid is not None
        np.testing.assert_allclose(
            truth.nuisance, expected.nuisance(truth.confounder_grid), atol=1e-6
        )

    @pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "feather"])
    def test_formats(self, run: Run, kind: str) -> None:
        run("paper", "--variables", "4", "--samples", "30", "--format", kind)
        frame = read_table(Path("plaggm-simulated") / f"data.{kind}")
        pd.testing.assert_frame_equal(frame, simulate_paper(4, 30, seed=0).to_frame())

    def test_says_how_to_fit(self, run: Run) -> None:
        lines = run("paper", "--variables", "4", "--samples", "30").stdout.splitlines()
        assert lines[0].startswith("30 samples of 4 variables with ")
        assert "plaggm fit plaggm-simulated/data.csv --confounder confounder --truth" in lines[1]
        assert lines[2] == "Data: plaggm-simulated/data.csv"
        quiet = run("paper", "--variables", "4", "--samples", "30", "--force", "--quiet")
        assert quiet.stdout.splitlines() == lines[-1:]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--density", "2"], "density must be a finite number in [0, 1]"),
            (["--target-radius", "0.9"], "their sum must be below 1"),
            (["--printed", "--shape", "ramp"], "printed=True needs shape='paper'"),
            (["--threshold", "-1"], "threshold"),
        ],
    )
    def test_refused(self, run: Run, options: list[str], words: str) -> None:
        assert words in refused(run("paper", *options))


class TestFamily:
    def test_is_the_simulation_of_the_library(self, run: Run) -> None:
        options = ["--variables", "4", "--samples", "60", "--seed", "2", "--family", "mixed"]
        more = ["--prevalence", "0.2", "--mean-count", "2", "--overdispersion", "0.5"]
        result = run("family", *options, *more, "--threshold", "60")
        assert result.exit_code == 0, result.output
        folder = Path("plaggm-simulated")
        expected = simulate_family(
            4,
            60,
            seed=2,
            family="mixed",
            prevalence=0.2,
            mean_count=2.0,
            overdispersion=0.5,
            threshold=60.0,
        )
        table = read_table(folder / "data.csv")
        np.testing.assert_allclose(table, expected.to_frame(), rtol=LAST_DIGITS)
        natural = pd.read_csv(folder / "truth.csv", index_col=0)
        np.testing.assert_allclose(natural, expected.omega)
        units = np.outer(expected.scale, expected.scale)
        truth = read_truth(folder / "truth.json", ("v1", "v2", "v3", "v4"))
        np.testing.assert_allclose(truth.omega, expected.omega * units, atol=1e-6)
        settings = tomllib.loads((folder / "settings.toml").read_text(encoding="utf-8"))
        assert settings["simulate"]["design"] == "family"
        assert settings["simulate"]["overdispersion"] == 0.5
        assert "--family auto" in result.stdout

    def test_bad_values_are_one_line(self, run: Run) -> None:
        assert "prevalence must be" in refused(run("family", "--prevalence", "2"))


def test_margins_of_the_library(run: Run) -> None:
    result = run("paper", "--variables", "3", "--samples", "40", "--margins", "likert")
    assert "--margins rank" in result.stdout
    expected = with_margins(simulate_paper(3, 40, seed=0), "likert")
    table = read_table(Path("plaggm-simulated/data.csv"))
    assert np.array_equal(table.iloc[:, :3], expected.x)


class TestStudy:
    def test_is_the_study_of_the_library(self, run: Run) -> None:
        options = ["--variables", "5", "--subjects", "2", "--times", "20", "--confounders", "2"]
        result = run("study", *options, "--groups", "old, so young", "--difference", "0.5")
        assert result.exit_code == 0, result.output
        expected = simulate_study(
            5,
            seed=0,
            groups=["old", "so young"],
            n_subjects=2,
            n_times=20,
            n_confounders=2,
            difference=0.5,
        )
        place = Path("plaggm-simulated")
        frame = read_table(place / "data.csv")
        pd.testing.assert_frame_equal(frame, expected.to_frame(), check_dtype=False)
        for omega, name in zip(expected.omega, ("old", "so_young"), strict=True):
            truth = pd.read_csv(place / f"truth_{name}.csv", index_col=0)
            np.testing.assert_allclose(truth, omega, rtol=LAST_DIGITS)
        settings = tomllib.loads((place / "settings.toml").read_text(encoding="utf-8"))
        assert settings["simulate"]["groups"] == ["old", "so young"]

    def test_odd(self, run: Run) -> None:
        run("study", "--variables", "4", "--subjects", "1", "--times", "10", "--odd")
        text = Path("plaggm-simulated/settings.toml").read_text(encoding="utf-8")
        assert tomllib.loads(text)["simulate"]["even"] is False

    @pytest.mark.parametrize("groups", ["a,a", "a,,b", ""])
    def test_labels_must_differ(self, run: Run, groups: str) -> None:
        assert "distinct labels" in refused(run("study", "--groups", groups))


class TestFolder:
    def test_not_overwritten_unless_forced(self, run: Run) -> None:
        small = ["--variables", "4", "--samples", "30"]
        run("paper", *small)
        again = run("paper", *small)
        assert again.exit_code == 2
        assert "plaggm-simulated is not empty" in again.stderr
        forced = run("paper", *small, "--force", "--format", "parquet")
        assert forced.exit_code == 0, forced.output
        tables = {path.name for path in Path("plaggm-simulated").glob("data.*")}
        assert tables == {"data.parquet"}

    def test_missing_library(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        assert "needs pyarrow" in refused(run("paper", "--format", "parquet"))


def test_choices_are_those_of_the_library() -> None:
    assert tuple(SHAPES) == command.SHAPES
    assert tuple(CONFOUNDERS) == command.CONFOUNDERS
    assert tuple(GRAPHS) == command.GRAPHS
    assert tuple(NUISANCES) == command.NUISANCES
    assert tuple(MARGINS) == command.MARGINS
    assert tuple(FAMILY_CHOICES) == command.FAMILIES


def test_installed_command(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("plaggm")
    done = subprocess.run(
        [program, "simulate", "paper", "--variables", "4", "--samples", "30", "--seed", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    stored = json.loads((tmp_path / "plaggm-simulated" / "truth.json").read_text())
    assert stored["names"] == ["v1", "v2", "v3", "v4"]
