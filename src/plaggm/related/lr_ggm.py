"""LRGGM: the graphical model of the residuals of a linear regression on the confounders."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Index
from plaggm.core.lasso.path import Symmetry
from plaggm.data import Confounder, ConfounderLike, TableLike, check_dependence
from plaggm.estimators.parameter_checks import Constraints, StrOptions
from plaggm.group_labels import LabelsLike
from plaggm.parameter_types import (
    Alphas,
    Criterion,
    Folds,
    LossName,
    Seed,
    Subsample,
    Temporal,
)
from plaggm.related.profilers import ResidualProfiler, centre
from plaggm.related.related_estimator import RelatedEstimator
from plaggm.related.tasks import NOTHING_LEFT, Task, standardised


class LRGGM(RelatedEstimator):
    r"""Gaussian graphical model of the residuals of every variable on the confounders.

    Section 5 of the paper, with the sets of regressors that are usual in functional imaging. Any number
    of confounders is allowed; factors enter as indicator columns for each level but the first. In
    cross-validation the regression is fitted to the training rows.

    Parameters and attributes that are not listed here are those of all related methods; see
    :class:`RelatedEstimator`.

    Parameters
    ----------
    regressors : {"linear", "squares", "derivatives", "both"}, default="linear"
        Regressors: the confounders g; g and g²; g and its differences g' from row to row (rows in the order
        of time; zero in the first row of each of the ``groups`` of ``fit`` or, with ``temporal``, of the
        ``runs``); or all of g, g', g² and g'² (the usual set of 24 for six motion parameters).

    Attributes
    ----------
    location_, scale_ : ndarray of shape (p,)
        Mean where all regressors are zero, and the conditional standard deviations.

    Examples
    --------
    >>> from plaggm.related import LRGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = LRGGM(criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _takes_factors = True
    _parameter_constraints: ClassVar[Constraints] = {
        **RelatedEstimator._parameter_constraints,
        "regressors": [StrOptions({"linear", "squares", "derivatives", "both"})],
    }

    def __init__(
        self,
        *,
        regressors: str = "linear",
        loss: LossName = "glasso",
        alpha: float | None = None,
        alphas: Alphas = 100,
        cv: Folds = 10,
        criterion: Criterion = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        n_subsamples: int = 20,
        subsample: Subsample = "auto",
        instability: float = 0.05,
        symmetry: Symmetry = "joint",
        temporal: Temporal | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss=loss,
            alpha=alpha,
            alphas=alphas,
            cv=cv,
            criterion=criterion,
            one_se=one_se,
            ebic_gamma=ebic_gamma,
            n_subsamples=n_subsamples,
            subsample=subsample,
            instability=instability,
            symmetry=symmetry,
            temporal=temporal,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.regressors = regressors

    def score(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        groups: LabelsLike | None = None,
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
        groups : array of shape (n,), optional
            Group of every row; differences of the confounders are taken within groups.
        sample_weight : array of shape (n,), optional
            Weights of the samples in the mean.
        runs : array of shape (n,), optional
            Run of every sample; only if the model was fitted with ``temporal``.

        Returns
        -------
        float
            Sum over the variables, mean over the samples; larger is better.
        """
        return self._score(X, confounder, sample_weight, groups, runs)

    def _regressors(self, confounder: Array, groups: Index | None) -> Array:
        """See :class:`RelatedEstimator`."""
        return expand_regressors(confounder, self.regressors, groups)

    def _task(
        self, x: Array, confounder: Confounder, groups: Index | None, runs: Index | None
    ) -> Task:
        design = self._filtered_regressors(confounder.values, groups, runs)
        n, k = design.shape
        if n < k + 3:
            raise ValueError(
                f"{k} regressors (regressors={self.regressors!r}, {len(confounder.names)} "
                f"confounders) are too many for {n} samples; at least {k + 3} are needed. Use fewer "
                "confounders or regressors='linear'."
            )
        b, location, scale = standardised(x)
        # All differences are zero if every group has a single row.
        size = np.abs(design).max(axis=0)
        size[size == 0.0] = 1.0
        profiler = ResidualProfiler(b, design / size)
        self._slopes = profiler.slopes(np.arange(n)) * scale / size[:, None]
        gram = centre(profiler.fitted())[0].grams[0, :-1, :-1]
        deviation = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
        # Columns without residuals are refused later, by `task_statistics`.
        if np.all(deviation > NOTHING_LEFT):
            correlation = gram / np.outer(deviation, deviation)
            when = " given the confounders"
            check_dependence(correlation, n - k, self._names, when=when, warn=False)
        return Task([profiler], np.ones(1), location, scale, self._names, np.arange(n))

    def _intercept_shift(self, confounder: Array, groups: Index | None, runs: Index) -> Array:
        moved = self._filtered_regressors(confounder, groups, runs) @ self._slopes / self.scale_
        return moved - moved @ (self.omega_ - np.diag(np.diagonal(self.omega_)))


def expand_regressors(confounder: Array, regressors: str, groups: Index | None = None) -> Array:
    """The confounders with their squares, differences or both.

    Parameters
    ----------
    confounder : ndarray of shape (n, m)
        Confounders of every row.
    regressors : {"linear", "squares", "derivatives", "both"}
        Which functions of the confounders are added; see :class:`LRGGM`.
    groups : ndarray of int of shape (n,), optional
        Differences are taken to the previous row of the same group.

    Returns
    -------
    ndarray of shape (n, m), (n, 2 m) or (n, 4 m)

    Examples
    --------
    >>> import numpy as np
    >>> expand_regressors(np.array([[1.0], [3.0]]), "both")
    array([[1., 0., 1., 0.],
           [3., 2., 9., 4.]])
    >>> expand_regressors(np.array([[1.0], [3.0], [7.0]]), "derivatives", np.array([0, 0, 1]))[:, 1]
    array([0., 2., 0.])
    """
    owner = np.zeros(len(confounder), np.intp) if groups is None else groups
    order = np.argsort(owner, kind="stable")
    step = np.diff(confounder[order], axis=0, prepend=confounder[order[:1]])
    step[np.flatnonzero(np.diff(owner[order])) + 1] = 0.0
    difference = np.empty_like(confounder)
    difference[order] = step
    parts = {
        "linear": [confounder],
        "squares": [confounder, confounder**2],
        "derivatives": [confounder, difference],
        "both": [confounder, difference, confounder**2, difference**2],
    }
    return np.column_stack(parts[regressors])
