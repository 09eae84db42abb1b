"""Validation of confounders, and of parameters in the units of confounders."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Index
from plaggm.core.spline.reference import ZERO, Reference
from plaggm.data.confounder_frames import ConfounderLike, confounder_frame, join_frames
from plaggm.data.factors import (
    Levels,
    check_categorical,
    encode,
    inferred,
    is_factor,
    refuse_repeated_factors,
)
from plaggm.data.variables import (
    CONSTANT,
    LARGEST,
    check_finite,
    check_numeric_frame,
    refuse_huge_integers,
)
from plaggm.user_warnings import warn_user
from plaggm.wording import listed, shown

# Distance of a correlation from one below which two confounders are the same.
SAME_CONFOUNDER = 1e-9
# Correlation from which two confounders are hard to distinguish.
CLOSE_CONFOUNDERS = 0.98
# Eigenvalue of the correlations below which confounders are dependent, and smallest entry of the
# eigenvector for confounders that are involved.
DEPENDENT_CONFOUNDERS, INVOLVED = 1e-6, 0.05


@dataclass(frozen=True, slots=True)
class Confounder:
    """Validated confounders.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Numbers; for factors the numbers of their levels.
    names : tuple of str
    levels : tuple of (tuple of str or None)
        Names of the levels of every factor, None for numbers; empty if none is a factor.
    references : tuple of Reference
        Reference of every confounder; empty if the reference of all is zero.
    groups : tuple of int
        Number of groups for every confounder that is constant within groups, zero for the others; empty if
        there is no such confounder.
    most_functions : tuple of int
        Largest number of functions of every confounder in the nuisance, zero for no limit; empty if there
        are no limits.
    """

    values: Array
    names: tuple[str, ...]
    levels: tuple[Levels, ...] = ()
    references: tuple[Reference, ...] = ()
    groups: tuple[int, ...] = ()
    most_functions: tuple[int, ...] = ()

    @property
    def all_levels(self) -> tuple[Levels, ...]:
        """Levels of every confounder, None for numbers: m entries."""
        return self.levels or (None,) * len(self.names)

    @property
    def all_references(self) -> tuple[Reference, ...]:
        """Reference of every confounder: m entries."""
        return self.references or (ZERO,) * len(self.names)

    @property
    def amounts(self) -> list[int]:
        """Columns whose reference is zero, such as amounts of motion."""
        return [k for k, one in enumerate(self.all_references) if one.kind == "zero"]

    @property
    def factors(self) -> tuple[bool, ...]:
        """Whether each confounder is a factor: m entries."""
        return tuple(levels is not None for levels in self.all_levels)

    def rows(self, index: Index) -> Confounder:
        """Some rows."""
        return replace(self, values=self.values[index])


def join_confounders(
    parts: list[ConfounderLike], rows: list[int], categorical: object = None
) -> Confounder:
    """Validate confounders that are given in chunks.

    Parameters
    ----------
    parts : list of arrays, Series or DataFrames
    rows : list of int
        Number of rows of every chunk.
    categorical : str, sequence of str or None
        Confounders to be treated as factors although they hold numbers.
    """
    whole = join_frames(parts, rows)
    return as_confounder(whole, None, len(whole), categorical)


def as_confounder(
    confounder: ConfounderLike, x: object, n: int | None, categorical: object = None
) -> Confounder:
    """Validate confounders against the table they belong to.

    Text, Booleans and pandas categories are factors.

    Parameters
    ----------
    confounder : array of shape (n,) or (n, m), Series or DataFrame
    x : array or DataFrame
        The table, whose index is compared.
    n : int or None
        Rows of the table; None if there is no table.
    categorical : str, sequence of str or None
        Confounders to be treated as factors although they hold numbers.

    Examples
    --------
    >>> import numpy as np
    >>> as_confounder(np.array([0.1, 0.5, 2.0]), None, 3).names
    ('confounder',)
    """
    frame = confounder_frame(confounder, x)
    names = tuple(frame.columns)
    levels = _levels(frame, check_categorical(categorical, names))
    values = _confounder_values(frame, levels)
    if n is None and not len(values):
        raise ValueError("confounder has no rows.")
    if n is not None and len(values) != n:
        raise ValueError(
            f"confounder has {len(values)} rows but X has {n}. Pass one value for each row of X."
        )
    if values.shape[1] == 0:
        raise ValueError("confounder has no columns; pass confounder=None to fit without one.")
    check_finite(values, names, "confounder", of=confounder)
    constant = np.flatnonzero(np.ptp(values, axis=0) <= CONSTANT * np.abs(values).max(axis=0))
    if constant.size:
        raise ValueError(
            f"confounder {listed(repr(names[k]) for k in constant)} is constant, so it cannot distort "
            "anything. Leave it out, or pass confounder=None to fit the plain model."
        )
    tiny = np.flatnonzero(np.ptp(values, axis=0) < 1.0 / LARGEST)
    if tiny.size:
        raise ValueError(
            f"confounder {listed(repr(names[k]) for k in tiny)} varies by less than {1.0 / LARGEST:g}. Use "
            "a smaller unit."
        )
    numbers = [k for k, one in enumerate(levels) if one is None]
    check_collinear(values[:, numbers], tuple(names[k] for k in numbers))
    refuse_repeated_factors(values, levels, names)
    if len(numbers) == len(names):
        levels = ()
    return Confounder(np.ascontiguousarray(values), names, levels)


def check_collinear(values: Array, names: tuple[str, ...]) -> None:
    """Raise for confounders that repeat another, warn of those that are nearly dependent.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        No column may be constant.
    names : tuple of str

    Examples
    --------
    >>> g = np.array([0.1, 0.4, 2.0, 1.0])
    >>> check_collinear(np.column_stack([g, 2.0 * g]), ("mm", "half_mm"))
    Traceback (most recent call last):
    ...
    ValueError: confounders 'mm' and 'half_mm' have correlation 1: they are the same but for units...
    """
    if values.shape[1] < 2:
        return
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    correlation = standard.T @ standard / len(values)
    first, second = np.triu_indices(len(names), 1)
    pairs = correlation[first, second]
    strongest = int(np.argmax(np.abs(pairs)))
    one, other = names[first[strongest]], names[second[strongest]]
    if 1.0 - abs(pairs[strongest]) < SAME_CONFOUNDER:
        raise ValueError(
            f"confounders {one!r} and {other!r} have correlation {pairs[strongest]:.0f}: they are the same "
            "but for units and zero, and their effects cannot be told apart. Keep one of them."
        )
    if abs(pairs[strongest]) > CLOSE_CONFOUNDERS:
        warn_user(
            f"confounders {one!r} and {other!r} have correlation {pairs[strongest]:.4f}: the network "
            "without them is estimated as usual, but what each of them does can hardly be told apart. "
            "Keep one, or use their mean or first principal component.",
        )
        return
    sizes, vectors = np.linalg.eigh(correlation)
    if sizes[0] < DEPENDENT_CONFOUNDERS:
        involved = np.flatnonzero(np.abs(vectors[:, 0]) > INVOLVED)
        warn_user(
            f"confounders {listed(repr(names[k]) for k in involved)} are linearly dependent: each "
            "follows from the others. The network without them is estimated as usual, but what each of "
            "them does cannot be told apart. Leave one of them out.",
        )


def new_confounder(
    confounder: ConfounderLike | None,
    names: tuple[str, ...],
    x: object,
    n: int,
    levels: tuple[Levels, ...] = (),
) -> Array:
    """Confounders of new samples, matched by name to those of a fit.

    Parameters
    ----------
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
    names : tuple of str
        Names of the fit's confounders.
    x : array or DataFrame
        Variables of the samples, whose index is compared.
    n : int
        Samples.
    levels : tuple of (tuple of str or None)
        Levels of the fit's factors; see :class:`Confounder`.

    Returns
    -------
    ndarray of shape (n, m)
        Levels that are unknown to the fit are -1.
    """
    if confounder is None:
        raise ValueError(
            f"The model was fitted with confounder {listed(names)}; pass the values of the new samples."
        )
    if isinstance(confounder, pd.DataFrame):
        missing = [name for name in names if name not in set(map(str, confounder.columns))]
        if missing and len(names) > 1:
            raise ValueError(
                f"confounder lacks the column(s) {listed(missing)} of the fit; it has "
                f"{listed(map(str, confounder.columns))}."
            )
        if not missing:
            confounder = confounder.rename(columns=str)[list(names)]
    frame = confounder_frame(confounder, x)
    if frame.shape != (n, len(names)):
        raise ValueError(
            f"confounder must have one row for each of the {n} samples and the {len(names)} column(s) "
            f"of the fit ({listed(names)}); got shape {frame.shape}."
        )
    values = _confounder_values(frame, levels or (None,) * len(names))
    check_finite(values, names, "confounder", of=confounder)
    return values


def _levels(frame: pd.DataFrame, declared: tuple[str, ...]) -> tuple[Levels, ...]:
    """Levels of every factor among the columns; None for numbers."""
    return tuple(
        encode(frame[name])[1] if name in declared or is_factor(inferred(frame[name])) else None
        for name in frame.columns
    )


def _confounder_values(frame: pd.DataFrame, levels: tuple[Levels, ...]) -> Array:
    """Values (n, m) of confounders, numbers of levels for factors."""
    numbers = [name for name, known in zip(frame.columns, levels, strict=True) if known is None]
    check_numeric_frame(frame[numbers], "confounder")
    values = np.empty(frame.shape)
    for place, (name, known) in enumerate(zip(frame.columns, levels, strict=True)):
        if known is not None:
            values[:, place] = encode(frame[name], known)[0]
            continue
        try:
            column = pd.to_numeric(frame[name])
            values[:, place] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except OverflowError as error:
            refuse_huge_integers(frame[numbers], "confounder", error)
    return values


def as_positive(
    value: ArrayLike, name: str, confounder_names: tuple[str, ...], *, zero: bool = False
) -> Array:
    """One number for each confounder, from a number or an array of positive numbers.

    With ``zero`` numbers may be zero. Other values raise ValueError.

    Returns
    -------
    ndarray of shape (m,)
    """
    m = len(confounder_names)
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers; got {shown(value)}.") from error
    if values.shape == (1,):
        values = np.repeat(values, m)
    if values.shape != (m,):
        raise ValueError(
            f"{name} must be one number or one for each of the {m} confounders; got {shown(value)}."
        )
    if not np.all(np.isfinite(values) & ((values >= 0.0) if zero else (values > 0.0))):
        allowed = "zero or more" if zero else "greater than zero"
        raise ValueError(
            f"{name} must be finite and {allowed}, in the confounder's units; got {shown(value)}."
        )
    if not np.all((values == 0.0) | ((values >= 1.0 / LARGEST) & (values <= LARGEST))):
        raise ValueError(
            f"{name} must be between {1.0 / LARGEST:g} and {LARGEST:g} in size; got {shown(value)}."
        )
    return values
