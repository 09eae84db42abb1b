"""Hostile and damaged NumPy files: refused in words about the file, and never loaded first."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from plaggm import read_errors
from plaggm.numpy_files import open_archive, read_arrays
from plaggm.read_errors import UnreadableFile, reason_in_words

ENCRYPTION_FLAG = 1


def array_bytes(array: Any = None) -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(3, 2) if array is None else array)
    return file.getvalue()


def claiming(shape: Any, descr: str = "<f8", *, values: int = 6) -> bytes:
    """An array whose header says something else than its values."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}}}\n".encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(8 * values)


def archive_bytes(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_flag(content: bytes) -> bytes:
    """The same archive with its first member marked as encrypted, in both of its lists."""
    broken = bytearray(content)
    broken[6] |= ENCRYPTION_FLAG
    broken[content.index(b"PK\x01\x02") + 8] |= ENCRYPTION_FLAG
    return bytes(broken)


def with_method(content: bytes, method: int) -> bytes:
    broken = bytearray(content)
    broken[8] = method
    broken[content.index(b"PK\x01\x02") + 10] = method
    return bytes(broken)


def with_broken_deflate(content: bytes) -> bytes:
    broken = bytearray(content)
    start = 30 + len("x.npy")
    broken[start : start + 8] = b"\xff" * 8
    return bytes(broken)


WHOLE = archive_bytes({"x.npy": array_bytes()})
HOSTILE: dict[str, tuple[bytes, str]] = {
    "absurd shape": (claiming((2**40, 2**20)), "shape .* bytes; there are 48"),
    "negative shape": (claiming((-3, 2)), r"says that it has the shape \(-3, 2\)"),
    "shape of huge digits": (claiming((10**400,)), "there are 48"),
    "no bytes for an entry": (claiming((2**62,), "|V0"), "says that it has the shape"),
    "arrays within entries": (claiming((1,), "(3,)f8"), "damaged|says that it has"),
    "header that is no header": (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", 300) + b"(" * 300,
        "header that is damaged",
    ),
    "long header": (b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535, "longer than 10,000"),
    "version of tomorrow": (b"\x93NUMPY\x09\x00" + array_bytes()[8:], "damaged"),
    "cut off": (array_bytes()[:-1], "there are 47"),
    "cut off in the header": (array_bytes()[:20], "damaged"),
    "objects": (array_bytes(np.array([{}], dtype=object)), "Python objects, which are never"),
    "text": (b"a,b\n1,2\n", "is not a NumPy array"),
    "empty": (b"", "is not a NumPy array"),
    "archive: absurd shape": (
        archive_bytes({"x.npy": claiming((2**40, 2**20))}),
        "'x' in it should have .* there are 48",
    ),
    "archive: more than its shape": (archive_bytes({"x.npy": claiming((2,))}), "there are 48"),
    "archive: objects": (
        archive_bytes({"x.npy": array_bytes(np.array([{}], dtype=object))}),
        "Python objects",
    ),
    "archive: text member": (
        archive_bytes({"notes.txt": b"hello"}),
        "'notes.txt' in it is not an array",
    ),
    "archive: text as array": (
        archive_bytes({"x.npy": b"hello"}),
        "'x' in it is not a NumPy array",
    ),
    "archive: encrypted": (with_flag(WHOLE), "'x' in it is encrypted"),
    "archive: unknown method": (with_method(WHOLE, 97), "method that NumPy does not use"),
    "archive: other method": (
        archive_bytes({"x.npy": array_bytes()}, zipfile.ZIP_LZMA),
        "method that NumPy does not use",
    ),
    "archive: broken deflate": (with_broken_deflate(WHOLE), "its compressed content is damaged"),
    "archive: cut off": (WHOLE[:-10], "its compressed content is damaged"),
    "archive: a name twice": (
        archive_bytes({"x.npy": array_bytes(), "x": array_bytes()}),
        "it holds 'x' twice",
    ),
    "archive: other sum": (
        WHOLE.replace(WHOLE[14:18], b"\x00\x01\x02\x03"),
        "its compressed content is damaged",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_in_words(tmp_path: Path, case: str) -> None:
    content, words = HOSTILE[case]
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(Exception) as caught:
        read_arrays(path)
    reason = reason_in_words(caught.value)
    assert re.search(words, reason), reason


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_arrays_come_back(tmp_path: Path) -> None:
    table = np.arange(6.0).reshape(3, 2)
    fields = np.array([(1.0, 2)], dtype=[("Ω", "f8"), ("b", "i4")])
    for save, name in ((np.savez, "x.npz"), (np.savez_compressed, "y.npz")):
        save(tmp_path / name, table=table.T, fields=fields, nothing=np.zeros((0, 3)))
        found = read_arrays(tmp_path / name)
        np.testing.assert_array_equal(found["table"], table.T)
        assert found["fields"].dtype.names == ("Ω", "b")
        assert found["nothing"].shape == (0, 3)
    np.save(tmp_path / "z.npy", table)
    np.testing.assert_array_equal(read_arrays(tmp_path / "z.npy")["x"], table)


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_what_does_not_fit_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"x{ending}"
    save: Callable[..., Any] = np.save if ending == ".npy" else np.savez_compressed
    save(path, np.zeros(1000))
    monkeypatch.setattr(read_errors, "available_memory", lambda: 7500)
    monkeypatch.setattr(npy, "read_array", None)
    with pytest.raises(UnreadableFile, match=r"it needs 8 kB of memory, and 7.5 kB are free"):
        read_arrays(path)


def test_other_members_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(archive_bytes({"bomb.npy": claiming((2**60,)), "x.npy": array_bytes()}))
    with open_archive(path) as archive:
        assert archive.names == ("bomb", "x")
        assert archive.header("x").shape == (3, 2)
        assert archive.load(["x"])["x"].sum() == 15.0
        with pytest.raises(UnreadableFile, match="it has no array 'y'"):
            archive.header("y")
