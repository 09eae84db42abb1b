"""What must hold of fits to tables with missing values, whatever the table."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM, PLAGGMCV
from plaggm.simulate import simulate_paper

# EM stops within its tolerance; the same steps on the same numbers in another order agree far better.
ROUNDING = 1e-7
SETTINGS = dict(threshold=60.0, missing="em")


def holes(seed: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    data = simulate_paper(4, n=260, seed=seed, even=True, threshold=60.0)
    x = data.x.copy()
    x[np.random.default_rng([seed, 1]).random(x.shape) < share] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.5
    return x, data.confounder


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["drop", "em"]))
def test_complete_tables_are_fitted_as_ever(seed: int, missing: str) -> None:
    data = simulate_paper(5, n=250, seed=seed, even=True, threshold=60.0)
    usual = PLAGGMCV(threshold=60.0, alphas=8, cv=3).fit(data.x, confounder=data.confounder)
    found = PLAGGMCV(threshold=60.0, alphas=8, cv=3, missing=missing)
    found.fit(data.x, confounder=data.confounder)
    assert np.array_equal(found.omega_path_, usual.omega_path_)
    assert np.array_equal(found.cv_loss_, usual.cv_loss_)
    assert found.inference().equals(usual.inference())
    assert found.to_result().diagnostics == usual.to_result().diagnostics


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.floats(0.02, 0.3))
def test_order_of_rows_and_columns_does_not_matter(seed: int, share: float) -> None:
    x, g = holes(seed, share)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(x)), rng.permutation(x.shape[1])
    one = PLAGGM(0.03, **SETTINGS).fit(x, confounder=g).omega_
    two = PLAGGM(0.03, **SETTINGS).fit(x[rows][:, columns], confounder=g[rows]).omega_
    np.testing.assert_allclose(two, one[np.ix_(columns, columns)], atol=10.0 * ROUNDING)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.floats(0.02, 0.3))
def test_units_of_columns_do_not_matter(seed: int, share: float) -> None:
    x, g = holes(seed, share)
    rng = np.random.default_rng(seed)
    unit, origin = 10.0 ** rng.uniform(-3.0, 3.0, 4), rng.uniform(-50.0, 50.0, 4)
    one = PLAGGM(0.03, **SETTINGS).fit(x, confounder=g)
    two = PLAGGM(0.03, **SETTINGS).fit(unit * (x + origin), confounder=g)
    pairs = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(two.omega_[pairs], one.omega_[pairs], atol=10.0 * ROUNDING)
    np.testing.assert_allclose(
        two.inference()["p_value"], one.inference()["p_value"], atol=1e3 * ROUNDING
    )
