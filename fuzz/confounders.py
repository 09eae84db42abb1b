"""Confounders in memory, from sound to absurd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import CELLS, POWERS
from fuzz.values import choice


def odd_confounder(rng: np.random.Generator, n: int) -> tuple[Any, str]:
    """A confounder for n rows and what is odd about it."""
    if rng.random() < 0.15:
        return None, "none"
    kind = choice(rng, _CONFOUNDERS)
    with np.errstate(all="ignore"):
        g = kind(rng, n)
    said = kind.__name__.strip("_")
    if rng.random() < 0.25:
        wrap = choice(rng, _WRAPS)
        g = wrap(g, rng)
        said = f"{said} {wrap.__name__.strip('_')}"
    return g, said


def _gaussian(rng, n):
    return rng.standard_normal(n)


def _positive(rng, n):
    return rng.exponential(size=n)


def _several(rng, n):
    return rng.standard_normal((n, int(rng.integers(2, 5))))


def _dependent(rng, n):
    g = rng.standard_normal(n)
    return np.column_stack(
        [g, choice(rng, (1.0, 2.0)) * g + choice(rng, (0.0, 1e-9, 0.1)) * rng.random(n)]
    )


def _same_for_all(rng, n):
    return np.full(n, choice(rng, (0.0, 1.0, 1e300)))


def _binary(rng, n):
    return rng.integers(0, 2, n).astype(float)


def _few_levels(rng, n):
    return rng.integers(-1, 2, n) * 1.0


def _zero_but_one(rng, n):
    g = np.zeros(n)
    g[:1] = 1.0
    return g


def _half_zero(rng, n):
    return np.where(rng.random(n) < 0.6, 0.0, rng.standard_normal(n))


def _far(rng, n):
    return 1e6 + rng.standard_normal(n)


def _scaled(rng, n):
    return rng.standard_normal(n) * 10.0 ** choice(rng, POWERS)


def _bad_value(rng, n):
    g = rng.standard_normal(n)
    g[:1] = choice(rng, CELLS)
    return g


def _time(rng, n):
    return np.arange(n)


def _wrong_length(rng, n):
    return rng.standard_normal(max(0, n + choice(rng, (-1, 1, 5))))


def _no_columns(rng, n):
    return np.empty((n, 0))


def _words(rng, n):
    return ["low", "high"] * (n // 2) + ["low"] * (n % 2)


def _other(rng, n):
    return choice(
        rng, ("g", 3.0, {}, [], np.zeros((n, 1, 1)), [None] * n, [10**400] * n, [1j] * n, True)
    )


_CONFOUNDERS = (
    *(_gaussian, _gaussian, _gaussian, _gaussian, _positive, _positive, _several, _dependent),
    *(_same_for_all, _binary, _few_levels, _zero_but_one, _half_zero, _far, _scaled, _bad_value),
    *(_bad_value, _time, _wrong_length, _no_columns, _words, _other),
)


def _as_series(g, rng):
    return pd.Series(np.asarray(g).ravel(), name=choice(rng, (None, "g", 0, ("a", "b"))))


def _as_frame(g, rng):
    return pd.DataFrame(np.atleast_2d(np.asarray(g).T).T if np.ndim(g) < 3 else [0.0])


def _as_column(g, rng):
    return np.asarray(g).reshape(-1, 1)


def _as_row(g, rng):
    return np.asarray(g).reshape(1, -1)


def _as_list(g, rng):
    return np.asarray(g).tolist()


def _with_odd_index(g, rng):
    return pd.Series(np.asarray(g).ravel(), index=np.arange(np.size(g))[::-1])


def _as_category(g, rng):
    return pd.Series(np.asarray(g).ravel()).astype(str).astype("category")


def _as_object(g, rng):
    return np.asarray(g, dtype=object)


_WRAPS = (
    *(_as_series, _as_frame, _as_column, _as_row, _as_list, _with_odd_index, _as_category),
    *(_as_object,),
)
