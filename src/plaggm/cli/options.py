"""Parameter types of options, and options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

import click

from plaggm.cli.messages import InputError, UsablePath
from plaggm.wording import shown

Command = TypeVar("Command", bound=Callable[..., Any])
TAUS = ("focused", "reml")


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

    # A number of processes beyond all use.
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


def as_threshold(value: Any) -> str | tuple[float, ...]:
    """``"auto"``, or numbers: from a number, a list, or text with commas.

    Examples
    --------
    >>> as_threshold("auto"), as_threshold("0.5, 2"), as_threshold(3)
    ('auto', (0.5, 2.0), (3.0,))
    """
    parts = value.split(",") if isinstance(value, str) else value
    parts = parts if isinstance(parts, list | tuple) else [parts]
    if [str(part).strip() for part in parts] == ["auto"]:
        return "auto"
    try:
        if any(isinstance(part, bool) for part in parts):
            raise ValueError
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"must be 'auto' or one number for each confounder; got {shown(value)}."
        ) from None
    if not numbers or not all(math.isfinite(number) and number >= 0.0 for number in numbers):
        raise ValueError(f"must hold finite numbers of zero or more; got {shown(value)}.")
    return numbers


def as_numbers(given: str | tuple[float, ...]) -> Any:
    """A word, a number or a list of numbers, as estimators take a setting that may have one or several.

    Examples
    --------
    >>> as_numbers("auto"), as_numbers((0.5,)), as_numbers((0.5, 2.0))
    ('auto', 0.5, [0.5, 2.0])
    """
    if isinstance(given, str):
        return given
    return given[0] if len(given) == 1 else list(given)


def as_bandwidth(value: Any) -> str | tuple[float, ...]:
    """``"auto"``, ``"cv"``, or positive numbers: from a number, a list, or text with commas.

    Examples
    --------
    >>> as_bandwidth("cv"), as_bandwidth("0.5, 2")
    ('cv', (0.5, 2.0))
    """
    if value in ("auto", "cv"):
        return str(value)
    try:
        numbers = as_threshold(value)
    except ValueError:
        numbers = ()
    if isinstance(numbers, str) or not numbers or min(numbers) <= 0.0:
        raise ValueError(
            f"must be 'auto', 'cv' or one positive number for each confounder; got {shown(value)}."
        )
    return numbers


def as_ridge(value: object) -> float:
    """A number of zero or more.

    Examples
    --------
    >>> as_ridge("1e-3")
    0.001
    """
    number = _number(value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ValueError(f"must be a finite number of zero or more; got {shown(value)}.")
    return number


def as_tau(value: object) -> str | float:
    """``"focused"``, ``"reml"`` or a positive number.

    Examples
    --------
    >>> as_tau("reml"), as_tau("0.5")
    ('reml', 0.5)
    """
    if value in TAUS:
        return str(value)
    number = _number(value)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(
            f"must be one of {', '.join(TAUS)} or a positive number; got {shown(value)}."
        )
    return number


def as_temporal(value: object) -> str | int:
    """``"ar"``, or a whole number of zero or more.

    Examples
    --------
    >>> as_temporal("ar"), as_temporal("2")
    ('ar', 2)
    """
    if value == "ar":
        return "ar"
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(
            f"must be 'ar' or the order of the filter, a whole number; got {shown(value)}."
        )
    return int(text)


def as_scan_temporal(value: object) -> str | int | None:
    """``"ar"``, a whole number of zero or more, or None from ``"none"``.

    Examples
    --------
    >>> as_scan_temporal("ar"), as_scan_temporal("2"), as_scan_temporal("none")
    ('ar', 2, None)
    """
    if value == "none":
        return None
    try:
        return as_temporal(value)
    except ValueError:
        raise ValueError(
            f"must be 'ar', 'none' or the order of the filter, a whole number; got {shown(value)}."
        ) from None


def as_rate(value: object) -> float:
    """A number between zero and one.

    Examples
    --------
    >>> as_rate("0.1")
    0.1
    """
    number = _number(value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"must be a number between zero and one; got {shown(value)}.")
    return number


def _number(value: object) -> float:
    """A value as a number, NaN if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


# The largest that scikit-learn takes as a seed.
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
    """``--jobs`` of a command that has no settings file: ``what`` runs side by side."""
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
        Help.
    choices : tuple of str
        Names that there are; where it is empty, the command judges them.
    default : tuple of str
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


def seed_option(what: str) -> Callable[[Command], Command]:
    """``--seed`` of a command that has no settings file: seed of ``what``."""
    return click.option("--seed", type=SEED, default=0, help=f"Seed of {what}.")


def output_option(default: str, content: str) -> Callable[[Command], Command]:
    """``--output`` of a command whose folder has a fixed name: folder for ``content``."""
    return click.option(
        "--output",
        type=UsablePath(path_type=Path),
        metavar="FOLDER",
        default=Path(default),
        help=f"Folder for {content}.",
    )
