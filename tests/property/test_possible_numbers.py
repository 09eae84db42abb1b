"""Whatever a fit returns is possible: finite, and no partial correlation beyond one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaggm import PLAGGM, PLAGGMCV, GraphResult
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

# Nearly dependent columns and few rows are the point: warnings are expected, impossible numbers are not.
pytestmark = pytest.mark.filterwarnings("ignore")

SOME = settings(max_examples=60)

SYMMETRY = st.sampled_from(["joint", "and", "or"])
ALPHA = st.sampled_from([1e-4, 0.01, 0.1])


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Tables with columns that nearly follow from others, or with hardly any rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([4, 6, 12, 60]))
    x = rng.standard_normal((n, draw(st.integers(2, 5))))
    noise = draw(st.sampled_from([0.0, 1e-6, 1e-3, 0.03, 0.15])) * rng.standard_normal(n)
    kind = draw(st.sampled_from(["plain", "copy", "sum", "shares", "levels"]))
    if kind == "copy":
        return np.column_stack([x, 2.54 * x[:, 0] + noise])
    if kind == "sum":
        return np.column_stack([x, x.sum(axis=1) + noise])
    if kind == "shares":
        parts = np.exp(x)
        return parts / (parts.sum(axis=1) + noise**2)[:, None]
    if kind == "levels":
        return np.column_stack([x, np.eye(3)[rng.integers(0, 3, n)] + noise[:, None]])
    return x


@st.composite
def estimators(draw: st.DrawFn) -> Any:
    alpha, symmetry = draw(ALPHA), draw(SYMMETRY)
    of_this_package = dict(symmetry=symmetry, variance=draw(st.sampled_from(["function", "unit"])))
    related = dict(alpha=alpha, loss="pseudo", symmetry=symmetry)
    return draw(
        st.sampled_from(
            [
                PLAGGM(alpha, **of_this_package),
                PLAGGMCV(alphas=5, criterion="ebic", **of_this_package),
                GGM(**related, min_samples=3),
                ConGGM(**related),
                LRGGM(**related),
                TVGGM(**related),
                GGM(alpha=alpha, min_samples=3),
            ]
        )
    )


def assert_possible(model: Any) -> None:
    result: GraphResult = model.to_result()
    for values in (model.omega_, model.scale_, model.location_, model.precision_):
        assert np.isfinite(values).all()
    deviation = 1.0 / np.sqrt(np.diagonal(model.precision_))
    for rho in (
        model.partial_correlation_,
        result.partial_correlation,
        model.precision_ * np.outer(deviation, deviation),
    ):
        # Rounding of a quotient of products.
        assert np.abs(rho).max() <= 1.0 + 1e-12
    edges = result.edges()
    for name in {"partial_correlation", "estimate", "low", "high"} & set(edges):
        assert edges[name].abs().max() <= 1.0 or edges.empty
    if find_spec("networkx") is not None:
        weights = [weight for *_, weight in model.to_networkx().edges(data="weight")]
        assert np.abs(weights).max(initial=0.0) <= 1.0


@SOME
@given(x=tables(), model=estimators(), confounded=st.booleans())
def test_fits(x: np.ndarray, model: Any, confounded: bool) -> None:
    g = np.random.default_rng(0).standard_normal(len(x)) if confounded else None
    try:
        model.fit(x, confounder=g)
    except ValueError:
        return
    assert_possible(model)


@SOME
@given(x=tables(), alpha=ALPHA, symmetry=SYMMETRY)
def test_chunks_and_streams(x: np.ndarray, alpha: float, symmetry: str) -> None:
    g = np.random.default_rng(0).standard_normal(len(x))
    halves = [(x[::2], g[::2]), (x[1::2], g[1::2])]
    for way in ("fit_chunks", "partial_fit"):
        model = PLAGGM(alpha, symmetry=symmetry, variance="conditional")
        try:
            if way == "fit_chunks":
                model.fit_chunks(halves)
            else:
                design = model.make_design(g, n_features=x.shape[1])
                for part, values in halves:
                    last = part is halves[-1][0]
                    model.partial_fit(part, confounder=values, design=design, refit=last)
        except ValueError:
            continue
        assert_possible(model)
