from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.kernel.indicators import (
    INDICATORS,
    evaluate_indicator,
    hard,
    ramp,
    soft,
    threshold_ratio,
)

# The paper's k = 5.78 / g* leaves exp(-5.78**2) / 2 = 1.6e-15 at the threshold.
SOFT_AT_THRESHOLD = 2e-15


def test_soft_is_the_papers_function() -> None:
    # 1 - exp(-100 g^2) / 2 has g* = 0.578.
    g = np.linspace(-0.7, 0.7, 57)
    np.testing.assert_allclose(
        soft(np.abs(g) / 0.578), 1.0 - 0.5 * np.exp(-100.0 * g * g), rtol=1e-13
    )


def test_values_at_zero_at_the_threshold_and_beyond() -> None:
    ratio = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 100.0, np.inf])
    np.testing.assert_allclose(ramp(ratio), [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(hard(ratio), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(soft(ratio[[0]]), [0.5])
    np.testing.assert_allclose(soft(ratio[2:]), 1.0, rtol=0, atol=SOFT_AT_THRESHOLD)


@pytest.mark.parametrize("name", INDICATORS)
def test_rises_from_below_one_to_one(name: str) -> None:
    values = INDICATORS[name](np.linspace(0.0, 3.0, 301))
    assert values[0] < 1.0
    assert values[-1] == 1.0
    assert np.all(np.diff(values) >= 0.0)
    assert np.all((values >= 0.0) & (values <= 1.0))


def test_ratio_is_the_distance_from_zero_in_thresholds() -> None:
    g = np.array([[3.0, 0.0], [0.0, -8.0], [-3.0, 8.0], [0.0, 0.0]])
    np.testing.assert_allclose(
        threshold_ratio(g, np.array([1.5, 4.0])), [2.0, 2.0, np.sqrt(8.0), 0.0]
    )


def test_a_threshold_of_zero_lets_only_zero_pass() -> None:
    g = np.array([[0.0], [1e-300], [-2.0]])
    np.testing.assert_array_equal(threshold_ratio(g, np.zeros(1)), [0.0, np.inf, np.inf])
    for name, expected in {"soft": [0.5, 1, 1], "ramp": [0, 1, 1], "hard": [0, 1, 1]}.items():
        np.testing.assert_array_equal(
            evaluate_indicator(INDICATORS[name], g, np.zeros(1)), expected
        )


def test_thresholds_of_zero_and_more_can_be_mixed() -> None:
    g = np.array([[0.0, 1.0], [0.5, 1.0]])
    np.testing.assert_array_equal(threshold_ratio(g, np.array([0.0, 2.0])), [0.5, np.inf])


def test_a_callable_gets_the_ratio() -> None:
    g = np.array([[0.0], [0.5], [-1.0], [4.0]])
    values = evaluate_indicator(lambda r: np.minimum(r, 1.0) ** 2, g, np.array([1.0]))
    np.testing.assert_allclose(values, [0.0, 0.25, 1.0, 1.0])


@pytest.mark.parametrize("bad", [lambda r: r[:2], lambda r: r[:, None], lambda r: 0.5])
def test_a_callable_of_the_wrong_shape_is_refused(bad) -> None:
    with pytest.raises(ValueError, match=r"shape .* each of the 3 samples"):
        evaluate_indicator(bad, np.ones((3, 1)), np.ones(1))


@pytest.mark.parametrize("bad", [lambda r: r + 1.0, lambda r: r - 2.0, lambda r: r * np.nan])
def test_a_callable_outside_zero_and_one_is_refused(bad) -> None:
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        evaluate_indicator(bad, np.ones((3, 1)), np.ones(1))
