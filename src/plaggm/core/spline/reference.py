"""The reference of each confounder: where R is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from plaggm.array_types import Array, Mask

ReferenceKind: TypeAlias = Literal["zero", "value", "level", "average"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Where R vanishes along one confounder.

    Attributes
    ----------
    kind : {"zero", "value", "level", "average"}
        Within a threshold around zero; within a threshold around a value; at a level of a factor; or on
        average over the samples.
    value : float
        The value, or the level's number; zero for ``"zero"`` and ``"average"``.
    levels : int
        Number of levels of a factor; zero for other confounders.
    """

    kind: ReferenceKind
    value: float = 0.0
    levels: int = 0

    @property
    def has_threshold(self) -> bool:
        """Whether R is zero within a threshold around the reference."""
        return self.kind in ("zero", "value")


ZERO = Reference("zero")


def deviations(
    confounder: Array, threshold: Array, references: tuple[Reference, ...]
) -> tuple[Array, Array]:
    """Confounders as signed distances from their references, with their thresholds.

    Without a reference value the median is subtracted. A factor becomes one indicator column for each level
    except the reference, or the most frequent one.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
        NaN for confounders without threshold.
    references : tuple of m Reference

    Returns
    -------
    columns : ndarray of shape (n, k)
    threshold : ndarray of shape (k,)
        Zero for confounders without threshold.
    """
    columns: list[Array] = []
    limits: list[float] = []
    for column, limit, reference in zip(confounder.T, threshold, references, strict=True):
        if reference.has_threshold:
            columns.append(column - reference.value)
            limits.append(float(limit))
        elif not reference.levels:
            columns.append(column - np.median(column))
            limits.append(0.0)
        else:
            counts = np.bincount(np.rint(column).astype(np.intp), minlength=reference.levels)
            base = int(reference.value) if reference.kind == "level" else int(np.argmax(counts))
            present = [level for level in np.flatnonzero(counts) if level != base]
            columns += [(column == level).astype(np.float64) for level in present]
            limits += [0.0] * len(present)
    return np.column_stack(columns), np.array(limits)


def at_reference(confounder: Array, threshold: Array, references: tuple[Reference, ...]) -> Mask:
    """Samples at which R is zero for every confounder with a threshold or reference value: shape (n,).

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
    threshold : ndarray of shape (m,)
        NaN for confounders without threshold.
    references : tuple of m Reference

    Examples
    --------
    >>> at_reference(np.array([[0.1], [0.9]]), np.array([0.5]), (ZERO,))
    array([ True, False])
    """
    inside = np.ones(len(confounder), dtype=np.bool_)
    for column, limit, reference in zip(confounder.T, threshold, references, strict=True):
        if reference.has_threshold:
            inside &= np.abs(column - reference.value) <= limit
        elif reference.kind == "level":
            inside &= column == reference.value
    return inside
