"""Winsorising (``robust="winsor"``) with limits that depend on the confounder.

Limits that were the same for all rows would change most values where the confounder inflates the noise.
This would weaken the network there, and thus create or hide confounding. Limits are therefore ``LIMIT``
spreads from the location at the confounder of the row, so that effects of the confounder on means and
variances remain in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.robust_scale import RobustMoments, robust_moments
from plaggm.core.spline.basis import SplineBasis
from plaggm.data import Confounder
from plaggm.estimators.smooth_means import Chunks, mean_functions, random_rows, with_constant
from plaggm.user_warnings import warn_user
from plaggm.wording import listed

# Limit in robust standard deviations from the location; 0.3 % of Gaussian values lie beyond.
LIMIT = 3.0
# Largest number of rows from which limits are learnt; drawn at random from more rows.
MOST_ROWS = 20_000
# Rows for each function of location and spread.
ROWS_PER_FUNCTION = 40
# Rows transformed at a time.
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Winsor:
    """Limits to which outlying values of every variable are moved.

    Attributes
    ----------
    basis : SplineBasis
        Functions of the confounders in location and spread.
    moments : RobustMoments
    pulled : ndarray of shape (p,)
        Share of each variable's values beyond the limits, among the rows from which these were learnt.
    """

    basis: SplineBasis
    moments: RobustMoments
    pulled: Array

    def apply(self, x: Array, confounder: Array) -> Array:
        """Rows with values beyond the limits moved to them: shape (n, p); NaN remains."""
        return self._by_blocks(partial(self.moments.pulled_in, limit=LIMIT), x, confounder)

    def standardised(self, x: Array, confounder: Array) -> Array:
        """Distances of all values from their location, in spreads: shape (n, p); zero without spread."""
        return self._by_blocks(self.moments.standardised, x, confounder)

    def _by_blocks(
        self, transform: Callable[[Array, Array], Array], x: Array, confounder: Array
    ) -> Array:
        """Transform rows (n, p), given the functions of their confounders, a block at a time."""
        out = np.empty_like(x)
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            out[rows] = transform(x[rows], with_constant(self.basis, confounder[rows]))
        return out

    def each(self, chunks: Chunks) -> Iterator[tuple[Array, Array]]:
        """Winsorised variables and unchanged confounders of every chunk."""
        for x, confounder in chunks:
            yield self.apply(x, confounder), confounder

    def diagnostics(self, names: tuple[str, ...]) -> dict[str, object]:
        """Numbers for a result."""
        most = int(np.argmax(self.pulled))
        return {
            "winsorised_share": float(self.pulled.mean()),
            "winsorised_most": names[most],
            "winsorised_most_share": float(self.pulled[most]),
        }


def learn_winsor(
    take: Callable[[Index], Array], confounder: Confounder | None, n: int, names: tuple[str, ...]
) -> Winsor:
    """Estimate location and spread of every variable along the confounder.

    Parameters
    ----------
    take : callable
        Function of increasing row numbers that returns the variables of these rows.
    confounder : Confounder or None
        Confounders of all rows.
    n : int
        Rows.
    names : tuple of str
        Names of the variables.
    """
    index = random_rows(n, MOST_ROWS)
    x = take(index)
    values = np.zeros((len(index), 0)) if confounder is None else confounder.values[index]
    basis = mean_functions(confounder, n, len(names), ROWS_PER_FUNCTION)
    functions = with_constant(basis, values)
    moments = robust_moments(x, functions)
    flat = np.flatnonzero(np.isinf(moments.log_spread[0]))
    if flat.size:
        warn_user(
            f"robust='winsor' changes nothing of {listed(repr(names[j]) for j in flat)}: where more than "
            "half of the values are equal there is no robust spread."
        )
    beyond = np.abs(moments.standardised(x, functions)) > LIMIT
    return Winsor(basis, moments, beyond.mean(axis=0))
