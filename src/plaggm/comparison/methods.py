"""The methods that are compared, each with the settings that make the comparison fair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

import pandas as pd

from plaggm.comparison.clean_samples import CleanSamples
from plaggm.data.norm_index import norm_index
from plaggm.estimators import PLAGGMCV
from plaggm.estimators.spec import all_gaussian
from plaggm.paper_parameters import PAPER_MODEL
from plaggm.parameter_types import (
    Alphas,
    Criterion,
    EdgeRule,
    FamilyChoice,
    Folds,
    LossName,
    ReferenceChoice,
    Temporal,
    Threshold,
    Variance,
)
from plaggm.related import GGM, LRGGM, MRF, TVGGM, ConGGM, RelatedEstimator
from plaggm.wording import shown

Estimator: TypeAlias = PLAGGMCV | RelatedEstimator | MRF | CleanSamples


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings that all methods share.

    Attributes
    ----------
    threshold : "auto", float or array of shape (m,)
        g*, for the methods that use it.
    reference : "auto", "zero", "average", number, level or mapping of these by confounder
        Reference of the confounders; see :class:`plaggm.PLAGGM`. A method that cannot estimate such a
        network is refused with the reason. LR-GGM and CON-GGM have one network for all values.
    categorical : str, sequence of str or None
        Confounders whose numbers are names of levels.
    loss : {"pseudo", "glasso"}
        Loss of the related methods. With ``"pseudo"`` all methods but the fused one differ in nothing but
        their treatment of the confounder.
    criterion : {"cv", "aic", "bic", "ebic", "refit", "stars"}
        Criterion that chooses the penalties.
    edges : {"fdr", "penalty"}
        Which pairs are edges: those that a test declares, for methods that have one, or those that the
        penalty keeps.
    fdr : float
        False discovery rate of declared edges; only with ``edges="fdr"``.
    alphas : int or array
        Number of penalties, or the penalties themselves, decreasing.
    cv : int or splitter
        Folds of the cross-validation.
    unit_variance : bool
        Whether the data have unit conditional variances, as those of ``simulate_paper`` do. The paper's
        estimator, which assumes it, otherwise sees standardised columns.
    variance : {"function", "conditional", "unit"}
        Conditional variances of PLA-GGM by the spline and by the kernel; the paper's are one.
    family : {"gaussian", "binomial", "poisson"} or dict
        Distribution of each variable given the others, see :class:`plaggm.PLAGGM`. Methods that know
        Gaussian variables only are refused with the reason where there are others.
    smoothing : mapping
        ``indicator``, ``form``, ``kernel``, ``bandwidth`` and ``ridge`` of the method ``kernel``, see
        :class:`plaggm.PLAGGM`; the paper's estimator has its own.
    max_iter : int, optional
        Largest number of sweeps of the kernel estimators, whose smallest penalties can be slow.
    temporal : {None, "ar"} or int
        Filter of rows that are time series, see :class:`plaggm.PLAGGM`; None takes them as independent.
    seed : int
        Seed of the folds.
    n_jobs : int, optional
        Number of fits side by side; one when absent.

    Examples
    --------
    >>> Choices(threshold=0.5, criterion="bic").fdr
    0.05
    """

    threshold: Threshold = "auto"
    reference: ReferenceChoice = "auto"
    categorical: str | Sequence[str] | None = None
    loss: LossName = "pseudo"
    criterion: Criterion = "cv"
    edges: EdgeRule = "fdr"
    fdr: float = 0.05
    alphas: Alphas = 100
    cv: Folds = 10
    unit_variance: bool = False
    variance: Variance = "function"
    family: FamilyChoice = "gaussian"
    smoothing: Mapping[str, Any] = field(default_factory=dict)
    max_iter: int | None = None
    temporal: Temporal | None = None
    seed: int = 0
    n_jobs: int | None = None

    @property
    def gaussian(self) -> bool:
        """Whether all variables are Gaussian."""
        return all_gaussian(self.family)

    def target(self) -> Literal["zero", "average"]:
        """Which network along the confounder TV-GGM is asked for; raises where it has none such."""
        asked = self.reference.values() if isinstance(self.reference, Mapping) else [self.reference]
        kinds = set(asked)
        if kinds <= {"zero", "auto"}:
            return "zero"
        if kinds == {"average"}:
            return "average"
        raise ValueError(
            "TV-GGM estimates the network at zero or on average; the reference is "
            f"{self.reference_words()}."
        )

    def need_amounts(self, name: str) -> None:
        """Raise where the network does not refer to samples below a threshold."""
        if self.target() != "zero":
            raise ValueError(
                f"{name} compares with samples below a threshold, and the reference is "
                f"{self.reference_words()}, not zero."
            )

    def reference_words(self) -> str:
        """What the network refers to, by confounder.

        Examples
        --------
        >>> Choices(reference={"age": "average", "site": "B"}).reference_words()
        'average for age, B for site'
        """
        if not isinstance(self.reference, Mapping):
            return shown(self.reference)
        return ", ".join(f"{value} for {name}" for name, value in self.reference.items())

    def selection(self) -> dict[str, Any]:
        """Parameters that every estimator takes."""
        folds = {"cv": self.cv} if self.criterion == "cv" else {}
        return dict(
            criterion=self.criterion,
            alphas=self.alphas,
            temporal=self.temporal,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            **folds,
        )

    def declared(self) -> dict[str, Any]:
        """Parameters of PLA-GGM that say which pairs are edges."""
        return {"edges": self.edges, **({"fdr": self.fdr} if self.edges == "fdr" else {})}


