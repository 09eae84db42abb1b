"""The paper's experiments: plans, cells that survive an interruption, tables and pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.cli.reproduce import DESIGNS as COMMAND_DESIGNS
from plaggm.metrics import edge_auc
from plaggm.related import ConGGM
from plaggm.report.sections import page_markdown
from plaggm.reproduce import (
    DESIGNS,
    ENTRANTS,
    FULL,
    QUICK,
    RATE_METHODS,
    Cell,
    RatePlan,
    cells_of,
    fitted_slopes,
    rate_cells,
    recovery,
    run_cell,
    run_cells,
    run_rate_cell,
    summarise,
    winners,
)
from plaggm.reproduce.figures import plot_rates, plot_recovery
from plaggm.reproduce.pages import rates_page, recovery_page
from plaggm.reproduce.rates import RateCell
from plaggm.resume import Store, versioned_key
from plaggm.simulate import simulate_paper

KEY = versioned_key({"folds": 10})
SMALL = replace(QUICK, folds=3, penalties=8, glasso_penalties=4)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Six fits of which the last two fail."""
    cells = [
        Cell(design, 10, seed, entrant)
        for design in ("odd", "even")
        for seed in (0, 1)
        for entrant in ("spline", "con")
    ]
    return [run_cell(cell, SMALL) for cell in [*cells, Cell("even", 50, 0, "ggm")]]


class TestPlan:
    def test_the_paper_is_covered(self) -> None:
        cells = cells_of(FULL)
        assert {cell.p for cell in cells} == {10, 20, 50, 100}
        assert FULL.folds == 10
        assert FULL.penalties == 100
        for design in ("odd", "even"):
            for p in (10, 20, 50, 100):
                own = {cell.entrant for cell in cells if (cell.design, cell.p) == (design, p)}
                assert own >= {"spline", "literal", "ramp", "ggm", "con", "lr", "tv", "pooled"}

    def test_cells_are_distinct_and_have_names_of_their_own(self) -> None:
        names = Counter(cell.name for cell in cells_of(FULL))
        assert max(names.values()) == 1

    def test_choice(self) -> None:
        cells = cells_of(FULL, sizes=(20,), entrants=("literal",))
        assert {(cell.p, cell.entrant) for cell in cells} == {(20, "literal")}

    def test_choice_of_a_design(self) -> None:
        cells = cells_of(FULL, designs=("definite",), entrants=("spline",))
        assert {cell.design for cell in cells} == {"definite"}
        assert tuple(DESIGNS) == COMMAND_DESIGNS

    def test_the_baseline_network_is_asked_for_at_zero(self, monkeypatch) -> None:
        """The values of g spread evenly over both signs, and the default would take their average."""
        given = []
        original = recovery.build_method

        def spy(name, choices):
            given.append(choices)
            return original(name, choices)

        monkeypatch.setattr(recovery, "build_method", spy)
        run_cell(Cell("odd", 10, 0, "spline"), SMALL)
        assert given[0].reference == "zero"

    def test_every_design_and_entrant_is_used(self) -> None:
        cells = cells_of(FULL)
        assert {cell.design for cell in cells} == set(DESIGNS)
        assert {cell.entrant for cell in cells} == set(ENTRANTS)

    def test_designs_are_what_they_say(self) -> None:
        for design in DESIGNS.values():
            data = simulate_paper(4, seed=0, **design.simulation)
            assert data.threshold == design.threshold
            assert data.settings["even"] == design.name.startswith(("even", "definite"))
            assert data.settings["printed"] == (design.name == "printed")


