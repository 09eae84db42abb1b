"""How often the test of no confounding rejects for rare categories."""

from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.simulate import simulate_family

# Rare categories may be told by a warning.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.statistical,
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def p_values(first: int, sets: int, **settings: Any) -> np.ndarray:
    found = []
    for seed in range(first, first + sets):
        data = simulate_family(12, seed=seed, prevalence=0.05, threshold=60.0, **settings)
        model = PLAGGM(0.05, family="binomial", threshold=60.0)
        found.append(model.fit(data.x, confounder=data.confounder).confounding_test().p_value)
    return np.array(found)


@pytest.mark.parametrize("mean_shift", [0.0, 1.5])
def test_rare_categories_without_r_are_seldom_rejected(mean_shift: float) -> None:
    found = p_values(5000, 40, n=1500, shape="none", mean_shift=mean_shift)
    # More than seven of forty at a level of .05 has a probability of .001.
    assert np.sum(found < 0.05) <= 7


def test_rare_categories_with_r_are_rejected() -> None:
    assert np.mean(p_values(5000, 5, n=1000) < 0.05) >= 0.8
