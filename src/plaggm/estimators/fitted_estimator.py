"""Methods and attributes of a fitted PLAGGM or PLAGGMCV, independent of how it was fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, overload

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.arguments import check_count
from plaggm.array_types import Array, Mask
from plaggm.core.confounding_test import ConfoundingTest
from plaggm.core.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike, new_confounder
from plaggm.edge_table import EdgeTable
from plaggm.estimators.confounder_values import confounder_points, warn_of_extrapolation
from plaggm.estimators.family_model import Splines
from plaggm.estimators.fitted_network import SAMPLE_POINTS, FittedNetwork, values_at_ranks
from plaggm.estimators.network_methods import (
    NetworkMethods,
    graph_result,
    replace_fit,
    with_moderation,
)
from plaggm.estimators.parameter_checks import check_sample_weight, random_generator
from plaggm.estimators.stream import Stream
from plaggm.group_labels import LabelsLike
from plaggm.parameter_types import Seed
from plaggm.result import GraphResult
from plaggm.selection import GroupBootstrap

if TYPE_CHECKING:
    import pandas as pd

Fitted = TypeVar("Fitted", bound="FittedEstimator")


class FittedEstimator(NetworkMethods):
    """Methods of a fitted network with its nuisance."""

    _network: FittedNetwork
    _stream: Stream | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "omega_")

    @property
    def adjacency_(self) -> Mask:
        """Which pairs are edges, declared by tests or by the penalty: shape (p, p)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("adjacency_ is known once the model is fitted.")
        edges: Mask = self._network.edges != 0.0
        return edges

    def _edge_tests(self) -> EdgeTable:
        return self._network.edge_table

    def _deciding_tests(self) -> EdgeTable | None:
        return self._network.edge_table if self._network.spec.edges == "fdr" else None

    def _network_of_edges(self) -> Array:
        return self._network.edges

    @overload
    def nuisance(self, g: ArrayLike, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def nuisance(self, g: ArrayLike, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def nuisance(self, g: ArrayLike, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        r"""Estimate R(g), the distortion at some confounder values.

        Zero at the reference; elsewhere the mean of the two nodes' estimates for every pair.

        Parameters
        ----------
        g : float, str, array of shape (k,) or (k, m), or DataFrame
            Values in the confounder's units, names of levels for factors.
        return_std : bool, default=False
            Also return pointwise standard errors; the spline has them.

        Returns
        -------
        nuisance : ndarray of shape (k, p, p)
            R in the units of ``omega_``, shift of the intercepts on the diagonal; (p, p) for a single
            value.
        std : ndarray of the same shape
            Only with ``return_std``.

        Notes
        -----
        The standard errors are those of the mixed model of which the penalised spline is the
        posterior mean: the penalty is taken as given, the baseline network as free (not shrunk by the
        lasso), and uncertainty about the penalty, the threshold and the variances is left out. Averaged
        over the confounder and the pairs, :math:`R \pm 2\,` std covers the truth about as often as
        stated where the spline can follow it; at a single point it may be off either way, and the
        largest distortions, which are shrunk most, and a steep start just beyond the threshold are
        covered less often. A pair's two estimates are nearly the same number, so
        that the standard error of their mean is taken as the mean of both.
        """
        return self._along(g, return_std, baseline=False)

    @overload
    def omega_at(self, g: ArrayLike, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def omega_at(self, g: ArrayLike, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def omega_at(self, g: ArrayLike, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Estimate Ω(g) = Ω0 + R(g), the network at some confounder values.

        Parameters
        ----------
        g : float, array of shape (k,) or (k, m)
            Values in the confounder's units.
        return_std : bool, default=False
            Also return pointwise standard errors, as :meth:`nuisance` does. Below the threshold they
            are those of the baseline network without the lasso.

        Returns
        -------
        omega : ndarray of shape (k, p, p), or (p, p) for a single value
        std : ndarray of the same shape
            Only with ``return_std``.
        """
        return self._along(g, return_std, baseline=True)

    @single_threaded_blas()
    def _along(
        self, g: ArrayLike, return_std: bool, *, baseline: bool
    ) -> Array | tuple[Array, Array]:
        """R, or the baseline network plus R, at some confounder values."""
        check_is_fitted(self)
        network = self._network
        points, single = confounder_points(
            g, network.problem.confounder_names, network.problem.confounder_levels
        )
        found = network.nuisance(points)
        model = network.problem.model
        # The kernel's estimate reaches a bandwidth further, and warns by itself.
        if isinstance(model, Splines):
            warn_of_extrapolation(points, found, model.design)
        if baseline:
            found = network.omega + found
        if not return_std:
            return found[0] if single else found
        errors = network.nuisance_error(points, baseline=baseline)
        if errors is None:
            raise ValueError(
                f"smoother={network.spec.smoother!r} has no standard errors; fit with smoother='spline', "
                "or leave return_std out."
            )
        return (found[0], errors[0]) if single else (found, errors)

    @single_threaded_blas()
    def confounding_test(self) -> ConfoundingTest:
        """Test whether the network changes with the confounder at all, R = 0 being the null hypothesis.

        See :func:`plaggm.confounding_test`; this one is done on the data and at the threshold of ``fit``,
        when it is first asked for. With ``temporal`` the statistic is compared with those of 199 circular
        shifts of the confounder within runs; with ``family``, where a few rows decide, with those of 199
        draws of random signs of the rows' or groups' scores.

        Returns
        -------
        ConfoundingTest
            Result with ``p_value``, ``statistic`` and ``degrees_of_freedom``.
        """
        check_is_fitted(self)
        return self._network.confounding

    def moderation(self) -> pd.DataFrame:
        r"""Test which edges change with which confounder, computed when it is first asked for.

        For each pair (j, k) and each confounder the hypothesis is that its part of :math:`R_{jk}` is zero
        everywhere: an omnibus test over its functions, adjusted for the other confounders. Means and
        variances of the variables may move with the confounder. Sums over rows are all that is needed, so
        that it is at hand after ``fit``, ``fit_chunks``, ``partial_fit`` and ``fit_dask``.

        Returns
        -------
        DataFrame
            One row for each confounder and pair, with the columns source, target, confounder, statistic,
            degrees_of_freedom, p_value, q_value, largest_change (estimated difference of the partial
            correlation from the baseline network where it is largest) and largest_at (the confounder's
            value there).

        Notes
        -----
        q-values are Benjamini and Hochberg's over all pairs, for each confounder on its own: at
        ``q_value <= 0.05`` at most about 5 % of the edges said to change with this confounder do not. With
        ``groups`` or ``temporal`` variances come from leaving out groups or blocks. With ``family`` changes
        are those of ``omega_``, in its units. ``smoother="kernel"`` has no such test. Heavy tails are
        seen where :meth:`inference` sees them. ``docs/moderation.md`` has the statistic.

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> from plaggm.simulate import simulate_paper
        >>> sparse = dict(
        ...     nuisance="sparse", nuisance_density=0.1, shape="ramp", confounder="uniform"
        ... )
        >>> data = simulate_paper(8, n=1500, seed=1, threshold=60.0, **sparse)
        >>> model = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
        >>> found = model.moderation()
        >>> changing = found[found["q_value"] <= 0.05]
        >>> sorted(zip(changing["source"], changing["target"], strict=True))
        [('x2', 'x6'), ('x2', 'x7'), ('x4', 'x7')]
        >>> np.argwhere(np.triu(data.nuisance.weights[0])).tolist()
        [[2, 6], [2, 7], [4, 7]]
        """
        check_is_fitted(self)
        network = self._network
        names = network.problem.confounder_names
        return network.moderation.frame(self._names, names, network.levels)

    def whitened_rows(self) -> Array:
        """The rows that the network describes: those of ``fit``, whitened where they are time series.

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
        """Mean log pseudo-likelihood of new samples, the nuisance taken from the training data.

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
            Run of every sample, if the model was fitted with ``temporal``: samples are whitened first.

        Returns
        -------
        float
            Sum over the variables, mean over the samples; larger is better. Of normal scores with
            ``margins="rank"``.
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
        return network.score(network.whitened(x, values, runs), values, weights)

    @single_threaded_blas()
    def sample(
        self, n_samples: int = 1, *, confounder: ArrayLike | None = None, random_state: Seed = None
    ) -> Array:
        """Draw samples from the fitted model, in the units of X.

        With ``temporal`` these are rows of the whitened series, independent of each other. With
        ``margins="rank"`` every value is one that the fit has seen.

        Parameters
        ----------
        n_samples : int, default=1
            Samples for each confounder value, or in all if there is none.
        confounder : float or array, optional
            Values to draw at; without it samples come from the baseline network.
        random_state : int, RandomState or None
            Seed of the samples.

        Returns
        -------
        ndarray of shape (n_samples, p) or (k * n_samples, p)
            Samples of one confounder value stand together.
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

        Without groups the rows are drawn, if ``fit`` had them. The network is estimated at ``alpha_`` from
        every drawing, the nuisance learnt anew under the penalty and the scaling of the fit. Sets
        ``edge_stability_``, which results and pictures show.

        Parameters
        ----------
        n_resamples : int, default=100
            Number of drawings.
        random_state : int, RandomState or None, default=0
            Seed of the drawings.

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
        check_count("n_resamples", n_resamples, 2)
        found = self._network.bootstrap(int(n_resamples), random_generator(random_state))
        self.edge_stability_ = found.frequency
        return found

    @single_threaded_blas()
    def to_result(self, *, moderation: bool = False) -> GraphResult:
        """The fit as a :class:`plaggm.GraphResult`, which can be saved and read again.

        R is computed on a grid of confounder values, and where ``fit`` had all rows the network is tested
        for changes with the confounder.

        Parameters
        ----------
        moderation : bool, default=False
            Also test which edges change with which confounder (:meth:`moderation`). Where that is not
            possible, ``diagnostics["untested_moderation"]`` says why.
        """
        check_is_fitted(self)
        network = self._network
        model, grid = network.problem.model, network.grid()
        along: dict[str, Array | None] = {}
        if grid is not None:
            along = {
                "confounder_grid": grid,
                "nuisance": network.nuisance(grid),
                "nuisance_error": network.nuisance_error(grid, baseline=False),
                "confounder_sample": values_at_ranks(model.confounder, SAMPLE_POINTS),
            }
        samples = network.problem.n, network.at_reference
        result = graph_result(self, self._names, samples, network.diagnostics(), **along)
        return with_moderation(result, lambda: network.moderation) if moderation else result


def adopt(estimator: Fitted, network: FittedNetwork, stream: Stream | None = None) -> Fitted:
    """Give an estimator a fitted network in place of the one it may have.

    The only place where a fit sets attributes; :meth:`FittedEstimator.bootstrap` adds its own.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
    network : FittedNetwork
    stream : Stream, optional
        The rows so far, if ``partial_fit`` may add more.

    Returns
    -------
    estimator
    """
    network.warn()
    private = {"_network": network, "_stream": stream, "_names": network.problem.columns.names}
    replace_fit(estimator, network.attributes() | private)
    return estimator
