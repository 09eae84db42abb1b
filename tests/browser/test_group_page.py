"""The page of several networks in a browser: side by side, differences, and the map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from plaggm.report.groups import group_page
from plaggm.report.levels import Level, compared
from plaggm.result import GraphResult

HOSTILE = "<script>window.hacked = 1</script>"
PATIENCE = 300
PHONE, DESKTOP = (390, 844), (1280, 900)

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path, edge_tests: Any) -> Open:
    """Open the page of so many levels, of which the last has another network."""

    def go(count: int, *, odd: bool = True, name: str = "site") -> Any:
        rng = np.random.default_rng(0)
        p = 8
        names = tuple(f"node {k}" for k in range(p))
        base = np.zeros((p, p))
        for k in range(p):
            base[k, (k + 1) % p] = base[(k + 1) % p, k] = 0.25
        levels = []
        for k in range(count):
            noise = np.triu(rng.normal(0.0, 0.03, (p, p)), 1)
            estimate = base + noise + noise.T
            if odd and k == count - 1:
                estimate[0, 1] = estimate[1, 0] = -0.4
            result = GraphResult(names, estimate, np.zeros(p), np.ones(p), 0.1)
            result = replace(
                result,
                edge_table=edge_tests(estimate, 1000),
                settings={"edges": "fdr", "fdr": 0.05},
                diagnostics={"n_samples": 1000},
            )
            title = HOSTILE if k == 0 else f"level {k}"
            levels.append(Level(title, f"level{k}", result, result))
        page = tmp_path / "report.html"
        page.write_text(group_page(levels, name, compared(levels), notes=("Beware.",)), "utf-8")
        browser.get_log("browser")
        browser.get(page.as_uri())
        WebDriverWait(browser, PATIENCE, poll_frequency=0.02).until(
            lambda _: (
                browser.execute_script("return document.documentElement.dataset.ready") == "yes"
            )
        )
        return browser

    return go


def seen(browser: Any, panel: int, kind: str) -> int:
    return browser.execute_script(
        "return [...document.querySelectorAll('[data-view=levels] figure')[arguments[0]]"
        ".querySelectorAll('path.edge.' + arguments[1])]"
        ".filter(e => e.getAttribute('visibility') === 'visible').length",
        panel,
        kind,
    )


def captions(browser: Any) -> list[str]:
    return [one.text for one in browser.find_elements(By.CSS_SELECTOR, "#levels figcaption")]


def problems(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_two_networks_and_their_difference(opened: Open) -> None:
    browser = opened(2)
    titles = captions(browser)
    assert titles[0].startswith(HOSTILE)
    assert titles[2].startswith(f"level 1 less {HOSTILE}")
    assert "1 pair beyond chance" in titles[2]
    assert seen(browser, 2, "neg") == 1
    assert seen(browser, 2, "pos") == 0
    assert seen(browser, 2, "pale") > 3
    assert browser.execute_script("return window.hacked") is None
    assert "Beware." in browser.find_element(By.CSS_SELECTOR, ".cautions").text
    assert not browser.find_elements(By.CSS_SELECTOR, "#map, #level-choice")
    assert problems(browser) == []


def test_nothing_differs(opened: Open) -> None:
    browser = opened(3, odd=False)
    assert "no pair differs beyond chance" in captions(browser)[3]
    assert seen(browser, 3, "pos") == seen(browser, 3, "neg") == 0
    assert (
        "No sign that the network differs by site"
        in browser.find_element(By.CSS_SELECTOR, ".said").text
    )
    assert len(browser.find_elements(By.CSS_SELECTOR, "[data-view=differences] .row.hollow")) == 5


def test_layout_and_colour_can_be_chosen(opened: Open) -> None:
    browser = opened(2)

    def places() -> list[str]:
        return browser.execute_script(
            "return [...document.querySelectorAll('[data-view=levels] svg')].map(svg =>"
            "[...svg.querySelectorAll('circle.node')].map(c => c.getAttribute('cx')).join())"
        )

    first = places()
    assert first[0] == first[1] == first[2]
    Select(browser.find_element(By.ID, "layout-choice")).select_by_value("circle")
    circle = places()
    assert circle[0] == circle[2] != first[0]
    Select(browser.find_element(By.ID, "colour-choice")).select_by_value("none")
    plain = browser.find_elements(By.CSS_SELECTOR, "[data-view=levels] circle.node.plain")
    assert len(plain) == 24


def test_many_networks_have_a_map_and_one_is_chosen(opened: Open) -> None:
    browser = opened(12)
    assert [text.split("\n")[0] for text in captions(browser)] == [
        *("All together", HOSTILE, "Differences")
    ]
    Select(browser.find_element(By.ID, "level-choice")).select_by_value("11")
    assert captions(browser)[1].startswith("level 11")
    marks = browser.find_elements(By.CSS_SELECTOR, "[data-view=map] .mapped")
    assert len(marks) == 12
    odd = browser.find_elements(By.CSS_SELECTOR, "[data-view=map] .mapped.odd")
    assert [mark.get_attribute("data-level") for mark in odd] == ["11"]
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center'});"
        "arguments[0].dispatchEvent(new MouseEvent('click'))",
        marks[3],
    )
    assert captions(browser)[1].startswith("level 3")
    assert browser.find_element(By.ID, "level-choice").get_attribute("value") == "3"
    browser.find_element(By.CSS_SELECTOR, "[data-view=map] svg").send_keys(Keys.ARROW_RIGHT)
    assert captions(browser)[1].startswith("level 4")
    cells = browser.find_elements(By.CSS_SELECTOR, "[data-view=similarity] rect")
    assert len(cells) == 144
    ActionChains(browser).move_to_element(cells[5]).perform()
    assert "level 5" in browser.find_element(By.ID, "tip").text
    assert (
        "Unlike the others at q ≤ 0.05: level 11."
        in browser.find_element(By.CSS_SELECTOR, ".said").text
    )
    assert problems(browser) == []


@pytest.mark.parametrize("count", [2, 12])
def test_fits_a_phone(opened: Open, browser: Any, count: int) -> None:
    browser.set_window_size(*PHONE)
    try:
        opened(count)
        wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
    finally:
        browser.set_window_size(*DESKTOP)


def test_edges_are_named_by_what_they_are(opened: Open) -> None:
    browser = opened(2)
    texts = browser.execute_script(
        "return [...document.querySelectorAll('svg text')].map(text => text.textContent)"
    )
    assert "partial correlation" in texts
    assert "undefined" not in texts


# Everything that can be operated, by its id or by what it is. Who adds a control adds its test.
CONTROLS = {"links", "level-choice", "layout-choice", "colour-choice", "network", "map", "table"}
FOUND = """
const what = (element) =>
  element.matches("a") ? "links"
  : element.matches("[role=region]") ? "table"
  : element.matches("[data-view=map] svg") ? "map"
  : element.id || element.getAttribute("aria-roledescription") || element.outerHTML;
