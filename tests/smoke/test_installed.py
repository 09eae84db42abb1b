"""The main jobs of a plaggm that was just installed, with pytest and the extras `plot` and `cli` beside it.

`make dist` and the conda recipe run this file without the configuration and the fixtures of other tests.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import plaggm
from plaggm.cli import main
from plaggm.simulate import simulate_paper

# `make dist` runs them; the quick suite asks the same of the sources.
pytestmark = pytest.mark.slow

# Compiling on a busy machine, in seconds.
PATIENCE = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("smoke")
    data = simulate_paper(6, n=300, seed=0, even=True, threshold=60.0)
    data.to_frame().to_csv(place / "table.csv", index=False)
    return place


def plaggm_command(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "plaggm.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_version_and_names() -> None:
    assert version("plaggm") == plaggm.__version__
    for name in plaggm.__all__:
        assert getattr(plaggm, name) is not None
    (command,) = entry_points(group="console_scripts", name="plaggm")
    assert command.load() is main


def test_types_are_announced() -> None:
    assert Path(plaggm.__file__).with_name("py.typed").exists()


def test_from_a_table_to_a_page(folder: Path) -> None:
    told = plaggm_command(
        "fit", "table.csv", "--confounder", "confounder", "--criterion", "bic", folder=folder
    )
    assert "table-network" in told
    page = (folder / "table-network" / "report.html").read_text(encoding="utf-8")
    assert "</html>" in page
    result = plaggm.read_result(folder / "table-network")
    assert result.names == tuple(f"v{k}" for k in range(1, 7))


def test_other_commands(folder: Path) -> None:
    assert "300" in plaggm_command("check", "table.csv", folder=folder)
    plan = ["plan", "--variables", "5", "--edge", "0.3", "--samples", "100", "--sets", "2"]
    assert "power" in plaggm_command(*plan, "--jobs", "1", "--quiet", folder=folder)
    assert "_PLAGGM_COMPLETE" in plaggm_command("completion", "bash", folder=folder)
