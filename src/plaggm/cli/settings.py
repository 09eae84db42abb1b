"""What ``plaggm fit`` was asked to do, from the command line and from a settings file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plaggm.cli.messages import InputError
from plaggm.parameter_uses import unused_parameters
from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words
from plaggm.wording import shown

if TYPE_CHECKING:
    from plaggm.parameter_types import Criterion, EdgeRule, Smoother

HEADER = "# Settings of plaggm fit. To repeat the run: plaggm fit --config settings.toml\n"
SECTION = "fit"
SMOOTHERS = ("spline", "kernel")
CRITERIA = ("cv", "aic", "bic", "ebic", "refit", "stars")
DECLARED_BY = ("fdr", "penalty")
MISSING = ("refuse", "drop", "impute")
TAUS = ("focused", "reml")
# What scikit-learn takes as a seed, and numbers of half-samples and of processes beyond all use.
LARGEST_SEED, MOST_HALVES, MOST_JOBS = 2**32 - 1, 100_000, 10_000
# The same as kinds of options.
SEED, HALVES = click.IntRange(0, LARGEST_SEED), click.IntRange(0, MOST_HALVES)
JOBS = click.IntRange(-MOST_JOBS, MOST_JOBS)


class FiniteRange(click.FloatRange):
    """A range that infinity and NaN are not in."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
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

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give what the function makes of the text, or its words."""
        try:
            return self.check(value)
        except ValueError as error:
            self.fail(f"{str(error)[0].upper()}{str(error)[1:]}", param, ctx)


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of a run; see the options of ``plaggm fit``.

    Attributes
    ----------
    data : str
        Path of the table.
    confounder, columns, exclude : tuple of str
        Names or patterns; no columns means all that are left.
    threshold : "auto" or tuple of float
    tau : str or float or None
        None stands for the smoother's own default.
    edges : "fdr" or "penalty"
        What declares edges.
    fdr : float or None
        False discovery rate of edges that tests declare; None stands for the estimator's default.
    """

    data: str = ""
    sheet: str | None = None
    confounder: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    group_by: str | None = None
    threshold: str | tuple[float, ...] = "auto"
    smoother: Smoother = "spline"
    tau: str | float | None = None
    criterion: Criterion = "cv"
    edges: EdgeRule = "fdr"
    fdr: float | None = None
    missing: str = "refuse"
    stability: int = 20
    seed: int = 0
    jobs: int | None = None
    truth: str | None = None

    @property
    def cores(self) -> int:
        """Number of cores to use, -1 for all: what the estimators call ``n_jobs``."""
        return -1 if self.jobs is None else self.jobs

    def to_toml(self, run: Mapping[str, Any]) -> str:
        """The settings file, with what is known about the run in a section of its own."""
        import tomli_w

        used = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value is not None and value != ()
        }
        return HEADER + tomli_w.dumps({SECTION: used, "run": dict(run)})


def read_settings(path: Path) -> tuple[FitSettings, dict[str, Any]]:
    """Read a settings file.

    Paths in it are relative to its own folder.

    Parameters
    ----------
    path : Path

    Returns
    -------
    settings : FitSettings
    run : dict
        The section about the run that wrote the file; empty without one.
    """
    try:
        if problem := path_problem(path):
            raise UnreadableFile(problem)
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file {path}.") from None
    except tomllib.TOMLDecodeError as error:
        # Its words are about TOML, with line and column.
        raise InputError(f"{path} is no settings file in TOML ({error}).") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"Cannot read the settings {path} ({reason_in_words(error)}).") from error
    section = content.get(SECTION)
    if not isinstance(section, dict):
        raise InputError(
            f"{path} has no section [{SECTION}], so it holds no settings of plaggm fit."
        )
    known = {item.name for item in fields(FitSettings)}
    values: dict[str, Any] = {}
    for key, value in section.items():
        name = key.replace("-", "_")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{path} has an unknown setting {key!r}.{hint}")
        try:
            values[name] = _CHECKS[name](value)
        except ValueError as error:
            raise InputError(f"{path}: {key} {error}") from error
    for name in ("data", "truth"):
        if values.get(name):
            values[name] = str(path.parent / values[name])
    run = content.get("run")
    return FitSettings(**values), run if isinstance(run, dict) else {}


def with_options(settings: FitSettings, options: Mapping[str, Any]) -> FitSettings:
    """Settings with the options that were given on the command line in their place."""
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    return replace(settings, **given)


def refuse_unused(settings: FitSettings) -> None:
    """Raise for options that the others leave without use."""
    for unused in unused_parameters(asdict(settings), asdict(FitSettings())):
        owner, value = unused.needs[0]
        raise InputError(
            f"--{unused.name} is used with --{owner} {value} only, and --{owner} is "
            f"{getattr(settings, owner)}. Leave one of them out."
        )


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


def as_tau(value: Any) -> str | float:
    """``"focused"``, ``"reml"`` or a positive number.

    Examples
    --------
    >>> as_tau("reml"), as_tau("0.5")
    ('reml', 0.5)
    """
    if value in TAUS:
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not (math.isfinite(number) and number > 0.0):
        raise ValueError(
            f"must be one of {', '.join(TAUS)} or a positive number; got {shown(value)}."
        )
    return number


def as_rate(value: Any) -> float:
    """A number between zero and one.

    Examples
    --------
    >>> as_rate("0.1")
    0.1
    """
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 < number < 1.0:
        raise ValueError(f"must be a number between zero and one; got {shown(value)}.")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be text; got {shown(value)}.")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ValueError(f"must be a list of names; got {shown(value)}.")
    return tuple(values)


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}; got {shown(value)}.")
        return str(value)

    return check


def _count(most: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"must be a whole number from zero to {most}; got {shown(value)}.")
        return value

    return check


def _jobs(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value == 0 or abs(value) > MOST_JOBS:
        raise ValueError(
            f"must be a whole number other than zero, at most {MOST_JOBS}; got {shown(value)}."
        )
    return value


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "data": _text,
    "sheet": _text,
    "confounder": _texts,
    "columns": _texts,
    "exclude": _texts,
    "group_by": _text,
    "threshold": as_threshold,
    "smoother": _one_of(*SMOOTHERS),
    "tau": as_tau,
    "criterion": _one_of(*CRITERIA),
    "edges": _one_of(*DECLARED_BY),
    "fdr": as_rate,
    "missing": _one_of(*MISSING),
    "stability": _count(MOST_HALVES),
    "seed": _count(LARGEST_SEED),
    "jobs": _jobs,
    "truth": _text,
}
