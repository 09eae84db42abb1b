"""Score, tests of edges and diagnostics of fitted related methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.inference.edge_tests import warn_of_few_groups
from plaggm.core.inference.gram_tests import least_squares_tests
from plaggm.core.inference.pair_statistics import EdgeTests
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.profile.profilers import Profiler
from plaggm.data import ConfounderLike, TableLike
from plaggm.edge_table import EdgeTable
from plaggm.estimators.edge_inference import as_table
from plaggm.estimators.network_methods import finite_score
from plaggm.estimators.parameter_checks import check_sample_weight
from plaggm.estimators.serial import NO_RUNS, run_numbers
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.related.related_network import RelatedNetwork
from plaggm.related.series_filter import SeriesFilter
from plaggm.related.tasks import Segment, log_likelihood


class FittedRelated(RelatedNetwork):
    """Score and tests of a related method; subclasses override the hooks for the confounder."""

    failures_: dict[float, str]
    _effective: float
    _grams: GramMatrices | None
    _profiler: Profiler
    _clusters: Index | None
    _series: SeriesFilter | None

    def score(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        sample_weight: ArrayLike | None = None,
        runs: LabelsLike | None = None,
    ) -> float:
        """Mean log pseudo-likelihood of new samples, comparable to that of :class:`plaggm.PLAGGM`.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m)
            Needed if the model was fitted with one.
        sample_weight : array of shape (n,), optional
            Weights of the samples in the mean.
        runs : array of shape (n,), optional
            Run of every sample; only if the model was fitted with ``temporal``. Samples are whitened by the
            fitted filter.

        Returns
        -------
        float
            Sum over the variables, mean over the samples; larger is better.
        """
        return self._score(X, confounder, sample_weight, runs=runs)

    @single_threaded_blas()
    def _score(
        self,
        X: TableLike,
        confounder: ConfounderLike | None,
        sample_weight: ArrayLike | None,
        groups: LabelsLike | None = None,
        runs: LabelsLike | None = None,
    ) -> float:
        check_is_fitted(self)
        x = self._variables.values(X)
        weights = check_sample_weight(sample_weight, x)
        if runs is not None and self._series is None:
            raise ValueError(NO_RUNS)
        # Unlike those of a fit, new samples may all be of one group.
        owner = None if groups is None else group_numbers(groups, len(x), fewest=1)[0]
        series = run_numbers(runs, owner, len(x))
        shift, segments = np.zeros_like(x), [self._everywhere(len(x))]
        values = self._new_values(X, len(x), confounder)
        if self.confounder_names_:
            shift, segments = self._intercept_shift(values, owner, series), self._segments(values)
        if self._series is not None:
            means = values if self._has_moving_means() else values[:, :0]
            x = self._series.variables(x, means, series)
        likelihood = log_likelihood(x, shift, segments)
        return finite_score(np.average(likelihood, weights=weights / weights.max()))

    def _edge_tests(self) -> EdgeTable:
        """The t test of every partial correlation of the method's columns."""
        if self._grams is None:
            raise ValueError(
                f"{type(self).__name__} weights samples by their confounder, and there is no textbook test "
                "of its edges. Use plaggm.PLAGGMCV, whose edges have one."
            )
        # The mean is already among the degrees of freedom spent, and the regressions add an intercept.
        spent = self._grams.smoother_trace - 1.0
        tests = (
            least_squares_tests(self._grams.with_trace(spent))
            if self._series is None
            else self._block_tests(self._series)
        )
        return as_table(tests, len(self._names))

    def _block_tests(self, series: SeriesFilter) -> EdgeTests:
        """Least squares with standard errors from leaving out blocks of a time series, or groups."""
        profiler, everything = self._profiler, np.arange(self._profiler.n)
        numbers = series.serial.blocks if self._clusters is None else self._clusters
        members = [np.flatnonzero(numbers == group) for group in np.unique(numbers)]
        warn_of_few_groups(len(members))
        return least_squares_tests(
            profiler.fitted(), (profiler.split(everything, rows)[1] for rows in members)
        )

    def _has_textbook_test(self) -> bool:
        """Whether the t test of a partial correlation is valid for the method's columns."""
        return True

    def _regressors(self, confounder: Array, groups: Index | None) -> Array:
        """Regressors that are removed from the variables, given confounder values (n, m): shape (n, k)."""
        return np.zeros((len(confounder), 0))

    def _has_moving_means(self) -> bool:
        """Whether the means of the variables may follow any smooth function of the confounder."""
        return False

    def _filtered_regressors(
        self, confounder: Array, groups: Index | None, runs: Index | None
    ) -> Array:
        """The regressors, filtered if rows are time series: shape (n, k)."""
        if self._series is None:
            return self._regressors(confounder, groups)
        assert runs is not None
        regressors = self._regressors(confounder, runs)
        return self._series.regressors(regressors, runs)

    def _intercept_shift(self, confounder: Array, groups: Index | None, runs: Index) -> Array:
        """Shifts of the intercepts at confounder values (n, m), in units of omega: shape (n, p)."""
        return np.zeros((len(confounder), len(self._names)))

    def _segments(self, confounder: Array) -> list[Segment]:
        """The networks that describe samples with these confounder values (n, m)."""
        return [self._everywhere(len(confounder))]

    def _everywhere(self, n: int) -> Segment:
        return Segment(np.arange(n), self.omega_, self.location_, self.scale_)

    def _diagnostics(self) -> dict[str, object]:
        """See :class:`RelatedNetwork`."""
        failures = {f"{alpha:.6g}": reason for alpha, reason in self.failures_.items()}
        diagnostics: dict[str, object] = {"effective_samples": self._effective}
        diagnostics |= {"failures": failures} if failures else {}
        if self._series is not None:
            diagnostics |= self._series.serial.diagnostics()
        return diagnostics
