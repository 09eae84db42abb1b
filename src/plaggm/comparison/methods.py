"""The compared methods, with comparable settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeAlias

import pandas as pd

from plaggm.comparison.choices import Choices
from plaggm.comparison.clean_samples import CleanSamples
from plaggm.data.norm_index import norm_index
from plaggm.estimators import PLAGGMCV
from plaggm.paper_parameters import PAPER_MODEL
from plaggm.parameter_types import ReferenceChoice
from plaggm.related import GGM, LRGGM, MRF, TVGGM, ConGGM, RelatedEstimator
from plaggm.wording import shown

Estimator: TypeAlias = PLAGGMCV | RelatedEstimator | MRF | CleanSamples


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
        Whether it uses the confounder.
    by_norm : bool
        Whether several confounders enter by their norm: see :func:`plaggm.data.norm_index.norm_index`.
    slow : bool
        Whether it is left out by default.
    families : bool
        Whether it allows variables that are not Gaussian.
    usual : bool
        Whether it is compared by default if all variables are Gaussian.
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
        """The title, without "GGM" if not all variables are Gaussian."""
        own = self.title.removeprefix("GGM, ")
        return self.title if gaussian else own[:1].upper() + own[1:]

    def entering(self, confounder: pd.DataFrame, choices: Choices) -> tuple[pd.DataFrame, Choices]:
        """Confounders in the form in which they enter the method, and choices with their thresholds."""
        if self.centred:
            return at_reference(confounder, choices.reference), choices
        if not self.by_norm or confounder.shape[1] < 2:
            return confounder, choices
        choices.need_amounts("The kernel")
        index, threshold = norm_index(confounder, choices.threshold)
        return index, replace(choices, threshold=threshold, reference="zero")


def at_reference(confounder: pd.DataFrame, reference: ReferenceChoice) -> pd.DataFrame:
    """Confounders minus their reference, for methods whose network is that at zero.

    Raises ValueError for factors.
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
# Methods that are compared by default; slow ones estimate many networks at every penalty.
COMPARED = tuple(name for name, method in METHODS.items() if method.usual and not method.slow)
FAMILY_COMPARED = tuple(name for name, method in METHODS.items() if method.families)


def compared(choices: Choices) -> tuple[str, ...]:
    """Methods that are compared by default."""
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
