from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.numerics.coordinate_steps import add_scaled, duality_gap, soft_threshold


@pytest.mark.parametrize(
    ("value", "expected"), [(3.0, 2.5), (-3.0, -2.5), (0.5, 0.0), (-0.5, 0.0), (0.0, 0.0)]
)
def test_soft_threshold(value: float, expected: float) -> None:
    assert soft_threshold(value, 0.5) == expected


def test_add_scaled_adds_in_place() -> None:
    target, source = np.arange(5.0), np.ones(5)
    add_scaled(target, source, -2.0)
    np.testing.assert_allclose(target, np.arange(5.0) - 2.0)
    np.testing.assert_array_equal(source, 1.0)


class TestDualityGap:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(40, 6))
    y = x @ np.array([1.0, -0.5, 0.0, 0.0, 0.3, 0.0]) + rng.normal(size=40)
    level = 5.0

    def gap(self, beta: np.ndarray, floor: float = 0.0) -> float:
        r = self.y - self.x @ beta
        return duality_gap(
            float(self.y @ r) - floor,
            float(r @ r) - floor,
            self.level * np.abs(beta).sum(),
            float(np.abs(self.x.T @ r).max()),
            self.level,
        )

    def primal(self, beta: np.ndarray) -> float:
        r = self.y - self.x @ beta
        return 0.5 * float(r @ r) + self.level * np.abs(beta).sum()

    def solution(self) -> np.ndarray:
        beta = np.zeros(6)
        for _ in range(500):
            for k in range(6):
                a = self.x[:, k] @ self.x[:, k]
                rest = self.y - self.x @ beta + self.x[:, k] * beta[k]
                beta[k] = soft_threshold(self.x[:, k] @ rest, self.level) / a
        return beta

    def floor(self) -> float:
        """Energy of y that no coefficients reach."""
        ols = np.linalg.lstsq(self.x, self.y, rcond=None)[0]
        return float(np.sum((self.y - self.x @ ols) ** 2))

    @pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.95])
    def test_bounds_the_distance_to_the_optimum(self, part: float) -> None:
        ols = np.linalg.lstsq(self.x, self.y, rcond=None)[0]
        for beta in (part * ols, part * self.solution(), np.full(6, 0.1 * part)):
            distance = self.primal(beta) - self.primal(self.solution())
            assert self.gap(beta) >= distance
            assert self.gap(beta, self.floor()) >= distance

    @pytest.mark.parametrize("part", [1.01, 1.5, 3.0])
    def test_bounds_the_distance_after_an_overshoot(self, part: float) -> None:
        ols = np.linalg.lstsq(self.x, self.y, rcond=None)[0]
        distance = self.primal(part * ols) - self.primal(self.solution())
        assert self.gap(part * ols, self.floor()) >= distance

    def test_vanishes_at_the_optimum(self) -> None:
        assert self.gap(self.solution()) == pytest.approx(0.0, abs=1e-10)
        assert self.gap(self.solution(), self.floor()) == pytest.approx(0.0, abs=1e-10)

    def test_without_the_part_out_of_reach_it_is_smaller(self) -> None:
        assert self.gap(np.zeros(6), self.floor()) < self.gap(np.zeros(6))

    def test_nothing_to_explain_has_no_gap(self) -> None:
        assert duality_gap(0.0, 0.0, 0.0, 0.0, 0.0) == 0.0
