"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control, norm

from plaggm.core.confounding.rearranged_test import calibrated_test
from plaggm.edge_table import EdgeTable
from plaggm.estimators import fitted_network
from plaggm.moderation_table import ModerationTable

MakeTests = Callable[..., EdgeTable]


@pytest.fixture(autouse=True, scope="session")
def nobody_pulls_the_plug() -> Iterator[None]:
    """Files need not reach the disk: no test survives a power cut, and waiting for disks takes minutes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture
def painted_where_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but painted only where a test is marked by ``pictures``: it takes most time."""
    if request.node.get_closest_marker("pictures") is not None or find_spec("matplotlib") is None:
        return

    def unpainted(figure: object, target: str | Path | BinaryIO, **_: object) -> None:
        if isinstance(target, str | Path):
            Path(target).write_bytes(b"picture")
        else:
            target.write(b"picture")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", unpainted)


@pytest.fixture
def few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """19 permutations instead of 199 in the test for an effect of the confounder that results have."""
    few = partial(calibrated_test, count=19)
    monkeypatch.setattr(fitted_network, "calibrated_test", few)


@pytest.fixture(scope="session")
def edge_tests() -> MakeTests:
    """Fisher's z of a matrix of estimates: `edge_tests(estimate, n, pooled=estimates_not_adjusted)`."""

    def make(
        estimate: NDArray[np.float64], n: int, *, pooled: NDArray[np.float64] | None = None
    ) -> EdgeTable:
        pairs = np.triu_indices(len(estimate), 1)
        r, error = estimate[pairs], 1.0 / np.sqrt(n)
        z = np.arctanh(r) / error
        p_value = 2.0 * norm.sf(np.abs(z))
        reach = norm.ppf(0.975) * error
        changes = {}
        if pooled is not None:
            change = 2.0 * norm.sf(np.abs(np.arctanh(pooled[pairs]) - np.arctanh(r)) / error)
            changes = dict(change_p_value=change, change_q_value=false_discovery_control(change))
        return EdgeTable(
            estimate=r,
            standard_error=(1.0 - r**2) * error,
            low=np.tanh(np.arctanh(r) - reach),
            high=np.tanh(np.arctanh(r) + reach),
            z=z,
            p_value=p_value,
            q_value=false_discovery_control(p_value),
            **changes,
        )

    return make


@pytest.fixture(scope="session")
def moderation_tests() -> Callable[..., ModerationTable]:
    """Tests of changing pairs with given p-values: `moderation_tests([[0.001, 0.5, 0.8]])`."""

    def make(p_values: ArrayLike) -> ModerationTable:
        p_value = np.atleast_2d(np.asarray(p_values, dtype=np.float64))
        size = -0.1 * np.log10(p_value)
        return ModerationTable(
            statistic=10.0 * size,
            degrees_of_freedom=np.full_like(p_value, 3.0),
            p_value=p_value,
            q_value=np.array([false_discovery_control(row) for row in p_value]),
            largest_change=-size,
            largest_at=np.full_like(p_value, 2.5),
        )

    return make
