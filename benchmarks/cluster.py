"""A reduction over worker processes of this machine, against the cost model of docs/scale.md.

Writes a folder of Parquet files, sums it with 1, 2 and 4 single-threaded worker processes, and prints time,
rate and bytes as JSON. Workers beyond the machine's cores cannot help; they show what sharing costs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm import PLAGGM
from plaggm.distributed import fit_dask, sample_design
from plaggm.estimators.fit_methods import fit_stream
from plaggm.estimators.row_sums import RowSums

ALPHA, THRESHOLD = 0.05, 0.5


def write_table(folder: Path, n: int, p: int, files: int) -> list[str]:
    """Rows of p variables and a confounder called motion, in as many files."""
    draw = np.random.default_rng(0)
    names = [f"x{number}" for number in range(p)]
    for number, rows in enumerate(np.array_split(np.arange(n), files)):
        g = draw.gamma(1.0, size=len(rows))
        x = draw.standard_normal((len(rows), p)) * (1.0 + 0.2 * np.maximum(g - 0.5, 0.0))[:, None]
        frame = pd.DataFrame(x, columns=names).assign(motion=g)
        frame.to_parquet(folder / f"part-{number:05d}.parquet")
    return names


def seconds_of(function: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def one_core(folder: Path, names: list[str], design: Any) -> dict[str, float]:
    """Core-seconds of reading and of summing, told apart; other processes do not count."""
    sums = RowSums(design, tuple(names), 1)
    reading = summing = 0.0
    for path in sorted(folder.glob("*.parquet")):
        start = time.process_time()
        frame = pd.read_parquet(path)
        x, g = frame[names].to_numpy(), frame[["motion"]].to_numpy()
        middle = time.process_time()
        sums.add(x, g)
        reading += middle - start
        summing += time.process_time() - middle
    first = next(iter(sums.cells.values()))
    return {
        "reading core-s": reading,
        "summing core-s": summing,
        "rows × p² a second and core": sums.n * len(names) ** 2 / summing,
        "rows a second and core, reading included": sums.n / (reading + summing),
        "bytes of one set of sums": first.sums.nbytes,
        "sets of sums": len(sums.cells),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--variables", type=int, default=50)
    parser.add_argument("--files", type=int, default=32)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="none: 0")
    parser.add_argument("--variance", default="function", choices=["function", "conditional"])
    options = parser.parse_args()
    from distributed import Client, LocalCluster

    model = PLAGGM(ALPHA, threshold=THRESHOLD, variance=options.variance)
    report: dict[str, Any] = {**vars(options), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = write_table(folder, options.rows, options.variables, options.files)
        design = sample_design(model, folder, confounder="motion")
        _warm_up()
        report["functions"] = design.basis.size
        report["one core"] = one_core(folder, names, design)
        for workers in filter(None, options.workers):
            with (
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,
                ) as cluster,
                Client(cluster) as client,
            ):
                # Every process imports and compiles before it is timed.
                client.run(_warm_up)
                settings = dict(confounder="motion", design=design, client=client)
                before = sum(client.run(time.process_time).values())
                spent, fitted = seconds_of(lambda s=settings: fit_dask(model, folder, **s))
                used = sum(client.run(time.process_time).values()) - before
                local = seconds_of(lambda m=fitted: fit_stream(m, m._stream))[0]
            report[f"{workers} workers"] = {
                "whole fit s": spent,
                "of it on the client s": local,
                "core-s of the workers": used,
            }
    print(json.dumps(report, indent=1))


def _warm_up() -> None:
    draw = np.random.default_rng(0)
    x, g = draw.standard_normal((500, 5)), draw.gamma(1.0, size=500)
    PLAGGM(0.1, threshold=0.5).fit(x, confounder=g)


if __name__ == "__main__":
    main()
