"""Tables, verdicts and the figure of the calibration of the tests of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from calibration_designs import Case

# Data sets that every bar asks for.
SETS = 40
RATES = (0.05, 0.1)
# Rate of the declared network, and its F1 where edges are strong and no confounder is given.
FDR, F1 = 0.05, 0.94
STRONG_EDGES = ("p50-random", "p50-scale-free")
NULL_SHARES = (0.02, 0.07)
COVERAGE = (0.93, 0.98)
# Of Fisher's z: on all samples without confounding, on those below the threshold in strong confounding.
POWER_WITHOUT, POWER_STRONG = 0.9, 3.0
# Scenarios whose confounding is strong.
STRONG = (
    "strong", "small", "rank-one", "sparse-w", "band", "hub", "scale-free", "bump", "mean", "variance",
    "mean-variance", "skewed-both", "heavy-tailed", "p100-n2000", "n10000", "two-confounders",
    "three-motion", "cobre-fd", "cobre-seven",
)  # fmt: skip
NAMES = {
    "spline": "mixed model, true g*",
    "auto": 'mixed model, threshold="auto"',
    "kernel": "kernel smoother (ramp), true g*",
    "pooled": "Fisher's z, all samples",
    "clean": "Fisher's z, samples below the threshold",
}
KINDS = {
    "scenarios": "Confounded scenarios",
    "no confounding": "No confounding",
    "harder": "Confounding that is hard to see",
    "rows": "Rows that are not independent, Gaussian or of equal variance",
    "few samples": "Few samples",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over the data sets of one case and method.

    Attributes
    ----------
    sets, failures : int
        Data sets, and those among them where the method failed.
    means, errors : mapping of str to float
        Of every figure, and their standard errors.
    histogram : ndarray of shape (20,)
        Shares of the null pairs' p-values in intervals of 0.05.
    """

    sets: int
    failures: int
    means: Mapping[str, float]
    errors: Mapping[str, float]
    histogram: np.ndarray


Summaries = Mapping[tuple[str, str], Summary]


def summaries(
    cells: Mapping[tuple[str, int], Mapping[str, Any]], cases: Sequence[Case]
) -> dict[tuple[str, str], Summary]:
    """Means of every case and method that has any data set."""
    found = {}
    for case in cases:
        own = [cell for (name, _), cell in cells.items() if name == case.name]
        for method in NAMES:
            rows = [cell[method] for cell in own if cell.get(method)]
            if not rows:
                continue
            good = [row for row in rows if "failure" not in row]
            means, errors = {}, {}
            for figure in sorted({key for row in good for key in row} - {"histogram", "source"}):
                values = np.array([row[figure] for row in good if row.get(figure) is not None])
                means[figure] = float(values.mean()) if len(values) else np.nan
                spread = values.std(ddof=1) if len(values) > 1 else np.nan
                errors[figure] = float(spread / np.sqrt(len(values))) if len(values) else np.nan
            histogram = np.sum([row["histogram"] for row in good], axis=0, dtype=float)
            share = histogram / max(histogram.sum(), 1.0) if good else np.zeros(20)
            found[case.name, method] = Summary(
                len(rows), len(rows) - len(good), means, errors, share
            )
    return found


