"""Do the tests of edges hold what they promise, on seeds that nothing was settled on?"""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.simulate import simulate_paper

pytestmark = pytest.mark.slow

SETS = 30
BASE = dict(p=12, n=900, shape="saturating", even=True, threshold=60.0, confounder="uniform")


@pytest.mark.parametrize(
    "changes",
    [{}, {"shape": "none"}, {"mean_shift": 1.0, "variance_inflation": 1.0}],
    ids=["strong", "none", "mean and variance"],
)
def test_null_shares_coverage_and_false_discoveries(changes):
    null, covered, false = [], [], []
    for seed in range(SETS):
        data = simulate_paper(**{**BASE, **changes}, seed=7000 + seed)
        model = PLAGGM(0.1, threshold=data.threshold, n_jobs=1)
        tests = model.fit(data.x, confounder=data.confounder).inference()
        truth = data.omega[np.triu_indices(12, 1)]
        edge = truth != 0.0
        null.append(np.mean(tests["p_value"][~edge] < 0.05))
        covered.append(np.mean((tests["low"] <= truth) & (truth <= tests["high"])))
        declared = tests["q_value"] <= 0.1
        false.append(np.sum(declared & ~edge) / max(declared.sum(), 1))
    assert 0.02 <= np.mean(null) <= 0.07
    assert 0.93 <= np.mean(covered) <= 0.98
    assert np.mean(false) <= 0.1 + 2.0 * np.std(false) / np.sqrt(SETS)
