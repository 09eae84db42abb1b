"""Tables in partitions, summed by Dask in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd

from fuzz.areas.estimators import fitted_findings
from fuzz.case import Case
from fuzz.tables import CELLS, sound_table
from fuzz.values import choice, mutated, named, odd_value


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A fit of a Dask array, a Dask DataFrame or a folder of Parquet files."""
    from plaggm import PLAGGM, PLAGGMCV
    from plaggm.distributed import fit_dask

    model: Any = PLAGGM(0.05, n_jobs=1)
    if rng.random() < 0.4:
        model = PLAGGMCV(alphas=4, cv=3, n_jobs=1, criterion=choice(rng, ("cv", "bic", "stars")))
    if rng.random() < 0.1:
        model = odd_value(rng)
    data, options, said = choice(rng, (_array, _frame, _files))(rng, folder)
    if rng.random() < 0.3:
        name = choice(rng, ("confounder", "variables", "groups", "design", "checkpoint"))
        options[name] = odd_value(rng)
    words = ", ".join(f"{name}={named(value)}" for name, value in options.items())

    def call() -> Any:
        # Threads of a pool do not survive the fork into a worker.
        with dask.config.set(scheduler="synchronous"):
            return fit_dask(model, data, **options)

    return Case(
        f"fit_dask({named(model)}, {said}; {words})",
        call,
        fitted_findings,
        quoted=(model, *options.values()),
    )


def _table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, str]:
    x, g = sound_table(rng), rng.standard_normal(60)
    said = "sound"
    if rng.random() < 0.4:
        x[5, 2] = choice(rng, CELLS)
        said = f"a cell of {x[5, 2]}"
    elif rng.random() < 0.3:
        x[:, 0] = choice(rng, (x[:, 1], x[:, 1:].sum(axis=1), np.ones(60), x[:, 0] * 1e300))
        said = "a dependent column"
    if rng.random() < 0.2:
        g[3] = choice(rng, CELLS)
        said += f", a confounder of {g[3]}"
    return x, g, said


def _array(rng, folder):
    import dask.array as da

    x, g, said = _table(rng)
    size = int(choice(rng, (1, 7, 20, 60)))
    other = size if rng.random() < 0.8 else 13
    options = {"confounder": da.from_array(g, chunks=other)}
    if rng.random() < 0.2:
        options = {"confounder": choice(rng, (g, None, da.from_array(g[:-1], chunks=other)))}
    return da.from_array(x, chunks=(size, 4)), options, f"array in chunks of {size}, {said}"


def _framed(rng):
    x, g, said = _table(rng)
    frame = pd.DataFrame(x, columns=list("abcd")).assign(g=g, site=np.arange(60) // 10)
    if rng.random() < 0.2:
        frame["a"] = frame["a"].astype(str)
        said += ", text"
    return frame, said


def _names(rng):
    options: dict[str, Any] = {"confounder": choice(rng, ("g", "g", ["g"], "absent", None))}
    if rng.random() < 0.6:
        options["variables"] = choice(rng, (["a", "b", "c", "d"], ["a"], ["a", "absent"], []))
    if rng.random() < 0.3:
        options["groups"] = choice(rng, ("site", "absent", "a"))
    return options


def _frame(rng, folder):
    import dask.dataframe as dd

    frame, said = _framed(rng)
    parts = int(choice(rng, (1, 3, 6)))
    return dd.from_pandas(frame, npartitions=parts), _names(rng), f"frame of {parts} parts, {said}"


def _files(rng, folder):
    frame, said = _framed(rng)
    home = folder / "parts"
    home.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(60), 3)):
        frame.iloc[rows].to_parquet(home / f"{number}.parquet")
    if rng.random() < 0.4:
        path = home / "1.parquet"
        path.write_bytes(mutated(path.read_bytes(), rng))
        said += ", mutated"
    return choice(rng, (home, str(home), "absent")), _names(rng), f"folder, {said}"
