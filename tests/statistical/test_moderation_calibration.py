"""Do tests of changing edges hold what they promise, on seeds that nothing was settled on?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.simulate import simulate_paper

pytestmark = pytest.mark.slow

SETS = 30
BASE: dict[str, Any] = dict(
    p=12, n=900, shape="ramp", nuisance="sparse", nuisance_density=0.1, nuisance_radius=0.6,
    threshold=60.0, confounder="uniform",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "least_power"),
    [
        ({}, 0.5),
        ({"even": True}, 0.1),
        ({"shape": "none"}, None),
        ({"shape": "none", "mean_shift": 1.0, "variance_inflation": 2.0}, None),
        ({"mean_shift": 1.0, "variance_inflation": 2.0}, 0.5),
    ],
    ids=["linear", "U-shaped", "none", "mean and variance alone", "linear, mean and variance"],
)
@pytest.mark.parametrize("groups", [None, 25])
def test_null_shares_and_false_discoveries(changes, least_power, groups):
    null, false, power = [], [], []
    for seed in range(SETS):
        data = simulate_paper(**{**BASE, **changes}, seed=8000 + seed)
        model = PLAGGM(0.1, threshold=data.threshold, n_jobs=1)
        labels = None if groups is None else np.arange(len(data.x)) % groups
        tests = model.fit(data.x, confounder=data.confounder, groups=labels).moderation()
        change = data.nuisance.weights[0][np.triu_indices(12, 1)] != 0.0
        null.append(np.mean(tests["p_value"][~change] < 0.05))
        found = tests["q_value"] <= 0.1
        false.append(np.sum(found & ~change) / max(found.sum(), 1))
        power.append(np.sum(found & change) / max(change.sum(), 1))
    assert 0.03 <= np.mean(null) <= 0.07
    assert np.mean(false) <= 0.1 + 2.0 * np.std(false) / np.sqrt(SETS)
    if least_power is not None:
        assert np.mean(power) >= least_power
