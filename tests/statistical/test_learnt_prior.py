"""Does the prior that is learnt from all pairs look like the nuisance that was simulated?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.nuisance.prior import PriorForm, prior_covariance
from plaggm.core.spline.system import smooth_system
from plaggm.simulate import Simulated, simulate_paper

SEEDS = range(60, 64)
BASE: dict[str, Any] = dict(p=20, n=2000, even=True, threshold=50.0, confounder="uniform")


def learnt_and_true(data: Simulated) -> tuple[np.ndarray, np.ndarray]:
    """Both covariances of a pair's coefficients, in the functions of a fit."""
    model = PLAGGM(threshold=data.threshold, variance="conditional")
    model.fit(data.x, confounder=data.confounder)
    profiler = model._network.problem.model.profiler
    system, _ = smooth_system(profiler.total, profiler.basis)
    functions = profiler.basis.evaluate(profiler.confounder) @ system.rotation
    pairs = np.triu_indices(data.x.shape[1], 1)
    nuisance = data.nuisance(data.confounder)[:, pairs[0], pairs[1]]
    coefficients = np.linalg.lstsq(functions, nuisance)[0]
    true = coefficients @ coefficients.T / len(pairs[0])
    return prior_covariance(system, PriorForm(profiler.basis.confounders)), true


@pytest.mark.parametrize("shape", ["bump", "saturating"])
def test_shape_and_size(shape: str) -> None:
    """One W times one function of |g|: rank one. Measured cosines: .98 and more; sizes 1.0 to 1.5."""
    for seed in SEEDS:
        learnt, true = learnt_and_true(simulate_paper(**BASE, shape=shape, seed=seed))
        sizes, functions = np.linalg.eigh(learnt)
        leading = np.linalg.eigh(true)[1][:, -1]
        assert abs(functions[:, -1] @ leading) > 0.9
        assert 0.5 < sizes[-1] / np.trace(true) < 2.0
        assert sizes[-2] < 0.3 * sizes[-1]


def test_nothing_to_learn() -> None:
    """Chance alone, after the usual number of steps. Measured: .17 to .25 of a strong nuisance."""
    strong = learnt_and_true(simulate_paper(**BASE, shape="saturating", seed=60))[0]
    for seed in SEEDS:
        none = learnt_and_true(simulate_paper(**BASE, shape="none", seed=seed))[0]
        assert np.trace(none) < 0.35 * np.trace(strong)


def test_error_of_the_target_where_the_nuisance_rises_and_falls() -> None:
    """Ridge and smoothness by restricted likelihood pool too much there. Measured: .48 to .63."""
    ratios = []
    for seed in SEEDS:
        data = simulate_paper(**BASE, shape="bump", seed=seed)
        focused, reml = (
            np.sum((model.fit(data.x, confounder=data.confounder).omega_ - data.omega)[off] ** 2)
            for model in (PLAGGM(0.01, threshold=50.0, tau=tau) for tau in ("focused", "reml"))
            for off in [~np.eye(20, dtype=bool)]
        )
        ratios.append(focused / reml)
    assert np.mean(ratios) < 0.9
