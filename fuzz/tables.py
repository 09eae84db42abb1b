"""Tables in memory, from sound to absurd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fuzz.values import choice

ROWS = (0, 1, 2, 3, 4, 5, 6, 8, 12, 20, 30, 60, 60, 60, 150)
COLUMNS = (0, 1, 2, 3, 3, 4, 4, 5, 8)
CELLS = (
    *(np.nan, np.inf, -np.inf, 1e300, -1e300, 1e308, 1e200, 1e160, 1e100, 1e16, 1e-16, 1e-160),
    *(1e-308, 5e-324, 0.0),
)
POWERS = (-308, -300, -200, -160, -100, -20, -8, 8, 20, 100, 160, 200, 300, 307)


def sound_table(rng: np.random.Generator, n: int = 60, p: int = 4) -> np.ndarray:
    """Gaussian rows in which neighbours are coupled."""
    noise = rng.standard_normal((n, p))
    return noise + 0.5 * np.roll(noise, 1, axis=1)


def odd_table(rng: np.random.Generator) -> tuple[Any, str]:
    """A table and what is odd about it."""
    n, p = int(choice(rng, ROWS)), int(choice(rng, COLUMNS))
    if rng.random() < 0.7:
        n, p = max(n, 20), max(p, 2)
    x = sound_table(rng, n, p)
    said = [f"{n} x {p}"]
    if n > 2 and p > 1:
        for _ in range(int(rng.integers(0, 3))):
            change = choice(rng, _CHANGES)
            with np.errstate(all="ignore"):
                x = change(x, rng)
            said.append(change.__name__.strip("_"))
    if rng.random() < 0.4:
        dress = choice(rng, _DRESSES)
        with np.errstate(all="ignore"):
            x = dress(x, rng)
        said.append(dress.__name__.strip("_"))
    return x, ", ".join(said)


def rows_of(x: Any) -> int:
    """Rows that a table of any kind seems to have; a few where that cannot be told."""
    try:
        shape = np.shape(x) if not sparse.issparse(x) else x.shape
    except ValueError:
        return 5
    return int(shape[0]) if shape else 0


def _column(x: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.integers(x.shape[1]))


def _cell(x, rng):
    x[int(rng.integers(len(x))), _column(x, rng)] = choice(rng, CELLS)
    return x


def _power_of_column(x, rng):
    x[:, _column(x, rng)] *= 10.0 ** choice(rng, POWERS)
    return x


def _power_of_all(x, rng):
    return x * 10.0 ** choice(rng, POWERS)


def _shifted(x, rng):
    x[:, _column(x, rng)] += choice(rng, (1e6, 1e12, 1e16, -1e300))
    return x


def _copy(x, rng):
    x[:, 0] = x[:, -1]
    return x


def _copy_in_other_units(x, rng):
    x[:, 0] = x[:, -1] / 2.54 + choice(rng, (0.0, 3.0))
    return x


def _near_copy(x, rng):
    x[:, 0] = x[:, -1] + choice(rng, (1e-1, 1e-2, 1e-4, 1e-8, 1e-14)) * rng.standard_normal(len(x))
    return x


def _sum_of_others(x, rng):
    x[:, 0] = x[:, 1:].sum(axis=1)
    return x


def _composition(x, rng):
    x = np.exp(x)
    return x / x.sum(axis=1, keepdims=True)


def _one_hot(x, rng):
    return np.eye(x.shape[1])[rng.integers(0, x.shape[1], len(x))]


def _constant(x, rng):
    x[:, _column(x, rng)] = choice(rng, (0.0, 3.0, 1e300))
    return x


def _nearly_constant(x, rng):
    j = _column(x, rng)
    x[:, j] = 1.0
    x[0, j] += choice(rng, (1e-15, 1e-11, 1e-6, 1.0))
    return x


def _two_values(x, rng):
    return (x > 0.0).astype(np.float64)


def _whole_numbers(x, rng):
    return np.round(x)


def _mostly_zero(x, rng):
    return np.where(rng.random(x.shape) < 0.9, 0.0, x)


def _repeated_rows(x, rng):
    return x[rng.integers(0, 3, len(x))]


def _far_row(x, rng):
    x[0] *= choice(rng, (1e3, 1e8, 1e100))
    return x


def _heavy_tails(x, rng):
    return rng.standard_cauchy(x.shape) ** 3


def _low_rank(x, rng):
    return x[:, :1] @ rng.standard_normal((1, x.shape[1]))


_CHANGES = (
    *(_cell, _cell, _power_of_column, _power_of_column, _power_of_all, _shifted, _copy),
    *(_copy_in_other_units, _near_copy, _near_copy, _sum_of_others, _composition, _one_hot),
    *(_constant, _nearly_constant, _two_values, _whole_numbers, _mostly_zero, _repeated_rows),
    *(_far_row, _heavy_tails, _low_rank),
)


def _frame(x, rng):
    return pd.DataFrame(x, columns=[f"v{j}" for j in range(x.shape[1])])


def _odd_names(x, rng):
    names = choice(
        rng, (["a"], [""], [0], [None], [np.nan], ["a", 1], ["source", "target"], ["<b>"])
    )
    return pd.DataFrame(x, columns=(names * x.shape[1])[: x.shape[1]])


def _many_indexes(x, rng):
    columns = pd.MultiIndex.from_tuples([("a", j) for j in range(x.shape[1])])
    return pd.DataFrame(x, columns=columns if x.shape[1] else None)


def _odd_index(x, rng):
    return _frame(x, rng).set_axis(np.zeros(len(x), dtype=int), axis=0)


def _text_column(x, rng):
    frame = _frame(x, rng).astype(object)
    if x.size:
        odd = choice(rng, ("a", "1.5", "", "nan", None, [1], {}, 10**400, 1j, pd.NA, True))
        frame["v0"] = pd.Series([odd, *frame["v0"].iloc[1:]], dtype=object)
    return frame


def _categories(x, rng):
    frame = _frame(np.round(x), rng)
    return frame.astype({frame.columns[0]: "category"}) if x.shape[1] else frame


def _dates(x, rng):
    frame = _frame(x, rng)
    if x.shape[1]:
        frame[frame.columns[0]] = pd.Timestamp("2020-01-01")
    return frame


def _nullable(x, rng):
    return _frame(np.where(np.isfinite(x), np.clip(np.round(x), -9, 9), 0.0), rng).astype("Int64")


def _list(x, rng):
    return x.tolist()


def _ragged(x, rng):
    return [row[: k % 3] for k, row in enumerate(x.tolist())]


def _objects(x, rng):
    return x.astype(object)


def _huge_integers(x, rng):
    out = np.where(np.isfinite(x), x, 0.0).astype(object)
    if out.size:
        out[0, 0] = choice(rng, (10**400, 2**80, -(10**320)))
    return out


def _complex(x, rng):
    return x + 1j


def _texts(x, rng):
    return x.astype(str)


def _small_floats(x, rng):
    return x.astype(choice(rng, (np.float16, np.float32, np.longdouble)))


def _integers(x, rng):
    return np.where(np.isfinite(x), np.clip(x * 10, -100, 100), 0).astype(
        choice(rng, (np.int8, np.int64))
    )


def _booleans(x, rng):
    return x > 0.0


def _read_only(x, rng):
    x = np.asfortranarray(x)
    x.flags.writeable = False
    return x


def _sparse(x, rng):
    return choice(rng, (sparse.csr_matrix, sparse.coo_array))(x)


def _masked(x, rng):
    return np.ma.masked_array(x, mask=np.abs(x) > 2.0)


def _matrix_of_records(x, rng):
    return np.zeros(len(x), dtype=[("a", float), ("b", float)])


def _flat(x, rng):
    return x.ravel()


def _three_axes(x, rng):
    return x[None]


def _series(x, rng):
    return pd.Series(x.ravel())


def _nothing(x, rng):
    return choice(rng, (None, "table.csv", 3.0, {}, object, np.empty((0, 0)), [[]], [None]))


_DRESSES = (
    *(_frame, _frame, _odd_names, _many_indexes, _odd_index, _text_column, _text_column),
    *(_categories, _dates, _nullable, _list, _ragged, _objects, _huge_integers, _complex, _texts),
    *(_small_floats, _integers, _booleans, _read_only, _sparse, _masked, _matrix_of_records),
    *(_flat, _three_axes, _series, _nothing),
)
