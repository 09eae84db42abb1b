"""Confounders of any accepted type as data frames, aligned with the rows of the table."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.data.factors import inferred, is_factor
from plaggm.data.variables import as_floats, refuse_repeated_names
from plaggm.wording import listed

ConfounderLike: TypeAlias = ArrayLike | pd.Series | pd.DataFrame


def confounder_frame(confounder: ConfounderLike | None, x: object) -> pd.DataFrame:
    """Confounders as a DataFrame with named columns; row labels must agree with those of the table."""
    if confounder is None:
        raise ValueError("confounder is missing: pass one value, or one row, for each row of X.")
    if isinstance(confounder, pd.Series):
        name = "confounder" if confounder.name is None else confounder.name
        confounder = confounder.to_frame(name)
    if isinstance(confounder, pd.DataFrame):
        refuse_repeated_names(confounder, "confounder")
        if (
            isinstance(x, pd.DataFrame)
            and len(x) == len(confounder)
            and not x.index.equals(confounder.index)
        ):
            raise ValueError(
                "X and confounder have different row labels (index), so their rows may not belong "
                "together. Align them, for example confounder.loc[X.index], or pass "
                "confounder.to_numpy() if the order is right."
            )
        return confounder.rename(columns=str)
    if isinstance(confounder, str):
        raise ValueError(
            f"confounder must hold values, one for each row, not the name of a column; got "
            f"{confounder!r}. Pass the column itself, for example data[{confounder!r}]."
        )
    values = _named_values(confounder)
    if values is None:
        values = as_floats(confounder, "confounder", _names)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(
            f"confounder must have shape (n,) or (n, m); got an array of shape {values.shape}."
        )
    return pd.DataFrame(values, columns=list(_names(values.shape[1])))


def join_frames(parts: list[ConfounderLike], rows: list[int]) -> pd.DataFrame:
    """Confounders of all chunks as one DataFrame; see :func:`plaggm.data.join_confounders`."""
    frames: list[pd.DataFrame] = []
    for number, (part, n) in enumerate(zip(parts, rows, strict=True)):
        frame = confounder_frame(part, None)
        first = frames[0] if frames else frame
        if list(frame.columns) != list(first.columns) or len(frame) != n:
            raise ValueError(
                f"confounder of chunk {number} has {len(frame)} rows and the columns "
                f"{listed(frame.columns)}; the chunk has {n} rows, and the first chunk's confounders are "
                f"{listed(first.columns)}."
            )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _named_values(confounder: ArrayLike) -> Any:
    """An array of objects if some column is a factor; None otherwise."""
    try:
        given = np.asarray(confounder)
    except ValueError:
        return None
    if given.ndim not in (1, 2) or given.dtype.kind not in "bOUST":
        return None
    table = given.reshape(len(given), -1).astype(object)
    if given.dtype.kind == "S":
        return None
    columns = (inferred(pd.Series(column)) for column in table.T)
    return table if any(is_factor(column) for column in columns) else None


def _names(m: int) -> tuple[str, ...]:
    """Names of confounders without names."""
    return ("confounder",) if m == 1 else tuple(f"confounder{k}" for k in range(m))
