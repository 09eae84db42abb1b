from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.kernel.bandwidth import BandwidthRule, assumption_bandwidth, smoothing_rate


def test_rate_by_hand() -> None:
    # -log(1/e) = 1.
    assert smoothing_rate(np.exp(-1.0), 4) == pytest.approx(np.sqrt(np.e / 4) + np.exp(-2.0))


@pytest.mark.parametrize("n", [10, 80, 800, 10_000, 1_000_000])
def test_minimiser_beats_every_other_bandwidth(n: int) -> None:
    rule = assumption_bandwidth(n, p=20)
    assert rule.rate == smoothing_rate(rule.bandwidth, n)
    for h in np.linspace(1e-3, 0.999, 2001):
        assert rule.rate <= smoothing_rate(h, n)
    # Close neighbours: the minimum is sharp enough to see a change of a part in a thousand.
    assert rule.rate < smoothing_rate(rule.bandwidth * 1.001, n)
    assert rule.rate < smoothing_rate(rule.bandwidth * 0.999, n)


def test_more_samples_narrow_the_bandwidth() -> None:
    widths = [assumption_bandwidth(n, p=5).bandwidth for n in (50, 500, 5000, 50_000)]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 4


def test_bound_is_the_rate_of_the_lasso() -> None:
    assert assumption_bandwidth(800, p=20).bound == pytest.approx(np.sqrt(np.log(20) / 800))


def test_assumption_compares_the_squared_rate() -> None:
    assert BandwidthRule(bandwidth=0.2, rate=0.5, bound=0.26).satisfied
    assert not BandwidthRule(bandwidth=0.2, rate=0.5, bound=0.24).satisfied
