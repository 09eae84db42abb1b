"""Models without functions, confounders or groups: no sum runs over an axis that is empty.

``np.einsum`` has been seen to return memory as it found it where a summed axis has length zero, NaN
included (docs/decisions.md). Here it is replaced by one that refuses such sums, and fits are repeated amid
memory that is full of NaN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

N, P = 60, 4

original = np.einsum


class EmptySumError(AssertionError):
    """A sum over an empty axis, with something left to be filled by it."""


class Watch:
    """``np.einsum``, refusing sums over empty axes."""

    def __init__(self) -> None:
        self.empty = 0

    def __call__(self, subscripts: str, *operands: np.ndarray, **options: Any) -> np.ndarray:
        inputs, _, output = subscripts.partition("->")
        length: dict[str, int] = {}
        for letters, operand in zip(inputs.split(","), operands, strict=True):
            # An ellipsis stands for leading axes: letters belong to the last ones.
            named = letters.replace("...", "")
            length |= dict(zip(reversed(named), reversed(operand.shape), strict=False))
        kept = set(re.findall(r"\w", output))
        lost = [letter for letter in length if letter not in kept and not length[letter]]
        if not all(length.values()):
            self.empty += 1
        if lost and all(length[letter] for letter in kept):
            raise EmptySumError(f"{subscripts} over {lost}, of length zero")
        return original(subscripts, *operands, **options)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watching = Watch()
    monkeypatch.setattr(np, "einsum", watching)
    return watching


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, P))


@pytest.fixture
def g() -> np.ndarray:
    return np.linspace(-1.0, 1.0, N)


def fits(x: np.ndarray, g: np.ndarray) -> Iterator[Callable[[], Any]]:
    """Fits whose nuisance has no functions, and what is asked of them."""
    halves = [x[: N // 2], x[N // 2 :]]

    def below_the_threshold(model: PLAGGM) -> PLAGGM:
        model.fit(x, confounder=g)
        assert not model.nuisance(g).any()
        model.omega_at(g, return_std=True)
        model.score(x, confounder=g)
        model.to_result()
        return model

    def grouped() -> PLAGGM:
        model = PLAGGM(0.1).fit(x, groups=np.arange(N) % 6)
        model.bootstrap(3)
        return model

    def streamed() -> PLAGGM:
        model = PLAGGM(0.1)
        for half in halves:
            model.partial_fit(half)
        return model

    yield lambda: below_the_threshold(PLAGGM(0.1, threshold=2.0))
    yield lambda: below_the_threshold(PLAGGMCV(alphas=4, cv=3, threshold=2.0, tau="reml"))
    yield grouped
    yield streamed
    yield lambda: PLAGGMCV(alphas=4, cv=3).fit_chunks([(half, None) for half in halves])
    for loss in ("glasso", "pseudo"):
        for method in (GGM, ConGGM, LRGGM, TVGGM):
            yield lambda method=method, loss=loss: method(alpha=0.1, loss=loss).fit(x)


def poison() -> None:
    """Leave freed memory full of NaN, in the sizes that a fit of P variables asks for."""
    shapes = [(size,) for size in range(1, 200)] + [(P, P + 1, P + 1), (4, P, P), (N, P)]
    arrays = [np.full(shape, np.nan) for shape in shapes for _ in range(4)]
    del arrays


def test_such_sums_are_noticed(watch: Watch) -> None:
    with pytest.raises(EmptySumError):
        np.einsum("kjm,km->kj", np.zeros((3, 2, 0)), np.zeros((3, 0)))
    np.einsum("jk,...kj->...j", np.zeros((2, 2)), np.zeros((0, 2, 2)))


@pytest.mark.filterwarnings("ignore:No confounder exceeds its threshold")
def test_no_sum_runs_over_an_empty_axis(watch: Watch, x: np.ndarray, g: np.ndarray) -> None:
    for fit in fits(x, g):
        fit()
    # There are empty axes all the same, in what such sums are made of and in what they fill.
    assert watch.empty


@pytest.mark.filterwarnings("ignore:No confounder exceeds its threshold")
def test_memory_full_of_nan_changes_nothing(x: np.ndarray, g: np.ndarray) -> None:
    for fit in fits(x, g):
        expected = fit()
        poison()
        again = fit()
        np.testing.assert_array_equal(again.omega_, expected.omega_)
        assert np.isfinite(again.omega_).all()
