"""The methods that are compared, and what is recorded of one fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scenario_designs import Data

from plaggm import PLAGGMCV
from plaggm.metrics import best_path_auc, edge_auc, f1, precision_recall
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

ESTIMATORS = {c.__name__: c for c in (PLAGGMCV, GGM, ConGGM, LRGGM, TVGGM)}
# Sweeps for each penalty of the kernel's paths; nearly singular Grams would use any number.
KERNEL_SWEEPS = 200
# Beyond, their nearly singular paths take minutes each; docs/replication.md has p = 50 and 100.
KERNEL_VARIABLES = 40
# Of PLAGGMCV by default: a step with a larger duality gap counts as unconverged.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Method:
    """An estimator and its arguments.

    Attributes
    ----------
    name, about : str
    estimator : str
        Class of plaggm or plaggm.related.
    settings : mapping
    true_threshold : bool
        Whether it is told the true g*.
    adjust : bool
        Whether it is given the confounder at all.
    related : bool
        Whether the bar compares the spline with it.
    usual : bool
        Whether it is run unless methods are named.
    largest_p : int or None
        It is skipped above.
    """

    name: str
    about: str
    estimator: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    true_threshold: bool = False
    adjust: bool = True
    related: bool = True
    usual: bool = True
    largest_p: int | None = None

    def fit(self, data: Data, alphas: int, cv: int) -> dict[str, Any]:
        """Scores of one fit, or the reason why there are none."""
        settings = dict(alphas=alphas, cv=cv, n_jobs=1, **self.settings)
        if self.true_threshold:
            settings["threshold"] = data.threshold
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = ESTIMATORS[self.estimator](**settings)
                model.fit(data.x, confounder=data.confounder if self.adjust else None)
                network = model.adjacency_
        except (ValueError, np.linalg.LinAlgError) as error:
            seconds = time.perf_counter() - start
            return {"failure": str(error), "seconds": seconds}
        seconds = time.perf_counter() - start
        path = model.omega_path_
        whole = np.isfinite(path).all(axis=(1, 2))
        gaps = getattr(model, "dual_gaps_", np.zeros(1))
        precision, recall = precision_recall(network, data.support)
        return {
            "best": best_path_auc(path[whole], data.support),
            "selected": edge_auc(model.omega_, data.support),
            "precision": precision,
            "recall": recall,
            "f1": f1(network, data.support),
            "fdp": 1.0 - precision if network.any() else 0.0,
            "seconds": seconds,
            "unconverged": int(np.count_nonzero(gaps > TOLERANCE) + np.count_nonzero(~whole)),
        }


def _related(name: str, about: str, estimator: str, **settings: Any) -> tuple[Method, Method]:
    known = estimator == "GGM"
    pseudo = Method(name, about, estimator, {"loss": "pseudo", **settings}, known)
    glasso = Method(
        f"{name}_glasso", f"{about}; graphical lasso", estimator, {"loss": "glasso", **settings},
        known, usual=False, largest_p=20,
    )  # fmt: skip
    return pseudo, glasso


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("spline", "`PLAGGMCV()` told the true g*", "PLAGGMCV", {}, True, related=False),
        Method(
            "spline_auto", '`PLAGGMCV(reference="zero")` with `threshold="auto"`', "PLAGGMCV",
            dict(reference="zero"), related=False,
        ),
        Method(
            "kernel_soft", "the paper's MaPPLE: soft indicator, unit variance", "PLAGGMCV",
            dict(smoother="kernel", indicator="soft", variance="unit", max_iter=KERNEL_SWEEPS),
            True, largest_p=KERNEL_VARIABLES,
        ),
        Method(
            "kernel_ramp", "MaPPLE with the ramp, variance as by default", "PLAGGMCV",
            dict(smoother="kernel", indicator="ramp", max_iter=KERNEL_SWEEPS),
            True, largest_p=KERNEL_VARIABLES,
        ),
        *_related("ggm", "GGM of the samples with \\|g\\| ≤ g*", "GGM"),
        *_related("con", "CON-GGM", "ConGGM"),
        *_related("lr", "LR-GGM on g", "LRGGM"),
        *_related("lr_squares", "LR-GGM on g and g²", "LRGGM", regressors="squares"),
        *_related("tv", "TV-GGM, local constant at g = 0", "TVGGM"),
        Method("pooled", "`PLAGGMCV()` without confounder", "PLAGGMCV", {}, adjust=False),
    )
}  # fmt: skip