def verdicts(
    found: Summaries, cases: Sequence[Case], method: str
) -> list[tuple[str, list[str], int]]:
    """Every bar, the cases that miss it with their figures, and how many cases it applies to."""
    known = {case.name: found[case.name, method] for case in cases if (case.name, method) in found}

    def outside(figure: str, low: float, high: float) -> list[str]:
        return [
            f"{_counted(name, one)} {one.means[figure]:.3f}"
            for name, one in known.items()
            if figure in one.means and not low <= one.means[figure] <= high
        ]

    out = [
        (
            "null pairs with p < .05 between .02 and .07",
            outside("null_05", *NULL_SHARES),
            len(known),
        ),
        ("intervals cover 93–98 % of all pairs", outside("covered", *COVERAGE), len(known)),
        ("and of the true edges", outside("covered_edges", *COVERAGE), len(known)),
    ]
    for rate in RATES:
        figure = f"fdp_{rate}"
        missed = [
            f"{_counted(name, one)} {one.means[figure]:.3f} ± {one.errors[figure]:.3f}"
            for name, one in known.items()
            if one.means[figure] > rate + 2.0 * np.nan_to_num(one.errors[figure])
        ]
        bar = f"false-discovery proportion at q = {rate} at most {rate} + 2 standard errors"
        out.append((bar, missed, len(known)))
    own = [name for name in known if name in STRONG_EDGES]
    weak = [f"{name} {known[name].means['f1']:.3f}" for name in own if known[name].means["f1"] < F1]
    if own:
        out.append(("F1 at least .94 at p = 50, n = 1,000 without confounder", weak, len(own)))
    valid = [
        name
        for name in known
        if (name, "clean") in found and found[name, "clean"].means["null_05"] <= NULL_SHARES[1]
    ]
    compared = [
        ("power without confounding at least .9 of Fisher's z on all samples", "pooled",
         POWER_WITHOUT, [case.name for case in cases if case.kind == "no confounding"]),
        ("power in strong confounding at least three times Fisher's z on clean samples", "clean",
         POWER_STRONG, list(STRONG)),
        ("power nowhere below Fisher's z on clean samples, where that is valid", "clean", 1.0, valid),
    ]  # fmt: skip
    for bar, textbook, factor, names in compared:
        missed, count = [], 0
        for name in names:
            if name not in known or (name, textbook) not in found:
                continue
            count += 1
            mine, other = (
                one.means.get("power_0.1", np.nan) for one in (known[name], found[name, textbook])
            )
            if mine < factor * other:
                missed.append(f"{_counted(name, known[name])} {mine:.3f} against {other:.3f}")
        out.append((bar, missed, count))
    return out


def _counted(name: str, one: Summary) -> str:
    """A case with the number of its data sets, where there are fewer than asked for."""
    return name if one.sets >= SETS else f"{name} ({one.sets} sets)"


def page(found: Summaries, cases: Sequence[Case], seeds: Sequence[int]) -> list[str]:
    """The page in Markdown."""
    lines = [
        "# Calibration of the tests of edges", "",
        f"Made by `make calibration`: seeds {seeds[0]} to {seeds[-1]}; the tables say how many of these "
        "data sets were run. Constants were settled on seeds below 500. Why bars are missed is told in "
        "[decisions](decisions.md#tests-of-edges). Figures are means over data sets, ± their standard "
        "errors; p < .05 and p < .001 are shares of the null pairs. The first columns of a table are the "
        "mixed model told the true g*, then Fisher's z on all samples and on those below g*. A second "
        'table has `threshold="auto"`, the kernel smoother with its ramp, and the share of all pairs whose '
        "difference between pooled and adjusted estimates has p < .05 (the level where R = 0). Bars of "
        "power compare means over the data sets that each method has.",
        "", "![Null shares and power](calibration.png)", "", "## Bars", "",
    ]  # fmt: skip
    for method in ("spline", "auto"):
        if not any(key[1] == method for key in found):
            continue
        lines += [f"### {NAMES[method]}", ""]
        for bar, missed, count in verdicts(found, cases, method):
            verdict = "met" if not missed else "missed: " + "; ".join(missed)
            lines.append(f"- {bar} ({count - len(missed)} of {count}): {verdict}.")
        lines.append("")
    for kind, title in KINDS.items():
        own = [case for case in cases if case.kind == kind]
        if own:
            lines += [f"## {title}", ""]
            lines += [f"- **{case.name}**: {case.about}" for case in own]
            lines += ["", *_table(own, found, MAIN), "", *_table(own, found, OTHERS), ""]
    return lines


