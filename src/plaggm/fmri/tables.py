"""Reading tables that people write: comma or tab separated, compressed or not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

MISSING = ["n/a", "N/A", "NA", "NaN", "nan", "None", ""]
SUFFIXES = (".tsv", ".csv", ".txt")


def read_table(path: Path, *, text: bool = False) -> pd.DataFrame:
    """A table by its name: ``.tsv`` (or ``.txt``) is tab separated, ``.csv`` comma; ``.gz`` is fine.

    Parameters
    ----------
    path : Path
    text : bool
        Read every column as text, so that ids such as 0040000 keep their zeros.

    Returns
    -------
    DataFrame
    """
    suffix = bare_suffix(path)
    if suffix not in SUFFIXES:
        raise ValueError(f"is not a table: expected a name that ends in {', '.join(SUFFIXES)}.")
    separator = "," if suffix == ".csv" else "\t"
    frame = pd.read_csv(
        path,
        sep=separator,
        na_values=MISSING,
        keep_default_na=False,
        dtype=str if text else None,
    )
    # A header that starts with a number sign is how NumPy writes tables.
    return frame.rename(columns=lambda name: str(name).lstrip("#").strip())


def bare_suffix(path: Path) -> str:
    """The last suffix in lower case, ``.gz`` not counted.

    Examples
    --------
    >>> bare_suffix(Path("fmri_0040000.TSV.gz"))
    '.tsv'
    """
    return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


def read_reason(error: Exception) -> str:
    """Why a file could not be read, in a few words."""
    if isinstance(error, FileNotFoundError):
        return "does not exist."
    text = str(error).strip().splitlines()
    return f"cannot be read ({text[0] if text else type(error).__name__})."
