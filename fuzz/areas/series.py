"""Rows that are time series: odd labels of runs in memory, odd columns of runs and times in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.areas.estimators import SEARCH, fitted_findings
from fuzz.areas.text_tables import CELLS, LEVELS, sound_lines
from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.confounders import odd_confounder
from fuzz.tables import odd_table, rows_of, sound_table
from fuzz.values import choice, named, odd_value

FILTERS = ("ar", "ar", "ar", 0, 1, 3)
TIMES = (
    *("2024-03-01", "2024-03-01 10:00", "2024-03-01T10:00:00+02:00", "1677-01-01", "9999-12-31"),
    *("01/02/2024", "12:30", "0", "-1", "1e308", "-1e308", "5e-324", "nan", "1e16", "9" * 30),
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A fit, a score, a test or a command with rows in the order of time."""
    return choice(rng, (_fit, _fit, _score, _test, _command, _command, _command))(rng, folder)


def _fit(rng: np.random.Generator, folder: Path) -> Case:
    x, said = (sound_table(rng), "sound") if rng.random() < 0.7 else odd_table(rng)
    g, about = odd_confounder(rng, rows_of(x))
    runs, odd = _odd_runs(rng, rows_of(x))
    groups, divided = _odd_runs(rng, rows_of(x)) if rng.random() < 0.3 else (None, "none")
    model = _model(rng)
    return Case(
        f"{model!r}.fit({said}; confounder {about}; runs {odd}; groups {divided})",
        lambda: model.fit(x, confounder=g, runs=runs, groups=groups),
        lambda fitted: fitted_findings(fitted),
        quoted=(runs, groups),
    )


def _score(rng: np.random.Generator, folder: Path) -> Case:
    x, g = sound_table(rng), rng.standard_normal(60)
    model = _model(rng, temporal=choice(rng, ("ar", 2, None)))
    n = int(choice(rng, (0, 1, 2, 60)))
    runs, said = _odd_runs(rng, n)
    return Case(
        f"{model!r}.score({n} rows; runs {said})",
        lambda: model.fit(x, confounder=g).score(x[:n], confounder=g[:n], runs=runs),
        lambda score: iter([] if np.isfinite(score) else [f"a score of {score}"]),
        quoted=(runs,),
    )


def _test(rng: np.random.Generator, folder: Path) -> Case:
    from plaggm import confounding_test

    x, said = (sound_table(rng), "sound") if rng.random() < 0.7 else odd_table(rng)
    g, about = odd_confounder(rng, rows_of(x))
    runs, odd = _odd_runs(rng, rows_of(x))
    temporal = choice(rng, (*FILTERS, odd_value(rng)))
    return Case(
        f"confounding_test({said}; confounder {about}; runs {odd}; temporal {named(temporal)})",
        lambda: confounding_test(x, g, temporal=temporal, runs=runs),
        lambda found: iter([] if 0.0 <= found.p_value <= 1.0 else [f"p = {found.p_value}"]),
        quoted=(runs, temporal),
    )


def _model(rng: np.random.Generator, **settings: Any) -> Any:
    from plaggm import PLAGGM, PLAGGMCV

    given = {"temporal": choice(rng, FILTERS), "n_jobs": 1} | settings
    if rng.random() < 0.2:
        given["smoother"] = "kernel"
    if rng.random() < 0.6:
        return PLAGGM(0.05, **given)
    return PLAGGMCV(alphas=SEARCH["alphas"], criterion=choice(rng, ("cv", "bic")), **given)


def _odd_runs(rng: np.random.Generator, n: int) -> tuple[Any, str]:
    """Labels of the runs of n rows, and what is odd about them."""
    rows = np.arange(n)
    kind = choice(rng, _RUNS)
    found = kind(rows, rng)
    return found, kind.__name__.strip("_")


def _none(rows, rng):
    return None


def _two(rows, rng):
    return rows // max(1, len(rows) // 2)


def _pairs(rows, rng):
    return rows // 2


def _each_its_own(rows, rng):
    return rows


def _in_turns(rows, rng):
    return rows % 2


def _one(rows, rng):
    return np.zeros(len(rows))


def _texts(rows, rng):
    return [choice(rng, LEVELS) for _ in rows]


