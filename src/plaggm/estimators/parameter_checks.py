"""Checks of parameters; the only module that imports private functions of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from plaggm.arguments import check_jobs, real_array
from plaggm.array_types import Array
from plaggm.data import LARGEST
from plaggm.parameter_types import Seed
from plaggm.parameter_uses import unused_parameters
from plaggm.wording import shown

Method = TypeVar("Method", bound=Callable[..., Any])
# Allowed values of every parameter, as scikit-learn declares them.
Constraints: TypeAlias = dict[str, list[Any]]
# Largest number of penalties on a grid.
MOST_PENALTIES = 100_000
# Parameters of all estimators that choose a penalty.
PENALTY_CONSTRAINTS: Constraints = {
    "alphas": [Interval(Integral, 1, MOST_PENALTIES, closed="both"), "array-like"],
    "cv": ["cv_object"],
    "criterion": [StrOptions({"cv", "aic", "bic", "ebic", "refit", "stars"})],
    "one_se": ["boolean"],
    "ebic_gamma": [Interval(Real, 0, None, closed="left")],
    "n_subsamples": [Interval(Integral, 2, None, closed="left")],
    "subsample": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
    "instability": [Interval(Real, 0, 0.5, closed="neither")],
    "random_state": ["random_state"],
}

__all__ = [
    "PENALTY_CONSTRAINTS",
    "Constraints",
    "Interval",
    "StrOptions",
    "check_parameters",
    "check_sample_weight",
    "checks_parameters",
    "random_generator",
    "refuse_unused",
]


def checks_parameters(method: Method) -> Method:
    """Decorate a fitting method so that parameters are validated first, and only once."""
    checked = _fit_context(prefer_skip_nested_validation=True)(method)

    @wraps(method)
    def wrapper(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        _refuse_overflow(estimator)
        return checked(estimator, *args, **kwargs)

    return cast("Method", wrapper)


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise for parameters that their declared constraints do not allow."""
    _refuse_overflow(estimator)
    estimator._validate_params()


def _refuse_overflow(estimator: BaseEstimator) -> None:
    """Raise for numbers too large for floating-point or integer arithmetic, and for ``n_jobs=0``."""
    for name, value in estimator.get_params(deep=False).items():
        number: Any = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, Real) or abs(number) == np.inf:
            continue
        most: Any = sys.maxsize if isinstance(number, Integral) else LARGEST
        if abs(number) > most:
            raise ValueError(f"{name} must be a number below {most:.3g}; got {shown(value)}.")
        if name == "n_jobs" and isinstance(number, Integral):
            check_jobs(number)


def random_generator(random_state: Seed) -> np.random.RandomState:
    """The random generator for a seed; a generator is returned unchanged."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 4294967295, a RandomState or None; got "
            f"{shown(random_state)}."
        ) from error
    return generator


def refuse_unused(estimator: BaseEstimator) -> None:
    """Raise for a parameter with a non-default value that is not used under the other parameters."""
    defaults = {
        name: parameter.default
        for name, parameter in signature(type(estimator).__init__).parameters.items()
    }
    given = estimator.get_params(deep=False)
    for found in unused_parameters(given, defaults):
        needs = " or ".join(f"{name}={value!r}" for name, value in found.needs)
        owner = found.needs[0][0]
        raise ValueError(
            f"{found.name}={shown(found.value)} is not used with "
            f"{owner}={shown(given[owner])}, only with {needs}. Leave {found.name} out "
            f"(its default is {defaults[found.name]!r}), or set {owner}."
        )


def check_sample_weight(sample_weight: ArrayLike | None, x: Array) -> Array:
    """Weights of the rows of x, ones when absent: shape (n,); none may be negative."""
    if not (sample_weight is None or isinstance(sample_weight, Real)):
        sample_weight = real_array(sample_weight, "sample_weight")
    weights = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
    return np.asarray(weights, dtype=np.float64)
