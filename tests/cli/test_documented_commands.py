"""Every command that the documentation shows: it runs on a small table, or at least its options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm.cli.group import commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if page.exists() and not {"generated", "auto_examples"} & set(page.parts)
)
# Tests of these commands are elsewhere: they take minutes, scans or a cluster.
TOO_LONG = {"demo", "study", "reproduce", "completion", "plan"}
# Leaves out what takes time and is tested elsewhere.
QUICKLY = {
    "fit": ["--criterion", "bic", "--stability", "0", "--quiet"],
    "compare": ["--methods", "spline,lr-ggm", "--resamples", "2", "--quiet"],
    "simulate": ["--quiet"],
}
BLOCK = re.compile(r"^```(?:console|text|sh)?\n(.*?)^```|((?:^    [^\n]*\n)+)", re.M | re.S)


class Shown(NamedTuple):
    """A command and the page that shows it."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


def in_blocks(page: Path) -> list[Shown]:
    """Commands that stand on lines of their own, in the order of the page."""
    found = []
    for fenced, indented in BLOCK.findall(page.read_text(encoding="utf-8")):
        block = re.sub(r"\\\n\s*", " ", fenced or indented)
        for line in block.splitlines():
            text = line.strip().removeprefix("$ ")
            if text.startswith("plaggm "):
                words = tuple(shlex.split(text, comments=True)[1:])
                found.append(Shown(str(page.relative_to(ROOT)), words))
    return found


def in_lines(page: Path) -> list[Shown]:
    """Commands within a sentence."""
    found = re.findall(r"`(plaggm [a-z][^`]*)`", page.read_text(encoding="utf-8"))
    return [
        Shown(str(page.relative_to(ROOT)), tuple(shlex.split(" ".join(text.split()))[1:]))
        for text in found
    ]


def of_help() -> list[Shown]:
    """Examples that ``--help`` shows."""
    context = click.Context(commands)
    found = []
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None
        text = re.sub(r"Examples?:  |;  ", "\n  ", command.epilog or "")
        lines = [line.strip() for line in text.splitlines()]
        shown = [line for line in lines if line.startswith("plaggm ") and "|" not in line]
        found += [Shown(f"plaggm {name} --help", tuple(shlex.split(line)[1:])) for line in shown]
    return found


SHOWN = [command for page in PAGES for command in in_blocks(page)] + of_help()
# The same words on two pages are one command; a page's commands stay in their order.
# Folders in "results" are those of a study.
RUN = list(
    {
        command.words: command
        for command in SHOWN
        if command.words[0] not in TOO_LONG and "results/" not in str(command)
    }.values()
)
READ = SHOWN + [command for page in PAGES for command in in_lines(page)]


def target_of(words: tuple[str, ...]) -> tuple[click.Command, list[str]]:
    """The command that words lead to, and the words that are left for it."""
    command: click.Command = commands
    rest = list(words)
    while rest and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None, f"there is no command {' '.join(words)}"
        command = found
    return command, rest


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small tables of all names and columns that the pages use."""
    folder = tmp_path_factory.mktemp("documented")
    rng = np.random.default_rng(0)
    n = 120
    x = rng.standard_normal((n, 4))
    x[:, 1] += x[:, 0]
    along = {
        "volatility": rng.gamma(1.0, size=n),
        "fd": rng.gamma(1.0, size=n),
        "motion": rng.gamma(1.0, size=n),
        "g": rng.gamma(1.0, size=n),
        "age": rng.uniform(20.0, 80.0, n),
        "gender": rng.choice(["f", "m"], n),
        "site": rng.choice(["A", "B"], n),
        "batch": rng.integers(1, 4, n),
        "day": np.arange(n),
        "diagnosis": np.tile(["control", "patient"], n // 2),
        "subject": np.tile(["s1", "s2"], n // 2),
    }

    def write(name: str, *columns: str, variables: str = "v{}") -> None:
        table = pd.DataFrame(x, columns=[variables.format(k) for k in range(1, 5)])
        table = table.assign(**{column: along[column] for column in columns})
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".parquet":
            table.to_parquet(path)
        else:
            table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")

    write("prices.csv", "volatility", "day")
    write("items.csv", "age", "gender")
    write("genes.csv", "batch")
    write("scans.csv", "fd", "site")
    write("table.csv", "g", "fd", "diagnosis")
    write("all.parquet", "fd", "subject")
    write("example/data.csv", "motion")
    along["motion_1"], along["motion_2"] = along["motion"], along["fd"]
    along["volume"], along["session"] = np.tile(np.arange(60), 2), np.repeat(["a", "b"], 60)
    write("scan.tsv", "fd", "motion_1", "motion_2", "volume", "session", variables="roi_{}")
    places = pd.DataFrame(rng.uniform(-50, 50, (4, 3)), columns=["x", "y", "z"])
    places.insert(0, "name", [f"roi_{k}" for k in range(1, 5)])
    places.to_csv(folder / "regions.csv", index=False)
    return folder


def test_pages_show_commands() -> None:
    if not (ROOT / "docs").exists():
        pytest.skip("the documentation is not part of this copy")
    assert len(RUN) > 20
    assert {command.words[0] for command in READ} >= set(
        commands.list_commands(click.Context(commands))
    )


@pytest.mark.parametrize("command", READ, ids=str)
def test_options_exist(command: Shown) -> None:
    target, rest = target_of(command.words)
    known = {
        option
        for parameter in target.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help", "-h"}
    given = [word.split("=")[0] for word in rest if word.startswith("--")]
    assert not set(given) - known, command.page


def test_commands_run(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)
    for command in RUN:
        words = list(command.words)
        extra = QUICKLY.get(words[0], [])
        own = ["--force"] if words[0] in ("fit", "compare", "simulate") else []
        if "--paper" in words:
            # Settings of its own, which the next command that reads prices-network is not to find there.
            extra = ["--stability", "0", "--quiet", "--output", "paper"]
        outcome = CliRunner().invoke(commands, [*words, *extra, *own], catch_exceptions=False)
        assert outcome.exit_code == 0, f"{command.page}: {command}\n{outcome.output}"
