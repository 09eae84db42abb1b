from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm.cli import experiments
from plaggm.cli.group import commands
from plaggm.reproduce import QUICK, RatePlan
from plaggm.reproduce.plan import Block
from plaggm.reproduce.sparsistency import StructurePlan

Run = Callable[..., Result]
SMALL = replace(
    QUICK,
    blocks=(Block(("odd", "even"), {10: 2}, ("spline", "con", "pooled")),),
    folds=3,
    penalties=6,
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty folder, on plans of a few fits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments, "QUICK", SMALL)
    monkeypatch.setattr(RatePlan, "quick", classmethod(lambda cls: cls((200, 400), 2, 3, 6)))
    return lambda *arguments: CliRunner().invoke(commands, ["reproduce", *arguments])


class TestRecovery:
    @pytest.mark.pictures
    def test_tables_figure_and_page(self, run: Run, tmp_path: Path) -> None:
        result = run("recovery", "--quick", "--output", "out")
        assert result.exit_code == 0, result.stderr
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == {
            "cells", "cells.csv", "summary.csv", "winners.csv", "recovery.png", "recovery.md",
        }  # fmt: skip
        assert len(pd.read_csv(tmp_path / "out/cells.csv")) == 12
        assert len(list((tmp_path / "out/cells").iterdir())) == 12
        page = (tmp_path / "out/recovery.md").read_text()
        assert "plaggm reproduce recovery --quick" in page
        assert result.stdout.startswith("12 fits, 0 of which failed")
        assert result.stdout.strip().endswith(f"Page: {Path('out/recovery.md')}")

    def test_goes_on_where_it_stopped(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[str] = []
        results: dict[str, dict] = {}
        work = experiments.run_cell

        def counted(cell, plan):
            calls.append(cell.name)
            if len(calls) == 3:
                raise KeyboardInterrupt
            # What a cell gives does not matter here; the second time it is at hand.
            if cell.name not in results:
                results[cell.name] = work(cell, plan)
            return results[cell.name]

        monkeypatch.setattr(experiments, "run_cell", counted)
        stopped = run("recovery", "--quick", "--output", "out")
        assert stopped.exit_code == 130
        assert "kept in out; the same command resumes" in stopped.stderr
        assert not (tmp_path / "out/recovery.md").exists()
        assert len(list((tmp_path / "out/cells").iterdir())) == 2
        again = run("recovery", "--quick", "--output", "out")
        assert again.exit_code == 0, again.stderr
        # The two finished cells were kept, the interrupted one was done again.
        assert len(calls) == 3 + 10
        assert len(set(calls)) == 12
        run("recovery", "--quick", "--output", "out", "--restart")
        assert len(calls) == 13 + 12

    def test_choice_of_cells(self, run: Run, tmp_path: Path) -> None:
        result = run("recovery", "--quick", "--methods", "spline, con", "--p", "10", "--quiet")
        assert result.exit_code == 0, result.stderr
        table = pd.read_csv(tmp_path / "plaggm-recovery/cells.csv")
        assert set(table["entrant"]) == {"spline", "con"}
        assert (
            "--p 10 --methods spline,con" in (tmp_path / "plaggm-recovery/recovery.md").read_text()
        )

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--methods", "foo"], "no method 'foo'"),
            (["--quick", "--p", "50"], "it has p = 10"),
            (["--jobs", "0"], "--jobs must not be 0"),
            (["--output", "notes"], "holds other files"),
        ],
    )
    def test_refusals(self, run: Run, tmp_path: Path, arguments: list[str], words: str) -> None:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.txt").write_text("mine")
        result = run("recovery", *arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert "Traceback" not in result.stderr


class TestRates:
    @pytest.mark.pictures
    def test_tables_figure_and_page(self, run: Run, tmp_path: Path) -> None:
        result = run("rates", "--quick", "--output", "out")
        assert result.exit_code == 0, result.stderr
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == {"cells", "cells.csv", "slopes.csv", "rates.png", "rates.md"}
        slopes = pd.read_csv(tmp_path / "out/slopes.csv").set_index("method")
        assert slopes.loc["spline", "promised"] == -0.5
        assert result.stdout.startswith("Slopes of log error against log n: spline ")


class TestSparsistency:
    @pytest.mark.pictures
    def test_table_figure_and_page(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small = StructurePlan((10, 20), (50.0, 100.0), 1, 1)
        monkeypatch.setattr(StructurePlan, "quick", classmethod(lambda cls: small))
        result = run("sparsistency", "--quick", "--output", "out")
        assert result.exit_code == 0, result.stderr
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == {"cells", "structure.csv", "sparsistency.png", "sparsistency.md"}
        table = pd.read_csv(tmp_path / "out/structure.csv")
        assert set(table["p"]) == {10, 20}
        assert result.stdout.startswith(
            "n / log p from which the exact structure is found: spline "
        )


def test_help_has_examples(run: Run) -> None:
    for name in ("recovery", "rates", "sparsistency"):
        assert f"plaggm reproduce {name}" in run(name, "--help").output


class TestAll:
    """Brain experiments have tests of their own; here they only say that they were asked."""

    @pytest.fixture
    def brain(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict]:
        asked: dict[str, dict] = {}
        for name in ("connectivity", "diagnosis"):

            def told(output: Path, name: str = name, **settings: object) -> str:
                asked[name] = {"output": output, **settings}
                return "done"

            monkeypatch.setattr(f"plaggm.reproduce.{name}.run", told)
        small = StructurePlan((10,), (100.0,), 1, 1)
        monkeypatch.setattr(StructurePlan, "quick", classmethod(lambda cls: small))
        # What the experiments compute has tests above; here each has a page.
        monkeypatch.setattr(RatePlan, "quick", classmethod(lambda cls: cls((200, 400), 1, 3, 4)))
        monkeypatch.setattr(
            experiments, "QUICK", replace(SMALL, blocks=(Block(("even",), {10: 1}, ("con",)),))
        )
        return asked

    def test_each_has_a_folder(self, run: Run, tmp_path: Path, brain: dict[str, dict]) -> None:
        result = run("all", "--quick", "--output", "out", "--quiet")
        assert result.exit_code == 0, result.stderr
        for name in ("recovery", "rates", "sparsistency"):
            page = (tmp_path / f"out/{name}/{name}.md").read_text()
            assert f"Made by `plaggm reproduce {name} --quick` with plaggm" in page
            assert ", settings " in page
        assert brain["connectivity"]["quick"]
        # The seeds of the published pages.
        assert {asked["seed"] for asked in brain.values()} == {31}
        assert brain["diagnosis"]["output"] == Path("out/diagnosis")
        assert brain["diagnosis"]["motion_file"] is None

    def test_one_that_fails_is_told_at_the_end(
        self, run: Run, tmp_path: Path, brain: dict[str, dict]
    ) -> None:
        (tmp_path / "out/rates").mkdir(parents=True)
        (tmp_path / "out/rates/thesis.txt").write_text("mine")
        result = run("all", "--quick", "--output", "out", "--quiet")
        assert result.exit_code == 2
        assert "rates: out/rates holds other files" in result.stderr
        assert (tmp_path / "out/sparsistency/sparsistency.md").exists()
        assert set(brain) == {"connectivity", "diagnosis"}

    def test_wrong_places(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert "file is a file" in run("all", "--output", "file").stderr
        assert "no nowhere.npz" in run("all", "--motion", "nowhere.npz").stderr
