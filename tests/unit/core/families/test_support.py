"""The share of a learnt prior that the likelihood of binary variables supports."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.core.families.columns import family_columns
from plaggm.core.families.rows import family_rows
from plaggm.core.families.support import LEAST_SHARE, fit_without_nuisance, supported_share
from plaggm.simulate import simulate_family

P, M = 4, 2


def rows_of(shape: str, n: int = 500, seed: int = 0, prevalence: float = 0.4):
    settings = dict(threshold=60.0, shape=shape, nuisance_radius=0.6, even=True)
    data = simulate_family(P, n=n, seed=seed, prevalence=prevalence, **settings)
    g = data.confounder / 100.0
    phi = np.column_stack([np.clip(g - 0.6, 0.0, None), np.clip(-g - 0.6, 0.0, None)])
    return family_rows(data.x, phi, family_columns(data.x, data.families))


def test_every_node_is_fitted_without_r() -> None:
    rows = rows_of("ramp")
    eta = fit_without_nuisance(rows)
    slopes, _ = rows.columns.slopes(rows.x, eta)
    for node in range(P):
        design = np.column_stack([np.delete(rows.b, node, axis=1), rows.phi])
        coefficients, rest, *_ = np.linalg.lstsq(design, eta[:, node], rcond=None)
        assert np.all(rest < 1e-16)
        # But for the weak prior, slopes are zero.
        assert np.max(np.abs(design.T @ slopes[:, node] / rows.n)) < 2e-3 * np.max(
            np.abs(coefficients)
        )


def test_the_share_is_a_step_of_fisher_scoring_written_out() -> None:
    rows = rows_of("ramp", n=300, seed=2)
    penalty = np.array([0.05, 0.2])
    eta = fit_without_nuisance(rows)
    slopes, weights = rows.columns.slopes(rows.x, eta)
    sigma = np.diag(1.0 / (rows.n * penalty))
    above = below = 0.0
    for j in range(P):
        for k in range(j + 1, P):
            u, v = np.zeros(M), np.zeros((M, M))
            for node, other in ((j, k), (k, j)):
                base = np.column_stack([np.delete(rows.b, node, axis=1), rows.phi])
                own = rows.phi * rows.b[:, [other]]
                w = weights[:, [node]]
                solved = np.linalg.solve(base.T @ (w * base), base.T @ (w * own))
                free = own - base @ solved
                response = eta[:, node] + slopes[:, node] / weights[:, node]
                u += 0.5 * free.T @ (weights[:, node] * response)
                v += 0.5 * free.T @ (w * free)
            above += u @ sigma @ u - np.trace(sigma @ v)
            below += np.trace(sigma @ v @ sigma @ v)
    expected = np.clip(above / below, LEAST_SHARE, 1.0)
    found = supported_share(rows, np.eye(M), penalty)
    assert found == pytest.approx(expected, rel=1e-6)
    assert supported_share(rows, np.eye(M), penalty, n_threads=2) == found
    assert LEAST_SHARE < found < 1.0


def test_without_r_a_large_prior_is_not_supported() -> None:
    rows = rows_of("none", n=1500, prevalence=0.1)
    assert supported_share(rows, np.eye(M), np.full(M, 0.02)) < 0.3
