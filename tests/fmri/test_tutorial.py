"""docs/brain-tutorial.md: its commands and its Python run on a small study, and its options are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm.cli.group import commands

PAGE = Path(__file__).parents[2] / "docs" / "brain-tutorial.md"
REGIONS, PER_GROUP = 6, 3
# What the tutorial leaves at its defaults, for a study that ends in seconds.
BRIEF = ("--permutations", "20", "--repeats", "0", "--jobs", "1", "--method", "pla")


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def blocks() -> list[str]:
    """Commands that stand on a line of their own."""
    return re.findall(r"^    (plaggm .+)$", page(), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(write, tmp_path_factory) -> Path:
    """The files that the tutorial names."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "scans").mkdir()
    rng = np.random.default_rng(0)
    atlas = write.atlas(REGIONS)
    atlas.to_filename(folder / "atlas.nii.gz")
    rows = []
    for k in range(2 * PER_GROUP):
        name, group = f"sub-{k + 1:02d}", ("control", "patient")[k % 2]
        parameters = write.motion(rng, 50)
        series = write.regions(rng, parameters, REGIONS, k % 2)
        image, confounds = f"scans/{name}_bold.nii.gz", f"scans/{name}_confounds.tsv"
        write.scan(series, atlas, rng).to_filename(folder / image)
        write.confounds(parameters).to_csv(folder / confounds, sep="\t", index=False)
        rows.append((name, group, image, confounds, 30 + k))
    columns = ["subject", "diagnosis", "image", "confounds", "age"]
    assert f"| {' | '.join(columns)} |" in page()
    table = pd.DataFrame(rows, columns=columns)
    table.to_csv(folder / "participants.tsv", sep="\t", index=False)
    return folder


def test_commands_and_python(folder, monkeypatch):
    """Check, run, report and read, in the tutorial's order."""
    monkeypatch.chdir(folder)
    runner = CliRunner()
    for line in blocks():
        if "COBRE_FOLDER" in line:
            continue
        arguments = shlex.split(line)[1:]
        brief = BRIEF if arguments[0] == "study" else ()
        done = runner.invoke(commands, [*arguments, *brief])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    # Every file that the tutorial lists.
    files = re.findall(r"^\| (`.+?) \|", page().partition("## 6.")[2], flags=re.MULTILINE)
    names = [name for cell in files for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) > 8
    for name in names:
        pattern = name.replace("<method>", "pla").replace("<group>", "patient").rstrip("/")
        if pattern != "diagnosis.csv":
            assert (folder / "results" / pattern).exists(), name
    known: dict[str, object] = {}
    with joblib.parallel_config("threading"):
        for code in re.findall(r"```python\n(.+?)```", page(), flags=re.DOTALL):
            quick = code.replace('atlas="atlas.nii.gz"', 'atlas="atlas.nii.gz", repeats=0')
            exec(compile(quick, str(PAGE), "exec"), known)
    matrix = known["matrix"]
    assert isinstance(matrix, pd.DataFrame)
    assert matrix.shape == (REGIONS, REGIONS)


def test_options_are_there():
    """Options that the tutorial mentions are options of the command, and so are those in its sentences."""
    with click.Context(commands) as context:
        study = commands.get_command(context, "study")
        assert study is not None
        there = {name for one in study.params for name in (*one.opts, *one.secondary_opts)}
    own = page().partition("## The paper's experiments")[0]
    mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", own)) - {"--fd-thresh"}
    assert mentioned <= there, mentioned - there
