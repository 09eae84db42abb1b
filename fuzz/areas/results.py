"""Stored results that were edited, damaged or made up, read by ``read_result`` and ``plaggm report``."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import impossible
from fuzz.areas.estimators import sound_model
from fuzz.areas.text_tables import LEVELS, sound_lines
from fuzz.case import Case
from fuzz.commands import command_case
from fuzz.values import choice, mutated

JSON_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 10**400, "", "x", "\x00", [], {}, [1], ["a"], {"a": 1}, [[]]),
    *("x" * 3000, float("nan"), float("inf"), ["a"] * 4, ["a", "b", "c", 3], [None] * 4),
    *("plaggm-result", 99, "1"),
)
NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 2.0, 1e300, -1e300, 0.0, 1e-320)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A stored result and what reads it."""
    kind = choice(rng, ("folder", "folder", "folder", "file", "groups"))
    if kind == "file":
        data, said = _odd_file(rng)
        (folder / "r.npz").write_bytes(data)
        return _reading(folder / "r.npz", said)
    files = dict(_group_files() if kind == "groups" else _folder_files())
    said = []
    for _ in range(int(rng.integers(1, 3))):
        said.append(choice(rng, _CHANGES)(files, rng))
    home = folder / "r"
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    if rng.random() < 0.1:
        said.append(_linked(home, folder, rng))
    words = f"{kind}: {', '.join(said)}"
    if kind == "folder" and rng.random() < 0.5:
        return _reading(home, words)
    arguments = ["report", "r"]
    for name in ("graphml", "gexf", "brainnet"):
        arguments += ["--export", name] if rng.random() < 0.3 else []
    if "brainnet" in arguments and rng.random() < 0.5:
        (folder / "places.csv").write_text(choice(rng, _PLACES))
        arguments += ["--coordinates", choice(rng, ("places.csv", "absent.csv", "r"))]

    def check() -> Iterator[str]:
        if (folder / "precious.txt").exists() and (folder / "precious.txt").read_text() != "mine":
            yield "a file outside the folder was written through a link"

    return command_case(arguments, words, quoted=_names_in(files), check=check)


_PLACES = (
    "name,x,y,z\nx0,1,2,3\nx1,1,2,3\nx2,1,2,3\nx3,1,2,3\n",
    "name,x,y,z\nx0,1,2,3\n",
    "name,x,y,z\nx0,a,2,3\nx1,1,2,3\nx2,1,2,3\nx3,1,2,3\n",
    "name,x,y\nx0,1,2\n",
    "",
    "name,x,y,z\nx0,1,2,3\nx0,1,2,3\nx1,1,2,3\nx2,1,2,3\nx3,1,2,nan\n",
)


def _reading(path: Path, words: str) -> Case:
    from plaggm import read_result

    def check(result: Any) -> Iterator[str]:
        yield from impossible.in_result(result)
        yield from impossible.in_edges(result.edges())
        result.nuisance_table()
        result.matrix()
        result.summary()
        result.to_networkx()
        repr(result)
        result.save("again")

    return Case(f"read_result({path.name}): {words}", lambda: read_result(path), check)


@cache
def _folder_files() -> dict[str, bytes]:
    """The files of a result with everything in it, as ``plaggm fit`` writes them."""
    from plaggm import PLAGGMCV

    model, x, g = sound_model(np.random.default_rng(0))
    plain = PLAGGMCV(alphas=5, cv=3, n_jobs=1).fit(x).to_result()
    groups = np.arange(60) // 6
    model = PLAGGMCV(alphas=5, cv=3, n_jobs=1).fit(x, confounder=g, groups=groups)
    model.bootstrap(4)
    with tempfile.TemporaryDirectory() as place:
        home = model.to_result().save(Path(place) / "r")
        plain.save(home / "unadjusted")
        return _all_files(home)


@cache
def _group_files() -> dict[str, bytes]:
    """The files of ``plaggm fit --group-by``."""
    from unittest import mock

    from click.testing import CliRunner

    from plaggm.cli.group import commands

    with tempfile.TemporaryDirectory() as place, mock.patch("plaggm.cli.folder.draw_figures"):
        table = Path(place) / "t.csv"
        lines = sound_lines(np.random.default_rng(0), 60)
        table.write_text("\n".join(",".join(row) for row in lines) + "\n")
        arguments = [str(table), "--confounder", "g", "--group-by", "site", "--stability", "0"]
        arguments += ["--criterion", "bic", "--jobs", "1", "--output", str(Path(place) / "r")]
        done = CliRunner().invoke(commands, ["fit", *arguments])
        assert done.exit_code == 0, done.output
        return _all_files(Path(place) / "r")


def _all_files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


def _names_in(files: dict[str, bytes]) -> tuple[str, ...]:
    return tuple(files)


def _bytes_changed(files, rng):
    name = choice(rng, _read_files(files))
    files[name] = mutated(files[name], rng, int(rng.integers(1, 4)))
    return f"{name} mutated"


def _file_removed(files, rng):
    name = choice(rng, _read_files(files))
    del files[name]
    return f"{name} removed"


def _file_emptied(files, rng):
    name = choice(rng, _read_files(files))
    files[name] = choice(rng, (b"", b"\x00", b"{}", b"[]", b"null", b"PK", b"[" * 100_000))
    return f"{name} is {files[name][:10]!r}"


