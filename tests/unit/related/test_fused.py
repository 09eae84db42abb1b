"""The fused TV-GGM against its objective and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from plaggm.related import TVGGM
from plaggm.related.confounder_points import bin_edges
from plaggm.related.fused import emptying_penalty

TIGHT: dict[str, Any] = dict(tol=1e-8, max_iter=20_000)


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray]:
    """Four variables whose one edge appears with the confounder."""
    rng = np.random.default_rng(1)
    g = rng.uniform(-1.0, 1.0, size=600)
    x = rng.normal(size=(600, 4))
    x[:, 1] += 0.6 * x[:, 0]
    x[:, 3] += np.maximum(g, 0.0) * 1.5 * x[:, 2]
    return 5.0 + x * [1.0, 10.0, 0.1, 1.0], g


def objective(precision: np.ndarray, covariance: np.ndarray, alpha: float, fusion: float) -> float:
    off = ~np.eye(precision.shape[1], dtype=bool)
    fit = np.sum(covariance * precision) - np.linalg.slogdet(precision)[1].sum()
    sparse = np.abs(precision[:, off]).sum()
    fused = np.abs(np.diff(precision[:, off], axis=0)).sum()
    return float(fit + alpha * sparse + alpha * fusion * fused)


def bins_of(model: TVGGM, x: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fitted precision matrices in units of every bin's deviations, and its correlations."""
    labels = np.searchsorted(model.bin_edges_, g, side="right")
    precision, correlation = [], []
    for k, part in enumerate(model._bins):
        inside = x[labels == k]
        sigma = part.scale / inside.std(axis=0)
        precision.append((np.eye(4) - part.omega) / np.outer(sigma, sigma))
        correlation.append(np.corrcoef(inside.T))
    return np.stack(precision), np.stack(correlation)


class TestDefinition:
    @pytest.mark.parametrize("fusion", [0.2, 2.0])
    def test_no_small_change_improves_the_objective(self, sample, fusion: float) -> None:
        x, g = sample
        alpha = 0.08
        model = TVGGM(smoother="fused", n_bins=3, fusion=fusion, alpha=alpha, **TIGHT)
        precision, correlation = bins_of(model.fit(x, confounder=g), x, g)
        best = objective(precision, correlation, alpha, fusion)
        rng = np.random.default_rng(0)
        for size in (1e-2, 1e-3):
            for _ in range(40):
                change = rng.normal(size=precision.shape) * rng.integers(0, 2, precision.shape)
                moved = precision + size * (change + np.swapaxes(change, 1, 2))
                assert objective(moved, correlation, alpha, fusion) > best - 1e-9
        assert 0.0 <= model.dual_gap_ < 1e-6
        assert model.n_iter_ > 1

    def test_strong_fusion_makes_all_bins_alike(self, sample) -> None:
        x, g = sample
        model = TVGGM(smoother="fused", n_bins=3, fusion=100.0, alpha=0.05, **TIGHT)
        precision, _ = bins_of(model.fit(x, confounder=g), x, g)
        off = ~np.eye(4, dtype=bool)
        np.testing.assert_allclose(precision[0][off], precision[2][off], atol=1e-4)
        assert np.count_nonzero(precision[0][off]) > 0

    def test_zero_and_average(self, sample) -> None:
        x, g = sample
        settings: dict[str, Any] = dict(smoother="fused", n_bins=3, fusion=0.3, alpha=0.05)
        at_zero = TVGGM(**settings).fit(x, confounder=g)
        average = TVGGM(target="average", **settings).fit(x, confounder=g)
        parts = at_zero._bins
        np.testing.assert_allclose(at_zero.omega_, parts[1].omega)
        np.testing.assert_allclose(at_zero.location_, parts[1].location)
        np.testing.assert_allclose(average.omega_, np.mean([p.omega for p in parts], axis=0))
        # The edge that comes with the confounder is nearly absent at zero.
        assert abs(average.omega_[2, 3]) > abs(at_zero.omega_[2, 3])

    def test_score_takes_the_bin_of_each_sample(self, sample) -> None:
        x, g = sample
        model = TVGGM(smoother="fused", n_bins=3, alpha=0.05).fit(x, confounder=g)
        labels = np.searchsorted(model.bin_edges_, g, side="right")
        each = []
        for k, part in enumerate(model._bins):
            rows = labels == k
            z = (x[rows] - part.location) / part.scale
            residual = z - z @ (part.omega - np.diag(np.diagonal(part.omega)))
            each.append(-0.5 * (residual**2 + np.log(2 * np.pi * part.scale**2)).sum(axis=1))
        assert model.score(x, confounder=g) == pytest.approx(np.concatenate(each).mean())

    def test_path_and_choice(self, sample, capsys) -> None:
        x, g = sample
        model = TVGGM(smoother="fused", n_bins=3, alphas=8, cv=3).fit(x, confounder=g)
        # The first penalty is the smallest with an empty network in every bin.
        assert not model.omega_path_[0].any()
        again = TVGGM(smoother="fused", n_bins=3, alpha=0.97 * model.alphas_[0], **TIGHT)
        again.fit(x, confounder=g)
        assert any(np.abs(part.omega).max() > 0.0 for part in again._bins)
        assert model.alpha_ == model.alphas_[int(np.argmin(model.criterion_path_))]
        assert model.adjacency_[0, 1]
        workers = TVGGM(smoother="fused", n_bins=3, alphas=8, cv=3, n_jobs=2)
        np.testing.assert_array_equal(workers.fit(x, confounder=g).cv_loss_, model.cv_loss_)
        assert capsys.readouterr().out == ""

    @pytest.mark.parametrize("criterion", ["bic", "refit", "stars"])
    def test_other_criteria(self, sample, criterion: str) -> None:
        x, g = sample
        model = TVGGM(
            smoother="fused",
            n_bins=3,
            alphas=6,
            criterion=criterion,
            n_jobs=2,
            **(dict(n_subsamples=4, instability=0.3) if criterion == "stars" else {}),
        ).fit(x, confounder=g)
        assert model.adjacency_[0, 1]

    def test_without_confounder_it_is_the_plain_model(self, sample) -> None:
        x, _ = sample
        fused = TVGGM(smoother="fused", alpha=0.1).fit(x)
        np.testing.assert_array_equal(fused.omega_, TVGGM(alpha=0.1).fit(x).omega_)


