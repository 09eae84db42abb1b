"""What must hold however rows come: in any order, in any pieces, from any side."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.profile.spline import profile_spline, spline_node_grams
from plaggm.core.spline.basis import spline_basis
from plaggm.core.spline.design import SplineDesign
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import spline_system

# The largest difference between fits to the same rows.
SAME = 1e-8
# A penalty of a million leaves a millionth of the nuisance.
POOLED = 1e-4
EXACT = dict(tol=1e-12, max_iter=20_000)

few = settings(max_examples=15)


@dataclass(frozen=True)
class Rows:
    """A table with its confounder, and one model for it."""

    x: np.ndarray
    g: np.ndarray
    threshold: float
    variance: str

    def model(self) -> PLAGGM:
        return PLAGGM(0.05, threshold=self.threshold, tau=1.0, variance=self.variance, **EXACT)

    def design(self) -> SplineDesign:
        return self.model().make_design(self.g, n_features=self.x.shape[1])

    def whole(self) -> PLAGGM:
        return self.model().fit(self.x, confounder=self.g)

    def streamed(self, cuts: list[int], design: SplineDesign) -> PLAGGM:
        model = self.model()
        ends = [0, *sorted(cuts), len(self.x)]
        for start, stop in pairwise(ends):
            if stop > start:
                first = model._stream is None
                model.partial_fit(
                    self.x[start:stop],
                    confounder=self.g[start:stop],
                    design=design if first else None,
                    refit=stop == len(self.x),
                )
        return model

    def taken(self, index: np.ndarray) -> Rows:
        return replace(self, x=self.x[index], g=self.g[index])


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    """Some hundred rows of correlated columns in odd units, the confounder of one or both signs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(120, 250)), draw(st.integers(2, 5))
    g = rng.uniform(-1.0, 1.0, n)
    if draw(st.booleans()):
        g = np.abs(g)
    common = rng.normal(size=(n, 1)) * rng.choice([-1, 1], p)
    x = (rng.normal(size=(n, p)) + 0.7 * common) * np.exp(0.5 * np.abs(g[:, None])) + g[:, None]
    x = x * 10.0 ** rng.uniform(-3, 3, p) + rng.normal(size=p) * 10.0
    variance = draw(st.sampled_from(["function", "conditional"]))
    return Rows(x, g, draw(st.floats(0.3, 0.5)), variance)


def assert_same(found: PLAGGM, expected: PLAGGM) -> None:
    np.testing.assert_allclose(found.omega_, expected.omega_, atol=SAME)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=SAME)
    at = np.array([-0.9, 0.1, 0.8])
    np.testing.assert_allclose(found.nuisance(at), expected.nuisance(at), atol=10 * SAME)


class TestPieces:
    @few
    @given(tables(), st.lists(st.integers(1, 100), max_size=5))
    def test_splitting(self, rows: Rows, cuts: list[int]) -> None:
        assert_same(rows.streamed(cuts, rows.design()), rows.whole())

    @few
    @given(tables(), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 100), max_size=3))
    def test_shuffling(self, rows: Rows, seed: int, cuts: list[int]) -> None:
        order = np.random.default_rng(seed).permutation(len(rows.x))
        assert_same(rows.taken(order).streamed(cuts, rows.design()), rows.whole())
        assert_same(rows.taken(order).whole(), rows.whole())

    @few
    @given(tables(), st.lists(st.integers(1, 100), max_size=5))
    def test_reading_chunks_twice(self, rows: Rows, cuts: list[int]) -> None:
        ends = [0, *sorted(cuts), len(rows.x)]
        chunks = [(rows.x[a:b], rows.g[a:b]) for a, b in pairwise(ends)]
        assert_same(rows.model().fit_chunks(chunks), rows.whole())

    @few
    @given(tables(), st.integers(1, 3))
    def test_rows_several_times_are_groups_drawn_several_times(
        self, rows: Rows, times: int
    ) -> None:
        """Every row several times is every weight several times as large: the same Grams of more rows."""
        groups = np.arange(len(rows.x)) % 2
        model = rows.model().fit(rows.x, confounder=rows.g, groups=groups)
        assert model._network.problem.groups is not None
        drawn = model._network.problem.groups.resampled(np.array([times, times]))
        np.testing.assert_allclose(
            drawn.grams, model._network.problem.model.node_grams.grams, atol=SAME
        )
        assert drawn.n == times * len(rows.x)


class TestLimits:
    @few
    @given(tables())
    def test_a_large_tau_pools_all_samples(self, rows: Rows) -> None:
        """Up to the shift of the mean, which no penalty shrinks."""
        b = np.column_stack([(rows.x - rows.x.mean(0)) / rows.x.std(0), np.ones(len(rows.x))])
        limits = np.array([rows.threshold])
        basis = spline_basis(rows.g[:, None], limits, functions=3, degree=2)
        phi = basis.evaluate(rows.g[:, None])
        system = spline_system(spline_statistics(b, phi), np.eye(basis.size))
        grams = spline_node_grams(system, profile_spline(system, np.full(basis.size, 1e6)))
        pooled = profile_pooled(b - phi @ np.linalg.lstsq(phi, b)[0])
        np.testing.assert_allclose(
            grams.grams, np.broadcast_to(pooled.grams, grams.grams.shape), atol=POOLED
        )

    @few
    @given(tables())
    def test_the_estimator_with_a_large_tau_is_the_plain_model(self, rows: Rows) -> None:
        """Once the shift of the mean, which is free, has been taken out of the data.

        Conditional variances are left out: the shift's degrees of freedom enter them.
        """
        settings = dict(variance="unit", standardize=True, **EXACT)
        basis = rows.design().basis
        shifts = np.column_stack([np.ones(len(rows.x)), basis.evaluate(rows.g[:, None])])
        centred = rows.x - shifts @ np.linalg.lstsq(shifts, rows.x, rcond=None)[0]
        found = PLAGGM(0.05, threshold=rows.threshold, tau=1e7, **settings)
        found.fit(centred, confounder=rows.g)
        plain = PLAGGM(0.05, **settings).fit(centred)
        np.testing.assert_allclose(found.omega_, plain.omega_, atol=POOLED)

    @few
    @given(tables(), st.sampled_from([1e-6, 1.0, 1e6]))
    def test_no_samples_beyond_the_threshold_leave_those_below(
        self, rows: Rows, tau: float
    ) -> None:
        """Whatever tau: the network of the unconfounded samples alone."""
        clean = rows.taken(np.flatnonzero(np.abs(rows.g) <= rows.threshold))
        model = PLAGGM(0.05, threshold=rows.threshold, tau=tau, variance=rows.variance, **EXACT)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="No confounder exceeds its threshold")
            found = model.fit(clean.x, confounder=clean.g)
        plain = PLAGGM(0.05, variance="conditional", **EXACT).fit(clean.x)
        np.testing.assert_allclose(found.omega_, plain.omega_, atol=SAME)
        assert not found.nuisance(0.9).any()
