"""From chunks of rows to scaled node Grams: the walk of `preparation` without the rows at hand.

The first pass reads confounders and groups only, which settle the design and the folds. The second sums
all rows, by bins of the confounder, which settles scaling, variance and penalty. Where folds or groups are
wanted a third pass sums them under the weights found. If several confounders inflate the variance, its
rounds take two passes each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plaggm.chunks import ChunkLabels
from plaggm.core.binned_variance import BinnedVariance, row_weights
from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.profilers import SplineParts
from plaggm.core.profile.spline import profile_spline, spline_node_grams, spline_system
from plaggm.core.spline_design import SplineDesign, plain_design
from plaggm.core.spline_statistics import SplineStatistics
from plaggm.core.threads import single_threaded_blas
from plaggm.core.variance_function import RowVariance, VarianceFunction, learn_variance
from plaggm.data import Confounder, join_confounders
from plaggm.estimators.preparation import Prepared, node_scale, standardizes
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.spline_model import SplineModel, settle_penalty, spline_design
from plaggm.estimators.threshold_choice import sampled_rows, threshold_from_rows
from plaggm.selection import RowParts

if TYPE_CHECKING:
    from plaggm.estimators.plaggm import PLAGGM

Array = NDArray[np.float64]
Index = NDArray[np.intp]
# Rows of one chunk: variables, confounders, and the number of the first row.
Rows = Callable[[], Iterator[tuple[Array, Array, int]]]


@dataclass(frozen=True, slots=True)
class Survey:
    """What one reading of confounders and groups tells.

    Attributes
    ----------
    n : int
        Rows.
    p : int
        Variables.
    confounder : Confounder or None
    groups : ndarray of shape (n,) or None
        As they were given.
    """

    n: int
    p: int
    confounder: Confounder | None
    groups: NDArray[Any] | None


def survey_chunks(chunks: Iterable[ChunkLabels]) -> Survey:
    """Gather confounders and groups of all rows: the only columns that are held at once."""
    rows, confounders, groups = [], [], []
    p = 0
    for number, chunk in enumerate(chunks):
        p = p or chunk.p
        rows.append(chunk.n)
        confounders.append(chunk.confounder)
        groups.append(chunk.groups)
        if chunk.groups is not None and len(chunk.groups) != chunk.n:
            raise ValueError(
                f"groups of chunk {number} has {len(chunk.groups)} entries for {chunk.n} rows."
            )
    if not rows or not sum(rows):
        raise ValueError("There are no rows to fit: the source of chunks is empty.")
    for what, parts in (("confounder", confounders), ("groups", groups)):
        absent = [part is None for part in parts]
        if any(absent) and not all(absent):
            raise ValueError(
                f"Some chunks have {what} and some have none (first: chunk {absent.index(True)}). Give "
                "all or none."
            )
    together = None if confounders[0] is None else join_confounders(confounders, rows)
    labels = None if groups[0] is None else np.concatenate([np.asarray(part) for part in groups])
    return Survey(sum(rows), p, together, labels)


def prepare_chunks(
    estimator: PLAGGM,
    rows: Rows,
    names: tuple[str, ...],
    survey: Survey,
    parts: RowParts | None,
    n_threads: int,
) -> Prepared:
    """Scale, remove the nuisance and divide by the conditional standard deviations, chunk by chunk.

    Parameters
    ----------
    estimator : PLAGGM
    rows : callable
        Yields validated chunks, every time from the start.
    names : tuple of str
        Of the variables.
    survey : Survey
    parts : RowParts, optional
        Sets of rows to be summed on their own.
    n_threads : int

    Returns
    -------
    Prepared
        Its profiler knows the parts.
    """
    design = plain_design()
    observed = np.zeros((0, 0))
    if survey.confounder is not None:
        observed = survey.confounder.values
        design = spline_design(
            survey.confounder,
            len(names) + 1,
            threshold=_threshold(estimator, rows, survey, n_threads),
            variance_function=estimator.variance == "function",
        )
    # Without a variance's factor the weights are known beforehand.
    known = not design.variance_basis.sides
    sums = RowSums(design, names, n_threads)
    for x, confounder, start in rows():
        labels = None if parts is None or not known else parts.labels[start : start + len(x)]
        sums.add(x, confounder, labels)
    location, scale = settle_units(estimator, sums)
    if design.one_pass:
        variance, total = variance_from_bins(sums, location, scale)
    else:
        variance, total = _variance_by_passes(rows, design, location, scale, n_threads)
    pieces: tuple[SplineStatistics, ...] = (total,)
    if parts is not None:
        summed = sums
        if not known:
            summed = RowSums(design, names, n_threads)
            for x, confounder, start in rows():
                weights = row_weights(design, variance, confounder)
                summed.add(x, confounder, parts.labels[start : start + len(x)], weights)
        pieces = summed.parts(np.ones(design.bins.count), location, scale, parts.count)
    return conclude(estimator, sums, (location, scale), variance, total, pieces, observed)


def _threshold(estimator: PLAGGM, rows: Rows, survey: Survey, n_threads: int) -> Any:
    """The estimator's threshold; ``"auto"`` takes a pass that keeps evenly spaced rows."""
    confounder = survey.confounder
    if not isinstance(estimator.threshold, str) or confounder is None:
        return estimator.threshold
    wanted = sampled_rows(survey.n, survey.p + 1, len(confounder.names))
    found = []
    for x, _, start in rows():
        inside = wanted[(wanted >= start) & (wanted < start + len(x))]
        found.append(x[inside - start])
    return threshold_from_rows(estimator, np.concatenate(found), confounder, wanted, n_threads)


