from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm import plan_study
from plaggm.cli import plan as command
from plaggm.cli.group import commands
from plaggm.planning import STRENGTHS

Run = Callable[..., Result]
SMALL = ["--variables", "6", "--edge", "0.3", "--sets", "4", "--jobs", "1"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, ["plan", *arguments])


@pytest.mark.pictures
def test_is_the_plan_of_the_library(run: Run) -> None:
    result = run(*SMALL, "--samples", "60,300", "--seed", "1", "--threshold", "known")
    assert result.exit_code == 0, result.output
    folder = Path("plaggm-plan")
    assert {path.name for path in folder.iterdir()} == set(command.ENTRIES)
    plan = plan_study(6, [60, 300], edge=0.3, sets=4, seed=1, threshold="known")
    written = pd.read_csv(folder / command.TABLE)
    pd.testing.assert_frame_equal(written, plan.table(), rtol=1e-5, check_dtype=False)
    settings = tomllib.loads((folder / command.SETTINGS).read_text())
    assert settings["plan"] == plan.settings()
    assert settings["answer"]["adjusted"] == plan.samples_for().words()
    assert plan.samples_for().words() in result.stdout.splitlines()[-1].lower()
    assert "●" in result.stdout
    assert "Assumed: 6 variables" in result.stdout
    page = (folder / command.PAGE).read_text()
    assert "How many samples does the study need?" in page
    assert plan.samples_for(network="clean").words() in page


def test_one_size_and_quiet(run: Run) -> None:
    result = run(*SMALL, "--samples", "100", "--quiet", "--output", "here", "--strength", "0.02")
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert line.startswith("100 samples have power ")
    assert line.endswith("Page: here/plan.html")
    again = run(*SMALL, "--samples", "100", "--output", "here")
    assert again.exit_code == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--samples", "many"], "Must be numbers of samples with commas; got 'many'"),
        (["--strength", "huge"], "Must be one of none, weak, moderate, strong or a number"),
        (["--samples", "5"], "n must be a whole number of at least 10; got 5."),
        (["--edge", "0.9"], "Possible would be edge="),
        (["--clean", "0"], "--clean"),
        (["--power", "1"], "--power"),
    ],
)
def test_refusals(run: Run, options: list[str], words: str) -> None:
    result = run("--variables", "6", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not list(Path().iterdir())


def test_words_of_the_library() -> None:
    assert tuple(STRENGTHS) == command.STRENGTHS
