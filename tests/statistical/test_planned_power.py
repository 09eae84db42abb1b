"""A plan's power is that of fits to fresh data, made by other means."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm import PLAGGMCV, plan_study

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

P, DENSITY, AFFECTED, EDGE, STRENGTH, CLEAN = 12, 0.25, 0.5, 0.16, 0.1, 0.4
STUDIES = 60


def fresh_study(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Variables, confounder and true edges by the definition, one multivariate normal row at a time."""

    def matrix(share: float, size: float) -> np.ndarray:
        values = np.zeros((P, P))
        for j in range(P):
            for k in range(j):
                if rng.random() < share:
                    values[j, k] = values[k, j] = rng.choice([-1, 1]) * size * rng.uniform(2, 4) / 3
        return values

    while True:
        omega, weights = matrix(DENSITY, EDGE), matrix(AFFECTED, STRENGTH)
        if max(np.linalg.eigvalsh(one)[-1] for one in (omega, omega + weights)) <= 0.95:
            break
    x, g = np.empty((n, P)), np.empty(n)
    for i in range(n):
        g[i] = rng.uniform(0, 1) if rng.random() < CLEAN else rng.uniform(1, 4)
        excess = max(g[i] - 1, 0.0)
        f = excess**2 / (1 + excess**2) / 0.9
        x[i] = rng.multivariate_normal(np.zeros(P), np.linalg.inv(np.eye(P) - omega - f * weights))
    return x, g, omega != 0


def test_power_and_false_discoveries_of_fresh_data() -> None:
    sizes = (300, 700)
    plan = plan_study(
        P,
        sizes,
        clean=CLEAN,
        strength=STRENGTH,
        affected=AFFECTED,
        edge=EDGE,
        density=DENSITY,
        sets=STUDIES,
        seed=1,
        n_jobs=2,
    )
    upper = np.triu_indices(P, 1)
    for row, n in enumerate(sizes):
        power, wrong = [], []
        for seed in range(5000, 5000 + STUDIES):
            x, g, support = fresh_study(n, np.random.default_rng(seed))
            model = PLAGGMCV(reference="zero").fit(x, confounder=g)
            declared, truth = model.adjacency_[upper] != 0, support[upper]
            power.append(np.sum(declared & truth) / truth.sum())
            wrong.append(np.sum(declared & ~truth) / max(1, declared.sum()))
        for fresh, planned in (
            (np.array(power), plan.power()[:, row]),
            (np.array(wrong), plan.false_share()[:, row]),
        ):
            error = np.sqrt((fresh.var(ddof=1) + planned.var(ddof=1)) / STUDIES)
            assert abs(fresh.mean() - planned.mean()) < 3 * error
