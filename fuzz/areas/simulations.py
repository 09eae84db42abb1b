"""Simulated data and recovery scores with arguments that nobody expects."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import impossible
from fuzz.case import Case
from fuzz.tables import CELLS, sound_table
from fuzz.values import choice, named, odd_value

SOUND = {
    "graph": ("erdos-renyi", "scale-free", "band", "block", "hub"),
    "shape": ("paper", "ramp", "saturating", "bump", "none"),
    "nuisance": ("dense", "rank-one", "sparse"),
    "confounder": ("grid", "uniform", "skewed", "heavy-tailed"),
    "density": (0.0, 1.0, 0.5),
    "groups": (["a"], ["a", "a"], ["a", "b", "c"], [""], "ab", [1, 2]),
    "n_subjects": (1, [1, 2], [1], [0, 1]),
}
MANY = 1000
SCORES = (
    *("edge_auc", "roc_curve_edges", "precision_recall_curve_edges", "average_precision"),
    *("precision_recall", "f1", "mcc", "hamming", "frobenius_error", "sup_error", "sign_accuracy"),
    *("recovery_report", "path_rates", "path_auc", "best_path_auc"),
)
SHARES = ("edge_auc", "average_precision", "f1", "path_auc", "best_path_auc", "sign_accuracy")


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A simulation or a score."""
    return _score(rng) if rng.random() < 0.5 else _simulation(rng)


def _simulation(rng: np.random.Generator) -> Case:
    from plaggm import simulate

    paper = bool(rng.random() < 0.5)
    function = simulate.simulate_paper if paper else simulate.simulate_study
    given: dict[str, Any] = {"seed": 0, "p": 4}
    given |= {"n": 30} if paper else {"n_subjects": 2, "n_times": 10}
    names = list(inspect.signature(function).parameters)
    odd: dict[str, Any] = {}
    for name in rng.choice(names, int(rng.integers(1, 4)), replace=False):
        sound = SOUND.get(str(name))
        odd[str(name)] = choice(rng, sound) if sound and rng.random() < 0.6 else _small(rng)
    words = ", ".join(f"{name}={named(value)}" for name, value in odd.items())
    return Case(
        f"{function.__name__}({words})",
        lambda: function(**(given | odd)),
        _simulated,
        quoted=tuple(odd.values()),
    )


def _small(rng: np.random.Generator) -> Any:
    """An odd value that is not a large number of rows or variables."""
    while True:
        value = odd_value(rng)
        if not (isinstance(value, int) and value > MANY):
            return value


def _simulated(data: Any) -> Iterator[str]:
    yield from impossible.not_finite(data.x, "x")
    yield from impossible.not_finite(data.confounder, "confounder")
    yield from impossible.not_finite(data.omega, "omega")
    data.to_frame()


def _score(rng: np.random.Generator) -> Case:
    from plaggm import metrics

    name = choice(rng, SCORES)
    p = int(choice(rng, (0, 1, 2, 3, 5, 5, 5)))
    truth = np.round(sound_table(rng, p, p)) if p else np.zeros((0, 0))
    truth = truth + truth.T if rng.random() < 0.8 else truth
    score = sound_table(rng, p, p) if p else np.zeros((0, 0))
    score = score + score.T if rng.random() < 0.8 else score
    said = [f"p = {p}"]
    for array, word in ((truth, "truth"), (score, "score")):
        if p and rng.random() < 0.3:
            array[0, -1] = array[-1, 0] = choice(rng, CELLS)
            said.append(f"{word} with {array[0, -1]}")
        elif rng.random() < 0.15:
            array *= choice(rng, (0.0, 1e300, 1e-300))
            said.append(f"{word} scaled")
    first: Any = score
    second: Any = truth
    if "path" in name:
        first = np.stack([np.where(k > 1, score, 0.0) for k in range(4)])
    if rng.random() < 0.2:
        first = odd_value(rng)
        said.append(f"first {named(first)}")
    if rng.random() < 0.15:
        second = odd_value(rng)
        said.append(f"second {named(second)}")

    def check(found: Any) -> Iterator[str]:
        if name in SHARES and not (np.isnan(found) or -1e-12 <= found <= 1.0 + 1e-12):
            yield f"{name} is {found}"
        if name in ("frobenius_error", "sup_error") and not found >= 0.0:
            yield f"{name} is {found}"

    return Case(
        f"{name}({', '.join(said)})",
        lambda: getattr(metrics, name)(first, second),
        check,
        quoted=(first, second),
    )
