"""Imputation of missing values by the command line, and notes on those that the EM algorithm completes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from plaggm.wording import counted

# Largest number of columns from which another one is imputed.
MOST_PREDICTORS = 30


def completed_note(
    frame: pd.DataFrame, kept: pd.DataFrame, variables: Sequence[str], where: str
) -> str:
    """A note on how many cells the fit completes, and how many rows it cannot use.

    Parameters
    ----------
    frame : DataFrame
        All rows.
    kept : DataFrame
        Rows with all confounders.
    variables : sequence of str
        Columns of the variables.
    where : str
        The level of a group, for the message.

    Returns
    -------
    str
        Empty where nothing is missing.
    """
    table = kept[list(variables)].isna()
    # The fit leaves out rows without any variable, and does not count their cells.
    table = table[~table.all(axis=1)]
    filled = int(table.to_numpy().sum())
    note = ""
    if filled:
        worst = str(table.sum().idxmax())
        note = (
            f"{counted(filled, 'missing value')} in {counted(int(table.any(axis=1).sum()), 'row')} "
            f"({filled / table.size:.1%} of all, most in {worst!r}: {table[worst].mean():.1%}) "
            f"{'is' if filled == 1 else 'are'} completed by what the rest of the row tells"
        )
    if len(kept) < len(frame):
        lost = f"{counted(len(frame) - len(kept), 'row')} without confounder left out"
        note = f"{note}, and {lost}" if note else lost
    return f"{where}{note}." if note else ""


def imputed_diagnostics(kept: pd.DataFrame) -> dict[str, object]:
    """Diagnostics on the cells that are going to be imputed.

    Parameters
    ----------
    kept : DataFrame
        Rows with all confounders, before imputation.

    Returns
    -------
    dict
        Empty where nothing is missing.
    """
    cells = kept.isna().sum()
    if not cells.any():
        return {}
    worst = cells.idxmax()
    return {
        "missing": "impute",
        "imputed_cells": int(cells.sum()),
        "imputed_most": str(worst),
        "imputed_most_cells": int(cells[worst]),
    }


def imputed(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw missing values from their predictive distribution given the other columns.

    Parameters
    ----------
    frame : DataFrame of float
    seed : int

    Returns
    -------
    DataFrame of float
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(
        sample_posterior=True,
        n_nearest_features=min(MOST_PREDICTORS, frame.shape[1]),
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Random draws do not converge, which the imputer always reports.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pd.DataFrame(
            imputer.fit_transform(frame.to_numpy()), index=frame.index, columns=frame.columns
        )
