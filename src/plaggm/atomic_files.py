"""Atomic writing of files, and CSV tables protected against spreadsheet formulas."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pandas as pd

# Ending of the hidden names of unfinished output, of a current run or of one that was killed.
HIDDEN = ".plaggm"
UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.plaggm")
# Beginning of text that a spreadsheet interprets as a formula, after any number of apostrophes.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# Rows beyond which a table is written as Parquet.
MOST_CSV_ROWS = 1_000_000
# Position of the locked byte, beyond the content, which remains readable if locks are mandatory.
LOCKED_BYTE = 1 << 30


def take_lock(handle: int) -> bool | None:
    """Lock an open file until it is closed or the process ends.

    Parameters
    ----------
    handle : int
        File descriptor.

    Returns
    -------
    bool or None
        False if another process holds the lock; None if the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` when it is finished.

    It is written under a hidden name in the same folder. A link at ``path`` is replaced, not followed.
    After an error nothing has changed.
    """
    file, hidden = _open_hidden(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                # While it is locked, so that no other run removes it as unfinished.
                os.replace(hidden, path)
        if os.name != "posix":
            os.replace(hidden, path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _open_hidden(path: Path) -> tuple[BinaryIO, Path]:
    while True:
        hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}{HIDDEN}")
        file = open(hidden, "xb")  # noqa: SIM115
        # Another run may have removed it before the lock was taken.
        if take_lock(file.fileno()) is not False and hidden.exists():
            return file, hidden
        file.close()


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file atomically; text as UTF-8."""
    with new_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def write_csv(path: Path, table: pd.DataFrame, **options: Any) -> Path:
    """Write a table as CSV, with text that a spreadsheet would run as a formula escaped.

    Parameters
    ----------
    path : Path
    table : DataFrame
        Cells and names of columns and rows that begin with ``=``, ``+``, ``-`` or ``@`` get a leading
        apostrophe, see :func:`inert_text`; numbers are not changed.
    **options
        Passed to :meth:`pandas.DataFrame.to_csv`.
    """
    table = table.rename(columns=inert_text, index=inert_text)
    for place, kind in enumerate(table.dtypes):
        if kind.kind not in "biufc":
            table.isetitem(place, table.iloc[:, place].map(inert_text))
    return write_file(path, table.to_csv(**options))


def write_table(folder: Path, name: str, table: pd.DataFrame, **options: Any) -> Path:
    """Write ``NAME.csv``, or ``NAME.parquet`` for more than a million rows if pyarrow is installed.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the file without extension.
    table : DataFrame
        Its index is not written.
    **options
        Passed to :meth:`pandas.DataFrame.to_csv`.
    """
    if len(table) > MOST_CSV_ROWS and find_spec("pyarrow") is not None:
        return write_file(folder / f"{name}.parquet", table.to_parquet(None, index=False))
    return write_csv(folder / f"{name}.csv", table, index=False, **options)


def inert_text(value: Any) -> Any:
    """Put an apostrophe before text that begins like a formula; :func:`original_text` removes it.

    Examples
    --------
    >>> inert_text("=1+1"), inert_text("plain"), inert_text(-1.0)
    ("'=1+1", 'plain', -1.0)
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def original_text(value: str) -> str:
    """Undo :func:`inert_text`.

    Examples
    --------
    >>> original_text("'=1+1"), original_text("''=1+1"), original_text("'quoted'")
    ('=1+1', "'=1+1", "'quoted'")
    """
    return value[1:] if value.startswith("'") and FORMULA.match(value) else value


def remove_unfinished(folder: Path, *, below: bool = False) -> None:
    """Remove the unfinished files of killed runs, but not those of current runs.

    Parameters
    ----------
    folder : Path
        Folder, which need not exist.
    below : bool
        Whether to search its subfolders, too.
    """
    for place, folders, names in os.walk(folder):
        for name in filter(UNFINISHED.fullmatch, names):
            _remove_unlocked(os.path.join(place, name))
        if not below:
            folders.clear()


def _remove_unlocked(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDWR | NO_LINKS)
    except OSError:
        return
    try:
        if take_lock(handle):
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(handle)
