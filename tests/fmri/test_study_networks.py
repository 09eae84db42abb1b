"""All networks of a study together: workers, order, interruption and what is taken from the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.lasso.path import solve_path
from plaggm.data.norm_index import norm_index
from plaggm.fmri import Problems, fit_subjects, networks, pooled_networks, study_networks
from plaggm.fmri.levels import confounder_sizes, learn_levels
from plaggm.fmri.scan_filter import learn_scan_filter
from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
from plaggm.fmri.study_networks import fit_networks
from plaggm.fmri.treatments import METHODS, SCAN_RIDGE, make_treatment, method_estimator
from plaggm.resume import Store

METHODS_HERE = ("lr", "pla")
SHARED = dict(
    estimator=PLAGGM(n_jobs=1), criterion="bic", subject_criterion="aic", scrub=5.0, settings={}
)


class Interrupted(Exception):
    """What a user does."""


@pytest.fixture(scope="module")
def data():
    motion = simulated_motion(6, seed=0, volumes=80)
    return semisynthetic_study(motion, difference=0.5, seed=3, per_group=6, regions=8)[0]


def few_of_each_group(data):
    """The study of three people of each group."""
    return replace(data, subjects=[one for group in data.groups for one in data.of(group)[:3]])


def fit(data, folder, methods=METHODS_HERE, **options):
    settings = {**SHARED, "store": Store(folder), "problems": Problems(), "n_jobs": 1, **options}
    return fit_networks(methods, data, **settings)


def count_calls(monkeypatch, module, name):
    """How often a function of a module is called from now on, by what it is called with first."""
    calls, original = [], getattr(module, name)

    def spy(first, *rest, **options):
        calls.append((first, *options.values()))
        return original(first, *rest, **options)

    monkeypatch.setattr(module, name, spy)
    return calls


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """Networks of people and of groups by both methods, fitted without interruption by one worker."""
    return fit(data, tmp_path_factory.mktemp("whole"))


def test_workers_change_nothing(data, whole, tmp_path):
    one, pooled_one = whole
    two, pooled_two = fit(data, tmp_path, n_jobs=2)
    pairs = [(method, group) for method in METHODS_HERE for group in data.groups]
    assert list(one) == list(two) == list(METHODS_HERE)
    assert list(pooled_one) == list(pooled_two) == pairs
    for method in METHODS_HERE:
        assert two[method].subjects == tuple(subject.name for subject in data.subjects)
        np.testing.assert_array_equal(one[method].paths, two[method].paths)
        np.testing.assert_array_equal(one[method].criterion, two[method].criterion)
    for method, group in pairs:
        ours, theirs = pooled_two[method, group], pooled_one[method, group]
        np.testing.assert_array_equal(ours.omega, theirs.omega)
        assert (ours.settings["method"], ours.settings["group"]) == (METHODS[method], group)


def test_learning_beside_the_groups_changes_nothing(data, tmp_path):
    together, _ = fit(data, tmp_path / "together", n_jobs=2)
    alone = fit_subjects(
        make_treatment("pla", SHARED["estimator"], data.confounder_names),
        data.subjects,
        criterion="aic",
        store=Store(tmp_path / "alone"),
        problems=Problems(),
        settings={},
        n_jobs=1,
    )
    np.testing.assert_array_equal(together["pla"].steps, alone.steps)
    np.testing.assert_array_equal(together["pla"].paths, alone.paths)


@pytest.mark.parametrize("workers", [1, 3])
def test_long_work_starts_first(data, tmp_path, monkeypatch, workers):
    """Learning, and one group for each worker to spare; then the other groups; then the subjects."""
    data = few_of_each_group(data)
    calls, original = [], study_networks.in_turn

    def spy(n_jobs, names, **options):
        calls.append(names)
        return original(1, names, **options)

    monkeypatch.setattr(study_networks, "in_turn", spy)
    fit(data, tmp_path, n_jobs=workers)
    learning = [f"what the subjects share by {METHODS[method]}" for method in ("pla", "lr")]
    groups = [
        f"the network of {group} by {METHODS[method]}"
        for method in ("pla", "lr")
        for group in data.groups
    ]
    people = 2 * [subject.name for subject in data.subjects]
    assert calls == [
        learning + groups[: workers - 1],
        groups[workers - 1 :] + people,
    ]


def test_every_subject_is_told_in_turn(data, tmp_path):
    told = []
    fit(data, tmp_path, n_jobs=2, progress=lambda *news: told.append(news))
    n = len(data.subjects)
    for method in METHODS_HERE:
        title = f"{METHODS[method]}: subjects"
        assert [news[1:] for news in told if news[0] == title] == [(k, n) for k in range(1, n + 1)]
    first = [news[1:] for news in told if "groups" in news[0]]
    assert first == [(done, 6) for done in range(7)]


def test_who_fails_takes_nobody_along(data, tmp_path):
    still = replace(data.subjects[4], displacement=None)
    people = tuple(still if k == 4 else one for k, one in enumerate(data.subjects))
    problems = Problems()
    found = fit_subjects(
        make_treatment("scrub", PLAGGM(), data.confounder_names, 5.0),
        people,
        criterion="aic",
        store=Store(tmp_path),
        problems=problems,
        settings={},
        n_jobs=2,
    )
    assert np.flatnonzero(~found.usable).tolist() == [4]
    assert [row.subject for row in problems] == [still.name]


def test_interrupted_study_goes_on_with_who_is_missing(data, whole, tmp_path, monkeypatch):
    def interrupt(title, done, total):
        if title.endswith(": subjects") and done == 5:
            raise Interrupted

    with pytest.raises(Interrupted):
        fit(data, tmp_path, progress=interrupt)
    kept = [path.name for path in (tmp_path / "networks-lr").glob("*.npz")]
    assert len(kept) == 5
    told = []
    fitted = count_calls(monkeypatch, networks, "subject_path")
    again, _ = fit(data, tmp_path, progress=lambda *news: told.append(news))
    n = len(data.subjects)
    assert len(fitted) == 2 * n - 5
    assert [news[1] for news in told if news[0] == "LR-GGM: subjects"] == list(range(6, n + 1))
    for method in METHODS_HERE:
        np.testing.assert_array_equal(again[method].paths, whole[0][method].paths)


# joblib says how many pieces of work it drops.
@pytest.mark.filterwarnings("ignore:.*tasks:UserWarning")
def test_workers_keep_what_they_finished(data, tmp_path):
    def interrupt(title, done, total):
        if title.endswith(": subjects") and done == 5:
            raise Interrupted

    with pytest.raises(Interrupted):
        fit(data, tmp_path, n_jobs=2, progress=interrupt)
    assert len(list((tmp_path / "networks-lr").glob("[!.]*.npz"))) >= 5


def test_finished_study_learns_nothing(data, tmp_path, monkeypatch):
    data = few_of_each_group(data)
    first, _ = fit(data, tmp_path)
    learnt = count_calls(monkeypatch, study_networks, "learn_shared")
    again, _ = fit(data, tmp_path)
    assert not learnt
    for method in METHODS_HERE:
        np.testing.assert_array_equal(again[method].paths, first[method].paths)
        np.testing.assert_array_equal(again[method].steps, first[method].steps)
    # One subject's piece is enough to need it, of that method alone.
    next((tmp_path / "networks-lr").glob("*.npz")).unlink()
    fit(data, tmp_path)
    assert [treatment.name for treatment, *_ in learnt] == ["lr"]


def test_volumes_of_a_subject_are_tested_together(data, tmp_path):
    """The tests of a group are those of PLAGGMCV with a group for each subject, on levelled series."""
    _, pooled = fit(data, tmp_path, ("pla",), fdr=0.2)
    found = pooled["pla", "patient"]
    people = data.of("patient")
    levels = learn_levels(people, confounder_sizes(data.subjects))
    x = np.concatenate([levels.levelled(one) for one in people])
    motion = np.concatenate([one.confounder for one in people])
    names = np.repeat([one.name for one in people], [len(one.x) for one in people])
    model = PLAGGMCV(criterion="bic").fit(x, confounder=motion, groups=names)
    with pytest.warns(UserWarning, match=pooled_networks.FEW_SUBJECTS):
        expected = model.inference()
    np.testing.assert_allclose(found.edge_table.q_value, expected["q_value"], rtol=1e-6)
    assert found.fdr == 0.2
    np.testing.assert_array_equal(found.network, found.edge_table.network(0.2))


def test_penalty_can_decide(data, tmp_path):
    _, pooled = fit(data, tmp_path, ("pla", "lr"), fdr=None)
    for found in pooled.values():
        assert found.fdr is None
        np.testing.assert_array_equal(
            found.adjacency, (found.omega != 0.0) & ~np.eye(8, dtype=bool)
        )


def test_clusters_hold_whole_subjects(data, monkeypatch):
    owner = np.repeat(np.arange(12), 80)
    clusters = pooled_networks.subject_clusters(data.subjects)
    assert len(np.unique(clusters)) == len(np.unique(12 * clusters + owner)) == 12
    # Where sums are large: as few clusters as folds.
    monkeypatch.setattr(pooled_networks, "CLUSTER_BYTES", 1)
    clusters = pooled_networks.subject_clusters(data.subjects)
    assert len(np.unique(clusters)) == 10
    assert len(np.unique(12 * clusters + owner)) == 12


def test_groups_that_two_methods_pool_alike_are_fitted_once(data, tmp_path, monkeypatch):
    calls = count_calls(monkeypatch, study_networks, "fit_group")
    _, groups = fit(few_of_each_group(data), tmp_path, methods=("pla", "pla-own"))
    assert [method for method, *_ in calls] == ["pla", "pla"]
    for group in data.groups:
        one, other = groups["pla", group], groups["pla-own", group]
        np.testing.assert_array_equal(one.omega, other.omega)
        assert [one.settings["method"], other.settings["method"]] == [
            METHODS["pla"],
            METHODS["pla-own"],
        ]


def test_finished_groups_are_not_fitted_again(data, tmp_path, monkeypatch):
    methods = ("lr", "scrub")
    _, first = fit(data, tmp_path, methods)
    damaged = next((tmp_path / "groups-lr").glob("patient-*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:200])
    fitted = count_calls(monkeypatch, study_networks, "fit_group")
    _, again = fit(data, tmp_path, methods)
    assert [(method, label) for method, *_, label in fitted] == [("lr", "patient")]
    for pair, result in again.items():
        np.testing.assert_array_equal(result.omega, first[pair].omega)
        assert result.settings == first[pair].settings
        assert result.diagnostics == first[pair].diagnostics
    # Another criterion is another network.
    fit(data, tmp_path, ("lr",), criterion="aic")
    assert Counter(label for _, *_, label in fitted[1:]) == {"control": 1, "patient": 1}


class TestScansAreSeries:
    """With ``temporal`` every scan is a time series, whitened by one filter for all."""

    RHO = 0.7

    @pytest.fixture(scope="class")
    @staticmethod
    def scans(data):
        """The study with noise that remembers the volume before."""

        def remember(one):
            return replace(one, x=lfilter([1.0], [1.0, -TestScansAreSeries.RHO], one.x, axis=0))

        return replace(data, subjects=tuple(map(remember, data.subjects)))

    def test_filter_is_shared_and_never_bridges_scans(self, scans):
        series = [one.x - one.x.mean(axis=0) for one in scans.subjects]
        found = learn_scan_filter(1, series)
        (a,) = found.autoregression.coefficients
        assert a == pytest.approx(self.RHO, abs=0.06)
        white = found.apply(series[3])
        np.testing.assert_allclose(white[0], np.sqrt(1 - a**2) * series[3][0])
        np.testing.assert_allclose(white[1:], series[3][1:] - a * series[3][:-1])
        # The order of the scans, whose ends would meet, has no part in it.
        turned = learn_scan_filter(1, series[::-1])
        np.testing.assert_allclose(turned.autoregression.coefficients, [a], rtol=1e-10)

    def test_dropped_volumes_are_never_bridged(self, scans):
        limit = float(np.median(np.concatenate([one.displacement for one in scans.subjects])))
        treatment = make_treatment("scrub", PLAGGM(temporal=1), scans.confounder_names, limit)
        one = max(scans.subjects, key=lambda one: np.sum(one.displacement <= limit))
        kept = np.flatnonzero(one.displacement <= limit)
        learnt = treatment.learn([one])
        (a,) = learnt.scan_filter.autoregression.coefficients
        rows = learnt.problem(one).columns[:, :-1] * learnt.sigma
        used = one.x[kept]
        used = (used - used.mean(axis=0)) / used.std(axis=0)
        for place in range(len(kept)):
            follows = place and kept[place] == kept[place - 1] + 1
            expected = (
                used[place] - a * used[place - 1] if follows else np.sqrt(1 - a**2) * used[place]
            )
            np.testing.assert_allclose(rows[place], expected, atol=1e-10)

    @pytest.mark.parametrize("method", METHODS)
    def test_subjects_and_groups_are_those_of_whitened_series(self, scans, tmp_path, method):
        scans = few_of_each_group(scans)
        own = {"smoother": "kernel", "ridge": 0.01} if method == "kernel" else {}
        estimator = PLAGGM(temporal="ar", n_jobs=1, **own)
        people, groups = fit(scans, tmp_path, (method,), estimator=estimator)
        assert people[method].usable.all()
        independent = PLAGGM(n_jobs=1, **own)
        plain, _ = fit(scans, tmp_path / "plain", (method,), estimator=independent)
        assert np.abs(people[method].values - plain[method].values).max() > 0.05
        for group in scans.groups:
            told = groups[method, group].diagnostics
            assert told["ar_order"] >= 1
            assert told["n_runs"] >= len(scans.of(group))
            assert told["lag1_correlation"] == pytest.approx(self.RHO, abs=0.12)
            if method in ("pla", "pla-own"):
                assert told["confounding_method"] == "circular shifts"

    def test_whitening_finds_the_network_of_the_innovations(self, data, scans, tmp_path):
        """Networks of whitened series resemble those of the series before they remembered."""
        whitened, _ = fit(
            scans, tmp_path / "white", ("raw",), estimator=PLAGGM(temporal="ar", n_jobs=1)
        )
        before, _ = fit(data, tmp_path / "before", ("raw",))
        plain, _ = fit(scans, tmp_path / "plain", ("raw",))
        away = [
            np.abs(found["raw"].values - before["raw"].values).mean() for found in (whitened, plain)
        ]
        assert away[0] < 0.5 * away[1]


@pytest.mark.parametrize("columns", [1, 3])
def test_the_papers_estimator_on_groups_and_subjects(data, tmp_path, columns):
    rng = np.random.default_rng(0)

    def moved(subject):
        more = rng.normal(size=(len(subject.x), columns - 1))
        return replace(subject, confounder=np.column_stack([subject.confounder, more]))

    names = ("fd", "x", "y")[:columns]
    wide = replace(
        data, subjects=[moved(subject) for subject in data.subjects], confounder_names=names
    )
    people, groups = fit(wide, tmp_path, methods=("paper",))
    assert people["paper"].usable.all()
    for group in wide.groups:
        found = groups["paper", group]
        assert found.settings["indicator"] == "soft"
        assert (found.settings["form"], found.settings["variance"]) == ("lemma", "unit")
        assert found.settings["ridge"] == 0.0
        assert len(found.confounder_names) == 1
        # The penalty declares its edges.
        assert found.fdr is None
    subject = wide.subjects[0]
    treatment = make_treatment("paper", SHARED["estimator"], names)
    moved_by, _ = norm_index(pd.DataFrame(subject.confounder, columns=list(names)))
    alone = PLAGGM(
        smoother="kernel",
        indicator="soft",
        form="lemma",
        variance="unit",
        standardize=True,
        ridge=SCAN_RIDGE,
        threshold=0.578 * moved_by.abs().to_numpy().max(),
    ).fit(subject.x, confounder=moved_by)
    problem = treatment.problem(subject)
    assert problem.data.model.threshold == alone.threshold_
    path = solve_path(problem.grams(), np.array([alone.alpha_]), tol=1e-9)
    np.testing.assert_allclose(path.omega[0], alone.omega_, atol=1e-4)


def test_volumes_that_move_alone_do_not_stop_the_papers_pooled_network(data, monkeypatch):
    subjects = list(data.of(data.groups[0]))
    top = max(one.confounder.max() for one in subjects)
    moved = subjects[0].confounder.copy()
    # Nothing but each other is in the windows of these.
    moved[40:43, 0] = np.array([18.0, 19.0, 20.0]) * top
    subjects[0] = replace(subjects[0], confounder=moved)
    narrow = method_estimator("paper", SHARED["estimator"]).set_params(bandwidth=top)
    monkeypatch.setattr(pooled_networks, "method_estimator", lambda *_: narrow)
    choice = {"estimator": SHARED["estimator"], "criterion": "bic", "scrub": 5.0}
    found = pooled_networks.fit_group("paper", data, subjects, label="one", **choice)
    assert np.isfinite(found.omega).all()
    assert found.settings["ridge"] == SCAN_RIDGE
    assert pooled_networks.RIDGED in found.diagnostics[pooled_networks.NOTES]


def test_the_method_kernel_needs_a_kernel(data):
    with pytest.raises(ValueError, match="needs an estimator with smoother='kernel'"):
        make_treatment("kernel", PLAGGM(), data.confounder_names)
