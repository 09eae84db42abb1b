"""Tests of what adjusting changes, where rows are few for the functions of all variables."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM

# Of 1,225 pairs in each of four data sets; the noise of adjusted regressions gave .11.
NULL_SHARE = 0.065


@pytest.mark.statistical
def test_a_confounder_that_does_nothing_changes_no_pair_with_few_rows() -> None:
    shares, smallest = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        common = rng.standard_normal((150, 4)) @ rng.standard_normal((4, 50))
        x = rng.standard_normal((150, 50)) + 0.4 * common
        tests = PLAGGM(0.3).fit(x, confounder=rng.uniform(50.0, 90.0, 150)).inference()
        shares.append(np.mean(tests["change_p_value"] < 0.05))
        smallest.append(tests["change_q_value"].min())
    assert np.mean(shares) < NULL_SHARE
    assert min(smallest) > 0.05
