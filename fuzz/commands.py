"""Cases that run a command in this process."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from fuzz import impossible
from fuzz.case import Case
from fuzz.judge import command_findings


def command_case(
    arguments: Sequence[str],
    what: str = "",
    *,
    draw: bool = False,
    quoted: Sequence[Any] = (),
    check: Callable[[], Iterator[Any]] = lambda: iter(()),
) -> Case:
    """A case that runs ``plaggm`` with some arguments.

    Pictures take ten times as long as all else, so that they are drawn only if ``draw``. ``check`` looks
    at what a command that succeeded has written.
    """

    def call() -> Any:
        from plaggm.cli.group import commands

        os.environ["MPLBACKEND"] = "Agg"
        if draw:
            return CliRunner().invoke(commands, list(arguments))
        with (
            mock.patch("plaggm.cli.folder.draw_figures"),
            mock.patch("plaggm.report.study.study_sections", return_value=[]),
        ):
            return CliRunner().invoke(commands, list(arguments))

    def judged(result: Any) -> Iterator[Any]:
        yield from command_findings(result, (*quoted, *arguments))
        if result.exit_code == 0:
            yield from check()

    line = shlex.join(["plaggm", *(_short(argument) for argument in arguments)])
    return Case(
        f"{line}{f'  # {what}' if what else ''}",
        call,
        judged,
        quoted,
        refused=lambda result: result.exit_code != 0,
    )


def result_check(folder: Path) -> Callable[[], Iterator[Any]]:
    """Judge the result folder, or every result folder below it."""

    def check() -> Iterator[Any]:
        from plaggm import read_result

        for home in sorted({path.parent for path in folder.rglob("result.json")}):
            result = read_result(home)
            yield from impossible.in_result(result)
            yield from impossible.in_edges(result.edges())

    return check


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}...({len(text)})"
