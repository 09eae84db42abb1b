"""Tables from files: CSV, TSV, Parquet, Feather, Excel and NumPy, with errors that name file and line."""

from plaggm.tables.names import ROW_LABELS, TableError, checked_names, listed, quoted
from plaggm.tables.reading import line_of_row, read_table

__all__ = [
    "ROW_LABELS",
    "TableError",
    "checked_names",
    "line_of_row",
    "listed",
    "quoted",
    "read_table",
]
