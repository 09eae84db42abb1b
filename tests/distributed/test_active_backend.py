"""Comparisons, experiments and half-samples run on a Dask cluster when joblib is told so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("click")

from plaggm.cli.fitting import fit_adjusted, with_stability
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings
from plaggm.comparison import Choices, compare_methods
from plaggm.reproduce import Cell, run_cells
from plaggm.resume import Store
from plaggm.selection.parallel import run_parallel

pytestmark = pytest.mark.distributed


def test_comparison(client: Any, table: pd.DataFrame) -> None:
    def compared(progress: Any = None) -> Any:
        return compare_methods(
            table[list("abcdef")],
            table["motion"],
            methods=["spline", "lr-ggm"],
            choices=Choices(criterion="bic", alphas=8),
            resamples=2,
            progress=progress,
        )

    told: list[tuple[str, int, int]] = []
    with joblib.parallel_config("dask", client=client):
        found = compared(lambda name, done, of: told.append((name, done, of)))
    pd.testing.assert_frame_equal(found.table(), compared().table())
    assert told == [(name, done, 3) for name in found.methods for done in range(4)]


def test_cells_are_kept_by_the_workers(client: Any, tmp_path: Path) -> None:
    cells = [Cell("odd", 10, seed, "con") for seed in (0, 1, 2)]
    store = Store(tmp_path)

    # Defined here, so that it travels to the workers by value: they cannot import tests.
    def work(cell: Cell) -> dict[str, Any]:
        return {"value": 2 * cell.seed}

    with joblib.parallel_config("dask", client=client):
        records = run_cells(cells, work, store, "key")
    assert records == [{"value": 0}, {"value": 2}, {"value": 4}]
    assert [store.get_record("cells", cell.name, "key") for cell in cells] == records


def test_half_samples(client: Any, table: pd.DataFrame) -> None:
    samples = Samples(table[list("abcdef")], table[["motion"]])
    settings = FitSettings(criterion="bic", stability=4)
    model = fit_adjusted(samples, settings)
    with joblib.parallel_config("dask", client=client):
        found = with_stability(model, samples, settings)
    expected = with_stability(model, samples, settings)
    np.testing.assert_array_equal(found.stability, expected.stability)


def test_work_inside_work(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks that wait for tasks leave their threads to them: more wait here than there are threads."""

    def double(number: int) -> int:
        return 2 * number

    def outer(number: int) -> list[int]:
        return run_parallel(double, range(number), n_jobs=None)

    with joblib.parallel_config("dask", client=client):
        found = joblib.Parallel()(joblib.delayed(outer)(number) for number in (1, 2, 3))
        assert run_parallel(double, range(2), n_jobs=None, verbose=1) == [0, 2]
    assert found == [[0], [0, 2], [0, 2, 4]]
    assert "2 of 2 tasks are done" in capsys.readouterr().out
