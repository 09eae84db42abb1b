"""Tables from files: CSV, TSV, Parquet, Feather, Excel and NumPy, with errors that name file and line."""

from plaggm.tables.names import ROW_LABELS, TableError
from plaggm.tables.reading import line_of_row, read_table

__all__ = ["ROW_LABELS", "TableError", "line_of_row", "read_table"]
