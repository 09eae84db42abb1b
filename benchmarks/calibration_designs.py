"""Data on which tests of edges are judged: the scenarios, and what may go wrong with tests.

None was chosen by how a test does on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scenario_designs import BASE, SCENARIOS, Scenario
from scipy.stats import norm, t

from plaggm.simulate import Simulated, simulate_paper

SUBJECTS = 20
# Of a series within a subject.
AUTOCORRELATION = 0.6
# Part of the rows with three times the standard deviation.
NOISY_ROWS, NOISY_SCALE = 0.3, 3.0
# Spectral radius of an R that jumps.
JUMP = 0.2


class TestData(NamedTuple):
    """What the tests see, and the truth: partial correlations of the baseline network."""

    x: np.ndarray
    confounder: np.ndarray | None
    threshold: float | np.ndarray
    omega: np.ndarray
    groups: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One design; ``rows`` says what is done to the rows of the scenario ``settings`` makes.

    Attributes
    ----------
    name, about : str
    kind : str
        "scenarios", "no confounding", "harder", "rows" or "few samples": a table of its own each.
    scenario : Scenario
    rows : str
        A key of ``ROWS``.
    """

    name: str
    about: str
    kind: str
    scenario: Scenario
    rows: str = "as they are"

    @property
    def unconfounded(self) -> bool:
        """Whether R = 0."""
        return self.scenario.settings.get("shape") == "none" and self.rows != "jump"

    @property
    def needs_files(self) -> bool:
        """Whether it uses measured confounders."""
        return self.scenario.needs_files

    def data(self, seed: int, folder: Path | None) -> TestData:
        """The data set of one seed."""
        if self.rows == "as they are":
            made = self.scenario.data(seed, folder)
            return TestData(made.x, made.confounder, made.threshold, made.omega)
        made = simulate_paper(**self.scenario.settings, seed=seed)
        return ROWS[self.rows](made, np.random.default_rng([seed, 77]))


def _known(made: Simulated, x: np.ndarray, groups: np.ndarray | None = None) -> TestData:
    return TestData(x, made.confounder, made.threshold, made.omega, groups)


def _without(made: Simulated, rng: np.random.Generator) -> TestData:
    del rng
    return TestData(made.x, None, np.nan, made.omega)


def _heavy_rows(degrees: float) -> Callable[[Simulated, np.random.Generator], TestData]:
    """Rows of a multivariate Student t distribution."""

    def rows(made: Simulated, rng: np.random.Generator) -> TestData:
        factor = np.sqrt(degrees / rng.chisquare(degrees, len(made.x)))
        return _known(made, made.x * factor[:, None])

    return rows


def _noise(made: Simulated) -> tuple[np.ndarray, np.ndarray]:
    """Independent standard normal noise of every row, and the factors that make rows of it."""
    precision = np.eye(len(made.omega)) - made.omega_at(made.confounder)
    factor = np.linalg.cholesky(precision)
    return np.matmul(factor.mT, made.x[:, :, None])[:, :, 0], factor