return [...new Set(
  [...document.querySelectorAll("a, input, select, button, summary, [tabindex]")].map(what)
)];
"""


def pointed(browser: Any, element: Any) -> list[str]:
    """Lines of the tooltip of an element."""
    # Scrolling is told in the next frame, and hides the tooltip.
    browser.execute_async_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'});"
        "requestAnimationFrame(() => requestAnimationFrame(arguments[1]))",
        element,
    )
    ActionChains(browser).move_to_element(element).perform()
    return browser.find_element(By.ID, "tip").text.split("\n")


def test_every_control_is_known_here(opened: Open) -> None:
    assert set(opened(12).execute_script(FOUND)) == CONTROLS


def test_sections_and_networks_are_reached(opened: Open) -> None:
    browser = opened(12)
    links = browser.find_elements(By.CSS_SELECTOR, "nav a")
    assert len(links) == 6
    for link in links:
        name = link.get_attribute("hash")
        browser.execute_script("arguments[0].click()", link)
        assert browser.execute_script("return location.hash") == name
        section = browser.find_element(By.CSS_SELECTOR, name)
        top = browser.execute_script("return arguments[0].getBoundingClientRect().top", section)
        assert -2 <= top < DESKTOP[1], name
    own = browser.find_elements(By.CSS_SELECTOR, "#each td a")
    assert [link.text for link in own] == [HOSTILE, *(f"level {k}" for k in range(1, 12))]
    for at, link in enumerate(own):
        assert link.get_attribute("href").endswith(f"/level{at}/report.html")


def test_content_can_be_skipped_to(opened: Open) -> None:
    browser = opened(2)
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    first = browser.switch_to.active_element
    assert first.get_attribute("class") == "skip"
    first.send_keys(Keys.ENTER)
    assert browser.execute_script("return location.hash") == "#main"


def test_pictures_answer_to_mouse_and_keyboard(opened: Open) -> None:
    browser = opened(2)
    for panel in range(3):
        figure = browser.find_elements(By.CSS_SELECTOR, "[data-view=levels] figure")[panel]
        node = figure.find_elements(By.CSS_SELECTOR, "circle.node")[4]
        assert pointed(browser, node)[0].startswith("node 4: ")
        figure.find_element(By.TAG_NAME, "svg").send_keys(Keys.ARROW_RIGHT)
        live = browser.find_element(By.ID, "live").get_attribute("textContent")
        assert live.startswith("node 5: ")
    edge = browser.find_elements(By.CSS_SELECTOR, "[data-view=levels] figure")[2].find_element(
        By.CSS_SELECTOR, "path.edge.neg"
    )
    place = browser.execute_script(
        "const e = arguments[0];"
        "const at = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM());"
        "return [Math.round(at.x), Math.round(at.y)]",
        edge,
    )
    pointer = ActionChains(browser)
    pointer.w3c_actions.pointer_action.move_to_location(*place)
    pointer.perform()
    lines = browser.find_element(By.ID, "tip").text.split("\n")
    assert lines[0] == "node 0 – node 1"
    assert lines[2] == "level 1 −0.40"
    assert lines[3].startswith("q of the difference = ")


def test_rows_of_differences_answer(opened: Open) -> None:
    browser = opened(2)
    row = browser.find_element(By.CSS_SELECTOR, "[data-view=differences] .row .leveldot")
    lines = pointed(browser, row)
    assert lines[0] == "node 0 – node 1"
    assert lines[2] == "level 1 −0.40"
    assert lines[3].startswith("q = ")


def test_map_and_distances_choose_a_network(opened: Open) -> None:
    browser = opened(12)
    lines = pointed(
        browser, browser.find_element(By.CSS_SELECTOR, "[data-view=map] .mapped.odd circle")
    )
    assert lines[0] == "level 11"
    assert lines[1].endswith("1,000 samples")
    assert lines[2].startswith("like the others: q = ")
    cells = browser.find_elements(By.CSS_SELECTOR, "[data-view=similarity] rect")
    # Row 7, column 2: the row's network is chosen.
    assert pointed(browser, cells[7 * 12 + 2])[0] == "level 7 and level 2"
    ActionChains(browser).click().perform()
    assert captions(browser)[1].startswith("level 7")
    assert browser.find_element(By.ID, "level-choice").get_attribute("value") == "7"
    chosen = browser.find_element(By.CSS_SELECTOR, "[data-view=map] .mapped.here")
    assert chosen.get_attribute("data-level") == "7"
    drawing = browser.find_element(By.CSS_SELECTOR, "[data-view=map] svg")
    drawing.send_keys(Keys.ARROW_LEFT)
    assert captions(browser)[1].startswith("level 6")
    live = browser.find_element(By.ID, "live").get_attribute("textContent")
    assert live.startswith("level 6, ")
    # The drawing is a new one, and has the focus of the former.
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert captions(browser)[1].startswith("level 7")
