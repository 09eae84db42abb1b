"""Whether tests of edges hold for small counts, whose nuisance is of a size that can hardly be seen."""

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.simulate import simulate_family

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

SETS, THRESHOLD = 20, 60.0


def test_small_counts_under_strong_nuisance() -> None:
    null, covered = [], []
    for seed in range(9400, 9400 + SETS):
        data = simulate_family(
            12,
            n=3000,
            seed=seed,
            family="poisson",
            mean_count=0.5,
            even=True,
            nuisance_radius=0.6,
            threshold=THRESHOLD,
        )
        model = PLAGGM(5.0, family="poisson", threshold=THRESHOLD)
        tests = model.fit(data.x, confounder=data.confounder).inference()
        upper = np.triu_indices(12, 1)
        truth = (data.omega * np.outer(model.scale_, model.scale_))[upper]
        null.append(np.mean(tests["p_value"].to_numpy()[truth == 0.0] < 0.05))
        covered.append(np.mean((tests["low"] <= truth) & (truth <= tests["high"])))
    # The bars are .02 to .07 and .93 to .98, with one standard error of twenty data sets on either side.
    assert 0.01 <= np.mean(null) <= 0.08
    assert 0.92 <= np.mean(covered) <= 0.99
