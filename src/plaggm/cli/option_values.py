"""Values of options from text or from a settings file; a ValueError says what is allowed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from plaggm.wording import shown

if TYPE_CHECKING:
    from plaggm.parameter_types import Temporal

TAUS = ("focused", "reml")


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


def as_temporal(value: object) -> Temporal:
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


def as_scan_temporal(value: object) -> Temporal | None:
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
