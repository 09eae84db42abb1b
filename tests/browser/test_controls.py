"""Every control of the page of a fit: links, pictures under mouse and keyboard, choices, tables.

`test_report_page.py` has the sliders and what they draw; here is what else can be clicked, typed or
pointed at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

# Samples with which the tests declare some edges and some changes.
TESTED = 500
HALVES = {f"node {k}": "first" if k < 4 else "second" for k in range(8)}
# Everything that can be operated, by its id or by what it is called. Who adds a control adds its test.
CONTROLS = {
    *("network-choice", "q-slider", "confounder-choice", "g-slider", "cut-slider"),
    *("expert view: the penalised path", "alpha-slider", "layout-choice", "colour-choice"),
    *("order-choice", "reset", "centrality-choice", "node-choice", "moderation-more"),
    *("source-choice", "target-choice", "along-choice", "edge-search", "edge-kind", "edge-csv"),
    *("edge-more", "centrality-more"),
    *("network", "forest plot", "interval plot", "matrix"),
    *("links", "changing edge", "heading", "table", "neighbour"),
}
FOUND = """
const what = (element) =>
  element.matches("a") ? "links"
  : element.matches("th button") ? "heading"
  : element.matches(".plainbutton") ? "changing edge"
  : element.matches(".neighbour") ? "neighbour"
  : element.matches("[role=region]") ? "table"
  : element.id || element.getAttribute("aria-roledescription") || element.textContent.toLowerCase();
return [...new Set(
  [...document.querySelectorAll("a, input, select, button, summary, [tabindex]")].map(what)
)];
"""
MIDDLE = """
const edge = arguments[0];
const at = edge.getPointAtLength(edge.getTotalLength() / 2).matrixTransform(edge.getScreenCTM());
return [Math.round(at.x), Math.round(at.y)];
"""
# The variables that stand out in the large picture.
LIT = """
return [...document.querySelectorAll("[data-view=network] circle.node")]
  .flatMap((node, at) => (node.classList.contains("hot") ? [at] : []));
"""


@pytest.fixture
def page(open_page: Callable[[Path], Any], make_page: Callable[..., Path]) -> Any:
    return open_page(make_page(samples=TESTED, known=False, groups=HALVES))


@pytest.fixture
def two(open_page: Callable[[Path], Any], make_page: Callable[..., Path]) -> Any:
    """The page of a fit with two confounders."""
    return open_page(make_page(samples=TESTED, known=False, groups=HALVES, confounders=2))


def hover(page: Any, selector: str, *, at: int = 0, right: int = 0) -> list[str]:
    """Point at an element, so many pixels right of its middle, and read the tooltip's lines."""
    page.show(selector)
    element = page.all(selector)[at]
    ActionChains(page.browser).move_to_element_with_offset(element, right, 0).perform()
    return page.find("#tip").text.split("\n")


def away(page: Any) -> None:
    """Take the pointer off every picture."""
    ActionChains(page.browser).move_to_element(page.show("#network-title")).perform()


def chosen_pair(page: Any) -> tuple[str, ...]:
    sides = [Select(page.find(f"#{side}-choice")) for side in ("source", "target")]
    return tuple(side.first_selected_option.text for side in sides)


def live(page: Any) -> str:
    return page.find("#live").get_attribute("textContent")


def choose(page: Any, selector: str, value: str) -> None:
    Select(page.show(selector)).select_by_value(value)


def test_every_control_is_known_here(two: Any) -> None:
    assert set(two.script(FOUND)) == CONTROLS


class TestLinks:
    def test_sections_are_reached(self, page: Any) -> None:
        links = page.all("nav a")
        assert len(links) >= 11
        for link in links:
            name = link.get_attribute("hash")
            page.show("nav")
            link.click()
            assert page.script("return location.hash") == name
            top = page.script(
                f"return document.querySelector('{name}').getBoundingClientRect().top"
            )
            # The last sections are too near to the end to reach the top of the window.
            end = page.script("return scrollY + innerHeight >= document.body.scrollHeight - 2")
            assert -2 <= top <= (900 if end else 120), name

    def test_content_can_be_skipped_to(self, page: Any) -> None:
        page.find("body").send_keys(Keys.TAB)
        first = page.browser.switch_to.active_element
        assert first.get_attribute("class") == "skip"
        first.send_keys(Keys.ENTER)
        assert page.script("return location.hash") == "#main"
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        # The links between the sections were passed over.
        assert page.script("return document.activeElement.closest('main') !== null")


