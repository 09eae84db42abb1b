"""Reading NumPy files after checking names, shapes and sizes from their headers."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from plaggm.read_errors import UnreadableFile, check_memory

ARCHIVE, ARRAY = b"PK\x03\x04", b"\x93NUMPY"
SUFFIX = ".npy"
# Name of the array of an .npy file.
ALONE = "x"
ENCRYPTED = 0x1
# Characters of a header, above which NumPy calls it unsafe.
LONGEST_HEADER = 10_000


@dataclass(frozen=True, slots=True)
class Header:
    """Header of a stored array.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    nbytes : int
        Size of its values.
    start : int
        Bytes before the values.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int
    start: int


class Archive:
    """The arrays of an ``.npz`` file by name, whose headers can be read without the values."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in file.infolist():
            name = member.filename.removesuffix(SUFFIX)
            if name in self._members:
                raise UnreadableFile(f"it holds {name!r} twice")
            self._members[name] = member

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all members; those of arrays without extension."""
        return tuple(self._members)

    def header(self, name: str) -> Header:
        """Header of a member; raises :class:`UnreadableFile` if it contradicts the size of the member."""
        with self._open(name) as stream:
            header = _read_header(stream, f"{name!r} in it")
        size = self._members[name].file_size
        if header.start + header.nbytes != size:
            raise UnreadableFile(
                f"{name!r} in it should have the shape {header.shape} and {header.nbytes:,} bytes; there "
                f"are {max(size - header.start, 0):,}"
            )
        return header

    def load(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Some arrays; all headers are checked before the first array is loaded."""
        names = list(names)
        check_memory(sum(self.header(name).nbytes for name in names))
        arrays = {}
        for name in names:
            with self._open(name) as stream:
                arrays[name] = npy.read_array(stream, allow_pickle=False)
        return arrays

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        member = self._members.get(name)
        if member is None:
            raise UnreadableFile(f"it has no array {name!r}")
        if not member.filename.endswith(SUFFIX):
            raise UnreadableFile(f"{name!r} in it is not an array")
        if member.flag_bits & ENCRYPTED:
            raise UnreadableFile(f"{name!r} in it is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFile(
                f"{name!r} in it is compressed by a method that NumPy does not use"
            )
        with self._file.open(member) as stream:
            yield stream


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an ``.npz`` file; raises :class:`UnreadableFile` or an error of :mod:`zipfile`."""
    with path.open("rb") as file:
        if file.read(len(ARCHIVE)) != ARCHIVE:
            raise UnreadableFile(f"{path.name} is not an .npz archive")
        with zipfile.ZipFile(file) as members:
            yield Archive(members)


def read_arrays(
    path: Path, judge: Callable[[Mapping[str, Header]], None] | None = None
) -> dict[str, NDArray[Any]]:
    """All arrays of an ``.npz`` file by name, or the array of an ``.npy`` file as ``"x"``.

    The content of the file decides, not its name. Python objects are never loaded.

    Parameters
    ----------
    path : Path
    judge : callable, optional
        Function of the headers of all arrays, called before any array is loaded; may raise an error.
    """
    with path.open("rb") as file:
        if file.read(len(ARCHIVE)) == ARCHIVE:
            with open_archive(path) as archive:
                if judge is not None:
                    judge({name: archive.header(name) for name in archive.names})
                return archive.load(archive.names)
        file.seek(0)
        header = _read_header(file, "it")
        there = path.stat().st_size - header.start
        if header.nbytes > there:
            raise UnreadableFile(
                f"it should have the shape {header.shape} and {header.nbytes:,} bytes; there are {there:,}"
            )
        if judge is not None:
            judge({ALONE: header})
        check_memory(header.nbytes)
        file.seek(0)
        return {ALONE: npy.read_array(file, allow_pickle=False)}


def _read_header(stream: IO[bytes], what: str) -> Header:
    """The validated header of an array."""
    if stream.read(len(ARRAY)) != ARRAY:
        raise UnreadableFile(f"{what} is not a NumPy array")
    version = stream.read(2)
    # Versions two and three differ only in the encoding of field names.
    read = npy.read_array_header_1_0 if version[:1] == b"\x01" else npy.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            # Python may warn of invalid text in a header.
            warnings.simplefilter("ignore")
            shape, _, dtype = read(stream, max_header_size=LONGEST_HEADER)
    except Exception as error:
        # A header is a Python literal: errors may come from NumPy, the tokenizer or the parser.
        raise UnreadableFile(
            f"{what} has a header that is damaged or longer than {LONGEST_HEADER:,} characters"
        ) from error
    if dtype.hasobject:
        raise UnreadableFile(f"{what} holds Python objects, which are never loaded")
    if dtype.subdtype is not None or not dtype.itemsize or min(shape, default=0) < 0:
        raise UnreadableFile(f"{what} says that it has the shape {shape} and the type {dtype}")
    return Header(tuple(shape), dtype, prod(shape) * dtype.itemsize, stream.tell())
