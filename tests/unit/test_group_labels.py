"""Groups of rows: folds that keep them together, and drawing them again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    cross_validate,
)

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.core.profile.profilers import SplineSubsets
from plaggm.estimators import row_statistics
from plaggm.group_labels import group_numbers
from plaggm.selection import common_subsets
from plaggm.simulate import simulate_paper

P, SUBJECTS = 5, 12
AGREEMENT = 1e-8
EXACT = dict(tol=1e-12, max_iter=10_000)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    made = simulate_paper(P, n=600, seed=3, even=True, threshold=60.0)
    rng = np.random.default_rng(0)
    subject = rng.permutation(np.repeat([f"sub-{k:02d}" for k in range(SUBJECTS)], 50))
    return made.x, made.confounder, subject


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([(1, "a"), (2, "a")], r"one run for each of the 2 rows; got shape \(2, 2\)"),
        ([1, (1,)], r"text or numbers, one for each row; got \(1,\)"),
    ],
)
def test_labels_are_single_values(labels: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        group_numbers(labels, 2, name="runs")


class TestParts:
    @pytest.mark.parametrize("groups", [None, np.arange(40) % 4])
    @pytest.mark.parametrize(
        "cv",
        [
            KFold(5),
            KFold(3, shuffle=True, random_state=0),
            RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        ],
    )
    def test_folds_and_groups_are_unions(self, cv: Any, groups: np.ndarray | None) -> None:
        folds = list(cv.split(np.zeros(40)))
        parts = common_subsets(folds, 40, groups)
        assert len(np.unique(parts.labels)) == parts.count
        for rows, sets in zip(folds, parts.folds, strict=True):
            for mine, ours in zip(rows, sets, strict=True):
                np.testing.assert_array_equal(
                    np.flatnonzero(np.isin(parts.labels, ours)), np.sort(mine)
                )
        if groups is not None:
            np.testing.assert_array_equal(parts.groups[parts.labels], groups)

    def test_as_few_as_can_be(self) -> None:
        assert common_subsets(list(KFold(7).split(np.zeros(50))), 50).count == 7
        groups = np.arange(60) % 6
        folds = list(LeaveOneGroupOut().split(np.zeros(60), groups=groups))
        assert common_subsets(folds, 60, groups).count == 6
        assert common_subsets([], 10).count == 1

    def test_rows_that_no_fold_has(self) -> None:
        parts = common_subsets([(np.arange(3), np.arange(3, 5))], 8)
        np.testing.assert_array_equal(parts.labels, [0, 0, 0, 1, 1, 2, 2, 2])

    def test_numbers(self) -> None:
        numbers, found = group_numbers(np.array(["b", "a", "b"], dtype=object), 3)
        np.testing.assert_array_equal(numbers, [0, 1, 0])
        assert list(found) == ["b", "a"]
        with pytest.raises(ValueError, match=r"one group for each of the 4 rows; got shape \(3,\)"):
            group_numbers([1, 2, 3], 4)
        with pytest.raises(ValueError, match=r"groups has no value in row 1"):
            group_numbers([1.0, np.nan, 2.0], 3)
        with pytest.raises(ValueError, match=r"groups has a single value"):
            group_numbers(["a", "a"], 2)

    @pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
    def test_a_missing_label_beside_text(self, missing: Any) -> None:
        with pytest.raises(ValueError, match="no value in row 1 of this chunk"):
            group_numbers(["a", missing, "b"], 3, where=" of this chunk")

    def test_labels_of_another_kind(self) -> None:
        with pytest.raises(ValueError, match="groups must hold text or numbers"):
            group_numbers([{}, {}, {}], 3)


class TestCrossValidation:
    @pytest.mark.parametrize("variance", ["function", "conditional"])
    @pytest.mark.parametrize("cv", [LeaveOneGroupOut(), GroupKFold(4)], ids=["leave-one", "k-fold"])
    def test_by_parts_equals_by_rows(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray], cv: Any, variance: str
    ) -> None:
        x, g, subject = data
        model = PLAGGMCV(alphas=5, cv=cv, variance=variance, threshold=60.0, **EXACT)
        found = clone(model).fit(x, confounder=g, groups=subject)
        folds = list(cv.split(x, groups=subject))
        assert found.cv_loss_.shape == (5, len(folds))
        # A list of folds knows nothing of groups.
        rows = model.set_params(cv=folds).fit(x, confounder=g)
        np.testing.assert_allclose(found.cv_loss_, rows.cv_loss_, rtol=AGREEMENT)
        np.testing.assert_allclose(found.omega_, rows.omega_, atol=AGREEMENT)
        chunks = [(x[:77], g[:77], subject[:77]), (x[77:], g[77:], subject[77:])]
        streamed = model.set_params(cv=cv).fit_chunks(chunks)
        np.testing.assert_allclose(streamed.cv_loss_, found.cv_loss_, rtol=AGREEMENT)

    def test_profiler_of_parts_equals_that_of_rows(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        x, g, subject = data
        rows = PLAGGM(threshold=60.0).fit(x, confounder=g)._network.problem.model.profiler
        numbers = group_numbers(subject, len(x))[0]
        parts = rows.in_subsets(numbers, SUBJECTS)
        assert parts.n == SUBJECTS
        train, test = np.arange(3, SUBJECTS), np.arange(3)
        assert parts.rows(test) == 150
        mine = np.isin(numbers, test)
        for found, expected in (
            *zip(
                parts.split(train, test),
                rows.split(np.flatnonzero(~mine), np.flatnonzero(mine)),
                strict=True,
            ),
            # Other parts left out altogether: nothing to subtract from.
            *zip(
                parts.split(train[:4], test),
                rows.split(np.flatnonzero(np.isin(numbers, train[:4])), np.flatnonzero(mine)),
                strict=True,
            ),
            (parts.fitted(), rows.fitted()),
            (parts.fitted(test), rows.fitted(np.flatnonzero(mine))),
        ):
            assert found.n == expected.n
            np.testing.assert_allclose(found.grams, expected.grams, atol=AGREEMENT)

    def test_where_parts_are_too_large_rows_are_summed(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x, g, subject = data
        model = PLAGGMCV(alphas=4, cv=LeaveOneGroupOut(), threshold=60.0, **EXACT)
        small = clone(model).fit(x, confounder=g, groups=subject)
        assert isinstance(small._network.problem.model.profiler, SplineSubsets)
        monkeypatch.setattr(row_statistics, "MOST_BYTES", 1000)
        large = model.fit(x, confounder=g, groups=subject)
        assert not isinstance(large._network.problem.model.profiler, SplineSubsets)
        np.testing.assert_allclose(large.cv_loss_, small.cv_loss_, rtol=AGREEMENT)
        np.testing.assert_allclose(large.bootstrap(3).mean, small.bootstrap(3).mean, atol=AGREEMENT)

    def test_an_integer_divides_groups(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        x, g, subject = data
        model = PLAGGMCV(alphas=4, cv=3, threshold=60.0, **EXACT)
        found = clone(model).fit(x, confounder=g, groups=subject)
        cv = GroupKFold(3, shuffle=True, random_state=0)
        expected = clone(model).set_params(cv=cv).fit(x, confounder=g, groups=subject)
        np.testing.assert_array_equal(found.cv_loss_, expected.cv_loss_)
        with pytest.raises(ValueError, match=r"between 2 and groups=12 folds; got 13"):
            model.set_params(cv=13).fit(x, confounder=g, groups=subject)

    def test_the_kernel_and_no_confounder_take_groups_too(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        x, g, subject = data
        kernel = PLAGGMCV(alphas=3, cv=GroupKFold(3), smoother="kernel", threshold=60.0)
        assert kernel.fit(x, confounder=g, groups=subject).cv_loss_.shape == (3, 3)
        plain = PLAGGMCV(alphas=3, cv=LeaveOneGroupOut()).fit(x, groups=subject)
        assert plain.cv_loss_.shape == (3, SUBJECTS)

    def test_groups_are_missing(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        with pytest.raises(ValueError, match=r"divides groups of rows, and there are none"):
            PLAGGMCV(cv=LeaveOneGroupOut()).fit(data[0], confounder=data[1])

    def test_streams(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        x, g, subject = data
        design = PLAGGM(threshold=60.0).make_design(g, n_features=P)
        model = PLAGGMCV(alphas=4, cv=LeaveOneGroupOut(), threshold=60.0, **EXACT)
        whole = clone(model).fit(x, confounder=g, groups=subject)
        model.partial_fit(
            x[:301], confounder=g[:301], groups=subject[:301], design=design, refit=False
        )
        model.partial_fit(x[301:], confounder=g[301:], groups=subject[301:])
        # The stream numbers groups as they come, leave-one-group-out by their names.
        for loss in (model.cv_loss_, whole.cv_loss_):
            loss.sort(axis=1)
        np.testing.assert_allclose(model.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)

    def test_metadata_routing(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        x, g, subject = data
        with config_context(enable_metadata_routing=True):
            model = PLAGGMCV(alphas=3, cv=GroupKFold(3), threshold=60.0)
            model.set_fit_request(confounder=True, groups=True).set_score_request(confounder=True)
            found = cross_validate(
                model,
                x,
                cv=GroupKFold(2),
                params={"confounder": g, "groups": subject},
                return_estimator=True,
                error_score="raise",
            )
        assert np.all(np.isfinite(found["test_score"]))
        assert found["estimator"][0].cv_loss_.shape == (3, 3)
        assert found["estimator"][0].bootstrap(2).n_groups == SUBJECTS // 2


class TestBootstrap:
    def test_a_drawing_is_a_fit_to_the_drawn_rows(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        """Groups as often as they are drawn are rows as often as they occur."""
        x, g, subject = data
        model = PLAGGM(0.05, threshold=60.0, **EXACT).fit(x, confounder=g, groups=subject)
        groups = model._network.problem.groups
        assert isinstance(groups, SplineSubsets)
        numbers = group_numbers(subject, len(x))[0]
        counts = np.array([0, 3, 1, 1, 2, 0, 1, 1, 0, 1, 1, 1])
        rows = np.concatenate(
            [np.tile(np.flatnonzero(numbers == k), c) for k, c in enumerate(counts)]
        )
        expected = model._network.problem.model.profiler.fitted(rows)
        found = groups.resampled(counts)
        assert found.n == expected.n == len(rows)
        np.testing.assert_allclose(found.grams, expected.grams, atol=AGREEMENT)
        once = groups.resampled(np.ones(SUBJECTS, dtype=np.intp))
        np.testing.assert_allclose(
            once.grams, model._network.problem.model.node_grams.grams, atol=AGREEMENT
        )

    @pytest.mark.usefixtures("few_permutations")
    def test_frequencies(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray], tmp_path: Any
    ) -> None:
        x, g, subject = data
        model = PLAGGM(0.05, threshold=60.0).fit(x, confounder=g, groups=subject)
        assert model.to_result().stability is None
        found = model.bootstrap(30)
        assert (found.n_groups, found.n_resamples) == (SUBJECTS, 30)
        np.testing.assert_array_equal(found.frequency, found.frequency.T)
        np.testing.assert_allclose(found.frequency * 30, np.round(found.frequency * 30), atol=1e-9)
        assert not np.diagonal(found.frequency).any()
        size = np.abs(model.omega_ - np.diag(np.diagonal(model.omega_)))
        assert found.frequency[size > 0.7 * size.max()].min() > 0.8
        assert np.abs(found.mean - model.omega_).max() < 3.0 * found.standard_error.max()
        result = read_result(model.to_result().save(tmp_path / "r"))
        np.testing.assert_array_equal(result.stability, found.frequency)

    def test_seed_and_workers(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        x, g, subject = data
        alone, together = (
            PLAGGM(0.05, threshold=60.0, n_jobs=n_jobs).fit(x, confounder=g, groups=subject)
            for n_jobs in (1, 2)
        )
        first = alone.bootstrap(8, random_state=1)
        np.testing.assert_array_equal(first.mean, together.bootstrap(8, random_state=1).mean)
        assert np.any(first.mean != alone.bootstrap(8, random_state=2).mean)

    def test_every_way_to_fit(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        x, g, subject = data
        # In the order in which groups first appear, so that all ways number them alike.
        model = PLAGGMCV(alphas=4, cv=3, threshold=60.0, **EXACT)
        whole = clone(model).fit(x, confounder=g, groups=subject).bootstrap(6)
        chunked = clone(model).fit_chunks(
            [(x[:9], g[:9], subject[:9]), (x[9:], g[9:], subject[9:])]
        )
        np.testing.assert_allclose(chunked.bootstrap(6).mean, whole.mean, atol=AGREEMENT)
        single = PLAGGM(chunked.alpha_, threshold=60.0, **EXACT)
        design = single.make_design(g, n_features=P)
        single.partial_fit(x[:500], confounder=g[:500], groups=subject[:500], design=design)
        single.partial_fit(x[500:], confounder=g[500:], groups=subject[500:])
        np.testing.assert_allclose(single.bootstrap(6).mean, whole.mean, atol=AGREEMENT)
        stars = PLAGGMCV(alphas=4, criterion="bic", threshold=60.0).fit(x, groups=subject)
        assert stars.bootstrap(4).n_groups == SUBJECTS

    def test_what_cannot_be_drawn(self, data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        x, g, subject = data
        model = PLAGGM(threshold=60.0).fit_chunks([(x, g)])
        with pytest.raises(ValueError, match=r"draws the groups of the fit, of which there are"):
            model.bootstrap()
        kernel = PLAGGM(threshold=60.0, smoother="kernel").fit(x, confounder=g, groups=subject)
        with pytest.raises(ValueError, match=r"for smoother='spline'"):
            kernel.bootstrap()
        holes = x.copy()
        holes[3, 1] = np.nan
        incomplete = PLAGGM(threshold=60.0, missing="em").fit(holes, confounder=g)
        with pytest.raises(ValueError, match=r"or complete rows"):
            incomplete.bootstrap()
        model.fit(x, confounder=g, groups=subject)
        for odd in (1, 2.5, "ten"):
            with pytest.raises(
                ValueError, match=r"n_resamples must be a whole number of at least 2"
            ):
                model.bootstrap(odd)
        # A fit without groups forgets those of the fit before.
        model.bootstrap(2)
        assert not hasattr(model.fit(x, confounder=g), "edge_stability_")
        assert model.bootstrap(2).n_groups == len(x)

    @pytest.mark.usefixtures("few_permutations")
    def test_rows_without_groups_are_groups_of_one(
        self, data: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        x, g, _ = data
        x, g = x[::4], g[::4]
        rows = PLAGGM(0.05, threshold=60.0, **EXACT).fit(x, confounder=g)
        singly = PLAGGM(0.05, threshold=60.0, **EXACT)
        singly.fit(x, confounder=g, groups=np.arange(len(x)))
        found, expected = rows.bootstrap(3), singly.bootstrap(3)
        assert found.n_groups == len(x)
        np.testing.assert_allclose(found.mean, expected.mean, atol=AGREEMENT)
        np.testing.assert_array_equal(found.frequency, expected.frequency)
        assert rows.to_result().stability is not None
        plain = PLAGGM(0.05).fit(x)
        assert plain.bootstrap(3).frequency.max() <= 1.0
