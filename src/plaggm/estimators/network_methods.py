"""Attributes, tables and exports of PLA-GGM and the related methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plaggm.array_types import Array, Mask
from plaggm.centrality_table import centrality_frame
from plaggm.data import check_partial_correlations
from plaggm.edge_table import EDGE_DEGREES, EdgeTable, edge_frame
from plaggm.exports import Network, networkx_from
from plaggm.moderation_table import ModerationTable
from plaggm.network_matrices import partial_correlations, precision_matrix
from plaggm.result import GraphResult
from plaggm.result_archive import library_versions, plain_settings
from plaggm.wording import listed

if TYPE_CHECKING:
    import networkx
    import pandas as pd

    from plaggm.selection import Choice


class NetworkMethods(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Exports and tests of a fitted network."""

    omega_: Array
    scale_: Array
    partial_correlation_: Array
    _names: tuple[str, ...]

    @property
    def adjacency_(self) -> Mask:
        """Which pairs are edges, declared by tests or by the penalty: shape (p, p)."""
        if not hasattr(self, "omega_"):
            raise AttributeError("adjacency_ is known once the model is fitted.")
        edges: Mask = self._network_of_edges() != 0.0
        return edges

    def to_networkx(self) -> networkx.Graph:
        """A networkx graph of the edges, with the variables' names and partial correlations as weights."""
        check_is_fitted(self)
        return networkx_from(Network(self._names, self._network_of_edges()))

    def edges(self) -> pd.DataFrame:
        """The edges, strongest first; see :meth:`plaggm.GraphResult.edges`.

        If tests declare the edges, estimates are not penalised, and the table also has the columns of
        :meth:`inference`. For variables that are not Gaussian (``family``) it has the column coefficient in
        place of precision: the coefficient in the natural parameter, between two binary variables the log
        odds ratio.
        """
        check_is_fitted(self)
        return edge_frame(
            self._names,
            self._network_of_edges(),
            self.scale_,
            self._deciding_tests(),
            getattr(self, "edge_stability_", None),
            gaussian=not hasattr(self, "families_"),
        )

    def inference(self) -> pd.DataFrame:
        """Test every pair of variables; computed on the first call.

        Returns
        -------
        DataFrame
            One row for each pair, with the columns source, target, estimate (partial correlation of the
            baseline network, without penalty), standard_error, low and high (95 % interval), z, p_value
            (two-sided, of no edge) and q_value (smallest false discovery rate at which the pair is declared
            an edge); with a confounder, if the method has these tests, change_p_value and change_q_value
            (of no difference between the estimates without and with adjustment).

        Notes
        -----
        With heavy tails the intervals of the spline smoother are wider, by a factor that is estimated from
        blocks of rows. Gaussian rows are assumed if they are too few for blocks, or if :meth:`partial_fit`
        would need more than 64 MB for the sums of blocks.
        """
        check_is_fitted(self)
        return self._edge_tests().frame(self._names)

    def centrality(self, groups: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Centrality of every variable in the network; see :meth:`plaggm.GraphResult.centrality`.

        Parameters
        ----------
        groups : mapping of str, optional
            Group of every variable by its name, for centralities of edges between groups.

        Examples
        --------
        >>> from plaggm import PLAGGMCV
        >>> from plaggm.simulate import simulate_paper
        >>> data = simulate_paper(5, n=800, seed=0)
        >>> table = PLAGGMCV().fit(data.x, confounder=data.confounder).centrality()
        >>> table["strength"].is_monotonic_decreasing
        True
        """
        check_is_fitted(self)
        return centrality_frame(
            self._names,
            self._network_of_edges(),
            self._deciding_tests(),
            groups,
        )

    @abstractmethod
    def _edge_tests(self) -> EdgeTable:
        """Tests of all pairs; raises ValueError if there are none."""

    def _deciding_tests(self) -> EdgeTable | None:
        """The tests that declare the edges; None if the penalty does."""
        return None

    def _network_of_edges(self) -> Array:
        """Partial correlations of the edges, zero elsewhere: shape (p, p)."""
        return self.partial_correlation_ - np.eye(len(self.partial_correlation_))


def replace_fit(estimator: NetworkMethods, attributes: dict[str, object]) -> None:
    """Replace the fitted attributes of an estimator by those of a new fit."""
    known = estimator.__dict__
    for name in [name for name in known if name.endswith("_") and not name.startswith("_")]:
        del known[name]
    known.update(attributes)


def imprecise(columns: str = "the columns") -> ValueError:
    """The error for columns so nearly collinear that rounding errors dominate their network."""
    return ValueError(
        f"The network cannot be estimated in double precision: {columns} span too many orders of "
        "magnitude. Look for outliers, use units of similar size, or standardize=True."
    )


def network_attributes(
    omega: Array,
    location: Array,
    scale: Array,
    names: tuple[str, ...],
    *,
    gaussian: bool = True,
) -> dict[str, object]:
    """Fitted attributes that follow from omega and its units.

    Parameters
    ----------
    omega : ndarray of shape (p, p)
    location, scale : ndarray of shape (p,)
    names : tuple of str
        Names of the variables, for a warning of impossible estimates.
    gaussian : bool
        Whether all variables are Gaussian, so that entries are partial correlations.
    """
    possible = np.isfinite(omega).all(axis=0) & np.isfinite(scale) & (scale > 0.0)
    if not possible.all():
        odd = listed(repr(names[j]) for j in np.flatnonzero(~(np.isfinite(scale) & (scale > 0.0))))
        raise imprecise(odd or "the columns")
    if gaussian:
        check_partial_correlations(omega, names)
    return {
        "omega_": omega,
        "location_": location,
        "scale_": scale,
        "partial_correlation_": partial_correlations(omega),
        "precision_": precision_matrix(omega, scale),
    }


def choice_attributes(choice: Choice) -> dict[str, object]:
    """Fitted attributes about the choice of the penalty."""
    found = {
        "criterion_path_": choice.criterion,
        "cv_loss_": choice.loss,
        "cv_standard_error_": choice.standard_error,
        "edge_stability_": choice.edge_stability,
    }
    return {name: value for name, value in found.items() if value is not None}


def graph_result(
    estimator: NetworkMethods,
    samples: tuple[int, int | None],
    diagnostics: dict[str, object],
    **along: Array | None,
) -> GraphResult:
    """A fitted estimator as a :class:`plaggm.GraphResult`, with the tests of its edges if there are any.

    Parameters
    ----------
    estimator : PLAGGM or a related method
    samples : (int, int)
        Number of samples, and of those treated as free of confounding, which may be None.
    diagnostics : dict
        Diagnostics beyond those that every estimator has.
    along : ndarray or None
        ``confounder_grid``, ``nuisance``, ``nuisance_error`` and ``confounder_sample``, if available.
    """
    threshold, bandwidth = estimator.threshold_, estimator.bandwidth_
    tests = None
    try:
        tests = estimator._edge_tests()
    except ValueError as reason:
        diagnostics = {**diagnostics, "untested_edges": str(reason)}
    if tests is not None and tests.dispersion > 1.0:
        diagnostics = {**diagnostics, "edge_dispersion": tests.dispersion}
    if tests is not None and np.isfinite(tests.degrees_of_freedom):
        diagnostics = {**diagnostics, EDGE_DEGREES: tests.degrees_of_freedom}
    return GraphResult(
        names=estimator._names,
        omega=estimator.omega_,
        location=estimator.location_,
        scale=estimator.scale_,
        alpha=estimator.alpha_,
        confounder_names=estimator.confounder_names_,
        references=getattr(estimator, "reference_", {}),
        levels=getattr(estimator, "levels_", {}),
        threshold=None if threshold is None else np.atleast_1d(threshold),
        bandwidth=None if bandwidth is None else np.atleast_1d(bandwidth),
        alphas=getattr(estimator, "alphas_", None),
        omega_path=getattr(estimator, "omega_path_", None),
        criterion_path=getattr(estimator, "criterion_path_", None),
        criterion_error=getattr(estimator, "cv_standard_error_", None),
        stability=getattr(estimator, "edge_stability_", None),
        edge_table=tests,
        moderation_table=None,
        settings={
            "estimator": type(estimator).__name__,
            **plain_settings(estimator.get_params(deep=False)),
        },
        diagnostics={
            "n_samples": samples[0],
            **({} if samples[1] is None else {"n_unconfounded": samples[1]}),
            "dual_gap": estimator.dual_gap_,
            "n_iter": estimator.n_iter_,
            **diagnostics,
        },
        versions=library_versions(),
        **along,
    )


def with_moderation(result: GraphResult, tests: Callable[[], ModerationTable]) -> GraphResult:
    """The result with tests of which edges change, or with the reason for their absence.

    Parameters
    ----------
    result : GraphResult
    tests : callable
        Computes the tests, or raises ValueError with the reason.
    """
    try:
        return replace(result, moderation_table=tests())
    except ValueError as reason:
        told = {**result.diagnostics, "untested_moderation": str(reason)}
        return replace(result, diagnostics=told)


def finite_score(value: float) -> float:
    """The score; raises ValueError unless it is finite."""
    if not np.isfinite(value):
        raise ValueError(
            "These samples have no score: there are none with weight, or they lie so far from those of the "
            "fit that their likelihood is zero in double precision. Look at their values and units."
        )
    return float(value)


def scalar(values: Array | None) -> float | Array | None:
    """The entry of an array of length one as a float; longer arrays unchanged."""
    if values is None:
        return None
    return float(values[0]) if len(values) == 1 else values


def known_threshold(threshold: Array) -> float | Array | None:
    """The attribute ``threshold_`` for thresholds (m,): None if no confounder has one."""
    return None if np.isnan(threshold).all() else scalar(threshold)
