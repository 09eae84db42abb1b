"""The incoherence condition of fitted models."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV, incoherence
from plaggm.core.grams.incoherence import incoherence_of
from plaggm.simulate import simulate_paper


@pytest.fixture(scope="module")
def data():
    return simulate_paper(5, n=300, seed=1, even=True, threshold=100.0, graph="band", density=0.3)


@pytest.mark.parametrize("smoother", ["spline", "kernel"])
def test_it_judges_the_transformed_data(data, smoother: str) -> None:
    model = PLAGGM(0.05, smoother=smoother, threshold=100.0).fit(data.x, confounder=data.confounder)
    found = incoherence(model, data.omega)
    assert found == incoherence_of(model._network.problem.node_grams, data.omega)
    assert found.n_edges == np.count_nonzero(np.triu(data.omega, 1))
    own = incoherence(model)
    assert own.n_edges == np.count_nonzero(np.triu(model.omega_, 1))


def test_what_it_refuses(data) -> None:
    nodewise = PLAGGMCV(symmetry="and", criterion="bic", alphas=5).fit(data.x)
    with pytest.raises(ValueError, match="symmetry='joint'"):
        incoherence(nodewise)
    model = PLAGGM(0.1).fit(data.x)
    with pytest.raises(ValueError, match="symmetric matrix of shape"):
        incoherence(model, np.zeros((3, 3)))
