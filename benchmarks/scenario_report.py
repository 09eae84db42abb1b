"""From cells to tables: means over seeds, paired differences, the bar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from scenario_designs import Scenario
from scenario_methods import METHODS

SCORES = {"best": "best AUC over the path", "selected": "AUC at the selected alpha"}
# Of the network that a method declares by default.
NETWORK_SCORES = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "fdp": "false-discovery proportion",
}
# The bar: how far below the best related method one scenario may be, and how far above the average must be.
LOWEST, AVERAGE = -0.01, 0.02

# (scenario, seed, method) -> what was recorded.
Cells = Mapping[tuple[str, int, str], Mapping[str, Any]]
# scenario -> its seeds.
Seeds = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Gain:
    """A method against the related method with the largest mean in one scenario."""

    scenario: str
    related: str
    mean: float
    standard_error: float


def scores(
    cells: Cells, scenario: str, method: str, seeds: Iterable[int], score: str
) -> np.ndarray:
    """Scores of the seeds, NaN where there is none: shape (n_seeds,)."""
    rows = [cells.get((scenario, seed, method), {}) for seed in seeds]
    return np.array([row.get(score, np.nan) for row in rows], dtype=float)


def gains(
    cells: Cells, method: str, scenarios: Sequence[str], others: Sequence[str],
    seeds: Seeds, score: str,
) -> list[Gain]:  # fmt: skip
    """The paired difference to the best related method of every scenario.

    One without a score in some seed is left out of that scenario. Where the method itself has none
    the gain is NaN, which no bar forgives.
    """
    found = []
    for scenario in scenarios:
        own = seeds[scenario]
        theirs = {other: scores(cells, scenario, other, own, score) for other in others}
        theirs = {other: values for other, values in theirs.items() if np.isfinite(values).all()}
        if not theirs:
            continue
        other = max(theirs, key=lambda name: theirs[name].mean())
        difference = scores(cells, scenario, method, own, score) - theirs[other]
        error = np.nan
        if len(own) > 1:
            error = float(difference.std(ddof=1) / np.sqrt(len(own)))
        found.append(Gain(scenario, other, float(difference.mean()), error))
    return found


def verdicts(found: Mapping[str, Sequence[Gain]]) -> list[tuple[str, bool]]:
    """The three parts of the bar, each with the figure that decides it.

    Parameters
    ----------
    found : mapping
        Gains of the scores "best" and "selected".
    """
    best = np.array([gain.mean for gain in found["best"]])
    selected = np.array([gain.mean for gain in found["selected"]])

    def worst(score: str) -> str:
        low = min(found[score], key=lambda gain: gain.mean if np.isfinite(gain.mean) else -np.inf)
        below = sum(not gain.mean >= LOWEST for gain in found[score])
        return f"worst {low.mean:+.3f} ({low.scenario}), {below} of {len(found[score])} below"

    return [
        (
            f"best over path: nowhere more than {-LOWEST} below: {worst('best')}",
            bool(np.all(best >= LOWEST)),
        ),
        (
            f"best over path: on average at least {AVERAGE} above: {best.mean():+.3f}",
            bool(best.mean() >= AVERAGE),
        ),
        (
            f"selected: nowhere more than {-LOWEST} below: {worst('selected')} "
            f"(on average {selected.mean():+.3f})",
            bool(np.all(selected >= LOWEST)),
        ),
    ]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose columns also line up as plain text."""
    body = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[k]) for row in body) for k in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in body
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "–"


def score_table(
    cells: Cells, scenarios: Sequence[str], methods: Sequence[str], seeds: Seeds, score: str,
    bold: bool = True,
) -> list[str]:  # fmt: skip
    """Means over seeds; the largest of a row in bold, a dash where a seed has no score."""
    rows = []
    for scenario in scenarios:
        means = [
            scores(cells, scenario, method, seeds[scenario], score).mean() for method in methods
        ]
        top = np.nanmax(means) if np.isfinite(means).any() else np.nan
        marked = [f"**{_number(m)}**" if bold and m == top else _number(m) for m in means]
        rows.append([scenario, *marked])
    return markdown(["scenario", *methods], rows)


