"""Offsets of scans: motion must not leave its shift in volumes that are free of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plaggm.fmri.levels import confounder_units, learn_levels
from plaggm.fmri.subjects import Subject

VOLUMES, REGIONS = 120, 4


@pytest.fixture(scope="module")
def subjects() -> list[Subject]:
    """Twelve people whose motion shifts all regions, centred on the mean of the whole scan."""
    rng = np.random.default_rng(0)
    direction = np.array([3.0, -2.0, 2.0, 1.0])
    people = []
    for k in range(12):
        g = rng.gamma(1.0, 0.2 + 0.1 * k, VOLUMES)
        noise = rng.standard_normal((VOLUMES, REGIONS)) * (1.0 + g[:, None])
        x = np.maximum(g - 0.3, 0.0)[:, None] * direction + noise
        people.append(Subject(str(k), "a", x - x.mean(axis=0), g[:, None], g))
    return people


def test_volumes_without_motion_have_one_mean(subjects):
    levels = learn_levels(subjects, confounder_units(subjects))

    def spread(series: list[np.ndarray]) -> float:
        means = [
            x[s.confounder[:, 0] < 0.3].mean(axis=0) for x, s in zip(series, subjects, strict=True)
        ]
        return float(np.std(means, axis=0).max())

    before = spread([s.x for s in subjects])
    after = spread([s.x - levels.offset(s) for s in subjects])
    # A mean of fifty volumes has a standard error of 0.15.
    assert before > 0.8
    assert after < 0.3


def test_offsets_are_the_intercepts_of_weighted_least_squares(subjects):
    levels = learn_levels(subjects, confounder_units(subjects))
    g = np.concatenate([s.confounder[:, 0] for s in subjects])
    size = g / levels.units[0]
    hinges = np.maximum(g[:, None] - levels.knots[:-1, 0], 0.0)
    owner = np.repeat(np.eye(len(subjects)), VOLUMES, axis=0)
    root = np.sqrt(levels.weights[np.searchsorted(levels.limits, size)])[:, None]
    x = np.concatenate([s.x for s in subjects])
    found = np.linalg.lstsq(root * np.column_stack([owner, hinges]), root * x, rcond=None)[0]
    ours = np.array([levels.offset(s) for s in subjects])
    np.testing.assert_allclose(ours, found[: len(subjects)], atol=1e-9)


def test_offset_of_a_scan_does_not_matter(subjects):
    levels = learn_levels(subjects, confounder_units(subjects))
    moved = replace(subjects[3], x=subjects[3].x + 5.0)
    again = learn_levels([*subjects[:3], moved, *subjects[4:]], levels.units)
    np.testing.assert_allclose(again.levelled(moved), levels.levelled(subjects[3]), atol=1e-9)


def test_confounders_that_repeat_themselves(subjects):
    """Functions that are the same for all volumes have no say."""
    still = [
        replace(s, confounder=np.where(s.confounder < 0.8, 0.0, s.confounder)) for s in subjects
    ]
    levels = learn_levels(still, confounder_units(still))
    assert all(np.isfinite(levels.levelled(s)).all() for s in still)
