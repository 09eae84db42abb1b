"""What every test session shares: threads, how hypothesis draws, what is collected without the extras."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Tests run side by side, one on each core, where several threads of BLAS would only wait for each other.
# Set here, before anything loads NumPy; processes that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Nothing that is collected is garbage, but looking for some there takes a third of the time of collecting.
gc.disable()

# The quick session repeats the same examples everywhere; `make test-slow` explores at random.
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# Files and folders that need a library of an extra, collected only where it is installed.
NEEDS = {
    "matplotlib": [
        "src/plaggm/plotting",
        "src/plaggm/report",
        "src/plaggm/reproduce",
        "src/plaggm/fmri",
        "src/plaggm/cli",
        "tests/unit/test_plotting.py",
        "tests/unit/report",
        "tests/unit/reproduce",
        "tests/unit/test_reproduce.py",
        "tests/project/test_bench_compare.py",
        "tests/project/test_scenario_suite.py",
        "tests/cli",
        "tests/browser",
    ],
    "networkx": ["src/plaggm/plotting"],
    "click": ["src/plaggm/cli", "tests/cli", "tests/project/test_fuzz.py"],
    "openpyxl": ["tests/unit/test_tables.py"],
    "pyarrow": ["tests/unit/test_tables.py"],
    "nilearn": ["src/plaggm/fmri", "src/plaggm/reproduce", "tests/fmri"],
    "dask": ["src/plaggm/distributed", "src/plaggm/selection/cluster.py", "tests/distributed"],
}

ROOT = Path(__file__).parent
# Folders whose tests share what takes seconds to start: a browser, or the workers of a cluster.
ONE_PROCESS = ("tests/browser/", "tests/distributed/")
collect_ignore = sorted(
    {place for library, places in NEEDS.items() if find_spec(library) is None for place in places}
)
# Pages are collected for the examples in them, not the programs beside them, nor what is made of either.
collect_ignore_glob = ["docs/*.py", "docs/extensions/*", "docs/auto_examples/*", "docs/generated/*"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests of a file in one process, in the order in which they are collected.

    Dealt out singly, neighbours run side by side: each process then makes the fixtures of a module for
    itself, and compiles the same loops at the same time.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadPlaces(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            shared = (folder for folder in ONE_PROCESS if nodeid.startswith(folder))
            return next(shared, super()._split_scope(nodeid))

    # Folders of slow tests are collected first; quick ones then keep all processes busy until the end.
    config.option.loadscopereorder = False
    return LoadPlaces(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Leave what was collected out of every later search for garbage: it stays until the end."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what judges frequencies over simulated data sets."""
    for item in items:
        if ROOT / "tests" / "statistical" in item.path.parents:
            item.add_marker(pytest.mark.statistical)
