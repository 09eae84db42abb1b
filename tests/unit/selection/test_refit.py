"""EBIC of refitted supports."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGMCV
from plaggm.core.profile.pooled import profile_pooled
from plaggm.metrics import recovery_report
from plaggm.selection.refit import refitted_ebic, refitted_residuals
from plaggm.simulate import simulate_paper

# Least squares on Gram matrices against least squares on rows.
ROUNDING = 1e-10


@pytest.fixture
def z() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 5)) @ rng.standard_normal((5, 5)) + 2.0


def random_supports(p: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(1).random((4, p, p)) < 0.5, 1)
    return upper | upper.transpose(0, 2, 1)


def test_residuals_are_those_of_least_squares_on_rows(z: np.ndarray) -> None:
    supports = random_supports(5)
    supports[0] = False
    found = refitted_residuals(profile_pooled(np.column_stack([z, np.ones(120)])), supports)
    for support, row in zip(supports, found, strict=True):
        for j, neighbours in enumerate(support):
            design = np.column_stack([z[:, neighbours], np.ones(120)])
            fitted = design @ np.linalg.lstsq(design, z[:, j], rcond=None)[0]
            assert np.isclose(row[j], np.mean((z[:, j] - fitted) ** 2), rtol=ROUNDING)


def test_every_edge_has_its_price(z: np.ndarray) -> None:
    grams = profile_pooled(np.column_stack([z, np.ones(120)]))
    supports = random_supports(5)
    residuals = refitted_residuals(grams, supports)
    edges = supports.sum(axis=(1, 2)) / 2
    expected = 60.0 * np.log(residuals).sum(axis=1) + edges * (np.log(120) + np.log(5))
    assert np.allclose(refitted_ebic(grams, supports), expected, rtol=ROUNDING)


def test_a_support_without_samples_left_is_no_candidate() -> None:
    z = np.random.default_rng(0).standard_normal((4, 6))
    grams = profile_pooled(np.column_stack([z, np.ones(4)]))
    values = refitted_ebic(grams, np.array([np.zeros((6, 6), bool), np.ones((6, 6), bool)]))
    assert np.isfinite(values[0])
    assert np.isinf(values[1])


def test_it_finds_the_network_of_many_samples() -> None:
    data = simulate_paper(12, n=4000, seed=4, shape="none", target_radius=0.7, nuisance_radius=0.0)
    model = PLAGGMCV(criterion="refit", edges="penalty", alphas=50).fit(data.x)
    assert recovery_report(model.adjacency_, data.support)["f1"] > 0.95