@dataclass(frozen=True, slots=True)
class Method:
    """A way to estimate the network.

    Attributes
    ----------
    name : str
        Name in tables and on the command line.
    title : str
        Name in pictures.
    build : callable
        Makes an estimator from :class:`Choices`.
    adjusts : bool
        Whether it is given the confounder.
    by_norm : bool
        Whether several confounders enter as one, their norm: see :func:`plaggm.data.norm_index.norm_index`.
    slow : bool
        Whether it is left out unless asked for.
    families : bool
        Whether it takes variables that are not Gaussian.
    usual : bool
        Whether it is compared for Gaussian variables unless asked otherwise.
    centred : bool
        Whether confounders enter as differences from their reference.

    Examples
    --------
    >>> from plaggm.comparison import METHODS
    >>> METHODS["lr-ggm"].title
    'LR-GGM'
    """

    name: str
    title: str
    build: Callable[[Choices], Estimator]
    adjusts: bool = True
    by_norm: bool = False
    slow: bool = False
    families: bool = False
    usual: bool = True
    centred: bool = False

    def shown_title(self, gaussian: bool) -> str:
        """The title, which does not speak of Gaussian models where variables are not all Gaussian."""
        own = self.title.removeprefix("GGM, ")
        return self.title if gaussian else own[:1].upper() + own[1:]

    def entering(self, confounder: pd.DataFrame, choices: Choices) -> tuple[pd.DataFrame, Choices]:
        """Confounders as the method is given them, and choices with their thresholds."""
        if self.centred:
            return at_reference(confounder, choices.reference), choices
        if not self.by_norm or confounder.shape[1] < 2:
            return confounder, choices
        choices.need_amounts("The kernel")
        index, threshold = norm_index(confounder, choices.threshold)
        return index, replace(choices, threshold=threshold, reference="zero")


def at_reference(confounder: pd.DataFrame, reference: ReferenceChoice) -> pd.DataFrame:
    """Confounders less their reference, for methods whose network is that at zero.

    Raises ValueError for a factor, whose columns of zeros and ones have their own reference.
    """
    asked = reference if isinstance(reference, Mapping) else dict.fromkeys(confounder, reference)
    moved = confounder.copy()
    for name in confounder:
        if isinstance(confounder[name].dtype, pd.CategoricalDtype):
            raise ValueError(f"Linear covariates are for numbers, and {name!r} is a factor.")
        one = asked.get(name, "zero")
        if one == "average":
            moved[name] = confounder[name] - confounder[name].mean()
        elif not isinstance(one, str):
            moved[name] = confounder[name] - float(one)
    return moved


def _spline(choices: Choices) -> PLAGGMCV:
    return PLAGGMCV(
        threshold=choices.threshold,
        reference=choices.reference,
        categorical=choices.categorical,
        **_distribution(choices),
        **choices.declared(),
        **choices.selection(),
    )


def _with_kernel(choices: Choices, **settings: Any) -> PLAGGMCV:
    choices.need_amounts("The kernel")
    limit: dict[str, Any] = {} if choices.max_iter is None else {"max_iter": choices.max_iter}
    return PLAGGMCV(
        threshold=choices.threshold,
        **settings,
        **limit,
        **choices.declared(),
        **choices.selection(),
    )


def _paper(choices: Choices) -> PLAGGMCV:
    return _with_kernel(choices, **PAPER_MODEL, standardize=not choices.unit_variance)


def _kernel(choices: Choices) -> PLAGGMCV:
    return _with_kernel(choices, smoother="kernel", variance=choices.variance, **choices.smoothing)


def _distribution(choices: Choices) -> dict[str, Any]:
    """Parameters of PLA-GGM on the variables given the others."""
    return {"variance": choices.variance} if choices.gaussian else {"family": choices.family}