# Columns of a table: method, figure, heading.
MAIN = (
    ("spline", "sets", "sets"),
    ("spline", "null_05", "p < .05"),
    ("spline", "null_001", "p < .001"),
    ("spline", "covered", "covered"),
    ("spline", "covered_edges", "edges covered"),
    ("spline", "fdp_0.05", "FDP at .05"),
    ("spline", "fdp_0.1", "FDP at .1"),
    ("spline", "power_0.1", "power at .1"),
    ("pooled", "null_05", "all samples: p < .05"),
    ("pooled", "fdp_0.1", "FDP at .1"),
    ("pooled", "power_0.1", "power at .1"),
    ("clean", "null_05", "below g*: p < .05"),
    ("clean", "power_0.1", "power at .1"),
)
OTHERS = (
    ("auto", "sets", "auto: sets"),
    ("auto", "null_05", "p < .05"),
    ("auto", "covered", "covered"),
    ("auto", "fdp_0.05", "FDP at .05"),
    ("auto", "fdp_0.1", "FDP at .1"),
    ("auto", "power_0.1", "power at .1"),
    ("kernel", "sets", "kernel: sets"),
    ("kernel", "null_05", "p < .05"),
    ("kernel", "covered", "covered"),
    ("kernel", "fdp_0.1", "FDP at .1"),
    ("kernel", "power_0.1", "power at .1"),
    ("spline", "changed_05", "change: p < .05"),
)


def _table(
    cases: Sequence[Case], found: Summaries, columns: Sequence[tuple[str, str, str]]
) -> list[str]:
    """One row for each case; a method that failed on data sets is marked by their number."""
    lines = [
        "| case | " + " | ".join(heading for _, _, heading in columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for case in cases:
        entries = []
        for method, figure, _ in columns:
            one = found.get((case.name, method))
            if one is None or figure not in ("sets", *one.means):
                entries.append("")
                continue
            if figure == "sets":
                entries.append(f"{one.sets}")
                continue
            text = f"{one.means[figure]:.4f}" if "001" in figure else f"{one.means[figure]:.3f}"
            if figure.startswith("fdp"):
                text += f" ± {one.errors[figure]:.3f}"
            entries.append(text + (f" ({one.failures} failed)" if one.failures else ""))
        lines.append(f"| {case.name} | " + " | ".join(entries) + " |")
    return lines


def draw(found: Summaries, cases: Sequence[Case], path: Path) -> None:
    """Null shares and power of every case, beside Fisher's z."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"spline": "#0b6e4f", "auto": "#6fb98f", "pooled": "#c1440e", "clean": "#8a8a8a"}
    names = [case.name for case in cases]
    figure, axes = plt.subplots(
        1, 2, figsize=(10, 0.22 * len(names) + 1.5), sharey=True, layout="constrained"
    )
    for axis, key, title in zip(
        axes,
        ("null_05", "power_0.1"),
        ("null pairs with p < .05", "power at a false discovery rate of .1"),
        strict=True,
    ):
        for method, colour in colours.items():
            points = [
                (found[name, method].means[key], place)
                for place, name in enumerate(names)
                if (name, method) in found and key in found[name, method].means
            ]
            if points:
                axis.plot(*np.array(points).T, "o", ms=4, color=colour, label=NAMES[method])
        axis.set_title(title, fontsize=10)
        axis.grid(axis="y", lw=0.3)
    axes[0].axvspan(*NULL_SHARES, color="#0b6e4f", alpha=0.12, lw=0)
    axes[0].set_xscale("log")
    axes[0].set_xticks([0.02, 0.05, 0.1, 0.2, 0.5], [".02", ".05", ".1", ".2", ".5"])
    axes[0].minorticks_off()
    axes[0].set_ylim(-1, len(names))
    axes[0].set_yticks(range(len(names)), names, fontsize=7)
    axes[0].invert_yaxis()
    axes[1].legend(fontsize=7, loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)
