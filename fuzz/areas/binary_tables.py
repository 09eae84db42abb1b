"""NumPy, Parquet, Feather and Excel files, broken or hostile, read by ``plaggm fit`` and ``read_table``."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.tables import sound_table
from fuzz.values import choice, mutated

SHAPES = (
    *("(2**60, 4)", "(1000000000000, 3)", "(-1, 3)", "(3, -1)", "(30,)", "()", "(0, 4)"),
    *("(30, 0)", "(30, 5", "(99999999999999999999999, 2)", "'x'", "None", "(30, 5.0)"),
    *("(30, 5, 1)", "(True, 2)", "(1, 9)", "[30, 5]"),
)
TYPES = (
    "<f8",
    "|O",
    "<U5",
    "<c16",
    "|b1",
    "<M8[s]",
    "<i8",
    ">f8",
    "<f2",
    "|V8",
    "|S4",
    "nothing",
    "<f99",
    "",
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A file and the command that fits it."""
    kind = choice(rng, ("npy", "npy", "npz", "npz", "npz", "parquet", "feather", "xlsx"))
    data, said = _WRITERS[kind](rng)
    if rng.random() < 0.4:
        data = mutated(data, rng, int(rng.integers(1, 4)))
        said = f"{said}, mutated"
    ending = (
        kind
        if rng.random() < 0.92
        else choice(rng, ("npy", "npz", "parquet", "feather", "xlsx", "csv"))
    )
    path = folder / f"t.{ending}"
    path.write_bytes(data)
    if rng.random() < 0.5:
        from plaggm.tables import read_table

        return Case(f"read_table({path.name}): {said}", lambda: read_table(path))
    arguments = ["fit", path.name, "--output", "out", "--criterion", "bic", "--stability", "0"]
    confounder = choice(rng, ("g", "g", "x0", "x3", "*"))
    arguments += ["--jobs", "1", "--confounder", confounder]
    if ending == "xlsx" and rng.random() < 0.3:
        arguments += ["--sheet", choice(rng, ("data", "absent", "", "x" * 99))]
    return command_case(arguments, said, check=result_check(folder / "out"))


def _bytes_of(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _npy(rng: np.random.Generator) -> tuple[bytes, str]:
    x = sound_table(rng, 30)
    shape = choice(rng, ("sound", "sound", "header", "header", "content"))
    if shape == "sound":
        return _bytes_of(x), "sound"
    if shape == "content":
        return choice(
            rng,
            (
                (_bytes_of(np.array([print, None], dtype=object)), "objects"),
                (_bytes_of(x.astype(str)), "text"),
                (_bytes_of(x + 1j), "complex"),
                (_bytes_of(x[0]), "one axis"),
                (_bytes_of(np.zeros((0, 4))), "no rows"),
                (_bytes_of(x.astype(">f8")), "other byte order"),
                (_bytes_of(np.asfortranarray(x)), "columns first"),
                (_bytes_of(x.view("f8,f8,f8,f8")), "records"),
                (_bytes_of(np.zeros(30, dtype=[("a", "f8", (2, 2)), ("b", "U3")])), "odd records"),
                (_bytes_of(np.full((30, 4), 10.0**300)), "huge values"),
            ),
        )
    descr, order = choice(rng, TYPES), choice(rng, ("False", "True", "3"))
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {choice(rng, SHAPES)}, }}"
    version = choice(rng, (1, 1, 1, 2, 3, 9))
    length = len(text) + 1 if rng.random() < 0.8 else choice(rng, (0, 5, 60_000))
    packed = struct.pack("<H", length) if version == 1 else struct.pack("<I", length)
    head = b"\x93NUMPY" + bytes([version, 0]) + packed + text.encode() + b"\n"
    return head + x.tobytes(), f"header {text}, version {version}, length {length}"