def gain_table(found: Mapping[str, Sequence[Gain]]) -> list[str]:
    """Differences to the best related method with standard errors, both scores; ! where below the bar."""
    selected = {gain.scenario: gain for gain in found["selected"]}

    def cells_of(gain: Gain | None) -> list[str]:
        if gain is None:
            return ["–", "–"]
        mark = "" if gain.mean >= LOWEST else " !"
        return [f"{gain.mean:+.3f} ± {gain.standard_error:.3f}{mark}", gain.related]

    rows = [
        [gain.scenario, *cells_of(gain), *cells_of(selected.get(gain.scenario))]
        for gain in found["best"]
    ]
    header = [
        "scenario",
        "best over path",
        "best related method",
        "selected",
        "best related method ",
    ]
    return markdown(header, rows)


def cost_table(cells: Cells, methods: Sequence[str]) -> list[str]:
    """Seconds, steps that did not converge and fits that failed, for every method."""
    rows = []
    for method in methods:
        own = [row for (_, _, name), row in cells.items() if name == method]
        if not own:
            continue
        seconds = np.array([row["seconds"] for row in own])
        rows.append([
            method, METHODS[method].about, f"{seconds.sum():.0f}", f"{np.median(seconds):.2f}",
            f"{seconds.max():.1f}", str(sum(row.get("unconverged", 0) for row in own)),
            f"{sum('failure' in row for row in own)} of {len(own)}",
        ])  # fmt: skip
    header = ["method", "what", "s in all", "median s", "longest s", "steps unconverged", "failed"]
    return markdown(header, rows)


def failures(cells: Cells) -> list[str]:
    """One line for each scenario and method that failed, with the first reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (scenario, _, method), row in sorted(cells.items()):
        if "failure" in row:
            reasons.setdefault((scenario, method), []).append(row["failure"])
    return [
        f"- {scenario}, {method} ({len(said)} seeds): {said[0].split('. ')[0]}."
        for (scenario, method), said in reasons.items()
    ]


def design_table(scenarios: Sequence[Scenario]) -> list[str]:
    """What each scenario is."""
    return markdown(
        ["scenario", "what", "settings"],
        [
            [s.name, s.about, ", ".join(f"{key}={value}" for key, value in s.settings.items())]
            for s in scenarios
        ],
    )


def summary(cells: Cells, scenarios: Sequence[Scenario], seeds: Seeds) -> list[str]:
    """Gains over the best related method, the bar, and what it cost."""
    methods = _present(cells)
    others = [name for name in methods if METHODS[name].related]
    names = [scenario.name for scenario in scenarios]
    lines = []
    if absent := _not_run(cells, names, methods, seeds):
        lines += [f"Not run, so not compared: {'; '.join(absent)}.", ""]
    for method in methods:
        if METHODS[method].related:
            continue
        run = [name for name in names if all((name, seed, method) in cells for seed in seeds[name])]
        found = {score: gains(cells, method, run, others, seeds, score) for score in SCORES}
        if found["best"]:
            lines += [f"## {method} minus the best related method", ""]
            lines += [f"- {'met' if met else 'MISSED'}: {said}" for said, met in verdicts(found)]
            lines += ["", *gain_table(found), ""]
            lines += [network_verdict(cells, method, run, others, seeds), ""]
    return [*lines, "## Methods and cost", "", *cost_table(cells, methods)]


def network_verdict(
    cells: Cells, method: str, scenarios: Sequence[str], related: Sequence[str], seeds: Seeds
) -> str:
    """In how many scenarios a method's default network has the largest mean F1, and where it has not."""
    found = gains(cells, method, scenarios, related, seeds, "f1")
    behind = [gain for gain in found if not gain.mean >= 0.0]
    said = "; ".join(
        f"{gain.scenario} {gain.mean:+.3f} ± {gain.standard_error:.3f} ({gain.related})"
        for gain in behind
    )
    return (
        "Default network: F1 at least that of every related method's default in "
        f"{len(found) - len(behind)} of {len(found)} scenarios"
        f"{f'; behind the best one in {said}' if behind else ''}."
    )


