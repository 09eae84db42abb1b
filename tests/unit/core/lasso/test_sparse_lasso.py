"""The lasso of many variables solves the problem of descent over pairs, by sweeps and by Newton steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.grams.node_grams import CentredGrams
from plaggm.core.lasso import orthant_newton, sparse_lasso
from plaggm.core.lasso.orthant_newton import SingleGrams, _conjugate_gradients
from plaggm.core.lasso.pair_state import pair_problem
from plaggm.core.lasso.path import lambda_grid
from plaggm.core.lasso.sparse_lasso import sparse_path
from plaggm.core.lasso.symmetric_lasso import joint_path
from plaggm.core.lasso.working_pairs import working_pairs
from plaggm.core.numerics.threads import threads

P = 30


@pytest.fixture(scope="module")
def centred() -> LowRankGrams:
    draw = np.random.default_rng(5)
    z = draw.standard_normal((80, P))
    # Two groups of variables that have nothing to do with each other at large penalties.
    z[:, 1:12] += 0.5 * z[:, :11]
    z[:, 21:] += 0.6 * z[:, 20:-1]
    factor = 0.05 * draw.standard_normal((P, 2, P))
    return LowRankGrams(z.T @ z / 80, factor, factor)


@pytest.fixture(scope="module")
def levels(centred: LowRankGrams) -> np.ndarray:
    slope = centred.responses() + centred.responses().T
    np.fill_diagonal(slope, 0.0)
    return lambda_grid(float(np.abs(slope).max()), 12, 80, P)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0], ids=["newton", "both", "sweeps"])
def test_every_step_is_optimal(
    centred: LowRankGrams, levels: np.ndarray, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_lasso, "MANY_PAIRS", share)
    formed = CentredGrams(np.stack([centred.node(j) for j in range(P)]), np.arange(P))
    expected, _, _ = joint_path(formed, levels, 1e-12, 10_000)
    with threads(1) as pool:
        for step, level, omega in zip(
            sparse_path(centred, levels, 1e-12, 10_000, pool), levels, expected, strict=True
        ):
            assert step.gap <= 1e-12
            np.testing.assert_array_equal(step.omega, step.omega.T)
            np.testing.assert_allclose(step.omega, omega, atol=1e-5)
            signed = step.omega - np.eye(P)
            slope = centred.products(signed)
            slope = slope + slope.T
            np.fill_diagonal(slope, 0.0)
            zero = step.omega == 0.0
            assert np.abs(slope[zero]).max() <= level * (1.0 + 1e-5)
            broken = slope[~zero] + level * np.sign(step.omega[~zero])
            assert np.abs(broken).max(initial=0.0) <= 1e-4 * level


def test_without_penalty_it_is_least_squares(centred: LowRankGrams) -> None:
    with threads(1) as pool:
        *_, last = sparse_path(centred, np.array([0.1, 0.0]), 1e-12, 20_000, pool)
    slope = centred.products(last.omega - np.eye(P))
    np.fill_diagonal(slope, 0.0)
    assert np.abs(slope + slope.T).max() < 1e-5


def test_threads_do_not_matter(centred: LowRankGrams, levels: np.ndarray) -> None:
    networks = []
    for count in (1, 2):
        with threads(count) as pool:
            networks.append([s.omega.copy() for s in sparse_path(centred, levels, 1e-6, 999, pool)])
    np.testing.assert_array_equal(*networks)


def test_working_pairs_hold_the_blocks_of_every_component(centred: LowRankGrams) -> None:
    kept = np.zeros((P, P), dtype=bool)
    for j, k in [(0, 3), (3, 9), (20, 21), (5, 3)]:
        kept[j, k] = kept[k, j] = True
    curvature = centred.diagonals() + centred.diagonals().T
    with threads(1) as pool:
        pairs = working_pairs(centred, curvature, kept, pool)
    assert list(pairs.components) == [0, 3, 4]
    for j in range(P):
        ends = np.flatnonzero(kept[j])
        start = pairs.starts[j]
        assert list(pairs.ends[start : start + pairs.sizes[j]]) == list(ends)
        at = pairs.block_starts[j]
        block = pairs.blocks[at : at + len(ends) ** 2].reshape(len(ends), len(ends))
        np.testing.assert_allclose(block, centred.block(j, ends), rtol=1e-6, atol=1e-7)
    for pair, (j, k) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        assert (pairs.nodes[pairs.place_first[pair]], pairs.ends[pairs.place_first[pair]]) == (j, k)
        assert (pairs.nodes[pairs.place_second[pair]], pairs.ends[pairs.place_second[pair]]) == (
            k,
            j,
        )
    places = [pairs.nodes[slice(*ends)] for ends in pairwise(pairs.component_places)]
    assert set(places[0]) == {0, 3, 5, 9}
    assert set(places[1]) == {20, 21}


def test_any_start_leads_to_the_same_solutions(centred: LowRankGrams, levels: np.ndarray) -> None:
    with threads(1) as pool:
        along = [step.omega.copy() for step in sparse_path(centred, levels, 1e-12, 10_000, pool)]
        start = along[7] + np.eye(P)
        near = [
            step.omega.copy()
            for step in sparse_path(centred, levels[6:], 1e-12, 10_000, pool, start)
        ]
    np.testing.assert_allclose(near, along[6:], atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 1.0], ids=["newton", "sweeps"])
def test_fewer_rows_than_variables_and_hardly_a_penalty_end_without_a_failure(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_lasso, "MANY_PAIRS", share)
    z = np.random.default_rng(2).standard_normal((P - 5, P))
    z[:, 1] = z[:, 0] + 1e-4 * z[:, 1]
    none = np.zeros((P, 0, P))
    singular = LowRankGrams(z.T @ z / len(z), none, none)
    with threads(1) as pool:
        for step in sparse_path(singular, np.geomspace(2.0, 1e-7, 8), 1e-10, 300, pool):
            assert np.isfinite(step.omega).all()
            assert np.isfinite(step.gap)


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_compiled_iterations_are_those_of_the_literal_ones(
    monkeypatch: pytest.MonkeyPatch, rank: int, share: float
) -> None:
    rng = np.random.default_rng(rank)
    p = 30
    x = rng.standard_normal((40, p))
    part = 0.1 * rng.standard_normal((p, rank, p))
    grams = LowRankGrams(x.T @ x / 40, part, part)
    problem = pair_problem(grams)
    free = np.triu(rng.random((p, p)) < share, 1)
    free |= free.T
    noise = rng.standard_normal((p, p))
    downhill = np.where(free, noise + noise.T, 0.0).astype(np.float32)
    with threads(1) as pool:
        single = SingleGrams.of(grams, pool)
        arguments = (problem, single, downhill, free, 1e-4, 50)
        step, count = _conjugate_gradients(*arguments)
        monkeypatch.setattr(orthant_newton, "BLOCK_ROWS", p - 1)
        literal, literal_count = _conjugate_gradients(*arguments)
    assert count == literal_count > 1
    np.testing.assert_allclose(step, literal, atol=1e-4 * np.abs(literal).max())
    assert not step[~free].any()
