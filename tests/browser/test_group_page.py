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
        WebDriverWait(browser, PATIENCE).until(
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
