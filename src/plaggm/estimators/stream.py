"""What is known of rows that come one chunk after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plaggm.core.row_hash import RowSample
from plaggm.estimators.row_sums import RowSums
from plaggm.group_labels import group_numbers
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
        place, found = group_numbers(groups, n, fewest=1, where=" of this chunk")
        codes = [self.groups.setdefault(value, len(self.groups)) for value in found.tolist()]
        return np.array(codes, dtype=np.intp)[place]
