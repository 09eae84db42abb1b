"""Treatments of motion, each of which turns a subject's volumes into node Gram matrices.

A treatment learns from a set of subjects whatever it shares between them (for PLA-GGM the nuisance R,
which motion causes in all people alike) and is then applied to each subject. In a classification all it
learns therefore comes from the training subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import pandas as pd
from sklearn.base import clone

from plaggm.array_types import Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.data import Confounder
from plaggm.data.norm_index import norm_index
from plaggm.estimators import PLAGGM
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.serial import learn_series
from plaggm.fmri.motion_roles import motion_roles
from plaggm.fmri.own_residuals import OwnResiduals
from plaggm.fmri.series_treatments import Residuals, Scrubbed, Unadjusted
from plaggm.fmri.shared_nuisance import SharedNuisance, without_nuisance
from plaggm.fmri.subjects import HIGH_MOTION, Subject
from plaggm.paper_parameters import PAPER_MODEL
from plaggm.parameter_types import Threshold

# Titles say how R is smoothed, and whether the subjects' networks share one R or have each their own.
METHODS = {
    "pla": "PLA-GGM, spline, shared R",
    "lr": "LR-GGM",
    "lr-glasso": "LR-GGM, graphical lasso",
    "scrub": "scrubbing",
    "raw": "no adjustment",
    "pla-own": "PLA-GGM, spline, own R",
    "paper": "PLA-GGM, the paper's kernel, own R",
    "kernel": "PLA-GGM, kernel, own R",
}
# Methods that smooth with a kernel; several confounders enter by their norm.
KERNEL_METHODS = ("paper", "kernel")
# g* of Section 6.2, for a confounder scaled to [-1, 1].
PAPER_THRESHOLD = 0.578
# Ridge of the paper's estimator on single scans, whose local systems hold more coefficients than volumes,
# and on pooled ones where the same holds for those of the largest motion.
SCAN_RIDGE = 1e-2


class SubjectProblem(Protocol):
    """One subject's estimation problem."""

    @property
    def n(self) -> int:
        """Volumes that are used."""
        ...

    @property
    def effective(self) -> float:
        """Effective number of volumes without motion, minus the degrees of freedom spent."""
        ...

    def grams(self) -> GramMatrices:
        """Node Grams of all volumes."""
        ...

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """Node Grams of training and of test volumes."""
        ...


class Learnt(Protocol):
    """A treatment fitted to a set of subjects."""

    def problem(self, subject: Subject) -> SubjectProblem:
        """The problem of one subject, who need not be one of those."""
        ...


class Treatment(Protocol):
    """A treatment of motion."""

    @property
    def name(self) -> str:
        """Key in ``METHODS``, or a name of its own."""
        ...

    def learn(self, subjects: Sequence[Subject]) -> Learnt:
        """Learn what is shared."""
        ...


@dataclass(frozen=True, slots=True)
class OwnProblem:
    """A subject whose nuisance is learnt from the subject's own volumes.

    Attributes
    ----------
    data : FitProblem
    charged : bool
        Whether information criteria charge for the smoother's degrees of freedom beside the edges.
    spent : float
        Degrees of freedom that denoising has spent.
    """

    data: FitProblem
    charged: bool = True
    spent: float = 0.0

    @property
    def n(self) -> int:
        """Volumes that are used."""
        return self.data.profiler.n

    @property
    def effective(self) -> float:
        """See :class:`SubjectProblem`."""
        return float(self.n - self.data.node_grams.smoother_trace.mean()) - self.spent

    def grams(self) -> GramMatrices:
        """See :class:`SubjectProblem`."""
        grams = self.data.node_grams
        return grams if self.charged else grams.with_trace(np.zeros(grams.p))

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`SubjectProblem`."""
        fitted, held_out = self.data.profiler.split(train, test)
        return fitted.rescaled(self.data.sigma), held_out.rescaled(self.data.sigma)


@dataclass(frozen=True, slots=True)
class OwnNuisance:
    """PLA-GGM on every subject alone: nothing is shared.

    Attributes
    ----------
    estimator : PLAGGM
        Spline or kernel; the paper's is the one that :func:`method_estimator` makes of ``"paper"``.
    confounder_names : tuple of str
    name : str
    entering : callable, optional
        Makes one confounder of several, with its threshold: see :func:`kernel_index`.
    charged : bool
        Whether information criteria charge for the smoother's degrees of freedom. Those of the paper's
        estimator on one scan are about as many as volumes, and an AIC that charges for them chooses
        networks without edges; the paper's presumably counts edges alone.
    """

    estimator: PLAGGM
    confounder_names: tuple[str, ...]
    name: str = "pla-own"
    entering: Callable[[pd.DataFrame, Threshold], tuple[pd.DataFrame, Threshold]] | None = None
    charged: bool = True

    def learn(self, subjects: Sequence[Subject]) -> OwnNuisance:
        """See :class:`Treatment`."""
        return self

    def problem(self, subject: Subject) -> OwnProblem:
        """See :class:`Learnt`."""
        estimator = self.estimator
        roles = motion_roles(self.confounder_names, subject.confounder, estimator.threshold)
        confounder = roles.confounder(subject.confounder)
        x, temporal = subject.x, estimator.temporal
        if self.entering is not None:
            moved = pd.DataFrame(subject.confounder, columns=list(self.confounder_names))
            index, threshold = self.entering(moved, estimator.threshold)
            confounder = Confounder(index.to_numpy(), tuple(index))
            estimator = clone(estimator).set_params(threshold=threshold)
        if temporal is not None:
            rows = [(x, confounder.values)]
            serial = learn_series(
                temporal, lambda: rows, confounder, subject.run_numbers, x.shape[1]
            )
            x, _ = next(serial.whitening.whitened(rows, serial.position))
        if self.entering is None:
            estimator = roles.settled(estimator, x, confounder.values, 1)
        problem = without_nuisance(estimator, x, confounder, 1)
        return OwnProblem(problem, self.charged, subject.spent)


def is_alone(treatment: Treatment) -> bool:
    """Whether a subject's network, its penalty included, is independent of other subjects."""
    return isinstance(treatment, OwnNuisance | OwnResiduals)


