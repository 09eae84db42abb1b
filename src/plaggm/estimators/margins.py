"""Variables replaced by their latent Gaussian scores (``margins="rank"``): the Gaussian copula.

Every variable is mapped by one monotone function, the same for all rows, after which it is Gaussian with a
mean and a variance that may depend on the confounder (:mod:`plaggm.core.preparation.normal_scores`). The model then has
the effects of the confounder on means, variances and network on the latent scale. Tied values share one
score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.column_ranges import column_ranges
from plaggm.core.preparation.normal_scores import (
    MidDistribution,
    NormalScores,
    mid_distribution,
    normal_scores,
)
from plaggm.data import Confounder
from plaggm.estimators.smooth_means import Chunks, mean_functions, random_rows, with_constant

# Largest number of rows from which location and spread along the confounder are estimated, and whose values
# get their exact mid-ranks; drawn at random from more rows.
MOST_ROWS = 20_000
# Rows for each function of location and spread.
ROWS_PER_FUNCTION = 40
# Share of rows with the same value from which a variable counts as tied.
TIED = 0.05


@dataclass(frozen=True, slots=True)
class Margins:
    """Maps of all variables to their latent Gaussian scores.

    Attributes
    ----------
    maps : tuple of NormalScores
        One for each variable.
    largest_tie : ndarray of shape (p,)
        Share of rows at the most frequent value of every variable.
    """

    maps: tuple[NormalScores, ...]
    largest_tie: Array

    def apply(self, x: Array) -> Array:
        """Latent scores of rows (n, p)."""
        return np.column_stack([one.apply(x[:, j]) for j, one in enumerate(self.maps)])

    def inverse(self, z: Array) -> Array:
        """Rows (n, p) in the units of X at latent scores; every value occurs in the data of the fit."""
        return np.column_stack([one.inverse(z[:, j]) for j, one in enumerate(self.maps)])

    def each(self, chunks: Chunks) -> Iterator[tuple[Array, Array]]:
        """Latent scores of each chunk; confounders are unchanged."""
        for x, confounder in chunks:
            yield self.apply(x), confounder

    def diagnostics(self, names: tuple[str, ...]) -> dict[str, object]:
        """Numbers for a result."""
        most = int(np.argmax(self.largest_tie))
        return {
            "tied_variables": int(np.count_nonzero(self.largest_tie >= TIED)),
            "most_tied": names[most],
            "most_tied_share": float(self.largest_tie[most]),
        }


def learn_margins(
    take: Callable[[Index], Array],
    read: Callable[[], Chunks],
    confounder: Confounder | None,
    n: int,
    p: int,
) -> Margins:
    """Learn the latent scores of all variables.

    Up to ``MOST_ROWS`` rows every value gets its mid-rank. Of more rows, the values of a random sample get
    their mid-ranks among all rows, and the map is linear between them.

    Parameters
    ----------
    take : callable
        Function of increasing row numbers that returns the variables of these rows.
    read : callable
        Returns variables and confounders of all rows, chunk by chunk; called only if there are more than
        ``MOST_ROWS`` rows.
    confounder : Confounder or None
        Confounders of all rows.
    n, p : int
        Rows and variables.
    """
    index = random_rows(n, MOST_ROWS)
    x = take(index)
    known = [np.unique(column) for column in x.T]
    distributions = _distributions(known, [x] if n == len(index) else (part for part, _ in read()))
    if confounder is None:
        values = np.zeros((len(index), 0))
    else:
        values = confounder.values[index]
        order = np.argsort(values[:, 0], kind="stable")
        x, values = x[order], values[order]
    basis = mean_functions(confounder, n, p, ROWS_PER_FUNCTION)
    maps = normal_scores(x, distributions, with_constant(basis, values))
    return Margins(maps, np.array([one.largest_tie for one in distributions]))


def _distributions(known: Sequence[Array], chunks: Iterable[Array]) -> list[MidDistribution]:
    """Distribution of every column at given values (K_j,), counted over all rows of the chunks."""
    inside = [np.zeros(len(values), dtype=np.intp) for values in known]
    between = [np.zeros(len(values) + 1, dtype=np.intp) for values in known]
    low, high = np.full(len(known), np.inf), np.full(len(known), -np.inf)
    n = 0
    for x in chunks:
        n += len(x)
        smallest, largest = column_ranges(x)
        low, high = np.minimum(low, smallest), np.maximum(high, largest)
        for j, values in enumerate(known):
            place = np.searchsorted(values, x[:, j])
            equal = values[np.minimum(place, len(values) - 1)] == x[:, j]
            inside[j] += np.bincount(place[equal], minlength=len(values))
            between[j] += np.bincount(place[~equal], minlength=len(values) + 1)
    found = []
    for j, values in enumerate(known):
        below = np.cumsum(between[j])[:-1] + np.cumsum(inside[j]) - inside[j]
        at = inside[j]
        if low[j] < values[0]:
            values, below, at = np.append(low[j], values), np.append(0, below), np.append(1, at)
        if high[j] > values[-1]:
            values, below, at = (
                np.append(values, high[j]),
                np.append(below, n - 1),
                np.append(at, 1),
            )
        found.append(mid_distribution(values, below, at, n))
    return found
