"""The reference of every confounder: as requested, or inferred from its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.confounding.grouped_confounders import constant_within
from plaggm.core.spline.reference import ZERO, Reference
from plaggm.data import Confounder
from plaggm.data.factors import Levels, level_name
from plaggm.parameter_types import ReferenceChoice, Threshold
from plaggm.wording import listed, shown

# Non-negative amounts: largest fifth percentile, as a share of the distance from the fifth to the 95th
# percentile, and smallest ratio of this distance above the median to that below it.
STARTS_BY, SKEWED_BY = 0.2, 1.5
# Share of exact zeros from which a non-negative column is an amount.
ZEROS = 0.05
# Amounts with a sign: largest median of the absolute values (0.34 for a Gaussian column, 0.23 for a Laplace
# distribution) and largest absolute median, both as shares of the 95th percentile of the absolute values.
PEAKED_BY, CENTRED_BY = 0.28, 0.1
# Smallest number of distinct values of an amount; fewer may be codes.
FEWEST_VALUES = 5

NOT_FOR_KERNEL = (
    "smoother='kernel' compares with samples below a threshold, and {name!r} has none ({what}). Use "
    "smoother='spline'{remedy}."
)


def is_amount(values: Array) -> bool:
    """Whether values (n,) look like an amount such as motion, of which zero means none.

    Amounts are columns that are never negative and either start near zero and are skewed to the right or
    have at least 5 % exact zeros, and columns of both signs whose values are concentrated at zero.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> is_amount(rng.gamma(1.0, size=500)), is_amount(rng.uniform(18.0, 80.0, size=500))
    (True, False)
    """
    if len(np.unique(values)) < FEWEST_VALUES:
        return False
    if values.min() >= 0.0:
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        if np.mean(values == 0.0) >= ZEROS:
            return True
        near = low <= STARTS_BY * (high - low)
        return bool(near and high - middle >= SKEWED_BY * (middle - low))
    size = np.abs(values)
    middle, high = np.quantile(size, [0.5, 0.95])
    centred = abs(np.median(values)) <= CENTRED_BY * high
    return bool(values.max() > 0.0 and centred and middle <= PEAKED_BY * high)


def refer(
    confounder: Confounder, asked: ReferenceChoice, threshold: Threshold, smoother: str = "spline"
) -> Confounder:
    """The confounders with their references set.

    Parameters
    ----------
    confounder : Confounder
    asked : "auto", "zero", "average", number, level or mapping of these by confounder
        The parameter ``reference``.
    threshold : "auto", float or array of shape (m,)
        If it is given, ``"auto"`` is the reference zero.
    smoother : {"spline", "kernel"}
    """
    by_name = dict(asked) if isinstance(asked, Mapping) else {}
    unknown = [name for name in by_name if name not in confounder.names]
    if unknown:
        raise ValueError(
            f"reference names {shown(unknown[0])}, which is not a confounder. The confounders are "
            f"{listed(map(repr, confounder.names))}."
        )
    given = not isinstance(threshold, str)
    found = []
    for name, values, levels in zip(
        confounder.names, confounder.values.T, confounder.all_levels, strict=True
    ):
        one: object = by_name.get(name, "auto") if isinstance(asked, Mapping) else asked
        if levels is not None:
            shared = not isinstance(asked, Mapping) and len(confounder.names) > 1
            found.append(_factor_reference(name, levels, one, shared=shared))
        else:
            found.append(_number_reference(name, values, one, given, smoother))
        if smoother == "kernel" and not found[-1].has_threshold:
            what = "a factor" if levels is not None else "the average is the reference"
            remedy = "" if levels is not None else ", or reference='zero'"
            raise ValueError(NOT_FOR_KERNEL.format(name=name, what=what, remedy=remedy))
    return replace(confounder, references=tuple(found))


def _number_reference(
    name: str, values: Array, asked: object, given: bool, smoother: str
) -> Reference:
    if isinstance(asked, str):
        if asked == "auto":
            amount = given or smoother == "kernel" or is_amount(values)
            return ZERO if amount else Reference("average")
        if asked in ("zero", "average"):
            return ZERO if asked == "zero" else Reference("average")
        raise ValueError(
            f"reference of {name!r} is {shown(asked)}; allowed are 'auto', 'zero', 'average' and a value. "
            f"{name!r} holds numbers; if it is a factor, declare it: categorical=[{name!r}]."
        )
    if isinstance(asked, bool) or not isinstance(asked, Real) or not np.isfinite(float(asked)):
        raise ValueError(
            f"reference of {name!r} must be 'auto', 'zero', 'average' or a number; got {shown(asked)}."
        )
    value, low, high = float(asked), float(values.min()), float(values.max())
    if smoother == "kernel":
        if value != 0.0:
            raise ValueError(
                f"smoother='kernel' has R = 0 around zero only; got reference {value:g} of {name!r}. "
                f"Subtract it from the confounder, or use smoother='spline'."
            )
        return ZERO
    if not low <= value <= high:
        raise ValueError(
            f"reference of {name!r} is {value:g}, but its values lie between {low:g} and {high:g}. The "
            "network at a value that no sample comes near cannot be learnt; choose one in between, or "
            "'average'."
        )
    return Reference("value", value)


def _factor_reference(
    name: str, levels: tuple[str, ...], asked: object, *, shared: bool
) -> Reference:
    """The reference of a factor; one that is shared by all confounders may be none of its levels."""
    average = Reference("average", levels=len(levels))
    if isinstance(asked, str) and asked == "average" and asked in levels:
        raise ValueError(
            f"reference of {name!r} is 'average', which may mean its level of that name or the average "
            "over its levels. Rename the level; without reference the average over the levels is taken."
        )
    if isinstance(asked, str) and asked in ("auto", "average"):
        return average
    label = level_name(asked)
    if label in levels:
        return Reference("level", float(levels.index(label)), len(levels))
    if shared:
        return average
    raise ValueError(
        f"reference of {name!r} is {shown(asked)}, which is none of its levels: "
        f"{listed(map(repr, levels))}. Allowed are 'average' and a level."
    )


def in_groups(confounder: Confounder, groups: Index | None) -> Confounder:
    """The confounders, with the number of groups for those that are constant within groups.

    Parameters
    ----------
    confounder : Confounder
    groups : ndarray of int of shape (n,) or None
        Number of every row's group.
    """
    if groups is None:
        return confounder
    whole, count = constant_within(confounder.values, groups), int(groups.max()) + 1
    if count == len(groups) or not whole.any():
        return confounder
    return replace(confounder, groups=tuple(count if one else 0 for one in whole))


def reference_labels(
    names: tuple[str, ...], references: tuple[Reference, ...], levels: tuple[Levels, ...]
) -> dict[str, str | float]:
    """The reference of every confounder by its name, in the form of the parameter ``reference``."""
    named = zip(names, references, levels, strict=True)
    return {name: reference_label(one, known) for name, one, known in named}


def reference_label(reference: Reference, levels: Levels) -> str | float:
    """The reference in the form of the parameter: "zero", "average", a value or a level's name."""
    if reference.kind == "level":
        assert levels is not None
        return levels[int(reference.value)]
    return reference.value if reference.kind == "value" else reference.kind
