"""Runs that take long are announced, with what would be quicker."""

from __future__ import annotations

from plaggm.cli.duration_notice import duration_notice
from plaggm.core.cost.fit_time import usual_seconds


def test_short_runs_are_not_announced() -> None:
    assert duration_notice(119.0, 500, 20, 100, kernel=False) is None


def test_the_kernel_says_from_which_number_of_variables_on_it_is_hopeless() -> None:
    n, p = 1000, 500
    text = duration_notice(usual_seconds(n, p, kernel=True).adjusted, n, p, 0, kernel=True)
    assert text is not None
    assert "about 83 minutes" in text
    assert "more than 1292 variables take over a day" in text
    assert usual_seconds(n, 1293, kernel=True).adjusted > 86_400.0
    assert "--smoother spline takes about 39 seconds" in text


def test_half_samples_that_take_most_can_be_left_out() -> None:
    one = usual_seconds(400, 600, kernel=False)
    text = duration_notice(one.plain + one.adjusted + 100 * one.single, 400, 600, 100, kernel=False)
    assert text is not None
    assert "for 100 half-samples: --stability 0" in text
