"""Chunks of a table with missing values, without the rows that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.chunks import Chunk, ChunkLabels, RowChunks
from plaggm.estimators.columns import read_columns
from plaggm.estimators.missing_rows import (
    KeptRows,
    MissingCells,
    UsableRows,
    judge_rows,
    taken,
)
from plaggm.parameter_types import Missing


@dataclass(frozen=True, slots=True)
class UsableChunks:
    """Chunks without the rows that cannot be used; see :class:`plaggm.chunks.RowChunks`.

    Attributes
    ----------
    source : RowChunks
    missing : {"drop", "em"}
    owner : type
        Class of the estimator.
    """

    source: RowChunks
    missing: Missing
    owner: type

    def rows(self) -> Iterator[Chunk]:
        """See :class:`plaggm.chunks.RowChunks`."""
        for found in self.usable():
            if len(found.values):
                yield Chunk(found.x, found.confounder, found.groups)

    def labels(self) -> Iterator[ChunkLabels]:
        """See :class:`plaggm.chunks.RowChunks`; reads variables too, which determine the usable rows."""
        for chunk in self.rows():
            n, p = np.shape(chunk.x)
            yield ChunkLabels(n, p, chunk.confounder, chunk.groups)

    def usable(self) -> Iterator[UsableRows]:
        """Usable rows of every chunk, which may be empty."""
        for chunk in self.source.rows():
            values, columns = read_columns(self.owner, chunk.x, fewest=1, missing=True)
            summary, keep = judge_rows(self.missing, values, chunk.confounder, columns.names)
            index = np.flatnonzero(keep)
            whole = None if chunk.groups is None else np.asarray(chunk.groups)
            kept = KeptRows(len(keep), whole, index)
            x, confounder, groups = (
                None if part is None else taken(part, index)
                for part in (chunk.x, chunk.confounder, chunk.groups)
            )
            yield UsableRows(x, confounder, groups, None, values[index], columns, summary, kept)

    def survey(self) -> tuple[MissingCells, KeptRows]:
        """Counts of missing cells in all chunks, and the rows that are used; reads the chunks once."""
        total: MissingCells | None = None
        indices, groups, given = [], [], 0
        for found in self.usable():
            assert found.kept is not None
            total = found.missing if total is None else total + found.missing
            indices.append(found.kept.index + given)
            groups.append(found.kept.groups)
            given += found.kept.given
        if total is None or not sum(map(len, indices)):
            raise ValueError(
                f"There are no rows to fit: not one can be used with missing={self.missing!r}."
            )
        known = [part for part in groups if part is not None]
        # Groups that only some chunks have are refused when labels are joined.
        labels = np.concatenate(known) if len(known) == len(groups) else None
        return total, KeptRows(given, labels, np.concatenate(indices))
