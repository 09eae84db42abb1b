"""Networks of single subjects: shrinkage towards everybody's, and the lasso."""

import numpy as np
import pytest

from plaggm.estimators import PLAGGM
from plaggm.fmri.networks import SubjectNetworks, fit_subjects
from plaggm.fmri.problems import Problems
from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.subject_paths import (
    SPREADS,
    LassoPath,
    ShrinkagePath,
    make_path,
    pair_values,
    penalty_grid,
)
from plaggm.fmri.subjects import Subject, standardised
from plaggm.fmri.treatments import make_treatment
from plaggm.resume import Store

P = 6


def people(count, seed, *, volumes=80, spread=0.08):
    """Subjects whose edges scatter round those of a chain, with their true edges."""
    rng = np.random.default_rng(seed)
    common = 0.3 * (np.eye(P, k=1) + np.eye(P, k=-1))
    subjects, truth = [], []
    for k in range(count):
        own = spread * rng.standard_normal((P, P))
        omega = common + np.triu(own, 1) + np.triu(own, 1).T
        root = np.linalg.cholesky(np.linalg.inv(np.eye(P) - omega))
        g = np.abs(rng.standard_normal((volumes, 1)))
        x = standardised(rng.standard_normal((volumes, P)) @ root.T)
        subjects.append(Subject(f"s{k}", "a", x, g, g[:, 0]))
        truth.append(pair_values(omega))
    return subjects, np.array(truth)


def problems_of(subjects):
    learnt = make_treatment("raw", PLAGGM(), ("g",)).learn(subjects)
    return [learnt.problem(subject) for subject in subjects]


def error(found, truth):
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def test_the_spread_that_is_chosen_serves_the_truth():
    """Held-out blocks prefer a spread near the best one, which beats group and least squares alone."""
    subjects, truth = people(30, seed=11)
    problems = problems_of(subjects)
    path = make_path("shrinkage", problems)
    fits = [path.fit(problem) for problem in problems]
    errors = [error(np.array([one[0][k] for one in fits]), truth) for k in range(len(path.steps))]
    chosen = int(np.argmin(np.sum([one[1] for one in fits], axis=0)))
    assert 0 < chosen < len(SPREADS) - 1
    assert errors[chosen] < 1.05 * min(errors)
    assert errors[chosen] < 0.9 * min(errors[0], errors[-1])


def test_people_who_do_not_differ_are_said_not_to(tmp_path):
    subjects, _ = people(12, seed=12, spread=0.0)
    told = Problems()
    treatment = make_treatment("raw", PLAGGM(), ("g",))
    found = fit_subjects(
        treatment,
        subjects,
        criterion="shrinkage",
        store=Store(tmp_path),
        problems=told,
        settings={},
    )
    assert found.chosen == 0
    assert "hardly differ" in str(told)
    assert found.values.std(axis=0).max() < 0.02


@pytest.mark.parametrize(
    ("rule", "chosen", "words"),
    [
        ("shrinkage", 0, "cannot be told from noise"),
        ("shrinkage", 2, "still weaker ones were not tried"),
        ("aic", 2, "the smallest penalty"),
        ("cv", 0, "100% of the subjects' networks have no edge"),
        ("cv", 1, ""),
    ],
)
def test_a_choice_at_an_end_of_the_path_is_told(rule, chosen, words):
    steps, scores = np.array([3.0, 2.0, 1.0]), np.zeros((1, 3))
    found = SubjectNetworks(
        "pla", ("a",), rule, steps, scores, np.zeros((1, 3, 1)), chosen, np.ones(1)
    )
    assert words in found.edge_note
    assert bool(found.edge_note) == bool(words)


def test_one_network_is_that_of_the_path():
    subjects, _ = people(6, seed=13)
    problems = problems_of(subjects)
    for criterion in ("shrinkage", "bic"):
        path = make_path(criterion, problems)
        whole, _ = path.fit(problems[0])
        np.testing.assert_allclose(path.network(problems[0], 5), whole[5], atol=2e-3)


def test_units_of_a_subject_do_not_matter():
    """Every person has conditional standard deviations of their own."""
    subjects, _ = people(1, seed=14)
    z = subjects[0].x
    path = ShrinkagePath(np.zeros((P, P)))
    one, other = (
        path.fit(Rows(np.column_stack([z * unit, np.ones(len(z))])))[0][-1]
        for unit in (1.0, np.linspace(0.8, 1.25, P))
    )
    np.testing.assert_allclose(one, other, atol=0.03)


def test_longer_scans_are_shrunk_less():
    subjects, _ = people(1, seed=15, volumes=400)
    z = np.column_stack([subjects[0].x, np.ones(400)])
    path = ShrinkagePath(np.zeros((P, P)), np.array([0.05]))
    short, long = (np.abs(path.network(Rows(z[:n]), 0)).sum() for n in (60, 400))
    assert short < long


def test_the_grid_of_the_lasso_reaches_least_squares():
    subjects, _ = people(4, seed=16)
    problems = problems_of(subjects)
    path = LassoPath(penalty_grid(problems), "cv")
    networks, _ = path.fit(problems[0])
    free = ShrinkagePath(np.zeros((P, P)), np.array([50.0])).network(problems[0], 0)
    np.testing.assert_allclose(networks[-1], free, atol=0.1)


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="criterion must be one of shrinkage, cv"):
        make_path("best", [])
