"""Studies of region series: participants, series and confounds tables, from slightly wrong to absurd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fuzz.areas.text_tables import LEVELS, NAMES
from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.values import choice, mutated

SUBJECTS, VOLUMES, REGIONS = 6, 24, 4
CELLS = (
    *("", "n/a", "nan", "inf", "1e300", "1e-300", "abc", "9" * 400, "\x00", '"', "0", "1e400"),
    *("-1", "x" * 140_000),
)
MOTION = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z")


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A study on disk and the command that checks or runs it."""
    tables = _sound(rng)
    said = []
    for _ in range(int(rng.integers(0, 3))):
        change = choice(rng, _CHANGES)
        said.append(f"{change.__name__.strip('_')} in {change(tables, rng)}")
    for name, lines in tables.items():
        data = "\n".join("\t".join(row) for row in lines).encode()
        if rng.random() < 0.02:
            data = mutated(data, rng, 2)
            said.append(f"{name} mutated")
        (folder / name).write_bytes(data)
    if rng.random() < 0.15:
        said.append(_as_array(folder, rng))
    whole = rng.random() < 0.3
    arguments = [
        "study",
        "participants.tsv",
        "--group",
        choice(rng, ("diagnosis",) * 6 + ("age", "absent")),
    ]
    confounders = choice(
        rng, (["fd"], ["fd"], ["fd"], ["motion6"], ["trans_x"], ["absent"], ["fd", "trans_x"])
    )
    for name in confounders:
        arguments += ["--confounder", name]
    arguments += ["--jobs", "1", "--output", "out"]
    if not whole:
        arguments.append("--check")
    else:
        arguments += ["--permutations", "5", "--repeats", "0", "--criterion", "bic"]
        arguments += ["--method", choice(rng, ("lr", "pla", "scrub"))]
    for option in _odd_options(rng):
        arguments += option
    return command_case(
        arguments,
        ", ".join(said) or "sound",
        draw=rng.random() < 0.03,
        quoted=(str(folder),),
        check=result_check(folder / "out"),
    )


def _odd_options(rng: np.random.Generator) -> list[list[str]]:
    options: list[list[str]] = []
    if rng.random() < 0.15:
        (Path("places.csv")).write_text(choice(rng, _ATLASES))
        options.append(
            ["--atlas", choice(rng, ("places.csv", "absent.nii.gz", "participants.tsv", "", "."))]
        )
    if rng.random() < 0.1:
        options.append(["--threshold", choice(rng, ("0", "0.5", "1e300", "nan", "inf", "-1", "x"))])
    if rng.random() < 0.1:
        options.append(["--scrub", choice(rng, ("0.5", "1e-9", "1e300", "nan", "inf", "0"))])
    if rng.random() < 0.05:
        options.append(["--labels", choice(rng, ("absent.csv", "participants.tsv"))])
    if rng.random() < 0.05:
        options.append(["--mask", choice(rng, ("absent.nii", "participants.tsv"))])
    if rng.random() < 0.05:
        options.append(["--fmriprep", choice(rng, ("absent", ".", "participants.tsv"))])
    return options


_ATLASES = (
    "name,x,y,z\nr0,1,2,3\nr1,4,5,6\nr2,7,8,9\nr3,1,1,1\n",
    "name,x,y,z\nr0,1,2,3\n",
    "name,x,y,z\nr0,a,2,3\nr1,4,5,6\nr2,7,8,9\nr3,1,1,1\n",
    "name,x,y,z\nr0,nan,2,3\nr1,inf,5,6\nr2,7,8,9\nr3,1,1,1\n",
    "",
    "x\n",
)


def _sound(rng: np.random.Generator) -> dict[str, list[list[str]]]:
    """Every table of a study, by the name of its file."""
    tables = {"participants.tsv": [["subject", "diagnosis", "timeseries", "confounds", "age"]]}
    for k in range(SUBJECTS):
        name = f"s{k}"
        group = ("control", "patient")[k % 2]
        tables["participants.tsv"].append(
            [name, group, f"{name}.tsv", f"{name}_c.tsv", str(20 + k)]
        )
        moved = np.cumsum(0.05 * rng.standard_normal((VOLUMES, 6)), axis=0)
        shift = np.abs(np.diff(moved, axis=0, prepend=moved[:1])).sum(axis=1)
        series = rng.standard_normal((VOLUMES, REGIONS)) + shift[:, None]
        tables[f"{name}.tsv"] = [[f"r{j}" for j in range(REGIONS)], *_written(series)]
        motion = _written(np.column_stack([moved, shift]))
        motion[0][-1] = "n/a"
        tables[f"{name}_c.tsv"] = [[*MOTION, "framewise_displacement"], *motion]
    return tables


