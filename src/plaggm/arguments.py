"""Checks of single arguments, with messages that name the argument, its value and what is allowed."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from plaggm.array_types import Array
from plaggm.wording import shown


def real_array(value: object, name: str) -> Array:
    """Convert a value to an array of floats.

    Parameters
    ----------
    value : array_like
        Numbers or Booleans. Text, dates, complex numbers, ragged lists and whole numbers beyond the range
        of floats are refused.
    name : str
        Name of the argument, for the message.

    Returns
    -------
    ndarray
        NaN where an entry is missing.

    Examples
    --------
    >>> real_array([1, True], "threshold")
    array([1., 1.])
    >>> real_array([1, "two"], "threshold")
    Traceback (most recent call last):
    ...
    ValueError: threshold must hold real numbers; got [1, 'two'].
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "cMmSUV":
            return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} must hold real numbers; got {shown(value)}.")


def check_count(name: str, value: object, smallest: int) -> None:
    """Raise unless ``value`` is a whole number of at least ``smallest``.

    Examples
    --------
    >>> check_count("resamples", 2.5, 0)
    Traceback (most recent call last):
    ...
    ValueError: resamples must be a whole number of at least 0; got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < smallest:
        raise ValueError(
            f"{name} must be a whole number of at least {smallest}; got {shown(value)}."
        )


def check_jobs(value: object) -> None:
    """Raise unless ``value`` is None or a whole number other than zero.

    Examples
    --------
    >>> check_jobs(0)
    Traceback (most recent call last):
    ...
    ValueError: n_jobs must be a whole number other than zero (-1 for all cores) or None; got 0.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value == 0:
        raise ValueError(
            "n_jobs must be a whole number other than zero (-1 for all cores) or None; got "
            f"{shown(value)}."
        )
