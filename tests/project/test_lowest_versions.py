"""The constraints of `make test-lowest`."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "lowest_versions.py"


def test_users_libraries_are_pinned_and_the_tests_tools_are_not() -> None:
    found = runpy.run_path(str(SCRIPT))["lowest_versions"](
        {
            "dependencies": ["numpy>=2.0", "odd"],
            "optional-dependencies": {
                "distributed": ["dask[array,dataframe]>=2024.8"],
                "dev": ["pytest>=8.3"],
            },
        }
    )
    assert found == {"numpy": "2.0", "dask": "2024.8"}
