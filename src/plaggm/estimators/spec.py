"""What a fit is asked to do: the parameters of an estimator, frozen and free of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from plaggm.core.path import Symmetry
from plaggm.estimators.parameter_checks import refuse_unused
from plaggm.selection import check_alphas, make_folds
from plaggm.selection.parallel import local_threads
from plaggm.selection.parts import Fold

Array = NDArray[np.float64]
Indicator = str | Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Parameters of the kernel smoother; see :class:`plaggm.PLAGGM`."""

    kernel: str
    indicator: Indicator
    form: str
    bandwidth: Any
    ridge: float


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """Penalties of the edges and what chooses among them; see :class:`plaggm.PLAGGMCV`.

    Attributes
    ----------
    alphas : int or ndarray
        Number of penalties on a grid, or the penalties.
    criterion : {"given", "cv", "aic", "bic", "ebic", "refit", "stars"}
        ``"given"`` takes the first penalty.
    cv, one_se, ebic_gamma, n_subsamples, subsample, instability, random_state
        As for :class:`plaggm.PLAGGMCV`.
    """

    alphas: int | Array
    criterion: Literal["given", "cv", "aic", "bic", "ebic", "refit", "stars"]
    cv: Any = 10
    one_se: bool = False
    ebic_gamma: float = 0.5
    n_subsamples: int = 20
    subsample: Any = "auto"
    instability: float = 0.05
    random_state: Any = 0

    def folds(self, n: int, groups: NDArray[Any] | None) -> list[Fold]:
        """Training and test rows where held-out rows choose the penalty; none otherwise."""
        return self.make_folds(n, groups) if self.criterion == "cv" else []

    def make_folds(self, n: int, groups: NDArray[Any] | None) -> list[Fold]:
        """Training and test rows, whatever the criterion."""
        return make_folds(self.cv, n, self.random_state, groups)


@dataclass(frozen=True, slots=True)
class FitSpec:
    """Everything that an estimator's parameters say about a fit.

    Attributes
    ----------
    name : str
        Of the estimator, for what is printed.
    smoother : {"spline", "kernel"}
    threshold : "auto", float or array of shape (m,)
    tau : "focused", "reml" or float
    kernel : KernelSpec
    symmetry : {"joint", "and", "or"}
    variance : {"function", "conditional", "unit"}
    standardize : bool
        Whether columns are centred and scaled first.
    tol, max_iter
        Of the lasso.
    penalties : PenaltySpec
    edges : {"fdr", "penalty"}
        What declares the edges: tests, or the penalty.
    fdr : float
        False discovery rate of declared edges.
    n_threads : int
        Threads of one fit.
    n_jobs : int or None
        Fits side by side.
    verbose : int
    """

    name: str
    smoother: Literal["spline", "kernel"]
    threshold: Any
    tau: Any
    kernel: KernelSpec
    symmetry: Symmetry
    variance: Literal["function", "conditional", "unit"]
    standardize: bool
    tol: float
    max_iter: int
    penalties: PenaltySpec
    edges: Literal["fdr", "penalty"]
    fdr: float
    n_threads: int
    n_jobs: int | None
    verbose: int

    @property
    def inflation(self) -> bool:
        """Whether the confounder may inflate the variance."""
        return self.variance == "function"

    def say(self, message: str, level: int = 1) -> None:
        """Print what is done, if asked to."""
        if self.verbose >= level:
            print(f"[{self.name}] {message}")

    def need_sums(self, what: str) -> None:
        """Raise where a fit cannot do with sums over rows.

        Parameters
        ----------
        what : str
            The method that has no more than sums, for the message.
        """
        if self.smoother != "spline":
            raise ValueError(needs_spline(what, self.smoother))
        if self.penalties.criterion == "stars":
            raise ValueError(
                "criterion='stars' draws rows, and chunks are not kept. Use criterion='cv' or 'ebic', or "
                "groups and bootstrap() for how stable the edges are."
            )


def needs_spline(what: str, smoother: str) -> str:
    """Message for a method that works on sums over rows only."""
    return (
        f"{what} needs smoother='spline', whose statistics add up over rows; smoother={smoother!r} needs "
        "all rows at once: use fit."
    )


def fit_spec(estimator: BaseEstimator) -> FitSpec:
    """The parameters of a :class:`plaggm.PLAGGM` or :class:`plaggm.PLAGGMCV`, each of them valid by itself.

    Raises ValueError for one that would not be used.
    """
    refuse_unused(estimator)
    given = estimator.get_params(deep=False)
    n_jobs, variance = given["n_jobs"], given["variance"]
    standardize = given["standardize"]
    return FitSpec(
        name=type(estimator).__name__,
        smoother=given["smoother"],
        threshold=given["threshold"],
        tau=given["tau"],
        kernel=KernelSpec(
            given["kernel"],
            given["indicator"],
            given["form"],
            given["bandwidth"],
            float(given["ridge"]),
        ),
        symmetry=given["symmetry"],
        variance=variance,
        standardize=variance != "unit" if isinstance(standardize, str) else bool(standardize),
        tol=float(given["tol"]),
        max_iter=int(given["max_iter"]),
        penalties=_penalties(given),
        edges=given.get("edges", "penalty"),
        fdr=float(given.get("fdr", 0.05)),
        n_threads=local_threads(n_jobs),
        n_jobs=n_jobs,
        verbose=int(given["verbose"]),
    )


def _penalties(given: dict[str, Any]) -> PenaltySpec:
    if "alpha" in given:
        return PenaltySpec(np.array([float(given["alpha"])]), "given")
    alphas = given["alphas"]
    return PenaltySpec(
        int(alphas) if isinstance(alphas, Integral) else check_alphas(alphas),
        given["criterion"],
        given["cv"],
        bool(given["one_se"]),
        float(given["ebic_gamma"]),
        int(given["n_subsamples"]),
        given["subsample"],
        float(given["instability"]),
        given["random_state"],
    )
