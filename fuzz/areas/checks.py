"""Tables that people really have, and others, looked at by ``plaggm check`` and ``check_table``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.areas.text_tables import odd_text
from fuzz.case import Case
from fuzz.commands import command_case
from fuzz.values import choice

CELLS = (
    *(None, np.nan, np.inf, -np.inf, 1e308, 1e-320, -999, 9999, "", "abc", "1,5", "12 kg", b"x"),
    *(True, 10**400, 1j, pd.Timestamp("2024-01-01"), pd.NaT, pd.NA, (1, 2), "2024-13-45", "٣"),
)
NAMES = ("id", "year", "Subject ID", "", "index", "a\nb", "total", "x" * 300, "NO", "g")


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A table, on disk or in memory."""
    if rng.random() < 0.4:
        data, said = odd_text(rng, ",")
        (folder / "t.csv").write_bytes(data)
        arguments = ["check", "t.csv", *_options(rng)]
        return command_case(arguments, said)
    from plaggm import check_table

    frame, said = _frame(rng)
    confounder: Any = None
    if rng.random() < 0.5:
        confounder = choice(
            rng, (rng.standard_normal(len(frame)), frame.iloc[:, 0], frame.iloc[:, :2], [1.0], "x")
        )
    table = frame.to_numpy() if rng.random() < 0.2 else frame
    return Case(f"check_table: {said}", lambda: check_table(table, confounder))


def _options(rng: np.random.Generator) -> list[str]:
    options: list[str] = []
    for option, values in (
        ("--confounder", ("g", "v*", "absent")),
        ("--columns", ("*", "v0,v1", "v*,g")),
        ("--time", ("v0", "site")),
        ("--run", ("site", "g")),
        ("--group-by", ("site", "v0")),
        ("--na", ("-999", "abc", "")),
        ("--missing", ("drop", "impute")),
        ("--output", ("f.json", "f.csv", "f.txt", "nowhere/f.csv")),
    ):
        if rng.random() < 0.2:
            options += [option, choice(rng, values)]
    return options


def _frame(rng: np.random.Generator) -> tuple[pd.DataFrame, str]:
    n, p = int(choice(rng, (1, 2, 9, 10, 40, 200))), int(choice(rng, (1, 2, 4, 8)))
    frame = pd.DataFrame(rng.standard_normal((n, p)), columns=[f"v{j}" for j in range(p)])
    said = [f"{n} x {p}"]
    for _ in range(int(rng.integers(0, 4))):
        name = choice(rng, NAMES) if rng.random() < 0.5 else choice(rng, list(frame))
        change = int(rng.integers(8))
        said.append(f"{name[:10]!r}: {change}")
        frame[name] = _column(rng, frame, change)
    if rng.random() < 0.5:
        frame = frame.astype(object)
        for _ in range(int(rng.integers(1, 4))):
            row, column = int(rng.integers(n)), int(rng.integers(frame.shape[1]))
            frame.iat[row, column] = choice(rng, CELLS)
    return frame, ", ".join(said)


def _column(rng: np.random.Generator, frame: pd.DataFrame, change: int) -> Any:
    n, first = len(frame), frame.iloc[:, 0]
    return (
        lambda: np.arange(n),
        lambda: pd.date_range("2024-01-01", periods=n),
        lambda: pd.Categorical(rng.choice(["a", "b"], n)),
        lambda: first,
        lambda: frame.select_dtypes("number").sum(axis=1),
        lambda: [choice(rng, CELLS) for _ in range(n)],
        lambda: rng.integers(0, 3, n),
        lambda: np.full(n, 1e300) * rng.standard_normal(n),
    )[change]()
