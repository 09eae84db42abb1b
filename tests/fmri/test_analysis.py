"""Networks of subjects and groups, their comparison, residual motion and diagnosis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from plaggm import PLAGGM
from plaggm.core.lasso.logistic_lasso import glmnet_parts, logistic_lasso, path_aic
from plaggm.core.lasso.path import solve_path
from plaggm.fmri import Problems, Subject, compare_groups, fit_subjects, residual_motion
from plaggm.fmri.classifiers import TOL, logistic_path
from plaggm.fmri.diagnosis import classify, motion_auc, repeated_interval
from plaggm.fmri.fold_networks import FoldFeatures, fold_features, splits
from plaggm.fmri.networks import from_pairs, subject_path
from plaggm.fmri.pooled_networks import subject_folds
from plaggm.fmri.problems import StudyError
from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.semisynthetic import (
    difference_recovery,
    measured_motion,
    semisynthetic_study,
    simulated_motion,
)
from plaggm.fmri.subject_paths import LassoPath, pair_values, time_blocks
from plaggm.fmri.subjects import standardised
from plaggm.fmri.treatments import METHODS, make_treatment
from plaggm.resume import Store

PATH = np.geomspace(0.9, 0.05, 8)
SMALL = dict(seed=3, per_group=6, regions=8)


@pytest.fixture(scope="module")
def study():
    data, omega = semisynthetic_study(
        simulated_motion(6, seed=0, volumes=80), difference=0.5, **SMALL
    )
    return data, omega


def treatment(name: str, data, scrub: float = 0.5):
    own = {"smoother": "kernel", "ridge": 0.01} if name == "kernel" else {}
    return make_treatment(name, PLAGGM(n_jobs=1, **own), data.confounder_names, scrub)


def test_pairs_and_matrices_are_inverse():
    rng = np.random.default_rng(0)
    values = rng.uniform(-1.0, 1.0, (3, 10))
    np.testing.assert_array_equal(pair_values(from_pairs(values, 5)), values)


def test_time_blocks_hold_out_every_volume_once():
    blocks = time_blocks(23)
    assert sorted(np.concatenate([test for _, test in blocks])) == list(range(23))
    assert all(np.all(np.diff(test) == 1) for _, test in blocks)


def test_folds_never_divide_a_subject(study):
    data, _ = study
    owner = np.repeat(np.arange(len(data.subjects)), [len(s.x) for s in data.subjects])
    for train, test in subject_folds(data.subjects):
        assert not set(owner[train]) & set(owner[test])


def test_rows_are_weighted_least_squares():
    rng = np.random.default_rng(1)
    z, y, w = rng.standard_normal((50, 3)), rng.standard_normal((50, 3)), rng.random(50) + 0.1
    rows = Rows(np.column_stack([z, np.ones(50)]), y, w)
    path = solve_path(
        rows.grams().formed(), np.array([0.0]), symmetry="or", tol=1e-12, max_iter=10_000
    )
    # Two predictors and a constant; symmetric joining is avoided by looking at one node's Gram alone.
    design = np.column_stack([z[:, 1:], np.ones(50)])
    root = np.sqrt(w)[:, None]
    expected = np.linalg.lstsq(design * root, y[:, 0] * root[:, 0], rcond=None)[0]
    gram = rows.grams().node(0)
    solved = np.linalg.solve(gram[1:, 1:], gram[1:, 0])
    np.testing.assert_allclose(solved, expected)
    assert path.omega.shape == (1, 3, 3)


def test_without_motion_effects_the_treatments_agree():
    """With R = 0, equal means and equal variances the shared nuisance must not change the networks."""
    rng = np.random.default_rng(2)
    subjects = []
    for k in range(8):
        x = rng.standard_normal((200, 5))
        x[:, 1] += 0.7 * x[:, 0]
        g = np.abs(rng.standard_normal((200, 1)))
        subjects.append(Subject(f"s{k}", "a", standardised(x), g, g[:, 0]))
    found = {}
    for name in ("pla", "raw"):
        learnt = make_treatment(name, PLAGGM(n_jobs=1), ("g",)).learn(subjects)
        found[name] = np.stack(
            [
                subject_path(learnt.problem(s), LassoPath(np.array([0.05]), "bic"))[0][0]
                for s in subjects
            ]
        )
    # The pair that is there is found alike, and nothing else appears by the adjustment.
    np.testing.assert_allclose(found["pla"].mean(axis=0), found["raw"].mean(axis=0), atol=0.05)


def test_shared_nuisance_lets_go_of_motion(study):
    data, _ = study
    strength = {}
    shared = treatment("pla", data).learn(data.subjects)
    ways = {
        "pla": shared.everybody,
        "by others": shared,
        "raw": treatment("raw", data).learn(data.subjects),
    }
    for name, learnt in ways.items():
        rows = [learnt.problem(subject) for subject in data.subjects]
        residual = np.concatenate(
            [r.columns[:, :-1] if r.response is None else r.response for r in rows]
        )
        moved = np.concatenate([subject.displacement for subject in data.subjects])
        strength[name] = max(abs(np.corrcoef(moved, column)[0, 1]) for column in residual.T)
    assert strength["pla"] < 0.5 * strength["raw"]
    # What is learnt from a dozen others leaves more.
    assert strength["pla"] < strength["by others"] < 0.8 * strength["raw"]


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("pla-own", "aic"),
        ("paper", "aic"),
        ("kernel", "aic"),
        ("lr-glasso", "aic"),
        ("lr-glasso", "cv"),
        *((name, "cv") for name in METHODS if name in ("pla", "lr", "scrub", "raw")),
    ],
)
def test_every_method_fits_every_subject(study, tmp_path, name, criterion):
    data, _ = study
    problems = Problems()
    found = fit_subjects(
        treatment(name, data, scrub=5.0),
        data.subjects,
        criterion=criterion,
        store=Store(tmp_path),
        problems=problems,
        settings={},
        n_jobs=1,
    )
    assert found.usable.all()
    assert np.isfinite(found.values).all()
    assert np.any(found.values != 0.0)
    total = found.criterion.sum(axis=0)
    assert total[found.chosen] == total.min()


def test_workers_do_not_change_the_networks(study, tmp_path):
    data, _ = study
    settings = dict(criterion="cv", problems=Problems(), settings={})
    one = fit_subjects(
        treatment("pla", data), data.subjects, store=Store(tmp_path / "a"), n_jobs=1, **settings
    )
    two = fit_subjects(
        treatment("pla", data), data.subjects, store=Store(tmp_path / "b"), n_jobs=2, **settings
    )
    np.testing.assert_array_equal(one.paths, two.paths)


def test_finished_subjects_are_not_fitted_again(study, tmp_path, monkeypatch):
    from plaggm.fmri import networks

    data, _ = study
    settings = dict(
        criterion="aic", store=Store(tmp_path), problems=Problems(), settings={}, n_jobs=1
    )
    first = fit_subjects(treatment("lr", data), data.subjects, **settings)
    for path in list((tmp_path / "networks-lr").glob("*.npz"))[:3]:
        path.unlink()
    fitted = []
    original = networks.subject_path

    def spy(problem, *rest):
        fitted.append(problem)
        return original(problem, *rest)

    monkeypatch.setattr(networks, "subject_path", spy)
    again = fit_subjects(treatment("lr", data), data.subjects, **settings)
    assert len(fitted) == 3
    np.testing.assert_array_equal(first.paths, again.paths)
    # Another setting is another problem.
    fit_subjects(treatment("lr", data), data.subjects, **{**settings, "settings": {"scrub": 1}})
    assert len(fitted) == 3 + len(data.subjects)


def test_scrubbing_away_too_much_is_reported(study, tmp_path):
    data, _ = study
    problems = Problems()
    found = fit_subjects(
        treatment("scrub", data, scrub=0.05),
        data.subjects,
        criterion="aic",
        store=Store(tmp_path),
        problems=problems,
        settings={},
        n_jobs=1,
    )
    assert problems.subjects() == {
        name for name, good in zip(found.subjects, found.usable, strict=True) if not good
    }
    assert len(problems) > 0
    assert "after scrubbing at 0.05 mm" in str(problems)


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """The smallest rate at which each hypothesis is rejected by the step-up rule, word for word."""
    m = len(p)
    ranked = np.sort(p)
    return np.array(
        [min(1.0, *(m * ranked[k] / (k + 1) for k in range(m) if ranked[k] >= one)) for one in p]
    )


def test_comparison_finds_what_differs_and_nothing_else():
    rng = np.random.default_rng(4)
    p, groups = 6, np.repeat([0, 1], 15)
    values = 0.2 * rng.standard_normal((30, 15))
    values[15:, 0] += 0.6
    found = compare_groups(values, groups, ("a", "b"), p, permutations=500, seed=1)
    table = found.edges(tuple("uvwxyz"))
    assert (table.loc[0, "source"], table.loc[0, "target"]) == ("u", "v")
    assert table.loc[0, "difference"] == pytest.approx(0.6, abs=0.2)
    assert table.loc[0, "p_family_wise"] < 0.01
    assert (table["p_family_wise"][1:] > 0.05).all()
    assert (table["p_value"] <= table["p_family_wise"] + 1e-12).all()
    np.testing.assert_allclose(table["p_fdr"], benjamini_hochberg(table["p_value"].to_numpy()))
    assert set(found.regions(tuple("uvwxyz"), None)["region"][:2]) == {"u", "v"}
    assert np.argwhere(found.declared(0.05)).tolist() == [[0, 1], [1, 0]]
    assert found.region_words(tuple("uvwxyz")).startswith("2 of 6 regions differ")
    # No region is said to differ without a p-value that says so.
    nothing = compare_groups(values[:, 1:11], groups, ("a", "b"), 5, permutations=50, seed=1)
    assert not nothing.declared(0.05).any()
    smallest = nothing.region_p_family.min()
    assert f"the smallest p-value is {smallest:.2g}" in nothing.region_words(tuple("uvwxy"))


def test_comparison_keeps_its_error_rate():
    """Under the null hypothesis the family-wise p-value of the largest edge is uniform."""
    rng = np.random.default_rng(5)
    smallest = []
    for seed in range(60):
        values = rng.standard_normal((16, 10)) * rng.choice([0.1, 3.0], 10)
        found = compare_groups(
            values, np.repeat([0, 1], 8), ("a", "b"), 5, permutations=99, seed=seed
        )
        smallest.append(pair_values(found.p_family).min())
    # Sixty draws of a uniform variable; 0.17 is its one-in-twenty limit of the Kolmogorov distance.
    assert stats.kstest(smallest, "uniform").statistic < 0.2


def test_comparison_against_scipy():
    pytest.importorskip("scipy", minversion="1.15", reason="permutation_test takes no rng")
    rng = np.random.default_rng(6)
    values = rng.standard_normal((20, 3))
    groups = np.repeat([0, 1], 10)
    found = compare_groups(values, groups, ("a", "b"), 3, permutations=2000, seed=0)
    expected = stats.permutation_test(
        (values[10:, 0], values[:10, 0]),
        lambda a, b, axis: stats.ttest_ind(a, b, axis=axis, equal_var=False).statistic,
        n_resamples=2000,
        vectorized=True,
        rng=0,
    ).pvalue
    assert found.p_value[0, 1] == pytest.approx(expected, abs=0.05)


def test_groups_of_one_cannot_be_compared():
    with pytest.raises(ValueError, match="two or more subjects"):
        compare_groups(np.zeros((3, 1)), np.array([0, 0, 1]), ("a", "b"), 2)


def test_residual_motion_sees_motion_and_distance():
    rng = np.random.default_rng(8)
    moved = rng.random(60)
    distances = from_pairs(np.linspace(10, 100, 45), 10)
    clean = rng.standard_normal((60, 45))
    # Short edges grow with motion, as they do in scans.
    driven = clean + 6.0 * moved[:, None] * np.linspace(1, 0, 45)
    left, quiet = (
        residual_motion(driven, moved, distances),
        residual_motion(clean, moved, distances),
    )
    assert left.significant > 0.5 > 0.2 > quiet.significant
    assert left.short_range_excess > 0.2 > abs(quiet.short_range_excess)
    assert left.short_range_p_value < 0.01 < left.chance < 0.3
    assert left.p_value < 0.01 < quiet.p_value
    assert list(left.lengths["edges"]) == [8, 7, 8, 7, 8, 7]
    assert left.lengths["mean_correlation"].is_monotonic_decreasing
    assert left.regressed < 0.2
    assert np.count_nonzero(left.q_value <= 0.05) > 20 > 1 > np.count_nonzero(quiet.q_value <= 0.05)
    expected = stats.pearsonr(driven[:, 3], moved).statistic
    assert left.correlation[3] == pytest.approx(expected)
    assert residual_motion(clean, np.full(60, np.nan), distances) is None


def test_classifier_learns_its_scale_from_the_training_rows():
    rng = np.random.default_rng(9)
    x, x_new = rng.standard_normal((60, 5)) + 3.0, rng.standard_normal((4, 5))
    y = (x[:, 0] + 0.5 * rng.standard_normal(60) > 3.0).astype(int)
    path = logistic_lasso((x - x.mean(axis=0)) / x.std(), y, PATH, tol=TOL)
    expected = (x_new - x.mean(axis=0)) / x.std() @ path.weights.T + path.intercepts
    scores, aic = logistic_path(x, y, x_new, PATH)
    np.testing.assert_allclose(scores, expected.T, atol=1e-12)
    np.testing.assert_allclose(aic, path_aic((x - x.mean(axis=0)) / x.std(), y, path))
    assert not logistic_path(np.ones((60, 5)), y, x_new, PATH)[0].any()


def test_classifiers_in_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(16)
    x = rng.standard_normal((40, 300)) * (rng.random((40, 300)) < 0.3)
    labels = [rng.permutation(np.repeat([0, 1], 20)) for _ in range(8)]

    def scores(y: np.ndarray) -> np.ndarray:
        return logistic_path(x[:36], y[:36], x[36:], PATH)[0]

    alone = [scores(y) for y in labels]
    with ThreadPoolExecutor(4) as threads:
        for k, together in enumerate(threads.map(scores, labels * 3)):
            np.testing.assert_array_equal(together, alone[k % len(labels)])


def test_interval_is_wider_than_that_of_independent_folds():
    rng = np.random.default_rng(10)
    folds = 0.7 + 0.1 * rng.standard_normal(30)
    mean, low, high = repeated_interval(folds, 1 / 9)
    naive = stats.t.ppf(0.975, 29) * folds.std(ddof=1) / np.sqrt(30)
    assert mean == pytest.approx(folds.mean())
    assert high - mean > 1.5 * naive
    assert mean - low > 1.5 * naive


def test_folds_learn_from_training_subjects_alone(study):
    """What a fold makes of its training subjects must not depend on its test subjects' data.

    R of PLA-GGM does neither, given what all subjects settle without labels: see test_shared_nuisance.
    """
    data, _ = study
    y = data.membership
    folds = splits(y, 1, 0)[:1]
    train, test = folds[0]
    subjects = list(data.subjects)
    before = fold_features(treatment("lr", data), subjects, folds, criterion="shrinkage")[0]
    rng = np.random.default_rng(11)
    for k in test:
        one = subjects[k]
        subjects[k] = Subject(
            one.name, one.group, standardised(rng.standard_normal(one.x.shape)), one.confounder
        )
    after = fold_features(treatment("lr", data), subjects, folds, criterion="shrinkage")[0]
    np.testing.assert_array_equal(before.values[train], after.values[train])
    assert np.any(before.values[test] != after.values[test])


def test_finished_folds_are_taken_from_the_store(study, tmp_path, monkeypatch):
    from plaggm.fmri import fold_networks

    data, _ = study
    folds = splits(data.membership, 1, 0)[:3]
    settings = dict(criterion="aic", store=Store(tmp_path), settings={}, n_jobs=1)
    first = fold_features(treatment("lr", data), data.subjects, folds[:2], **settings)
    made = []
    original = fold_networks._one_fold

    def spy(*rest):
        made.append(rest)
        return original(*rest)

    monkeypatch.setattr(fold_networks, "_one_fold", spy)
    again = fold_features(treatment("lr", data), data.subjects, folds, **settings)
    assert len(made) == 1
    np.testing.assert_array_equal(first[1].values, again[1].values)
    assert again[1].alpha == first[1].alpha


def test_subjects_by_themselves_are_the_same_in_every_fold(study):
    data, _ = study
    folds = splits(data.membership, 1, 0)[:2]
    one, two = fold_features(
        treatment("pla-own", data), data.subjects, folds, criterion="bic", n_jobs=1
    )
    np.testing.assert_array_equal(one.values, two.values)
    assert one.values.shape == (len(data.subjects), 28)


def test_classification_of_a_strong_difference(tmp_path, monkeypatch):
    rng = np.random.default_rng(14)
    y = np.repeat([0, 1], 12)
    values = rng.standard_normal((24, 10))
    values[:, 2] += 2.5 * y
    cut = StratifiedKFold(4, shuffle=True, random_state=0).split(values, y)
    features = [FoldFeatures(train, test, values, 0.1) for train, test in cut]
    settings = dict(criterion="aic", store=Store(tmp_path), n_jobs=1)
    found = classify("pla", features, y, kind="values", permutations=19, **settings)
    # More subjects than columns: glmnet's grid goes down to a ten-thousandth.
    np.testing.assert_allclose(found.parts, glmnet_parts(18, 10))
    assert found.path_auc.shape == found.parts.shape
    assert found.by_aic[1] <= found.by_aic[0] <= found.by_aic[2]
    assert found.by_aic[0] > 0.8
    assert np.all(found.path_low <= found.path_auc)
    assert np.all(found.path_auc <= found.path_high)
    assert found.auc > 0.85
    assert found.p_value == pytest.approx(1 / 20)
    # Signs alone know less.
    signs = classify("pla", features, y, kind="signs", **settings)
    assert np.isnan(signs.p_value)
    assert 0.5 < signs.auc <= found.auc
    # What is finished is not computed again; other labels are another question.
    from plaggm.fmri import diagnosis

    monkeypatch.setattr(diagnosis, "fold_aucs", None)
    again = classify("pla", features, y, kind="values", permutations=19, **settings)
    assert (again.auc, again.low, again.p_value) == (found.auc, found.low, found.p_value)
    np.testing.assert_array_equal(again.path_high, found.path_high)
    with pytest.raises(TypeError):
        classify("pla", features, 1 - y, kind="values", permutations=19, **settings)


def test_motion_alone():
    y = np.repeat([0, 1], 20)
    folds = splits(y, 2, 0)
    rng = np.random.default_rng(12)
    auc, low, high = motion_auc(rng.random(40) + y, y, folds)
    assert auc == pytest.approx(1.0)
    # Direction is learnt: patients who move less are found as well.
    assert motion_auc(rng.random(40) - y, y, folds)[0] == pytest.approx(1.0)
    assert low <= auc <= high


def test_simulated_motion_is_like_the_measured():
    motion = simulated_motion(40, seed=1)
    moved = motion.displacement
    assert np.median(moved[:, 1:]) == pytest.approx(0.23, abs=0.01)
    means = moved.mean(axis=1)
    assert means[motion.patient].mean() > 1.2 * means[~motion.patient].mean()
    # Bursts: the mean is well above the median.
    assert moved.mean() > 1.2 * np.median(moved)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((0, 0), np.inf, "subject 'a' has something else at volume 1"),
        ((1, 3), np.nan, "subject 'b' has something else at volume 4"),
        ((1, 2), -0.1, "subject 'b' has something else at volume 3"),
        (slice(None), 0.0, "no motion to add"),
        (slice(1, None), "x", "motion that is no number"),
    ],
)
def test_motion_that_cannot_be_used(tmp_path, place, value, said):
    motion = np.full((2, 5, 1), 0.1, dtype=type(value) if isinstance(value, str) else float)
    motion[place] = value
    path = tmp_path / "motion.npz"
    np.savez(path, motion=motion, subject=np.array(["a", "b"]), column=np.array(["fd"]))
    with pytest.raises(StudyError, match=said):
        measured_motion(path)
    np.savez(path, motion=motion[:1], subject=np.array(["a"]), column=np.array(["fd"]))
    with pytest.raises(StudyError):
        measured_motion(path)


def test_first_volume_of_measured_motion_may_be_missing(tmp_path):
    motion = np.full((2, 5, 1), 0.1)
    motion[:, 0] = np.nan
    path = tmp_path / "motion.npz"
    np.savez(path, motion=motion, subject=np.array(["a", "b"]), column=np.array(["fd"]))
    np.testing.assert_array_equal(measured_motion(path).displacement[0], [0, 0.1, 0.1, 0.1, 0.1])


def test_measured_motion(tmp_path):
    rng = np.random.default_rng(13)
    path = tmp_path / "cobre_motion.npz"
    np.savez(
        path,
        motion=rng.random((6, 30, 2)),
        subject=np.array([f"004000{k}" for k in range(6)]),
        column=np.array(["rot_x", "fd"]),
    )
    assert list(measured_motion(path).patient) == [False, True] * 3
    (tmp_path / "cobre_participants.csv").write_text(
        "id,diagnosis\n40000,Control\n40001,Schizophrenia\n40002,Control\n40003,Schizophrenia\n"
    )
    motion = measured_motion(path)
    assert list(motion.patient) == [False, True, False, True]
    data, omega = semisynthetic_study(motion, seed=0, matched=False, regions=5)
    assert omega.shape == (2, 5, 5)
    assert [subject.group for subject in data.subjects] == ["control"] * 2 + ["patient"] * 2


def test_difference_recovery():
    """A comparison that knows the truth finds all of it and nothing else."""
    rng = np.random.default_rng(15)
    p, omega = 6, np.zeros((2, 6, 6))
    omega[1, 0, 1] = omega[1, 1, 0] = 0.6
    values = 0.1 * rng.standard_normal((30, 15)) + np.repeat(pair_values(omega), 15, axis=0)
    found = compare_groups(values, np.repeat([0, 1], 15), ("a", "b"), p, permutations=500, seed=1)
    row = difference_recovery(omega, {"pla": found}).iloc[0]
    assert found.finest_fdr == pytest.approx(15 / 501)
    assert (row["true_differences"], row["found"], row["found_wrongly"]) == (1, 1, 0)
    assert row["auc"] == pytest.approx(1.0)
    assert row["region_correlation"] > 0.7


def test_matched_motion_says_nothing_about_the_diagnosis():
    motion = simulated_motion(60, seed=2)
    apart, _ = semisynthetic_study(motion, seed=0, matched=False, regions=4)
    mixed, _ = semisynthetic_study(motion, seed=0, matched=True, regions=4)

    def distance(data) -> float:
        moved = data.mean_displacement
        return abs(
            stats.ttest_ind(moved[data.membership == 1], moved[data.membership == 0]).statistic
        )

    assert distance(apart) > 3.0 > distance(mixed)


def test_a_store_does_not_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker processes may have been started elsewhere."""
    monkeypatch.chdir(tmp_path)
    store = Store(Path("here"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    store.put("kind", "name", "key", value=np.ones(2))
    assert (tmp_path / "here").is_dir()
    assert store.get("kind", "name", "key") is not None
