"""Held-out pseudo-likelihood of related methods, StARS, one-standard-error rule, subjects' boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold

from plaggm import PLAGGM
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM
from plaggm.related.gaussian import GIVE_UP, GaussianLoss
from plaggm.related.lr_ggm import expand_regressors

RELATED = [GGM, ConGGM, LRGGM, TVGGM]
ROUNDING = 1e-10


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray]:
    """A chain of four variables whose means and network move with the confounder."""
    rng = np.random.default_rng(3)
    n, p = 300, 4
    g = rng.normal(size=n)
    z = rng.normal(size=(n, p))
    for j in range(1, p):
        z[:, j] += (0.6 + 0.3 * g) * z[:, j - 1]
    return (z + 0.8 * g[:, None] * np.arange(p)) * [1.0, 2.0, 0.5, 3.0] + 4.0, g


def literal_score(x: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Log pseudo-likelihood of rows: every variable given the others, from a precision matrix."""
    variance = 1.0 / np.diagonal(precision)
    centred = x - mean
    residual = centred @ precision * variance
    return -0.5 * np.sum(residual**2 / variance + np.log(2.0 * np.pi * variance), axis=1)


class TestScore:
    def test_one_network_for_all(self, sample) -> None:
        x, g = sample
        model = GGM(threshold=0.5, alpha=0.1).fit(x[:200], confounder=g[:200])
        expected = literal_score(x[200:], model.location_, model.precision_).mean()
        assert model.score(x[200:], confounder=g[200:]) == pytest.approx(expected, rel=ROUNDING)

    def test_without_confounder_it_is_that_of_plaggm(self, sample) -> None:
        x, _ = sample
        tight: dict[str, Any] = dict(tol=1e-12, max_iter=5000)
        mine = GGM(loss="pseudo", alpha=0.05, **tight).fit(x[:200])
        theirs = PLAGGM(0.05, **tight).fit(x[:200])
        assert mine.score(x[200:]) == pytest.approx(theirs.score(x[200:]), abs=1e-6)

    def test_regression_moves_the_mean(self, sample) -> None:
        x, g = sample
        model = LRGGM(alpha=0.1).fit(x[:200], confounder=g[:200])
        slopes = np.linalg.lstsq(np.column_stack([np.ones(200), g[:200]]), x[:200], rcond=None)[0]
        mean = slopes[0] + np.outer(g[200:], slopes[1])
        expected = literal_score(x[200:], mean, model.precision_).mean()
        assert model.score(x[200:], confounder=g[200:]) == pytest.approx(expected, rel=ROUNDING)

    def test_joint_model_gives_the_conditional_mean(self, sample) -> None:
        x, g = sample
        # So weak a penalty that the joint precision is that of the data.
        model = ConGGM(alpha=0.0).fit(x[:200], confounder=g[:200])
        joint = np.column_stack([x, g])
        precision = np.linalg.inv(np.cov(joint[:200].T, bias=True))
        whole = literal_score(joint[200:], joint[:200].mean(axis=0), precision)
        # All but the confounder's own term.
        own = 1.0 / precision[4, 4]
        residual = (joint[200:] - joint[:200].mean(axis=0)) @ precision[:, 4] * own
        expected = whole + 0.5 * (residual**2 / own + np.log(2.0 * np.pi * own))
        assert model.score(x[200:], confounder=g[200:]) == pytest.approx(expected.mean(), rel=1e-8)

    def test_varying_network_is_the_nearest(self, sample) -> None:
        x, g = sample
        settings: dict[str, Any] = dict(bandwidth=0.8, alpha=0.1, loss="pseudo")
        model = TVGGM(n_points=2, **settings).fit(x[:200], confounder=g[:200])
        points = np.sort(g[:200])[[50, 150]]
        parts = [TVGGM(**settings).fit(x[:200], confounder=g[:200] - at) for at in points]
        each = np.stack([literal_score(x[200:], *self._of(part)) for part in parts])
        nearest = (np.abs(g[200:] - points[1]) < np.abs(g[200:] - points[0])).astype(int)
        expected = each[nearest, np.arange(100)].mean()
        assert model.score(x[200:], confounder=g[200:]) == pytest.approx(expected, rel=1e-6)

    def test_varying_network_of_several_confounders(self, sample) -> None:
        x, g = sample
        both = np.column_stack([g, 10.0 * np.random.default_rng(0).normal(size=300)])
        settings: dict[str, Any] = dict(bandwidth=[0.8, 20.0], alpha=0.1, loss="pseudo")
        model = TVGGM(n_points=2, **settings).fit(x[:200], confounder=both[:200])
        # In bandwidths the first confounder varies more, so it is the one that is cut.
        upper = g[:200] > np.median(g[:200])
        points = [both[:200][part].mean(axis=0) for part in (~upper, upper)]
        parts = [TVGGM(**settings).fit(x[:200], confounder=both[:200] - at) for at in points]
        each = np.stack([literal_score(x[200:], *self._of(part)) for part in parts])
        away = [np.hypot(*((both[200:] - at) / [0.8, 20.0]).T) for at in points]
        expected = each[np.argmin(away, axis=0), np.arange(100)].mean()
        assert model.score(x[200:], confounder=both[200:]) == pytest.approx(expected, rel=1e-6)

    def test_thin_parts_are_described_by_their_neighbours(self, sample) -> None:
        x, g = sample
        far = np.where(np.arange(300) % 60 == 0, 40.0 + g, g)
        settings: dict[str, Any] = dict(bandwidth=0.3, alpha=0.1, loss="pseudo")
        model = TVGGM(n_points=300, **settings).fit(x, confounder=far)
        score = model.score(x, confounder=far)
        assert np.isfinite(score)
        # Where there are no samples, the last network before the gap goes on.
        beyond = np.where(far > 30.0, 1e6, far)
        assert model.score(x, confounder=beyond) == pytest.approx(score)

    @staticmethod
    def _of(model: TVGGM) -> tuple[np.ndarray, np.ndarray]:
        """Mean and precision matrix; the pseudo-likelihood's intercepts are zero about the mean."""
        np.testing.assert_allclose(np.diagonal(model.omega_), 0.0, atol=1e-12)
        return model.location_, model.precision_

    def test_who_models_the_shift_predicts_better(self, sample) -> None:
        x, g = sample
        pooled = GGM(alphas=10, cv=3).fit(x[:200]).score(x[200:])
        for method in (ConGGM, LRGGM, TVGGM):
            model = method(alphas=10, cv=3).fit(x[:200], confounder=g[:200])
            assert model.score(x[200:], confounder=g[200:]) > pooled + 0.1

    def test_weights(self, sample) -> None:
        x, g = sample
        model = LRGGM(alpha=0.1).fit(x, confounder=g)
        only = np.zeros(300)
        only[7] = 2.0
        assert model.score(x, confounder=g, sample_weight=only) == pytest.approx(
            model.score(x[7:8], confounder=g[7:8])
        )

    def test_errors(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match="pass the values of the new samples"):
            LRGGM(alpha=0.1).fit(x, confounder=g).score(x)
        with pytest.raises(ValueError, match="fitted without confounder"):
            LRGGM(alpha=0.1).fit(x).score(x, confounder=g)

    def test_networks_along_the_confounder_that_fail_are_told(self, sample) -> None:
        x, g = sample
        # Only the window at zero is wide enough for the penalty.
        model = TVGGM(bandwidth=0.3, alpha=0.9, tol=1e-12, max_iter=1).fit(x, confounder=g)
        with pytest.raises(ValueError, match=r"could not be estimated at .* points"):
            model.set_params(max_iter=1).score(x, confounder=g)


