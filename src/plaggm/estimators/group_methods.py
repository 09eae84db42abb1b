"""Groups that rows belong to: their statistics, and drawing them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plaggm.core.profile.profilers import PooledProfiler, Profiler, SplineParts, SplineProfiler
from plaggm.core.spline_statistics import spline_statistics, split_statistics
from plaggm.estimators.chunked_fit import plain_parts
from plaggm.estimators.network_methods import NetworkMethods
from plaggm.estimators.spline_model import most_functions
from plaggm.selection import GroupBootstrap, group_bootstrap
from plaggm.selection.parts import Index, RowParts

Array = NDArray[np.float64]

# Statistics of groups, folds and bins that are kept at most, in bytes.
MOST_BYTES = 2_000_000_000


class GroupMethods(NetworkMethods):
    """Resampling of groups, for estimators that keep the groups' statistics."""

    if TYPE_CHECKING:
        symmetry: str
        tol: float
        max_iter: int
        _sigma: Array

    _groups: SplineParts | None = None

    def bootstrap(self, n_resamples: int = 100, *, random_state: Any = 0) -> GroupBootstrap:
        """Draw the groups of the fit with replacement, and see how often each edge comes back.

        The network is estimated at ``alpha_`` from every drawing, the nuisance learnt anew under the
        penalty and the scaling of the fit. Only the groups' statistics are needed, not the rows. Sets
        ``edge_stability_``, which results and pictures show.

        Parameters
        ----------
        n_resamples : int, default=100
        random_state : int, RandomState or None, default=0

        Returns
        -------
        GroupBootstrap
            Frequencies of the edges, mean and spread of the estimates.

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> from plaggm.simulate import simulate_paper
        >>> data = simulate_paper(6, n=400, seed=0, even=True, threshold=60.0)
        >>> subject = np.arange(400) % 20
        >>> model = PLAGGM(0.05, threshold=60.0)
        >>> model = model.fit(data.x, confounder=data.confounder, groups=subject)
        >>> model.bootstrap(10).n_groups
        20
        """
        check_is_fitted(self)
        if not isinstance(n_resamples, int | np.integer) or n_resamples < 2:
            raise ValueError(f"n_resamples must be an integer of 2 or more; got {n_resamples!r}.")
        groups = getattr(self, "_groups", None)
        if groups is None:
            raise ValueError(
                "bootstrap draws the groups of the fit, and there are none. Fit with groups=, one value "
                "for each row (a subject, a batch), and smoother='spline'."
            )
        found = group_bootstrap(
            groups,
            self.alpha_,
            scale=self._sigma,
            symmetry=self.symmetry,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            n_resamples=int(n_resamples),
            random_state=check_random_state(random_state),
            n_jobs=self._workers(),
            verbose=self.verbose,
        )
        self.edge_stability_ = found.frequency
        return found

    def _keep_groups(
        self, profiler: Profiler, numbers: Index, parts: RowParts | None = None
    ) -> None:
        """Statistics of every group, where the smoother has such, from its rows or its parts."""
        count = int(numbers.max()) + 1
        if isinstance(profiler, SplineParts) and parts is not None:
            self._groups = profiler.merged(parts.groups, count)
        else:
            self._groups = _in_parts(profiler, numbers, count)

    def _workers(self) -> int:
        """Fits to run side by side where each of them is small."""
        return self._threads()


def _in_parts(profiler: Profiler, labels: Index, count: int) -> SplineParts | None:
    """Parts of a profiler's rows, if it is one whose statistics add up."""
    if isinstance(profiler, SplineProfiler):
        return profiler.in_parts(labels, count)
    if isinstance(profiler, PooledProfiler):
        nothing = np.zeros((profiler.n, 0))
        pieces = split_statistics(profiler.b, nothing, labels, count)
        return plain_parts(pieces, spline_statistics(profiler.b, nothing))
    return None


def affordable(parts: RowParts, q: int, confounders: int) -> RowParts | None:
    """Parts that are not many more than folds and groups, and whose statistics fit; None for others.

    Folds that overlap at random have so many parts that each is better summed on its own.
    """
    functions = most_functions(confounders)
    families = 1 + functions + functions * (functions + 1) // 2
    natural = max(len(parts.folds), int(parts.groups.max()) + 1)
    size = 8 * parts.count * families * q * (q + 1) // 2
    return parts if parts.count <= 2 * natural + 2 and size <= MOST_BYTES else None
