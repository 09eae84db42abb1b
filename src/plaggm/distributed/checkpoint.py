"""Finished sums on disk, so that a lost cluster does not cost them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.atomic_files import new_file
from plaggm.core.row_hash import RowSample
from plaggm.core.spline_statistics import SplineStatistics
from plaggm.distributed.partition_sums import Task
from plaggm.estimators.stream import Stream


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with one file for each finished block of partitions; arrays and JSON, never pickle.

    Attributes
    ----------
    folder : Path
    mark : str
        Of what is summed: files with another one are of another table or design, and left alone.
    """

    folder: Path
    mark: str

    def save(self, number: int, stream: Stream) -> None:
        """Keep a block's sums; either the whole file is there afterwards or none."""
        sums = stream.sums
        keys = sorted(sums.cells)
        try:
            groups = json.dumps(list(stream.groups))
        except TypeError as error:
            raise ValueError(
                "A checkpoint holds groups that are text or numbers only; turn the column of the groups "
                "into text, or leave checkpoint= out."
            ) from error
        arrays: dict[str, Any] = {
            "keys": np.array(keys, dtype=np.int64),
            "cells": np.array([sums.cells[key].sums for key in keys]),
            "rows": np.array([sums.cells[key].n for key in keys], dtype=np.int64),
            "counts": np.array([sums.n, sums.clean], dtype=np.int64),
            "location": sums.location,
            "scale": sums.scale,
            "hashes": stream.sample.hashes,
            "values": stream.sample.values,
            "groups": np.array(groups),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with new_file(self._path(number)) as file:
            np.savez(file, **arrays)

    def load(self, number: int, task: Task) -> Stream | None:
        """A block's sums, if they were kept."""
        path = self._path(number)
        if not path.exists():
            return None
        stream = task.nothing()
        sums = stream.sums
        with np.load(path, allow_pickle=False) as file:
            sums.n, sums.clean = (int(count) for count in file["counts"])
            sums.location, sums.scale = file["location"], file["scale"]
            functions = task.design.basis.size
            for key, cell, rows in zip(file["keys"], file["cells"], file["rows"], strict=True):
                sums.cells[int(key)] = SplineStatistics(cell, int(rows), functions)
            stream.sample = RowSample(file["hashes"], file["values"], stream.sample.size)
            groups = json.loads(str(file["groups"]))
        stream.groups.update({group: place for place, group in enumerate(groups)})
        return stream

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.mark}-{number:05d}.npz"


def fingerprint(*parts: Any) -> str:
    """Short mark of settings and arrays, equal for equal ones.

    Examples
    --------
    >>> fingerprint("a", np.arange(3)) == fingerprint("a", np.arange(3))
    True
    >>> fingerprint("a", 1) == fingerprint("a", 2)
    False
    """
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype}{part.shape}".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(repr(part).encode())
        found.update(b"\0")
    return found.hexdigest()[:16]
