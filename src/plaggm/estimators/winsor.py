"""Far values pulled in (``robust="winsor"``), within limits that follow the confounder.

Limits that were the same for all rows would cut most where the confounder inflates the noise: they would
flatten a network there that is the same everywhere, and so make up confounding, or hide it. Limits are
therefore ``LIMIT`` spreads from the location at the row's own confounder. What the confounder does to means
and variances stays in the data, for the model to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.robust_scale import RobustMoments, robust_moments
from plaggm.core.spline_basis import SplineBasis
from plaggm.data import Confounder
from plaggm.estimators.serial import mean_functions, with_constant
from plaggm.user_warnings import warn_user
from plaggm.wording import listed

# Robust standard deviations from the location to which values beyond are pulled in: 0.3 % of Gaussian ones.
LIMIT = 3.0
# Rows from which limits are learnt, drawn at random where there are more.
MOST_ROWS = 20_000
# Rows for each function that locations and spreads may follow: a spread takes more rows than a mean.
ROWS_PER_FUNCTION = 40
# Rows that are transformed at a time.
BLOCK = 65_536


@dataclass(frozen=True, slots=True)
class Winsor:
    """Limits beyond which the values of every variable are pulled in.

    Attributes
    ----------
    basis : SplineBasis
        Functions of the confounders that location and spread follow.
    moments : RobustMoments
    pulled : ndarray of shape (p,)
        Share of each variable's values beyond the limits, among the rows from which these were learnt.
    """

    basis: SplineBasis
    moments: RobustMoments
    pulled: Array

    def apply(self, x: Array, confounder: Array) -> Array:
        """Rows with far values pulled in, others as they are: shape (n, p); values of NaN stay."""
        out = np.empty_like(x)
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            functions = with_constant(self.basis, confounder[rows])
            out[rows] = self.moments.pulled_in(x[rows], functions, LIMIT)
        return out

    def standardised(self, x: Array, confounder: Array) -> Array:
        """Distances of all values from their location, in spreads: shape (n, p); zero without spread."""
        out = np.empty_like(x)
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            functions = with_constant(self.basis, confounder[rows])
            out[rows] = self.moments.standardised(x[rows], functions)
        return out

    def each(self, chunks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
        """The same for chunks of variables and confounders."""
        for x, confounder in chunks:
            yield self.apply(x, confounder), confounder

    def diagnostics(self, names: tuple[str, ...]) -> dict[str, object]:
        """Numbers that a saved result keeps."""
        most = int(np.argmax(self.pulled))
        return {
            "winsorised_share": float(self.pulled.mean()),
            "winsorised_most": names[most],
            "winsorised_most_share": float(self.pulled[most]),
        }


def learn_winsor(
    take: Callable[[Index], Array], confounder: Confounder | None, n: int, names: tuple[str, ...]
) -> Winsor:
    """Learn location and spread of every variable along the confounder.

    Parameters
    ----------
    take : callable
        Gives the variables of some rows, whose numbers increase.
    confounder : Confounder or None
        Confounders of all rows.
    n : int
        Rows.
    names : tuple of str
        Names of the variables.

    Returns
    -------
    Winsor
    """
    index = np.arange(n)
    if n > MOST_ROWS:
        index = np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))
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
