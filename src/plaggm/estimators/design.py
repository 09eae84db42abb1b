"""The design of a spline: threshold, functions and bins, from the confounder alone."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.spline.anchored_terms import FactorLevels, anchored_spline, factor_levels
from plaggm.core.spline.basis import SAMPLES_PER_FUNCTION, SplineBasis, Term, spline_sides
from plaggm.core.spline.confounder_bins import confounder_bins, one_bin
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.reference import Reference
from plaggm.core.variance.variance_function import VARIANCE_FUNCTIONS
from plaggm.data import Confounder, as_positive, in_figures
from plaggm.estimators.nuisance_model import none_below
from plaggm.parameter_types import Threshold
from plaggm.user_warnings import warn_user
from plaggm.wording import counted, listed

# Functions on each side of zero; one more for each doubling of the samples beyond AMPLE_SAMPLES for each
# column of [Z, 1], up to MOST_FUNCTIONS.
FUNCTIONS = 3
MOST_FUNCTIONS = 6
AMPLE_SAMPLES = 60
# Functions of all confounders together, though each side has one at least.
MOST_TOGETHER = 28
DEGREE = 2
# Samples for each coefficient of a node's regression; the number of functions is reduced below.
SAMPLES_PER_COEFFICIENT = 3
# Groups needed for each function of a confounder that is constant within groups.
GROUPS_PER_FUNCTION = 10
# Quantiles of |confounder| that threshold="auto" tries, smallest first.
AUTO_QUANTILES = np.arange(0.1, 0.91, 0.05)
# Unconfounded samples for each column of [Z, 1] that threshold="auto" requires.
BELOW_PER_VARIABLE = 2


def spline_design(
    confounder: Confounder,
    q: int,
    *,
    threshold: Threshold,
    variance_function: bool,
    n_samples: int | None = None,
    confounder_range: tuple[Array, Array] | None = None,
) -> SplineDesign:
    """Threshold, functions and bins, from the confounder alone.

    Parameters
    ----------
    confounder : Confounder
    q : int
        Columns of [Z, 1].
    threshold : "auto", float or array of shape (m,)
        NaN in an array for confounders without threshold.
    variance_function : bool
        Whether the confounder may inflate the variance.
    n_samples : int, optional
        Expected number of rows; by default the number of confounder values.
    confounder_range : tuple of two ndarrays of shape (m,), optional
        Smallest and largest allowed values; by default those of the confounder.
    """
    values, references = confounder.values, confounder.all_references
    if isinstance(threshold, str):
        limits = quantile_threshold(confounder, q)
    else:
        limits = given_threshold(threshold, confounder.names, references)
    amounts = confounder.amounts
    smallest = np.abs(values).min(axis=0)
    if np.any(smallest[amounts] > limits[amounts]):
        each = ", ".join(f"{confounder.names[k]}: {smallest[k]:.4g}" for k in amounts)
        raise none_below(f"the smallest absolute confounder is {each}", limits[amounts])
    below = below_thresholds(confounder, limits)
    if amounts and below < q <= len(values) and not isinstance(threshold, str):
        warn_user(
            f"Only {counted(below, 'sample')} {'lies' if below == 1 else 'lie'} below the threshold "
            f"{in_figures(limits[amounts])}, fewer than the "
            f"{q} coefficients of a node's regression: the baseline network rests on the smoothness of the "
            "nuisance rather than on unconfounded samples. Use a larger threshold, or threshold='auto'.",
        )
    low, high = values.min(axis=0), values.max(axis=0)
    basis = nuisance_basis(confounder, limits, n_samples or len(values), q)
    _warn_of_rare_levels(confounder)
    noise = SplineBasis(())
    if variance_function and basis.terms:
        noise = reference_basis(
            values,
            limits,
            references,
            functions=VARIANCE_FUNCTIONS,
            degree=1,
            groups=confounder.groups,
            most=confounder.most_functions,
        )
    if confounder_range is not None:
        low, high = confounder_range
        basis, noise = basis.stretched(low, high), noise.stretched(low, high)
    binned = len({term.confounder for term in noise.terms}) == 1
    bins = confounder_bins(values, noise) if binned else one_bin(len(limits))
    if not basis.terms:
        warn_user(
            f"No confounder exceeds its threshold ({in_figures(limits)}) in enough samples to learn its "
            "effect from: R is taken as zero and the plain model is fitted.",
        )
    return SplineDesign(
        confounder.names, confounder.all_levels, references, limits, basis, noise, bins, low, high
    )


def _warn_of_rare_levels(confounder: Confounder) -> None:
    """Warn of levels of factors that have too few samples for separate effects."""
    for name, column, levels in zip(
        confounder.names, confounder.values.T, confounder.all_levels, strict=True
    ):
        if levels is None:
            continue
        counts = np.bincount(column.astype(np.intp), minlength=len(levels))
        rare = np.flatnonzero((counts > 0) & (counts < SAMPLES_PER_FUNCTION))
        if rare.size:
            together = int(counts[rare].sum())
            what = "share one effect" if together >= SAMPLES_PER_FUNCTION else "have none"
            warn_user(
                f"Levels of {name!r} with fewer than {SAMPLES_PER_FUNCTION} samples "
                f"({listed(repr(levels[k]) for k in rare)}) {what}: too few to tell what each does. "
                "Join levels, or leave their samples out.",
            )


def given_threshold(
    threshold: Threshold, names: tuple[str, ...], references: tuple[Reference, ...]
) -> Array:
    """The given thresholds, NaN for confounders whose reference has none: shape (m,)."""
    kept = np.array([one.has_threshold for one in references])
    limits = np.full(len(names), np.nan)
    values = np.asarray(threshold)
    known = values.shape == kept.shape and values.dtype.kind == "f"
    if known and not kept.all() and np.isnan(values[~kept]).all():
        # The thresholds of a design.
        limits[kept] = as_positive(values[kept], "threshold", _chosen(names, kept), zero=True)
        return limits
    if not kept.any():
        raise ValueError(
            f"threshold={threshold!r} is not used: no confounder is compared with samples below a "
            "threshold. Leave it out, or set reference='zero'."
        )
    limits[kept] = as_positive(threshold, "threshold", names, zero=True)[kept]
    return limits


def _chosen(names: tuple[str, ...], kept: Mask) -> tuple[str, ...]:
    return tuple(name for name, one in zip(names, kept, strict=True) if one)


def nuisance_basis(confounder: Confounder, limits: Array, n: int, q: int) -> SplineBasis:
    """Functions of the nuisance, as many as the number of samples supports.

    A factor has one function for each level. Confounders with a limit of their own
    (``Confounder.most_functions``) leave the functions that they do not use to the others.
    """
    values, references = confounder.values, confounder.all_references
    few, own = confounder.groups, confounder.most_functions
    least = reference_basis(values, limits, references, functions=1, degree=1, groups=few)
    fixed = sum(term.size for term in least.terms if isinstance(term, FactorLevels))
    columns = [term.confounder for term in least.terms if not isinstance(term, FactorLevels)]
    limited = [own[column] for column in columns if own and own[column]]
    splines = max(len(columns) - len(limited), 1)
    bearable = (n / (SAMPLES_PER_COEFFICIENT * q) - 1.0 - fixed - sum(limited)) / splines
    ample = int(np.log2(max(n / (AMPLE_SAMPLES * q), 1.0)))
    most = min(FUNCTIONS + ample, MOST_FUNCTIONS, (MOST_TOGETHER - sum(limited)) // splines)
    functions = int(np.clip(bearable, 1, max(most, 1)))
    return reference_basis(
        values, limits, references, functions=functions, degree=DEGREE, groups=few, most=own
    )


def reference_basis(
    values: Array,
    limits: Array,
    references: tuple[Reference, ...],
    *,
    functions: int,
    degree: int,
    groups: tuple[int, ...] = (),
    most: tuple[int, ...] = (),
) -> SplineBasis:
    """Functions that vanish at every confounder's reference, or average to zero over the samples.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    limits : ndarray of shape (m,)
        Thresholds; NaN for confounders without one.
    references : tuple of m Reference
    functions, degree : int
        Number of functions of each spline and their degree.
    groups : tuple of int
        See :class:`plaggm.data.Confounder`; fewer groups allow fewer functions.
    most : tuple of int
        Largest number of functions of each confounder, zero for no limit; empty if there are no limits.
    """
    terms: list[Term] = []
    asked = functions
    for column, (limit, one) in enumerate(zip(limits, references, strict=True)):
        functions = asked
        if groups and groups[column]:
            functions = max(1, min(asked, groups[column] // GROUPS_PER_FUNCTION))
        if most and most[column]:
            functions = min(functions, most[column])
        if one.levels:
            level = int(one.value) if one.kind == "level" else None
            factor = factor_levels(values, column, one.levels, level)
            terms += [] if factor is None else [factor]
        elif one.kind == "zero" or (one.kind == "value" and limit > 0.0):
            terms += spline_sides(values, column, float(limit), functions, degree, one.value)
        else:
            value = one.value if one.kind == "value" else None
            terms.append(anchored_spline(values, column, functions, degree, value))
    return SplineBasis(tuple(terms))


def most_functions(confounders: int) -> int:
    """Largest number of functions of so many confounders together."""
    sides = 2 * confounders
    return min(sides * MOST_FUNCTIONS, max(sides, MOST_TOGETHER))


def quantile_threshold(
    confounder: Confounder, q: int, per_variable: int = BELOW_PER_VARIABLE
) -> Array:
    """The smallest quantile of the absolute confounder with enough samples below it.

    A threshold below the true one costs variance, since fewer samples inform the baseline network
    directly. One above it treats confounded samples as unconfounded.

    Parameters
    ----------
    confounder : Confounder
    q : int
        Columns of [Z, 1].
    per_variable : int
        Samples below the threshold that are required for each of these columns.

    Returns
    -------
    ndarray of shape (m,)
        Zero where a value is the reference, NaN for confounders without threshold.
    """
    fewest = enough_below(len(confounder.values), q, per_variable)
    for level in AUTO_QUANTILES:
        limits = quantile_limits(confounder, float(level))
        if below_thresholds(confounder, limits) >= fewest:
            break
    return limits


def quantile_limits(confounder: Confounder, level: float) -> Array:
    """A quantile of the absolute value of every amount as its threshold; see :func:`quantile_threshold`."""
    limits = np.quantile(np.abs(confounder.values), level, axis=0)
    kinds = np.array([one.kind for one in confounder.all_references])
    limits[kinds == "value"] = 0.0
    limits[np.isin(kinds, ["average", "level"])] = np.nan
    return np.asarray(limits)


def enough_below(n: int, q: int, per_variable: int = BELOW_PER_VARIABLE) -> int:
    """Smallest number of unconfounded samples that an automatic threshold may leave."""
    return min(n, per_variable * q)


def below_thresholds(confounder: Confounder, threshold: Array) -> int:
    """Number of samples below the thresholds (shape (m,)) of all amounts."""
    amounts = confounder.amounts
    sizes = np.abs(confounder.values[:, amounts])
    return int(np.count_nonzero(np.all(sizes <= threshold[amounts], axis=1)))
