"""``plaggm fit --family``: what columns are taken for, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm import read_result
from plaggm.cli.group import commands
from plaggm.cli.messages import InputError
from plaggm.cli.variable_families import guessed_family, variable_families
from plaggm.simulate import simulate_family

Run = Callable[..., Result]
QUICK = ("--stability", "0", "--criterion", "bic", "--quiet")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, list(arguments))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    data = simulate_family(6, n=400, seed=0, family="mixed", threshold=60.0)
    names = ["height", "smokes", "visits", "weight", "drinks", "falls"]
    return pd.DataFrame(np.column_stack([data.x, data.confounder]), columns=[*names, "age"])


@pytest.mark.parametrize(
    ("values", "family"),
    [
        ([0.0, 1.0] * 40, "binomial"),
        ([1.0, 2.0] * 40, "gaussian"),
        (np.random.default_rng(0).poisson(1.0, 400), "poisson"),
        (np.random.default_rng(0).negative_binomial(1, 0.05, 400), "poisson"),
        ([1.0, 2.0, 3.0, 4.0, 5.0] * 20, "gaussian"),
        ([0.0, 0.0, 0.0, 1.0, 2.0, 3.0] * 20, "gaussian"),
        (np.random.default_rng(0).standard_normal(100), "gaussian"),
    ],
)
def test_columns_are_read(values: object, family: str) -> None:
    assert guessed_family(pd.Series(values, dtype=float, name="x"))[0] == family


def test_one_column_can_be_told_otherwise(table: pd.DataFrame) -> None:
    x = table.drop(columns="age")
    found = variable_families(["auto", "falls=gaussian"], x)
    assert found.setting == ("smokes=binomial", "visits=poisson", "drinks=binomial")
    assert "'smokes', 'drinks'" in found.lines[0]
    assert variable_families([], x).setting == ()
    assert variable_families(["poisson"], x[["visits", "falls"]]).setting == ("poisson",)


def test_wrong_values_are_told_as_the_command_line_writes_it(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    x = table.drop(columns="age")
    with pytest.raises(InputError, match=r'example --family "visits=gaussian"\.$'):
        variable_families(["visits=binomial"], x)
    # Rows count from one, as in all messages of the command line, with lines of the file.
    x["falls"] = 0.0
    x.loc[3, "falls"] = 0.5
    source = tmp_path / "table.csv"
    x.to_csv(source, index=False)
    with pytest.raises(InputError, match=r"; row 4 \(line 5\) has 0\.5\."):
        variable_families(["falls=poisson"], x, source)
    # Missing cells are refused or dropped elsewhere.
    x.loc[0, "smokes"] = np.nan
    assert variable_families(["smokes=binomial"], x).setting == ("smokes=binomial",)


def test_auto_says_what_it_takes_columns_for(run: Run, table: pd.DataFrame) -> None:
    table.to_csv("people.csv", index=False)
    result = run("fit", "people.csv", "--confounder", "age", "--family", "auto", *QUICK)
    assert result.exit_code == 0, result.output
    assert "2 variables as binary (binomial): 'smokes', 'drinks'" in result.stderr
    found = read_result(Path("people-network"))
    assert found.settings["family"]["visits"] == "poisson"
    summary = Path("people-network/summary.txt").read_text(encoding="utf-8")
    assert "2 binary variables, 2 counts" in " ".join(summary.split())
    assert "coefficient" in pd.read_csv("people-network/edges.csv").columns
    again = run("fit", "--config", "people-network/settings.toml", "--output", "again", *QUICK)
    assert again.exit_code == 0, again.output
    assert np.array_equal(read_result(Path("again")).omega, found.omega)


def test_binary_tables_speak_of_odds(run: Run, table: pd.DataFrame) -> None:
    table[["smokes", "drinks", "age"]].to_csv("people.csv", index=False)
    options = ("--confounder", "age", "--family", "binomial", "--stability", "2")
    result = run("fit", "people.csv", *options, "--criterion", "bic")
    assert "log odds ratio" in " ".join(result.stdout.split())


def test_check_offers_families_and_says_what_auto_would_do(run: Run, table: pd.DataFrame) -> None:
    table.to_csv("people.csv", index=False)
    said = " ".join(run("check", "people.csv").stdout.split())
    assert "--family auto" in said
    said = " ".join(run("check", "people.csv", "--family", "auto").stdout.split())
    assert "2 variables taken as binomial: 'smokes', 'drinks'." in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--family", "gamma"], "allowed are gaussian, binomial, poisson and auto"),
        (["--family", "shoe=poisson"], "'shoe' is not a variable of the network"),
        (["--family", "poisson", "--family", "auto"], "one family for all variables"),
        (["--family", "binomial"], "'height' is to be binomial"),
        (
            ["--family", "auto", "--margins", "rank"],
            "--margins is used with --family gaussian only",
        ),
        (["--family", "auto", "--smoother", "kernel"], "is used with --family gaussian only"),
    ],
)
def test_bad_families_are_one_line(
    run: Run, table: pd.DataFrame, options: list[str], words: str
) -> None:
    table.to_csv("people.csv", index=False)
    result = run("fit", "people.csv", "--confounder", "age", *options, *QUICK)
    assert result.exit_code == 2, result.output
    assert words in result.stderr.splitlines()[-1]
