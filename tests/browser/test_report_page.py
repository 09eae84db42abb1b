"""The page as people meet it: in a browser, with a mouse, a keyboard and a phone."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import alert_is_present
from selenium.webdriver.support.ui import Select

from plaggm.report.page_pairs import page_pairs

HOSTILE = (
    "<script>window.hacked = 1; alert(1)</script>",
    "</script><script>window.hacked = 2; alert(2)</script>",
    '"onmouseover="window.hacked = 3',
    "<img src=x onerror='window.hacked = 4'>",
    "<b>bold</b> &amp; &lt;",
    "javascript:alert(5)",
    "\u202ereversed",
    "=a very long name " * 20,
)
# Seconds for a browser on a busy machine.
PATIENCE = 300
# Samples with which the tests declare some edges and some changes, and with which they declare nothing.
TESTED, FEW = 500, 30
PHONE, DESKTOP = (390, 844), (1280, 900)
OpenPage = Callable[[Path], Any]
# Of every bar of the confounder's histogram: whether it lies beyond the threshold, and how strong it is.
BARS = """
return [...document.querySelectorAll("[data-view=confounders] .bars")].map(
  (bar) => [bar.classList.contains("over"), Number(getComputedStyle(bar).fillOpacity)]
);
"""


@pytest.fixture
def page(open_page: OpenPage, make_page: Callable[..., Path]) -> Any:
    return open_page(make_page())


class TestOpening:
    def test_no_error_and_no_request(self, page: Any) -> None:
        page.slide("#g-slider", 6)
        page.slide("#alpha-slider", 1)
        assert page.problems() == []
        asked = []
        for entry in page.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            # The browser's own first tab may still be asking for its pictures.
            if (
                message["method"] == "Network.requestWillBeSent"
                and message["params"]["documentURL"] == page.url
            ):
                asked.append(message["params"]["request"]["url"])
        assert page.url in asked
        assert [url for url in asked if not url.startswith("data:") and url != page.url] == []

    def test_policy_stops_what_slips_in(self, page: Any) -> None:
        page.script(
            "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
            "document.body.append(s); fetch('https://example.org/').catch(() => 0);"
        )
        assert page.script("return window.hacked") is None
        assert any("Content Security Policy" in message for message in page.problems())

    def test_bare_result_has_a_page_too(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(bare=True))
        assert len(page.edges()) == 8
        assert len(page.column(1)) == 8
        assert page.problems() == []

    def test_hundred_variables(self, open_page: OpenPage, make_page: Callable[..., Path]) -> None:
        page = open_page(make_page(tuple(f"region {k}" for k in range(100))))
        assert len(page.edges()) == 100
        page.slide("#g-slider", 6)
        assert len(page.edges()) > 150
        assert page.problems() == []


class TestNetwork:
    def test_alpha_slider_moves_the_drawing(self, page: Any) -> None:
        assert "(chosen)" in page.text("#alpha-value")
        chosen = page.edges()
        assert len(chosen) == 8
        page.slide("#alpha-slider", 5)
        assert 0 < len(page.edges()) < 8
        page.slide("#alpha-slider", 8)
        assert page.edges() == []
        page.find("#reset").click()
        assert page.edges() == chosen
        assert "(chosen)" in page.text("#alpha-value")

    def test_g_slider_adds_the_confounders_edges(self, page: Any) -> None:
        target = page.edges()
        slider = page.find("#g-slider")
        assert slider.get_attribute("value") == "3"
        page.slide("#g-slider", 4)
        assert page.edges() == target
        page.slide("#g-slider", 6)
        assert page.text("#g-value") == "g = 3"
        assert len(page.edges("path.edge.lone")) == 8
        assert len(page.edges()) == 16
        assert "8 of them the confounder's" in page.text("#network-readout")
        page.find("#reset").click()
        assert page.edges() == target

    def test_sliders_by_keyboard(self, page: Any) -> None:
        page.find("#g-slider").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert page.text("#g-value") == "g = 2"
        assert page.find("#g-slider").get_attribute("aria-valuetext") == "g = 2"

    def test_weak_edges_can_be_hidden(self, page: Any) -> None:
        assert page.text("#cut-value") == "none hidden"
        page.slide("#cut-slider", 70)
        assert 0 < len(page.edges()) < 8
        assert "weaker ones hidden" in page.text("#network-readout")
        own = page.text("#cut-value")
        assert "faint" not in own
        page.slide("#g-slider", 6)
        assert page.text("#cut-value") == own
        # Among the confounder's edges those that nobody could see are left out unasked.
        page.slide("#cut-slider", 0)
        assert page.text("#cut-value").endswith("(too faint)")

    def test_hover_names_and_weights(self, page: Any) -> None:
        page.show("[data-view=network] svg")
        node = page.all("[data-view=network] circle.node")[2]
        ActionChains(page.browser).move_to_element(node).perform()
        assert page.text("#tip b") == "node 2: 2 edges"
        assert "node 3 +0.14" in page.text("#tip")
        assert len(page.all("[data-view=network] path.edge.hot")) == 2
        edge = page.script(
            "const e = document.querySelector('[data-view=network] path.edge');"
            "const at = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM());"
            "return [Math.round(at.x), Math.round(at.y)]"
        )
        pointer = ActionChains(page.browser)
        pointer.w3c_actions.pointer_action.move_to_location(*edge)
        pointer.perform()
        assert page.text("#tip b") == "node 0 – node 1"
        assert "+0.10" in page.text("#tip")

    def test_arrow_keys_walk_and_speak(self, page: Any) -> None:
        drawing = page.show("[data-view=network] svg")
        drawing.send_keys(Keys.ARROW_RIGHT)
        assert page.find("#live").get_attribute("textContent").startswith("node 0: 2 edges")
        drawing.send_keys(Keys.ARROW_LEFT)
        assert page.find("#live").get_attribute("textContent").startswith("node 7: 2 edges")

    def test_order_moves_nodes(self, page: Any) -> None:
        def names() -> list[str]:
            return [label.text for label in page.all("[data-view=network] text.label")]

        Select(page.find("#layout-choice")).select_by_value("circle")
        given = names()
        Select(page.find("#order-choice")).select_by_value("connected")
        assert names() != given
        assert sorted(names()) == sorted(given)

    def test_second_confounder(self, open_page: OpenPage, make_page: Callable[..., Path]) -> None:
        page = open_page(make_page(confounders=2))
        assert page.text("#g-name") == "<b>motion</b>"
        Select(page.find("#confounder-choice")).select_by_value("1")
        assert page.text("#g-name") == "heat"
        page.slide("#g-slider", 0)
        assert page.text("#g-value") == "g = −6"
        Select(page.find("#along-choice")).select_by_value("0")
        assert page.text("#g-name") == "<b>motion</b>"
        assert page.find("#confounder-choice").get_attribute("value") == "0"
        assert page.problems() == []

    def test_truth_stands_beside_both_fits(self, page: Any) -> None:
        captions = [caption.text for caption in page.all("[data-view=sides] figcaption")]
        assert captions == [
            "Truth\n8 edges",
            "Unadjusted\n16 edges: 8 of 8 true, 8 false",
            "Adjusted\n8 edges: 8 of 8 true, 0 false",
        ]
        panels = page.all("[data-view=sides] svg")
        dotted = [len(panel.find_elements(By.CSS_SELECTOR, "path.lone")) for panel in panels]
        assert dotted == [0, 8, 0]


class TestDeclaredEdges:
    """The page of a result whose edges were declared by tests."""

    @pytest.fixture
    def page(self, open_page: OpenPage, make_page: Callable[..., Path]) -> Any:
        return open_page(make_page(samples=TESTED))

    def test_q_slider_declares_more_or_fewer(self, page: Any) -> None:
        assert page.text("#q-value") == "q ≤ 0.05 (chosen)"
        chosen = page.edges()
        assert 0 < len(chosen) < 8
        page.slide("#q-slider", 100)
        assert page.text("#q-value") == "q ≤ 0.5"
        assert len(page.edges()) == 8
        assert len(page.edges("path.edge.lone")) == 8 - len(chosen)
        said = page.text("#network-readout")
        assert "8 edges at q ≤ 0.5, the adjusted network; on average at most 50%" in said
        page.slide("#q-slider", 0)
        assert page.text("#q-value") == "q ≤ 0.001"
        assert len(page.edges()) < len(chosen)
        slider = page.find("#q-slider")
        slider.send_keys(Keys.ARROW_RIGHT)
        assert slider.get_attribute("aria-valuetext") == "q ≤ 0.0011"
        page.find("#reset").click()
        assert page.edges() == chosen
        assert page.problems() == []

    def test_penalty_is_an_expert_view(self, page: Any) -> None:
        chosen = page.edges()
        assert not page.find("#alpha-slider").is_displayed()
        page.find(".expert summary").click()
        assert page.find("#alpha-slider").is_displayed()
        page.slide("#alpha-slider", 0)
        assert len(page.edges()) == 8
        assert "Penalised weights, without tests" in page.text("#network-readout")
        page.slide("#alpha-slider", 8)
        assert page.edges() == []
        # The rate takes the picture back.
        page.slide("#q-slider", 100)
        assert len(page.edges()) == 8
        page.find("#reset").click()
        assert page.edges() == chosen

    def test_forest_chooses_an_edge_and_shows_its_interval(self, page: Any) -> None:
        page.show("[data-view=forest] svg")
        rows = page.all("[data-view=forest] .row")
        declared = len(page.edges())
        # The page opens with the strongest edge that vanishes, which is added below the declared ones.
        assert len(rows) == declared + 1
        assert len(page.all("[data-view=forest] .row.hollow")) == 1
        rows[1].click()
        assert "node 6 – node 7: +0.22, 95% interval" in page.text("#pair-readout")
        assert "(declared)" in page.text("#pair-readout")
        assert page.find("#source-choice").get_attribute("value") == "6"
        assert "95% interval" in page.text("#along-readout")
        page.find("[data-view=forest] svg").send_keys(Keys.ARROW_UP)
        assert page.text("#pair-readout").startswith("node 0 – node 7: −0.24")
        assert page.find("#live").get_attribute("textContent").startswith("node 0 – node 7")
        assert page.script(
            "return document.activeElement.getAttribute('aria-roledescription')"
        ) == ("forest plot")
        ActionChains(page.browser).move_to_element(
            page.find("[data-view=forest] .row .estimate")
        ).perform()
        assert "95% interval" in page.text("#tip")
        assert "not adjusted" in page.text("#tip")

    def test_table_sorts_by_p_q_and_interval(self, page: Any) -> None:
        heads = [head.text.split()[0] for head in page.all("#edge-table thead th")]
        assert heads[:6] == ["Variable", "Variable", "Adjusted", "95%", "p", "q"]
        Select(page.find("#edge-kind")).select_by_value("all")
        page.find("#edge-more").click()
        assert len(page.column(1)) == 28
        for title, number in (("p", 5), ("q", 6)):
            head = page.show(f"#edge-table thead th:nth-child({number})")
            head.find_element(By.TAG_NAME, "button").click()
            assert head.get_attribute("aria-sort") == "ascending", title
            shown = [float(text.replace("−", "-")) for text in page.column(number)]
            assert shown == sorted(shown)
        interval = page.show("#edge-table thead th:nth-child(4)")
        interval.find_element(By.TAG_NAME, "button").click()
        assert interval.get_attribute("aria-sort") == "descending"
        assert page.column(1)[0] == "node 0"
        assert page.column(2)[0] == "node 7"

    def test_table_tells_changes_from_chance(self, page: Any) -> None:
        Select(page.find("#edge-kind")).select_by_value("vanish")
        vanish = len(page.column(1))
        assert page.text(".tile.vanish b") == str(vanish)
        Select(page.find("#edge-kind")).select_by_value("unsure")
        assert vanish > 0
        assert 0 < len(page.column(1)) < 16
        assert set(page.column(9)) == {"may be chance"}

    def test_download_has_both_ends_of_the_intervals(self, page: Any, tmp_path: Path) -> None:
        rows = page.downloaded(tmp_path)
        assert len(rows) == len(page.edges())
        for row in rows:
            low, high = float(row["low"]), float(row["high"])
            assert low < float(row["adjusted"]) < high
            assert float(row["p_value"]) <= float(row["q_value"]) <= 0.05
            ends = float(row["unadjusted_low"]), float(row["unadjusted_high"])
            assert ends[0] < float(row["unadjusted"]) < ends[1]
            assert float(row["unadjusted_p_value"]) <= float(row["unadjusted_q_value"])

    def test_nothing_declared_is_no_blank_picture(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(samples=FEW))
        assert "No edge passes at a false discovery rate of 5%" in page.text(".said")
        assert len(page.all(".listed .note")) == 5
        assert len(page.edges("path.edge.lone")) == len(page.edges()) == 5
        assert "Dotted: the strongest candidates" in page.text("#network-readout")
        assert len(page.all("[data-view=forest] .row.hollow")) == 5
        captions = [caption.text for caption in page.all("[data-view=sides] figcaption")]
        assert captions[2] == "Adjusted\nno edge at q ≤ 0.05; dotted: strongest candidates"
        assert len(page.column(1)) == 20
        assert page.problems() == []

    def test_hostile_names_stay_text(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(HOSTILE, samples=TESTED))
        assert page.script("return window.hacked") is None
        assert len(page.all("[data-view=forest] .row")) == 8
        assert page.problems() == []


class TestMatrixAndCurves:
    def test_click_on_a_cell_picks_the_pair(self, page: Any) -> None:
        page.show("[data-view=matrix] svg")
        image = page.find("[data-view=matrix] svg image")
        cell = image.size["width"] / 8
        # Row 1, column 4, from the middle of the picture.
        right, down = (round((at + 0.5 - 4) * cell) for at in (4, 1))
        ActionChains(page.browser).move_to_element_with_offset(image, right, down).perform()
        assert page.text("#tip b") == "node 1 – node 4"
        ActionChains(page.browser).click().perform()
        choices = [Select(page.find(f"#{side}-choice")) for side in ("source", "target")]
        assert [choice.first_selected_option.text for choice in choices] == ["node 1", "node 4"]

    def test_pair_along_the_confounder(self, page: Any) -> None:
        curve = "[data-view=along] path.curve:not(.true)"
        Select(page.find("#source-choice")).select_by_visible_text("node 0")
        Select(page.find("#target-choice")).select_by_visible_text("node 3")
        moved = page.find(curve).get_attribute("d")
        assert "No edge once the confounder is taken out" in page.text("#along-readout")
        assert len(page.all("[data-view=along] path.bandarea")) == 1
        assert len(page.all("[data-view=along] path.true")) == 1
        Select(page.find("#target-choice")).select_by_visible_text("node 1")
        assert page.find(curve).get_attribute("d") != moved
        assert "The confounder does not move it." in page.text("#along-readout")
        # A variable has no edge with itself.
        Select(page.find("#target-choice")).select_by_visible_text("node 0")
        source = Select(page.find("#source-choice")).first_selected_option.text
        target = Select(page.find("#target-choice")).first_selected_option.text
        assert source != target

    def test_selection_curve_moves_the_network(self, page: Any) -> None:
        chart = page.show("[data-view=selection] svg")
        assert "chosen: λ = 0.05, 8 edges" in chart.text
        right = round(chart.size["width"] * 0.45)
        ActionChains(page.browser).move_to_element_with_offset(chart, right, 0).click().perform()
        assert page.text("#alpha-value") == "0.5"
        assert page.edges() == []
        assert len(page.all("[data-view=selection] circle.here")) == 1


class TestChangingEdges:
    """The section of edges that change with a confounder."""

    def test_pictures_and_rows_choose_the_pair(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(samples=300))
        assert "2 pairs of 28 tested pass at q ≤ 0.05." in page.text("#moderation")
        assert len(page.all("[data-view=moderation] figure")) == 2
        assert len(page.all("[data-view=moderation] path.bandarea")) == 2
        page.show("[data-view=moderation] button").click()
        assert Select(page.find("#source-choice")).first_selected_option.text == "node 0"
        assert Select(page.find("#target-choice")).first_selected_option.text == "node 3"
        page.show("#moderation-table tbody tr:nth-child(2)").click()
        assert Select(page.find("#target-choice")).first_selected_option.text == "node 6"
        assert page.problems() == []

    def test_table_sorts_and_opens(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(samples=300, confounders=2))
        rows = "#moderation-table tbody tr"
        assert len(page.all(rows)) == 10
        page.show("#moderation-more").click()
        assert len(page.all(rows)) == 56
        # It begins with the smallest p-values.
        page.show("#moderation-table thead th:nth-child(6) button").click()
        shown = page.texts("#moderation-table td:nth-child(6)")
        assert [float(text.replace("−", "-")) for text in shown] == sorted(
            (float(text.replace("−", "-")) for text in shown), reverse=True
        )
        # Names of confounders stay text.
        assert page.all("#moderation-table b") == []
        assert "<b>motion</b>" in page.text("#moderation-table")

    def test_absent_without_tests(self, page: Any) -> None:
        assert page.all("#moderation") == []


class TestNoSign:
    """The page of a result whose tests find no sign of an effect of the confounder."""

    @pytest.fixture
    def page(self, open_page: OpenPage, make_page: Callable[..., Path]) -> Any:
        return open_page(make_page(samples=TESTED, effect=False))

    def test_opens_with_that_and_draws_all_samples(self, page: Any) -> None:
        assert page.text("h1") == "No sign that the network depends on <b>motion</b>"
        assert page.browser.title.startswith("No sign that the network depends on")
        assert "confounded" not in page.text(".tiles")
        assert page.find("#network-choice").get_attribute("value") == "unadjusted"
        assert page.text(".tile.edges b") == str(len(page.edges()))
        assert "the network without adjustment" in page.text("#network-readout")
        assert page.text("#g-value") == "all samples"
        # Edges that do not pass after adjusting are dotted.
        dotted = len(page.edges("path.edge.lone"))
        assert 0 < dotted < len(page.edges())
        assert f"{dotted} (dotted) rest" in page.text(".said")
        assert page.problems() == []

    def test_adjusted_network_is_one_choice_away(self, page: Any) -> None:
        pooled, rows = page.edges(), len(page.all("[data-view=forest] .row"))
        solid = len(pooled) - len(page.edges("path.edge.lone"))
        assert "not after adjusting" in page.text("[data-legend=network]")
        strongest = page.text("#pair-readout")
        assert strongest.startswith("node 0 – node 7: −0.30")
        assert "−0.24 adjusted" in strongest
        Select(page.find("#network-choice")).select_by_value("adjusted")
        assert len(page.edges()) == solid
        assert page.edges("path.edge.lone") == []
        assert "the adjusted network" in page.text("#network-readout")
        assert "not after adjusting" not in page.text("[data-legend=network]")
        assert page.text("#pair-readout").startswith("node 0 – node 7: −0.24")
        assert "−0.30 without adjustment" in page.text("#pair-readout")
        assert len(page.all("[data-view=forest] .row")) == rows - (len(pooled) - solid)
        assert "not adjusted" in page.text("[data-legend=forest]")
        page.find("#reset").click()
        assert page.edges() == pooled
        assert page.find("#network-choice").get_attribute("value") == "unadjusted"

    def test_sliders_of_the_adjusted_network_lead_to_it(self, page: Any) -> None:
        pooled = page.edges()
        page.slide("#q-slider", 0)
        assert 0 < len(page.edges()) < len(pooled)
        assert page.find("#network-choice").get_attribute("value") == "unadjusted"
        page.slide("#g-slider", 0)
        assert page.find("#network-choice").get_attribute("value") == "adjusted"
        assert page.text("#g-value") == "g = −3"
        Select(page.find("#network-choice")).select_by_value("unadjusted")
        assert page.edges() == pooled
        page.find(".expert summary").click()
        page.slide("#alpha-slider", 8)
        assert page.find("#network-choice").get_attribute("value") == "adjusted"
        assert page.edges() == []
        assert page.problems() == []

    def test_table_begins_with_the_network_that_is_drawn(self, page: Any) -> None:
        assert page.find("#edge-kind").get_attribute("value") == "before"
        assert len(page.column(1)) == len(page.edges())
        assert "vanishes" not in page.column(9)
        assert "may be chance" in page.column(9)
        page.show("#moderation")
        assert "None of 28 passes" in page.text("#moderation-found")


class TestTable:
    def test_sorts_by_each_heading(self, page: Any) -> None:
        sizes = [abs(float(text.replace("−", "-"))) for text in page.column(3)]
        assert sizes == sorted(sizes, reverse=True)
        heading = page.find("#edge-table th:nth-child(3)")
        assert heading.get_attribute("aria-sort") == "descending"
        heading.find_element(By.TAG_NAME, "button").click()
        assert heading.get_attribute("aria-sort") == "ascending"
        assert len(page.column(3)) == 8
        page.find("#edge-table th:nth-child(2) button").send_keys(Keys.ENTER)
        assert page.column(2) == sorted(page.column(2))
        assert heading.get_attribute("aria-sort") is None

    def test_searches_and_filters(self, page: Any) -> None:
        assert page.text("#edge-count") == "8 of 16 pairs"
        page.find("#edge-search").send_keys("NODE 7")
        assert page.text("#edge-count") == "2 of 16 pairs"
        assert all("node 7" in pair for pair in zip(page.column(1), page.column(2), strict=True))
        page.find("#edge-search").send_keys("nowhere")
        assert page.column(1) == ["No edge fits."]
        page.find("#edge-search").clear()
        page.script("document.getElementById('edge-search').dispatchEvent(new Event('input'))")
        Select(page.find("#edge-kind")).select_by_value("unsure")
        assert page.column(5) == ["differs, untested"] * 8

    def test_list_at_the_top_leads_to_its_edges(self, page: Any) -> None:
        page.find("#edge-search").send_keys("node 7")
        Select(page.find("#edge-kind")).select_by_value("unsure")
        page.show(".listed.now a").click()
        assert page.column(5) == ["stays"] * 8

    def test_row_picks_the_pair(self, page: Any) -> None:
        row = page.show("#edge-table tbody tr:nth-child(3)")
        wanted = (page.column(1)[2], page.column(2)[2])
        row.click()
        choices = [Select(page.find(f"#{side}-choice")) for side in ("source", "target")]
        assert tuple(choice.first_selected_option.text for choice in choices) == wanted

    def test_csv_download(
        self, open_page: OpenPage, make_page: Callable[..., Path], tmp_path: Path
    ) -> None:
        page = open_page(make_page(HOSTILE))
        rows = page.downloaded(tmp_path)
        assert len(rows) == 8
        found = {row["source"] for row in rows} | {row["target"] for row in rows}
        # A spreadsheet would take the last name for a formula.
        assert found == {*HOSTILE[:-1], f"'{HOSTILE[-1]}"}
        assert float(rows[0]["adjusted"]) == pytest.approx(-0.24)
        assert float(rows[0]["stability"]) == pytest.approx(0.9)


def places(page: Any, view: str = "network") -> list[list[str]]:
    """Where the variables of the pictures of a view are."""
    return page.script(
        "const at = (c) => c.getAttribute('cx') + ' ' + c.getAttribute('cy');"
        "return [...document.querySelectorAll(`[data-view=${arguments[0]}] svg`)]"
        ".map(svg => [...svg.querySelectorAll('circle.node')].map(at))",
        view,
    )


HALVES = {f"node {k}": "first <half>" if k < 4 else "second" for k in range(8)}


class TestLook:
    """Layout, colours, the difference and centrality."""

    @pytest.fixture
    def page(self, open_page: OpenPage, make_page: Callable[..., Path]) -> Any:
        return open_page(make_page(samples=TESTED, known=False, groups=HALVES))

    def choose(self, page: Any, selector: str, value: str) -> None:
        page.show(selector)
        Select(page.find(selector)).select_by_value(value)

    def test_layout_can_be_chosen_and_is_common_to_all_pictures(self, page: Any) -> None:
        (forces,) = places(page)
        sides = places(page, "sides")
        assert len(sides) == 3
        assert sides[0] == sides[1] == sides[2]
        self.choose(page, "#layout-choice", "circle")
        (circle,) = places(page)
        assert circle != forces
        far = {round(sum(float(x) ** 2 for x in place.split())) for place in circle}
        assert len(far) == 1
        assert places(page, "sides")[0] != sides[0]
        self.choose(page, "#layout-choice", "force")
        assert places(page) == [forces]
        assert page.problems() == []

    def test_variables_have_the_colours_of_their_groups(self, page: Any) -> None:
        def colours() -> list[str]:
            return page.script(
                "return [...document.querySelectorAll('[data-view=network] circle.node')]"
                ".map(c => getComputedStyle(c).fill)"
            )

        assert page.find("#colour-choice").get_attribute("value") == "groups"
        groups = colours()
        assert len(set(groups[:4])) == len(set(groups[4:])) == 1
        assert groups[0] != groups[4]
        assert "first <half>" in page.text("[data-legend=network]")
        self.choose(page, "#colour-choice", "none")
        assert len(set(colours())) == 1
        assert "second" not in page.text("[data-legend=network]")

    def test_difference_has_colour_only_where_it_is_tested(self, page: Any) -> None:
        panel = page.all("[data-view=sides] figure")[2]
        changed = page.script(
            "const seen = (e) => e.getAttribute('visibility') === 'visible';"
            "return ['pos', 'neg', 'pale'].map("
            "k => [...arguments[0].querySelectorAll('path.edge.' + k)].filter(seen).length)",
            panel,
        )
        said = panel.find_element(By.CSS_SELECTOR, "figcaption span").text
        reported = re.search(r"(\d+) changes? beyond chance", said)
        assert changed[0] + changed[1] == (int(reported[1]) if reported else 0)
        small = re.search(r"(\d+) too small to report", said)
        assert changed[2] >= (int(small[1]) if small else 1)
        assert "may be chance, or is too small to report" in page.text("[data-legend=sides]")

    def test_centrality_can_be_chosen_and_shows_a_variable(self, page: Any) -> None:
        def order() -> list[str]:
            return page.script(
                "return [...document.querySelectorAll('[data-view=centrality] .row')]"
                ".map(r => r.dataset.node)"
            )

        first = order()
        assert len(first) == 8
        assert [option.text for option in Select(page.find("#centrality-choice")).options] == [
            *("Strength", "Expected influence", "Bridge strength", "Bridge expected influence")
        ]
        self.choose(page, "#centrality-choice", "1")
        assert order() != first
        row = page.show("[data-view=centrality] .row")
        node = row.get_attribute("data-node")
        page.script("arguments[0].dispatchEvent(new MouseEvent('click'))", row)
        hot = page.script(
            "return [...document.querySelectorAll('[data-view=network] circle.node')]"
            ".findIndex(c => c.classList.contains('hot'))"
        )
        assert hot >= 0
        assert page.find("[data-view=centrality] .chosen")
        page.find("[data-view=centrality] svg").send_keys(Keys.ARROW_DOWN)
        chosen = page.script(
            "return document.querySelector('[data-view=centrality] .chosen').parentNode.dataset.node"
        )
        assert chosen == order()[1] != node
        assert page.text("#live").startswith(f"node {chosen}")

    def test_all_of_many_variables_can_be_shown(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        names = tuple(f"variable number {k}" for k in range(40))
        page = open_page(make_page(names, samples=TESTED))
        assert len(page.all("[data-view=centrality] .row")) == 25
        page.show("#centrality-more").click()
        assert len(page.all("[data-view=centrality] .row")) == 40
        assert not page.find("#centrality-more").is_displayed()

    def test_long_names_do_not_shrink_the_picture(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        def width(names: tuple[str, ...]) -> float:
            page = open_page(make_page(names))
            across = [float(place.split()[0]) for place in places(page)[0]]
            return max(across) - min(across)

        long = width(tuple(f"{k} is the number of a very long name" for k in range(8)))
        assert long > 0.95 * width(tuple(f"variable {k}" for k in range(8)))


class TestHostileNames:
    def test_stay_text(
        self, browser: Any, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(HOSTILE))
        for node in page.all("[data-view=network] circle.node"):
            page.show("[data-view=network] svg")
            ActionChains(browser).move_to_element(node).perform()
            assert page.find("#tip b").get_attribute("textContent").endswith(": 2 edges")
        page.slide("#g-slider", 6)
        for row in page.all("#edge-table tbody tr"):
            page.script("arguments[0].click()", row)
        assert alert_is_present()(browser) is False
        assert page.script("return window.hacked") is None
        assert len(page.all("script")) == 2
        assert page.all("img, [onerror], [onmouseover], section b b, td b, option *") == []
        assert page.problems() == []

    def test_are_shown_as_they_are(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(HOSTILE))
        options = page.script(
            "return [...document.querySelectorAll('#source-choice option')].map(o => o.textContent)"
        )
        assert tuple(options) == HOSTILE
        assert page.text("h1") == "The network adjusted for <b>motion</b>"
        assert page.browser.title == "The network adjusted for <b>motion</b> · plaggm"


class TestEveryReader:
    def emulate(self, page: Any, media: str = "", **features: str) -> None:
        listed = [{"name": name.replace("_", "-"), "value": features[name]} for name in features]
        settings = {"media": media, "features": listed}
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", settings)

    @pytest.fixture(autouse=True)
    def back_to_desktop(self, page: Any) -> Any:
        yield
        self.emulate(page)
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def brightness(self, page: Any, selector: str, what: str) -> float:
        code = "return getComputedStyle(arguments[0])[arguments[1]].match(/\\d+/g).slice(0, 3)"
        return sum(map(int, page.script(code, page.find(selector), what))) / 3

    def test_dark_mode(self, page: Any) -> None:
        light = page.find("[data-view=matrix] image").get_attribute("href")
        assert self.brightness(page, "body", "backgroundColor") > 200
        self.emulate(page, prefers_color_scheme="dark")
        assert self.brightness(page, "body", "backgroundColor") < 50
        assert self.brightness(page, "body", "color") > 200
        page.wait(lambda: page.find("[data-view=matrix] image").get_attribute("href") != light)

    def test_histogram_is_explained_in_either_scheme(self, page: Any) -> None:
        caption = page.find("[data-view=confounders] figcaption").text
        assert "the threshold, ±1; faint: taken as unconfounded" in caption
        for scheme in ("light", "dark"):
            self.emulate(page, prefers_color_scheme=scheme)
            found = page.script(BARS)
            faint, strong = (
                {opacity for over, opacity in found if over is side} for side in (False, True)
            )
            assert max(faint) < min(strong)

    def test_print(self, page: Any) -> None:
        self.emulate(page, "print", prefers_color_scheme="dark")
        assert self.brightness(page, "body", "backgroundColor") == 255
        assert self.brightness(page, "body", "color") < 50
        assert not page.find("nav").is_displayed()
        assert not page.find("#edge-csv").is_displayed()
        # What to do with a mouse is of no use on paper.
        assert not any(part.is_displayed() for part in page.all(".act"))
        assert page.find("#edge-table thead button").is_displayed()
        assert page.find("[data-view=network] svg").is_displayed()

    def test_printed_tables_are_not_cut_off(self, page: Any) -> None:
        """On A4 with the page's margins; what does not fit there is lost."""
        size = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.emulate(page, "print")
        page.wait(
            lambda: page.script(
                "return [...document.querySelectorAll('table')].every("
                "t => t.scrollWidth <= t.parentElement.clientWidth)"
            )
        )

    @pytest.mark.parametrize(("width", "height"), [PHONE, DESKTOP])
    def test_nothing_sticks_out(
        self,
        page: Any,
        make_page: Callable[..., Path],
        width: int,
        height: int,
        open_page: OpenPage,
    ) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        page = open_page(make_page(HOSTILE, samples=TESTED))
        # The last resize is drawn in the frame after it.
        page.wait(lambda: page.script("return document.documentElement.scrollWidth") <= width)

    def test_long_names_of_communities_fit_a_phone(
        self, page: Any, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        size = {"width": PHONE[0], "height": PHONE[1], "deviceScaleFactor": 1, "mobile": True}
        page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        names = tuple(f"{chr(65 + k)}WMWMWGlutathioneMWMWMW{k}" for k in range(24))
        page = open_page(make_page(names, samples=TESTED, known=False))
        assert "…" in page.text("[data-legend=sides]")
        page.wait(lambda: page.script("return document.documentElement.scrollWidth") <= PHONE[0])

    def test_everything_has_a_name_and_takes_the_focus(
        self, open_page: OpenPage, make_page: Callable[..., Path]
    ) -> None:
        page = open_page(make_page(samples=TESTED))
        page.script("document.querySelector('.expert').open = true")
        for control in page.all("input, select, button, svg[tabindex], [role=region]"):
            if control.is_displayed():
                assert control.accessible_name, control.get_attribute("outerHTML")
        reached = set()
        page.find("body").send_keys(Keys.TAB)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            active = page.browser.switch_to.active_element
            key = active.get_attribute("id") or active.get_attribute("aria-roledescription")
            reached.add(key or "")
            if key == "edge-csv":
                break
            active.send_keys(Keys.TAB)
        wanted = {"q-slider", "g-slider", "cut-slider", "alpha-slider", "edge-search"}
        wanted |= {"network", "forest plot", "matrix"}
        assert wanted <= reached


class TestNeighbourhood:
    """One variable and its neighbours, on a page with all pairs and on one with some of them."""

    def choose(self, page: Any, name: str) -> None:
        page.script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))",
            page.find("#node-choice"),
            name,
        )

    def test_search_and_walk(self, open_page: OpenPage, make_page: Callable[..., Path]) -> None:
        page = open_page(make_page(samples=TESTED))
        self.choose(page, "node 2")
        assert page.text("#node-readout").startswith("node 2: ")
        neighbours = page.all("#neighbourhood .neighbour")
        assert neighbours
        page.script(
            "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", neighbours[0]
        )
        there = page.script("return document.getElementById('node-choice').value")
        assert there != "node 2"
        assert page.text("#node-readout").startswith(f"{there}: ")
        self.choose(page, "nobody")
        assert page.text("#node-readout") == "There is no variable nobody."
        assert page.problems() == []

    def test_some_of_many_pairs(
        self, open_page: OpenPage, make_page: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Edges, their tests and their curves are those of the page with all pairs."""
        names = tuple(f"node {k}" for k in range(12))

        def facts(page: Any) -> tuple[list[str], str, list[str]]:
            rows = [row.text for row in page.all("#edge-table tbody tr")]
            return rows, page.text("#along-readout"), page.edges()

        rows, readout, edges = facts(open_page(make_page(names=names, samples=TESTED)))
        assert rows
        monkeypatch.setattr("plaggm.report.payload.page_pairs", partial(page_pairs, most=40))
        page = open_page(make_page(names=names, samples=TESTED, anew=True))
        assert facts(page) == (rows, readout, edges)
        Select(page.find("#edge-kind")).select_by_value("all")
        assert "40" in page.text("#edge-count")
        assert "40 of 66 pairs" in page.text("#edges")
        assert not page.all("[data-view=matrix]")
        assert page.problems() == []
