"""Reading tables that people write: comma or tab separated, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words
from plaggm.tables import TableError
from plaggm.tables.text import read_text

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
    if problem := path_problem(path):
        raise UnreadableFile(problem)
    suffix = bare_suffix(path)
    if suffix not in SUFFIXES:
        raise UnreadableFile(f"its name does not end in {', '.join(SUFFIXES)}")
    try:
        frame = read_text(
            path,
            delimiter="," if suffix == ".csv" else "\t",
            numbers_as_names=True,
            na_values=MISSING,
            keep_default_na=False,
            dtype=str if text else None,
        )
    except TableError as error:
        # The caller's message names the file already.
        words = str(error).replace(f" of {path}", "").replace(f"{path} ", "it ").rstrip(".")
        raise UnreadableFile(words[0].lower() + words[1:]) from error
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


@contextmanager
def reading(kind: type[ValueError], what: str = "", remedy: str = "") -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one kind of error, in words about the file.

    Damage shows itself in any of the readers below, in errors of many kinds.

    Parameters
    ----------
    kind : type
        Raised, and let pass.
    what : str
        Beginning of the message, such as ``"The mask a.nii.gz "``.
    remedy : str
        End of the message, such as ``" Expected a 3-D image."``.
    """
    try:
        yield
    except (kind, ModuleNotFoundError):
        raise
    except FileNotFoundError as error:
        raise kind(f"{what}does not exist.{remedy}") from error
    except Exception as error:
        raise kind(f"{what}cannot be read ({reason_in_words(error)}).{remedy}") from error
