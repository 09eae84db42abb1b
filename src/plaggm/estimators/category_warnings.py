"""Warnings about rare categories and about binary variables that other variables separate perfectly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plaggm.array_types import Array
from plaggm.parameter_types import FamilyName
from plaggm.user_warnings import warn_user
from plaggm.wording import listed

# Number of rows of a category below which a warning is given.
RARE = 10


def warn_of_rare_categories(
    x: Array, families: tuple[FamilyName, ...], names: tuple[str, ...]
) -> None:
    """Warn of binary variables with few rows in a category, and of counts that are nearly all zero.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    families, names : tuple of str
    """
    rare = []
    for column, family, name in zip(x.T, families, names, strict=True):
        if family == "gaussian":
            continue
        present = int(np.count_nonzero(column))
        fewest = min(present, len(column) - present) if family == "binomial" else present
        if fewest < RARE:
            rare.append(f"{name!r} ({fewest} of {len(column)})")
    if rare:
        warn_user(
            f"Fewer than {RARE} samples are in the rarer category of, or are not zero in, {listed(rare)}. "
            "Edges of such variables are kept finite by the penalty and are hardly known; leave the "
            "variables out, or join categories."
        )


def warn_of_separation(names: Sequence[str]) -> None:
    """Warn of binary variables whose value the other variables predict with certainty in some rows."""
    if names:
        warn_user(
            f"Other variables determine {listed(map(repr, names))} in some samples (separation): without a "
            "penalty there is no finite estimate. Estimates are kept finite by a weak prior, and standard "
            "errors are large."
        )
