"""Blocks of rows that are left out while EM is done anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plaggm import PLAGGM
from plaggm.estimators import em
from plaggm.estimators.missing_information import BLOCKS, completion_of, row_blocks
from plaggm.estimators.rows import array_rows
from plaggm.estimators.spec import fit_spec


def test_blocks_are_even_and_keep_groups_whole() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((203, 3))
    x[rng.random(x.shape) < 0.1] = np.nan
    spec = fit_spec(PLAGGM(missing="em"))
    rows = array_rows(spec, PLAGGM, x)
    found = em.complete(spec, rows)
    counts = np.bincount(row_blocks(found))
    assert len(counts) == BLOCKS
    assert np.ptp(counts) <= 1
    groups = np.arange(len(rows.x)) // 29
    known = replace(rows.labels, groups=groups)
    blocks = row_blocks(replace(found, source=replace(rows, labels=known)))
    assert all(len(np.unique(blocks[groups == group])) == 1 for group in np.unique(groups))


def test_complete_rows_have_no_completion() -> None:
    assert completion_of(None, None, None) is None  # type: ignore[arg-type]
