"""Findings about the numbers of a table: missing values, distributions of columns, dependence of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from plaggm.checks.column_kinds import KindName, column_kind
from plaggm.checks.far_values import RANKED, RANKS, SHOWN_ROWS, find_far_values
from plaggm.checks.findings import Finding
from plaggm.checks.missing_values import find_few_rows, find_missing, find_unobserved_pairs
from plaggm.checks.numbers import Numbers
from plaggm.core.preparation.autoregression import run_positions
from plaggm.core.preparation.copies import first_copies
from plaggm.core.preparation.dependence import correlations, find_dependence
from plaggm.core.preparation.far_values import detached_codes
from plaggm.estimators.row_warnings import most_autocorrelated
from plaggm.parameter_types import FamilyName
from plaggm.wording import counted, listed

# A column is nearly constant if fewer rows than this differ from its most common value.
FEWEST_OTHERS = 5
# Share of copied rows from which there is a warning.
MANY_COPIES = 0.01
# Smallest number of complete rows from which rows are compared.
FEWEST_ROWS = 10
TAKEN: dict[KindName, str] = {
    "binary": "Taken as numbers: an edge is a linear association of two-valued columns.",
    "ordinal": "Taken as numbers with equal steps between levels.",
    "count": "Taken as they are; small counts are skewed.",
}
OFFERED: dict[KindName, str] = {
    "binary": "--family auto (family='binomial')",
    "ordinal": RANKS,
    "count": f"--family auto (family='poisson'), {RANKS}, or logarithms of them",
}
OF_FAMILY: dict[FamilyName, str] = {
    "binomial": "Logistic regressions of each on the others: edges are log odds ratios, scaled.",
    "poisson": "Log-linear regressions of each on the others, which see counts by their logarithm.",
}


def find_in_values(
    numbers: Numbers,
    families: Mapping[str, FamilyName],
    *,
    missing: str,
    robust: bool,
    ranks: bool,
    series: bool,
) -> Iterator[Finding]:
    """Yield all findings about values.

    Parameters
    ----------
    numbers : Numbers
    families : mapping of str to str
        Families of variables by name; others are Gaussian.
    missing : {"refuse", "drop", "em", "impute"}
        Treatment of missing values by the fit.
    robust, ranks : bool
        Whether outlying values are winsorised, and whether variables are replaced by normal scores.
    series : bool
        Whether rows are filtered as time series.
    """
    yield from find_missing(numbers, missing)
    yield from find_unobserved_pairs(numbers, missing)
    yield from _codes(numbers)
    yield from _nearly_constant(numbers)
    yield from find_far_values(numbers, robust, ranks)
    yield from find_few_rows(numbers, missing)
    yield from _duplicated_rows(numbers)
    if not series:
        yield from _neighbouring_rows(numbers)
    yield from _near_copies(numbers)
    yield from _kinds(numbers.variables, families, ranks)


def _codes(numbers: Numbers) -> Iterator[Finding]:
    both = numbers.columns
    for code in detached_codes(both.to_numpy()):
        name = str(both.columns[code.column])
        rows = counted(code.count, "row")
        yield Finding(
            "warning",
            "code",
            (name,),
            f"{name!r} is {code.value:g} in {rows}, far from its other values: a code for missing ones?",
            "Taken as a number.",
            f"--na {code.value:g} to take it as missing",
            (code.first_row,),
            code.value,
        )


def _nearly_constant(numbers: Numbers) -> Iterator[Finding]:
    """Findings about columns with the same value in all but a few rows."""
    for name in numbers.variables:
        column = numbers.variables[name].to_numpy()
        values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        others = int(counts.sum() - counts.max()) if len(counts) else 0
        if not 0 < others < FEWEST_OTHERS or counts.sum() < FEWEST_ROWS * FEWEST_OTHERS:
            continue
        usual = values[np.argmax(counts)]
        rows = np.flatnonzero(np.isfinite(column) & (column != usual))
        yield Finding(
            "warning",
            "nearly constant",
            (str(name),),
            f"{str(name)!r} is {usual:.6g} in all but {counted(others, 'row')}.",
            f"Fitted; its edges rest on {'this row' if others == 1 else 'these rows'}.",
            f"--exclude {name}",
            tuple(int(row) for row in rows[:SHOWN_ROWS]),
            float(others),
        )


def _duplicated_rows(numbers: Numbers) -> Iterator[Finding]:
    n, p = numbers.variables.shape
    if len(numbers.complete()) < FEWEST_ROWS or p < 2:
        return
    first = first_copies(numbers.variables.to_numpy(), numbers.confounder.to_numpy(), share=0.0)
    copies = 0 if first is None else n - len(first)
    if first is None or not copies:
        return
    copied = np.setdiff1d(np.arange(n), first)
    yield Finding(
        "warning" if copies >= MANY_COPIES * n else "note",
        "duplicated rows",
        (),
        f"{counted(copies, 'row')} {'is a copy' if copies == 1 else 'are copies'} of others.",
        "Taken for further samples, so that p-values are too small.",
        "remove them from the table",
        tuple(int(row) for row in copied[:SHOWN_ROWS]),
        copies / n,
    )


def _neighbouring_rows(numbers: Numbers) -> Iterator[Finding]:
    """A finding about autocorrelation of rows that are taken as independent."""
    rows = numbers.complete()
    if len(rows) < FEWEST_ROWS:
        return
    x = numbers.variables.to_numpy()[rows]
    varying = np.ptp(x, axis=0) > 0.0
    if np.count_nonzero(varying) < 2:
        return
    begins = np.diff(rows, prepend=-2) != 1
    runs = np.cumsum(begins | (np.diff(numbers.runs[rows], prepend=-1) != 0)) - 1
    found = most_autocorrelated(x[:, varying], numbers.confounders_of(rows), run_positions(runs))
    if found is not None:
        name = str(np.array(list(numbers.variables), dtype=object)[varying][found[0]])
        yield Finding(
            "warning",
            "neighbouring rows",
            (name,),
            f"Rows resemble the row before, most of all in {name!r} (lag-1 correlation {found[1]:.2f}).",
            "Taken as independent: if they are a time series, p-values are too small.",
            "--time, --run or --temporal ar (temporal='ar')",
            (),
            found[1],
        )


def _near_copies(numbers: Numbers) -> Iterator[Finding]:
    x = numbers.variables.to_numpy()[numbers.complete()]
    names = list(map(str, numbers.variables))
    if len(x) < FEWEST_ROWS or len(names) < 2 or not np.all(np.ptp(x, axis=0) > 0.0):
        return
    found = find_dependence(correlations(x), len(x))
    if found is None or found.exact:
        return
    action = "Fitted; their partial correlations describe the little that is their own."
    option = "--exclude one of them, or take their mean"
    if found.pairs:
        _, _, most = found.pairs[0]
        involved = tuple(dict.fromkeys(names[at] for j, k, _ in found.pairs for at in (k, j)))
        told = [f"{names[j]!r} and {names[k]!r}" for j, k, _ in found.pairs]
        if len(told) == 1:
            text = f"{told[0]} hardly differ (correlation {most:.4f})."
        else:
            each = (f"{pair} ({r:.4f})" for pair, (_, _, r) in zip(told, found.pairs, strict=True))
            text = f"{len(told)} pairs of columns hardly differ (correlation): {listed(each)}."
        yield Finding("warning", "near copy", involved, text, action, option, (), most)
    if not found.pairs:
        involved = tuple(names[j] for j in found.columns)
        text = (
            f"{listed(map(repr, involved))} nearly determine each other: {found.left:.2g} of the variance "
            "of one is its own."
        )
        yield Finding("warning", "near sum", involved, text, action, option, (), found.left)


def _kinds(
    variables: pd.DataFrame, families: Mapping[str, FamilyName], ranks: bool
) -> Iterator[Finding]:
    by_kind: dict[KindName, list[str]] = {}
    for family, action in OF_FAMILY.items():
        names = [str(name) for name in variables if families.get(str(name)) == family]
        if names:
            text = (
                f"{counted(len(names), 'variable')} taken as {family}: {listed(map(repr, names))}."
            )
            yield Finding("note", family, tuple(names), text, action)
    for name in variables:
        if families.get(str(name), "gaussian") != "gaussian":
            continue
        by_kind.setdefault(column_kind(variables[name]).name, []).append(str(name))
    for kind, action in TAKEN.items():
        if kind in by_kind:
            names = by_kind[kind]
            text = f"{counted(len(names), f'{kind} column')}: {listed(map(repr, names))}."
            option = "" if ranks else OFFERED.get(kind, "")
            yield Finding("note", kind, tuple(names), text, RANKED if ranks else action, option)