class TestPictures:
    def test_click_keeps_a_variable_and_lets_it_go(self, page: Any) -> None:
        page.show("[data-view=network] svg")
        node = page.all("[data-view=network] circle.node")[2]
        ActionChains(page.browser).move_to_element(node).click().perform()
        away(page)
        assert 2 in page.script(LIT)
        assert page.find("[data-view=network] svg").get_attribute("class") == "hushed"
        assert page.text("#node-readout").startswith("node 2: ")
        page.show("[data-view=network] svg")
        ActionChains(page.browser).move_to_element(node).click().perform()
        away(page)
        assert page.script(LIT) == []

    def test_click_on_an_edge_chooses_it(self, page: Any) -> None:
        page.show("[data-view=network] svg")
        edge = page.all("[data-view=network] path.edge")[0]
        pointer = ActionChains(page.browser)
        pointer.w3c_actions.pointer_action.move_to_location(*page.script(MIDDLE, edge))
        pointer.click().perform()
        pair = page.text("#tip b")
        assert page.text("#pair-readout").startswith(f"{pair}: ")
        assert " – ".join(chosen_pair(page)) == pair

    def test_enter_keeps_and_escape_lets_go(self, page: Any) -> None:
        drawing = page.show("[data-view=network] svg")
        drawing.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
        page.script("document.activeElement.blur()")
        assert 1 in page.script(LIT)
        assert page.text("#node-readout").startswith("node 1: ")
        drawing.send_keys(Keys.ESCAPE)
        assert page.script(LIT) == []
        assert not page.find("#tip").is_displayed()

    def test_way_back_shows_all_edges_again(self, page: Any) -> None:
        everything = page.edges()
        page.slide("#cut-slider", 80)
        page.show("[data-view=network] svg").send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
        page.script("document.activeElement.blur()")
        assert len(page.edges()) < len(everything)
        assert page.script(LIT) != []
        page.show("#reset").click()
        assert page.edges() == everything
        assert page.script(LIT) == []
        assert page.find("#cut-slider").get_attribute("value") == "0"
        assert page.text("#cut-value") == "none hidden"

    def test_networks_side_by_side_answer(self, page: Any) -> None:
        for at, title in enumerate(("Unadjusted", "Adjusted", "Difference")):
            figure = f"[data-view=sides] figure:nth-child({at + 1})"
            assert page.text(f"{figure} figcaption").startswith(title)
            assert hover(page, f"{figure} circle.node", at=3)[0].startswith("node 3: ")
            page.find(f"{figure} svg").send_keys(Keys.ARROW_LEFT)
            assert live(page).startswith("node 2: ")
        pale = page.all("[data-view=sides] figure:nth-child(3) path.edge")[-1]
        pointer = ActionChains(page.browser)
        pointer.w3c_actions.pointer_action.move_to_location(*page.script(MIDDLE, pale))
        pointer.perform()
        said = page.text("#tip")
        assert " becomes " in said
        assert "q of the change = " in said

    def test_scrolling_hides_the_tooltip(self, page: Any) -> None:
        assert hover(page, "[data-view=network] circle.node")
        assert page.find("#tip").is_displayed()
        page.show("#settings")
        page.wait(lambda: not page.find("#tip").is_displayed())

    def test_communities_colour_variables(self, page: Any) -> None:
        assert "first" in page.text("[data-legend=network]")
        choose(page, "#colour-choice", "communities")
        # Communities are called by their most central variables.
        for legend in ("network", "sides"):
            said = page.text(f"[data-legend={legend}]")
            assert "node 3, node 2, node 1" in said
            assert "first" not in said
        assert hover(page, "[data-view=centrality] .row .node")[-1].count("node") > 1

    def test_centrality_answers(self, page: Any) -> None:
        lines = hover(page, "[data-view=centrality] .row .node")
        assert lines[0].startswith("node ")
        assert lines[1].startswith("strength ")
        assert lines[2].startswith("95% interval ")
        for chosen in (1, 0):
            # The first click chooses the variable, the second lets it go.
            ActionChains(page.browser).move_to_element(
                page.find("[data-view=centrality] .row .node")
            ).click().perform()
            assert len(page.all("[data-view=centrality] .chosen")) == chosen

    def test_matrix_by_keyboard(self, page: Any) -> None:
        drawing = page.show("[data-view=matrix] svg")
        drawing.send_keys(Keys.ARROW_DOWN)
        assert live(page) == "node 1, with itself"
        drawing.send_keys(Keys.ENTER)
        before = chosen_pair(page)
        drawing.send_keys(Keys.ARROW_RIGHT)
        assert live(page).startswith("node 1 – node 2, ")
        assert page.text("#tip b") == "node 1 – node 2"
        assert chosen_pair(page) == before
        drawing.send_keys(Keys.ENTER)
        assert chosen_pair(page) == ("node 1", "node 2")
        # The first row is the end of the way up.
        drawing.send_keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_LEFT)
        assert live(page).startswith("node 0 – node 1, ")

    def test_order_holds_for_the_matrix(self, page: Any) -> None:
        def state() -> tuple[list[str], str]:
            texts = [text.text for text in page.all("[data-view=matrix] figure:first-child text")]
            return texts, page.find("[data-view=matrix] image").get_attribute("href")

        given = state()
        choose(page, "#order-choice", "connected")
        assert sorted(state()[0]) == sorted(given[0])
        assert state()[0] != given[0]
        assert state()[1] != given[1]
        choose(page, "#order-choice", "given")
        assert state() == given


