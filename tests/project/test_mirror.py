"""Whoever looks for the tests of a module finds them in `tests/unit` under the module's own name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"

# What is asked of all estimators at once, and so of many modules.
OF_SEVERAL_MODULES = {"test_empty_axes.py", "test_thread_counts.py"}


def test_unit_tests_are_named_after_modules_and_packages() -> None:
    tests = {path.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    assert tests
    homeless = set()
    for test in tests:
        module = ROOT / "src" / "plaggm" / test.parent / test.stem.removeprefix("test_")
        if not (module.with_suffix(".py").exists() or (module / "__init__.py").exists()):
            homeless.add(test.as_posix())
    assert homeless == OF_SEVERAL_MODULES
