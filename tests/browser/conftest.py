"""A real Chromium, where there is one, and pages to open in it."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plaggm.edge_table import EdgeTable
from plaggm.evidence import P_VALUE
from plaggm.moderation_table import ModerationTable
from plaggm.report import Truth, write_report
from plaggm.report.node_groups import write_node_groups
from plaggm.result import GraphResult

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    # Smooth scrolling would move what is about to be clicked.
    "--force-prefers-reduced-motion",
)
# Seconds for a browser on a busy machine.
PATIENCE = 300
CSS = "css selector"
VARIABLES = 8
GRID = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])

MakePage = Callable[..., Path]
OpenPage = Callable[[Path], "Page"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no chromium with chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    chrome = webdriver.Chrome(options=options, service=service)
    try:
        yield chrome
    finally:
        chrome.quit()


class Page:
    """A page that is open, and what can be seen on it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.browser = browser
        self.url = path.as_uri()
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(self.url)
        self.wait(lambda: self.script("return document.documentElement.dataset.ready") == "yes")

    def script(self, code: str, *arguments: Any) -> Any:
        return self.browser.execute_script(code, *arguments)

    def wait(self, condition: Callable[[], Any]) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, PATIENCE, poll_frequency=0.02).until(lambda _: condition())

    def find(self, selector: str) -> Any:
        return self.browser.find_element(CSS, selector)

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(CSS, selector)

    def text(self, selector: str) -> str:
        return self.find(selector).text

    def texts(self, selector: str) -> list[str]:
        """What can be read in each of the elements, asked for at once."""
        return self.script(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.trim())",
            selector,
        )

    def show(self, selector: str) -> Any:
        element = self.find(selector)
        # Scrolling is told in the next frame, and hides the tooltip.
        self.browser.execute_async_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'});"
            "requestAnimationFrame(() => requestAnimationFrame(arguments[1]))",
            element,
        )
        return element

    def slide(self, selector: str, value: int) -> None:
        self.script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
            self.find(selector),
            value,
        )

    def edges(self, kind: str = "path.edge") -> list[str]:
        """Outlines of the edges that the large network shows."""
        return self.script(
            "return [...document.querySelectorAll('[data-view=network] ' + arguments[0])]"
            ".filter(e => e.getAttribute('visibility') === 'visible').map(e => e.getAttribute('d'))",
            kind,
        )

    def column(self, number: int) -> list[str]:
        return self.texts(f"#edge-table tbody td:nth-child({number})")

    def downloaded(self, folder: Path) -> list[dict[str, str]]:
        """Rows of the table that the page offers as a file."""
        downloads = {"behavior": "allow", "downloadPath": str(folder)}
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
        self.show("#edge-csv").click()
        file = folder / "edges.csv"
        self.wait(file.is_file)
        self.wait(lambda: file.stat().st_size > 0)
        with file.open(encoding="utf-8", newline="") as text:
            return list(csv.DictReader(text))

    def problems(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def open_page(browser: Any) -> OpenPage:
    """Open the page in a file: `open_page(make_page(...))`."""
    return partial(Page, browser)


@pytest.fixture(scope="session")
def make_page(
    tmp_path_factory: pytest.TempPathFactory,
    edge_tests: Callable[..., EdgeTable],
    moderation_tests: Callable[..., ModerationTable],
) -> MakePage:
    """Write the page of a made-up result: `make_page(names=..., confounders=2, bare=True, samples=300)`.

    With a number of samples all pairs are tested; with few of them no edge is declared. With
    ``effect=False`` the tests find no sign of an effect of the confounder, and there is no truth; with
    ``known=False`` there is none either, and ``groups`` are those of the variables. A page that was asked
    for before is the same file, unless it is made ``anew``.
    """
    made: dict[str, Path] = {}

    def make(
        names: tuple[str, ...] | None = None,
        *,
        confounders: int = 1,
        bare: bool = False,
        samples: int | None = None,
        effect: bool = True,
        groups: dict[str, str] | None = None,
        known: bool = True,
        anew: bool = False,
    ) -> Path:
        asked = repr((names, confounders, bare, samples, effect, groups, known))
        if asked in made and not anew:
            return made[asked]
        names = names or tuple(f"node {index}" for index in range(VARIABLES))
        result, before, truth = made_up(names, confounders)
        if samples is not None:
            settings = {**result.settings, "edges": "fdr", "fdr": 0.05}
            # Chords of all strengths, whose change the tests can tell from chance or not.
            pooled = 2.0 * before.omega - result.omega if effect else 1.25 * result.omega
            tests = edge_tests(result.omega, samples, pooled=pooled)
            counts: dict[str, float] = {"n_samples": samples, "n_unconfounded": samples // 3}
            chances = np.linspace(0.9, 0.1, len(tests.p_value))
            # One pair changes clearly with the first confounder, and one less so with each.
            changing = np.array([np.roll(chances, shift) for shift in range(confounders)])
            if effect:
                changing[0, 2], changing[:, 5] = 1e-9, 1e-5
            else:
                counts[P_VALUE] = 0.41
            result = replace(
                result,
                edge_table=tests,
                moderation_table=moderation_tests(changing),
                settings=settings,
                diagnostics=counts,
            )
            before = replace(before, edge_table=edge_tests(pooled, samples), settings=settings)
        folder = tmp_path_factory.mktemp("page") / "result"
        if bare:
            plain = GraphResult(
                names=names,
                omega=result.omega,
                location=result.location,
                scale=result.scale,
                alpha=0.1,
            )
            plain.save(folder)
        else:
            result.save(folder)
            before.save(folder / "unadjusted")
            if effect and known:
                truth.save(folder)
            if groups is not None:
                write_node_groups(folder, groups)
        made[asked] = write_report(folder)
        return made[asked]

    return make


def made_up(names: tuple[str, ...], m: int) -> tuple[GraphResult, GraphResult, Truth]:
    """A ring that is true, chords that a confounder adds, and a path from nothing to everything."""
    p = len(names)
    ring, chords = np.zeros((p, p)), np.zeros((p, p))
    for j in range(p):
        k, far = (j + 1) % p, (j + 3) % p
        ring[j, k] = ring[k, j] = (-1) ** j * (0.1 + 0.02 * j)
        chords[j, far] = chords[far, j] = 0.05 + 0.01 * j
    strengths = np.linspace(0.0, 2.0, 9)
    path = np.stack([np.sign(ring) * np.maximum(np.abs(ring) * s - 0.1, 0.0) for s in strengths])
    path[4] = ring
    grid = np.zeros((m * len(GRID), m))
    for column in range(m):
        grid[column * len(GRID) : (column + 1) * len(GRID), column] = (column + 1) * GRID
    push = np.maximum(np.abs(grid).sum(axis=1) - 1.0, 0.0)
    result = GraphResult(
        names=names,
        omega=ring,
        location=np.zeros(p),
        scale=np.ones(p),
        alpha=0.05,
        confounder_names=("<b>motion</b>", "heat")[:m],
        threshold=np.ones(m),
        confounder_grid=grid,
        nuisance=push[:, None, None] * chords,
        nuisance_error=0.2 * push[:, None, None] * chords,
        confounder_sample=np.linspace(-3.0, 3.0, 100)[:, None] * np.arange(1, m + 1),
        alphas=np.geomspace(0.5, 0.005, len(strengths)),
        omega_path=path,
        criterion_path=(np.arange(9.0) - 4.0) ** 2,
        criterion_error=np.ones(9),
        stability=np.where(ring != 0.0, 0.9, 0.2),
        settings={"criterion": "cv"},
        diagnostics={"n_samples": 100, "n_unconfounded": 34},
    )
    before = GraphResult(
        names=names,
        omega=ring + chords,
        location=np.zeros(p),
        scale=np.ones(p),
        alpha=0.1,
    )
    truth = Truth(names, ring, grid, push[:, None, None] * chords)
    return result, before, truth
