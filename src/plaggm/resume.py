"""Storage of finished parts of a long run, from which an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from plaggm.atomic_files import new_file, remove_unfinished
from plaggm.numpy_files import read_arrays
from plaggm.result import GraphResult
from plaggm.result_archive import library_versions
from plaggm.result_reading import read_result

Read = TypeVar("Read")

KEY_LENGTH = 20
# Largest number of characters of a name in the name of its file.
LONGEST_NAME = 60


class Store:
    """Storage of arrays, networks and records by kind, name and key, with atomic writing of files.

    The key is a digest of everything on which a part depends, see :func:`versioned_key`. A part of the
    same kind and name with another key is replaced; a damaged file counts as absent.

    Parameters
    ----------
    folder : Path
        Folder, which is created when needed. Unfinished files of killed runs in it are removed.
    compress : bool
        Whether arrays are compressed, which takes about a second for 50 MB.
    """

    def __init__(self, folder: Path, *, compress: bool = True) -> None:
        # Worker processes may have a different current folder.
        self.folder = folder.absolute()
        self.compress = compress
        remove_unfinished(self.folder, below=True)

    def get(self, kind: str, name: str, key: str) -> dict[str, NDArray[Any]] | None:
        """The arrays stored under a key, or None."""
        return _read(read_arrays, self._path(kind, name, key, ".npz"))

    def put(self, kind: str, name: str, key: str, **arrays: Any) -> None:
        """Store arrays."""
        save = np.savez_compressed if self.compress else np.savez
        self._write(self._path(kind, name, key, ".npz"), name, lambda file: save(file, **arrays))

    def get_result(self, kind: str, name: str, key: str) -> GraphResult | None:
        """The network stored under a key, or None."""
        return _read(read_result, self._path(kind, name, key, ".npz"))

    def put_result(self, kind: str, name: str, key: str, result: GraphResult) -> None:
        """Store a network."""
        self._write(self._path(kind, name, key, ".npz"), name, result.write_archive)

    def get_record(self, kind: str, name: str, key: str) -> dict[str, Any] | None:
        """The record stored under a key, or None."""
        return _read(_record, self._path(kind, name, key, ".json"))

    def put_record(self, kind: str, name: str, key: str, record: Mapping[str, Any]) -> None:
        """Store a record that can be represented in JSON."""
        text = json.dumps(dict(record), indent=1).encode()
        self._write(self._path(kind, name, key, ".json"), name, lambda file: file.write(text))

    def _path(self, kind: str, name: str, key: str, ending: str) -> Path:
        return self.folder / kind / f"{file_name(name)}-{key[:KEY_LENGTH]}{ending}"

    def _write(self, path: Path, name: str, write: Callable[[BinaryIO], Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            write(file)
        for other in path.parent.glob(f"{file_name(name)}-*{path.suffix}"):
            if other != path and len(other.stem) == len(path.stem):
                other.unlink(missing_ok=True)


def _read(reader: Callable[[Path], Read], path: Path) -> Read | None:
    try:
        return reader(path)
    except Exception:
        # Damaged files cause errors of many kinds in the readers; the part is then computed again.
        return None


def _record(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def file_name(name: str) -> str:
    """A file name that is valid in every file system, different for different names.

    Examples
    --------
    >>> file_name("sub-01"), file_name("a/b")
    ('sub-01', 'a_b.f5effa')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST_NAME]
    mark = hashlib.sha256(json.dumps(name).encode()).hexdigest()
    return safe if safe == name else f"{safe}.{mark[:6]}"


def digest(*parts: Any) -> str:
    """Hexadecimal digest of values; different values have different digests.

    Parameters
    ----------
    *parts
        Arrays, dataclasses, mappings and sequences of these, and other objects by their text.

    Examples
    --------
    >>> digest("a", np.arange(3)) == digest("a", np.arange(3))
    True
    >>> digest({"x": np.array([1.0])}) == digest({"x": np.array([1.0 + 1e-15])})
    False
    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256()
    _add(total, parts)
    return total.hexdigest()


def versioned_key(*parts: Any) -> str:
    """Key of a stored part: digest of everything it depends on, and of the version of the package.

    Parameters
    ----------
    *parts
        See :func:`digest`.

    Examples
    --------
    >>> versioned_key("a", 1) == versioned_key("a", 1)
    True
    >>> versioned_key("a", 1) == digest("a", 1)
    False
    """
    return digest(library_versions()["plaggm"], *parts)


def _add(total: Any, part: Any) -> None:
    """Add a value to a hash together with its type and shape, so that different values never collide."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        total.update(f"array {part.dtype.str} {part.shape}:".encode())
        total.update(np.ascontiguousarray(part).tobytes())
    elif is_dataclass(part) and not isinstance(part, type):
        _add(total, [type(part).__name__, *(getattr(part, one.name) for one in fields(part))])
    elif isinstance(part, Mapping):
        _add(
            total, sorted(((str(key), value) for key, value in part.items()), key=lambda at: at[0])
        )
    elif isinstance(part, set | frozenset):
        _add(total, sorted(map(repr, part)))
    elif isinstance(part, Sequence | np.ndarray) and not isinstance(part, str | bytes):
        total.update(f"sequence {len(part)}:".encode())
        for one in part:
            _add(total, one)
    else:
        text = json.dumps(part, default=repr)
        total.update(f"text {len(text)}:{text}".encode())


def file_stamp(path: Path) -> tuple[str, int, int]:
    """Path, size and modification time of a file, by which changes are recognised."""
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns
