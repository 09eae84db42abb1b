"""``plaggm fit`` with ages, sites and codes as confounders, and what its pages say of them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm.cli.fit import fit

FEW = ["--criterion", "bic", "--jobs", "1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    n = 150
    age = draw.uniform(18.0, 80.0, n)
    frame = pd.DataFrame(draw.standard_normal((n, 4)) + 0.03 * age[:, None], columns=list("wxyz"))
    frame["age"] = age
    frame["site"] = draw.choice(["Lund", "Oslo", "Turku"], n)
    frame["batch"] = draw.integers(1, 4, n)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def run(table: Path, *options: str) -> Any:
    place = table.parent / "out"
    return CliRunner().invoke(fit, [str(table), *options, *FEW, "--force", "--output", str(place)])


def test_text_and_numbers_are_told_apart_and_explained(table: Path) -> None:
    done = run(table, "--confounder", "age", "--confounder", "site", "--stability", "2")
    assert done.exit_code == 0, done.output
    place = table.parent / "out"
    result = json.loads((place / "result.json").read_text())
    assert result["references"] == {"age": "average", "site": "average"}
    assert result["levels"] == {"site": ["Lund", "Oslo", "Turku"]}
    assert "n_unconfounded" not in result["diagnostics"]
    words = " ".join((place / "summary.txt").read_text().split())
    assert "The network is the average over age and site" in words
    assert "the values of age do not look like an amount such as motion" in words
    assert "site is a factor" in words
    assert "confounded" not in words
    page = (place / "report.html").read_text()
    assert "The network adjusted for" in page
    assert "The network without" not in page.split("<body")[0]
    nuisance = pd.read_csv(place / "nuisance.csv")
    assert set(nuisance.loc[nuisance["confounder"] == "site", "value"]) == {"Lund", "Oslo", "Turku"}
    kept = tomllib.loads((place / "settings.toml").read_text())["fit"]
    assert kept["categorical"] == ["site"]


def test_a_value_a_level_and_a_declared_factor(table: Path) -> None:
    named = ["--confounder", "age", "--confounder", "batch", "--categorical", "batch"]
    asked = ["--reference", "age=40", "--reference", "batch=2"]
    done = run(table, *named, *asked, "--stability", "0")
    assert done.exit_code == 0, done.output
    place = table.parent / "out"
    result = json.loads((place / "result.json").read_text())
    assert result["references"] == {"age": 40.0, "batch": "2"}
    assert result["levels"] == {"batch": ["1", "2", "3"]}
    words = " ".join((place / "summary.txt").read_text().split())
    assert "The network is that at age = 40." in words
    assert "The network is that at level 2 of batch" in words
    # The settings repeat the run.
    again = CliRunner().invoke(
        fit, ["--config", str(place / "settings.toml"), "--output", str(table.parent / "again")]
    )
    assert again.exit_code == 0, again.output
    first, second = (
        pd.read_csv(folder / "pairs.csv") for folder in (place, table.parent / "again")
    )
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--confounder", "age", "--reference", "age=old"], "allowed are auto, zero, average and"),
        (["--confounder", "age", "--reference", "agee=40"], "'agee' is not a confounder"),
        (["--confounder", "age", "--reference", "400"], "lie between"),
        (["--confounder", "age", "--categorical", "site"], "'site', which is not a confounder"),
        (["--confounder", "site", "--reference", "site=Rome"], "none of its levels: 'Lund'"),
        (["--confounder", "site", "--threshold", "2"], "factors, which have no threshold"),
        (["--confounder", "site", "--smoother", "kernel"], "(a factor)"),
        (["--confounder", "age", "--reference", "average", "--threshold", "3"], "is not used"),
        (
            ["--confounder", "age", "--reference", "40", "--reference", "site=Lund"],
            "each is NAME=REFERENCE",
        ),
    ],
)
def test_what_cannot_be_is_one_line(table: Path, options: list[str], words: str) -> None:
    done = run(table, *options, "--stability", "0")
    assert done.exit_code == 2
    line = done.output.strip().splitlines()[-1]
    assert line.startswith("Error: ")
    assert words in line
    assert not (table.parent / "out").exists()