def changes(
    before: Cells, after: Cells, scenarios: Sequence[Scenario], seeds: Seeds, tag: str
) -> list[str]:
    """Labelled cells minus those without label, where both are there."""
    lines = []
    for method in _present(after):
        old = f"{method} before"
        cells = {key: row for key, row in after.items() if key[2] == method}
        cells |= {(a, b, old): row for (a, b, name), row in before.items() if name == method}
        names = [scenario.name for scenario in scenarios]
        found = {score: gains(cells, method, names, [old], seeds, score) for score in SCORES}
        if found["best"]:
            means = ", ".join(
                f"{title} {np.mean([gain.mean for gain in found[score]]):+.4f}"
                for score, title in SCORES.items()
            )
            lines += ["", f"## {method}@{tag} minus {method}: on average {means}", ""]
            lines += gain_table(found)
    return lines


def page(
    cells: Cells, scenarios: Sequence[Scenario], seeds: Seeds, alphas: int, folds: int
) -> list[str]:
    """The whole report as lines of Markdown."""
    methods = _present(cells)
    names = [scenario.name for scenario in scenarios]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    lines = [
        "# Scenarios",
        "",
        f"Made by `make scenarios` with {packages}: {len(names)} scenarios, {_said(seeds)}. Figures are "
        "means over the seeds, ± the standard error of the paired difference.",
        "",
        f"All methods have {alphas} penalties and the same {folds}-fold cross-validation, and all use the "
        "pseudo-likelihood, so that only the treatment of the confounder differs. Methods with a threshold "
        "are told the true g*, as in the paper; only `spline_auto` has to find it. The best related method "
        "is the one with the largest mean over the seeds of the scenario; one that fails in some seed is "
        "left out there. `!` marks a difference below the bar.",
        "",
        *summary(cells, scenarios, seeds),
    ]
    for score, title in SCORES.items():
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines += score_table(cells, names, methods, seeds, score)
    lines += [
        "", "## Default networks", "",
        "Edges as `fit` declares them by default: by tests at a false discovery rate of 5 % (`spline`, "
        "`spline_auto`, both kernels, `pooled`), or those that the penalty chosen by cross-validation "
        "keeps (the others). A network without edges has precision, F1 and false-discovery proportion 0.",
    ]  # fmt: skip
    for score, title in NETWORK_SCORES.items():
        lines += ["", f"### {title[0].upper()}{title[1:]}", ""]
        lines += score_table(cells, names, methods, seeds, score, bold=score != "fdp")
    failed = failures(cells)
    if failed:
        lines += ["", "## Fits that failed", "", *failed]
    return [*lines, "", "## Designs", "", *design_table(scenarios)]


def _said(seeds: Seeds) -> str:
    """In words: the seeds that most scenarios have, and those with others."""
    if not seeds:
        return "no seeds"
    usual = max(seeds.values(), key=lambda one: sum(other == one for other in seeds.values()))
    others = [f"{name} {min(own)} to {max(own)}" for name, own in seeds.items() if own != usual]
    few = f" ({', '.join(others)}: smaller networks need more of them)" if others else ""
    return f"seeds {', '.join(map(str, usual))}{few}"


def _present(cells: Cells) -> list[str]:
    return [name for name in METHODS if any(key[2] == name for key in cells)]


def _not_run(
    cells: Cells, scenarios: Sequence[str], methods: Sequence[str], seeds: Seeds
) -> list[str]:
    """For every usual method the scenarios in which it was not run with all seeds, failed or not."""
    said = []
    for method in methods:
        absent = [
            name
            for name in scenarios
            if METHODS[method].usual
            and any((name, seed, method) not in cells for seed in seeds[name])
        ]
        if absent:
            said.append(f"{method} in {', '.join(absent)}")
    return said
