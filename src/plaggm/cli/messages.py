"""Error messages of the command line: one line, never a traceback."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from plaggm.read_errors import path_problem
from plaggm.wording import shown


class InputError(click.ClickException):
    """An error in the input that the user can correct; ends the command with status 2."""

    exit_code = 2

    def format_message(self) -> str:
        """The message in one line, whatever names it contains; only a list below it has further lines."""
        return re.sub(r"\s*\n(?!  )", " ", self.message)


class UsablePath(click.Path):
    """A path that is valid in the file system, whether or not it exists."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check a path before it is used."""
        check_path(Path(value))
        return super().convert(value, param, ctx)


def check_path(path: Path) -> None:
    """Raise for an invalid path."""
    if problem := path_problem(path):
        raise InputError(f"Cannot use the path {shown(str(path))} ({problem}).")


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning as one line on stderr, at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"Warning: {message}", err=True)


@contextmanager
def library_errors(where: str = "") -> Iterator[None]:
    """Turn errors of the library into a message that begins with ``where``."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise InputError(f"{where}{' '.join(str(error).split())}") from error
