"""Pages made of sections in a browser: a study's, with nilearn's views in a frame, and that of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("selenium", reason="selenium is not installed")
pytest.importorskip("nilearn", reason="nilearn is not installed")

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from plaggm import GraphResult
from plaggm.fmri.atlas import Atlas
from plaggm.plotting.brain import interactive_view
from plaggm.report.groups import group_page
from plaggm.report.levels import Level
from plaggm.report.sections import Page, Section, write_html

# Seconds for a browser on a busy machine.
PATIENCE = 300
HOSTILE = (
    "</script><script>parent.postMessage('hacked', '*')</script>",
    "<img src=x onerror=\"parent.postMessage('hacked', '*')\">",
    "<b>bold</b>",
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the view of a network whose regions and group are called as above."""
    matrix = np.array([[0.0, 0.4, -0.2], [0.4, 0.0, 0.1], [-0.2, 0.1, 0.0]])
    places = np.array([[-30.0, 0.0, 10.0], [30.0, 20.0, 0.0], [0.0, -40.0, 20.0]])
    atlas = Atlas(names=HOSTILE, title="three", coordinates=places)
    views = {name: interactive_view(matrix, atlas, name) for name in HOSTILE[:1]}
    page = Page("Brains", "study report", sections=(Section("Views", views=views),))
    return write_html(tmp_path_factory.mktemp("study") / "report.html", page)


def opened(browser: Any, path: Path) -> Any:
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(path.as_uri())
    return browser


def wait(browser: Any, code: str) -> None:
    WebDriverWait(browser, PATIENCE, poll_frequency=0.02).until(
        lambda _: browser.execute_script(f"return {code}")
    )


def test_views_are_drawn_and_reach_nothing(browser: Any, study: Path) -> None:
    opened(browser, study)
    browser.execute_script(
        "window.hacked = 0; addEventListener('message', (event) => "
        "{ if (event.data === 'hacked') window.hacked += 1; })"
    )
    for button in browser.find_elements(By.CSS_SELECTOR, "button[data-view]"):
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        frame = browser.find_element(By.CSS_SELECTOR, "iframe[data-views]")
        assert frame.is_displayed()
        browser.switch_to.frame(frame)
        wait(browser, "document.querySelector('#connectome-plot .main-svg') !== null")
        # A frame without an origin: neither the page around it nor anything stored can be reached.
        assert browser.execute_script("return origin") == "null"
        assert browser.execute_script(
            "try { return String(parent.document) } catch (error) { return 'refused' }"
        ) in ("refused", None)
        assert not browser.find_elements(By.CSS_SELECTOR, "img[src='x']")
        browser.switch_to.default_content()
    assert browser.execute_script("return window.hacked") == 0
    assert browser.title == "Brains · plaggm"


def test_the_policy_forbids_other_scripts(browser: Any, study: Path) -> None:
    opened(browser, study)
    browser.execute_script(
        "const made = document.createElement('script'); made.textContent = 'window.hacked = 1';"
        "document.body.append(made)"
    )
    assert browser.execute_script("return window.hacked") is None
    assert any(
        "Content Security Policy" in entry["message"] for entry in browser.get_log("browser")
    )


def test_groups(browser: Any, tmp_path: Path) -> None:
    omega = np.array([[0.0, 0.4], [0.4, 0.0]])
    result = GraphResult(("a", HOSTILE[1]), omega, np.zeros(2), np.ones(2), 0.1)
    folder = '"><meta http-equiv="refresh" content="0;url=about:blank">'
    levels = [Level(name, folder, result, result) for name in HOSTILE]
    path = tmp_path / "report.html"
    path.write_text(group_page(levels, HOSTILE[0], None), encoding="utf-8")
    opened(browser, path)
    assert browser.current_url == path.as_uri()
    links = browser.find_elements(By.CSS_SELECTOR, "td a")
    assert [link.text for link in links] == list(HOSTILE)
    cell = browser.find_element(By.CSS_SELECTOR, "td.up")
    assert cell.text == "+0.40"
    assert cell.value_of_css_property("background-color") not in ("rgba(0, 0, 0, 0)", "transparent")
    assert browser.get_log("browser") == []
