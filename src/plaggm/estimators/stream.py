"""What is known of rows that come one chunk after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from plaggm.core.row_hash import RowSample
from plaggm.estimators.row_sums import RowSums
from plaggm.selection.parts import Index


@dataclass(slots=True)
class Stream:
    """What ``partial_fit`` knows of the rows so far.

    Attributes
    ----------
    sums : RowSums
    sample : RowSample
        Confounders of some rows.
    groups : dict
        Number of every group; empty without groups.
    grouped : bool
        Whether rows have groups.
    """

    sums: RowSums
    sample: RowSample
    grouped: bool
    groups: dict[Any, int] = field(default_factory=dict)

    def absorb(self, other: Stream) -> None:
        """Add the rows of another stream with the same design, variables and kind of groups."""
        renumbered = {
            number: self.groups.setdefault(group, len(self.groups))
            for group, number in other.groups.items()
        }
        self.sample = self.sample.joined(other.sample)
        self.sums.absorb(other.sums, renumbered)

    def numbers(self, groups: Any, n: int) -> Index:
        """Numbers of some rows' groups; new groups get the next ones."""
        values = np.asarray(groups)
        if values.shape != (n,):
            raise ValueError(
                f"groups must name one group for each of the {n} rows; got shape {values.shape}."
            )
        place, found = pd.factorize(values)
        if np.any(place < 0):
            raise ValueError(
                f"groups has no value in row {int(np.argmin(place))} of this chunk. Every row needs its "
                "group."
            )
        codes = [self.groups.setdefault(value, len(self.groups)) for value in found.tolist()]
        return np.array(codes, dtype=np.intp)[place]
