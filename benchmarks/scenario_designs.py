"""The scenarios: which data each makes from a seed. None was chosen by how a method does on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plaggm.simulate import simulate_paper, simulate_study

COBRE_FILE = "cobre_motion.npz"
# People drawn for one data set of real motion, each with 150 time points.
COBRE_PEOPLE = 12
FRAMEWISE_DISPLACEMENT = "fd"


class Data(NamedTuple):
    """What a method sees, and the truth it is scored on."""

    x: np.ndarray
    confounder: np.ndarray
    threshold: float | np.ndarray
    support: np.ndarray
    omega: np.ndarray


@dataclass(frozen=True, slots=True)
class Scenario:
    """One design. ``make`` names how data are made; ``settings`` are its arguments."""

    name: str
    about: str
    make: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_files(self) -> bool:
        """Whether it uses measured confounders."""
        return self.make.startswith("cobre")

    def data(self, seed: int, folder: Path | None) -> Data:
        """The data set of one seed."""
        return MAKERS[self.make](dict(self.settings), seed, folder)


def _paper(settings: dict[str, Any], seed: int, folder: Path | None) -> Data:
    del folder
    made = simulate_paper(**settings, seed=seed)
    return Data(made.x, made.confounder, made.threshold, made.support, made.omega)


def _uniform_pair(settings: dict[str, Any], seed: int, folder: Path | None) -> Data:
    """Two independent uniform confounders over the paper's range."""
    g = np.random.default_rng([seed, 2]).uniform(-400.0, 399.0, (settings.pop("n"), 2))
    return _paper({**settings, "confounder": g}, seed, folder)


def _study(settings: dict[str, Any], seed: int, folder: Path | None) -> Data:
    """People of one group: the network that is scored is theirs."""
    del folder
    made = simulate_study(groups=("all",), difference=0.0, seed=seed, **settings)
    return Data(made.x, made.confounder, made.threshold, made.support[0], made.omega[0])


def _cobre(seed: int, folder: Path | None) -> tuple[np.ndarray, list[str]]:
    """Motion of some people, one row for each time point: shape (n, 7), and the columns' names."""
    if folder is None:
        raise ValueError("Real motion needs the folder that holds it: give --data FOLDER.")
    with np.load(folder / COBRE_FILE) as stored:
        motion, names = stored["motion"], stored["column"].tolist()
    people = np.random.default_rng([seed, 7]).choice(len(motion), COBRE_PEOPLE, replace=False)
    return motion[people].reshape(-1, len(names)), names


def _cobre_fd(settings: dict[str, Any], seed: int, folder: Path | None) -> Data:
    motion, names = _cobre(seed, folder)
    g = motion[:, names.index(FRAMEWISE_DISPLACEMENT)]
    return _paper({**settings, "confounder": g}, seed, folder)


def _cobre_all(settings: dict[str, Any], seed: int, folder: Path | None) -> Data:
    motion, _ = _cobre(seed, folder)
    limits = np.quantile(np.abs(motion), settings.pop("quantile"), axis=0)
    return _paper({**settings, "confounder": motion, "threshold": limits}, seed, folder)


MAKERS = {
    "paper": _paper,
    "uniform-pair": _uniform_pair,
    "study": _study,
    "cobre-fd": _cobre_fd,
    "cobre-all": _cobre_all,
}

# An eighth of the samples is unconfounded; the network moves with |g| and levels off.
BASE: dict[str, Any] = dict(
    p=20, n=1500, shape="saturating", even=True, threshold=50.0, confounder="uniform"
)
SKEWED: dict[str, Any] = {**BASE, "confounder": "skewed", "threshold": 10.0}
BOTH: dict[str, Any] = dict(mean_shift=1.0, variance_inflation=1.0)


def _based(name: str, about: str, **changes: Any) -> Scenario:
    return Scenario(name, about, "paper", {**BASE, **changes})


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("paper-odd", "the paper's design, odd f", "paper", dict(p=20, n=800)),
    Scenario("paper-even", "the paper's design, even f", "paper", dict(p=20, n=800, even=True)),
    Scenario("paper-odd-p50", "the paper's design, p = 50", "paper", dict(p=50, n=800)),
    Scenario(
        "paper-even-p100", "the paper's design, even f, p = 100", "paper",
        dict(p=100, n=800, even=True),
    ),
    _based("weak", "weak R", n=800, nuisance_radius=0.15),
    _based("strong", "strong dense R"),
    _based("none", "R = 0", n=800, shape="none"),
    _based("none-p60-n400", "R = 0, seven samples a variable", p=60, n=400, shape="none"),
    _based("small", "p = 10, n = 400", p=10, n=400),
    _based("rank-one-weak", "rank-one W, weak", n=800, nuisance="rank-one", nuisance_radius=0.2),
    _based("rank-one", "rank-one W, strong", n=2000, nuisance="rank-one"),
    _based("sparse-w", "sparse W", nuisance="sparse"),
    _based("band", "Ω0 a band", graph="band", density=0.1),
    _based("hub", "Ω0 with a hub", graph="hub", density=0.1),
    _based("scale-free", "Ω0 scale-free, p = 30", p=30, graph="scale-free", density=0.1),
    _based("bump", "R rises and falls again", n=2000, shape="bump"),
    _based("mean", "and a shift of the mean", mean_shift=1.0),
    _based("variance", "and inflated variance", variance_inflation=1.0),
    _based("mean-variance", "and both", **BOTH),
    _based("mean-variance-only", "R = 0, mean and variance move", shape="none", **BOTH),
    Scenario("skewed", "motion-like g ≥ 0", "paper", SKEWED),
    Scenario(
        "skewed-both", "motion-like g, mean and variance too", "paper",
        {**SKEWED, **BOTH, "n": 3000},
    ),
    _based(
        "heavy-tailed", "g Student t, 3 degrees", confounder="heavy-tailed", threshold=10.0, n=2000
    ),
    _based(
        "p100-n2000", "p = 100, scale-free Ω0", p=100, n=2000, graph="scale-free", density=0.04
    ),
    _based("n10000", "n = 10,000, p = 40, g* = 20", p=40, n=10_000, threshold=20.0),
    Scenario(
        "two-confounders", "two uniform confounders", "uniform-pair",
        dict(p=15, n=2000, shape="saturating", even=True, threshold=[100.0, 100.0]),
    ),
    Scenario(
        "three-motion", "12 people, three motion-like confounders, mean and variance too", "study",
        dict(p=20, n_subjects=12, n_times=150, n_confounders=3, **BOTH),
    ),
    Scenario(
        "cobre-fd", "measured framewise displacement, g* = 0.2 mm, mean and variance too",
        "cobre-fd", dict(p=20, shape="saturating", even=True, threshold=0.2, **BOTH),
    ),
    Scenario(
        "cobre-seven", "all seven measured motion columns, mean and variance too",
        "cobre-all", dict(p=20, shape="saturating", even=True, quantile=0.6, **BOTH),
    ),
)  # fmt: skip

# Small ones of different kinds, for --quick.
QUICK = ("paper-even", "weak", "none", "small", "mean-variance", "skewed")