class TestCells:
    def test_score_is_that_of_the_fit(self, records) -> None:
        record = next(r for r in records if (r["design"], r["entrant"]) == ("odd", "con"))
        data = simulate_paper(10, seed=0)
        model = ConGGM(loss="pseudo", alphas=8, cv=3, random_state=0)
        model.fit(data.x, confounder=data.confounder)
        assert record["auc"] == pytest.approx(edge_auc(model.omega_, data.support))
        assert record["alpha"] == pytest.approx(model.alpha_)
        assert record["n"] == 800
        assert 0.0 <= record["auc"] <= record["best_path_auc"] <= 1.0

    def test_a_failure_is_a_reason_without_scores(self, records) -> None:
        failed = records[-1]
        assert "Only 21 of 800 samples" in failed["reason"]
        assert "auc" not in failed

    def test_the_same_cell_gives_the_same_record(self, records) -> None:
        """No clock, no process number: files of two runs can be compared."""
        assert run_cell(Cell("odd", 10, 0, "spline"), SMALL) == records[0]
        plan, cell = RatePlan((400,), 1, 3, 8), RateCell(400, 0, "ggm")
        assert run_rate_cell(cell, plan) == run_rate_cell(cell, plan)

    def test_told_threshold(self) -> None:
        record = run_cell(Cell("even-wide", 10, 0, "spline-known"), SMALL)
        assert record["threshold"] == 100.0
        assert record["told_threshold"]

    def test_graphical_lasso_has_its_own_grid(self) -> None:
        record = run_cell(Cell("odd", 10, 0, "con-glasso"), SMALL)
        assert record["n_alphas"] == 4
        assert record["reason"] == ""

    def test_rates(self) -> None:
        plan = RatePlan((400,), 1, 3, 8)
        record = run_rate_cell(RateCell(400, 0, "spline"), plan)
        assert 0.0 < record["best_error"] <= record["error"]
        assert {cell.method for cell in rate_cells(plan)} == set(RATE_METHODS)


