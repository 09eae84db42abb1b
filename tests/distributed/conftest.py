"""Two worker processes on this machine, reachable from nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.simulate import simulate_paper

pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N, P = 700, 6


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A client of two single-threaded worker processes; a task may kill one of them, not two."""
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": 1,
        # Workers would try for half a minute to reach a dead one.
        "distributed.comm.timeouts.connect": "2s",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    """Columns a to f, the confounder motion and the group subject; rows in random order."""
    made = simulate_paper(P, n=N, seed=0, even=True, threshold=60.0)
    beyond = np.maximum(np.abs(made.confounder) - 60.0, 0.0)
    x = made.x * np.exp(0.002 * beyond)[:, None] + 0.003 * beyond[:, None]
    frame = pd.DataFrame(x * [1.0, 5.0, 0.1, 1.0, 1.0, 2.0] + 30.0, columns=list("abcdef"))
    frame = frame.assign(motion=made.confounder, subject=[f"s{i % 12}" for i in range(N)])
    order = np.random.default_rng(0).permutation(N)
    return frame.iloc[order].reset_index(drop=True)
