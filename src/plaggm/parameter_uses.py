"""Parameters that are used only with certain values of other parameters.

Estimators and the command line refuse values other than the default for parameters that would not be used,
except ``random_state``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# For each parameter the settings of which at least one is needed for its use.
USES: dict[str, tuple[tuple[str, Any], ...]] = {
    "tau": (("smoother", "spline"),),
    "indicator": (("smoother", "kernel"),),
    "form": (("smoother", "kernel"),),
    "kernel": (("smoother", "kernel"),),
    "bandwidth": (("smoother", "kernel"),),
    "ridge": (("smoother", "kernel"),),
    "combine": (("smoother", "kernel"),),
    "local": (("smoother", "kernel"),),
    "n_points": (("smoother", "kernel"),),
    "n_bins": (("smoother", "fused"),),
    "fusion": (("smoother", "fused"),),
    "symmetry": (("loss", "pseudo"),),
    "alphas": (("alpha", None),),
    "criterion": (("alpha", None),),
    "cv": (("criterion", "cv"), ("bandwidth", "cv")),
    "one_se": (("criterion", "cv"),),
    "ebic_gamma": (("criterion", "ebic"),),
    "n_subsamples": (("criterion", "stars"),),
    "subsample": (("criterion", "stars"),),
    "instability": (("criterion", "stars"),),
    "fdr": (("edges", "fdr"),),
    "robust": (("margins", "gaussian"),),
    "regressors": (("covariates", "edges"), ("covariates", "means")),
    "smoother": (("family", "gaussian"),),
    "variance": (("family", "gaussian"),),
    "standardize": (("family", "gaussian"),),
    "margins": (("family", "gaussian"),),
    "temporal": (("family", "gaussian"),),
}


@dataclass(frozen=True, slots=True)
class Unused:
    """A parameter that is not used, although it does not have its default value.

    Attributes
    ----------
    name : str
    value : object
    needs : tuple of (str, object)
        Parameters and their values, of which at least one is needed for its use.
    """

    name: str
    value: Any
    needs: tuple[tuple[str, Any], ...]


def unused_parameters(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Unused]:
    """Parameters with non-default values that the others leave unused.

    Parameters
    ----------
    given, defaults : mapping
        Values by name. Settings of parameters that are not among them are ignored.

    Examples
    --------
    >>> defaults = dict(smoother="spline", tau="focused")
    >>> [one.name for one in unused_parameters(dict(smoother="kernel", tau=0.1), defaults)]
    ['tau']
    """
    for name in USES:
        if name not in given or _same(given[name], defaults[name]):
            continue
        for needs in _conditions(name):
            known = tuple((owner, value) for owner, value in needs if owner in given)
            if known and not any(_same(given[owner], value) for owner, value in known):
                yield Unused(name, given[name], known)
                break


def _conditions(name: str) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Settings of which at least one of each tuple must hold for a parameter to be used."""
    yield USES[name]
    # Without a criterion, that is, with a given penalty, parameters of criteria are not used either.
    if any(owner == "criterion" for owner, _ in USES[name]):
        yield USES["criterion"]


def _same(value: Any, other: Any) -> bool:
    """Whether two values are equal; arrays are not equal to any other object."""
    if value is other:
        return True
    if type(value) is bool or type(other) is bool or isinstance(other, str):
        return type(value) is type(other) and bool(value == other)
    return bool(getattr(value, "ndim", 0) == 0 and not isinstance(value, str) and value == other)
