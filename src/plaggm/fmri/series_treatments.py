"""Treatments of motion that modify each subject's series before a network without confounder is fitted.

See :mod:`plaggm.fmri.treatments`, which makes a treatment from its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.variance.conditional import conditional_scale
from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.scan_filter import ScanFilter, learn_scan_filter
from plaggm.fmri.scans import FEWEST_VOLUMES
from plaggm.fmri.subjects import HIGH_MOTION, Subject, run_rows, standardised
from plaggm.parameter_types import Temporal
from plaggm.related.series_filter import used_runs

if TYPE_CHECKING:
    from plaggm.fmri.treatments import Learnt


class SeriesTreatment(ABC):
    """A treatment that changes each subject's series; conditional standard deviations are shared."""

    __slots__ = ()
    temporal: Temporal | None

    @abstractmethod
    def treat(self, subject: Subject) -> Array:
        """The series that are left: shape (n, p)."""

    def runs(self, subject: Subject) -> Index | None:
        """Runs of the volumes that are left: shape (n,); None for a scan without interruption."""
        return subject.unbroken

    def spent(self, subject: Subject) -> float:
        """Degrees of freedom that the treatment takes from the volumes that are left."""
        return 0.0

    def learn(self, subjects: Sequence[Subject]) -> Learnt:
        """See :class:`plaggm.fmri.treatments.Treatment`."""
        p = subjects[0].x.shape[1]
        scans, runs = [], []
        for subject in subjects:
            try:
                scans.append(self.treat(subject))
            except ValueError:
                # Subjects that cannot be treated are reported by the fit of each subject.
                continue
            runs.append(self.runs(subject))
        scan_filter = learn_scan_filter(self.temporal, scans, runs)
        if not scans:
            return LearntScale(self, np.ones(p), scan_filter)
        total, count = np.zeros((p, p)), 0
        for scan, own in zip(scans, runs, strict=True):
            z = scan_filter.apply(scan, own)
            total, count = total + z.T @ z, count + len(z)
        gram = np.zeros((1, p + 1, p + 1))
        gram[0, :p, :p] = total / count
        gram[0, p, p] = 1.0
        scale = conditional_scale(NodeGrams(gram, count, np.zeros(p)), "joint")
        return LearntScale(self, scale, scan_filter)


@dataclass(frozen=True, slots=True)
class LearntScale:
    """Conditional standard deviations that the subjects share, as PLA-GGM's do.

    Attributes
    ----------
    treatment : SeriesTreatment
    sigma : ndarray of shape (p,)
    scan_filter : ScanFilter
    """

    treatment: SeriesTreatment
    sigma: Array = field(repr=False)
    scan_filter: ScanFilter = field(repr=False)

    def problem(self, subject: Subject) -> Rows:
        """See :class:`plaggm.fmri.treatments.Learnt`."""
        series = self.treatment.treat(subject)
        z = self.scan_filter.apply(series, self.treatment.runs(subject)) / self.sigma
        return Rows.of_series(z, subject.spent + self.treatment.spent(subject))


@dataclass(frozen=True, slots=True)
class Residuals(SeriesTreatment):
    """LR-GGM: the confounders regressed out of every region of every scan.

    Attributes
    ----------
    temporal : "ar", int or None
        Order of the filter of the series.
    name : str
    """

    temporal: Temporal | None = None
    name: str = "lr"

    def treat(self, subject: Subject) -> Array:
        """The series that are left: shape (n, p)."""
        return np.concatenate([self._residuals(scan) for scan in subject.by_run()])

    def spent(self, subject: Subject) -> float:
        """See :class:`SeriesTreatment`: one for each confounder that varies in a run."""
        varying = [np.ptp(scan.confounder, axis=0) > 0.0 for scan in subject.by_run()]
        return float(np.count_nonzero(varying))

    @staticmethod
    def _residuals(subject: Subject) -> Array:
        g = subject.confounder
        # A confounder that is constant within the scan explains nothing in it.
        span = np.where(np.ptp(g, axis=0) > 0.0, np.ptp(g, axis=0), 1.0)
        design = np.column_stack([np.ones(len(g)), (g - g.mean(axis=0)) / span])
        slopes = np.linalg.lstsq(design, subject.x, rcond=None)[0]
        return standardised(subject.x - design @ slopes)


@dataclass(frozen=True, slots=True)
class Scrubbed(SeriesTreatment):
    """Scrubbing: volumes with large framewise displacement are dropped.

    Attributes
    ----------
    limit : float
        Largest displacement of a used volume, in mm.
    temporal : "ar", int or None
        Order of the filter of the series, which does not reach across dropped volumes.
    name : str
    """

    limit: float = HIGH_MOTION
    temporal: Temporal | None = None
    name: str = "scrub"

    def runs(self, subject: Subject) -> Index:
        """See :class:`SeriesTreatment`: a run ends where volumes are dropped."""
        return used_runs(subject.run_numbers, np.concatenate(self._kept(subject)))

    def treat(self, subject: Subject) -> Array:
        """The series that are left: shape (n_kept, p)."""
        kept = self._kept(subject)
        left, p = sum(map(len, kept)), subject.x.shape[1]
        if left <= p:
            raise ValueError(
                f"keeps {left} of {len(subject.x)} volumes after scrubbing at "
                f"{self.limit:g} mm, too few for {p} regions."
            )
        return np.concatenate([standardised(subject.x[rows]) for rows in kept])

    def _kept(self, subject: Subject) -> list[Index]:
        """Volumes that are used, by run; runs with fewer than ``FEWEST_VOLUMES`` left are dropped."""
        calm = self._displacement(subject) <= self.limit
        rows = [run[calm[run]] for run in run_rows(subject.run_numbers)]
        return [run for run in rows if len(run) >= FEWEST_VOLUMES] or rows[:1]

    @staticmethod
    def _displacement(subject: Subject) -> Array:
        if subject.displacement is None:
            raise ValueError("has no framewise displacement, which scrubbing needs.")
        return subject.displacement


@dataclass(frozen=True, slots=True)
class Unadjusted(SeriesTreatment):
    """No adjustment for motion.

    Attributes
    ----------
    temporal : "ar", int or None
        Order of the filter of the series.
    name : str
    """

    temporal: Temporal | None = None
    name: str = "raw"

    def treat(self, subject: Subject) -> Array:
        """The series as they are: shape (n, p)."""
        return subject.x
