"""Finished pieces of a study on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.atomic_files import new_file
from plaggm.result import GraphResult, read_result

KEY_LENGTH = 20


class Store:
    """Arrays by kind, name and key; a file appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Created when the first piece is written.
    """

    def __init__(self, folder: Path) -> None:
        # Worker processes may stand in another folder.
        self.folder = folder.absolute()

    def get(self, kind: str, name: str, key: str) -> dict[str, NDArray[Any]] | None:
        """The arrays stored under a key, or None; a damaged file counts as absent."""
        try:
            with (
                self._path(kind, name, key).open("rb") as file,
                np.load(file, allow_pickle=False) as stored,
            ):
                return {field: stored[field] for field in stored.files}
        except Exception:
            # Damage shows itself in any reader below (zip, zlib, NumPy): the piece is made again.
            return None

    def put(self, kind: str, name: str, key: str, **arrays: Any) -> None:
        """Write arrays; earlier pieces of the same kind and name are replaced."""
        path = self._path(kind, name, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            np.savez_compressed(file, **arrays)
        self._forget_others(path, name)

    def get_result(self, kind: str, name: str, key: str) -> GraphResult | None:
        """The network stored under a key, or None; a damaged file counts as absent."""
        try:
            return read_result(self._path(kind, name, key))
        except Exception:
            # As for arrays.
            return None

    def put_result(self, kind: str, name: str, key: str, result: GraphResult) -> None:
        """Write a network; earlier ones of the same kind and name are replaced."""
        path = self._path(kind, name, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            result.write_archive(file)
        self._forget_others(path, name)

    def _forget_others(self, path: Path, name: str) -> None:
        for other in path.parent.glob(f"{file_name(name)}-*.npz"):
            if other != path and len(other.stem) == len(path.stem):
                other.unlink(missing_ok=True)

    def _path(self, kind: str, name: str, key: str) -> Path:
        return self.folder / kind / f"{file_name(name)}-{key[:KEY_LENGTH]}.npz"


def file_name(name: str) -> str:
    """A name that every file system takes; different names stay different.

    Examples
    --------
    >>> file_name("sub-01"), file_name("a/b")
    ('sub-01', 'a_b.f5effa')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
    return safe if safe == name else f"{safe}.{digest(name)[:6]}"


def digest(*parts: Any) -> str:
    """Hexadecimal digest of arrays and of anything JSON can hold."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            total.update(f"{part.dtype.str}{part.shape}".encode())
            total.update(np.ascontiguousarray(part).tobytes())
        else:
            total.update(json.dumps(part, sort_keys=True, default=str).encode())
    return total.hexdigest()


def file_stamp(path: Path) -> tuple[str, int, int]:
    """What changes when a file does: name, size and time."""
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns
