"""GGM: the plain graphical model of the samples that are free of confounding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Literal

from plaggm.array_types import Array, Index
from plaggm.core.lasso.path import Symmetry
from plaggm.data import Confounder
from plaggm.estimators.network_methods import scalar
from plaggm.estimators.parameter_checks import Constraints, Interval, StrOptions
from plaggm.parameter_types import (
    Alphas,
    Criterion,
    Folds,
    LossName,
    Seed,
    Subsample,
    Temporal,
    Threshold,
)
from plaggm.related.related_estimator import RelatedEstimator
from plaggm.related.related_network import samples_below
from plaggm.related.tasks import Task, pooled_task


class GGM(RelatedEstimator):
    r"""Gaussian graphical model of the samples with :math:`|g| \le g^*` only.

    Section 5 of the paper. With several confounders all must be within their thresholds. Without confounder
    all samples are used.

    Parameters and attributes that are not listed here are those of all related methods; see
    :class:`RelatedEstimator`.

    Parameters
    ----------
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, in the confounder's units. ``"auto"`` is the smallest quantile of the absolute confounder
        (from 10 % up) with three samples for each variable.
    min_samples : int or "auto", default="auto"
        Smallest number of unconfounded samples, below which an error is raised; ``"auto"`` is the number of
        variables.

    Attributes
    ----------
    location_, scale_ : ndarray of shape (p,)
        Mean of the used samples, and their conditional standard deviations.
    threshold_ : float, array of shape (m,) or None
        Threshold in the confounder's units; None without confounder.

    Examples
    --------
    >>> from plaggm.related import GGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = GGM(criterion="bic", threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **RelatedEstimator._parameter_constraints,
        "threshold": [StrOptions({"auto"}), Real, "array-like"],
        "min_samples": [StrOptions({"auto"}), Interval(Integral, 3, None, closed="left")],
    }

    def __init__(
        self,
        *,
        threshold: Threshold = "auto",
        min_samples: int | Literal["auto"] = "auto",
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
        self.threshold = threshold
        self.min_samples = min_samples

    def _used_rows(self, x: Array, confounder: Confounder) -> Index:
        """Rows that are free of confounding."""
        fewest = None if isinstance(self.min_samples, str) else int(self.min_samples)
        rows, limits = samples_below(x, self._names, confounder, self.threshold, fewest)
        self.threshold_ = scalar(limits)
        return rows

    def _task(
        self, x: Array, confounder: Confounder, groups: Index | None, runs: Index | None
    ) -> Task:
        rows = self._used_rows(x, confounder)
        self._say(f"{len(rows)} of {len(x)} samples are free of confounding")
        return pooled_task(x, self._names, rows)
