"""Every parameter of every estimator with values that nobody expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fuzz.areas.estimators import SEARCH, fitted_findings, relevant
from fuzz.case import Case
from fuzz.tables import sound_table
from fuzz.values import choice, named, odd_value

# Numbers of repetitions, which a user may well ask to be large: what is odd about them is not their size.
REPETITIONS = ("n_subsamples", "n_points", "n_jobs", "alphas", "cv", "verbose", "max_iter")
MANY = 100
SOUND: dict[str, tuple[Any, ...]] = {
    "smoother": ("kernel", "spline", "fused"),
    "criterion": ("cv", "aic", "bic", "ebic", "refit", "stars"),
    "indicator": ("soft", "hard", "ramp", lambda ratio: np.minimum(ratio, 1.0)),
    "form": ("lemma", "supplement"),
    "loss": ("pseudo", "glasso"),
    "symmetry": ("and", "or"),
    "variance": ("conditional", "unit"),
    "kernel": ("uniform", "biweight", "triangular"),
    "bandwidth": ("cv", "auto", 0.5, 1e-9, 1e9),
    "threshold": (0.0, 0.5, 1e9, [0.5], [0.5, 1.0]),
    "tau": ("reml", 1e-9, 1e9, 1.0),
    "alphas": (1, 2, [0.5, 0.1], [0.1, 0.5], [0.1, 0.1], [0.0], [-1.0], [np.nan], [np.inf], 10**9),
    "cv": (2, 60, 61, 1, [([0, 1, 2], [3])], [], [([], [])], [([0], [99])], "x", 10**9),
    "robust": ("winsor", "huber", True),
    "margins": ("rank", "copula", None),
    "temporal": ("ar", 0, 2, 59, 500, -1),
    "alpha": (0.0, 1e300, 1e-300),
    "regressors": ("squares", "derivatives", "both"),
    "target": ("zero", "average"),
    "local": ("linear", "constant"),
    "tol": (1e-15, 1e-3, 1e300),
    "ridge": (1e-9, 1.0, 1e300),
    "fusion": (0.0, 1e300),
    "random_state": (None, 0, np.random.RandomState(0), np.random.default_rng(0), -1, 2**40),
}


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A fit with one to three odd parameters."""
    from plaggm import PLAGGM, PLAGGMCV
    from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

    kind = choice(rng, (PLAGGM, PLAGGM, PLAGGMCV, PLAGGMCV, PLAGGMCV, GGM, ConGGM, LRGGM, TVGGM))
    names = sorted(kind().get_params(deep=False))
    given = {name: value for name, value in SEARCH.items() if name in names}
    odd: dict[str, Any] = {}
    for name in rng.choice(names, int(rng.integers(1, 4)), replace=False):
        odd[str(name)] = _value(rng, str(name))
    given |= odd
    if rng.random() < 0.8:
        given = relevant(kind, given | _owners(odd, names), keep=odd)
    m = int(choice(rng, (0, 1, 1, 1, 2)))
    x, g = sound_table(rng), None if m == 0 else rng.standard_normal((60, m))
    words = ", ".join(f"{name}={named(value)}" for name, value in odd.items())
    return Case(
        f"{kind.__name__}({words}) with {m} confounder(s)",
        lambda: kind(**given).fit(x, confounder=g),
        lambda model: fitted_findings(model, x, g),
        quoted=tuple(odd.values()),
    )


def _owners(odd: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Values of other parameters with which the odd ones are used."""
    from plaggm.parameter_uses import USES

    wanted = dict(USES[name][0] for name in odd if name in USES)
    return {name: value for name, value in wanted.items() if name in names and name not in odd}


def _value(rng: np.random.Generator, name: str) -> Any:
    sound = SOUND.get(name)
    if sound is not None and rng.random() < 0.5:
        return choice(rng, sound)
    while True:
        value = odd_value(rng)
        many = isinstance(value, int) and not isinstance(value, bool) and value > MANY
        if not (many and name in REPETITIONS):
            return value
