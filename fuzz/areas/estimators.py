"""Small estimators and what is asked of them once they are fitted."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from fuzz import impossible
from fuzz.values import choice

# Small searches: a path of eight penalties, three folds or subsamples.
SEARCH: dict[str, Any] = dict(alphas=8, cv=3, n_subsamples=3, n_jobs=1)
CRITERIA = ("cv", "bic", "ebic", "aic", "stars")


def draw_estimator(rng: np.random.Generator) -> tuple[Any, str]:
    """An estimator with sound parameters."""
    from plaggm import PLAGGM, PLAGGMCV
    from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

    kind = choice(rng, (PLAGGM, PLAGGM, PLAGGMCV, PLAGGMCV, GGM, ConGGM, LRGGM, TVGGM))
    given: dict[str, Any] = {"n_jobs": 1}
    if issubclass(kind, PLAGGM):
        given |= _plaggm_settings(rng)
    else:
        given |= {"loss": choice(rng, ("pseudo", "glasso"))}
    if kind is PLAGGM:
        given |= {"alpha": choice(rng, (0.0, 1e-6, 0.01, 0.1, 0.5, 10.0))}
    else:
        given |= SEARCH | {"criterion": choice(rng, CRITERIA)}
    given = relevant(kind, given)
    return kind(**given), f"{kind.__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def relevant(kind: Any, given: dict[str, Any], keep: Collection[str] = ()) -> dict[str, Any]:
    """Settings without those that an estimator would refuse as unused, but for some."""
    from plaggm.parameter_uses import unused_parameters

    defaults = kind().get_params(deep=False)
    try:
        unused = {one.name for one in unused_parameters(defaults | given, defaults)} - set(keep)
    except TypeError:
        # A value that cannot be compared with anything; estimators look at types first.
        return given
    return {name: value for name, value in given.items() if name not in unused}


def _plaggm_settings(rng: np.random.Generator) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if rng.random() < 0.3:
        out["smoother"] = "kernel"
        if rng.random() < 0.5:
            out["indicator"] = choice(rng, ("soft", "ramp", "hard"))
            out["kernel"] = choice(rng, ("gaussian", "epanechnikov", "uniform"))
    if rng.random() < 0.4:
        out["symmetry"] = choice(rng, ("and", "or", "joint"))
    if rng.random() < 0.4:
        out["variance"] = choice(rng, ("function", "conditional", "unit"))
    if rng.random() < 0.2:
        out["threshold"] = choice(rng, (0.0, 0.3, 1.0, 100.0))
    return out


def fitted_findings(model: Any, x: Any = None, confounder: Any = None) -> Iterator[str]:
    """What is impossible about a fitted model, its edges, its result and its score."""
    yield from impossible.in_model(model)
    yield from impossible.in_edges(model.edges())
    yield from impossible.in_result(model.to_result())
    # Not every fit has tests, which is said by a ValueError.
    with contextlib.suppress(ValueError):
        yield from impossible.in_tests(model.inference())
    if x is not None:
        score = model.score(x, confounder=confounder)
        yield from impossible.not_finite(score, "score")


def sound_model(rng: np.random.Generator, **settings: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """A fitted PLAGGM, its table and its confounder."""
    from fuzz.tables import sound_table
    from plaggm import PLAGGM

    x, g = sound_table(rng), rng.standard_normal(60)
    given = dict(alpha=0.05, n_jobs=1) | settings
    return PLAGGM(**given).fit(x, confounder=g), x, g