class TestSelection:
    @pytest.mark.parametrize("loss", ["glasso", "pseudo"])
    def test_one_standard_error(self, sample, loss: str) -> None:
        x, g = sample
        settings: dict[str, Any] = dict(loss=loss, alphas=15, cv=5)
        best = LRGGM(**settings).fit(x, confounder=g)
        careful = LRGGM(one_se=True, **settings).fit(x, confounder=g)
        at = int(np.argmin(best.criterion_path_))
        limit = best.criterion_path_[at] + best.cv_standard_error_[at]
        expected = best.alphas_[np.flatnonzero(best.criterion_path_ <= limit)[0]]
        assert careful.alpha_ == expected > best.alpha_

    @pytest.mark.parametrize("loss", ["glasso", "pseudo"])
    def test_refitted_supports(self, sample, loss: str) -> None:
        x, _ = sample
        n, p = x.shape
        model = GGM(criterion="refit", alphas=8, loss=loss).fit(x)
        values = []
        for omega in model.omega_path_:
            edges = (omega != 0.0) & ~np.eye(p, dtype=bool)
            value = np.count_nonzero(np.triu(edges)) * (np.log(n) + np.log(p))
            for node in range(p):
                design = np.column_stack([np.ones(n), x[:, edges[node]]])
                left = x[:, node] - design @ np.linalg.lstsq(design, x[:, node], rcond=None)[0]
                value += 0.5 * (n - 1) * np.log(np.mean(left**2))
            values.append(value)
        found = model.criterion_path_
        np.testing.assert_allclose(found - found[0], np.array(values) - values[0], atol=1e-6)
        assert model.alpha_ == model.alphas_[int(np.argmin(values))]

    @pytest.mark.parametrize("method", RELATED)
    def test_stars(self, sample, method) -> None:
        x, g = sample
        settings: dict[str, Any] = dict(
            criterion="stars", alphas=8, n_subsamples=6, subsample=0.5, loss="pseudo"
        )
        if method is GGM:
            settings["threshold"] = 1.0
        model = method(**settings).fit(x, confounder=g)
        assert np.all(np.diff(model.criterion_path_) >= 0.0)
        accepted = model.criterion_path_ <= 0.05
        assert model.alpha_ == model.alphas_[max(accepted.sum() - 1, 0)]
        assert model.edge_stability_.shape == (4, 4)
        assert not np.diagonal(model.edge_stability_).any()
        # A wider tolerance does not make the network sparser.
        loose = method(**settings, instability=0.3).fit(x, confounder=g)
        assert loose.alpha_ <= model.alpha_

    def test_stars_by_hand(self, sample) -> None:
        x, _ = sample
        alphas = [0.4, 0.2, 0.1]
        model = GGM(
            criterion="stars", alphas=alphas, n_subsamples=4, subsample=0.4, random_state=5
        ).fit(x)
        random = np.random.RandomState(5)
        rows = [np.sort(random.permutation(300)[:120]) for _ in range(4)]
        deviation = x.std(axis=0)
        edges = []
        for index in rows:
            gram = np.cov((x[index] / deviation).T, bias=True)
            full = np.zeros((5, 5))
            full[:4, :4], full[4, 4] = gram, 1.0
            from plaggm.core.grams.node_grams import NodeGrams

            grams, loss = NodeGrams(full[None], 120, np.ones(4)), GaussianLoss(1e-4, 100)
            (path,) = loss.paths([grams], np.array(alphas))
            edges.append(path.omega != 0.0)
        frequency = np.mean(edges, axis=0)
        upper = np.triu_indices(4, 1)
        instability = (2 * frequency * (1 - frequency))[:, upper[0], upper[1]].mean(axis=1)
        np.testing.assert_allclose(model.criterion_path_, np.maximum.accumulate(instability))

    def test_too_small_subsample(self, sample) -> None:
        with pytest.raises(ValueError, match="leaves 0; at least 3"):
            GGM(criterion="stars", subsample=0.001).fit(sample[0])

    def test_a_path_is_given_up_after_failures_in_a_row(self, sample) -> None:
        x, _ = sample
        alphas = np.geomspace(0.01, 0.0001, GIVE_UP + 2)
        with pytest.warns(ConvergenceWarning, match="failures_"):
            model = GGM(alphas=[0.95, *alphas], criterion="bic", max_iter=1, tol=1e-12).fit(x)
        reasons = list(model.failures_.values())
        assert ["no convergence" in reason for reason in reasons] == [True] * GIVE_UP + [False] * 2
        assert "not tried" in reasons[-1]