class TestKeptCells:
    CELLS = (Cell("odd", 10, 0, "con"), Cell("odd", 10, 1, "con"))

    def test_finished_cells_are_kept(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        done: list[str] = []

        def work(cell: Cell) -> dict[str, Any]:
            done.append(cell.name)
            return {"name": cell.name, "value": cell.seed}

        first = run_cells(self.CELLS[:1], work, store, KEY)
        both = run_cells(self.CELLS, work, store, KEY)
        assert done == [cell.name for cell in self.CELLS]
        assert both == [*first, {"name": self.CELLS[1].name, "value": 1}]

    def test_an_interrupted_run_goes_on(self, tmp_path: Path) -> None:
        store = Store(tmp_path)

        def interrupted(cell: Cell) -> dict[str, Any]:
            if cell.seed == 1:
                raise KeyboardInterrupt
            return {"value": cell.seed}

        with pytest.raises(KeyboardInterrupt):
            run_cells(self.CELLS, interrupted, store, KEY)
        (kept,) = (tmp_path / "cells").iterdir()
        assert kept.name == f"{self.CELLS[0].name}-{KEY[:20]}.json"
        seen: list[int] = []

        def work(cell: Cell) -> dict[str, Any]:
            seen.append(cell.seed)
            return {"value": cell.seed}

        run_cells(self.CELLS, work, store, KEY)
        assert seen == [1]

    def test_other_settings_count_as_missing(self, tmp_path: Path) -> None:
        store, done = Store(tmp_path), []

        def work(cell: Cell) -> dict[str, Any]:
            done.append(cell.name)
            return {}

        for key in (KEY, versioned_key({"folds": 5}), KEY):
            run_cells(self.CELLS[:1], work, store, key)
        assert len(done) == 3

    def test_progress_ends_at_one(self, tmp_path: Path) -> None:
        shares: list[float] = []
        run_cells(self.CELLS, lambda cell: {}, Store(tmp_path), KEY, progress=shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)


class TestTables:
    def test_means(self, records) -> None:
        table = summarise(records).set_index(["design", "p", "entrant"])
        own = [r["auc"] for r in records if (r["design"], r["entrant"]) == ("even", "spline")]
        row = table.loc[("even", 10, "spline")]
        assert row["auc"] == pytest.approx(np.mean(own))
        assert row["auc_se"] == pytest.approx(np.std(own, ddof=1) / np.sqrt(2))
        assert row["seeds"] == 2
        failed = table.loc[("even", 50, "ggm")]
        assert np.isnan(failed["auc"])
        assert failed["failed"] == 1
        assert "Only 21" in failed["reason"]

    def test_winners_are_paired(self, records) -> None:
        table = winners(records)
        assert list(zip(table["design"], table["p"], strict=True)) == [("odd", 10), ("even", 10)]
        row = table.iloc[1]
        assert (row["ours"], row["related"]) == ("spline", "con")
        auc = {
            (r["entrant"], r["seed"]): r["auc"]
            for r in records
            if r["design"] == "even" and "auc" in r
        }
        gains = [auc["spline", seed] - auc["con", seed] for seed in (0, 1)]
        assert row["difference"] == pytest.approx(np.mean(gains))
        assert row["low"] < row["difference"] < row["high"] or np.ptp(gains) == 0.0

    def test_failures_alone(self) -> None:
        table = summarise([run_cell(Cell("odd", 50, 0, "ggm"), SMALL)])
        assert table["auc"].isna().all()

    def test_slopes(self) -> None:
        rng = np.random.default_rng(0)
        made = [
            dict(n=n, seed=seed, method=method, error=n**power * np.exp(0.01 * rng.normal()))
            for n in (100, 1000, 10_000)
            for seed in range(4)
            for method, power in (("spline", -0.5), ("tv-ggm", -0.4))
        ]
        table = fitted_slopes(made).set_index("method")
        assert table.loc["spline", "slope"] == pytest.approx(-0.5, abs=0.01)
        assert table.loc["tv-ggm", "slope"] == pytest.approx(-0.4, abs=0.01)
        assert (table["low"] < table["slope"]).all()
        assert table.loc["spline", "promised"] == -0.5
        few = fitted_slopes(made, smallest=10_000)
        assert few.empty


class TestPages:
    def test_recovery(self, records) -> None:
        figure = Path("out/a.png")
        made = recovery_page(
            records, SMALL, figure=figure, source="Made by `plaggm reproduce recovery`."
        )
        page = page_markdown(made, Path("out"))
        assert "![" in page
        assert "(a.png)" in page
        assert "`plaggm reproduce recovery`" in page
        for words in (
            "f odd, corrected",
            "f even",
            "left open",
            "8 on glmnet's grid, 3 random folds",
        ):
            assert words in page
        assert "- **ggm, p = 50:** 1 of 1 fits. Only 21 of 800" in page
        assert "- **g\\*.** 10, as" in page
        assert "| CON-GGM | " in page
        assert "nan" not in page

    def test_rates(self) -> None:
        made = [
            dict(
                n=n,
                seed=s,
                method="spline",
                error=n**-0.5,
                best_error=n**-0.5,
                reason="",
                warnings=[],
            )
            for n in (400, 800)
            for s in (0, 1)
        ]
        plan = RatePlan((400, 800), 2, 5, 8)
        page = page_markdown(rates_page(made, plan, figure=Path("b.png"), source="x"), Path())
        assert "-0.50 (-0.50 to -0.50)" in page
        assert "5-fold cross-validation over 8 penalties" in page


class TestPictures:
    def test_recovery(self, records) -> None:
        from matplotlib import pyplot as plt

        figure = plot_recovery(summarise(records))
        assert len(figure.axes) == 2
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == [ENTRANTS["spline"].title, ENTRANTS["con"].title]
        plt.close(figure)

    def test_rates(self) -> None:
        from matplotlib import pyplot as plt

        made = [
            dict(n=n, seed=s, method=method, error=n**-0.5, best_error=n**-0.5)
            for n in (400, 800)
            for s in (0, 1)
            for method in ("spline", "tv-ggm")
        ]
        figure = plot_rates(pd.DataFrame(made).to_dict("records"))
        words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert "PLA-GGM, spline, g* known: -0.50" in words
        plt.close(figure)
