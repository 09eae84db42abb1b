"""Which parameters are used only under certain values of others.

A parameter that a fit would not use may only have its default; the estimators and the command line refuse
others. ``random_state`` is free: to fix it where nothing is random is no mistake.
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
    "smoother": (("family", "gaussian"),),
    "variance": (("family", "gaussian"),),
    "standardize": (("family", "gaussian"),),
    "margins": (("family", "gaussian"),),
    "temporal": (("family", "gaussian"),),
}


@dataclass(frozen=True, slots=True)
class Unused:
    """A parameter that has a value of its own, though it is not used.

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
    """Parameters that were given and are not used.

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
    for name, needs in USES.items():
        known = tuple((owner, value) for owner, value in needs if owner in given)
        if name not in given or not known or _same(given[name], defaults[name]):
            continue
        if not any(_same(given[owner], value) for owner, value in known):
            yield Unused(name, given[name], known)


def _same(value: Any, other: Any) -> bool:
    """Whether two values are equal, arrays being equal to nothing else."""
    if value is other:
        return True
    if type(value) is bool or type(other) is bool or isinstance(other, str):
        return type(value) is type(other) and bool(value == other)
    return bool(getattr(value, "ndim", 0) == 0 and not isinstance(value, str) and value == other)
