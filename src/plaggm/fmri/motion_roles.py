"""Roles of the confounders of a scan: amounts of motion, or positions of the head.

Framewise displacement is an amount: at zero there is no distortion. The six motion parameters are
positions of the head. Their zero is the reference volume of the alignment, which is arbitrary, and with a
threshold for each of them hardly a volume is below all seven. So, beside an amount, R averages to zero
over the positions, is linear in them, and the threshold is that of the amount alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from plaggm.array_types import Array
from plaggm.core.spline.reference import ZERO, Reference
from plaggm.data import Confounder
from plaggm.estimators import PLAGGM
from plaggm.estimators.spec import fit_spec
from plaggm.estimators.threshold_choice import choose_threshold, sampled_rows
from plaggm.fmri.confounds import SIX
from plaggm.parameter_types import Threshold

AVERAGE = Reference("average")


@dataclass(frozen=True, slots=True)
class MotionRoles:
    """Confounders of the scans, divided into amounts and positions.

    Attributes
    ----------
    names : tuple of str
    positions : tuple of int
        Columns that are positions of the head; all others are amounts of motion.

    Examples
    --------
    >>> values = np.random.default_rng(0).gamma(1.0, size=(9, 2))
    >>> motion_roles(("trans_x", "framewise_displacement"), values, "auto").references
    {'trans_x': 'average', 'framewise_displacement': 'zero'}
    """

    names: tuple[str, ...]
    positions: tuple[int, ...]

    @property
    def amounts(self) -> list[int]:
        """Columns that are amounts of motion."""
        return [column for column in range(len(self.names)) if column not in self.positions]

    @property
    def references(self) -> dict[str, str]:
        """Where R vanishes along every confounder, as :class:`plaggm.PLAGGM` takes it."""
        kinds = ("average" if k in self.positions else "zero" for k in range(len(self.names)))
        return dict(zip(self.names, kinds, strict=True))

    def confounder(self, values: Array) -> Confounder:
        """Confounders (n, m) as the nuisance takes them, linear along positions."""
        if not self.positions:
            return Confounder(values, self.names)
        beside = [column in self.positions for column in range(len(self.names))]
        return self.linear(
            Confounder(
                values,
                self.names,
                references=tuple(AVERAGE if one else ZERO for one in beside),
            )
        )

    def linear(self, confounder: Confounder) -> Confounder:
        """Confounders, further ones among them, with R linear along the positions."""
        positions = {self.names[column] for column in self.positions}
        return replace(
            confounder, most_functions=tuple(int(name in positions) for name in confounder.names)
        )

    def settled(self, estimator: PLAGGM, x: Array, values: Array, n_threads: int) -> PLAGGM:
        """The estimator with thresholds of the amounts, chosen without the positions, which have none.

        It stays as it is where there are no positions.

        Parameters
        ----------
        estimator : PLAGGM
        x : ndarray of shape (n, p)
            Series as R is learnt from them.
        values : ndarray of shape (n, m)
            Confounders of the same volumes.
        n_threads : int
        """
        if not self.positions:
            return estimator
        amounts = Confounder(
            values[:, self.amounts], tuple(self.names[column] for column in self.amounts)
        )
        rows = sampled_rows(len(x), x.shape[1] + 1, len(amounts.names))
        limits = np.full(len(self.names), np.nan)
        limits[self.amounts] = choose_threshold(
            x[rows],
            amounts.rows(rows),
            variance_function=fit_spec(estimator).inflation,
            n_threads=n_threads,
        )
        settled: PLAGGM = clone(estimator).set_params(threshold=limits)
        return settled


def motion_roles(names: tuple[str, ...], values: Array, threshold: Threshold) -> MotionRoles:
    """The roles of some confounders.

    Thresholds that are given say that every confounder is an amount, and so are the six parameters where no
    other confounder says how much the head moved. A parameter that does not vary has no effect.

    Parameters
    ----------
    names : tuple of str
    values : ndarray of shape (n, m)
    threshold : "auto", float or array of shape (m,)
    """
    if not isinstance(threshold, str) or all(name in SIX for name in names):
        return MotionRoles(names, ())
    varies = np.ptp(values, axis=0) > 0.0
    return MotionRoles(names, tuple(k for k, name in enumerate(names) if name in SIX and varies[k]))
