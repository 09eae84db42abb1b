"""Every estimator on tables and confounders from sound to absurd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fuzz.areas.estimators import draw_estimator, fitted_findings
from fuzz.case import Case
from fuzz.confounders import odd_confounder
from fuzz.tables import odd_table, rows_of
from fuzz.values import choice


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A fit, or a function that takes a table."""
    x, table = odd_table(rng)
    n = rows_of(x)
    g, confounder = odd_confounder(rng, n)
    if rng.random() < 0.1:
        return _function(rng, x, g, f"X {table}; confounder {confounder}")
    model, words = draw_estimator(rng)
    groups = choice(rng, (None, None, None, None, np.arange(n) % 5, ["a"] * n, [None] * n, "g"))
    scored = bool(rng.random() < 0.5)
    fit: dict[str, Any] = {} if groups is None else {"groups": groups}
    return Case(
        f"{words}.fit(X {table}; confounder {confounder}; groups {'none' if groups is None else 'given'})",
        lambda: model.fit(x, confounder=g, **fit),
        lambda fitted: fitted_findings(fitted, *((x, g) if scored else ())),
    )


def _function(rng: np.random.Generator, x: Any, g: Any, words: str) -> Case:
    from plaggm import PLAGGM, confounding_test, threshold_sensitivity

    if rng.random() < 0.6:
        return Case(f"confounding_test({words})", lambda: confounding_test(x, g), _p_value)
    model = PLAGGM(0.05, n_jobs=1)
    limits = choice(rng, ([0.1, 1.0], [0.5], [np.nan], [], [-1.0], "auto", [[0.1]], 3, [1e300]))
    return Case(
        f"threshold_sensitivity({words}; thresholds {limits!r})",
        lambda: threshold_sensitivity(x, g, thresholds=limits, estimator=model),
        quoted=(limits,),
    )


def _p_value(found: Any) -> Any:
    if not 0.0 <= found.p_value <= 1.0:
        yield f"a p-value of {found.p_value}"
    if not np.isfinite(found.statistic):
        yield f"a statistic of {found.statistic}"
