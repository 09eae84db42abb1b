"""All methods side by side, on tables from sound to absurd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.case import Case
from fuzz.confounders import odd_confounder
from fuzz.judge import message_findings
from fuzz.tables import odd_table, rows_of, sound_table
from fuzz.values import choice, named, odd_value

METHODS = (
    ["spline", "lr-ggm"],
    ["ggm", "pooled"],
    ["con-ggm", "kernel"],
    ["tv-ggm", "spline"],
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A comparison."""
    from plaggm.comparison import Choices, compare_methods

    x, said = (sound_table(rng), "sound") if rng.random() < 0.5 else odd_table(rng)
    g, about = odd_confounder(rng, rows_of(x))
    given: dict[str, Any] = {"resamples": choice(rng, (0, 0, 2))}
    odd: dict[str, Any] = {"methods": choice(rng, METHODS)}
    if rng.random() < 0.4:
        name = choice(rng, ("methods", "resamples", "groups", "n_jobs"))
        odd[name] = odd_value(rng)
        if isinstance(odd[name], int) and odd[name] > 3:
            odd[name] = 2
    settings: dict[str, Any] = {"criterion": "bic", "alphas": 5, "n_jobs": 1}
    if rng.random() < 0.3:
        settings[choice(rng, ("criterion", "threshold", "loss", "cv"))] = odd_value(rng)
    words = ", ".join(f"{name}={named(value)}" for name, value in (odd | settings).items())

    def check(found: Any) -> Iterator[str]:
        table = found.table()
        for column in ("agreement", "stability"):
            if not table[column].dropna().between(0.0, 1.0).all():
                yield f"{column} outside [0, 1]"
        found.edges()
        for reason in table["reason"]:
            yield from message_findings(reason, tuple(settings.values()))

    return Case(
        f"compare_methods(X {said}; confounder {about}; {words})",
        lambda: compare_methods(x, g, choices=Choices(**settings), **(given | odd)),
        check,
        quoted=(*odd.values(), *settings.values()),
    )
