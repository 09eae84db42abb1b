"""Parameter types of options, and options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import click

from plaggm.cli.messages import InputError, UsablePath
from plaggm.cli.option_values import as_rate, as_scan_temporal, as_temporal
from plaggm.wording import shown

Command = TypeVar("Command", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a number is finite and within the range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{shown(value)} is not a finite number.", param, ctx)
        return number


class Checked(click.ParamType):
    """An option whose text is checked by a function that raises ValueError."""

    def __init__(self, name: str, check: Callable[[Any], Any]) -> None:
        self.name = name
        self.check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Apply the function, and report its error message as a usage error."""
        try:
            return self.check(value)
        except ValueError as error:
            self.fail(f"{str(error)[0].upper()}{str(error)[1:]}", param, ctx)


class Count(click.IntRange):
    """A whole number from zero to a largest one."""

    def __init__(self, most: int) -> None:
        super().__init__(0, most)

    def check(self, value: object) -> int:
        """Check a number of a settings file."""
        if not _is_whole(value) or not 0 <= value <= (self.max or 0):
            raise ValueError(f"must be a whole number from zero to {self.max}; got {shown(value)}.")
        return value


class Jobs(click.IntRange):
    """A number of processes; negative numbers count from the number of cores, as in joblib."""

    # Far above any sensible number of processes.
    MOST = 10_000

    def __init__(self) -> None:
        super().__init__(-self.MOST, self.MOST)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a number is within the range and not zero."""
        number = super().convert(value, param, ctx)
        if number == 0:
            raise InputError("--jobs must not be 0; use -1 for all cores.")
        return number

    def check(self, value: object) -> int:
        """Check a number of a settings file."""
        if not _is_whole(value) or value == 0 or abs(value) > self.MOST:
            raise ValueError(
                f"must be a whole number other than zero, at most {self.MOST}; got {shown(value)}."
            )
        return value


def check_value(kind: click.ParamType, value: Any) -> Any:
    """Check a value of a settings file by the rules of the option of the same name.

    Parameters
    ----------
    kind : click.ParamType
    value : object
        Value as TOML has it, so that a number is not text.

    Raises
    ------
    ValueError
        Says what is allowed and what was there.
    """
    if isinstance(kind, Checked | Count | Jobs):
        return kind.check(value)
    if isinstance(kind, click.Choice):
        if value not in kind.choices:
            raise ValueError(f"must be one of {', '.join(kind.choices)}; got {shown(value)}.")
    elif kind is click.BOOL:
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false; got {shown(value)}.")
    elif not isinstance(value, str) or not value:
        raise ValueError(f"must be text; got {shown(value)}.")
    return value


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


# The largest seed that scikit-learn accepts.
SEED = Count(2**32 - 1)
JOBS = Jobs()
EDGES = click.Choice(("fdr", "penalty"))
RATE = Checked("rate", as_rate)
TEMPORAL = Checked("temporal", as_temporal)
SCAN_TEMPORAL = Checked("temporal", as_scan_temporal)

force_option = click.option(
    "--force", is_flag=True, help="Replace what an earlier run wrote to the folder."
)
quiet_option = click.option("--quiet", is_flag=True, help="Print only the last line.")
verbose_option = click.option("--verbose", is_flag=True, help="Print every step with its time.")


def jobs_option(default: int, what: str) -> Callable[[Command], Command]:
    """``--jobs`` of a command that has no settings file; ``what`` runs in parallel, for the help."""
    return click.option(
        "--jobs",
        type=JOBS,
        default=default,
        metavar="N",
        help=f"{what} to run in parallel; -1 for all cores.",
    )


def methods_option(
    words: str, *, choices: tuple[str, ...] = (), default: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """``--methods`` with commas between names, repeated or not; ``--method`` is the same.

    Parameters
    ----------
    words : str
        Help text.
    choices : tuple of str
        Allowed names; if empty, the command checks the names itself.
    default : tuple of str
        Names that are used if the option is left out.
    """

    def flat(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
        names = [part.strip() for value in given for part in value.split(",") if part.strip()]
        if given and not names:
            raise click.BadParameter("Name at least one method.", ctx, param)
        for name in names:
            if choices and name not in choices:
                known = ", ".join(map(repr, choices))
                raise click.BadParameter(f"{name!r} is not one of {known}.", ctx, param)
        return tuple(dict.fromkeys(names))

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
        before, comma, last = begun.rpartition(",")
        return [before + comma + name for name in choices if name.startswith(last)]

    return click.option(
        "--methods",
        "--method",
        "methods",
        metavar="NAMES",
        multiple=True,
        default=default,
        callback=flat,
        shell_complete=complete,
        help=words,
    )


def seed_option(what: str, default: int = 0) -> Callable[[Command], Command]:
    """``--seed`` of a command that has no settings file: seed of ``what``."""
    return click.option("--seed", type=SEED, default=default, help=f"Seed of {what}.")


def output_option(content: str, default: str | None = None) -> Callable[[Command], Command]:
    """``--output``, the folder for ``content``.

    Parameters
    ----------
    content : str
        Content of the folder, for the help.
    default : str, optional
        Name of the folder if the option is left out; without it, the command names it after the table.
    """
    unnamed = "" if default else " [default: named after the table]"
    return click.option(
        "--output",
        type=UsablePath(path_type=Path),
        metavar="FOLDER",
        default=None if default is None else Path(default),
        help=f"Folder for {content}.{unnamed}",
    )
