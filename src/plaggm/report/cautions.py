"""Warnings at the top of the page about what undermines a result, such as outliers or few samples."""

from __future__ import annotations

import numpy as np

from plaggm.report.phrases import nothing_learnt, number_in, sample_counts
from plaggm.result import GraphResult
from plaggm.wording import counted

# Number of samples, and of unconfounded samples, for each variable, below which there are few.
FEW_ROWS, FEW_FREE = 10, 3
# Smallest share of the confounder's values at which the network should be positive definite.
POSITIVE_DEFINITE = 0.5
# Largest number of findings of the table that are read from a file.
MOST = 20


def cautions(result: GraphResult, *, adjusted: bool = True) -> tuple[str, ...]:
    """Problems that undermine the result, most serious first; empty if none is known.

    Parameters
    ----------
    result : GraphResult
    adjusted : bool
        Whether the adjusted network is shown first; if not, problems of the adjustment are left out.

    Returns
    -------
    tuple of str
    """
    return (
        *data_findings(result),
        *_imputed_cells(result),
        *_dependent_rows(result),
        *_few_samples(result),
        *(few_unconfounded(result, 0, FEW_FREE) + _improper(result) if adjusted else ()),
    )


def data_findings(result: GraphResult) -> list[str]:
    """Findings about the values of the table."""
    known = result.diagnostics if isinstance(result.diagnostics, dict) else {}
    found = known.get("data_findings")
    return [str(sentence) for sentence in found[:MOST]] if isinstance(found, list) else []


def _imputed_cells(result: GraphResult) -> list[str]:
    """A warning if missing values were imputed, which the fit takes for observed ones."""
    cells, most = (
        number_in(result.diagnostics, key) for key in ("imputed_cells", "imputed_most_cells")
    )
    if not cells or not most:
        return []
    worst = result.diagnostics.get("imputed_most", "")
    where = f"in {worst}" if most == cells else f"most of them in {worst} ({most:,.0f})"
    verb = "was" if cells == 1 else "were"
    return [
        f"{counted(int(cells), 'missing value')}, {where}, {verb} filled in with predicted values "
        "(--missing impute). Tests take them for observed ones, so p-values are too small and intervals "
        "too narrow: --missing em allows for missing values."
    ]


def _dependent_rows(result: GraphResult) -> list[str]:
    """A warning if rows resemble the row before them, although tests take rows as independent."""
    value = number_in(result.diagnostics, "dependent_lag1_correlation")
    if value is None:
        return []
    return [
        f"Residuals of {result.diagnostics['dependent_variable']} resemble those of the row before "
        f"(lag-1 correlation {value:.2f}). If the samples are a time series, p-values are too small and "
        "intervals too narrow: fit them with --time or --temporal (temporal='ar' in Python)."
    ]


def _few_samples(result: GraphResult) -> list[str]:
    """A warning if there are few samples for the number of variables."""
    n, _ = sample_counts(result)
    p = len(result.names)
    if n is None or n >= FEW_ROWS * p:
        return []
    return [f"{counted(n, 'sample')} are few for {p:,} variables: only strong edges can be found."]


def few_unconfounded(result: GraphResult, fewest: int, most: int) -> list[str]:
    """A sentence on samples free of confounding, if ``fewest`` <= their number per variable < ``most``."""
    n, confounded = sample_counts(result)
    p = len(result.names)
    if n is None or confounded is None or not result.confounder_names or nothing_learnt(result):
        return []
    free = n - confounded
    if not fewest * p <= free < most * p:
        return []
    return [
        f"Only {counted(free, 'sample')} for {p:,} variables {'is' if free == 1 else 'are'} free of "
        "confounding, so the network rests on how well the confounder's part is modelled."
    ]


def _improper(result: GraphResult) -> list[str]:
    """A warning if the network is not positive definite at most values of the confounder."""
    model = positive_definite_points(result)
    if model is None:
        return []
    # Curves along the confounder are drawn from unpenalised estimates.
    drawn = positive_definite_points(result, tested=True)
    what, proper = "estimated network", model
    if drawn is not None and drawn.sum() < model.sum():
        what, proper = "network of the unpenalised estimates", drawn
    if np.mean(proper) >= POSITIVE_DEFINITE:
        return []
    return [
        f"At {int(np.sum(~proper))} of {len(proper)} values of the confounder the {what} is not "
        "that of any Gaussian (not positive definite): do not rely on how edges change along it."
    ]


def positive_definite_points(
    result: GraphResult, *, tested: bool = False
) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Confounder values at which the network is positive definite: shape (k,); None if unknown.

    Networks of binary variables and counts need not be.

    Parameters
    ----------
    result : GraphResult
    tested : bool
        Whether the baseline is that of all pairs' unpenalised estimates, if they were tested, or omega.
    """
    if (
        not result.gaussian
        or result.nuisance is None
        or not len(result.nuisance)
        or not np.isfinite(result.nuisance).all()
    ):
        return None
    index = np.arange(len(result.omega))
    tests = result.deciding_tests if tested else None
    precision = -(result.omega if tests is None else tests.network(1.0)) - result.nuisance
    precision[:, index, index] = 1.0
    return np.asarray(np.linalg.eigvalsh(precision)[:, 0] > 0.0)
