"""Validation of group labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from plaggm.array_types import Index, Labels
from plaggm.wording import shown

LabelsLike: TypeAlias = Sequence[Hashable] | Labels | pd.Series


def group_numbers(
    groups: LabelsLike, n: int, *, fewest: int = 2, where: str = "", name: str = "groups"
) -> tuple[Index, Labels]:
    """Number of every row's group, in order of appearance, and the labels of the groups.

    Parameters
    ----------
    groups : array or Series of shape (n,)
        Text or numbers without missing values.
    n : int
        Rows of the table.
    fewest : int, default=2
        Smallest number of different groups.
    where : str
        Description of the rows for messages, such as ``" of this chunk"``.
    name : str
        Name of the argument, for the message.

    Returns
    -------
    numbers : ndarray of int of shape (n,)
    found : ndarray of shape (n_groups,)

    Examples
    --------
    >>> group_numbers(["b", "a", "b"], 3)[0]
    array([0, 1, 0])
    """
    # In a list, NumPy would turn a missing value beside text into the text "nan".
    values = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    if values.shape != (n,):
        raise ValueError(
            f"{name} must name one {name.removesuffix('s')} for each of the {n} rows; got shape "
            f"{values.shape}."
        )
    try:
        numbers, found = pd.factorize(values)
    except TypeError as error:
        raise ValueError(
            f"{name} must hold text or numbers, one for each row; got values of another kind."
        ) from error
    if values.dtype == object:
        for value in found:
            if np.ndim(value):
                raise ValueError(
                    f"{name} must hold text or numbers, one for each row; got {shown(value)}."
                )
    if np.any(numbers < 0):
        row = int(np.argmin(numbers))
        raise ValueError(
            f"{name} has no value in row {row}{where}. Every row needs its {name.removesuffix('s')}."
        )
    if len(found) < fewest:
        count = "a single value" if len(found) == 1 else f"{len(found)} different values"
        values_found = ", ".join(map(repr, found.tolist()))
        raise ValueError(
            f"{name} has {count} ({values_found}), and at least {fewest} are needed to leave some out or "
            f"to resample them. Leave {name} out, or give each subject its own."
        )
    return numbers.astype(np.intp), np.asarray(found)
