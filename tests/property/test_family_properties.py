"""What a network of binary variables and counts must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM, PLAGGMCV

N, P = 160, 4
TIGHT = 1e-9


def table(seed):
    rng = np.random.default_rng(seed)
    common, g = rng.standard_normal(N), rng.uniform(-1.0, 1.0, N)
    x = np.column_stack(
        [
            rng.uniform(size=N) < 0.5 + 0.2 * np.sign(common),
            rng.uniform(size=N) < 0.5 + 0.3 * np.sign(common) * np.abs(g),
            rng.poisson(np.exp(0.5 + 0.3 * common)),
            common + rng.standard_normal(N),
        ]
    ).astype(float)
    return x, g


FAMILY = {"x0": "binomial", "x1": "binomial", "x2": "poisson"}


@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_the_order_of_variables_does_not_matter(seed):
    x, g = table(seed)
    order = np.random.default_rng(seed).permutation(P)
    families = ["binomial", "binomial", "poisson", "gaussian"]
    turned = {f"x{j}": families[k] for j, k in enumerate(order)}
    shared = dict(threshold=0.3, tol=TIGHT)
    plain = PLAGGM(0.05, family=FAMILY, **shared).fit(x, confounder=g)
    other = PLAGGM(0.05, family=turned, **shared).fit(x[:, order], confounder=g)
    np.testing.assert_allclose(other.omega_, plain.omega_[np.ix_(order, order)], atol=1e-6)


@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_exchanging_zeros_and_ones_turns_the_sign(seed):
    x, g = table(seed)
    flipped = x.copy()
    flipped[:, 0] = 1.0 - x[:, 0]
    shared = dict(family=FAMILY, threshold=0.3, tol=TIGHT)
    plain = PLAGGM(0.05, **shared).fit(x, confounder=g)
    other = PLAGGM(0.05, **shared).fit(flipped, confounder=g)
    sign = np.array([-1.0, 1.0, 1.0, 1.0])
    off = ~np.eye(P, dtype=bool)
    np.testing.assert_allclose(
        other.omega_[off], (plain.omega_ * np.outer(sign, sign))[off], atol=1e-6
    )


@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_units_of_a_gaussian_column_do_not_matter(seed):
    x, g = table(seed)
    moved = x.copy()
    moved[:, 3] = 100.0 - 7.0 * x[:, 3]
    shared = dict(family=FAMILY, threshold=0.3, tol=TIGHT)
    plain = PLAGGM(0.05, **shared).fit(x, confounder=g)
    other = PLAGGM(0.05, **shared).fit(moved, confounder=g)
    off = ~np.eye(P, dtype=bool)
    np.testing.assert_allclose(np.abs(other.omega_)[off], np.abs(plain.omega_)[off], atol=1e-6)


@given(seed=st.integers(0, 1000))
@settings(max_examples=3, deadline=None)
def test_every_step_is_optimal_and_the_first_is_empty(seed):
    x, g = table(seed)
    model = PLAGGMCV(family=FAMILY, threshold=0.3, alphas=6, criterion="bic", tol=TIGHT)
    model.fit(x, confounder=g)
    assert model.dual_gaps_.max() <= TIGHT
    assert np.count_nonzero(np.triu(model.omega_path_[0], 1)) == 0
    assert np.count_nonzero(np.triu(model.omega_path_[-1], 1)) > 0


def test_rows_that_count_twice_are_rows_that_stand_twice():
    # The scale of a Gaussian column is chosen by BIC, which counts rows.
    x = table(0)[0][:, :3]
    twice = PLAGGM(0.05, family=FAMILY, tol=TIGHT).fit(np.vstack([x, x]))
    once = PLAGGM(0.05, family=FAMILY, tol=TIGHT).fit(x)
    np.testing.assert_allclose(twice.omega_, once.omega_, atol=1e-7)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_a_constant_column_is_an_error(family):
    x, _ = table(0)
    x[:, 0] = 1.0
    with pytest.raises(ValueError, match="constant"):
        PLAGGM(0.05, family={"x0": family}).fit(x)
