"""One option for methods in all commands: --methods or --method, with commas or repeated."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from plaggm.cli.compare import compare
from plaggm.cli.options import methods_option
from plaggm.cli.reproduce import recovery
from plaggm.cli.study import study


@click.command()
@methods_option("Methods.", choices=("pla", "lr", "raw"), default=("pla", "lr"))
def told(methods: tuple[str, ...]) -> None:
    click.echo(" ".join(methods))


@pytest.mark.parametrize(
    ("given", "methods"),
    [
        ([], "pla lr"),
        (["--methods", "raw,pla"], "raw pla"),
        (["--method", "raw", "--method", "pla"], "raw pla"),
        (["--method", "raw, pla,", "--methods", "lr,raw"], "raw pla lr"),
    ],
)
def test_both_spellings(given: list[str], methods: str) -> None:
    assert CliRunner().invoke(told, given).output.strip() == methods


@pytest.mark.parametrize(
    ("given", "said"),
    [("raw,magic", "'magic' is not one of 'pla', 'lr', 'raw'."), (",", "Name at least one method")],
)
def test_names_that_are_none(given: str, said: str) -> None:
    result = CliRunner().invoke(told, ["--methods", given])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("command", [compare, recovery, study])
def test_commands_have_it(command: click.Command) -> None:
    (option,) = [one for one in command.params if one.name == "methods"]
    assert option.opts == ["--methods", "--method"]


def test_completion_goes_on_after_a_comma() -> None:
    (option,) = told.params
    found = option.shell_complete(click.Context(told), "raw,p")
    assert [item.value for item in found] == ["raw,pla"]