class TestNeighbours:
    def test_part_of_a_name_is_typed(self, page: Any) -> None:
        box = page.show("#node-choice")
        box.clear()
        box.send_keys("DE 5", Keys.ENTER)
        assert page.text("#node-readout").startswith("node 5: ")
        assert page.find("#node-choice").get_attribute("value") == "node 5"

    def test_keys_walk_from_neighbour_to_neighbour(self, page: Any) -> None:
        for key in (Keys.ENTER, Keys.SPACE):
            page.show("#neighbourhood")
            neighbour = page.find("#neighbourhood .neighbour")
            name = neighbour.accessible_name.removeprefix("Go to ")
            neighbour.send_keys(key)
            assert page.text("#node-readout").startswith(f"{name}: ")
            # Who walks by keyboard stays among the neighbours.
            assert page.script("return document.activeElement.getAttribute('class')") == "neighbour"

    def test_edges_answer_and_are_chosen(self, page: Any) -> None:
        page.show("#neighbourhood svg")
        edge = page.all("#neighbourhood line.edge")[-1]
        ActionChains(page.browser).move_to_element(edge).perform()
        pair = page.text("#tip b")
        assert not page.text("#pair-readout").startswith(f"{pair}: ")
        ActionChains(page.browser).click().perform()
        assert page.text("#pair-readout").startswith(f"{pair}: ")

    def test_edges_among_neighbours_pass_the_centre(
        self, open_page: Callable[[Path], Any], make_page: Callable[..., Path]
    ) -> None:
        """An edge between opposite neighbours does not lie below those of the centre."""
        page = open_page(make_page(tuple(f"node {k}" for k in range(7))))
        choose(page, "#network-choice", "unadjusted")
        box = page.show("#node-choice")
        box.clear()
        box.send_keys("node 2", Keys.ENTER)
        away = page.script(
            "return [...document.querySelectorAll('#neighbourhood path.edge')].map((edge) => {"
            "  const at = edge.getPointAtLength(edge.getTotalLength() / 2);"
            "  return Math.hypot(at.x, at.y);"
            "})"
        )
        assert away
        assert min(away) > 10

    def test_picture_stays_beside_the_controls(self, page: Any) -> None:
        page.show("#reset")
        top = page.script(
            "return document.querySelector('[data-view=network]').getBoundingClientRect().top"
        )
        assert top >= 0

    def test_network_that_is_chosen_holds_here_too(self, page: Any) -> None:
        choose(page, "#network-choice", "unadjusted")
        assert "the network without adjustment" in page.text("#node-readout")
        choose(page, "#network-choice", "adjusted")
        assert "the adjusted network" in page.text("#node-readout")


class TestCurves:
    def test_tooltips_follow_the_confounder(self, page: Any) -> None:
        chart = "[data-view=along] svg"
        width = page.find(chart).size["width"]
        middle = hover(page, chart)
        right = hover(page, chart, right=round(0.45 * width))
        assert middle[0] == "<b>motion</b> = 0"
        assert right[0] == "<b>motion</b> = 3"
        assert right[1].startswith("partial correlation ")
        assert right[2].startswith("95% band ")

    def test_tooltips_follow_the_penalty(self, page: Any) -> None:
        lines = hover(page, "[data-view=selection] svg")
        assert lines[0] == "λ = 0.05"
        assert "±" in lines[1]
        assert lines[2] == "8 edges"

    def test_second_confounder_is_one_choice_for_all(self, two: Any) -> None:
        choose(two, "#along-choice", "1")
        assert two.find("#confounder-choice").get_attribute("value") == "1"
        assert hover(two, "[data-view=along] svg")[0] == "heat = 0"
        # The slider starts where the data are, and there is no effect.
        assert two.text("#g-value") == "g = 0, baseline"
        ends = [float(two.find("#g-slider").get_attribute(end)) for end in ("min", "max")]
        assert ends == [0.0, 6.0]