def _without_confounder(choices: Choices) -> PLAGGMCV:
    """A model without confounder of all samples, with their families."""
    return PLAGGMCV(family=choices.family, **choices.declared(), **choices.selection())


def _ggm(choices: Choices) -> GGM | CleanSamples:
    choices.need_amounts("GGM on clean samples")
    if not choices.gaussian:
        return CleanSamples(_without_confounder(choices), choices.threshold)
    return GGM(threshold=choices.threshold, loss=choices.loss, **choices.selection())


def _con(choices: Choices) -> ConGGM:
    return ConGGM(loss=choices.loss, **choices.selection())


def _lr(choices: Choices) -> LRGGM:
    return LRGGM(loss=choices.loss, **choices.selection())


def _tv(choices: Choices) -> TVGGM:
    return TVGGM(target=choices.target(), loss=choices.loss, **choices.selection())


def _tv_average(choices: Choices) -> TVGGM:
    return TVGGM(target="average", loss=choices.loss, **choices.selection())


def _tv_fused(choices: Choices) -> TVGGM:
    return TVGGM(smoother="fused", target=choices.target(), **choices.selection())


def _linear(choices: Choices, **settings: Any) -> MRF:
    if choices.criterion not in ("cv", "aic", "bic", "ebic"):
        raise ValueError(f"Linear covariates have no criterion={choices.criterion!r}.")
    parameters = choices.selection()
    if parameters.pop("temporal") is not None:
        raise ValueError("Linear covariates take rows as independent, not as time series.")
    del parameters["n_jobs"]
    return MRF(family=choices.family, **settings, **parameters)


def _mrf(choices: Choices) -> MRF:
    return _linear(choices)


def _mrf_squares(choices: Choices) -> MRF:
    return _linear(choices, regressors="squares")


def _pooled(choices: Choices) -> GGM | PLAGGMCV:
    if not choices.gaussian:
        return _without_confounder(choices)
    return GGM(loss=choices.loss, **choices.selection())


METHODS = {
    method.name: method
    for method in (
        Method("spline", "PLA-GGM, spline", _spline, families=True),
        Method("paper", "PLA-GGM, the paper's estimator", _paper, by_norm=True),
        Method("kernel", "PLA-GGM, kernel", _kernel),
        Method("ggm", "GGM, clean samples only", _ggm, families=True),
        Method("con-ggm", "CON-GGM", _con),
        Method("lr-ggm", "LR-GGM", _lr),
        Method("tv-ggm", "TV-GGM, kernel at the reference", _tv),
        Method("tv-ggm-average", "TV-GGM, kernel averaged", _tv_average, slow=True),
        Method("tv-ggm-fused", "TV-GGM, fused bins", _tv_fused, slow=True),
        Method("mrf", "MRF, linear covariates", _mrf, families=True, usual=False, centred=True),
        Method(
            "mrf-squares",
            "MRF, squared covariates",
            _mrf_squares,
            families=True,
            usual=False,
            centred=True,
        ),
        Method("pooled", "GGM, all samples", _pooled, adjusts=False, families=True),
    )
}
# What is compared unless asked otherwise: the others estimate many networks at every penalty.
COMPARED = tuple(name for name, method in METHODS.items() if method.usual and not method.slow)
FAMILY_COMPARED = tuple(name for name, method in METHODS.items() if method.families)


def compared(choices: Choices) -> tuple[str, ...]:
    """Methods that are compared unless asked otherwise."""
    return COMPARED if choices.gaussian else FAMILY_COMPARED


def check_methods(names: object) -> tuple[str, ...]:
    """Names of methods, each once and in the order of :data:`METHODS`.

    Examples
    --------
    >>> check_methods(["pooled", "spline"])
    ('spline', 'pooled')
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"methods must be a list of names; got {shown(names)}.")
    asked = list(names)
    for name in asked:
        if not isinstance(name, str) or name not in METHODS:
            near = get_close_matches(str(name), METHODS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"There is no method {shown(name)}.{hint} Choose among {', '.join(METHODS)}."
            )
    if not asked:
        raise ValueError(f"Name at least one method: {', '.join(METHODS)}.")
    return tuple(name for name in METHODS if name in asked)


def build_method(name: str, choices: Choices) -> Estimator:
    """The estimator of a method.

    Examples
    --------
    >>> build_method("lr-ggm", Choices(criterion="bic", alphas=5))
    LRGGM(alphas=5, criterion='bic', loss='pseudo')
    """
    method = METHODS[check_methods([name])[0]]
    if not choices.gaussian and not method.families:
        raise ValueError(
            f"{method.title} is for Gaussian variables: its likelihood cannot be compared with that of "
            "binary variables or counts."
        )
    return method.build(choices)
