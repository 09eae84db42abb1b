"""Findings about outliers, heavy tails, and values that many rows share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.checks.column_kinds import column_kind
from plaggm.checks.findings import Finding
from plaggm.checks.numbers import Numbers
from plaggm.core.preparation.far_values import (
    Tail,
    common_value,
    detached_codes,
    far_cells,
    heavy_tails,
)
from plaggm.core.preparation.robust_scale import robust_spread
from plaggm.estimators.winsor import learn_winsor
from plaggm.user_warnings import collected_warnings
from plaggm.wording import counted, listed

# Largest number of rows in a finding.
SHOWN_ROWS = 5
# Largest number of columns with outliers that have separate findings.
MOST_APART = 3
# Smallest number of rows from which values are judged along the confounder.
FEWEST_ROWS = 10
# Skewness of a non-negative column from which logarithms are suggested.
SKEWED = 2.0
WINSOR = "--robust winsor (robust='winsor')"
RANKS = "--margins rank (margins='rank')"
RANKED = "Replaced by normal scores of their ranks."


def find_far_values(numbers: Numbers, robust: bool, ranks: bool) -> Iterator[Finding]:
    """Findings about the distribution of each variable.

    Parameters
    ----------
    numbers : Numbers
    robust, ranks : bool
        Whether outlying values are winsorised, and whether variables are replaced by normal scores.
    """
    x = numbers.variables.to_numpy()
    names = tuple(map(str, numbers.variables))
    common = {j: value for j in range(len(names)) if (value := common_value(x[:, j])) is not None}
    z = _distances(numbers, names, common)
    for j, column in enumerate(x.T):
        # Codes for missing values are the subject of another finding.
        for code in detached_codes(column[:, None]):
            z[column == code.value, j] = np.nan
    tails = heavy_tails(z)
    done = RANKED if ranks else "Pulled in to three robust standard deviations." if robust else ""
    yield from _far(x, names, z, tails, done, numbers.confounder)
    if tails:
        yield _heavy(x, names, tails, done)
    yield from _shared(numbers, common, ranks)


def _far(
    x: Array,
    names: Sequence[str],
    z: Array,
    tails: tuple[Tail, ...],
    done: str,
    confounder: pd.DataFrame,
) -> Iterator[Finding]:
    """Findings about outliers: one for each column, or a single one if there are many columns."""
    option = "" if done else f"correct them if they are errors, or {WINSOR}"
    by_column: dict[int, list[tuple[int, float]]] = {}
    for cell in far_cells(z, tails):
        by_column.setdefault(cell.column, []).append((cell.row, cell.distance))
    if len(by_column) > MOST_APART:
        firsts = [(j, *cells[0]) for j, cells in by_column.items()]
        firsts.sort(key=lambda one: -abs(one[2]))
        told = listed(f"{names[j]!r} ({x[row, j]:.4g}, {abs(away):.0f})" for j, row, away in firsts)
        yield Finding(
            "note" if done else "warning",
            "outlier",
            tuple(names[j] for j, _, _ in firsts),
            f"{len(firsts)} columns hold values many robust standard deviations from the usual: {told}.",
            done or "Taken as they are.",
            option,
            tuple(row for _, row, _ in firsts[:SHOWN_ROWS]),
            firsts[0][2],
        )
        return
    for j, cells in by_column.items():
        row, distance = cells[0]
        # The location depends on the confounder, so that an ordinary value can be far from it.
        given = "".join(f" at {name} = {confounder[name].iloc[row]:.6g}" for name in confounder)
        if confounder.shape[1] > 1:
            given = " at the row's confounders"
        more = f", and {counted(len(cells) - 1, 'more far value')}" if len(cells) > 1 else ""
        yield Finding(
            "note" if done else "warning",
            "outlier",
            (names[j],),
            f"{names[j]!r} is {x[row, j]:.6g}, {abs(distance):.0f} robust standard deviations "
            f"{'above' if distance > 0.0 else 'below'} what is usual{given}{more}.",
            done or "Taken as they are.",
            option,
            tuple(found for found, _ in cells[:SHOWN_ROWS]),
            distance,
        )


def _heavy(x: Array, names: Sequence[str], tails: tuple[Tail, ...], done: str) -> Finding:
    shares = listed(f"{names[tail.column]!r} ({tail.share:.1%})" for tail in tails)
    logs = [names[tail.column] for tail in tails if _is_skewed(x[:, tail.column])]
    hint = f"; logarithms of {listed(map(repr, logs))}" if logs else ""
    return Finding(
        "note",
        "heavy tails",
        tuple(names[tail.column] for tail in tails),
        f"More values lie far out than in Gaussian columns: {shares}.",
        done or "Taken as they are; tests widen their intervals.",
        "" if done else f"{RANKS}, {WINSOR}{hint}",
        (),
        tails[0].share,
    )


def _shared(numbers: Numbers, common: dict[int, float], ranks: bool) -> Iterator[Finding]:
    """A finding about measures with one value in many rows, such as zero for an undetected substance."""
    found = []
    for j, value in common.items():
        name = str(numbers.variables.columns[j])
        column = numbers.variables.iloc[:, j]
        # Ordinal columns and counts are the subject of another finding.
        if column_kind(column).name == "measure":
            share = float(np.mean(column.to_numpy()[column.notna()] == value))
            found.append((share, name, f"{name!r} is {value:.6g} in {share:.0%} of the rows"))
    found.sort(key=lambda one: -one[0])
    if found:
        yield Finding(
            "note",
            "common value",
            tuple(name for _, name, _ in found),
            f"{listed(said for _, _, said in found)}; far values were looked for among the others.",
            RANKED
            if ranks
            else "Taken as they are: an edge is a linear association over all rows.",
            "" if ranks else f"{RANKS}, or a column of its own for whether a row has that value",
            (),
            found[0][0],
        )


def _distances(numbers: Numbers, names: tuple[str, ...], common: dict[int, float]) -> Array:
    """Distances of all values from their location at the row's confounder, in robust deviations: (n, p).

    In columns with a value that many rows share, the other values are judged without these rows.
    """
    x = numbers.variables.to_numpy()
    z = _standardised(x)
    rows = np.flatnonzero(np.isfinite(numbers.confounder.to_numpy()).all(axis=1))
    confounder = numbers.confounders_of(rows)
    if confounder is not None and len(rows) >= FEWEST_ROWS:
        known = x[rows]
        with collected_warnings():
            winsor = learn_winsor(lambda index: known[index], confounder, len(rows), names)
        along = winsor.standardised(known, confounder.values)
        usable = np.isfinite(winsor.moments.log_spread[0])
        z[np.ix_(rows, np.flatnonzero(usable))] = along[:, usable]
    for j, value in common.items():
        others = np.where(x[:, j] == value, np.nan, x[:, j])
        # Amounts of which many are zero are usually skewed, so that large ones need not be errors.
        if _is_skewed(others) and np.nanmin(others) > 0.0:
            others = np.log(others)
        z[:, j] = _standardised(others[:, None])[:, 0]
    binary = [column_kind(numbers.variables[name]).name == "binary" for name in numbers.variables]
    z[:, binary] = 0.0
    return z


def _standardised(x: Array) -> Array:
    """Distances from the columns' location in robust deviations; zero in columns without deviation."""
    centre, spread = robust_spread(x)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(spread > 0.0, (x - centre) / spread, 0.0)


def _is_skewed(column: Array) -> bool:
    values = column[np.isfinite(column)]
    if not values.size or values.min() < 0.0 or values.std() == 0.0:
        return False
    return bool(np.mean(((values - values.mean()) / values.std()) ** 3) > SKEWED)
