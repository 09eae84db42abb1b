"""The SQL example of docs/distributed.md gives the statistics it says it gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


def test_sql_example_runs() -> None:
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this copy")
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    assert names["size"] > 1