def method_estimator(method: str, estimator: PLAGGM) -> PLAGGM:
    """The estimator of a method: the one that is given, made the paper's for ``"paper"``.

    Parameters
    ----------
    method : str
        Key in ``METHODS``.
    estimator : PLAGGM
        Its threshold and ``temporal`` hold for the paper's too. Series are standardised, as the paper's
        unit variances ask for.

    Examples
    --------
    >>> method_estimator("paper", PLAGGM(threshold=0.5)).indicator
    'soft'
    """
    if method == "kernel" and estimator.smoother != "kernel":
        raise ValueError("The method 'kernel' needs an estimator with smoother='kernel'.")
    if method != "paper":
        return estimator
    return PLAGGM(
        **PAPER_MODEL,
        threshold=estimator.threshold,
        reference="zero",
        standardize=True,
        temporal=estimator.temporal,
        n_jobs=estimator.n_jobs,
    )


def kernel_index(
    method: str, confounder: pd.DataFrame, threshold: Threshold
) -> tuple[pd.DataFrame, Threshold]:
    """One confounder of several, their norm, and its threshold, for a method that smooths with a kernel.

    A threshold that is not given is the paper's for ``"paper"``: 0.578 of the largest value, which is the
    reading of 1 - exp(-100 g^2) / 2 where g is scaled to [-1, 1], as Assumption 1 asks of the bandwidth.

    Parameters
    ----------
    method : str
        One of ``KERNEL_METHODS``.
    confounder : DataFrame of shape (n, m)
    threshold : "auto", float or array of shape (m,)

    Returns
    -------
    index : DataFrame of shape (n, 1)
    threshold : "auto" or float

    Examples
    --------
    >>> kernel_index("paper", pd.DataFrame({"fd": [0.0, 2.0]}), "auto")[1]
    1.156
    """
    index, limit = norm_index(confounder, threshold)
    if method == "paper" and isinstance(limit, str):
        limit = PAPER_THRESHOLD * float(index.abs().to_numpy().max())
    return index, limit


def make_treatment(
    name: str, estimator: PLAGGM, confounder_names: tuple[str, ...], scrub: float = HIGH_MOTION
) -> Treatment:
    """A treatment by its key in ``METHODS``; all of them filter as the estimator's ``temporal`` says.

    Examples
    --------
    >>> make_treatment("lr", PLAGGM(), ("fd",)).name
    'lr'
    """
    if name == "pla":
        return SharedNuisance(estimator, confounder_names)
    if name == "pla-own":
        return OwnNuisance(estimator, confounder_names)
    if name in KERNEL_METHODS:
        own = method_estimator(name, estimator)
        if name == "paper":
            own.set_params(ridge=SCAN_RIDGE)
        entering = partial(kernel_index, name)
        return OwnNuisance(own, confounder_names, name, entering, charged=name != "paper")
    temporal = estimator.temporal
    simple: dict[str, Treatment] = {
        "lr": Residuals(temporal),
        "lr-glasso": OwnResiduals(temporal),
        "scrub": Scrubbed(scrub, temporal),
        "raw": Unadjusted(temporal),
    }
    if name not in simple:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {name!r}.")
    return simple[name]
