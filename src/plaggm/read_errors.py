"""Messages about files that cannot be read."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from pathlib import Path

from plaggm.memory import available_memory, in_bytes


class UnreadableFile(ValueError):
    """A file cannot be read; the message completes "the file cannot be read: ..."."""


def reason_in_words(error: BaseException) -> str:
    """Description of an exception of a reader in terms of the file, for use in a message.

    That of an :class:`UnreadableFile` is its message, that of other exceptions depends on their type.

    Examples
    --------
    >>> reason_in_words(UnreadableFile("it has no names"))
    'it has no names'
    >>> reason_in_words(KeyError("spam"))
    'it is damaged or of another kind'
    """
    if isinstance(error, UnreadableFile):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"it has no {Path(error.filename).name}" if error.filename else "it does not exist"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"it is not UTF-8 text: byte 0x{byte:02x} at position {error.start + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not valid JSON from line {error.lineno}, column {error.colno} on"
    if isinstance(error, ValueError) and "integer string conversion" in str(error):
        return "it holds a number of thousands of digits"
    for kinds, words in _WORDS:
        if isinstance(error, kinds):
            return words
    return "it is damaged or of another kind"


_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((RecursionError,), "it is nested too deeply"),
    ((MemoryError,), "it needs more memory than there is"),
    ((OverflowError,), "it holds a number that is too large"),
    ((EOFError,), "it ends too early"),
    ((zipfile.BadZipFile, zlib.error, gzip.BadGzipFile), "its compressed content is damaged"),
)


def path_problem(path: Path) -> str:
    r"""Problem of a path, which need not exist; empty if there is none.

    Examples
    --------
    >>> path_problem(Path("a\0b"))
    'its name holds a zero byte'
    """
    if "\0" in str(path):
        return "its name holds a zero byte"
    try:
        path.stat()
    except OSError as error:
        if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            return reason_in_words(error)
    return ""


def check_memory(size: int, what: str = "it") -> None:
    """Raise :class:`UnreadableFile` for data that do not fit into free memory.

    Parameters
    ----------
    size : int
        Bytes.
    what : str
        Subject of the message.
    """
    free = available_memory()
    if free is not None and size > free:
        raise UnreadableFile(
            f"{what} need{'' if what.startswith('its') else 's'} {in_bytes(size)} of memory, and "
            f"{in_bytes(free)} are free"
        )
