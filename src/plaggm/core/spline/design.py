"""The design of a spline, which depends on the confounder only and is fixed before rows are summed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.confounder_bins import ConfounderBins, one_bin
from plaggm.core.spline.reference import Reference


@dataclass(frozen=True, slots=True)
class SplineDesign:
    """Functions of the confounders, fixed so that the statistics of any rows add up.

    Attributes
    ----------
    names : tuple of str
        Names of the confounders.
    levels : tuple of (tuple of str or None)
        Names of the levels of every factor, None for confounders that are numbers.
    references : tuple of Reference
        Where R vanishes along every confounder.
    threshold : ndarray of shape (m,)
        g*, in the confounders' units; NaN for confounders without one.
    basis : SplineBasis
        Functions of the nuisance.
    variance_basis : SplineBasis
        Functions of the log-variance; empty where the variance is constant.
    bins : ConfounderBins
        Bins within which the variance function is constant.
    low, high : ndarray of shape (m,)
        Range of the functions.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    references: tuple[Reference, ...]
    threshold: Array
    basis: SplineBasis
    variance_basis: SplineBasis
    bins: ConfounderBins
    low: Array
    high: Array

    @property
    def m(self) -> int:
        """Number of confounders."""
        return len(self.threshold)

    def same_as(self, other: SplineDesign) -> bool:
        """Whether statistics under both designs can be added."""
        mine, others = ((d.threshold, d.bins.edges, d.bins.centres) for d in (self, other))
        return (
            (self.names, self.levels, self.references, self.basis, self.variance_basis)
            == (other.names, other.levels, other.references, other.basis, other.variance_basis)
            and self.bins.column == other.bins.column
            and all(
                np.array_equal(one, two, equal_nan=True)
                for one, two in zip(mine, others, strict=True)
            )
        )

    @property
    def one_pass(self) -> bool:
        """Whether the statistics of the bins are sufficient for the variance function.

        They are if at most one confounder inflates the variance and has bins.
        """
        inflating = {term.confounder for term in self.variance_basis.terms}
        return not inflating or (len(inflating) == 1 and self.bins.count > 1)


def plain_design() -> SplineDesign:
    """The design without confounder."""
    none = SplineBasis(())
    empty = np.zeros(0)
    return SplineDesign((), (), (), empty, none, none, one_bin(0), empty, empty)
