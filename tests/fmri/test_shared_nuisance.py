"""The nuisance of a subject comes from the others, by subtraction of sums."""

import numpy as np
import pytest

from plaggm.core.profile.spline import profile_spline
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import spline_system
from plaggm.estimators import PLAGGM
from plaggm.fmri.fold_networks import fold_parts
from plaggm.fmri.shared_nuisance import CrossFitted
from plaggm.fmri.subjects import Subject, standardised
from plaggm.fmri.treatments import make_treatment

P, VOLUMES, PEOPLE = 4, 120, 8


@pytest.fixture(scope="module")
def subjects():
    rng = np.random.default_rng(21)
    people = []
    for k in range(PEOPLE):
        g = rng.exponential(1.0, VOLUMES)
        x = rng.standard_normal((VOLUMES, P))
        x[:, 1] += g * x[:, 0]
        people.append(Subject(f"s{k}", "a", standardised(x), g[:, None], g))
    return people


@pytest.fixture(scope="module")
def pooled(subjects):
    return make_treatment("pla", PLAGGM(threshold=0.5, n_jobs=1), ("g",)).pool(subjects)


def test_subtracted_sums_are_those_of_the_others(pooled):
    """The literal twin: the rows that are left, summed by themselves."""
    left_out = np.array([1, 5])
    rows = np.flatnonzero(~np.isin(pooled.owner, left_out))
    whole = pooled.model.profiler
    phi = whole.basis.evaluate(whole.confounder[rows])
    rest = spline_statistics(whole.b[rows], phi, whole.weights[rows])
    system = spline_system(rest, whole.system.rotation)
    expected = profile_spline(system, whole.fit.penalty)
    found = pooled.model.without(np.flatnonzero(np.isin(pooled.owner, left_out))).profiler
    np.testing.assert_allclose(found.total.sums, rest.sums, rtol=1e-9, atol=1e-9)
    assert found.total.n == rest.n == len(rows)
    np.testing.assert_allclose(found.fit.penalty, expected.penalty)
    points = np.array([[1.0], [3.0]])
    np.testing.assert_allclose(
        pooled.learnt(left_out).curve(points),
        pooled.learnt(left_out[::-1]).curve(points),
        atol=1e-9,
    )


def test_everybody_has_a_nuisance_of_the_others(pooled, subjects):
    train = np.array([0, 1, 2, 4, 6])
    learnt = pooled.learn(train)
    assert isinstance(learnt, CrossFitted)
    point = np.array([[2.0]])
    others = np.setdiff1d(np.arange(PEOPLE), train)
    for k in train:
        expected = pooled.learnt(np.append(others, k)).curve(point)
        part = learnt.parts[learnt.part_of[subjects[k].name]]
        np.testing.assert_allclose(part.curve(point), expected, atol=1e-9)
    new = learnt.problem(subjects[3]).grams()
    same = pooled.learnt(others).problem(subjects[3]).grams()
    np.testing.assert_allclose(new.cross, same.cross)


def test_one_subject_learns_from_itself(subjects):
    learnt = make_treatment("pla", PLAGGM(threshold=0.5, n_jobs=1), ("g",)).learn(subjects[:1])
    assert learnt.part_of == {}
    assert learnt.problem(subjects[0]).n == VOLUMES


def test_folds_share_what_is_learnt_without_two_of_them(pooled, subjects):
    """R of a fold's training subjects comes from the other folds, and serves two folds at once."""
    tests = [np.array([0, 5]), np.array([1, 4]), np.array([2, 7]), np.array([3, 6])]
    folds = [(np.setdiff1d(np.arange(PEOPLE), test), test) for test in tests]
    parts = fold_parts(folds, PEOPLE)
    pooled.known.clear()
    point = np.array([[2.0]])
    for number, (train, test) in enumerate(folds):
        learnt = pooled.learn(train, parts[train.tobytes()])
        for other, own in enumerate(tests):
            if other == number:
                continue
            expected = pooled._learnt(np.concatenate([test, own])).curve(point)
            for k in own:
                part = learnt.parts[learnt.part_of[subjects[k].name]]
                np.testing.assert_allclose(part.curve(point), expected, atol=1e-12)
    # Four folds and the six pairs of them, not four times four.
    assert len(pooled.known) == 4 + 6
    # An incomplete repeat says nothing about its folds.
    assert fold_parts(folds[:3], PEOPLE) == {}
