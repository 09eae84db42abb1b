"""Values that nobody expects, for parameters, cells and bytes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

NUMBERS = (
    *(float("nan"), float("inf"), float("-inf"), -1, -1.0, 0, 0.0, -0.0, 1, 2, 3, 0.5, 1.5, 1e308),
    *(-1e308, 1e-320, 1e-12, 1e12, 10**400, -(10**400), 2**63, 2**31),
)
TEXTS = (
    *("", " ", "auto", "x", "nan", "1", "0.5", "cv", "None", "\x00", "ü€😀", "x" * 3000, "a\nb"),
    *("$x$", "<b>", "{0}", "%s", "../x", "-1"),
)


class Stranger:
    """An object of a class that the library has never seen."""

    def __repr__(self) -> str:
        return "Stranger()"


def _odd_function(*_: Any) -> Any:
    return None


OTHERS: tuple[Any, ...] = (
    *(None, True, False, b"1", 1j, (), [], {}, {"a": 1}, {1.0}, range(3), Stranger()),
    *([float("nan")], [1.0, 2.0], [2.0, 1.0], [[1.0]], (0.5,), ["a"], [None], [0], [-1.0]),
    *([1e308], np.float32(0.5), np.int8(3), np.array(2.0), np.array([])),
    *(np.array([0.1, 0.2, 0.3]), np.array(["a"]), np.array([[1.0, 2.0]]), np.array([True])),
    *(np.array([None]), pd.NA, pd.NaT, Decimal("0.5"), Fraction(1, 3), datetime.date(2020, 1, 1)),
    *(_odd_function, pd.Series([0.1, 0.2]), pd.DataFrame({"a": [1.0]}), np.ma.masked, slice(None)),
    *(Ellipsis,),
)


def choice(rng: np.random.Generator, options: Any) -> Any:
    """One of the options, as it is."""
    return options[int(rng.integers(len(options)))]


def odd_value(rng: np.random.Generator) -> Any:
    """A number, a text or something else."""
    return choice(rng, choice(rng, (NUMBERS, NUMBERS, TEXTS, OTHERS)))


def named(value: Any) -> str:
    """A value for the line that describes a case."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} letters)"


def mutated(data: bytes, rng: np.random.Generator, times: int = 1) -> bytes:
    """Bytes with some of them changed, removed, repeated or inserted."""
    for _ in range(times):
        if not data:
            return bytes(rng.integers(0, 256, 20, dtype=np.uint8))
        at = int(rng.integers(len(data)))
        length = int(rng.integers(1, max(2, min(64, len(data) // 4))))
        data = choice(
            rng,
            (
                lambda d=data, a=at: d[:a],
                lambda d=data, a=at: d[a:],
                lambda d=data, a=at, n=length: d[:a] + d[a + n :],
                lambda d=data, a=at, n=length: d[:a] + d[a : a + n] * 3 + d[a + n :],
                lambda d=data, a=at: d[:a] + bytes([int(rng.integers(256))]) + d[a + 1 :],
                lambda d=data, a=at: (
                    d[:a] + bytes([d[a] ^ (1 << int(rng.integers(8)))]) + d[a + 1 :]
                ),
                lambda d=data, a=at, n=length: (
                    d[:a] + rng.integers(0, 256, n, dtype=np.uint8).tobytes() + d[a:]
                ),
                lambda d=data, a=at, n=length: d[:a] + bytes(n) + d[a + n :],
                lambda d=data, a=at, n=length: d[:a] + b"\xff" * n + d[a + n :],
            ),
        )()
    return data
