"""The regression guard of the benchmarks flags what is slower in both senses, and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "compare.py"
    spec = importlib.util.spec_from_file_location("bench_compare", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules["bench_compare"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after", "slower"),
    [
        (1.0, 1.2, True),
        (1.0, 1.05, False),  # too small a part
        (0.010, 0.020, False),  # twice, but too small an amount
        (1.0, 0.5, False),
        (None, 1.0, False),
        (1.0, None, False),
    ],
)
def test_both_thresholds_must_be_passed(
    compare: ModuleType, before: float | None, after: float | None, slower: bool
) -> None:
    (verdict,) = compare.judge([{"a": before}], [{"a": after}], relative=0.1, absolute=0.02)
    assert verdict.slower is slower


def test_quickest_round_counts(compare: ModuleType) -> None:
    before, after = [{"a": 1.0}, {"a": 9.0}], [{"a": 9.0}, {"a": 1.01}]
    (verdict,) = compare.judge(before, after)
    assert (verdict.before, verdict.after, verdict.slower) == (1.0, 1.01, False)


def test_unknown_revision_is_named(compare: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no revision 'no-such-thing'"):
        compare.unpack("no-such-thing", tmp_path)
