"""Which test is used when, and what it says where it cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.inference.change_tests import change_tests
from plaggm.core.inference.edge_tests import FEW_GROUPS, edge_tests
from plaggm.core.inference.gram_tests import least_squares_tests
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.spline.basis import SplineBasis, spline_basis
from plaggm.core.spline.statistics import spline_statistics, split_statistics

NONE = SplineBasis(())


def table(n: int, p: int, seed: int = 0) -> np.ndarray:
    z = np.random.default_rng(seed).standard_normal((n, p))
    z[:, 1] += 0.6 * z[:, 0]
    return np.column_stack([z, np.ones(n)])


def plain(b: np.ndarray, labels: np.ndarray | None = None):
    """Statistics of rows without confounder, of all and of groups."""
    nothing = np.zeros((len(b), 0))
    groups = () if labels is None else split_statistics(b, nothing, labels, int(labels.max()) + 1)
    return spline_statistics(b, nothing), groups


def test_few_rows_are_tested_by_the_desparsified_lasso():
    for n, method in ((8, "least squares"), (7, "de-sparsified lasso"), (3, "de-sparsified lasso")):
        b = table(n, 4)
        assert edge_tests(plain(b)[0], NONE, profile_pooled(b)).method == method


def test_few_rows_in_groups_are_told():
    b = table(12, 10)
    total, groups = plain(b, np.arange(12) % 4)
    with pytest.warns(UserWarning, match="as if they were independent"):
        edge_tests(total, NONE, profile_pooled(b), groups=groups)


def test_few_groups_are_told_and_one_is_refused():
    b = table(60, 3)
    total, groups = plain(b, np.arange(60) % (FEW_GROUPS - 1))
    with pytest.warns(UserWarning, match=f"{FEW_GROUPS - 1} groups"):
        tests = edge_tests(total, NONE, profile_pooled(b), groups=groups)
    assert tests.degrees_of_freedom == FEW_GROUPS - 2
    assert "cluster jackknife" in tests.method
    with pytest.raises(ValueError, match="one group"):
        edge_tests(total, NONE, profile_pooled(b), groups=groups[:1])


def test_groups_of_repeated_rows_are_not_mistaken_for_samples():
    b = table(40, 3, seed=1)
    repeated = np.repeat(b, 10, axis=0)
    total, groups = plain(repeated, np.repeat(np.arange(40), 10))
    careless = edge_tests(total, NONE, profile_pooled(repeated))
    careful = edge_tests(total, NONE, profile_pooled(repeated), groups=groups)
    honest = edge_tests(plain(b)[0], NONE, profile_pooled(b))
    np.testing.assert_allclose(careful.estimate, honest.estimate, atol=1e-10)
    assert np.all(careless.standard_error < 0.4 * honest.standard_error)
    # CRV3 rests on 40 groups here and is a little too wide by design.
    ratio = careful.standard_error / honest.standard_error
    assert np.all((ratio > 0.6) & (ratio < 1.8))


def test_blocks_of_heavy_tailed_rows_widen_the_intervals():
    rng = np.random.default_rng(2)
    b = table(400, 6, seed=3)
    labels = np.arange(400) % 10
    gaussian, blocks = plain(b, labels)
    same = edge_tests(gaussian, NONE, profile_pooled(b), blocks=blocks)
    assert same.dispersion == 1.0
    heavy = b.copy()
    heavy[:, :-1] *= np.sqrt(3.0 / rng.chisquare(3.0, 400))[:, None]
    total, blocks = plain(heavy, labels)
    before = edge_tests(total, NONE, profile_pooled(heavy))
    after = edge_tests(total, NONE, profile_pooled(heavy), blocks=blocks)
    assert after.dispersion > 1.3
    np.testing.assert_allclose(
        after.standard_error, before.standard_error * np.sqrt(after.dispersion), rtol=1e-10
    )


def test_changes_need_a_confounder_and_rows():
    b = table(40, 3)
    with pytest.raises(ValueError, match="Without a confounder"):
        change_tests(plain(b)[0], NONE)
    g = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 1))
    basis = spline_basis(g, np.array([0.2]), functions=3, degree=2)
    few = spline_statistics(b[:8], basis.evaluate(g)[:8])
    with pytest.raises(ValueError, match="too few to test what adjusting changes"):
        change_tests(few, basis)


def test_changes_by_groups_rest_on_the_groups():
    rng = np.random.default_rng(4)
    b = table(300, 3, seed=4)
    g = rng.uniform(-1.0, 1.0, (300, 1))
    b[:, 2] += 2.0 * b[:, 0] * (np.abs(g[:, 0]) > 0.5)
    basis = spline_basis(g, np.array([0.4]), functions=2, degree=2)
    phi = basis.evaluate(g)
    total = spline_statistics(b, phi)
    groups = split_statistics(b, phi, np.arange(300) % 15, 15)
    alone, grouped = change_tests(total, basis), change_tests(total, basis, groups=groups)
    np.testing.assert_allclose(grouped.difference, alone.difference, rtol=1e-10)
    # Rows are independent here: both standard errors estimate the same.
    ratio = grouped.standard_error / alone.standard_error
    assert np.all((ratio > 0.5) & (ratio < 2.5))
    assert np.argmax(np.abs(alone.z)) == 1


def test_changes_in_heavy_tailed_rows_have_the_variance_that_blocks_show():
    rng = np.random.default_rng(5)
    b, g, labels = table(400, 5, seed=5), np.abs(rng.standard_normal((400, 1))), np.arange(400) % 10
    basis = spline_basis(g, np.array([0.4]), functions=2, degree=2)
    phi = basis.evaluate(g)
    for degrees, heavy in ((np.inf, False), (3.0, True)):
        rows = b.copy()
        if heavy:
            rows[:, :-1] *= np.sqrt(degrees / rng.chisquare(degrees, 400))[:, None]
        total, parts = spline_statistics(rows, phi), split_statistics(rows, phi, labels, 10)
        plain_tests = change_tests(total, basis)
        tests = change_tests(total, basis, blocks=parts)
        variance = plain_tests.standard_error**2
        if heavy:
            shown = change_tests(total, basis, groups=parts).standard_error ** 2
            factor = shown.sum() / variance.sum()
            assert factor > 1.3
            variance = np.maximum(factor * variance, shown)
        np.testing.assert_allclose(tests.standard_error**2, variance, rtol=1e-10)
        # A dispersion that is known already is not lowered.
        known = change_tests(total, basis, blocks=parts, dispersion=9.0).standard_error ** 2
        assert np.all(known >= 9.0 * plain_tests.standard_error**2 * (1.0 - 1e-10))


def test_least_squares_without_degrees_of_freedom_is_refused():
    b = table(5, 5)
    with pytest.raises(ValueError, match="no degrees of freedom left"):
        least_squares_tests(profile_pooled(b))