def _written(values: np.ndarray) -> list[list[str]]:
    return [[f"{value:.5f}" for value in row] for row in values]


def _as_array(folder: Path, rng: np.random.Generator) -> str:
    """Give a subject's series as a NumPy file, sound or not."""
    table = folder / "participants.tsv"
    table.write_bytes(table.read_bytes().replace(b"s1.tsv", b"s1.npy"))
    x = rng.standard_normal((VOLUMES, REGIONS))
    contents: tuple[Any, ...] = (
        x,
        x.T,
        x[0],
        x.astype(str),
        x + 1j,
        np.zeros_like(x),
        x * 1e300,
        x[:0],
    )
    np.save(folder / "s1.npy", choice(rng, contents))
    if rng.random() < 0.4:
        data = (folder / "s1.npy").read_bytes()
        (folder / "s1.npy").write_bytes(mutated(data, rng, 2))
    return "series of s1 as an array"


def _pick(tables: dict[str, Any], rng: np.random.Generator) -> str:
    others = [name for name in tables if name != "participants.tsv"]
    return "participants.tsv" if rng.random() < 0.4 else str(choice(rng, others))


def _cell(tables, rng):
    name = _pick(tables, rng)
    lines = tables[name]
    row = lines[int(rng.integers(len(lines)))]
    if row:
        row[int(rng.integers(len(row)))] = choice(rng, CELLS)
    return name


def _column(tables, rng):
    name = _pick(tables, rng)
    lines = tables[name]
    at, value = int(rng.integers(len(lines[0]))) if lines[0] else 0, choice(rng, CELLS)
    for row in lines[1:]:
        if at < len(row):
            row[at] = value
    return name


def _heading(tables, rng):
    name = _pick(tables, rng)
    head = tables[name][0]
    if head:
        head[int(rng.integers(len(head)))] = choice(rng, NAMES)
    return name


def _regions(tables, rng):
    """The same odd names in all subjects."""
    names = [choice(rng, NAMES).replace("\n", " ") for _ in range(REGIONS)]
    for name, lines in tables.items():
        if not name.endswith("_c.tsv") and name != "participants.tsv" and lines:
            lines[0] = list(names)
    return "all series"


def _groups(tables, rng):
    levels = [choice(rng, LEVELS).replace("\n", " ") for _ in range(int(choice(rng, (1, 2, 3))))]
    for number, row in enumerate(tables["participants.tsv"][1:]):
        if len(row) > 1:
            row[1] = levels[number % len(levels)]
    return "participants.tsv"


def _subjects(tables, rng):
    for row in tables["participants.tsv"][1:]:
        if row and rng.random() < 0.5:
            row[0] = choice(rng, ("s1", "", "../x", "a/b", "x" * 300, "ü", "1", "<b>", "a b", "."))
    return "participants.tsv"


def _paths(tables, rng):
    rows = tables["participants.tsv"]
    if len(rows) < 2:
        return "nothing"
    row = rows[int(rng.integers(1, len(rows)))]
    if len(row) > 3:
        row[int(choice(rng, (2, 3)))] = choice(
            rng,
            (
                "absent.tsv",
                "",
                ".",
                "/",
                "x" * 300,
                "\x00",
                "s1.xyz",
                "participants.tsv",
                "/dev/null",
            ),
        )
    return "participants.tsv"


def _rows_removed(tables, rng):
    name = _pick(tables, rng)
    del tables[name][int(rng.integers(len(tables[name]))) :]
    tables[name].extend([] if tables[name] else [[]])
    return name


def _short_series(tables, rng):
    name = str(choice(rng, [name for name in tables if name.endswith("_c.tsv")]))
    for one in (name, name.replace("_c", "")):
        del tables[one][int(choice(rng, (3, 6, 10))) :]
    return name


def _constant_region(tables, rng):
    name = f"s{int(rng.integers(SUBJECTS))}.tsv"
    for row in tables[name][1:]:
        if row:
            row[0] = "1.0"
    return name


def _copied_region(tables, rng):
    for name, lines in tables.items():
        if not name.endswith("_c.tsv") and name != "participants.tsv":
            for row in lines[1:]:
                if len(row) > 1:
                    row[1] = row[0]
    return "all series"


_CHANGES = (
    *(_cell, _cell, _cell, _column, _heading, _regions, _groups, _subjects, _paths, _paths),
    *(_rows_removed, _short_series, _constant_region, _copied_region),
)