def _npz(rng: np.random.Generator) -> tuple[bytes, str]:
    members: dict[str, bytes] = {
        "x": _bytes_of(sound_table(rng, 30, 3)),
        "g": _bytes_of(rng.standard_normal(30)),
    }
    said = "sound"
    change = choice(rng, ("", "", "member", "member", "name", "bomb", "stored"))
    if change == "member":
        members["g"], said = _npy(rng)
        said = f"member {said}"
    names = {"x": "x.npy", "g": "g.npy"}
    if change == "name":
        names["g"] = choice(
            rng,
            (
                "../g.npy",
                "/g.npy",
                "g",
                "g.txt",
                "",
                "x.npy",
                "a\x00.npy",
                "a/b.npy",
                "n" * 300 + ".npy",
            ),
        )
        said = f"member called {names['g']!r}"
    if change == "bomb":
        # Zeros that take a thousandth of their size on disk; three hundred megabytes.
        rows = 10_000_000
        shape = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 4), }}\n".encode()
        members["g"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(shape)) + shape + bytes(1000)
        said = "a member that claims 320 MB and holds 1 kB"
    kind = choice(
        rng, (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive, warnings.catch_warnings():
        # Two members of the same name are what a reader should be ready for.
        warnings.simplefilter("ignore", UserWarning)
        for key, content in members.items():
            archive.writestr(names[key] or "empty", content)
    data = file.getvalue()
    if rng.random() < 0.15:
        # Bit 0 of the flags says that a member is encrypted.
        at = data.find(b"PK\x01\x02")
        data = data[: at + 8] + bytes([data[at + 8] | 1]) + data[at + 9 :]
        said += ", said to be encrypted"
    if rng.random() < 0.1:
        at = data.find(b"PK\x01\x02")
        data = data[: at + 10] + bytes([99, 0]) + data[at + 12 :]
        said += ", unknown compression"
    return data, f"{said}, compression {kind}"


def _frame(rng: np.random.Generator) -> tuple[pd.DataFrame, str]:
    frame = pd.DataFrame(sound_table(rng, 30, 3), columns=["a", "b", "c"])
    frame["g"] = rng.standard_normal(30)
    change = choice(
        rng, ("", "", "text", "date", "list", "decimal", "null", "bool", "huge", "int", "index")
    )
    if change == "text":
        frame["b"] = ["1.5", "x"] * 15
    elif change == "date":
        frame["b"] = pd.Timestamp("2020-01-01")
    elif change == "list":
        frame["b"] = [[1.0, 2.0]] * 30
    elif change == "decimal":
        from decimal import Decimal

        frame["b"] = [Decimal(k) / 7 for k in range(30)]
    elif change == "null":
        frame.loc[2, "b"] = None
    elif change == "bool":
        frame["b"] = frame["b"] > 0
    elif change == "huge":
        frame["b"] *= 10.0 ** choice(rng, (300, 160, -300))
    elif change == "int":
        frame["b"] = np.arange(30, dtype=np.uint64) + 2**63
    elif change == "index":
        frame = frame.set_axis([f"r{k}" for k in range(30)], axis=0)
    return frame, change or "sound"


def _parquet(rng: np.random.Generator) -> tuple[bytes, str]:
    frame, said = _frame(rng)
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue(), said


def _feather(rng: np.random.Generator) -> tuple[bytes, str]:
    frame, said = _frame(rng)
    file = io.BytesIO()
    frame.reset_index(drop=True).to_feather(file)
    return file.getvalue(), said


def _xlsx(rng: np.random.Generator) -> tuple[bytes, str]:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "data"
    frame, said = _frame(rng)
    frame = frame.map(lambda cell: str(cell) if isinstance(cell, list) else cell)
    frame = frame.astype(object).where(frame.notna(), None)
    for row in [list(frame.columns), *frame.to_numpy().tolist()]:
        sheet.append(row)
    change = choice(rng, ("", "", "formula", "far", "merged", "empty", "dates", "blank row"))
    if change == "formula":
        sheet["B2"] = choice(rng, ("=1/0", "=A2", "#REF!", "=cmd|'/c calc'!A1"))
    elif change == "far":
        sheet.cell(row=choice(rng, (2000, 1_048_576)), column=choice(rng, (40, 16_384)), value=1.0)
    elif change == "merged":
        sheet.merge_cells("A1:B3")
    elif change == "empty":
        sheet.delete_rows(1, 40)
    elif change == "dates":
        sheet["A1"] = pd.Timestamp("2020-01-01").to_pydatetime()
    elif change == "blank row":
        sheet.insert_rows(5)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue(), f"{said}, {change}"


_WRITERS = {"npy": _npy, "npz": _npz, "parquet": _parquet, "feather": _feather, "xlsx": _xlsx}
