"""Checks of the simulators' arguments, with messages that name argument, value and range."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import numpy as np

from plaggm.arguments import real_array
from plaggm.wording import shown

SeedLike: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
NUMBER = (int, float, np.integer, np.floating)
# Largest number, so that products of two numbers, or of two inverses, stay within the range of floats.
LARGEST = 1e100


def random_streams(seed: SeedLike, count: int) -> list[np.random.Generator]:
    """Independent generators from a seed that a user gave."""
    try:
        return np.random.default_rng(seed).spawn(count)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            "seed must be a whole number of zero or more, a SeedSequence, a Generator or None; got "
            f"{shown(seed)}."
        ) from error


def check_choice(name: str, value: object, allowed: Collection[str]) -> None:
    """Raise unless ``value`` is one of the ``allowed`` words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} must be one of {words}; got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {shown(value)}.")


def check_range(
    name: str,
    value: object,
    low: float,
    high: float = LARGEST,
    *,
    low_open: bool = False,
    high_open: bool = True,
) -> None:
    """Raise unless ``value`` is a number between ``low`` and ``high``."""
    if isinstance(value, NUMBER) and not isinstance(value, bool):
        above = value > low if low_open else value >= low
        below = value < high if high_open else value <= high
        if above and below:
            return
    if high == LARGEST:
        allowed = f"{'above' if low_open else 'at least'} {low:g} and below {high:g}"
    else:
        allowed = f"in {'(' if low_open else '['}{low:g}, {high:g}{')' if high_open else ']'}"
    raise ValueError(f"{name} must be a finite number {allowed}; got {shown(value)}.")


def check_radii(**radii: float) -> None:
    """Raise unless the spectral radii are non-negative and add up to less than one."""
    for name, value in radii.items():
        check_range(name, value, 0.0, 1.0)
    total = sum(radii.values())
    if total >= 1.0:
        terms = " + ".join(f"{name}={value:g}" for name, value in radii.items())
        raise ValueError(
            f"{terms} = {total:g}; their sum must be below 1 so that the precision matrix is "
            "positive definite at every confounder value. Lower one of them."
        )


def check_threshold(threshold: object, n_confounders: int) -> np.ndarray:
    """The thresholds as an array of shape (n_confounders,), all positive and finite."""
    values = real_array(threshold, "threshold")
    if values.ndim > 1 or values.size not in (1, n_confounders):
        raise ValueError(
            f"threshold must be one number or one for each of the {n_confounders} confounders; "
            f"got an array of shape {values.shape}."
        )
    if not np.all((values >= 1.0 / LARGEST) & (values <= LARGEST)):
        raise ValueError(
            f"threshold must be positive and finite, from {1.0 / LARGEST:g} to {LARGEST:g}; got "
            f"{threshold!r}."
        )
    return np.broadcast_to(values.reshape(-1), (n_confounders,)).copy()


def check_confounder(values: object, n_axes: tuple[int, ...]) -> np.ndarray:
    """A confounder given as an array: finite numbers, with a number of axes in ``n_axes``."""
    array = real_array(values, "confounder")
    if array.ndim not in n_axes or array.size == 0:
        axes = " or ".join(str(k) for k in n_axes)
        raise ValueError(
            f"confounder must be a non-empty array with {axes} axes; got shape {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(
            f"confounder must be finite; got {np.count_nonzero(~np.isfinite(array))} NaN or "
            "infinite values. Drop or fill these rows first."
        )
    if np.max(np.abs(array)) > LARGEST:
        raise ValueError(f"confounder must be at most {LARGEST:g} in size; use other units.")
    return array