def settle_units(estimator: PLAGGM, sums: RowSums) -> tuple[Array, Array]:
    """Location and scale of the variables, after a look for columns that cannot be in a network."""
    sums.check()
    if standardizes(estimator):
        return sums.units()
    return np.zeros(sums.q - 1), np.ones(sums.q - 1)


def variance_from_bins(
    sums: RowSums, location: Array, scale: Array
) -> tuple[VarianceFunction, SplineStatistics]:
    """The variance's factor of one confounder, and the statistics of all rows under it."""
    data = BinnedVariance(sums.bins(location, scale), sums.design)
    with single_threaded_blas():
        variance = learn_variance(data, sums.design.basis, sums.design.variance_basis)
    return variance, data.statistics(variance)


def conclude(
    estimator: PLAGGM,
    sums: RowSums,
    units: tuple[Array, Array],
    variance: VarianceFunction,
    total: SplineStatistics,
    pieces: tuple[SplineStatistics, ...],
    observed: Array,
) -> Prepared:
    """Everything that follows from the statistics of all rows.

    Parameters
    ----------
    estimator : PLAGGM
    sums : RowSums
    units : (location, scale)
    variance : VarianceFunction
    total : SplineStatistics
        Weighted, in these units.
    pieces : tuple of SplineStatistics
        The same of folds or groups.
    observed : ndarray of shape (k, m)
        Confounders, or some of them.

    Returns
    -------
    Prepared
    """
    design = sums.design
    model: SplineModel | None = None
    with single_threaded_blas():
        if design.m:
            system, choice, fit = settle_penalty(total, design, estimator.tau)
            grams = spline_node_grams(system, fit)
            profiler = SplineParts(pieces, design.basis, total, system, fit)
            model = SplineModel(profiler, grams, design, variance, choice, observed, sums.clean)
        else:
            profiler = plain_parts(pieces, total)
            grams = NodeGrams(profiler.system.bb[None], total.n, np.zeros(sums.q - 1))
    sigma = node_scale(estimator, grams)
    return Prepared(sums.n, *units, design.names, model, profiler, grams.rescaled(sigma), sigma)


def plain_parts(pieces: tuple[SplineStatistics, ...], total: SplineStatistics) -> SplineParts:
    """Parts of data without confounder: a spline without functions."""
    basis = plain_design().basis
    system = spline_system(total, np.zeros((0, 0)))
    return SplineParts(pieces, basis, total, system, profile_spline(system, np.zeros(0)))


def _variance_by_passes(
    rows: Rows, design: SplineDesign, location: Array, scale: Array, n_threads: int
) -> tuple[VarianceFunction, SplineStatistics]:
    """The variance's factor of several confounders, and the statistics of all rows under it."""

    def scaled() -> Iterator[tuple[Array, Array]]:
        for x, confounder, _ in rows():
            yield np.column_stack([(x - location) / scale, np.ones(len(x))]), confounder

    data = RowVariance(scaled, design.basis, n_threads)
    variance = learn_variance(data, design.basis, design.variance_basis)
    return variance, data.statistics(variance)
