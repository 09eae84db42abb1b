"""The network your data would show without the confounder.

Partially linear additive Gaussian graphical models (Geng, Yan, Kolar and Koyejo, ICML 2019):
Ω(g) = Ω0 + R(g), where R is a smooth distortion by an observed confounder that vanishes where the
confounder is small, and Ω0 is the network of interest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plaggm.checks import check_table
    from plaggm.comparison.group_networks import compare_networks
    from plaggm.estimators import (
        PLAGGM,
        PLAGGMCV,
        confounding_test,
        incoherence,
        threshold_sensitivity,
    )
    from plaggm.planning import plan_study
    from plaggm.result import GraphResult
    from plaggm.result_reading import read_result

__version__ = "0.2.0"

__all__ = [
    "PLAGGM",
    "PLAGGMCV",
    "GraphResult",
    "__version__",
    "check_table",
    "compare_networks",
    "confounding_test",
    "incoherence",
    "plan_study",
    "read_result",
    "threshold_sensitivity",
]

# Loaded on first use: importing plaggm costs nothing until something of it is needed.
_HOMES = {
    "PLAGGM": "plaggm.estimators",
    "PLAGGMCV": "plaggm.estimators",
    "check_table": "plaggm.checks",
    "compare_networks": "plaggm.comparison.group_networks",
    "confounding_test": "plaggm.estimators",
    "incoherence": "plaggm.estimators",
    "plan_study": "plaggm.planning",
    "threshold_sensitivity": "plaggm.estimators",
    "GraphResult": "plaggm.result",
    "read_result": "plaggm.result_reading",
    **dict.fromkeys(("metrics", "plotting", "related", "simulate"), ""),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plaggm' has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(import_module(home), name) if home else import_module(f"plaggm.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
