"""LR-GGM by the graphical lasso, subject by subject."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.estimators import PLAGGM
from plaggm.fmri.fold_networks import fold_features, splits
from plaggm.fmri.graphical_lasso import GraphicalLassoPath, path_of
from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
from plaggm.fmri.subject_paths import LassoPath, time_blocks
from plaggm.fmri.subjects import StudyData, standardised
from plaggm.fmri.treatments import is_alone, make_treatment
from plaggm.related.gaussian import precision_path
from plaggm.resume import Store

# Of partial correlations at the duality gap that subjects' networks are solved to.
ACCURACY = 3e-3


@pytest.fixture(scope="module")
def data() -> StudyData:
    motion = simulated_motion(4, seed=0, volumes=80)
    return semisynthetic_study(motion, seed=3, per_group=4, regions=6, difference=0.5)[0]


def exact_precision(covariance: np.ndarray, alpha: float) -> np.ndarray:
    """The optimum of the graphical lasso, checked by its conditions."""
    path = precision_path(
        covariance[None], np.array([alpha]), fusion=0.0, tol=1e-11, max_iter=100_000
    )
    precision = path.precision[0, 0]
    slope = covariance - np.linalg.inv(precision)
    used = precision != 0.0
    np.fill_diagonal(slope, 0.0)
    off = ~np.eye(len(slope), dtype=bool)
    assert np.abs(slope).max() <= alpha + 1e-4
    assert np.abs(slope + alpha * np.sign(precision))[used & off].max() < 1e-4
    return precision


def test_networks_are_those_of_the_graphical_lasso(data: StudyData) -> None:
    treatment = make_treatment("lr-glasso", PLAGGM(), data.confounder_names)
    assert is_alone(treatment)
    subject = data.subjects[0]
    problem = treatment.learn([]).problem(subject)
    g = np.column_stack([np.ones(len(subject.x)), subject.confounder])
    left = standardised(subject.x - g @ np.linalg.lstsq(g, subject.x, rcond=None)[0])
    path = path_of("aic", [problem], shared=False)
    assert isinstance(path, GraphicalLassoPath)
    networks, score = path.fit(problem)
    first, second = np.triu_indices(6, 1)
    for step in (5, 12):
        precision = exact_precision(left.T @ left / len(left), path.steps[step])
        scale = np.sqrt(np.diagonal(precision))
        expected = -(precision / np.outer(scale, scale))[first, second]
        np.testing.assert_allclose(networks[step], expected, atol=ACCURACY)
        np.testing.assert_allclose(path.network(problem, step), networks[step], atol=1e-6)
        fit = np.sum(left.T @ left / len(left) * precision) - np.linalg.slogdet(precision)[1]
        price = 2.0 * (np.count_nonzero(expected) + 6)
        assert score[step] == pytest.approx(len(left) * fit + price, rel=1e-3)
    assert not networks[0].any()


def test_held_out_volumes_choose_where_there_is_no_shrinkage(data: StudyData) -> None:
    treatment = make_treatment("lr-glasso", PLAGGM(), data.confounder_names)
    problem = treatment.learn([]).problem(data.subjects[1])
    path = path_of("shrinkage", [problem], shared=True)
    assert isinstance(path, GraphicalLassoPath)
    assert path.criterion == "cv"
    _, score = path.fit(problem)
    z, loss = problem.columns[:, :-1], 0.0
    for train, test in time_blocks(problem.n):
        centre = z[train].mean(axis=0)
        covariance = np.cov(z[train].T, bias=True)
        precision = exact_precision(covariance, path.steps[8])
        held_out = (z[test] - centre).T @ (z[test] - centre) / len(test)
        fit = np.sum(held_out * precision) - np.linalg.slogdet(precision)[1]
        loss += len(test) / problem.n * fit
    assert score[8] == pytest.approx(loss, rel=1e-3)


def test_other_methods_keep_their_path(data: StudyData) -> None:
    learnt = make_treatment("lr", PLAGGM(), data.confounder_names).learn(data.subjects)
    path = path_of("aic", [learnt.problem(one) for one in data.subjects], shared=True)
    assert isinstance(path, LassoPath)


def test_subjects_alone_come_from_the_store(data: StudyData, tmp_path, monkeypatch) -> None:
    from plaggm.fmri import fold_networks

    folds = splits(data.membership, 1, 0)
    treatment = make_treatment("lr-glasso", PLAGGM(), data.confounder_names)
    settings = dict(criterion="aic", store=Store(tmp_path))
    first = fold_features(treatment, data.subjects, folds, **settings)
    monkeypatch.setattr(fold_networks, "path_of", None)
    again = fold_features(treatment, data.subjects, folds, **settings)
    np.testing.assert_array_equal(first[0].values, again[-1].values)