def fused_lasso_dual(s: np.ndarray, alpha: float, fusion: float) -> float:
    """How far zero is from solving 1/2 |x - s|^2 + alpha |x|_1 + alpha fusion |Dx|_1, by its dual.

    Zero is the solution if s = alpha u + alpha fusion D'v with entries of u and v between -1 and 1.
    """
    differences = np.diff(np.eye(len(s)), axis=0)
    columns = alpha * np.column_stack([np.eye(len(s)), fusion * differences.T])
    return lsq_linear(columns, s, (-1.0, 1.0), method="bvls").cost


@pytest.mark.parametrize("fusion", [0.1, 1.0, 3.0])
def test_emptying_penalty_is_where_zero_becomes_optimal(fusion: float) -> None:
    rng = np.random.default_rng(2)
    for count in (1, 2, 3, 6):
        entries = rng.normal(size=(count, 4)) + rng.normal(size=4)
        found = emptying_penalty(entries, fusion)
        assert max(fused_lasso_dual(s, 1.001 * found, fusion) for s in entries.T) < 1e-12
        assert max(fused_lasso_dual(s, 0.99 * found, fusion) for s in entries.T) > 1e-6


class TestBins:
    def test_equal_numbers(self) -> None:
        g = np.random.default_rng(0).normal(size=90)
        labels = np.searchsorted(bin_edges(g, 9), g, side="right")
        np.testing.assert_array_equal(np.bincount(labels), np.full(9, 10))

    def test_ties_stay_together(self) -> None:
        g = np.array([0.0] * 6 + [1.0, 2.0, 3.0])
        edges = bin_edges(g, 3)
        np.testing.assert_array_equal(edges, [0.5])


class TestErrors:
    def test_pseudo_has_no_fused_form(self, sample) -> None:
        with pytest.raises(ValueError, match="no fused form"):
            TVGGM(smoother="fused", loss="pseudo").fit(sample[0], confounder=sample[1])

    def test_single_confounder(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match="smoother='fused' needs a single confounder"):
            TVGGM(smoother="fused").fit(x, confounder=np.column_stack([g, g**2]))

    def test_too_many_bins(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match=r"n_bins=30 is more than the 20"):
            TVGGM(smoother="fused", n_bins=30).fit(x[:20], confounder=g[:20])
        with pytest.raises(ValueError, match="Use fewer bins or more folds"):
            TVGGM(smoother="fused", n_bins=5, cv=2).fit(x[:20], confounder=g[:20])

    def test_a_constant_within_a_bin(self, sample) -> None:
        x, g = sample
        x = x.copy()
        x[g < np.quantile(g, 0.4), 2] = 1.0
        with pytest.raises(ValueError, match=r"Bin 1 of confounder .* 'x2'.*fewer bins"):
            TVGGM(smoother="fused", n_bins=3).fit(x, confounder=g)

    def test_failed_steps_are_recorded(self, sample) -> None:
        x, g = sample
        alphas = [0.9, 0.05]
        with pytest.warns(ConvergenceWarning, match="failures_"):
            model = TVGGM(
                smoother="fused", n_bins=3, alphas=alphas, criterion="bic", max_iter=3, tol=1e-9
            ).fit(x, confounder=g)
        assert "no convergence after 3 " in model.failures_[0.05]
        assert model.alpha_ == 0.9
