"""What the user reads when something is wrong: one line, never a traceback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


class InputError(click.ClickException):
    """Something the user can put right; ends the command with status 2."""

    exit_code = 2


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
    """Turn what the library refuses into one message, after the words of ``where``."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise InputError(f"{where}{' '.join(str(error).split())}") from error
