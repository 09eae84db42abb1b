from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.bandwidth import assumption_bandwidth
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.data import Confounder
from plaggm.estimators.kernel_model import (
    AUTO_QUANTILES,
    FEWEST_SAMPLES,
    information_samples,
    resolve_bandwidth,
    resolve_form,
)
from plaggm.simulate import Simulated, simulate_paper

# The same sums in another order.
ROUNDING = 1e-10
# Generalised eigenvalues of Gram matrices of order six.
SAME_EIGENVALUE = 1e-6

KERNEL: dict[str, Any] = dict(smoother="kernel", variance="unit", standardize=False)


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(5, n=300, seed=0, even=True, threshold=60.0)


def with_constant(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


def information(
    x: np.ndarray, confounder: np.ndarray, limits: np.ndarray, **settings: Any
) -> float:
    """Samples' worth of information at a threshold; zero where a system is singular."""
    model = PLAGGM(0.1, **KERNEL, threshold=limits, **settings)
    try:
        model.fit(x, confounder=confounder)
    except SingularLocalSystemError:
        return 0.0
    return information_samples(model._network.problem.model.node_grams, with_constant(x))


class TestForm:
    @pytest.mark.parametrize(
        ("form", "indicator", "expected"),
        [
            ("auto", "soft", "lemma"),
            ("auto", "ramp", "supplement"),
            ("auto", "hard", "supplement"),
            ("auto", np.tanh, "supplement"),
            ("lemma", "ramp", "lemma"),
            ("supplement", "soft", "supplement"),
        ],
    )
    def test_choice(self, form: str, indicator: Any, expected: str) -> None:
        assert resolve_form(form, indicator) == expected


class TestBandwidth:
    def test_the_rule_in_the_confounders_units(self) -> None:
        g = np.linspace(-3.0, 40.0, 500)
        found = resolve_bandwidth("auto", Confounder(g[:, None], ("g",)), 10)
        np.testing.assert_allclose(found, [40.0 * assumption_bandwidth(500, 10).bandwidth])

    def test_each_confounder_has_its_own(self) -> None:
        g = np.column_stack([np.linspace(-1.0, 1.0, 500), np.linspace(-900.0, 10.0, 500)])
        found = resolve_bandwidth("auto", Confounder(g, ("a", "b")), 10)
        rule = assumption_bandwidth(500, 10)
        np.testing.assert_allclose(found, rule.bandwidth * np.array([1.0, 900.0]))

    def test_a_number_is_taken_as_it_is(self) -> None:
        confounder = Confounder(np.zeros((4, 2)), ("a", "b"))
        np.testing.assert_array_equal(resolve_bandwidth(2.5, confounder, 3), [2.5, 2.5])
        np.testing.assert_array_equal(resolve_bandwidth([1.0, 3.0], confounder, 3), [1.0, 3.0])

    def test_too_few_samples_for_assumption_1(self) -> None:
        rule = assumption_bandwidth(20, 2)
        assert not rule.satisfied
        confounder = Confounder(np.linspace(0.0, 1.0, 20)[:, None], ("g",))
        with pytest.warns(UserWarning, match="Assumption 1.*more samples would help") as caught:
            found = resolve_bandwidth("auto", confounder, 2)
        assert f"{rule.rate**2:.3g} > {rule.bound:.3g}" in str(caught[0].message)
        np.testing.assert_allclose(found, [rule.bandwidth])
        # A bandwidth that the user gives is the user's own.
        resolve_bandwidth(0.1, confounder, 2)

    def test_the_warning_reaches_the_user(self) -> None:
        rng = np.random.default_rng(0)
        with pytest.warns(UserWarning, match="Assumption 1"):
            PLAGGM(smoother="kernel", threshold=0.5, variance="unit").fit(
                rng.standard_normal((20, 2)), confounder=np.linspace(0.0, 1.0, 20)
            )


class TestInformation:
    def test_data_as_they_are_count_fully(self, data: Simulated) -> None:
        b = with_constant(data.x)
        pooled = np.repeat((b.T @ b / 300)[None], 5, axis=0)
        found = information_samples(NodeGrams(pooled, 300, np.zeros(5)), b)
        assert found == pytest.approx(300.0, rel=SAME_EIGENVALUE)

    def test_half_of_the_data_counts_half(self, data: Simulated) -> None:
        half = with_constant(data.x)
        b = np.vstack([half, half])
        kept = np.repeat((half.T @ half / 600)[None], 5, axis=0)
        found = information_samples(NodeGrams(kept, 600, np.zeros(5)), b)
        assert found == pytest.approx(300.0, rel=SAME_EIGENVALUE)

    def test_the_worst_node_counts(self, data: Simulated) -> None:
        b = with_constant(data.x)
        grams = np.repeat((b.T @ b / 300)[None], 5, axis=0)
        grams[3] *= 0.25
        found = information_samples(NodeGrams(grams, 300, np.zeros(5)), b)
        assert found == pytest.approx(75.0, rel=SAME_EIGENVALUE)

    def test_the_nodes_own_column_does_not_count(self, data: Simulated) -> None:
        b = with_constant(data.x)
        grams = np.repeat((b.T @ b / 300)[None], 5, axis=0)
        for j in range(5):
            grams[j, j, :] = grams[j, :, j] = 0.0
        found = information_samples(NodeGrams(grams, 300, np.zeros(5)), b)
        assert found == pytest.approx(300.0, rel=SAME_EIGENVALUE)


class TestAutomaticThreshold:
    @pytest.mark.parametrize(
        ("n", "p", "settings"),
        [
            (300, 5, {"indicator": "soft"}),
            (200, 15, {"indicator": "ramp"}),
            (200, 15, {"indicator": "hard", "kernel": "epanechnikov", "bandwidth": 250.0}),
        ],
        ids=["soft", "ramp", "hard"],
    )
    def test_well_conditioned_there_and_not_below(
        self, n: int, p: int, settings: dict[str, Any]
    ) -> None:
        data = simulate_paper(p, n=n, seed=0, even=True, threshold=60.0)
        g = data.confounder
        model = PLAGGM(0.1, **KERNEL, **settings).fit(data.x, confounder=g)
        candidates = np.quantile(np.abs(g), AUTO_QUANTILES)
        chosen = int(np.argmin(np.abs(candidates - model.threshold_)))
        assert chosen > 0
        assert model.threshold_ == pytest.approx(candidates[chosen], rel=ROUNDING)
        assert information(data.x, g, candidates[chosen], **settings) >= FEWEST_SAMPLES
        for below in candidates[:chosen]:
            assert information(data.x, g, below, **settings) < FEWEST_SAMPLES

    def test_the_first_candidate_may_do(self, data: Simulated) -> None:
        model = PLAGGM(0.1, **KERNEL).fit(data.x, confounder=data.confounder)
        assert model.threshold_ == np.quantile(np.abs(data.confounder), AUTO_QUANTILES[0])

    def test_quantiles_of_zero_are_no_thresholds(self, data: Simulated) -> None:
        g = np.where(np.abs(data.confounder) < 200.0, 0.0, data.confounder)
        model = PLAGGM(0.1, **KERNEL).fit(data.x, confounder=g)
        # The first quantile above zero lies between the two values around it.
        assert 0.0 < model.threshold_ <= 200.0 + 800.0 / 299

    def test_several_confounders_share_the_level(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((400, 3))
        g = np.column_stack([rng.uniform(-1.0, 1.0, 400), rng.exponential(50.0, 400)])
        model = PLAGGM(0.1, **KERNEL, bandwidth=[1.0, 100.0]).fit(x, confounder=g)
        levels = np.mean(np.abs(g) <= model.threshold_, axis=0)
        assert levels[0] == pytest.approx(levels[1], abs=2 / 400)
        assert np.min(np.abs(AUTO_QUANTILES - levels[0])) < 2 / 400

    def test_it_equals_the_same_threshold_given(self, data: Simulated) -> None:
        searched = PLAGGM(0.1, **KERNEL).fit(data.x, confounder=data.confounder)
        given = PLAGGM(0.1, **KERNEL, threshold=searched.threshold_)
        given.fit(data.x, confounder=data.confounder)
        np.testing.assert_array_equal(given.omega_, searched.omega_)
        assert given.bandwidth_ == searched.bandwidth_


class TestThreshold:
    def test_zero_needs_samples_at_zero(self, data: Simulated) -> None:
        g = np.where(np.abs(data.confounder) < 200.0, 0.0, data.confounder)
        model = PLAGGM(0.1, **KERNEL, threshold=0.0, indicator="hard").fit(data.x, confounder=g)
        assert model.to_result().diagnostics["n_unconfounded"] == np.count_nonzero(g == 0.0)
        assert not model.nuisance(0.0).any()
        with pytest.raises(ValueError, match=r"No sample lies below the threshold 0;"):
            PLAGGM(0.1, **KERNEL, threshold=0.0).fit(data.x, confounder=data.confounder + 0.5)

    def test_the_norm_of_the_ratios_decides(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((300, 2))
        g = rng.uniform(-1.0, 1.0, (300, 2)) * [1.0, 100.0]
        limits = np.array([0.8, 80.0])
        model = PLAGGM(0.1, **KERNEL, threshold=limits, bandwidth=[1.0, 100.0])
        found = model.fit(x, confounder=g).to_result().diagnostics["n_unconfounded"]
        assert found == np.count_nonzero(np.sum((g / limits) ** 2, axis=1) <= 1.0)
        assert found < np.count_nonzero(np.all(np.abs(g) <= limits, axis=1))

    def test_the_message_speaks_of_the_norm(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((50, 2))
        angle = rng.uniform(0.0, 2.0 * np.pi, 50)
        # Every sample is 1.5 thresholds away, although each confounder comes near zero.
        g = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
        with pytest.raises(ValueError, match="No sample lies below") as caught:
            PLAGGM(0.1, **KERNEL, threshold=1.0, bandwidth=1.0).fit(x, confounder=g)
        assert "1.5" in str(caught.value)


class TestHeldOut:
    def test_the_data_themselves_give_their_own_grams(self, data: Simulated) -> None:
        model = PLAGGM(0.1, **KERNEL, threshold=60.0).fit(data.x, confounder=data.confounder)
        inner = model._network.problem.model
        again = inner.held_out(with_constant(data.x), data.confounder[:, None], 1)
        np.testing.assert_allclose(again.grams, inner.node_grams.grams, atol=ROUNDING)
        assert again.n == 300

    def test_unconfounded_rows_pass_unchanged(self, data: Simulated) -> None:
        model = PLAGGM(0.1, **KERNEL, threshold=60.0).fit(data.x, confounder=data.confounder)
        b = with_constant(data.x[:50])
        found = model._network.problem.model.held_out(b, np.zeros((50, 1)), 1)
        for gram in found.grams:
            np.testing.assert_allclose(gram, b.T @ b / 50, atol=ROUNDING)