def _rows_of(noise: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return np.linalg.solve(factor.mT, noise[:, :, None])[:, :, 0]


def _heavy_entries(made: Simulated, rng: np.random.Generator) -> TestData:
    """Independent Student t noise, three degrees of freedom, instead of normal noise."""
    del rng
    noise, factor = _noise(made)
    return _known(made, _rows_of(t.ppf(norm.cdf(noise), 3), factor))


def _unequal(made: Simulated, rng: np.random.Generator) -> TestData:
    """Some rows of three times the deviation, whatever their confounder, and columns in other units."""
    rows = np.where(rng.random(len(made.x)) < NOISY_ROWS, NOISY_SCALE, 1.0)
    units = 10.0 ** rng.uniform(-2.0, 2.0, made.x.shape[1])
    return _known(made, made.x * rows[:, None] * units)


def _series(made: Simulated, rng: np.random.Generator) -> TestData:
    """Autocorrelated rows of several subjects."""
    del rng
    noise, factor = _noise(made)
    series = noise.reshape(SUBJECTS, -1, noise.shape[1])
    for time in range(1, series.shape[1]):
        fresh = np.sqrt(1.0 - AUTOCORRELATION**2) * series[:, time]
        series[:, time] = AUTOCORRELATION * series[:, time - 1] + fresh
    x = _rows_of(series.reshape(noise.shape), factor)
    return _known(made, x, np.repeat(np.arange(SUBJECTS), series.shape[1]))


def _jump(made: Simulated, rng: np.random.Generator) -> TestData:
    """A dense W of spectral radius 0.2 beyond the threshold, whatever the confounder there."""
    p = len(made.omega)
    w = np.triu(rng.standard_normal((p, p)), 1)
    w += w.T
    w *= JUMP / np.abs(np.linalg.eigvalsh(w)).max()
    beyond = np.abs(made.confounder) > made.threshold
    factor = np.linalg.cholesky(np.eye(p) - made.omega - beyond[:, None, None] * w)
    return _known(made, _rows_of(rng.standard_normal(made.x.shape), factor))


ROWS: Mapping[str, Callable[[Simulated, np.random.Generator], TestData]] = {
    "without confounder": _without,
    "t with 3 degrees": _heavy_rows(3.0),
    "t with 5 degrees": _heavy_rows(5.0),
    "t noise": _heavy_entries,
    "unequal": _unequal,
    "series": _series,
    "jump": _jump,
}


@dataclass(frozen=True, slots=True)
class _Family:
    """Cases of one kind from changes to the common settings."""

    kind: str
    base: Mapping[str, Any] = field(default_factory=lambda: BASE)

    def case(self, name: str, about: str, rows: str = "as they are", **changes: Any) -> Case:
        settings = {**self.base, **changes}
        return Case(name, about, self.kind, Scenario(name, about, "paper", settings), rows)


def _changed(name: str, about: str, kind: str, scenario: str, **changes: Any) -> Case:
    known = {one.name: one for one in SCENARIOS}[scenario]
    changed = Scenario(name, about, known.make, {**known.settings, **changes})
    return Case(name, about, kind, changed)


NONE, HARDER, ROW, FEW = (
    _Family("no confounding"),
    _Family("harder"),
    _Family("rows"),
    _Family("few samples"),
)
# So strong that Fisher's z can have an F1 of .94.
STRONG_EDGES: dict[str, Any] = dict(target_radius=0.7, nuisance_radius=0.2)
SPARSE: dict[str, Any] = dict(density=0.05, target_radius=0.6, nuisance_radius=0.3)

CASES: tuple[Case, ...] = (
    *(
        Case(one.name, one.about, "scenarios", one)
        for one in SCENARIOS
        if one.settings.get("shape") != "none"
    ),
    NONE.case("no-confounder", "none is given", "without confounder", n=800, shape="none"),
    *(
        Case(one.name, one.about, "no confounding", one)
        for one in SCENARIOS
        if one.settings.get("shape") == "none"
    ),
    NONE.case("p50-random", "none is given, p = 50, n = 1,000, few strong edges", "without confounder",
              p=50, n=1000, shape="none", density=0.05, **STRONG_EDGES),
    NONE.case("p50-scale-free", "the same, Ω0 scale-free", "without confounder",
              p=50, n=1000, shape="none", graph="scale-free", density=0.04, **STRONG_EDGES),
    NONE.case("none-n3000", "R = 0, n = 3,000", n=3000, shape="none"),
    NONE.case("none-small", "R = 0, p = 10, n = 400", p=10, n=400, shape="none"),
    _changed("none-skewed", "R = 0, motion-like g", "no confounding", "skewed", shape="none"),
    _changed("none-two", "R = 0, two confounders", "no confounding", "two-confounders", shape="none"),
    HARDER.case("medium", "R between weak and strong", nuisance_radius=0.3),
    HARDER.case("medium-n800", "the same with n = 800", nuisance_radius=0.3, n=800),
    HARDER.case("weak-n3000", "weak R, n = 3,000", nuisance_radius=0.15, n=3000),
    HARDER.case("jump", "R jumps at g* and stays as it is", "jump", shape="none"),
    ROW.case("t5-rows", "rows Student t, 5 degrees", "t with 5 degrees"),
    ROW.case("t3-rows", "rows Student t, 3 degrees", "t with 3 degrees"),
    ROW.case("t5-rows-none", "the same, 5 degrees, R = 0", "t with 5 degrees", shape="none"),
    ROW.case("t3-rows-none", "the same, 3 degrees, R = 0", "t with 3 degrees", shape="none"),
    ROW.case("t3-noise", "independent noise Student t, 3 degrees", "t noise"),
    ROW.case("t3-noise-none", "the same, R = 0", "t noise", shape="none"),
    ROW.case("unequal", "30 % of the rows three times as noisy, units unequal", "unequal"),
    ROW.case("unequal-none", "the same, R = 0", "unequal", shape="none"),
    ROW.case("series", "20 subjects with autocorrelated rows, groups given", "series"),
    ROW.case("series-none", "the same, R = 0", "series", shape="none"),
    FEW.case("p40-n60", "no confounder", "without confounder", p=40, n=60, shape="none", **SPARSE),
    FEW.case("p60-n40", "no confounder", "without confounder", p=60, n=40, shape="none", **SPARSE),
    FEW.case("p40-n100-strong", "strong R", p=40, n=100, **{**SPARSE, "nuisance_radius": 0.38}),
    FEW.case("p40-n200-strong", "strong R", p=40, n=200, **{**SPARSE, "nuisance_radius": 0.38}),
)  # fmt: skip

# Small ones of different kinds, for --quick.
QUICK = ("strong", "small", "none", "no-confounder", "t5-rows", "series", "p40-n60")
