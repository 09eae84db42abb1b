from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from plaggm.planning.sample_size import SampleSize, clean_sample_size, crossing, sample_size


class TestCrossing:
    def test_is_linear_in_the_logarithm(self) -> None:
        sizes = np.array([100, 200, 400])
        assert crossing(sizes, np.array([0.5, 0.7, 0.9]), 0.8) == pytest.approx(200 * np.sqrt(2))

    def test_curve_that_falls_is_made_monotone(self) -> None:
        sizes = np.array([100, 200, 400, 800])
        # Isotonic regression pools the second and third value to 0.6.
        found = crossing(sizes, np.array([0.2, 0.7, 0.5, 1.0]), 0.8)
        assert found == pytest.approx(400 * 2**0.5)

    def test_beyond_either_end(self) -> None:
        sizes = np.array([100, 200])
        assert crossing(sizes, np.array([0.9, 1.0]), 0.8) == 100
        assert crossing(sizes, np.array([0.1, 0.2]), 0.8) == np.inf
        assert crossing(np.array([300]), np.array([0.9]), 0.8) == 300


class TestSampleSize:
    def test_interval_covers_the_truth(self) -> None:
        """Power 0.2 log2(n / 100) + 0.2 with noise: 0.8 is reached at 800."""
        sizes = np.array([100, 200, 400, 800, 1600])
        mean = 0.2 * np.log2(sizes / 100) + 0.2
        covered = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            power = mean + 0.1 * rng.standard_normal((20, 5)) + 0.05 * rng.standard_normal((20, 1))
            found = sample_size(sizes, power, 0.8, seed)
            assert found.low <= found.samples <= found.high
            covered += found.low <= 800 <= found.high
        # Binomial(10, 0.95) is below 7 with probability 0.001.
        assert covered >= 7

    def test_same_seed_same_interval(self) -> None:
        power = np.random.default_rng(0).uniform(size=(6, 2)) * [0.6, 1.0]
        first, second = (sample_size(np.array([50, 90]), power, 0.4, 3) for _ in range(2))
        assert first == second

    @pytest.mark.parametrize(
        ("found", "words"),
        [
            ((0.8, 40.0, 40.0, 60.0, 40, 900), "at most 40 samples"),
            ((0.8, 50.0, 40.0, 60.0, 40, 900), "about 50 samples (95 % interval below 40 to 60)"),
            (
                (0.8, 870.0, 600.0, np.inf, 40, 2000),
                "about 870 samples (95 % interval 600 to above 2,000)",
            ),
            ((0.8, np.inf, 600.0, np.inf, 40, 2000), "more than 2,000 samples"),
        ],
    )
    def test_words(self, found: tuple[float, ...], words: str) -> None:
        assert SampleSize(*found).words() == words  # type: ignore[arg-type]


def test_clean_samples_by_the_formula() -> None:
    """For edges of one size the formula can be written down."""
    found = clean_sample_size(10, np.array([0.2]), 0.2, 0.05, 0.8)
    z = norm.isf(0.05 * 0.2 * 0.8 / 2) + norm.ppf(0.8)
    assert found == pytest.approx((z / np.arctanh(0.2)) ** 2 + 11)
