"""Tables that are read chunk by chunk, because they need not fit into memory.

A source of chunks can be read any number of times. It is made by :func:`as_chunks` from a file (CSV or
Parquet), from a folder of Parquet files, or from anything that can be iterated over again.
"""

from plaggm.chunks.columns import Chunk, ChunkLabels, ColumnNames, RowChunks, named_columns
from plaggm.chunks.sources import CHUNK_ROWS, GivenChunks, as_chunks

__all__ = [
    "CHUNK_ROWS",
    "Chunk",
    "ChunkLabels",
    "ColumnNames",
    "GivenChunks",
    "RowChunks",
    "as_chunks",
    "named_columns",
]
