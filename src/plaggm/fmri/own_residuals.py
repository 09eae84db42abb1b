"""LR-GGM as in the paper: confounders regressed out of every scan, which is then taken alone.

Nothing is shared between subjects, the penalty of the graphical lasso included, so that a subject's network
is the same whichever subjects are learnt from. The method ``"lr"`` has the pseudo-likelihood instead, with
one penalty and common conditional standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Index
from plaggm.core.node_grams import GramMatrices
from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.scan_filter import learn_scan_filter
from plaggm.fmri.series_treatments import Residuals
from plaggm.fmri.subjects import Subject, run_rows, standardised
from plaggm.parameter_types import Temporal


@dataclass(frozen=True, slots=True)
class CovarianceProblem:
    """A subject whose network is a precision matrix.

    Attributes
    ----------
    rows : Rows
        Standardised series with a constant.
    """

    rows: Rows

    @property
    def n(self) -> int:
        """Volumes that are used."""
        return self.rows.n

    @property
    def effective(self) -> float:
        """See :class:`plaggm.fmri.treatments.SubjectProblem`."""
        return self.rows.effective

    def grams(self) -> GramMatrices:
        """See :class:`plaggm.fmri.treatments.SubjectProblem`."""
        return self.rows.grams()

    def split(self, train: Index, test: Index) -> tuple[GramMatrices, GramMatrices]:
        """See :class:`plaggm.fmri.treatments.SubjectProblem`."""
        return self.rows.split(train, test)


@dataclass(frozen=True, slots=True)
class OwnResiduals:
    """Confounders regressed out of every region of every scan; nothing is shared.

    Attributes
    ----------
    temporal : "ar", int or None
        Order of the filter of the series.
    name : str
    """

    temporal: Temporal | None = None
    name: str = "lr-glasso"

    def learn(self, subjects: Sequence[Subject]) -> OwnResiduals:
        """See :class:`plaggm.fmri.treatments.Treatment`."""
        return self

    def problem(self, subject: Subject) -> CovarianceProblem:
        """See :class:`plaggm.fmri.treatments.Learnt`."""
        regression = Residuals(self.temporal)
        series, runs = regression.treat(subject), regression.runs(subject)
        filtered = learn_scan_filter(self.temporal, [series], [runs]).apply(series, runs)
        z = np.concatenate([standardised(filtered[rows]) for rows in run_rows(subject.run_numbers)])
        effective = len(z) - subject.spent - regression.spent(subject)
        return CovarianceProblem(
            Rows(np.column_stack([z, np.ones(len(z))]), effective=float(effective))
        )
