"""True and false edges that are declared in one simulated study at several sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plaggm.array_types import Array, Mask
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.estimators import PLAGGMCV
from plaggm.planning.question import Question, draw_study
from plaggm.simulate import Simulated
from plaggm.user_warnings import silenced_warnings

# Networks of a study and their descriptions.
NETWORKS = {
    "adjusted": "all samples, adjusted",
    "clean": "samples without confounding only",
    "unadjusted": "all samples, not adjusted",
}
# The fastest choice of the penalty: edges are declared by tests, which do not depend on it.
QUICKEST: dict[str, Any] = dict(criterion="ebic", alphas=5)


@dataclass(frozen=True, slots=True)
class Trial:
    """Edges of one simulated study at several sizes.

    Attributes
    ----------
    true_edges : int
        Edges of the true network.
    found : ndarray of int of shape (s, 3)
        True edges that are declared, by size and network (the order of ``NETWORKS``).
    false : ndarray of int of shape (s, 3)
        Declared edges that are not true.
    failed : ndarray of bool of shape (s, 3)
        True if no network could be estimated.
    """

    true_edges: int
    found: np.ndarray
    false: np.ndarray
    failed: Mask

    @property
    def power(self) -> Array:
        """Share of the true edges that are declared: shape (s, 3)."""
        return self.found / self.true_edges

    @property
    def false_share(self) -> Array:
        """Share of the declared edges that are false, zero without any: shape (s, 3)."""
        return self.false / np.maximum(self.found + self.false, 1)


def run_trial(question: Question, sizes: tuple[int, ...], seed: np.random.SeedSequence) -> Trial:
    """Simulate one study and analyse its first n samples, for every size n."""
    study = draw_study(question, sizes[-1], seed)
    upper = np.triu_indices(question.p, 1)
    truth = study.support[upper]
    found, false = np.zeros((2, len(sizes), len(NETWORKS)), dtype=int)
    failed = np.zeros((len(sizes), len(NETWORKS)), dtype=bool)
    for row, n in enumerate(sizes):
        for column, network in enumerate(NETWORKS):
            declared = _declared(question, study, n, network)
            if declared is None:
                failed[row, column] = True
                continue
            found[row, column] = np.count_nonzero(declared[upper] & truth)
            false[row, column] = np.count_nonzero(declared[upper] & ~truth)
    return Trial(int(truth.sum()), found, false, failed)


def _declared(question: Question, study: Simulated, n: int, network: str) -> Mask | None:
    """Edges that one analysis of the first n samples declares; None if it fails."""
    g = study.confounder[:n]
    rows = g <= study.threshold if network == "clean" else np.ones(n, dtype=bool)
    options: dict[str, Any] = dict(fdr=question.fdr, n_jobs=1, **QUICKEST)
    given: dict[str, Any] = {}
    if network == "adjusted":
        options["reference"] = "zero"
        options["threshold"] = study.threshold if question.threshold == "known" else "auto"
        given["confounder"] = g
    # Warnings about small samples are of no use here.
    with single_threaded_blas(), silenced_warnings(Warning):
        try:
            model = PLAGGMCV(**options).fit(study.x[:n][rows], **given)
            return np.asarray(model.adjacency_, dtype=bool)
        except ValueError:
            return None
