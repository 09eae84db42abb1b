"""One streamed fit in a process of its own, so that its memory can be told: see run.py."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plaggm import PLAGGM
from plaggm.core.numerics.threads import available_threads
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.confounder_bins import one_bin
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.reference import ZERO
from plaggm.estimators.row_sums import RowSums

CHUNK_ROWS = 62_500
THRESHOLD = 0.5


def write_rows(path: Path, n: int, p: int) -> None:
    """A table of p variables and the confounder, float64, row after row."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for _ in range(n // CHUNK_ROWS):
            rows = rng.standard_normal((CHUNK_ROWS, p + 1))
            rows[:, -1] = np.abs(rows[:, -1])
            file.write(rows.tobytes())


def read_rows(path: Path, n: int, p: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    with path.open("rb") as file:
        for _ in range(n // CHUNK_ROWS):
            rows = np.fromfile(file, count=CHUNK_ROWS * (p + 1)).reshape(CHUNK_ROWS, p + 1)
            yield np.ascontiguousarray(rows[:, :-1]), rows[:, -1:]


def main() -> None:
    n, p, functions = (int(word) for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.bin"
        write_rows(path, n, p)
        _, g = next(read_rows(path, n, p))
        limits = np.array([THRESHOLD])
        basis = spline_basis(g, limits, functions=functions, degree=3)
        ends = np.zeros(1), np.full(1, 10.0)
        design = SplineDesign(
            *(("g",), (None,), (ZERO,), limits, basis, SplineBasis(()), one_bin(1)), *ends
        )
        names = tuple(f"x{j}" for j in range(p))
        best = np.inf
        for _ in range(3):
            sums = RowSums(design, names, available_threads())
            spent = 0.0
            for x, confounder in read_rows(path, n, p):
                start = time.perf_counter()
                sums.add(x, confounder)
                spent += time.perf_counter() - start
            best = min(best, spent)
        start = time.perf_counter()
        PLAGGM(0.05, threshold=THRESHOLD, n_jobs=-1).fit_chunks(lambda: read_rows(path, n, p))
        fit = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"statistics": best, "fit": fit, "peak": peak}))


if __name__ == "__main__":
    main()
