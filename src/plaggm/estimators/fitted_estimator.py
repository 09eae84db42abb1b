"""Methods of a fitted PLAGGM or PLAGGMCV, and the only place where a fit sets attributes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.arguments import check_count
from plaggm.array_types import Array
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike, new_confounder
from plaggm.edge_table import EdgeTable
from plaggm.estimators.confounder_grid import SAMPLE_POINTS, confounder_grid, values_at_ranks
from plaggm.estimators.confounder_values import confounder_points
from plaggm.estimators.fitted_network import FittedNetwork
from plaggm.estimators.network_diagnostics import network_diagnostics
from plaggm.estimators.network_methods import graph_result, replace_fit, with_moderation
from plaggm.estimators.nuisance_methods import NuisanceMethods
from plaggm.estimators.parameter_checks import check_sample_weight, random_generator
from plaggm.estimators.stream import Stream
from plaggm.group_labels import LabelsLike
from plaggm.parameter_types import Seed
from plaggm.result import GraphResult
from plaggm.selection import GroupBootstrap

Fitted = TypeVar("Fitted", bound="FittedEstimator")

# Standard error of R in results for pairs that no row observes: bands then span all partial correlations.
UNKNOWN_ERROR = 1.0


class FittedEstimator(NuisanceMethods):
    """Methods of a fitted PLAGGM or PLAGGMCV."""

    _stream: Stream | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "omega_")

    def _edge_tests(self) -> EdgeTable:
        return self._network.edge_table

    def _deciding_tests(self) -> EdgeTable | None:
        return self._network.edge_table if self._network.spec.edges == "fdr" else None

    def _network_of_edges(self) -> Array:
        return self._network.edges

    def whitened_rows(self) -> Array:
        """The rows that the network describes: those of ``fit``, whitened if they are time series.

        Returns
        -------
        ndarray of shape (n, p)
            Rows in the units of X, or normal scores with ``margins="rank"``.
        """
        check_is_fitted(self)
        rows = self._network.problem.rows
        if rows is None:
            raise ValueError(
                "There are no rows: only fit keeps them, not fit_chunks or partial_fit."
            )
        return rows.x.copy()

    @single_threaded_blas()
    def score(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        sample_weight: ArrayLike | None = None,
        runs: LabelsLike | None = None,
    ) -> float:
        """Mean log pseudo-likelihood of new samples, with the nuisance learnt from the training data.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of new samples.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m)
            Needed if the model was fitted with one.
        sample_weight : array of shape (n,), optional
            Weights of the samples in the mean.
        runs : array of shape (n,), optional
            Run of every sample; only if the model was fitted with ``temporal``. Samples are whitened first.

        Returns
        -------
        float
            Sum over the variables, mean over the samples; larger is better. With ``margins="rank"``
            that of the normal scores.
        """
        check_is_fitted(self)
        network = self._network
        x = network.problem.columns.values(X)
        weights = check_sample_weight(sample_weight, x)
        values = None
        if network.adjusted:
            values = new_confounder(
                confounder,
                network.problem.confounder_names,
                X,
                len(x),
                network.problem.confounder_levels,
            )
        elif confounder is not None:
            raise ValueError("The model was fitted without confounder; score takes none either.")
        return network.score(network.prepared(x, values, runs), values, weights)

    @single_threaded_blas()
    def sample(
        self, n_samples: int = 1, *, confounder: ArrayLike | None = None, random_state: Seed = None
    ) -> Array:
        """Draw samples from the fitted model, in the units of X.

        With ``temporal`` these are independent rows of the whitened series. With ``margins="rank"`` every
        value occurs in the data of the fit.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples for each confounder value.
        confounder : float or array, optional
            Values to draw at; by default samples come from the baseline network.
        random_state : int, RandomState or None
            Seed of the samples.

        Returns
        -------
        ndarray of shape (n_samples, p) or (k * n_samples, p)
            Samples of the same confounder value are consecutive.
        """
        check_is_fitted(self)
        check_count("n_samples", n_samples, 1)
        points = None
        if confounder is not None:
            problem = self._network.problem
            points, _ = confounder_points(
                confounder, problem.confounder_names, problem.confounder_levels
            )
        return self._network.sample(int(n_samples), points, random_generator(random_state))

    def bootstrap(self, n_resamples: int = 100, *, random_state: Seed = 0) -> GroupBootstrap:
        """Resample the groups of the fit with replacement and count how often each pair is an edge.

        Without groups rows are drawn, if they are in memory. The network is estimated at ``alpha_`` from
        every resample, with the nuisance learnt anew under the penalty and the scaling of the fit. Sets
        ``edge_stability_``, which results and pictures show.

        Parameters
        ----------
        n_resamples : int, default=100
            Number of resamples.
        random_state : int, RandomState or None, default=0
            Seed of the resamples.

        Returns
        -------
        GroupBootstrap
            Frequencies of the edges, means and standard deviations of the estimates.

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
        check_count("n_resamples", n_resamples, 2)
        found = self._network.bootstrap(int(n_resamples), random_generator(random_state))
        self.edge_stability_ = found.frequency
        return found

    @single_threaded_blas()
    def to_result(self, *, moderation: bool = False) -> GraphResult:
        """The fit as a :class:`plaggm.GraphResult`, which can be saved and read again.

        R is computed on a grid of confounder values, and if all rows are in memory the network is tested
        for changes with the confounder.

        Parameters
        ----------
        moderation : bool, default=False
            Also test which edges change with which confounder (:meth:`moderation`). If that is not
            possible, ``diagnostics["untested_moderation"]`` holds the reason.
        """
        check_is_fitted(self)
        network = self._network
        problem, values = network.problem, network.problem.model.confounder
        along: dict[str, Array | None] = {}
        if network.adjusted:
            grid = confounder_grid(values, network.references, problem.confounder_levels)
            along = {
                "confounder_grid": grid,
                "nuisance": network.nuisance(grid),
                "nuisance_error": _finite(network.nuisance_error(grid, baseline=False)),
                "confounder_sample": values_at_ranks(values, SAMPLE_POINTS),
            }
        samples = problem.n, network.at_reference
        result = graph_result(self, samples, network_diagnostics(network), **along)
        return with_moderation(result, lambda: network.moderation) if moderation else result


def _finite(error: Array | None) -> Array | None:
    """Standard errors, with ``UNKNOWN_ERROR`` for pairs that no row observes."""
    return None if error is None else np.where(np.isinf(error), UNKNOWN_ERROR, error)


def adopt(estimator: Fitted, network: FittedNetwork, stream: Stream | None = None) -> Fitted:
    """Set the fitted attributes of an estimator, in place of those of an earlier fit.

    The only place where a fit sets attributes; :meth:`FittedEstimator.bootstrap` adds ``edge_stability_``.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
    network : FittedNetwork
    stream : Stream, optional
        Sums of the rows so far, if ``partial_fit`` may add more.
    """
    network.warn()
    private = {"_network": network, "_stream": stream, "_names": network.problem.columns.names}
    replace_fit(estimator, network.attributes() | private)
    return estimator
