"""Storage of finished sums, from which a fit resumes after the loss of a cluster."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from plaggm.core.numerics.row_hash import RowSample
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.distributed.partition_sums import Task
from plaggm.estimators.row_sums import Units
from plaggm.estimators.stream import Stream
from plaggm.resume import KEY_LENGTH, Store

# Part of the key of every checkpoint; changes with the arrays that are stored.
FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Storage of the sums of each finished batch of partitions, as arrays and JSON, never pickle.

    Attributes
    ----------
    store : Store
    key : str
        Digest of the table and the settings on which the sums depend; each key has a separate folder.
    """

    store: Store
    key: str

    def save(self, number: int, stream: Stream) -> None:
        """Store the sums of one batch of partitions, all of them or none."""
        sums = stream.sums
        keys = sorted(sums.cells)
        try:
            groups = json.dumps(list(stream.groups))
        except TypeError as error:
            raise ValueError(
                "A checkpoint holds groups that are text or numbers only; turn the column of the groups "
                "into text, or leave checkpoint= out."
            ) from error
        self.store.put(
            *self._place(number),
            keys=np.array(keys, dtype=np.int64),
            cells=np.array([sums.cells[key].sums for key in keys]),
            rows=np.array([sums.cells[key].n for key in keys], dtype=np.int64),
            counts=np.array([sums.n, sums.unconfounded, sums.below], dtype=np.int64),
            hashes=stream.sample.hashes,
            values=stream.sample.values,
            groups=np.array(groups),
            **({} if sums.units is None else asdict(sums.units)),
        )

    def load(self, number: int, task: Task) -> Stream | None:
        """The stored sums of one batch of partitions; None if there are none."""
        kept = self.store.get(*self._place(number))
        if kept is None:
            return None
        stream = task.new_stream()
        sums = stream.sums
        sums.n, sums.unconfounded, sums.below = (int(count) for count in kept["counts"])
        if "location" in kept:
            sums.units = Units(kept["location"], kept["scale"])
        functions = task.design.basis.size
        for key, cell, rows in zip(kept["keys"], kept["cells"], kept["rows"], strict=True):
            sums.cells[int(key)] = SplineStatistics(cell, int(rows), functions)
        stream.sample = RowSample(kept["hashes"], kept["values"], stream.sample.size)
        groups = json.loads(str(kept["groups"]))
        stream.groups.update({group: place for place, group in enumerate(groups)})
        return stream

    def _place(self, number: int) -> tuple[str, str, str]:
        return f"sums-{self.key[:KEY_LENGTH]}", f"{number:05d}", self.key
