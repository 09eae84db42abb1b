"""Share of the information of complete rows that a fit retains despite missing cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Index
from plaggm.core.inference.missing_information import RetainedInformation, retained_information
from plaggm.core.missing.cell_regressions import learn_cells
from plaggm.core.numerics.row_hash import BLOCK_SEED, row_hash
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.statistics import SplineStatistics
from plaggm.estimators.completion import CompletedRows
from plaggm.estimators.row_sums import Units, moved
from plaggm.estimators.rows import ArrayRows

# Blocks of the jackknife, and EM steps from the model of all rows after leaving out each.
BLOCKS, STEPS = 10, 6
# Smallest number of rows of a block.
BLOCK_ROWS = 5


@dataclass(frozen=True, slots=True)
class Completion:
    """Facts that a fit stores about its missing cells.

    Attributes
    ----------
    steps : int
        Steps of the EM algorithm.
    change : float
        Change in the last step.
    shrunken : int
        Number of rows in which R(g) was shrunk towards zero to obtain a positive definite matrix.
    rows : CompletedRows or None
        The rows, if they are in memory.
    left : RetainedInformation or None
        Retained share of the information, if the rows are not in memory.
    """

    steps: int
    change: float
    shrunken: int
    rows: CompletedRows | None
    left: RetainedInformation | None

    def information(self, total: SplineStatistics, units: Units) -> RetainedInformation:
        """Retained share of the information: see :func:`information_left`."""
        if self.left is not None:
            return self.left
        assert self.rows is not None
        return information_left(self.rows, total, units)

    def diagnostics(self, information: RetainedInformation, n: int) -> dict[str, object]:
        """Numbers for the result of a fit to n rows."""
        return {
            "em_steps": self.steps,
            "em_change": self.change,
            "em_shrunken_rows": self.shrunken,
            "missing_variance_factor": information.factor,
            "effective_rows": information.typical / information.factor * n,
        }


def completion_of(
    rows: CompletedRows | None, total: SplineStatistics, units: Units
) -> Completion | None:
    """Facts to be stored about rows with missing cells; the rows themselves only if they are in memory.

    Parameters
    ----------
    rows : CompletedRows or None
        None if no cell is missing.
    total, units
        See :func:`information_left`.
    """
    if rows is None:
        return None
    in_memory = isinstance(rows.source, ArrayRows)
    left = None if in_memory else information_left(rows, total, units)
    kept = rows if in_memory else None
    return Completion(rows.iterations, rows.change, rows.shrunken(), kept, left)


@single_threaded_blas()
def information_left(
    rows: CompletedRows, total: SplineStatistics, units: Units
) -> RetainedInformation:
    """Share of the information of complete rows that the observed cells retain.

    Reads the rows ``STEPS`` + 3 times. Groups of rows are left out whole.

    Parameters
    ----------
    rows : CompletedRows
    total : SplineStatistics
        Expected sums over all rows, weighted.
    units : Units
        Units of these sums.
    """
    basis, prior = rows.design.basis, rows.prior
    assert prior is not None
    blocks = row_blocks(rows)
    count = int(blocks.max()) + 1
    models = [rows.model] * count
    found = []
    for _ in range(STEPS + 1):
        totals = rows.totals(models, blocks)
        found.append(totals)
        models = [
            learn_cells(part, basis, model.deviation, prior)
            for part, model in zip(totals, models, strict=True)
        ]
    left_out = [[moved(part, rows.units, units) for part in parts] for parts in found]
    return retained_information(total, basis, rows.observed(), left_out, rows.seen())


def row_blocks(rows: CompletedRows) -> Index:
    """Block of every row, the same for all rows of a group: shape (n,)."""
    labels = rows.labels
    groups = labels.group_numbers()
    n = labels.n if groups is None else int(groups.max()) + 1
    count = max(min(BLOCKS, labels.n // BLOCK_ROWS, n), 1)
    # Blocks of nearly the same size, independent of the order of the rows.
    order = np.argsort(row_hash(0, n, BLOCK_SEED), kind="stable")
    blocks = np.empty(n, dtype=np.intp)
    blocks[order] = np.arange(n) % count
    return blocks if groups is None else blocks[groups]
