"""CSV and its relatives: odd cells, names, shapes and bytes, read by ``plaggm fit`` and ``read_table``."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.values import choice, mutated

CELLS = (
    *("", " ", "NA", "nan", "inf", "-inf", "1e400", "1e-400", "1e300", "1e-300", "1,5", "abc"),
    *('"', '""', '"a""b"', '"open', "\x00", "=1+1", "9" * 400, "x" * 140_000, "0x10", "1_000"),
    *("１２", "−1", "True", "2020-01-01", "1;2", "\t", "'1'", "1.5.2", "+1", "1e", "#N/A", "<b>"),
    *("1e16", "😀", "-", "∞", "1j"),
)
NAMES = (
    *("", " ", "a", "g", "1", "source", "target", "samples", "levels", "weight", "level"),
    *("confounder", "x" * 300, "a/b", "../c", "a\\b", "<script>", "=cmd", "a,b", '"q"', "a\nb"),
    *("Unnamed: 0", "(row)", "name", "ü€", "\x07", "nan", "$a_b$", "%s", "{x}", "*", "[a]", "con"),
    *(".", "..", "-x"),
)
LEVELS = (
    *("a", "b", "source", "target", "levels", "samples", "", "a/b", "..", ".", "x" * 300, "CON"),
    *("a\nb", "A", " a", "1", "1.0", "nan", "<b>", "=1", "ü", "\x00", "settings.toml", "groups"),
)


def sound_lines(rng: np.random.Generator, n: int = 30, p: int = 3) -> list[list[str]]:
    """A header and rows of cells: variables, g, and a column of levels."""
    head = [*(f"v{j}" for j in range(p)), "g", "site"]
    x = rng.standard_normal((n, p + 1))
    return [head, *([f"{value:.4f}" for value in row] + ["ab"[k % 2]] for k, row in enumerate(x))]


def odd_text(rng: np.random.Generator, delimiter: str) -> tuple[bytes, str]:
    """The bytes of a text table, and what is odd about it."""
    lines = sound_lines(rng, int(choice(rng, (0, 1, 3, 19, 20, 45, 45, 45))))
    said = [f"{len(lines) - 1} rows"]
    if rng.random() < 0.5:
        lines = [line[:-1] for line in lines]
    for _ in range(int(rng.integers(0, 3))):
        change = choice(rng, _CHANGES)
        change(lines, rng)
        said.append(change.__name__.strip("_"))
    end = choice(rng, ("\n", "\n", "\n", "\r\n", "\r"))
    text = end.join(delimiter.join(line) for line in lines) + choice(rng, (end, end, ""))
    encoding = choice(rng, ("utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"))
    data = text.encode(encoding, errors="replace")
    if rng.random() < 0.2:
        data = mutated(data, rng, int(rng.integers(1, 4)))
        said.append("mutated")
    return data, f"{', '.join(said)}, {encoding}, ends {end!r}"


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A table and the command that fits it."""
    name = choice(
        rng, ("t.csv", "t.csv", "t.tsv", "t.txt", "t.tab", "t.CSV", "t.csv.gz", "t.dat", "t")
    )
    delimiter = (
        "\t" if name.endswith(("tsv", "tab")) else choice(rng, (",", ",", ",", ";", "\t", "|"))
    )
    data, said = odd_text(rng, delimiter)
    if name.endswith(".gz") and rng.random() < 0.8:
        data = gzip.compress(data)
    path = folder / name
    path.write_bytes(data)
    words = f"{said}, delimiter {delimiter!r}"
    if rng.random() < 0.2:
        from plaggm.tables import read_table

        return Case(f"read_table({name}): {words}", lambda: read_table(path))
    arguments = ["fit", name, "--output", "out", "--criterion", "bic", "--stability", "0"]
    arguments += [
        "--jobs",
        "1",
        "--confounder",
        choice(rng, ("g", "g", "g", "g", "v0", "*", "v*", "absent")),
    ]
    if rng.random() < 0.3:
        arguments += ["--missing", choice(rng, ("drop", "impute", "refuse"))]
    if rng.random() < 0.3:
        arguments += ["--group-by", choice(rng, ("site", "site", "v0", "g"))]
    else:
        arguments += ["--exclude", "site"] if b"site" in data else []
    if rng.random() < 0.1:
        arguments += ["--columns", choice(rng, ("v*", "v0,v1", "*", ""))]
    return command_case(
        arguments, words, draw=rng.random() < 0.02, check=result_check(folder / "out")
    )


def _cell(lines, rng):
    if len(lines) > 1:
        row = lines[int(rng.integers(1, len(lines)))]
        row[int(rng.integers(len(row)))] = choice(rng, CELLS)


def _whole_column(lines, rng):
    at, value = int(rng.integers(len(lines[0]))), choice(rng, CELLS[:20])
    for row in lines[1:]:
        if at < len(row):
            row[at] = value


def _name(lines, rng):
    lines[0][int(rng.integers(len(lines[0])))] = choice(rng, NAMES)


def _quoted_name(lines, rng):
    lines[0][0] = '"' + choice(rng, NAMES).replace('"', '""') + '"'


def _levels(lines, rng):
    found = [choice(rng, LEVELS) for _ in range(2)]
    for number, row in enumerate(lines[1:]):
        row[-1] = '"' + found[number % 2].replace('"', '""') + '"'


def _long_row(lines, rng):
    lines[int(rng.integers(len(lines)))].extend(["1.0"] * int(choice(rng, (1, 2, 500))))


def _short_row(lines, rng):
    row = lines[int(rng.integers(len(lines)))]
    del row[int(rng.integers(len(row))) :]
    row.extend([""] if not row else [])


def _no_header(lines, rng):
    if len(lines) > 1:
        del lines[0]


def _two_headers(lines, rng):
    lines.insert(1, list(lines[0]))


def _blank_lines(lines, rng):
    lines.insert(int(rng.integers(len(lines) + 1)), [""])


def _comment(lines, rng):
    lines.insert(0, ["# made by a program"])


def _repeated_column(lines, rng):
    for row in lines:
        row.append(row[0])


def _row_labels(lines, rng):
    for number, row in enumerate(lines):
        row.insert(0, "" if number == 0 else str(number))


def _copied_column(lines, rng):
    for row in lines[1:]:
        if len(row) > 1:
            row[1] = row[0]


def _total_column(lines, rng):
    for number, row in enumerate(lines):
        row.insert(0, "total" if number == 0 else f"{_sum(row):.6f}")


def _sum(row: list[str]) -> float:
    total = 0.0
    for cell in row[:3]:
        try:
            total += float(cell)
        except ValueError:
            continue
    return total


_CHANGES = (
    *(_cell, _cell, _cell, _whole_column, _name, _name, _quoted_name, _levels, _levels, _long_row),
    *(_short_row, _no_header, _two_headers, _blank_lines, _comment, _repeated_column, _row_labels),
    *(_copied_column, _total_column),
)
