"""Findings about missing values, and about how few rows they leave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plaggm.array_types import Mask
from plaggm.checks.far_values import SHOWN_ROWS
from plaggm.checks.findings import Finding, Level
from plaggm.checks.numbers import Numbers
from plaggm.wording import counted, listed

# Number of complete rows per variable below which a table has few rows.
FEW_ROWS = 10
# Number of usable rows below which ``plaggm fit`` refuses a table: folds would have one or two rows.
FEWEST_ROWS = 20
# Treatments of missing values that keep incomplete rows.
KEEPING = ("em", "impute")
# What becomes of pairs that no row observes together, by treatments of missing values.
UNTESTED = {
    "refuse": "Refused; with --missing em none would be declared an edge.",
    "em": "Fitted; none is declared an edge, and a true edge would show as edges with their neighbours.",
    "impute": "Fitted; values that are filled in say nothing about them.",
}


def find_missing(numbers: Numbers, missing: str) -> Iterator[Finding]:
    """Yield a finding about missing values, if there are any.

    Shares are those of a fit: cells of the variables in rows that have all confounders and at least one
    variable. Other rows are counted apart.

    Parameters
    ----------
    numbers : Numbers
    missing : {"refuse", "drop", "em", "impute"}
        Treatment of missing values by the fit.
    """
    both = numbers.columns
    absent = both.isna().to_numpy(dtype=bool)
    if not absent.any():
        return
    known = numbers.confounder.notna().all(axis=1).to_numpy(dtype=bool)
    cells = numbers.variables.isna().to_numpy(dtype=bool)
    empty = known & cells.all(axis=1)
    cells = cells[known & ~empty]
    share = cells.mean(axis=0) if len(cells) else np.zeros(numbers.variables.shape[1])
    order = np.argsort(-share, kind="stable")[: int(np.count_nonzero(share))]
    names = [str(numbers.variables.columns[j]) for j in order]
    total = float(cells.mean()) if cells.size else 0.0
    complete = int(np.count_nonzero(~absent.any(axis=1)))
    said = []
    if len(order):
        most = listed(f"{names[at]!r} ({_percent(share[j])})" for at, j in enumerate(order))
        said.append(
            f"{counted(int(cells.sum()), 'value')} of variables ({_percent(total)}) missing, most in {most}"
        )
    without = numbers.confounder.isna().sum()
    without = without[without > 0]
    if len(without):
        each = listed(f"{str(name)!r} ({count:,})" for name, count in without.items())
        said.append(f"{counted(int(np.count_nonzero(~known)), 'row')} without confounder: {each}")
    if empty.any():
        said.append(f"{counted(int(np.count_nonzero(empty)), 'row')} without any variable")
    patterns = counted(len(np.unique(absent, axis=0)), "pattern")
    text = (
        f"{'; '.join(said)}; {complete} of {len(both)} rows are complete, and values are missing in "
        f"{patterns}."
    )
    rows = tuple(int(row) for row in np.flatnonzero(absent.any(axis=1))[:SHOWN_ROWS])
    action = "Refused." if missing == "refuse" else f"Treated by --missing {missing}."
    level: Level = "refused" if missing == "refuse" else "note"
    option = other_treatments(missing, complete, len(both), numbers.variables.shape[1])
    columns = (*names, *map(str, without.index))
    yield Finding(level, "missing", columns, text, action, option, rows, total)


def other_treatments(missing: str, complete: int, rows: int, variables: int) -> str:
    """The treatments of missing values other than the one in use, as options of ``plaggm fit``.

    Parameters
    ----------
    missing : {"refuse", "drop", "em", "impute"}
        Treatment in use.
    complete, rows, variables : int
        Complete rows, all rows, and variables. Leaving out incomplete rows is named only if enough remain.

    Examples
    --------
    >>> other_treatments("em", 250, 300, 4)
    '--missing drop, which leaves 250 of 300 rows, or --missing impute, which draws each value once'
    >>> other_treatments("impute", 0, 300, 4)
    '--missing em, which uses what the rest of a row tells'
    """
    offered = {
        "em": "--missing em, which uses what the rest of a row tells",
        "drop": f"--missing drop, which leaves {complete} of {rows} rows",
        "impute": "--missing impute, which draws each value once",
    }
    if not enough_complete(complete, variables):
        del offered["drop"]
    offered.pop(missing, None)
    *first, last = offered.values()
    return f"{', '.join(first)}, or {last}" if first else last


def enough_complete(complete: int, variables: int) -> bool:
    """Whether a fit of the complete rows alone is possible and has more rows than variables."""
    return complete >= FEWEST_ROWS and complete > variables


def _percent(share: float) -> str:
    """A share in percent with one decimal, in which a positive share is not rounded to zero.

    Examples
    --------
    >>> _percent(0.0003), _percent(0.11)
    ('<0.1%', '11.0%')
    """
    return "<0.1%" if 0.0 < share < 0.001 else f"{share:.1%}"


def find_unobserved_pairs(numbers: Numbers, missing: str) -> Iterator[Finding]:
    """Yield a finding about pairs of variables that no row observes together, unless rows are dropped.

    Parameters
    ----------
    numbers : Numbers
    missing : {"refuse", "drop", "em", "impute"}
        Treatment of missing values by the fit.
    """
    if missing not in UNTESTED:
        return
    names = list(map(str, numbers.variables))
    seen = _observed(numbers).astype(float)
    together = seen.T @ seen
    pairs = np.argwhere(np.triu(together == 0.0, 1))
    if not len(pairs):
        return
    told = listed(f"{names[j]!r} and {names[k]!r}" for j, k in pairs)
    yield Finding(
        "warning",
        "unobserved pairs",
        tuple(names[j] for j in np.unique(pairs)),
        f"No row observes both variables of {counted(len(pairs), 'pair')}: {told}.",
        UNTESTED[missing],
        "--exclude one variable of each pair, or add rows that observe both",
        (),
        float(len(pairs)),
    )


def _observed(numbers: Numbers) -> Mask:
    """Which variables are observed in rows with all confounders: shape (n, p)."""
    usable = numbers.confounder.notna().all(axis=1).to_numpy(dtype=bool)
    seen: Mask = numbers.variables.notna().to_numpy(dtype=bool) & usable[:, None]
    return seen


def find_few_rows(numbers: Numbers, missing: str) -> Iterator[Finding]:
    """Yield a finding if there are few rows for the number of variables.

    Where missing values are refused, the rows are those that a fit would use after they are treated.

    Parameters
    ----------
    numbers : Numbers
    missing : {"refuse", "drop", "em", "impute"}
        Treatment of missing values by the fit.
    """
    p = numbers.variables.shape[1]
    complete = len(numbers.complete())
    untreated = missing == "refuse" and complete < len(numbers.variables)
    if untreated or missing in KEEPING:
        # The typical variable is observed in as many rows.
        n, noun = int(_observed(numbers).sum() / max(p, 1)), "observed row"
        usable = int(np.count_nonzero(numbers.confounder.notna().all(axis=1)))
    else:
        n, noun, usable = complete, "complete row", complete
    if n >= FEW_ROWS * p:
        return
    level: Level = "warning"
    action = "Fitted; only strong edges can be told from none."
    option = "--columns with fewer variables, or more rows"
    if usable < FEWEST_ROWS:
        level, action = "refused", f"Refused; a fit needs at least {FEWEST_ROWS} usable rows."
        option = "more rows"
        if missing == "drop" and complete < len(numbers.variables):
            option = "--missing em, which keeps all rows that have a confounder, or more rows"
    elif untreated:
        action = (
            "Refused; once missing values are treated, only strong edges could be told from none."
        )
    yield Finding(
        level,
        "few rows",
        (),
        f"{counted(n, noun)} for {counted(p, 'variable')}.",
        action,
        option,
        (),
        n / max(p, 1),
    )
