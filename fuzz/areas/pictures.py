"""Pictures and pages of results with odd names, odd numbers and odd arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.areas.estimators import sound_model
from fuzz.areas.text_tables import NAMES
from fuzz.case import Case
from fuzz.values import TEXTS, choice, named, odd_value


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A picture of a result, or its page."""
    result, said = _odd_result(rng)
    first = result if rng.random() < 0.85 else odd_value(rng)
    name = choice(rng, tuple(_PICTURES))
    return _case(name, first, said, _PICTURES[name](rng, result))


def _case(name: str, first: Any, said: str, further: dict[str, Any]) -> Case:
    from matplotlib import pyplot

    from plaggm import plotting
    from plaggm.report import render_report

    def call() -> Any:
        try:
            if name == "render_report":
                return render_report(first, **further)
            drawn = getattr(plotting, name)(first, **further)
            getattr(drawn, "figure", drawn).savefig("picture.png", dpi=30)
            return None
        finally:
            pyplot.close("all")

    def check(page: Any) -> Iterator[str]:
        if page is not None and "<script>alert" in page:
            yield "the page holds the markup of a name"

    words = ", ".join(f"{key}={named(value)}" for key, value in further.items())
    return Case(
        f"{name}({said if not isinstance(first, str) else named(first)}, {words})",
        call,
        check,
        quoted=(first, *further.values()),
    )


def _odd_result(rng: np.random.Generator) -> tuple[Any, str]:
    """A result with odd names, without edges, or with little in it."""
    model, *_ = sound_model(rng)
    result = model.to_result()
    names = [f"{choice(rng, (*NAMES, *TEXTS, '<script>alert(1)</script>'))}{j}" for j in range(4)]
    said = []
    if rng.random() < 0.7:
        result = replace(result, names=tuple(names))
        said.append(f"names {[name[:20] for name in names]}")
    change = choice(rng, ("", "", "", "empty", "full", "bare", "tiny", "stable"))
    if change == "empty":
        result = replace(result, omega=np.zeros((4, 4)))
    elif change == "full":
        result = replace(result, omega=np.full((4, 4), choice(rng, (1.0, -1.0, 1e-300))))
    elif change == "bare":
        result = replace(
            result, confounder_names=(), threshold=None, confounder_grid=None, nuisance=None
        )
        result = replace(result, nuisance_error=None, confounder_sample=None)
    elif change == "tiny":
        result = replace(result, scale=result.scale * 1e-100)
    elif change == "stable":
        result = replace(result, stability=np.full((4, 4), choice(rng, (0.0, 1.0, 0.5))))
    if change:
        said.append(change)
    return result, "; ".join(said) or "sound"


def _only(rng, result):
    return {}


def _two(rng, result):
    further = {"after": result if rng.random() < 0.7 else odd_value(rng)}
    if rng.random() < 0.5:
        further["truth"] = choice(rng, (np.eye(4), np.zeros((3, 3)), odd_value(rng)))
    return further


def _edge(rng, result):
    ends = [choice(rng, (0, 1, 3, -1, 4, result.names[0], odd_value(rng))) for _ in range(2)]
    further = {"source": ends[0], "target": ends[1]}
    if rng.random() < 0.3:
        further["confounder"] = choice(rng, ("confounder", "absent", odd_value(rng)))
    return further


def _roc(rng, result):
    truth = choice(rng, (np.eye(4)[::-1], np.zeros((4, 4)), np.ones((4, 4)), odd_value(rng)))
    return {"truth": truth, "label": choice(rng, (None, *TEXTS))}


def _page(rng, result):
    return {"unadjusted": result} if rng.random() < 0.5 else {}


_PICTURES = {
    "plot_network": _only,
    "plot_matrix": _only,
    "plot_path": _only,
    "plot_selection": _only,
    "plot_before_after": _two,
    "plot_edge": _edge,
    "plot_roc": _roc,
    "render_report": _page,
}
