"""What a network refers to does not depend on how a confounder is coded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM
from plaggm.estimators.reference_choice import is_amount

# Random mixtures of few columns are now and then close to singular, and drawn factors have rare levels.
pytestmark = [
    pytest.mark.filterwarnings("ignore::plaggm.data.DependenceWarning"),
    pytest.mark.filterwarnings("ignore:Levels of"),
]

EXACT: dict[str, Any] = dict(tol=1e-13, max_iter=50_000)
# The same rows with a confounder in other words: partial correlations and p-values.
SAME = 1e-6
FEW = settings(max_examples=8)


@dataclass(frozen=True, repr=False)
class Rows:
    """A table and a confounder that moves its means, its variances and a relation."""

    x: np.ndarray
    g: np.ndarray
    variance: str

    def fit(self, g: Any, **asked: Any) -> PLAGGM:
        return PLAGGM(0.03, variance=self.variance, **asked, **EXACT).fit(self.x, confounder=g)


def moved(rng: np.random.Generator, t: np.ndarray, p: int) -> np.ndarray:
    """Rows (n, p) under a confounder between -1 and 1 (n,)."""
    x = rng.normal(size=(len(t), p)) + t[:, None] * rng.normal(size=p)
    x[:, 1] += (0.4 + 0.4 * t) * x[:, 0]
    return np.asarray(x * np.exp(0.3 * t)[:, None])


@st.composite
def number_tables(draw: st.DrawFn) -> Rows:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(120, 250)), draw(st.integers(2, 4))
    kind = draw(st.sampled_from(["uniform", "normal", "skewed", "grades", "two"]))
    g = {
        "uniform": lambda: rng.uniform(18.0, 80.0, n),
        "normal": lambda: rng.normal(size=n),
        "skewed": lambda: 5.0 + rng.gamma(1.5, 2.0, n),
        "grades": lambda: rng.integers(1, 7, n).astype(float),
        "two": lambda: rng.integers(0, 2, n).astype(float),
    }[kind]()
    t = 2.0 * (g - g.min()) / np.ptp(g) - 1.0
    return Rows(moved(rng, t, p), g, draw(st.sampled_from(["function", "conditional", "unit"])))


@st.composite
def level_tables(draw: st.DrawFn) -> tuple[Rows, int]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, k = draw(st.integers(120, 250)), draw(st.integers(2, 4)), draw(st.integers(2, 6))
    # Now and then a level with so few samples that it has no effect of its own.
    share = rng.dirichlet(np.full(k, draw(st.sampled_from([0.5, 3.0, 50.0]))))
    codes = rng.choice(k, n, p=0.1 / k + 0.9 * share)
    codes[:12] = np.resize([0, 1], 12)
    x = moved(rng, np.linspace(-1.0, 1.0, k)[codes], p)
    return Rows(x, codes, draw(st.sampled_from(["function", "conditional"]))), k


def assert_same(found: PLAGGM, expected: PLAGGM) -> None:
    np.testing.assert_allclose(found.omega_, expected.omega_, atol=SAME)
    np.testing.assert_allclose(
        found.inference()["p_value"], expected.inference()["p_value"], atol=SAME
    )


units = st.sampled_from([1e-3, 0.31, 1.0, 7.0, 1e4])
signs = st.sampled_from([1.0, -1.0])


class TestNumbers:
    @FEW
    @given(number_tables(), units, signs, st.floats(-50.0, 50.0))
    def test_average(self, rows: Rows, unit: float, sign: float, origin: float) -> None:
        other = sign * unit * (rows.g + origin)
        assert_same(rows.fit(other, reference="average"), rows.fit(rows.g, reference="average"))

    @FEW
    @given(number_tables(), units, signs, st.floats(-50.0, 50.0), st.floats(0.05, 0.95))
    def test_value(self, rows: Rows, unit: float, sign: float, origin: float, place: float) -> None:
        at = float(np.quantile(rows.g, place))
        found = rows.fit(sign * unit * (rows.g + origin), reference=sign * unit * (at + origin))
        expected = rows.fit(rows.g, reference=at)
        assert_same(found, expected)
        far = float(rows.g.max())
        np.testing.assert_allclose(
            found.omega_at(sign * unit * (far + origin)), expected.omega_at(far), atol=SAME
        )

    @FEW
    @given(number_tables(), units, signs, st.floats(-50.0, 50.0), st.floats(0.1, 0.4))
    def test_value_with_a_threshold(
        self, rows: Rows, unit: float, sign: float, origin: float, share: float
    ) -> None:
        """Halfway between two values, so that rounding moves none across."""
        at = float(np.median(rows.g))
        distances = np.unique(np.abs(rows.g - at))
        k = int(share * len(distances))
        limit = float(0.5 * (distances[k] + distances[k + 1]))
        found = rows.fit(
            sign * unit * (rows.g + origin),
            reference=sign * unit * (at + origin),
            threshold=unit * limit,
        )
        assert_same(found, rows.fit(rows.g, reference=at, threshold=limit))

    @FEW
    @given(number_tables())
    def test_r_averages_to_zero(self, rows: Rows) -> None:
        model = rows.fit(rows.g, reference="average")
        found = model.nuisance(rows.g)
        size = max(1.0, float(np.abs(found).max()))
        np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-10 * size)

    @FEW
    @given(number_tables(), st.floats(0.0, 1.0))
    def test_r_vanishes_at_the_value(self, rows: Rows, place: float) -> None:
        at = float(np.quantile(rows.g, place))
        model = rows.fit(rows.g, reference=at)
        np.testing.assert_allclose(model.nuisance(at), 0.0, atol=1e-10)

    @FEW
    @given(number_tables(), units)
    def test_what_looks_like_an_amount_does_so_in_every_unit(self, rows: Rows, unit: float) -> None:
        for values in (rows.g, rows.g - rows.g.min(), rows.g - np.median(rows.g)):
            assert is_amount(unit * values) == is_amount(values)


class TestLevels:
    @FEW
    @given(level_tables(), st.randoms(use_true_random=False))
    def test_names_and_their_order(self, made: tuple[Rows, int], random: Any) -> None:
        rows, k = made
        names = [f"site {number}" for number in range(k)]
        shuffled = names.copy()
        random.shuffle(shuffled)
        first = rows.fit(np.array(names)[rows.g])
        assert_same(rows.fit(np.array(shuffled)[rows.g]), first)
        ordered = pd.Categorical(np.array(names)[rows.g], categories=shuffled)
        assert_same(rows.fit(pd.Series(ordered)), first)
        assert_same(rows.fit(pd.Series(rows.g, name="site"), categorical="site"), first)

    @FEW
    @given(level_tables(), st.randoms(use_true_random=False))
    def test_names_with_a_reference(self, made: tuple[Rows, int], random: Any) -> None:
        rows, k = made
        names = [f"site {number}" for number in range(k)]
        shuffled = names.copy()
        random.shuffle(shuffled)
        first = rows.fit(np.array(names)[rows.g], reference=names[1])
        second = rows.fit(np.array(shuffled)[rows.g], reference=shuffled[1])
        assert_same(second, first)
        np.testing.assert_array_equal(first.nuisance(names[1]), np.zeros_like(first.omega_))

    @FEW
    @given(level_tables())
    def test_r_averages_to_zero(self, made: tuple[Rows, int]) -> None:
        rows, _ = made
        labels = np.array([f"site {number}" for number in rows.g])
        found = rows.fit(labels).nuisance(labels)
        size = max(1.0, float(np.abs(found).max()))
        np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-10 * size)

    @FEW
    @given(number_tables(), st.floats(0.2, 0.8))
    def test_two_levels_are_a_number(self, rows: Rows, share: float) -> None:
        # Slopes of the log-variance are shrunk by measures of their own for levels and for lines.
        rows = replace(rows, variance="unit" if rows.variance == "unit" else "conditional")
        high = rows.g > np.quantile(rows.g, share)
        high[:6], high[6:12] = True, False
        number = rows.fit(high.astype(float), reference="average")
        for coded in (np.where(high, "yes", "no"), high, np.where(high, "a", "z")):
            assert_same(rows.fit(coded), number)
        level = rows.fit(np.where(high, "yes", "no"), reference="no")
        assert_same(level, rows.fit(high.astype(float), reference=0.0))


def test_two_levels_are_nearly_a_number_with_a_variance_function() -> None:
    """The shrinkage of its slopes is that of a few samples."""
    rng = np.random.default_rng(0)
    high = rng.uniform(size=1000) < 0.3
    rows = Rows(moved(rng, 2.0 * high - 1.0, 3), high, "function")
    number = rows.fit(high.astype(float), reference="average")
    np.testing.assert_allclose(rows.fit(high).omega_, number.omega_, atol=1e-3)
