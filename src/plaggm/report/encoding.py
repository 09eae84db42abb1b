"""Compact and safe encoding of arrays for the page."""

from __future__ import annotations

import base64
import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaggm.array_types import Array

Numbers: TypeAlias = NDArray[Any]
# Strengths are 16-bit integers from -LARGEST to LARGEST; MISSING stands for "not a number".
LARGEST = 32767
MISSING = -32768


def upper_triangle(matrices: Array) -> Array:
    """Entries above the diagonal, row after row: shape (..., p, p) to (..., p (p - 1) / 2).

    Examples
    --------
    >>> upper_triangle(np.arange(9.0).reshape(3, 3))
    array([1., 2., 5.])
    """
    rows, columns = np.triu_indices(matrices.shape[-1], 1)
    return matrices[..., rows, columns]


def packed_integers(values: Numbers) -> dict[str, Any]:
    """Non-negative integers in the narrowest type that holds them all."""
    wide = values.max(initial=0) > np.iinfo(np.uint16).max
    return _packed(values.astype("<u4" if wide else "<u2"))


def packed_floats(values: Numbers) -> dict[str, Any]:
    """Numbers with seven digits."""
    return _packed(values.astype("<f4"))


def packed_strengths(values: Numbers) -> dict[str, Any]:
    """Numbers as multiples of 1/32767 of the largest, in half the space of :func:`packed_floats`.

    Numbers other than zero stay different from zero, so that no edge is lost.

    Examples
    --------
    >>> packed = packed_strengths(np.array([0.5, 1e-9, 0.0, np.nan]))
    >>> np.frombuffer(base64.b64decode(packed["data"]), dtype="<i2")
    array([ 32767,      1,      0, -32768], dtype=int16)
    """
    finite = np.where(np.isfinite(values), values, 0.0)
    unit = float(np.abs(finite).max(initial=0.0)) / LARGEST or 1.0
    steps = np.rint(finite / unit)
    steps = np.where((steps == 0.0) & (finite != 0.0), np.sign(finite), steps)
    steps = np.where(np.isfinite(values), steps, MISSING)
    return {**_packed(steps.astype("<i2")), "unit": unit}


def _packed(values: Numbers) -> dict[str, Any]:
    text = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
    return {"type": values.dtype.str[1:], "data": text}


def plain_numbers(values: Numbers) -> list[float | None]:
    """A list for JSON, which has no infinity: numbers that are not finite become None."""
    return [float(value) if math.isfinite(value) else None for value in values]