class TestChangingEdges:
    def test_picture_answers_and_chooses_the_pair(self, page: Any) -> None:
        first = "[data-view=moderation] figure:first-child svg"
        choose(page, "#source-choice", "6")
        other = chosen_pair(page)
        lines = hover(page, first)
        assert lines[0] == "<b>motion</b> = 0"
        ActionChains(page.browser).click().perform()
        assert chosen_pair(page) == ("node 0", "node 3") != other

    def test_picture_moves_its_confounder(self, two: Any) -> None:
        titles = [title.text for title in two.all("[data-view=moderation] figcaption")]
        last = len(titles) - 1
        choose(two, "#along-choice", "0")
        two.script("arguments[0].scrollIntoView({block: 'center'})", two.all(".plainbutton")[last])
        two.all(".plainbutton")[last].click()
        assert titles[last].startswith(" – ".join(chosen_pair(two)))
        assert two.find("#along-choice").get_attribute("value") == "1"

    def test_rows_are_all_shown_and_fewer_again(self, page: Any) -> None:
        rows = "#moderation-table tbody tr"
        assert len(page.all(rows)) == 10
        page.show("#moderation-more").click()
        assert len(page.all(rows)) == 28
        assert page.text("#moderation-more") == "Show the first 10"
        page.show("#moderation-more").click()
        assert len(page.all(rows)) == 10

    def test_every_heading_sorts(self, page: Any) -> None:
        page.show("#moderation-more").click()
        headings = page.all("#moderation-table thead th")
        for number, heading in enumerate(headings, start=1):
            page.show(f"#moderation-table thead th:nth-child({number}) button").click()
            down = heading.get_attribute("aria-sort") == "descending"
            shown = page.texts(f"#moderation-table td:nth-child({number})")
            if number > 2:
                values = [float(text.replace("−", "-")) for text in shown]
                # The largest change is the largest whatever its sign.
                shown = [abs(value) for value in values] if number == 3 else values
            assert shown == sorted(shown, reverse=down), heading.text


def sizes(texts: list[str]) -> list[Any]:
    """What a column is sorted by: numbers by their size, all else as it is written."""
    try:
        return [
            0.0 if text == "–" else abs(float(text.replace("−", "-").rstrip("%"))) for text in texts
        ]
    except ValueError:
        return texts


class TestEdges:
    def test_every_heading_sorts(self, page: Any) -> None:
        choose(page, "#edge-kind", "all")
        page.show("#edge-more").click()
        headings = page.all("#edge-table thead th")
        for number, heading in enumerate(headings, start=1):
            seen = set()
            for _ in range(2):
                page.show(f"#edge-table thead th:nth-child({number}) button").click()
                direction = heading.get_attribute("aria-sort")
                seen.add(direction)
                shown = sizes(page.column(number))
                if heading.text == "95% interval":
                    # By the end that is nearer to zero, which is zero for an interval around it.
                    ends = [
                        [float(end.replace("−", "-")) for end in text.split(" to ")]
                        for text in shown
                    ]
                    shown = [max(low, -high, 0.0) for low, high in ends]
                assert shown == sorted(shown, reverse=direction == "descending"), heading.text
                assert len(page.all("#edge-table th[aria-sort]")) == 1
            assert seen == {"ascending", "descending"}

    def test_every_kind_shows_its_own(self, page: Any) -> None:
        page.show("#edge-kind")
        words = {
            "vanish": {"vanishes"},
            "appear": {"appears"},
            "turn": {"sign turns"},
            "move": {"changes in strength"},
            "unsure": {"may be chance"},
        }
        status = [cell.text for cell in page.all("#edge-table thead th")].index("What happens") + 1
        kinds = [
            option.get_attribute("value") for option in Select(page.find("#edge-kind")).options
        ]
        assert {*words, "now", "before", "all"} == set(kinds)
        counts = {}
        for kind in kinds:
            choose(page, "#edge-kind", kind)
            counts[kind] = int(page.text("#edge-count").split()[0])
            if kind in words and counts[kind]:
                assert set(page.column(status)) == words[kind]
        assert counts["all"] == 28
        assert counts["now"] == len(page.edges())
        assert counts["before"] == int(page.text("[data-view=sides] figcaption span").split()[0])
        assert counts["vanish"] + counts["unsure"] > 0

    def test_rows_are_all_shown_and_fewer_again(self, page: Any) -> None:
        choose(page, "#edge-kind", "all")
        assert len(page.column(1)) == 20
        page.show("#edge-more").click()
        assert len(page.column(1)) == 28
        assert page.text("#edge-more") == "Show the first 20"
        page.show("#edge-more").click()
        assert len(page.column(1)) == 20

    def test_paper_has_more_rows_than_the_screen(self, page: Any) -> None:
        choose(page, "#edge-kind", "all")
        page.script("dispatchEvent(new Event('beforeprint'))")
        assert len(page.column(1)) == 28
        page.script("dispatchEvent(new Event('afterprint'))")
        assert len(page.column(1)) == 20
