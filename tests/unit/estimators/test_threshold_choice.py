"""The spline's threshold by likelihood."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV, threshold_sensitivity
from plaggm.data import Confounder
from plaggm.estimators import threshold_choice
from plaggm.estimators.design import quantile_threshold
from plaggm.estimators.threshold_choice import (
    choose_threshold,
    length_dispersion,
    sampled_rows,
    thresholds_fit,
)
from plaggm.simulate import Simulated, simulate_paper


def drawn(**settings: object) -> Simulated:
    """Strong confounding that starts where half of the samples are clean."""
    made = dict(p=8, n=1500, seed=3, even=True, threshold=200.0, confounder="uniform")
    return simulate_paper(**{**made, **settings})


# Confounding that cannot be overlooked.
PLAIN: dict[str, object] = dict(shape="saturating", variance_inflation=10.0, mean_shift=1.0)


def as_one(data: Simulated) -> Confounder:
    return Confounder(data.confounder[:, None], ("g",))


def share(data: Simulated, threshold: float | np.ndarray) -> float:
    return float(np.mean(np.abs(data.confounder) <= threshold))


class TestLengthDispersion:
    def test_is_that_of_lengths_within_bins(self) -> None:
        # The definition, row by row.
        draw = np.random.default_rng(0)
        z, g = draw.standard_t(4.0, (60, 3)), draw.standard_normal((60, 1))
        order = np.argsort(np.abs(g[:, 0]))
        bins = [order[start : start + 3] for start in range(0, 60, 3)]
        scaled = z.copy()
        for rows in bins:
            scaled[rows] -= z[rows].mean(axis=0)
            scaled[rows] /= np.sqrt(np.mean(scaled[rows] ** 2))
        inverse = np.linalg.inv(scaled.T @ scaled / 60)
        lengths = np.array([row @ inverse @ row for row in scaled])
        for rows in bins:
            lengths[rows] *= 3 / lengths[rows].mean()
        expected = max(np.mean((lengths - 3) ** 2) / 6, 1.0)
        assert length_dispersion(z, Confounder(g, ("g",))) == pytest.approx(expected, rel=1e-10)

    def test_is_one_for_gaussian_rows_whose_level_follows_the_confounder(self) -> None:
        draw = np.random.default_rng(1)
        g = draw.uniform(0.0, 1.0, 4000)
        z = draw.standard_normal((4000, 10)) * (1.0 + 3.0 * g)[:, None] + 5.0 * g[:, None]
        assert length_dispersion(z, Confounder(g[:, None], ("g",))) == pytest.approx(1.0, abs=0.1)

    def test_grows_with_tails(self) -> None:
        draw = np.random.default_rng(2)
        g = Confounder(draw.uniform(0.0, 1.0, (2000, 1)), ("g",))
        assert length_dispersion(draw.standard_t(3.0, (2000, 10)), g) > 3.0


class TestChoice:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_finds_where_confounding_starts(self, seed: int) -> None:
        data = drawn(seed=seed, **PLAIN)
        model = PLAGGM(0.05, reference="zero").fit(data.x, confounder=data.confounder)
        assert share(data, model.threshold_) == pytest.approx(0.5, abs=0.11)
        assert share(data, quantile_threshold(as_one(data), 9)) == pytest.approx(0.1, abs=0.01)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_stays_where_there_is_nothing_to_find(self, seed: int) -> None:
        data = drawn(shape="none", seed=seed)
        found = choose_threshold(data.x, as_one(data), variance_function=True)
        np.testing.assert_array_equal(found, quantile_threshold(as_one(data), 9))

    def test_goes_below_the_default_where_samples_are_ample(self) -> None:
        data = drawn(p=15, n=12_000, threshold=20.0, shape="saturating", variance_inflation=2.0)
        found = choose_threshold(data.x, as_one(data), variance_function=True)
        assert share(data, found[0]) < 0.08

    def test_leaves_enough_below_samples(self) -> None:
        data = drawn(p=30, n=1000, threshold=10.0)
        found = choose_threshold(data.x, as_one(data), variance_function=True)
        assert np.count_nonzero(np.abs(data.confounder) <= found[0]) >= 2 * 31

    @pytest.mark.parametrize("seed", [6, 7, 8])
    def test_heavy_tails_are_no_sign_of_a_threshold(self, seed: int) -> None:
        # Without the dispersion thresholds up to five times as large are taken on some of these seeds.
        draw = np.random.default_rng(seed)
        g = Confounder(draw.uniform(-1.0, 1.0, (1200, 1)), ("g",))
        x = draw.standard_t(3.0, (1200, 8)) * draw.choice([1.0, 3.0], (1200, 1), p=[0.7, 0.3])
        found = choose_threshold(x, g, variance_function=True)
        np.testing.assert_array_equal(found, quantile_threshold(g, 9))

    def test_does_not_depend_on_units(self) -> None:
        data = drawn(**PLAIN)
        scale = np.geomspace(1e-3, 1e3, 8)
        first = PLAGGM(0.05, reference="zero").fit(data.x, confounder=data.confounder)
        second = PLAGGM(0.05, reference="zero").fit(
            5.0 + data.x * scale, confounder=1e-3 * data.confounder
        )
        assert second.threshold_ == pytest.approx(1e-3 * np.asarray(first.threshold_), rel=1e-12)

    def test_too_few_samples_to_compare_keep_the_default(self) -> None:
        data = drawn(p=20, n=35)
        found = choose_threshold(data.x, as_one(data), variance_function=True)
        np.testing.assert_array_equal(found, quantile_threshold(as_one(data), 21))

    def test_a_column_that_is_constant_in_the_sample_keeps_the_default(self) -> None:
        data = drawn()
        x = data.x.copy()
        x[:, 2] = 1.0
        found = choose_threshold(x, as_one(data), variance_function=True)
        np.testing.assert_array_equal(found, quantile_threshold(as_one(data), 9))


class TestSampledRows:
    def test_few_rows_are_all_taken(self) -> None:
        np.testing.assert_array_equal(sampled_rows(900, 9, 1), np.arange(900))

    @pytest.mark.parametrize(("q", "m"), [(9, 1), (49, 7), (101, 1)])
    def test_of_many_rows_some_from_end_to_end(self, q: int, m: int) -> None:
        rows = sampled_rows(1_000_000, q, m)
        assert len(rows) <= threshold_choice.MOST_ROWS
        assert (rows[0], rows[-1]) == (0, 999_999)
        assert np.all(np.diff(rows) > 1)


class TestAllWaysIn:
    """Whole, in chunks and as a stream: the same rows are looked at, so the threshold is the same."""

    @pytest.fixture
    def data(self, monkeypatch: pytest.MonkeyPatch) -> Simulated:
        monkeypatch.setattr(threshold_choice, "MOST_ROWS", 1000)
        return drawn(n=1999, **PLAIN)

    @pytest.fixture
    def whole(self, data: Simulated) -> PLAGGMCV:
        return PLAGGMCV(cv=3, reference="zero").fit(data.x, confounder=data.confounder)

    def test_a_sample_was_taken(self, data: Simulated, whole: PLAGGMCV) -> None:
        assert len(sampled_rows(len(data.x), 9, 1)) == 1000
        default = quantile_threshold(as_one(data), 9)
        assert np.asarray(whole.threshold_) > 2.0 * default

    def test_chunks(self, data: Simulated, whole: PLAGGMCV) -> None:
        ends = [0, 1, 700, 1500, 1999]
        chunks = [(data.x[a:b], data.confounder[a:b]) for a, b in pairwise(ends)]
        model = PLAGGMCV(cv=3, reference="zero").fit_chunks(chunks)
        assert model.threshold_ == pytest.approx(whole.threshold_)
        np.testing.assert_allclose(model.omega_, whole.omega_, atol=1e-8)

    def test_first_call_of_a_stream(self, data: Simulated, whole: PLAGGMCV) -> None:
        model = PLAGGM(0.05, reference="zero").partial_fit(data.x, confounder=data.confounder)
        assert model.threshold_ == pytest.approx(whole.threshold_)


class TestTable:
    def test_lack_of_fit_is_smallest_near_the_truth(self) -> None:
        data = drawn(**PLAIN)
        table = threshold_sensitivity(
            data.x,
            data.confounder,
            thresholds=[50.0, 200.0, 350.0],
            estimator=PLAGGM(0.05, threshold=100.0),
        )
        fits = table.set_index("threshold")["lack_of_fit"]
        assert fits.idxmin() == 200.0
        assert fits.min() == 0.0

    def test_the_kernel_has_none(self) -> None:
        data = drawn(p=4)
        kernel = PLAGGM(0.05, smoother="kernel", threshold=200.0, indicator="ramp")
        table = threshold_sensitivity(data.x, data.confounder, thresholds=[250.0], estimator=kernel)
        assert table["lack_of_fit"].isna().all()

    def test_thresholds_that_nothing_exceeds_cannot_be_compared(self) -> None:
        data = drawn()
        found = thresholds_fit(
            data.x, as_one(data), np.array([[200.0], [1e6]]), variance_function=True
        )
        np.testing.assert_array_equal(found, [0.0, np.nan])
