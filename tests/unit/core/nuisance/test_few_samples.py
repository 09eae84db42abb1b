"""The prior of the nuisance from few samples, against likelihoods of the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.nuisance import few_samples
from plaggm.core.nuisance.few_samples import learn_prior
from plaggm.core.nuisance.focused import focused_penalty
from plaggm.core.nuisance.prior import PriorForm
from plaggm.core.spline.statistics import spline_statistics
from plaggm.core.spline.system import SplineSystem, spline_system

P, N = 24, 40
FORM = PriorForm(np.zeros(1, dtype=np.intp))


def rows(seed: int, strength: float, p: int = P, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose network moves by ``strength`` times a standardised confounder."""
    draw = np.random.default_rng(seed)
    moved = np.triu(draw.standard_normal((p, p)), 1)
    moved = moved + moved.T
    moved *= strength / np.abs(np.linalg.eigvalsh(moved)).max()
    g = np.where(np.arange(n) % 2, 1.0, -1.0)
    x = np.empty((n, p))
    for sign in (-1.0, 1.0):
        some = g == sign
        root = np.linalg.cholesky(np.linalg.inv(np.eye(p) - sign * moved))
        x[some] = draw.standard_normal((some.sum(), p)) @ root.T
    return x, g[:, None]


def system_of(x: np.ndarray, phi: np.ndarray) -> SplineSystem:
    b = np.column_stack([x, np.ones(len(x))])
    return spline_system(spline_statistics(b, phi), np.eye(phi.shape[1]))


def likelihood_of_rows(x: np.ndarray, phi: np.ndarray, variance: float, spread: float) -> float:
    """Restricted likelihood of every node's mixed model, each from its own n x n covariance."""
    total = 0.0
    fixed = np.column_stack([np.ones(len(x)), phi])
    for j in range(x.shape[1]):
        products = np.delete(x, j, axis=1) @ np.delete(x, j, axis=1).T
        covariance = np.eye(len(x)) + variance * products + spread * (phi @ phi.T) * products
        inverse = np.linalg.inv(covariance)
        inside = fixed.T @ inverse @ fixed
        left = inverse - inverse @ fixed @ np.linalg.solve(inside, fixed.T @ inverse)
        total += np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inside)[1]
        total += (len(x) - fixed.shape[1]) * np.log(x[:, j] @ left @ x[:, j])
    return -0.25 * total


def test_the_likelihood_is_that_of_the_rows() -> None:
    x, phi = rows(0, 0.6)
    system = system_of(x, phi)
    found, expected = [], []
    for variance, spread in ((0.01, 0.001), (0.05, 0.02), (0.001, 0.1)):
        effects = few_samples._Effects.of(system, variance, np.array([[spread]]))
        found.append(effects.log_likelihood())
        expected.append(likelihood_of_rows(x, phi, variance, spread))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-5)


def test_em_steps_raise_the_likelihood() -> None:
    system = system_of(*rows(1, 0.8))
    variance, covariance = 0.02, np.array([[0.005]])
    values = []
    for _ in range(5):
        effects = few_samples._Effects.of(system, variance, covariance)
        values.append(effects.log_likelihood())
        moments = effects.second_moments()
        variance, covariance = float(moments[0, 0]), moments[1:, 1:]
    assert np.all(np.diff(values) > 0.0)


def test_a_strong_nuisance_is_learnt_and_none_is_not() -> None:
    strong = [learn_prior(system_of(*rows(seed, 0.9, 40, 60)), FORM).gain for seed in range(4)]
    none = [learn_prior(system_of(*rows(seed, 0.0, 40, 60)), FORM).gain for seed in range(12)]
    assert min(strong) > 0.0
    assert np.count_nonzero(np.array(none) > 0.0) <= 1


def test_confounders_without_effect_do_not_hide_one_that_has() -> None:
    """Each pays for itself: their functions had cost more than the nuisance gained."""
    form = PriorForm(np.array([0, 1, 1, 2, 2]))
    for seed in range(3):
        x, phi = rows(seed, 0.9, 30, 45)
        other = np.random.default_rng(seed + 900).standard_normal((45, 4))
        whole = np.hstack([phi, (other - other.mean(axis=0)) / other.std(axis=0)])
        alone, found = learn_prior(system_of(x, phi), FORM), learn_prior(system_of(x, whole), form)
        assert found.gain > 0.5 * alone.gain > 0.0
        spread = 45 * np.diag(found.covariance)
        assert spread[0] > 0.1
        np.testing.assert_allclose(spread[1:], few_samples.SIZES[0])
        x, _ = rows(seed, 0.0, 30, 45)
        assert learn_prior(system_of(x, whole), form).gain <= 0.0


def test_few_samples_pool_unless_there_is_something_to_learn() -> None:
    roughness = np.zeros(1)
    pooled = focused_penalty(system_of(*rows(0, 0.0, 40, 60)), roughness, FORM)
    learnt = focused_penalty(system_of(*rows(0, 0.9, 40, 60)), roughness, FORM)
    assert learnt.penalty[0] < 0.3 * pooled.penalty[0]
    assert np.isnan(pooled.retained_share)
    assert learnt.retained_share == 1.0


def test_many_variables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    system = system_of(*rows(2, 0.9, 40, 60))
    whole = learn_prior(system, FORM)
    monkeypatch.setattr(few_samples, "MOST_COLUMNS", 64)
    assert few_samples._some_variables(system).p == 31
    some = learn_prior(system, FORM)
    assert some.covariance.shape == whole.covariance.shape
    assert some.gain > 0.0
