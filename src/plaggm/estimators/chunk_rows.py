"""Rows read from a source chunk by chunk, several times if the fit needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index, Labels
from plaggm.chunks import ChunkLabels, RowChunks
from plaggm.core.spline.design import SplineDesign
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.data import Confounder, join_confounders, new_confounder
from plaggm.estimators.columns import read_columns
from plaggm.estimators.missing_rows import check_observed
from plaggm.estimators.preparation import learn_preparation, rows_among
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.rows import RowLabels, sum_rows
from plaggm.estimators.spec import FitSpec
from plaggm.estimators.usable_chunks import UsableChunks


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """Rows of a source of chunks; see `plaggm.estimators.rows.Rows`."""

    source: RowChunks
    labels: RowLabels
    spec: FitSpec

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not self.labels.incomplete

    def take(self, index: Index) -> Array:
        """Variables of some rows; reads all rows."""
        return rows_among(self.read(), index)

    def read(self) -> Iterator[tuple[Array, Array]]:
        """Validated rows of every chunk, after their preparation."""
        return self.labels.preparation.each(self._read())

    def _read(self) -> Iterator[tuple[Array, Array]]:
        n, known = self.labels.n, self.labels.confounder
        start = 0
        for chunk in self.source.rows():
            x = self.labels.columns.values(chunk.x, start, missing=self.labels.incomplete)
            values = np.zeros((len(x), 0))
            if known is not None:
                values = new_confounder(
                    chunk.confounder, known.names, chunk.x, len(x), known.levels
                )
            start += len(x)
            if start > n:
                break
            self.spec.say(f"{start} of {n} rows", level=2)
            yield x, values
        if start != n:
            raise ValueError(
                f"The data changed between two readings: {n} rows at first, "
                f"{'more' if start > n else start} later. Every reading must yield the same rows "
                "in the same order."
            )

    def reduce(
        self,
        design: SplineDesign,
        subsets: Index | None = None,
        variance: VarianceFunction | None = None,
    ) -> RowSums:
        """Sum all rows; reads them once."""
        sums = RowSums(design, self.labels.columns.names, self.spec.n_threads)
        return sum_rows(sums, self.read(), subsets, variance)


def open_chunks(spec: FitSpec, owner: type, source: RowChunks) -> ChunkRows:
    """Read labels and names from a source of chunks, and learn the transformations of its rows.

    Parameters
    ----------
    spec : FitSpec
    owner : type
        Class of the estimator.
    source : RowChunks
    """
    missing, used = None, None
    if spec.missing != "refuse":
        spec.need_complete_rows(adjusted=True)
        if spec.temporal is not None:
            raise ValueError(
                f"fit_chunks with missing={spec.missing!r} does not take time series (temporal): a series "
                "has to end where a row is left out. Use fit, or drop these rows first and give those on "
                "either side of a gap different groups."
            )
        source = UsableChunks(source, spec.missing, owner)
        missing, used = source.survey()
        missing.warn()
        if not missing.dropped:
            check_observed(missing)
        used = used if missing.left_out else None
    n, confounder, groups = join_labels(source.labels(), spec.categorical)
    confounder = None if confounder is None else spec.referred(confounder)
    first = next(source.rows()).x
    columns = read_columns(owner, first, fewest=1, missing=missing is not None)[1]
    spec.say(f"{n} rows of {len(columns.names)} variables, chunk by chunk")
    labels = RowLabels(n, columns, confounder, groups, missing=missing, used=used)
    rows = ChunkRows(source, labels, spec)
    preparation = learn_preparation(spec, rows.read, confounder, n, columns.names, groups)
    return replace(rows, labels=replace(labels, preparation=preparation))


def join_labels(
    chunks: Iterable[ChunkLabels], categorical: object = None
) -> tuple[int, Confounder | None, Labels | None]:
    """Number of rows, confounders and groups of all chunks, which must fit into memory.

    Parameters
    ----------
    chunks : iterable of ChunkLabels
    categorical : str, sequence of str or None
        Confounders to be treated as factors although they hold numbers.
    """
    rows, confounders, groups = [], [], []
    for number, chunk in enumerate(chunks):
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
    together = None if confounders[0] is None else join_confounders(confounders, rows, categorical)
    labels = None if groups[0] is None else np.concatenate([np.asarray(part) for part in groups])
    return sum(rows), together, labels
