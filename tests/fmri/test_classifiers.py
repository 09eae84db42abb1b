"""Classifiers of subjects: what they see, which penalty they take, and motion beside them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from plaggm.core.lasso.logistic_lasso import glmnet_parts, logistic_lasso, path_aic
from plaggm.fmri import classifiers, diagnosis
from plaggm.fmri.classifiers import (
    classifier_grid,
    fold_aucs,
    logistic_path,
    path_aucs,
    rank_aucs,
    seen_features,
)
from plaggm.fmri.covariates import displacement_design, residuals
from plaggm.fmri.diagnosis import (
    beside_motion,
    classify,
    exchanged_labels,
    over_seeds,
)
from plaggm.fmri.fold_networks import FoldFeatures, splits
from plaggm.fmri.study_means import student_interval
from plaggm.resume import Store

PEOPLE, EDGES = 60, 12


@pytest.fixture
def few_penalties(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 penalties of the classifier instead of 100."""
    monkeypatch.setattr(classifiers, "glmnet_parts", partial(glmnet_parts, count=12))


def study(seed: int, curve: float = 0.0) -> tuple[np.ndarray, np.ndarray, list[FoldFeatures]]:
    """Patients move more; edges follow motion, and by ``curve`` its logarithm; nothing else differs."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], PEOPLE // 2)
    moved = np.exp(0.5 * rng.standard_normal(PEOPLE) + 1.2 * y)
    values = rng.standard_normal((PEOPLE, EDGES))
    values[:, :4] += (moved / 2.0)[:, None] + curve * np.log(moved)[:, None]
    return y, moved, [FoldFeatures(train, test, values, 0.1) for train, test in splits(y, 1, seed)]


def test_aic_chooses_on_the_training_subjects() -> None:
    y, _, features = study(0)
    part = features[0]
    grid = classifier_grid(part)
    found = fold_aucs(part, y, "values", grid, 1.0, seed=0)
    x = part.values - part.values[part.train].mean(axis=0)
    x = x / x[part.train].std()
    path = logistic_lasso(x[part.train], y[part.train], grid, tol=1e-5)
    step = int(np.argmin(path_aic(x[part.train], y[part.train], path)))
    scores = x[part.test] @ path.weights[step] + path.intercepts[step]
    assert found.by_aic == rank_aucs(y[part.test], scores[None])[0]
    assert found.by_aic == found.path[step]
    assert found.by_cv in found.path
    assert len(found.path) == len(grid) == 100


def test_added_columns_come_in_the_unit_of_the_others() -> None:
    _, moved, features = study(1)
    part = replace(features[0], added=moved[:, None])
    seen = seen_features(part, "values")
    assert seen.shape == (PEOPLE, EDGES + 1)
    np.testing.assert_array_equal(seen[:, :-1], part.values)
    spread = part.values[part.train].std()
    assert seen[part.train, -1].std() == pytest.approx(spread)
    assert np.corrcoef(seen[:, -1], moved)[0, 1] == pytest.approx(1.0)


def test_motion_as_a_feature_tells_what_motion_tells() -> None:
    y, moved, features = study(2)
    # Networks that know nothing.
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((PEOPLE, EDGES))
    features = [replace(part, values=noise) for part in features]
    found = beside_motion("lr", features, y, moved, kind="values", criterion="aic")
    assert found.with_motion is not None
    assert found.with_motion[0] > 0.75 > found.auc
    assert (
        beside_motion("lr", features, y, None, kind="values", criterion="aic").with_motion is None
    )


def test_features_freed_of_displacement_tell_no_more_than_chance() -> None:
    plain, freed = [], []
    for seed in range(10):
        y, moved, features = study(seed)
        grid = classifier_grid(features[0])
        design = displacement_design(moved)
        for part in features:
            plain.append(path_aucs(part, y, "values", grid)[0].mean())
            other = replace(part, covariates=design)
            freed.append(path_aucs(other, y, "values", grid)[0].mean())
    assert np.mean(plain) > 0.75
    # Slopes are learnt from 54 people, in whom motion and group go together: somewhat below one half.
    assert 0.35 < np.mean(freed) < 0.55


def test_the_logarithm_takes_off_what_is_curved() -> None:
    rng = np.random.default_rng(4)
    moved = np.exp(rng.standard_normal(400))
    values = np.log(moved)[:, None] + 0.01 * rng.standard_normal((400, 1))
    straight = residuals(values, displacement_design(moved))
    curved = residuals(values, displacement_design(moved, curved=True))
    assert curved.std() < 0.05 < 0.3 < straight.std()


@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_subjects_without_differences_are_not_told_apart(noise: float) -> None:
    """Signs that are the same in everybody: nothing to learn, and no warning of convergence."""
    rng = np.random.default_rng(3)
    x = np.tile(rng.choice([-1.0, 1.0], 20), (12, 1)) + noise * rng.standard_normal((12, 20))
    y = np.repeat([0, 1], 6)
    scores, _ = logistic_path(x, y, x[:3], np.array([1.0, 0.1]))
    assert not scores.any()


def test_features_freed_of_the_labels_themselves_have_no_classifier() -> None:
    """The penalty at which the first edge enters is rounding: no score, and no warning of convergence."""
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 10)
    x = residuals(rng.standard_normal((20, 30)) + y[:, None], y[:, None].astype(float))
    scores, _ = logistic_path(x, y, x[:3], glmnet_parts(20, 30))
    assert not scores.any()
    x[0, 0] += 1.0
    assert logistic_path(x, y, x[:3], glmnet_parts(20, 30))[0].any()


@pytest.mark.usefixtures("few_penalties")
def test_elastic_net_is_another_classifier() -> None:
    y, _, features = study(5)
    lasso = classify("lr", features, y, kind="values", criterion="aic")
    net = classify("lr", features, y, kind="values", criterion="aic", classifier="elastic net")
    assert (lasso.classifier, net.classifier) == ("lasso", "elastic net")
    assert not np.array_equal(lasso.path_auc, net.path_auc)


def test_labels_that_mean_nothing_are_at_chance() -> None:
    found = []
    for seed in range(12):
        y, _, features = study(seed)
        label = exchanged_labels(y, features, seed)
        # Every fold keeps its composition.
        assert all(label[part.test].sum() == y[part.test].sum() for part in features)
        found.append(classify("lr", features, label, kind="values", criterion="aic").auc)
    mean, low, high = student_interval(found)
    assert low < 0.5 < high
    assert abs(mean - 0.5) < 0.1


@pytest.mark.usefixtures("few_penalties")
def test_means_over_studies() -> None:
    found = []
    for seed in range(3):
        y, moved, features = study(seed)
        found.append(beside_motion("lr", features, y, moved, kind="values", criterion="aic"))
    together = over_seeds(found)
    assert together.auc == pytest.approx(np.mean([one.auc for one in found]))
    assert together.by_aic[0] == pytest.approx(np.mean([one.by_aic[0] for one in found]))
    np.testing.assert_allclose(together.path_auc, np.mean([one.path_auc for one in found], axis=0))
    # Student's interval with two degrees of freedom.
    error = np.std([one.auc for one in found], ddof=1) / np.sqrt(3)
    assert together.high - together.auc == pytest.approx(4.302653 * error)
    assert together.with_motion is not None
    assert np.isnan(together.p_value)
    assert over_seeds(found[:1]) is found[0]


@pytest.mark.usefixtures("few_penalties")
def test_every_way_to_classify_is_kept(tmp_path, monkeypatch) -> None:
    y, moved, features = study(6)
    ways = [
        features,
        [replace(part, added=moved[:, None]) for part in features],
        [replace(part, covariates=displacement_design(moved)) for part in features],
    ]
    settings = dict(kind="values", criterion="aic", store=Store(tmp_path))
    first = [classify("lr", way, y, **settings).auc for way in ways]
    exchanged = exchanged_labels(y, features, 0)
    first.append(classify("lr", features, exchanged, **settings).auc)
    monkeypatch.setattr(diagnosis, "fold_aucs", None)
    again = [classify("lr", way, y, **settings).auc for way in ways]
    again.append(classify("lr", features, exchanged, **settings).auc)
    assert again == first
