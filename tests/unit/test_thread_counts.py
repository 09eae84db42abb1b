"""Results are the same bit for bit, whatever the number of threads of BLAS or of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from plaggm import PLAGGM, PLAGGMCV
from plaggm.related import TVGGM
from plaggm.simulate import Simulated, simulate_paper


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(8, n=400, seed=0, even=True, threshold=60.0)


MODELS: dict[str, Any] = {
    "spline": PLAGGM(0.05),
    "kernel": PLAGGM(0.05, smoother="kernel"),
    "compact": PLAGGM(0.05, smoother="kernel", kernel="epanechnikov", threshold=60.0),
    "folds": PLAGGMCV(alphas=5, cv=3, threshold=60.0),
    "related": TVGGM(alphas=5, cv=3, loss="pseudo"),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_do_not_depend_on_threads(data: Simulated, name: str) -> None:
    found = []
    for blas, jobs in ((1, 1), (2, 1), (2, 2)):
        model = MODELS[name].set_params(n_jobs=jobs)
        with threadpool_limits(blas, user_api="blas"):
            model.fit(data.x, confounder=data.confounder)
            score = model.score(data.x, confounder=data.confounder)
            read = [
                model.omega_,
                model.scale_,
                np.array(score),
                model.to_result().partial_correlation,
            ]
            if isinstance(model, PLAGGM):
                read += [model.nuisance(data.confounder[::50]), model.sample(3, random_state=0)]
        found.append(b"".join(np.ascontiguousarray(values).tobytes() for values in read))
    assert found[0] == found[1] == found[2]