class TestGroups:
    def test_differences_stay_within_a_group(self) -> None:
        g = np.array([[1.0], [10.0], [2.0], [30.0], [5.0]])
        owner = np.array([0, 1, 0, 1, 0])
        found = expand_regressors(g, "derivatives", owner)[:, 1]
        np.testing.assert_array_equal(found, [0.0, 0.0, 1.0, 20.0, 3.0])

    def test_fit_is_that_of_the_expanded_set(self, sample) -> None:
        x, g = sample
        groups = np.repeat(["anna", "ben", "cleo"], 100)
        model = LRGGM(regressors="both", alpha=0.1).fit(x, confounder=g, groups=groups)
        columns = expand_regressors(g[:, None], "both", np.repeat([0, 1, 2], 100))
        by_hand = LRGGM(alpha=0.1).fit(x, confounder=columns)
        np.testing.assert_allclose(model.omega_, by_hand.omega_, atol=1e-8)
        np.testing.assert_allclose(
            model.score(x, confounder=g, groups=groups),
            by_hand.score(x, confounder=columns),
            rtol=1e-8,
        )
        without = LRGGM(regressors="both", alpha=0.1).fit(x, confounder=g)
        assert np.abs(without.omega_ - model.omega_).max() > 1e-6

    @pytest.mark.parametrize("method", RELATED)
    def test_folds_leave_groups_out(self, sample, method) -> None:
        x, g = sample
        groups = np.arange(300) // 30
        settings: dict[str, Any] = dict(loss="pseudo", alphas=6)
        if method is GGM:
            settings["threshold"] = 1.0
        model = method(cv=5, **settings).fit(x, confounder=g, groups=groups)
        same = method(cv=GroupKFold(5, shuffle=True, random_state=0), **settings)
        same.fit(x, confounder=g, groups=groups)
        assert model.cv_loss_.shape == same.cv_loss_.shape
        rows = method(cv=5, **settings).fit(x, confounder=g)
        assert not np.allclose(rows.cv_loss_, model.cv_loss_)
        if method is not GGM:
            np.testing.assert_allclose(model.cv_loss_, same.cv_loss_)

    def test_labels_are_checked(self, sample) -> None:
        x, g = sample
        with pytest.raises(ValueError, match="one group for each of the 300 rows"):
            LRGGM().fit(x, confounder=g, groups=np.zeros(299))
        model = LRGGM(regressors="derivatives", alpha=0.1).fit(x, confounder=g)
        with pytest.raises(ValueError, match="one group for each of the 300 rows"):
            model.score(x, confounder=g, groups=["a"])
        with pytest.raises(ValueError, match="groups has no value in row 299"):
            model.score(x, confounder=g, groups=["a"] * 299 + [None])
        # New samples may all be of one group.
        alone = model.score(x, confounder=g, groups=["a"] * 300)
        assert alone == pytest.approx(model.score(x, confounder=g))
