"""Libraries that are missing are told before any work, and figures need no window."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from plaggm.cli.group import commands
from plaggm.cli.libraries import need_libraries


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (["demo"], "jinja2"),
        (["fit", "t.csv"], "matplotlib"),
        (["compare", "t.csv", "--confounder", "g"], "jinja2"),
        (["plan"], "jinja2"),
        (["plan"], "tomli_w"),
        (["reproduce", "rates"], "matplotlib"),
        (["reproduce", "connectivity"], "jinja2"),
        (["reproduce", "diagnosis"], "jinja2"),
        (["reproduce", "benchmark-motion"], "matplotlib"),
        (["study", ".", "--group", "g"], "jinja2"),
    ],
)
def test_missing_libraries_are_told_before_any_work(
    arguments: list[str], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 2, result.output
    assert f"plaggm {arguments[0]} needs {package}: pip install 'plaggm[cli,plot]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_figures_need_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://absent")
    need_libraries("plaggm compare")
    assert os.environ["MPLBACKEND"] == "Agg"
