"""Checks of parameters; what scikit-learn keeps private of its own is imported here and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from plaggm.arguments import real_array
from plaggm.array_types import Array
from plaggm.parameter_types import Seed
from plaggm.parameter_uses import unused_parameters
from plaggm.wording import shown

Method = TypeVar("Method", bound=Callable[..., Any])
# Allowed values of every parameter, as scikit-learn declares them.
Constraints: TypeAlias = dict[str, list[Any]]

__all__ = [
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
    """Decorate a method that fits: parameters are checked first, and not again in what it calls."""
    checked = _fit_context(prefer_skip_nested_validation=True)(method)

    @wraps(method)
    def wrapper(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        _refuse_huge(estimator)
        return checked(estimator, *args, **kwargs)

    return cast("Method", wrapper)


def check_parameters(estimator: BaseEstimator) -> None:
    """Raise for parameters that their declared constraints do not allow."""
    _refuse_huge(estimator)
    estimator._validate_params()


def _refuse_huge(estimator: BaseEstimator) -> None:
    """Raise for whole numbers that neither a float nor a machine's integer holds."""
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, int) and abs(value) > sys.maxsize:
            raise ValueError(
                f"{name} must be a number below {sys.maxsize:.3g}; got {shown(value)}."
            )


def random_generator(random_state: Seed) -> np.random.RandomState:
    """The generator that a seed stands for, or the one that was given."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 4294967295, a RandomState or None; got "
            f"{shown(random_state)}."
        ) from error
    return generator


def refuse_unused(estimator: BaseEstimator) -> None:
    """Raise for a parameter that is not used under the others and has not its default."""
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
