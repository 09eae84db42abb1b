"""Which parameters are used only under certain values of others.

A parameter that a fit would not use may only have its default; the estimators and the command line refuse
others. ``random_state`` is free: setting it where nothing is random is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# For each parameter the settings under any of which it is used.
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
    """A parameter that is not used, although it was set to something other than its default.

    Attributes
    ----------
    name : str
    value : object
    needs : tuple of (str, object)
        Parameters and their values, under any of which it would be used.
    """

    name: str
    value: Any
    needs: tuple[tuple[str, Any], ...]


def unused_parameters(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Unused]:
    """Parameters with non-default values that the others leave unused.

    Parameters
    ----------
    given, defaults : mapping
        Values by name. Uses that depend on parameters that are not among them are not judged.

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
    # Where the penalty is given there is no criterion, and so nothing that belongs to one.
    if any(owner == "criterion" for owner, _ in USES[name]):
        yield USES["criterion"]


def _same(value: Any, other: Any) -> bool:
    """Whether two values are equal, arrays being equal to nothing else."""
    if value is other:
        return True
    if type(value) is bool or type(other) is bool or isinstance(other, str):
        return type(value) is type(other) and bool(value == other)
    return bool(getattr(value, "ndim", 0) == 0 and not isinstance(value, str) and value == other)
