"""The parameters of an estimator as a frozen specification, independent of the estimator object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from plaggm.core.lasso.path import Symmetry
from plaggm.data import Confounder
from plaggm.estimators.parameter_checks import refuse_unused
from plaggm.estimators.reference_choice import refer
from plaggm.parameter_types import (
    Bandwidth,
    EdgeRule,
    FamilyChoice,
    FormChoice,
    IndicatorChoice,
    MarginChoice,
    Missing,
    ReferenceChoice,
    Robust,
    Smoother,
    Tau,
    Temporal,
    Threshold,
    Variance,
)
from plaggm.selection import PenaltySpec, penalty_spec
from plaggm.selection.parallel import local_threads
from plaggm.wording import shown


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Parameters of the kernel smoother; see :class:`plaggm.PLAGGM`."""

    kernel: str
    indicator: IndicatorChoice
    form: FormChoice
    bandwidth: Bandwidth
    ridge: float


@dataclass(frozen=True, slots=True)
class FitSpec:
    """The specification of a fit: all parameters of an estimator, in their final form.

    Attributes
    ----------
    name : str
        Name of the estimator, for progress messages.
    smoother : {"spline", "kernel"}
    threshold : "auto", float or array of shape (m,)
    reference : "auto", "zero", "average", number, level or mapping of these by confounder
        Reference of the confounders.
    categorical : sequence of str or None
        Confounders to be treated as factors although they hold numbers.
    tau : "focused", "reml" or float
    kernel : KernelSpec
    symmetry : {"joint", "and", "or"}
    variance : {"function", "conditional", "unit"}
    standardize : bool
        Whether columns are centred and scaled first.
    tol, max_iter
        Tolerance and largest number of sweeps of the lasso.
    penalties : PenaltySpec
    edges : {"fdr", "penalty"}
        Whether tests or the penalty declare the edges.
    fdr : float
        False discovery rate of declared edges.
    temporal : "ar", int or None
        Filter of rows that are time series.
    robust : "winsor" or None
        Treatment of outlying values.
    margins : {"gaussian", "rank"}
        Whether variables are replaced by normal scores (``"rank"``).
    missing : {"refuse", "drop", "em"}
        Treatment of missing values.
    family : {"gaussian", "binomial", "poisson"} or mapping of these by variable
        Distribution of the variables.
    n_threads : int
        Threads of one fit.
    n_jobs : int or None
        Number of parallel fits.
    verbose : int
    """

    name: str
    smoother: Smoother
    threshold: Threshold
    reference: ReferenceChoice
    categorical: object
    tau: Tau
    kernel: KernelSpec
    symmetry: Symmetry
    variance: Variance
    standardize: bool
    tol: float
    max_iter: int
    penalties: PenaltySpec
    edges: EdgeRule
    fdr: float
    temporal: Temporal | None
    robust: Robust | None
    margins: MarginChoice
    missing: Missing
    family: FamilyChoice
    n_threads: int
    n_jobs: int | None
    verbose: int

    @property
    def inflation(self) -> bool:
        """Whether the confounder may inflate the variance."""
        return self.variance == "function"

    @property
    def gaussian(self) -> bool:
        """Whether all variables are Gaussian."""
        return all_gaussian(self.family)

    def referred(self, confounder: Confounder) -> Confounder:
        """The confounders with their references set."""
        return refer(confounder, self.reference, self.threshold, self.smoother)

    def say(self, message: str, level: int = 1) -> None:
        """Print a progress message if ``verbose`` is at least ``level``."""
        if self.verbose >= level:
            print(f"[{self.name}] {message}")

    def need_sums(self, what: str) -> None:
        """Raise for parameters under which sums over rows do not suffice for a fit.

        Parameters
        ----------
        what : str
            Method that has only sums, for the message.
        """
        if not self.gaussian:
            raise ValueError(
                f"{what} needs family='gaussian', for which sums over rows are all that a fit needs; "
                f"family={shown(self.family)} weighs all rows anew in every step: use fit."
            )
        if self.smoother != "spline":
            raise ValueError(needs_spline(what, self.smoother))
        if self.penalties.criterion == "stars":
            raise ValueError(
                "criterion='stars' draws rows, and chunks are not kept. Use criterion='cv' or 'ebic', or "
                "groups and bootstrap() for how stable the edges are."
            )

    def need_complete_rows(self, adjusted: bool) -> None:
        """Raise for parameters that cannot be combined with ``missing="em"``.

        Parameters
        ----------
        adjusted : bool
            Whether there is a confounder.
        """
        if self.missing != "em":
            return
        if not self.gaussian:
            raise ValueError(
                f"missing='em' does not take family={shown(self.family)}: missing cells are completed by "
                "their Gaussian distribution given the others. Use missing='drop' with it."
            )
        if self.temporal is not None:
            raise ValueError(
                "missing='em' does not take time series (temporal): the filter needs the rows before each "
                "row whole. Use missing='drop', which ends a series where a row is left out, or "
                "temporal=None."
            )
        if self.robust is not None:
            raise ValueError(
                f"missing='em' does not take robust={self.robust!r}: limits of far values are learnt from "
                "complete rows. Use missing='drop' with it, or robust=None."
            )
        if self.margins != "gaussian":
            raise ValueError(
                f"missing='em' does not take margins={self.margins!r}: distribution functions are those of "
                "complete rows. Use missing='drop' with it, or margins='gaussian'."
            )
        if self.smoother != "spline" and adjusted:
            raise ValueError(
                "missing='em' needs smoother='spline', which is fitted to sums whose expectation is known; "
                "smoother='kernel' transforms every row by itself. Use missing='drop' with it."
            )
        if self.penalties.criterion == "stars":
            raise ValueError(
                "criterion='stars' draws rows, and missing='em' knows sums over rows. Use criterion='cv' "
                "or 'ebic', or missing='drop'."
            )

    def need_nothing_learnt(self, what: str) -> None:
        """Raise for parameters that need a pass over all rows before any row can be summed.

        Parameters
        ----------
        what : str
            Method, for the message.
        """
        if self.temporal is not None:
            raise ValueError(
                f"{what} cannot filter time series (temporal={self.temporal!r}): the filter is fitted to "
                "all rows and needs the rows before each row, and both are unknown when rows are summed. "
                "Use fit or fit_chunks, or temporal=None."
            )
        if self.robust is not None:
            raise ValueError(
                f"{what} cannot pull in far values (robust={self.robust!r}): limits are learnt from rows "
                "of the whole table before any row is summed. Use fit or fit_chunks, or robust=None."
            )
        if self.margins != "gaussian":
            raise ValueError(
                f"{what} cannot replace variables by normal scores (margins={self.margins!r}): "
                "distribution functions are learnt from the whole table before any row is summed. Use fit "
                "or fit_chunks, or margins='gaussian'."
            )
        if self.missing == "em":
            raise ValueError(
                f"{what} cannot complete missing values (missing='em'): their distribution is learnt by "
                "reading all rows many times, and here rows are summed once. Use fit or fit_chunks, or "
                "missing='drop'."
            )


