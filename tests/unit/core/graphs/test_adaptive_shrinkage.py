from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.graphs.adaptive_shrinkage import MOST_PAIRS, _posterior_of_all, shrink


def pairs(count: int, share: float, error: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(count) < share, rng.normal(0.0, 0.2, count), 0.0)
    return truth, truth + error * rng.standard_normal(count)


def test_posterior_moments_are_those_of_draws() -> None:
    truth, estimate = pairs(2000, 0.3, 0.05)
    found = shrink(estimate, np.full(2000, 0.05))
    # Under the right prior the error is what the posterior says, of the value and of its size.
    np.testing.assert_allclose(np.mean((truth - found.mean) ** 2), found.variance.mean(), rtol=0.1)
    np.testing.assert_allclose(
        np.mean((np.abs(truth) - found.size) ** 2), found.size_variance.mean(), rtol=0.1
    )
    assert np.sum(found.size) == pytest.approx(np.abs(truth).sum(), rel=0.05)
    # Neither sums of all estimates nor those of the large ones are.
    assert np.abs(estimate).sum() > 1.5 * np.abs(truth).sum()
    assert found.present.mean() == pytest.approx(0.3, abs=0.1)


def test_noise_shrinks_to_nothing_and_signs_turn_with_the_estimates() -> None:
    _, estimate = pairs(400, 0.0, 0.05)
    found = shrink(estimate, np.full(400, 0.05))
    assert found.size.sum() < 0.1 * np.abs(estimate).sum()
    turned = shrink(-estimate, np.full(400, 0.05))
    np.testing.assert_allclose(turned.mean, -found.mean, atol=1e-12)
    np.testing.assert_allclose(turned.size, found.size, atol=1e-12)


def test_few_pairs_leave_the_prior_open_and_many_do_not() -> None:
    few, many = (shrink(pairs(n, 0.3, 0.1)[1], np.full(n, 0.1)) for n in (30, 3000))
    spread = [np.std(one.sizes.mean(axis=1)) for one in (few, many)]
    assert spread[0] > 3.0 * spread[1] > 0.0
    immense = MOST_PAIRS + 1
    assert len(shrink(np.zeros(immense), np.ones(immense)).sizes) == 1


def test_pairs_of_which_nothing_is_known() -> None:
    nothing = shrink(np.array([0.9, 0.1]), np.full(2, np.inf))
    assert nothing.size.tolist() == [0.0, 0.0]
    partly = shrink(np.array([0.9, 0.5, 0.0]), np.array([np.inf, 0.01, 0.01]))
    assert abs(partly.mean[0]) < 1e-3
    assert partly.mean[1] == pytest.approx(0.5, abs=0.02)


def test_what_is_remembered_is_what_would_be_computed() -> None:
    first, second = (pairs(60, 0.3, 0.1, seed)[1] for seed in (0, 1))
    error = np.full(60, 0.1)
    for estimate in (first, second, first):
        found, literal = shrink(estimate, error), _posterior_of_all(estimate, error)
        for name in ("mean", "size", "present", "sizes"):
            np.testing.assert_array_equal(getattr(found, name), getattr(literal, name))
    assert shrink(first, error) is shrink(first.copy(), error)
    with pytest.raises(ValueError, match="read-only"):
        shrink(first, error).mean[0] = 1.0
