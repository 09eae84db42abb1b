"""Partitions of a table that is stored on many machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.chunks import CHUNK_ROWS, ColumnNames, RowChunks, as_chunks, named_columns
from plaggm.distributed.faults import partition_key


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions of a table, in the order of their rows.

    Attributes
    ----------
    tables : tuple
        Each a path, or a delayed DataFrame, or a delayed ``(X, confounder)`` or
        ``(X, confounder, groups)``.
    labels : tuple
        The same partitions without the variables, where confounders and groups can be read alone.
    names : tuple of str
        Name of each partition in messages.
    columns : ColumnNames
    """

    tables: tuple[Any, ...]
    labels: tuple[Any, ...]
    names: tuple[str, ...]
    columns: ColumnNames


def as_partitions(
    data: Any, *, confounder: Any, variables: Sequence[str] | None, groups: Any
) -> Partitions:
    """The partitions of a folder, of a Dask DataFrame or of a Dask array.

    Parameters
    ----------
    data : path, dask DataFrame or dask array of shape (n, p)
    confounder : str or list of str, or dask array of shape (n,) or (n, m), optional
    variables : list of str, optional
    groups : str, or dask array of shape (n,), optional
    """
    if isinstance(data, str | os.PathLike):
        return _files(Path(data), named_columns(confounder, variables, groups))
    if _is_frame(data):
        return _frame(data, named_columns(confounder, variables, groups))
    if _is_array(data):
        if variables is not None:
            raise ValueError(
                "variables= names columns, and an array has none; select them: x[:, [...]]."
            )
        return _array(data, confounder, groups)
    raise ValueError(
        "fit_dask takes a Dask DataFrame, a Dask array, or the path of a Parquet file or of a folder of "
        f"them; got {type(data).__name__}. Tables in memory need no cluster: use fit."
    )


def open_partition(partition: Any, columns: ColumnNames, chunk_rows: int = CHUNK_ROWS) -> RowChunks:
    """A partition as chunks of rows; for use on the worker."""
    source = partition if isinstance(partition, Path) else [partition]
    return as_chunks(
        source,
        confounder=columns.confounder,
        variables=columns.variables,
        groups=columns.groups,
        chunk_rows=chunk_rows,
    )


def _is_frame(data: Any) -> bool:
    return hasattr(data, "to_delayed") and hasattr(data, "npartitions") and hasattr(data, "columns")


def _is_array(data: Any) -> bool:
    return hasattr(data, "to_delayed") and hasattr(data, "chunks")


def _files(path: Path, columns: ColumnNames) -> Partitions:
    path = path.absolute()
    # Checks that the files exist and have the same columns.
    open_partition(path, columns)
    files = tuple(sorted(path.glob("*.parquet"))) if path.is_dir() else (path,)
    names = tuple(f"partition {number} ({file.name})" for number, file in enumerate(files))
    return Partitions(files, files, names, columns)


def _frame(frame: Any, columns: ColumnNames) -> Partitions:
    # Wrong names raise an error here, not on a worker.
    settled = columns.settled([str(name) for name in frame.columns], "The table").variables or ()
    variables = [name for name in frame.columns if str(name) in settled]
    tables = frame[[*variables, *columns.labels]].to_delayed()
    # At least one column is needed to count rows.
    labels = frame[list(columns.labels) or variables[:1]].to_delayed()
    names = tuple(f"partition {number}" for number in range(len(tables)))
    known = ColumnNames(columns.confounder, tuple(map(str, variables)), columns.groups)
    return Partitions(tuple(tables), tuple(labels), names, known)


def _array(x: Any, confounder: Any, groups: Any) -> Partitions:
    from dask import delayed

    if x.ndim != 2:
        raise ValueError(f"X must have rows and columns; got shape {x.shape}.")
    x = x.rechunk({1: -1})
    if any(np.isnan(size) for size in x.chunks[0]):
        raise ValueError(
            "The rows of X's chunks are not known; call x.compute_chunk_sizes() first."
        )
    parts: list[list[Any] | None] = [_rows_like(x, None, "x")]
    for what, other in (("confounder", confounder), ("groups", groups)):
        parts.append(None if other is None else _rows_like(x, other, what))
    count = len(parts[0] or ())
    tables, labels = [], []
    for number in range(count):
        rows = [None if part is None else part[number] for part in parts]
        tables.append(delayed(_bundle)(*rows, dask_key_name=partition_key(number)))
        shape = (int(x.chunks[0][number]), int(x.shape[1]))
        key = partition_key(number)
        labels.append(delayed(_bundle_labels)(shape, rows[1], rows[2], dask_key_name=key))
    names = tuple(f"partition {number}" for number in range(count))
    return Partitions(tuple(tables), tuple(labels), names, ColumnNames((), None, None))


def _rows_like(x: Any, other: Any, what: str) -> list[Any]:
    """An array in the partitions of the rows of x; delayed if it is a Dask array."""
    if other is None:
        return list(x.to_delayed().ravel())
    spread = _is_array(other)
    if not spread:
        other = np.asarray(other)
    if not other.ndim or other.shape[0] != x.shape[0]:
        rows = f"{other.shape[0]} rows" if other.ndim else "one value"
        raise ValueError(f"{what} has {rows} for the {x.shape[0]} of X; each row needs its own.")
    if not spread:
        # Rows are passed to each partition, so that partitions do not all depend on one task.
        return np.split(other, np.cumsum(x.chunks[0])[:-1])
    cut = {0: x.chunks[0], **({1: -1} if other.ndim == 2 else {})}
    return list(other.rechunk(cut).to_delayed().ravel())


def _bundle(x: Any, confounder: Any, groups: Any) -> tuple[Any, ...]:
    return (x, confounder) if groups is None else (x, confounder, groups)


def _bundle_labels(shape: tuple[int, int], confounder: Any, groups: Any) -> tuple[Any, ...]:
    # Only the shape of X is needed, so that a single value is enough.
    return _bundle(np.broadcast_to(np.zeros(1), shape), confounder, groups)