def needs_spline(what: str, smoother: str) -> str:
    """Error message of a method that needs statistics that add up over rows."""
    return (
        f"{what} needs smoother='spline', whose statistics add up over rows; smoother={smoother!r} needs "
        "all rows at once: use fit."
    )


def all_gaussian(family: FamilyChoice) -> bool:
    """Whether a choice of families makes all variables Gaussian.

    Examples
    --------
    >>> all_gaussian("gaussian"), all_gaussian({"x": "binomial"})
    (True, False)
    """
    given = family.values() if isinstance(family, Mapping) else (family,)
    return all(isinstance(one, str) and one == "gaussian" for one in given)


def fit_spec(estimator: BaseEstimator) -> FitSpec:
    """The specification of a :class:`plaggm.PLAGGM` or :class:`plaggm.PLAGGMCV` with valid parameters.

    Raises ValueError for parameters that would not be used or cannot be combined.
    """
    refuse_unused(estimator)
    given = estimator.get_params(deep=False)
    if given["robust"] is not None and not all_gaussian(given["family"]):
        raise ValueError(
            f"robust={given['robust']!r} needs family='gaussian'; got family={shown(given['family'])}. "
            "Leave robust out: zeros, ones and counts have no far values to pull in."
        )
    if given["symmetry"] != "joint" and not all_gaussian(given["family"]):
        raise ValueError(
            f"symmetry={given['symmetry']!r} needs family='gaussian'; family={shown(given['family'])} is "
            "fitted over symmetric networks only. Leave symmetry out, or set symmetry='joint'."
        )
    n_jobs, variance = given["n_jobs"], given["variance"]
    standardize = given["standardize"]
    return FitSpec(
        name=type(estimator).__name__,
        smoother=given["smoother"],
        threshold=given["threshold"],
        reference=given["reference"],
        categorical=given["categorical"],
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
        penalties=penalty_spec(given),
        edges=given.get("edges", "penalty"),
        fdr=float(given.get("fdr", 0.05)),
        temporal=given["temporal"],
        robust=given["robust"],
        margins=given["margins"],
        missing=given["missing"],
        family=given["family"],
        n_threads=local_threads(n_jobs),
        n_jobs=n_jobs,
        verbose=int(given["verbose"]),
    )
