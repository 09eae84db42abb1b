"""Tables in files that hold columns or arrays: Parquet, Feather and NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from plaggm.numpy_files import Header, read_arrays
from plaggm.read_errors import UnreadableFile, check_memory
from plaggm.tables.names import TableError, arrow_names

# Assumed bytes of a value of a type without fixed width, such as text: those of a pointer.
POINTER = 8
# Copies of a table that are held in memory while it is read, by Arrow and by pandas.
COPIES = 2
# Largest number of columns of a matrix; more suggest that it is transposed.
MOST_COLUMNS = 100_000
# Kinds of arrays of numbers, text and dates.
KINDS = "biufcmMSU"


def read_arrow(path: Path) -> pd.DataFrame:
    """Read a Parquet or Feather file after checking its size."""
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            _check_size(file.metadata.num_rows, file.schema_arrow)
            table = file.read()
    else:
        from pyarrow import dataset, feather

        found = dataset.dataset(path, format="feather")
        _check_size(found.count_rows(), found.schema)
        table = feather.read_table(path, memory_map=False)
    arrow_names(table.column_names, path)
    frame = table.to_pandas()
    # A named index becomes a column; an index without name only numbers the rows.
    frame = frame.reset_index(drop=frame.index.names == [None])
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _check_size(rows: int, schema: Any) -> None:
    """Raise for a table that does not fit into memory."""
    size = COPIES * rows * sum(map(_width, schema.types))
    check_memory(size, f"its {rows:,} rows of {len(schema.types):,} columns")


def _width(kind: Any) -> int:
    """Bytes of a value of an Arrow type."""
    try:
        return int(kind.byte_width)
    except ValueError:
        return POINTER


def read_numpy(path: Path) -> pd.DataFrame:
    """Read a matrix, a structured array, or several arrays with the same number of rows."""
    arrays = read_arrays(path, lambda headers: _check_headers(headers, path))
    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        for column, values in _columns_of(name, array):
            if column in columns:
                raise TableError(f"{path} has repeated column names: {column!r}.")
            # pandas needs the byte order of the machine.
            columns[column] = values.astype(values.dtype.newbyteorder("="), copy=False)
    return pd.DataFrame(columns)


def _check_headers(headers: Mapping[str, Header], path: Path) -> None:
    """Raise for arrays that do not form a table, before they are loaded."""
    shapes = ", ".join(f"{name} {header.shape}" for name, header in headers.items())
    rows = {header.shape[:1] for header in headers.values()}
    if len(rows) != 1 or any(len(header.shape) not in (1, 2) for header in headers.values()):
        raise TableError(
            f"{path} must hold vectors or matrices with one row for each sample; it holds {shapes}."
        )
    if rows == {(0,)}:
        raise TableError(f"{path} has no rows; it holds {shapes}.")
    for name, header in headers.items():
        fields = header.dtype.fields
        kinds = [header.dtype] if fields is None else [field[0] for field in fields.values()]
        if any(kind.kind not in KINDS for kind in kinds) or (fields and header.shape[1:] > (1,)):
            raise UnreadableFile(
                f"{name} in it is not a table of numbers or text but {header.dtype}"
            )
        if header.shape[1:] > (MOST_COLUMNS,):
            raise TableError(
                f"{path} has {header.shape[1]:,} columns, more than {MOST_COLUMNS:,}. Samples go into rows "
                "and variables into columns: transpose it."
            )


def _columns_of(name: str, array: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    if array.dtype.names is not None:
        yield from ((field, array[field].ravel()) for field in array.dtype.names)
    elif array.ndim == 1:
        yield name, array
    else:
        yield from ((f"{name}{k}", array[:, k]) for k in range(array.shape[1]))
