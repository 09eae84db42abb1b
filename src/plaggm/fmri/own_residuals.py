"""LR-GGM as in the paper: confounders regressed out of every scan, which is then taken alone.

Nothing is shared between subjects, the penalty of the graphical lasso included, so that a subject's network
does not depend on the other subjects. The method ``"lr"`` has the pseudo-likelihood instead, with
one penalty and common conditional standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.scan_filter import learn_scan_filter
from plaggm.fmri.series_treatments import Residuals
from plaggm.fmri.subjects import Subject, run_rows, standardised


@dataclass(frozen=True, slots=True)
class CovarianceProblem(Rows):
    """Standardised series of a subject whose network is a precision matrix."""


@dataclass(frozen=True, slots=True)
class OwnResiduals(Residuals):
    """Confounders regressed out of every region of every scan; nothing is shared between subjects."""

    name: str = "lr-glasso"

    def learn(self, subjects: Sequence[Subject]) -> OwnResiduals:
        """See :class:`plaggm.fmri.treatments.Treatment`."""
        return self

    def problem(self, subject: Subject) -> CovarianceProblem:
        """See :class:`plaggm.fmri.treatments.Learnt`."""
        series, runs = self.treat(subject), self.runs(subject)
        filtered = learn_scan_filter(self.temporal, [series], [runs]).apply(series, runs)
        z = np.concatenate([standardised(filtered[rows]) for rows in run_rows(subject.run_numbers)])
        return CovarianceProblem.of_series(z, subject.spent + self.spent(subject))
