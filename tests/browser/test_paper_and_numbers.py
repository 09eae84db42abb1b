"""What pages look like on paper, and how they write numbers and names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.support.ui import Select

from plaggm.report.page import render_report
from plaggm.result import GraphResult

from .conftest import made_up

MakePage, OpenPage = Callable[..., Path], Callable[[Path], Any]
# Samples with which the tests declare some edges and some changes.
TESTED = 500
NAMES = tuple(f"node {k}" for k in range(8))
WIDTHS = """
return Object.fromEntries(["forest", "sides", "network", "moderation", "confounders"].map((name) =>
  [name, document.querySelector(`[data-view=${name}] svg`).viewBox.baseVal.width]));
"""


def written_page(
    open_page: OpenPage, folder: Path, result: GraphResult, before: GraphResult | None
) -> Any:
    file = folder / "report.html"
    file.write_text(render_report(result, unadjusted=before), encoding="utf-8")
    return open_page(file)


@pytest.fixture
def page(open_page: OpenPage, make_page: MakePage) -> Any:
    page = open_page(make_page(samples=TESTED))
    yield page
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_pictures_are_drawn_anew_for_paper(page: Any) -> None:
    """Shrunken from a screen's width their letters would be too small to read."""
    screen = page.script(WIDTHS)
    page.script("dispatchEvent(new Event('beforeprint'))")
    paper = page.script(WIDTHS)
    assert paper == {
        "forest": 660,
        "sides": 325,
        "network": 600,
        "moderation": 325,
        "confounders": 660,
    }
    page.script("dispatchEvent(new Event('afterprint'))")
    assert page.script(WIDTHS) == screen != paper


def test_controls_are_not_printed_and_pairs_keep_their_names(page: Any) -> None:
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    for kind in ("select", "input", "details", ".control"):
        assert not any(part.is_displayed() for part in page.all(kind))
    titles = page.all("[data-view=moderation] figcaption button")
    assert titles
    assert all(title.is_displayed() for title in titles)


def test_years_keep_their_digits(open_page: OpenPage, tmp_path: Path) -> None:
    result, before, _ = made_up(NAMES, 1)
    assert result.confounder_grid is not None
    years = replace(
        result,
        confounder_names=("year",),
        confounder_grid=2013.0 + result.confounder_grid,
        confounder_sample=np.linspace(2010.0, 2016.0, 90)[:, None],
    )
    page = written_page(open_page, tmp_path, years, before)
    page.slide("#g-slider", 5)
    assert page.text("#g-value") == "g = 2015"
    for view in ("along", "confounders"):
        ticks = {tick.text for tick in page.all(f"[data-view={view}] svg .axis text")}
        assert {"2012", "2014"} <= ticks


def test_bins_of_whole_numbers_hold_as_many_of_them_each(
    open_page: OpenPage, tmp_path: Path
) -> None:
    result, before, _ = made_up(NAMES, 1)
    ages = replace(result, confounder_sample=np.arange(100.0)[:, None])
    page = written_page(open_page, tmp_path, ages, before)
    heights = {
        round(float(bar.get_attribute("height")), 3)
        for bar in page.all("[data-view=confounders] rect.bars")
    }
    assert len(heights) == 1


def test_long_names_break_at_their_underscores(open_page: OpenPage, make_page: MakePage) -> None:
    names = tuple(f"Kidney_Injury_Molecule_{k}" for k in range(8))
    page = open_page(make_page(names, samples=TESTED))
    cell = page.find("#edge-table tbody td .name")
    assert cell.text in names
    assert len(cell.find_elements("css selector", "wbr")) == 3


def test_of_many_variables_those_without_an_edge_have_no_name(
    open_page: OpenPage, tmp_path: Path
) -> None:
    omega = np.zeros((44, 44))
    ends = ("v0", "v1", "v2", "v10", "v20")
    for j, k in ((0, 1), (1, 2), (10, 20)):
        omega[j, k] = omega[k, j] = 0.3
    names = tuple(f"v{k}" for k in range(44))
    few = GraphResult(names, omega, np.zeros(44), np.ones(44), 0.1)
    page = written_page(open_page, tmp_path, few, None)
    named = "[data-view=network] text.label:not(.spare)"
    assert {"v10", "v20"} <= {label.text for label in page.all(named)} <= {*ends}
    page.slide("#cut-slider", 100)
    Select(page.find("#layout-choice")).select_by_value("circle")
    assert len(page.all(named)) > 40


def test_slider_says_where_the_baseline_is(page: Any) -> None:
    assert page.text("#g-help").startswith("In the shaded part the network is the baseline Ω̂₀.")
    page.slide("#g-slider", 0)
    assert page.text("#network-readout").startswith("At <b>motion</b> = −3: ")
