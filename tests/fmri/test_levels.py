"""Offsets and units of scans: motion must not leave its mark on volumes that are free of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plaggm.fmri.levels import Levels, confounder_sizes, learn_levels
from plaggm.fmri.subjects import Subject, standardised

VOLUMES, STILL = 150, 0.3
SHIFT = np.array([3.0, -2.0, 2.0, 0.0])


@pytest.fixture(scope="module")
def subjects() -> list[Subject]:
    """People, each restless in a different degree, whose scans were standardised as a whole."""
    rng = np.random.default_rng(0)
    people = []
    for k in range(20):
        g = rng.gamma(1.0, 0.2 + 0.05 * k, VOLUMES)
        noise = rng.standard_normal((VOLUMES, len(SHIFT))) * (1.0 + g[:, None])
        x = np.maximum(g - STILL, 0.0)[:, None] * SHIFT + noise
        people.append(Subject(str(k), "a", standardised(x), g[:, None], g))
    return people


@pytest.fixture(scope="module")
def levels(subjects: list[Subject]) -> Levels:
    return learn_levels(subjects, confounder_sizes(subjects))


def test_volumes_without_motion_are_alike(subjects, levels):
    def still(series):
        parts = [x[s.confounder[:, 0] < STILL] for x, s in zip(series, subjects, strict=True)]
        means, deviations = ([part(one, axis=0) for one in parts] for part in (np.mean, np.std))
        return np.std(means, axis=0), np.std(np.log(deviations), axis=0)

    before, after = (
        still(series)
        for series in ([s.x for s in subjects], [levels.levelled(s) for s in subjects])
    )
    assert np.all(before[0][:3] > 0.15)
    assert np.all(before[1] > 0.2)
    assert np.all(after[0] < 0.1)
    assert np.all(after[1] < 0.15)


def test_shift_of_motion_is_removed(subjects, levels):
    for low, high in ((0.5, 1.0), (1.0, 1.5), (1.5, 2.5)):
        moved = [(low < s.confounder[:, 0]) & (s.confounder[:, 0] < high) for s in subjects]
        before, after = (
            np.concatenate([x[rows] for x, rows in zip(series, moved, strict=True)])
            for series in ([s.x for s in subjects], [levels.levelled(s) for s in subjects])
        )
        error = after.std(axis=0) / np.sqrt(len(after))
        assert np.all(np.abs(after.mean(axis=0)) < 3.0 * error)
        if low >= 1.0:
            assert np.all(np.abs(before.mean(axis=0)[:3]) > 4.0 * error[:3])


def test_offsets_are_intercepts_of_weighted_least_squares(subjects, levels):
    places = [levels.place(s) for s in subjects]
    g = np.concatenate([s.confounder[:, 0] for s in subjects])
    hinges = np.maximum(g[:, None] - levels.knots[0][:-1], 0.0)
    owner = np.repeat(np.eye(len(subjects)), VOLUMES, axis=0)
    size = g / levels.sizes[0]
    root = np.sqrt(levels.weights[np.searchsorted(levels.limits, size)])[:, None]
    x = np.concatenate([s.x / unit for s, (_, unit) in zip(subjects, places, strict=True)])
    found = np.linalg.lstsq(root * np.column_stack([owner, hinges]), root * x, rcond=None)[0]
    ours = np.array([offset / unit for offset, unit in places])
    np.testing.assert_allclose(ours, found[: len(subjects)], atol=2e-3)


def test_offset_of_a_scan_does_not_matter(subjects, levels):
    moved = replace(subjects[3], x=subjects[3].x + 5.0)
    again = learn_levels([*subjects[:3], moved, *subjects[4:]], levels.sizes)
    np.testing.assert_allclose(again.levelled(moved), levels.levelled(subjects[3]), atol=1e-9)


def test_confounders_that_repeat_themselves(subjects):
    """Functions that are the same for all volumes have no say."""
    same = [
        replace(s, confounder=np.where(s.confounder < 0.8, 0.0, s.confounder)) for s in subjects
    ]
    found = learn_levels(same, confounder_sizes(same))
    assert all(np.isfinite(found.levelled(s)).all() for s in same)