def _metadata_changed(files, rng):
    name = choice(rng, [name for name in files if name.endswith("result.json")] or ["result.json"])
    try:
        content = json.loads(files.get(name, b"{}"))
    except ValueError:
        content = {}
    if not isinstance(content, dict) or not content:
        content = {"format": "plaggm-result"}
    key = choice(rng, sorted(content))
    inner = content[key]
    if isinstance(inner, dict) and inner and rng.random() < 0.6:
        below = choice(rng, sorted(inner))
        inner[below] = choice(rng, JSON_VALUES)
        words = f"{key}.{below} = {str(inner[below])[:30]}"
    elif rng.random() < 0.2:
        del content[key]
        words = f"no {key}"
    else:
        content[key] = choice(rng, JSON_VALUES)
        words = f"{key} = {str(content[key])[:30]}"
    files[name] = json.dumps(content).encode()
    return f"{name}: {words}"


def _arrays_changed(files, rng):
    name = choice(rng, [name for name in files if name.endswith(".npz")] or ["arrays.npz"])
    data, said = _odd_arrays(files.get(name, b""), rng)
    files[name] = data
    return f"{name}: {said}"


def _odd_arrays(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    try:
        with np.load(io.BytesIO(data)) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception:
        # An earlier change has left nothing to read.
        return data, "unreadable as it is"
    key = choice(rng, sorted(arrays))
    array = arrays[key]
    change = choice(
        rng, ("value", "value", "value", "pair", "shape", "type", "absent", "extra", "all")
    )
    if change in ("value", "pair") and array.size and array.dtype.kind == "f":
        value, at = choice(rng, NUMBERS), tuple(int(rng.integers(size)) for size in array.shape)
        array[at] = value
        if change == "pair" and array.ndim > 1 and array.shape[-1] == array.shape[-2]:
            array[(*at[:-2], at[-1], at[-2])] = value
        said = f"{key}{list(at)} = {value}"
    elif change == "all" and array.dtype.kind == "f":
        array[...] = choice(rng, NUMBERS)
        said = f"{key} all {array.flat[0] if array.size else 'empty'}"
    elif change == "shape":
        arrays[key] = choice(
            rng, (array.ravel(), array[None], array[:0], array[..., :1], np.zeros(3))
        )
        said = f"{key} of shape {arrays[key].shape}"
    elif change == "absent":
        del arrays[key]
        said = f"no {key}"
    elif change == "extra":
        arrays["surprise"] = np.zeros(3)
        said = "one more"
    else:
        kind = choice(rng, (np.float32, np.int8, bool, complex, "U8", "S8", "M8[s]", np.float16))
        arrays[key] = np.zeros(array.shape, dtype=kind)
        said = f"{key} of kind {np.dtype(kind)}"
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue(), said


def _truth_added(files, rng):
    names = [f"x{j}" for j in range(4)]
    content: dict[str, Any] = {
        "format": "plaggm-truth",
        "names": names,
        "omega": np.eye(4).tolist(),
    }
    content[choice(rng, ("format", "names", "omega", "confounder_grid", "nuisance"))] = choice(
        rng, (*JSON_VALUES, [[0.0] * 4] * 4, [[float("nan")] * 4] * 4, [["a"] * 4] * 4)
    )
    files["truth.json"] = json.dumps(content).encode()
    return f"truth {str(content)[:80]}"


def _groups_changed(files, rng):
    tables = [name for name in files if name.endswith(".csv") and "/" not in name]
    if not tables:
        return "no table"
    name = choice(rng, tables)
    lines = files[name].decode(errors="replace").splitlines()
    at = int(rng.integers(len(lines)))
    lines[at] = choice(
        rng,
        ("", ",,,", "a", "x" * 400, '"', *(lines[at].replace("a", level) for level in LEVELS)),
    )
    files[name] = "\n".join(lines).encode()
    return f"{name} line {at} is {lines[at][:40]!r}"


def _unchanged(files, rng):
    return "as written"


def _read_files(files: dict[str, bytes]) -> list[str]:
    """The files that are read again."""
    found = [name for name in files if name.endswith((".json", ".npz")) or name == "groups.csv"]
    return found or list(files) or ["result.json"]


def _linked(home: Path, folder: Path, rng: np.random.Generator) -> str:
    """Put a link to a file outside where the page or an export is written."""
    (folder / "precious.txt").write_text("mine")
    name = choice(
        rng, ("report.html", "network.gexf", "network.graphml", "network.node", "summary.txt")
    )
    (home / name).unlink(missing_ok=True)
    home.mkdir(exist_ok=True)
    os.symlink(folder / "precious.txt", home / name)
    return f"{name} links elsewhere"


_CHANGES = (
    *(_bytes_changed, _bytes_changed, _file_removed, _file_emptied, _metadata_changed),
    *(_metadata_changed, _metadata_changed, _arrays_changed, _arrays_changed, _arrays_changed),
    *(_truth_added, _groups_changed, _unchanged),
)


@cache
def _file_bytes() -> bytes:
    model, *_ = sound_model(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as place:
        return model.to_result().save(Path(place) / "r.npz").read_bytes()


def _odd_file(rng: np.random.Generator) -> tuple[bytes, str]:
    data = _file_bytes()
    if rng.random() < 0.6:
        return _odd_arrays(data, rng)
    return mutated(data, rng, int(rng.integers(1, 4))), "mutated"
