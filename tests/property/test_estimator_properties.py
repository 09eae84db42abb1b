from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.variance.conditional import STABLE

# Random mixtures of few columns are now and then close to singular.
pytestmark = pytest.mark.filterwarnings("ignore::plaggm.data.DependenceWarning")

FEW = settings(max_examples=12)
EXACT: dict[str, Any] = dict(tol=1e-13, max_iter=50_000)
# Two solutions with a gap of 1e-13 of a problem whose curvature is 0.05 or more differ by
# sqrt(2e-13 / 0.05) at most.
SAME_OMEGA = 3e-6
# Conditional standard deviations come from rounds that stop when nothing moves by more than STABLE, and
# every partial correlation is proportional to two of them.
SAME_CONDITIONAL = 2.0 * STABLE

# Every smoother that the estimator knows, by name.
SMOOTHERS = sorted(PLAGGM._parameter_constraints["smoother"][0].options)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """A table of correlated columns with a confounder, and a generator for what is done to it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, n = draw(st.integers(2, 6)), draw(st.integers(80, 160))
    g = rng.uniform(-1.0, 1.0, n)
    mixing = np.eye(p) + 0.3 * rng.standard_normal((p, p))
    x = rng.standard_normal((n, p)) @ mixing + g[:, None] * rng.standard_normal(p)
    return x, g, rng


@st.composite
def estimators(draw: st.DrawFn, smoother: str, variance: str = "unit") -> PLAGGM:
    of_the_kernel = {}
    if smoother == "kernel":
        of_the_kernel = {
            "indicator": draw(st.sampled_from(["soft", "ramp", "hard"])),
            "kernel": draw(st.sampled_from(["gaussian", "epanechnikov", "triangular"])),
            "bandwidth": draw(st.sampled_from([0.7, 1.0])),
        }
    return PLAGGM(
        draw(st.sampled_from([0.03, 0.1, 0.3])),
        smoother=smoother,
        variance=variance,
        standardize=True,
        threshold=draw(st.sampled_from([0.3, 0.5])),
        symmetry=draw(st.sampled_from(["joint", "and", "or"])),
        **of_the_kernel,
        **EXACT,
    )


def fit(model: PLAGGM, x: np.ndarray, g: np.ndarray) -> np.ndarray:
    return model.fit(x, confounder=g).omega_


@pytest.mark.parametrize("smoother", SMOOTHERS)
class TestEquivariance:
    @FEW
    @given(data=st.data(), table=tables())
    def test_order_of_the_columns(self, smoother: str, data: Any, table: Any) -> None:
        (x, g, rng), model = table, data.draw(estimators(smoother))
        order = rng.permutation(x.shape[1])
        omega = fit(model, x, g)
        moved = fit(model, x[:, order], g)
        np.testing.assert_allclose(moved, omega[np.ix_(order, order)], atol=SAME_OMEGA)

    @FEW
    @given(data=st.data(), table=tables())
    def test_order_of_the_rows(self, smoother: str, data: Any, table: Any) -> None:
        (x, g, rng), model = table, data.draw(estimators(smoother))
        order = rng.permutation(len(x))
        np.testing.assert_allclose(
            fit(model, x[order], g[order]), fit(model, x, g), atol=SAME_OMEGA
        )

    @FEW
    @given(data=st.data(), table=tables())
    def test_signs_of_the_columns(self, smoother: str, data: Any, table: Any) -> None:
        (x, g, rng), model = table, data.draw(estimators(smoother))
        sign = rng.choice([-1.0, 1.0], x.shape[1])
        omega = fit(model, x, g)
        expected = omega * np.outer(sign, sign)
        np.fill_diagonal(expected, np.diagonal(omega) * sign)
        np.testing.assert_allclose(fit(model, x * sign, g), expected, atol=SAME_OMEGA)

    @FEW
    @given(data=st.data(), table=tables())
    def test_units_of_the_columns(self, smoother: str, data: Any, table: Any) -> None:
        (x, g, rng), model = table, data.draw(estimators(smoother))
        unit = 10.0 ** rng.uniform(-4.0, 4.0, x.shape[1])
        origin = rng.standard_normal(x.shape[1])
        np.testing.assert_allclose(
            fit(model, (x + origin) * unit, g), fit(model, x, g), atol=SAME_OMEGA
        )

    @FEW
    @given(data=st.data(), table=tables(), exponent=st.integers(-6, 6))
    def test_units_of_the_confounder(
        self, smoother: str, data: Any, table: Any, exponent: int
    ) -> None:
        (x, g, _), model = table, data.draw(estimators(smoother))
        omega = fit(model, x, g)
        unit = 10.0**exponent
        model.set_params(threshold=unit * model.threshold)
        if smoother == "kernel":
            model.set_params(bandwidth=unit * model.bandwidth)
        np.testing.assert_allclose(fit(model, x, unit * g), omega, atol=SAME_OMEGA)

    @pytest.mark.filterwarnings("ignore:.*rows are copies of others:UserWarning")
    @FEW
    @given(data=st.data(), table=tables())
    def test_the_same_samples_twice(self, smoother: str, data: Any, table: Any) -> None:
        if smoother != "kernel":
            pytest.skip("other smoothers choose their flexibility by the number of samples")
        (x, g, _), model = table, data.draw(estimators(smoother))
        twice = fit(model, np.vstack([x, x]), np.concatenate([g, g]))
        np.testing.assert_allclose(twice, fit(model, x, g), atol=SAME_OMEGA)


@pytest.mark.parametrize("smoother", SMOOTHERS)
class TestConditionalVariances:
    @FEW
    @given(data=st.data(), table=tables())
    def test_order_signs_and_units(self, smoother: str, data: Any, table: Any) -> None:
        (x, g, rng), model = table, data.draw(estimators(smoother, "conditional"))
        p = x.shape[1]
        omega, scale = fit(model, x, g), model.scale_
        order, sign = rng.permutation(p), rng.choice([-1.0, 1.0], p)
        unit = 10.0 ** rng.uniform(-3.0, 3.0, p)
        moved = fit(model, (x * sign * unit)[:, order], g)
        expected = (omega * np.outer(sign, sign))[np.ix_(order, order)]
        off = ~np.eye(p, dtype=bool)
        np.testing.assert_allclose(moved[off], expected[off], atol=SAME_CONDITIONAL)
        np.testing.assert_allclose(model.scale_, (scale * unit)[order], rtol=SAME_CONDITIONAL)


class TestFittedValues:
    @FEW
    @given(data=st.data(), table=tables())
    def test_what_the_model_promises(self, data: Any, table: Any) -> None:
        (x, g, rng), smoother = table, data.draw(st.sampled_from(SMOOTHERS))
        model = data.draw(estimators(smoother, data.draw(st.sampled_from(["unit", "conditional"]))))
        omega = fit(model, x, g)
        np.testing.assert_array_equal(omega, omega.T)
        assert np.all(np.isfinite(omega))
        assert model.dual_gap_ <= model.tol
        inside = rng.uniform(-model.threshold_, model.threshold_, 3)
        assert not model.nuisance(inside).any()
        beyond = model.nuisance(rng.uniform(model.threshold_, 1.0, 2))
        np.testing.assert_allclose(beyond, np.swapaxes(beyond, 1, 2), atol=1e-12)

    @FEW
    @given(table=tables(), smoother=st.sampled_from(SMOOTHERS))
    def test_a_path_is_empty_first_and_its_choice_is_a_step(
        self, table: Any, smoother: str
    ) -> None:
        x, g, _ = table
        wide = {"bandwidth": 0.7} if smoother == "kernel" else {}
        model = PLAGGMCV(smoother=smoother, alphas=6, criterion="bic", threshold=0.5, **wide)
        model.fit(x, confounder=g)
        assert np.all(np.diff(model.alphas_) < 0.0)
        off = ~np.eye(x.shape[1], dtype=bool)
        assert not model.omega_path_[0][off].any()
        assert model.omega_path_[-1][off].any()
        chosen = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
        np.testing.assert_array_equal(model.omega_, model.omega_path_[chosen])