def _series(rows, rng):
    return pd.Series(rows // 20, index=rows[::-1], name="run")


def _categories(rows, rng):
    return pd.Series((rows // 20).astype(str)).astype("category")


def _dates(rows, rng):
    return pd.date_range("2024-01-01", periods=len(rows)).normalize()


def _missing(rows, rng):
    return [None, *rows[1:].tolist()]


def _not_numbers(rows, rng):
    return np.where(rows > len(rows) // 2, np.nan, rows * 1.0)


def _lists(rows, rng):
    return [[1]] * len(rows)


def _wrong_length(rows, rng):
    return np.zeros(len(rows) + int(choice(rng, (-1, 1))) if len(rows) else 1)


def _column(rows, rng):
    return (rows // 20)[:, None]


def _mixed(rows, rng):
    return [choice(rng, (1, 1.0, "1", True, b"1", (1,), 1j, 10**400)) for _ in rows]


def _other(rows, rng):
    return odd_value(rng)


_RUNS = (
    *(_none, _two, _two, _two, _pairs, _each_its_own, _in_turns, _one, _texts, _series),
    *(_categories, _dates, _missing, _not_numbers, _lists, _wrong_length, _column, _mixed, _other),
)


def _command(rng: np.random.Generator, folder: Path) -> Case:
    """``plaggm fit`` of a table with a column of times and one of runs."""
    n = int(choice(rng, (20, 45, 45, 60)))
    head, *rows = sound_lines(rng, n)
    written = choice(rng, _WRITTEN)
    times, said = written(n, rng), [written.__name__.strip("_")]
    runs = [choice(rng, ("a", "b")) if rng.random() < 0.2 else "ab"[2 * k // n] for k in range(n)]
    for column, cells in ((times, (*TIMES, *CELLS)), (runs, (*LEVELS, *CELLS))):
        if rng.random() < 0.3:
            cell = choice(rng, cells).replace('"', '""')
            column[int(rng.integers(n))] = f'"{cell}"'
            said.append("an odd cell")
    lines = [[*head, "t", "scan"]]
    lines += [[*row, t, run] for row, t, run in zip(rows, times, runs, strict=True)]
    if rng.random() < 0.2:
        lines[1:] = [lines[1 + at] for at in rng.permutation(n)]
        said.append("in no order")
    if rng.random() < 0.3:
        lines[int(rng.integers(1, n + 1))][0] = choice(rng, ("", "nan"))
        said.append("a value is missing")
    (folder / "t.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    arguments = ["fit", "t.csv", "--confounder", "g", "--stability", "0", "--criterion", "bic"]
    arguments += ["--jobs", "1", "--output", "out"]
    arguments += ["--missing", choice(rng, ("drop", "drop", "impute", "refuse"))]
    named_columns = set()
    if rng.random() < 0.8:
        named_columns.add(name := choice(rng, (*"tttttttt", "scan", "g", "v0", "*", "")))
        arguments += ["--time", name]
    if rng.random() < 0.6:
        named_columns.add(name := choice(rng, (*["scan"] * 6, "site", "t", "g", "v*")))
        arguments += ["--run", name]
    if rng.random() < 0.3:
        arguments += ["--temporal", choice(rng, ("ar", "0", "1", "2", "5", "44"))]
    if rng.random() < 0.2:
        arguments += ["--group-by", "site"]
        named_columns.add("site")
    left = [name for name in ("t", "scan", "site") if name not in named_columns]
    arguments += ["--exclude", ",".join(left)] if left else []
    return command_case(arguments, ", ".join(said), check=result_check(folder / "out"))


def _counted(n, rng):
    return [str(k) for k in range(n)]


def _seconds(n, rng):
    return [f"{2.2 * k:.3f}" for k in range(n)]


def _with_gaps(n, rng):
    return [str(k + 10 * (k > n // 3)) for k in range(n)]


def _again_in_each_run(n, rng):
    return [str(k % (n // 2)) for k in range(n)]


def _all_the_same(n, rng):
    return ["3"] * n


def _days(n, rng):
    return [str(day.date()) for day in pd.date_range("2023-12-25", periods=n)]


def _far_apart(n, rng):
    return [f"{(-1) ** k * 10.0 ** (5 * k):g}" for k in range(n)]


def _tiny_steps(n, rng):
    return [repr(1.0 + k * 1e-16) for k in range(n)]


def _words(n, rng):
    return [choice(rng, TIMES) for _ in range(n)]


_WRITTEN = (
    *(_counted, _counted, _counted, _seconds, _with_gaps, _again_in_each_run, _all_the_same, _days),
    *(_days, _far_apart, _tiny_steps, _words),
)
