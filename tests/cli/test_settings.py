"""Settings of the command line: options, settings files and attributes come from one declaration."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from plaggm.cli.compare import compare
from plaggm.cli.fit import fit
from plaggm.cli.group import commands
from plaggm.cli.messages import InputError
from plaggm.cli.setting_options import with_options
from plaggm.cli.settings import FitSettings
from plaggm.cli.settings_file import read_settings

# A value of each setting that is not its default, as the command line and as TOML write it.
VALUES: dict[str, tuple[list[str], str]] = {
    "confounder": (["a", "b"], '["a", "b"]'),
    "columns": (["x*"], '"x*"'),
    "exclude": (["y"], '["y"]'),
    "group_by": (["site"], '"site"'),
    "threshold": (["0.5,2"], "[0.5, 2]"),
    "reference": (["age=40", "site=a"], '["age=40", "site=a"]'),
    "categorical": (["site", "sex"], '["site", "sex"]'),
    "smoother": (["kernel"], '"kernel"'),
    "tau": (["0.25"], "0.25"),
    "indicator": (["soft"], '"soft"'),
    "form": (["lemma"], '"lemma"'),
    "kernel": (["uniform"], '"uniform"'),
    "bandwidth": (["0.5,2"], "[0.5, 2]"),
    "ridge": (["0.25"], "0.25"),
    "combine": (["norm"], '"norm"'),
    "variance": (["unit"], '"unit"'),
    "standardize": (["no"], '"no"'),
    "edges": (["penalty"], '"penalty"'),
    "fdr": (["0.2"], "0.2"),
    "criterion": (["ebic"], '"ebic"'),
    "one_se": ([], "true"),
    "temporal": (["2"], "2"),
    "robust": (["winsor"], '"winsor"'),
    "margins": (["rank"], '"rank"'),
    "family": (["binomial"], '["binomial"]'),
    "run": (["session"], '"session"'),
    "time": (["seconds"], '"seconds"'),
    "na": (["-999", "?"], '["-999", "?"]'),
    "missing": (["drop"], '"drop"'),
    "stability": (["3"], "3"),
    "sheet": (["second"], '"second"'),
    "node_groups": (["traits.csv"], '"traits.csv"'),
    "truth": (["truth.json"], '"truth.json"'),
    "seed": (["7"], "7"),
    "jobs": (["-2"], "-2"),
}


def options(command: click.Command, arguments: list[str]) -> dict[str, Any]:
    return command.make_context("plaggm", arguments, resilient_parsing=False).params


def test_every_setting_is_here() -> None:
    assert set(VALUES) == {item.name for item in fields(FitSettings)} - {"data"}


@pytest.mark.parametrize("name", VALUES)
def test_option_and_settings_file_mean_the_same(name: str, tmp_path: Path) -> None:
    words, toml = VALUES[name]
    flag = f"--{name.replace('_', '-')}"
    parts = [part for word in words for part in (flag, word)] if words else [flag]
    given = options(fit, ["table.csv", *parts])
    known = {key: given[key] for key in VALUES}
    by_option = with_options(FitSettings(), known)
    file = tmp_path / "settings.toml"
    file.write_text(f"[fit]\n{name} = {toml}\n")
    by_file, _ = read_settings(file)
    expected = getattr(by_option, name)
    if name in ("truth", "node_groups"):
        expected = str(tmp_path / expected)
    assert getattr(by_file, name) == expected != getattr(FitSettings(), name)


@pytest.mark.parametrize("name", ["smoother", "edges", "criterion", "missing", "stability", "seed"])
def test_both_refuse_the_same(name: str, tmp_path: Path) -> None:
    wrong = "-1" if name in ("stability", "seed") else "wrong"
    with pytest.raises(click.BadParameter):
        options(fit, ["table.csv", f"--{name}", wrong])
    file = tmp_path / "settings.toml"
    file.write_text(f"[fit]\n{name} = {wrong if wrong == '-1' else repr(wrong)}\n")
    with pytest.raises(InputError, match=f"{name} must be"):
        read_settings(file)


def test_commands_share_their_options() -> None:
    of_fit, of_compare = ({one.name: one for one in each.params} for each in (fit, compare))
    for name in ("columns", "exclude", "threshold", "edges", "fdr", "missing", "sheet", "seed"):
        ours, theirs = of_fit[name], of_compare[name]
        assert isinstance(ours, click.Option)
        assert isinstance(theirs, click.Option)
        assert (ours.help, ours.type) == (theirs.help, theirs.type)


def test_help_says_the_defaults_once() -> None:
    text = " ".join(CliRunner().invoke(commands, ["fit", "--help"]).output.split())
    for words in ("[default: spline]", "[default: 20]", "[default: 0]", "[default: -1, all]"):
        assert text.count(words) == 1, words


@pytest.mark.parametrize(
    "command", ["demo", "reproduce recovery", "study x --group g --confounder fd"]
)
def test_options_of_several_commands_refuse_alike(command: str) -> None:
    flag = "--seed" if command == "demo" else "--jobs"
    value = str(2**32) if command == "demo" else "10001"
    result = CliRunner().invoke(commands, [*command.split(), flag, value])
    assert result.exit_code == 2
    assert "is not in the range" in result.output
