"""Chunks of a table with missing values, without the rows that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaggm.chunks import Chunk, ChunkLabels, RowChunks
from plaggm.estimators.missing_rows import MissingCells, UsableRows, UsedRows, restricted_rows
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
            yield restricted_rows(self.missing, self.owner, chunk.x, chunk.confounder, chunk.groups)

    def survey(self) -> tuple[MissingCells, UsedRows]:
        """Counts of missing cells in all chunks, and the rows that are used; reads the chunks once."""
        total: MissingCells | None = None
        indices, groups, given = [], [], 0
        for found in self.usable():
            total = found.missing if total is None else total + found.missing
            indices.append(found.used.index + given)
            groups.append(found.used.groups)
            given += found.used.given
        if total is None or not sum(map(len, indices)):
            raise ValueError(
                f"There are no rows to fit: not one can be used with missing={self.missing!r}."
            )
        known = [part for part in groups if part is not None]
        # Groups that only some chunks have are refused when labels are joined.
        labels = np.concatenate(known) if len(known) == len(groups) else None
        return total, UsedRows(given, labels, np.concatenate(indices))
