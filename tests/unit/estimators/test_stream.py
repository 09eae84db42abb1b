"""Fits from chunks: the same as those from whole tables."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit
from sklearn.utils.validation import check_is_fitted

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.data import DependenceWarning
from plaggm.estimators import row_statistics
from plaggm.simulate import simulate_paper

P = 6
# What chunked and whole fits may differ by.
AGREEMENT = 1e-8
# The confounder is an amount, though its values do not look like one.
EXACT = dict(tol=1e-12, max_iter=10_000, reference="zero")


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """A confounder that shifts means, inflates variances and changes the network; rows in random order."""
    made = simulate_paper(P, n=700, seed=0, even=True, threshold=60.0)
    beyond = np.maximum(np.abs(made.confounder) - 60.0, 0.0)
    x = made.x * np.exp(0.002 * beyond)[:, None] + 0.003 * beyond[:, None]
    order = np.random.default_rng(0).permutation(700)
    return (x * [1.0, 5.0, 0.1, 1.0, 1.0, 2.0] + 30.0)[order], made.confounder[order]


def pieces(x: np.ndarray, g: np.ndarray, cuts: tuple[int, ...] = (90, 91, 500)) -> list[Any]:
    ends = (0, *cuts, len(x))
    return [(x[a:b], g[a:b]) for a, b in pairwise(ends)]


def assert_same(found: PLAGGM, expected: PLAGGM) -> None:
    for name in ("omega_", "scale_", "location_", "alpha_", "tau_", "threshold_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=AGREEMENT, atol=AGREEMENT
        )
    assert found._network.problem.model.unconfounded == expected._network.problem.model.unconfounded
    assert found.confounder_names_ == expected.confounder_names_


class TestFitChunks:
    @pytest.mark.parametrize("variance", ["function", "conditional", "unit"])
    def test_equals_fit(self, data: tuple[np.ndarray, np.ndarray], variance: str) -> None:
        x, g = data
        whole = PLAGGM(0.05, variance=variance, **EXACT).fit(x, confounder=g)
        found = PLAGGM(0.05, variance=variance, **EXACT).fit_chunks(pieces(x, g))
        assert_same(found, whole)
        at = np.array([-200.0, 10.0, 350.0])
        np.testing.assert_allclose(found.omega_at(at), whole.omega_at(at), atol=AGREEMENT)
        assert found.score(x, confounder=g) == pytest.approx(
            whole.score(x, confounder=g), rel=AGREEMENT
        )

    @pytest.mark.parametrize("standardize", [True, False])
    def test_units(self, data: tuple[np.ndarray, np.ndarray], standardize: bool) -> None:
        x, g = data
        model = PLAGGM(0.05, variance="conditional", standardize=standardize, **EXACT)
        whole = clone(model).fit(x, confounder=g)
        assert_same(model.fit_chunks(pieces(x, g)), whole)

    @pytest.mark.parametrize("variance", ["function", "conditional"])
    @pytest.mark.parametrize("criterion", ["cv", "bic"])
    def test_equals_fit_along_the_path(
        self, data: tuple[np.ndarray, np.ndarray], variance: str, criterion: str
    ) -> None:
        x, g = data
        folds = {"cv": 4} if criterion == "cv" else {}
        model = PLAGGMCV(alphas=8, variance=variance, criterion=criterion, **folds, **EXACT)
        whole = clone(model).fit(x, confounder=g)
        found = model.fit_chunks(pieces(x, g))
        assert_same(found, whole)
        np.testing.assert_allclose(
            found.criterion_path_, whole.criterion_path_, rtol=AGREEMENT, atol=AGREEMENT
        )
        np.testing.assert_allclose(found.omega_path_, whole.omega_path_, atol=AGREEMENT)

    @pytest.mark.parametrize(
        "cv", [TimeSeriesSplit(3), ShuffleSplit(3, random_state=0)], ids=["series", "shuffle"]
    )
    def test_folds_that_overlap_or_leave_rows_out(
        self, data: tuple[np.ndarray, np.ndarray], cv: Any
    ) -> None:
        x, g = data
        model = PLAGGMCV(alphas=5, cv=cv, **EXACT)
        whole = clone(model).fit(x, confounder=g)
        found = model.fit_chunks(pieces(x, g))
        np.testing.assert_allclose(found.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)

    def test_several_confounders(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        both = np.column_stack([g, np.random.default_rng(1).normal(size=len(g))])
        model = PLAGGMCV(alphas=4, cv=3, threshold=[60.0, 0.5], **EXACT)
        whole = clone(model).fit(x, confounder=both)
        found = model.fit_chunks(pieces(x, both))
        assert_same(found, whole)
        np.testing.assert_allclose(found.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)

    def test_no_confounder(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, _ = data
        whole = PLAGGMCV(alphas=5, cv=3, **EXACT).fit(x)
        found = PLAGGMCV(alphas=5, cv=3, **EXACT).fit_chunks([x[:300], x[300:]])
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)
        np.testing.assert_allclose(found.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)
        assert found.confounder_names_ == ()
        assert found.score(x) == pytest.approx(whole.score(x), rel=AGREEMENT)

    @pytest.mark.usefixtures("few_permutations")
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_file_to_result(
        self, data: tuple[np.ndarray, np.ndarray], tmp_path: Path, kind: str
    ) -> None:
        x, g = data
        frame = pd.DataFrame(x, columns=[f"area {j}" for j in range(P)])
        whole = PLAGGM(0.05, **EXACT).fit(frame, confounder=pd.Series(g, name="motion"))
        frame["motion"] = g
        if kind == "parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(tmp_path / "t.parquet")
        else:
            frame.to_csv(tmp_path / "t.csv", index=False)
        found = PLAGGM(0.05, **EXACT).fit_chunks(
            tmp_path / f"t.{kind}", confounder="motion", chunk_rows=128
        )
        assert_same(found, whole)
        assert list(found.feature_names_in_) == list(whole.feature_names_in_)
        result = read_result(found.to_result().save(tmp_path / "result"))
        assert result.names == whole.to_result().names
        # pandas before 3 reads numbers from text to the last digit but one.
        np.testing.assert_allclose(
            result.confounder_sample, whole.to_result().confounder_sample, rtol=1e-15
        )
        with pytest.raises(ValueError, match="feature names"):
            found.score(frame[[f"area {j}" for j in range(P)]].iloc[:, ::-1], confounder=g)


class TestBadChunks:
    def test_smoother(self) -> None:
        with pytest.raises(ValueError, match="fit_chunks needs smoother='spline'"):
            PLAGGM(smoother="kernel").fit_chunks([np.zeros((5, 2))])

    def test_stars(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        with pytest.raises(ValueError, match="criterion='stars' draws rows"):
            PLAGGMCV(criterion="stars").fit_chunks(pieces(*data))
        with pytest.raises(ValueError, match=r"criterion='stars' draws rows"):
            PLAGGMCV(criterion="stars").partial_fit(data[0], confounder=data[1])

    def test_nothing(self) -> None:
        with pytest.raises(ValueError, match="There are no rows to fit"):
            PLAGGM().fit_chunks([])

    def test_other_columns(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        with pytest.raises(ValueError, match="5 features, but PLAGGM is expecting 6"):
            PLAGGM().fit_chunks([(x[:300], g[:300]), (x[300:, :5], g[300:])])
        frame = pd.DataFrame(x, columns=list("abcdef"))
        with pytest.raises(ValueError, match="feature names should match"):
            PLAGGM().fit_chunks([(frame[:300], g[:300]), (frame[300:][list("bacdef")], g[300:])])

    def test_other_confounders(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        with pytest.raises(ValueError, match=r"Some chunks have confounder .* \(first: chunk 1\)"):
            PLAGGM().fit_chunks([(x[:300], g[:300]), (x[300:], None)])
        with pytest.raises(ValueError, match=r"confounder of chunk 1 has 399 rows .* has 400 rows"):
            PLAGGM().fit_chunks([(x[:300], g[:300]), (x[300:], g[301:])])
        named = [pd.Series(g[:300], name="a"), pd.Series(g[300:], name="b")]
        with pytest.raises(ValueError, match=r"columns b; .* first chunk's confounders are a"):
            PLAGGM().fit_chunks([(x[:300], named[0]), (x[300:], named[1])])

    def test_rows_that_do_not_belong_together(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        motion = pd.DataFrame({"motion": g}, index=np.arange(700)[::-1])
        with pytest.raises(ValueError, match=r"different row labels \(index\)"):
            PLAGGM().fit_chunks([(pd.DataFrame(x), motion)])

    def test_nan_is_found_by_its_row_in_the_whole(
        self, data: tuple[np.ndarray, np.ndarray]
    ) -> None:
        x, g = data[0].copy(), data[1].copy()
        x[500, 2] = np.nan
        with pytest.raises(ValueError, match="row 500 of column 'x2'"):
            PLAGGM().fit_chunks(pieces(x, g))
        g[600] = np.inf
        with pytest.raises(ValueError, match="row 600 of column 'confounder'"):
            PLAGGM().fit_chunks(pieces(x, g))

    def test_constant_and_equal_columns(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        constant = x.copy()
        constant[:, 3] = 0.1
        with pytest.raises(ValueError, match="constant columns: 'x3'"):
            PLAGGM().fit_chunks(pieces(constant, g))
        equal = x.copy()
        equal[:, 4] = equal[:, 1]
        with pytest.raises(ValueError, match="duplicate columns: 'x4' and 'x1' are the same"):
            PLAGGM().fit_chunks(pieces(equal, g))
        # Constant in the first chunk only is no mistake; nearly the same in other units is told.
        fine = x.copy()
        fine[:90, 3] = 0.1
        fine[:, 4] = 2.0 * fine[:, 1] + 1e-3 * fine[:, 4]
        with pytest.warns(DependenceWarning, match=r"hardly differ: 'x4' and 'x1' \(r = 1\)"):
            model = PLAGGM(0.1).fit_chunks(pieces(fine, g))
        assert np.all(np.isfinite(model.omega_))

    def test_data_that_change_between_readings(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        for later, match in ((-1, "700 rows at first, 699 later"), (0, "700 rows at first, more")):
            readings: list[int] = []

            def make(later: int = later, readings: list[int] = readings) -> Iterator[Any]:
                readings.append(1)
                yield (x[:300], g[:300])
                if len(readings) < 3:
                    yield (x[300:], g[300:])
                elif later:
                    yield (x[300:later], g[300:later])
                else:
                    yield (np.repeat(x[300:], 2, axis=0), np.repeat(g[300:], 2))

            with pytest.raises(ValueError, match=match):
                PLAGGM().fit_chunks(make)

    def test_a_confounder_that_never_exceeds_its_threshold(
        self, data: tuple[np.ndarray, np.ndarray]
    ) -> None:
        x, g = data
        plain = PLAGGM(0.05, **EXACT).fit(x)
        with pytest.warns(UserWarning, match="R is taken as zero and the plain model is fitted"):
            found = PLAGGM(0.05, threshold=500.0, **EXACT).fit_chunks(pieces(x, g))
        np.testing.assert_allclose(found.omega_, plain.omega_, atol=AGREEMENT)
        assert not found.nuisance(450.0).any()

    def test_unconfounded_samples(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        with pytest.raises(ValueError, match=r"No sample lies below the threshold 60;"):
            PLAGGM(threshold=60.0).fit_chunks(pieces(x, np.abs(g) + 61.0))
        with pytest.warns(UserWarning, match=r"Only \d samples lie below the threshold 2,"):
            PLAGGM(threshold=2.0).fit_chunks(pieces(x, g))


class TestPartialFit:
    @pytest.mark.parametrize("variance", ["function", "conditional", "unit"])
    def test_with_the_design_of_fit_equals_fit(
        self, data: tuple[np.ndarray, np.ndarray], variance: str
    ) -> None:
        x, g = data
        whole = PLAGGM(0.05, variance=variance, **EXACT).fit(x, confounder=g)
        model = PLAGGM(0.05, variance=variance, **EXACT)
        for number, (part, mine) in enumerate(pieces(x, g)):
            design = None if number else whole.design_
            model.partial_fit(part, confounder=mine, design=design, refit=False)
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
        # The last call may be without new functions but not without rows.
        model.partial_fit(x[:1], confounder=g[:1])
        again = PLAGGM(0.05, variance=variance, **EXACT)
        again.partial_fit(
            np.concatenate([x, x[:1]]), confounder=np.append(g, g[0]), design=whole.design_
        )
        assert_same(model, again)
        exact = PLAGGM(0.05, variance=variance, **EXACT)
        exact.partial_fit(x, confounder=g, design=whole.design_)
        assert_same(exact, whole)

    def test_without_design_the_first_chunk_settles_it(
        self, data: tuple[np.ndarray, np.ndarray]
    ) -> None:
        x, g = data
        first = PLAGGM(0.05, reference="zero").fit(x[:400], confounder=g[:400])
        inside = (g >= first.design_.low[0]) & (g <= first.design_.high[0])
        model = PLAGGM(0.05, reference="zero").partial_fit(x[:400], confounder=g[:400])
        assert_same(model, first)
        model.partial_fit(x[400:][inside[400:]], confounder=g[400:][inside[400:]])
        assert model._network.problem.n == np.count_nonzero(inside)
        assert model.threshold_ == first.threshold_
        assert np.abs(model.omega_ - first.omega_).max() > 1e-4

    def test_cross_validation(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        design = PLAGGM(reference="zero").make_design(g, n_features=P)
        fits = []
        for cuts in ((90, 500), (1, 2, 350)):
            model = PLAGGMCV(alphas=6, cv=4, **EXACT)
            for number, (part, mine) in enumerate(pieces(x, g, cuts)):
                model.partial_fit(
                    part,
                    confounder=mine,
                    design=None if number else design,
                    refit=number == len(cuts),
                )
            fits.append(model)
        assert fits[0].cv_loss_.shape == (6, 4)
        np.testing.assert_allclose(fits[0].cv_loss_, fits[1].cv_loss_, rtol=AGREEMENT)
        assert_same(*fits)
        whole = PLAGGMCV(alphas=6, cv=4, **EXACT).fit(x, confounder=g)
        # Other folds of the same rows: the same path, and nearly the same losses.
        np.testing.assert_allclose(fits[0].omega_path_, whole.omega_path_, atol=AGREEMENT)
        np.testing.assert_allclose(fits[0].criterion_path_, whole.criterion_path_, rtol=0.05)

    def test_no_confounder(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, _ = data
        model = PLAGGM(0.05, **EXACT)
        for part in (x[:200], x[200:]):
            model.partial_fit(part)
        np.testing.assert_allclose(
            model.omega_, PLAGGM(0.05, **EXACT).fit(x).omega_, atol=AGREEMENT
        )
        with pytest.raises(ValueError, match="first chunk came without confounder"):
            model.partial_fit(x, confounder=np.arange(700.0))

    def test_goes_on_after_pickling_and_starts_anew_after_fit(
        self, data: tuple[np.ndarray, np.ndarray]
    ) -> None:
        x, g = data
        design = PLAGGM(reference="zero").make_design(g, n_features=P)
        model = PLAGGM(0.05, **EXACT).partial_fit(x[:400], confounder=g[:400], design=design)
        model = pickle.loads(pickle.dumps(model)).partial_fit(x[400:], confounder=g[400:])
        assert_same(model, PLAGGM(0.05, **EXACT).fit(x, confounder=g))
        model.fit(x, confounder=g)
        assert model.partial_fit(x[:300], confounder=g[:300])._network.problem.n == 300
        assert clone(model).get_params() == PLAGGM(0.05, **EXACT).get_params()

    def test_result(self, data: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
        x, g = data
        model = PLAGGM(0.05).partial_fit(x, confounder=pd.Series(g, name="motion"))
        model.partial_fit(x[100:], confounder=g[100:])
        result = read_result(model.to_result().save(tmp_path / "r"))
        assert result.diagnostics["n_samples"] == 1300
        assert result.confounder_names == ("motion",)
        assert result.confounder_grid is not None
        assert set(result.confounder_sample[:, 0]) <= set(g)
        assert np.all(np.isfinite(model.sample(5, confounder=200.0, random_state=0)))


class TestMerge:
    @pytest.mark.parametrize("variance", ["function", "conditional"])
    def test_workers_that_share_the_rows(
        self, data: tuple[np.ndarray, np.ndarray], variance: str
    ) -> None:
        x, g = data
        whole = PLAGGM(0.05, variance=variance, **EXACT).fit(x, confounder=g)
        workers = []
        for part, mine in pieces(x, g):
            worker = PLAGGM(0.05, variance=variance, **EXACT)
            design = pickle.loads(pickle.dumps(whole.design_))
            worker.partial_fit(part, confounder=mine, design=design, refit=False)
            workers.append(pickle.loads(pickle.dumps(worker)))
        model, *others = workers
        for worker in others:
            model.merge(worker, refit=False)
            assert worker._stream.sums.n < 700
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        model.partial_fit(x[:1], confounder=g[:1])
        again = PLAGGM(0.05, variance=variance, **EXACT)
        again.partial_fit(
            np.concatenate([x, x[:1]]), confounder=np.append(g, g[0]), design=whole.design_
        )
        assert_same(model, again)

    def test_groups_and_folds(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        subject = np.random.default_rng(0).integers(0, 9, 700)
        design = PLAGGM(reference="zero").make_design(g, n_features=P)
        whole = PLAGGMCV(alphas=4, cv=3, **EXACT)
        whole.partial_fit(x, confounder=g, groups=subject, design=design)
        one, two = (
            PLAGGMCV(alphas=4, cv=3, **EXACT).partial_fit(
                x[rows], confounder=g[rows], groups=subject[rows], design=design, refit=False
            )
            for rows in (slice(0, 40), slice(40, 700))
        )
        one.merge(two)
        np.testing.assert_allclose(one.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)
        np.testing.assert_allclose(one.bootstrap(4).mean, whole.bootstrap(4).mean, atol=AGREEMENT)

    def test_what_does_not_add_up(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        model = PLAGGM(threshold=60.0).partial_fit(x, confounder=g)
        with pytest.raises(ValueError, match=r"the other one has none"):
            model.merge(PLAGGM().fit(x, confounder=g))
        with pytest.raises(ValueError, match=r"this one has none"):
            PLAGGM().merge(model)
        with pytest.raises(ValueError, match=r"different designs"):
            model.merge(PLAGGM(threshold=61.0).partial_fit(x, confounder=g))
        frame = pd.DataFrame(x, columns=list("abcdef"))
        with pytest.raises(ValueError, match=r"different variables"):
            model.merge(PLAGGM(threshold=60.0).partial_fit(frame, confounder=g))
        grouped = PLAGGM(threshold=60.0).partial_fit(x, confounder=g, groups=np.arange(700) % 3)
        with pytest.raises(ValueError, match=r"One of the two models has groups"):
            model.merge(grouped)
        folds = PLAGGMCV(threshold=60.0, alphas=2, cv=3).partial_fit(x, confounder=g)
        with pytest.raises(ValueError, match=r"different folds"):
            model.merge(folds)
        with pytest.raises(TypeError, match=r"merge takes a PLAGGM or a PLAGGMCV; got 3"):
            model.merge(3)
        assert model._stream.sums.n == 700


class TestDesign:
    def test_range(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        model = PLAGGM(0.05, threshold=60.0)
        design = model.make_design(g[:300], n_features=P, confounder_range=(-400.0, 400.0))
        assert (design.low[0], design.high[0]) == (-400.0, 400.0)
        # The functions end where the range ends, and their inner knots stay where they were.
        narrow = model.make_design(g[:300], n_features=P)
        for wide, side in zip(design.basis.terms, narrow.basis.terms, strict=True):
            assert side.threshold + side.reach == pytest.approx(
                np.abs(g[:300][side.sign * g[:300] > 0]).max()
            )
            assert wide.threshold + wide.reach == 400.0
            np.testing.assert_allclose(
                np.multiply(wide.inner_knots, wide.reach), np.multiply(side.inner_knots, side.reach)
            )
        model.partial_fit(x[:300], confounder=g[:300], design=design)
        model.partial_fit(x[300:], confounder=g[300:])
        assert model.design_ is design
        with pytest.raises(ValueError, match=r"'confounder' is 401 in row 1 .* range -400 to 400"):
            model.partial_fit(x[:2], confounder=[0.0, 401.0])
        assert model._stream.sums.n == 700

    def test_rows_to_come_bear_more_functions(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        few = PLAGGM(reference="zero").make_design(data[1][:60], n_features=P)
        many = PLAGGM(reference="zero").make_design(data[1][:60], n_features=P, n_samples=10**400)
        assert few.basis.size < many.basis.size

    def test_bad_designs(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        model = PLAGGM()
        with pytest.raises(ValueError, match="is -10 to 10, but its values go from -400 to"):
            model.make_design(g, n_features=P, confounder_range=(-10.0, 10.0))
        for odd in (3.0, (1.0, 2.0, 3.0), ("a", "b")):
            with pytest.raises(ValueError, match=r"confounder_range must be \(low, high\)"):
                model.make_design(g, n_features=P, confounder_range=odd)
        with pytest.raises(ValueError, match="confounder_range must be finite"):
            model.make_design(g, n_features=P, confounder_range=(-np.inf, np.inf))
        for odd in (1, 2.5, "six", 10.0**4):
            with pytest.raises(ValueError, match="n_features must be a whole number of at least 2"):
                model.make_design(g, n_features=odd)
        with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1"):
            model.make_design(g, n_features=P, n_samples=-1)
        with pytest.raises(ValueError, match=r"confounder must have shape \(n,\) or \(n, m\)"):
            model.make_design(3.0, n_features=P)
        with pytest.raises(TypeError, match="design must come from make_design"):
            model.partial_fit(x, confounder=g, design="auto")
        with pytest.raises(ValueError, match="make_design needs smoother='spline'"):
            PLAGGM(smoother="kernel").make_design(g, n_features=P)
        model.partial_fit(x, confounder=g)
        with pytest.raises(ValueError, match="settled by the first call"):
            model.partial_fit(
                x, confounder=g, design=PLAGGM(threshold=61.0).make_design(g, n_features=P)
            )


class TestBadStreams:
    def test_kernel_has_none(self) -> None:
        assert hasattr(PLAGGM(), "partial_fit")
        assert not hasattr(PLAGGM(smoother="kernel"), "partial_fit")

    def test_other_columns(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        model = PLAGGM().partial_fit(x, confounder=g)
        with pytest.raises(ValueError, match="5 features, but PLAGGM is expecting 6"):
            model.partial_fit(x[:, :5], confounder=g)
        with pytest.raises(ValueError, match="pass the values of the new samples"):
            model.partial_fit(x)
        with pytest.raises(ValueError, match=r"row 700 of column 'x1'"):
            model.partial_fit(np.where(np.eye(1, P, 1) == 1, np.nan, x[:1]), confounder=g[:1])
        assert model._stream.sums.n == 700

    def test_several_confounders(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        both = np.column_stack([g, np.random.default_rng(0).normal(size=len(g))])
        with pytest.raises(ValueError, match=r"cannot be learnt in one pass\. Use fit_chunks"):
            PLAGGM(reference="zero").partial_fit(x, confounder=both)
        model = PLAGGM(0.05, variance="conditional", **EXACT).partial_fit(x, confounder=both)
        whole = PLAGGM(0.05, variance="conditional", **EXACT).fit(x, confounder=both)
        assert_same(model, whole)

    def test_rows_of_one_side_only(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        design = PLAGGM(threshold=60.0).make_design(g, n_features=P)
        model = PLAGGM(0.05, threshold=60.0)
        with pytest.raises(ValueError, match=r"None of the .* below the threshold"):
            model.partial_fit(x[g > 60.0], confounder=g[g > 60.0], design=design)
        clean = np.abs(g) <= 60.0
        with pytest.raises(ValueError, match="has 'confounder' below minus its threshold 60"):
            model.partial_fit(x[clean], confounder=g[clean])
        rest = g < -60.0
        model.partial_fit(x[rest], confounder=g[rest])
        # The rows that could not be fitted before were kept.
        assert_same(model, PLAGGM(0.05, threshold=60.0).fit(x, confounder=g))

    def test_folds_of_a_stream(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        with pytest.raises(ValueError, match="does not know the rows to come"):
            PLAGGMCV(cv=TimeSeriesSplit(3)).partial_fit(data[0], confounder=data[1])

    def test_groups_in_all_calls_or_in_none(self, data: tuple[np.ndarray, np.ndarray]) -> None:
        x, g = data
        model = PLAGGM().partial_fit(x, confounder=g, groups=np.arange(700) % 5)
        with pytest.raises(ValueError, match="Pass groups in all calls"):
            model.partial_fit(x, confounder=g)
        with pytest.raises(
            ValueError, match=r"one group for each of the 700 rows; got shape \(3,\)"
        ):
            model.partial_fit(x, confounder=g, groups=[1, 2, 3])
        with pytest.raises(ValueError, match="groups has no value in row 4 of this chunk"):
            model.partial_fit(x, confounder=g, groups=[1.0, 2.0, 1.0, 2.0, np.nan] + [1.0] * 695)

    def test_too_many_groups(
        self, data: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(row_statistics, "MOST_BYTES", 10_000)
        with pytest.raises(ValueError, match="groups and bins of the confounder take"):
            PLAGGM().partial_fit(data[0], confounder=data[1], groups=np.arange(700))
