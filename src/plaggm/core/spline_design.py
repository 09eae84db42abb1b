"""All that must be settled before rows are summed, and that the confounder alone settles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.confounder_bins import ConfounderBins, one_bin
from plaggm.core.spline_basis import SplineBasis


@dataclass(frozen=True, slots=True)
class SplineDesign:
    """Functions of the confounders, fixed so that the statistics of any rows add up.

    Attributes
    ----------
    names : tuple of str
        Names of the confounders.
    threshold : ndarray of shape (m,)
        g*, in the confounders' units.
    basis : SplineBasis
        Functions of the nuisance.
    variance_basis : SplineBasis
        Functions of the log-variance; empty where the variance is constant.
    bins : ConfounderBins
        Bins within which the variance function is constant.
    low, high : ndarray of shape (m,)
        Range that the functions were laid over.
    """

    names: tuple[str, ...]
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
            (self.names, self.basis, self.variance_basis)
            == (other.names, other.basis, other.variance_basis)
            and self.bins.column == other.bins.column
            and all(np.array_equal(one, two) for one, two in zip(mine, others, strict=True))
        )

    @property
    def one_pass(self) -> bool:
        """Whether the statistics of the bins hold all that the variance's factor is learnt from.

        So it is while at most one confounder inflates the variance.
        """
        return len({side.confounder for side in self.variance_basis.sides}) <= 1


def plain_design() -> SplineDesign:
    """Without confounder."""
    none = SplineBasis(())
    return SplineDesign((), np.zeros(0), none, none, one_bin(0), np.zeros(0), np.zeros(0))
