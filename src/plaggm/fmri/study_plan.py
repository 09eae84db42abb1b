"""The settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.estimators import PLAGGM
from plaggm.fmri.atlas import HARVARD_OXFORD, SPHERE_RADIUS
from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.scans import Cleaning
from plaggm.fmri.subject_paths import SHRINKAGE
from plaggm.fmri.subjects import HIGH_MOTION
from plaggm.parameter_types import Temporal


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The settings of a study.

    Attributes
    ----------
    participants : Path
        Table, or a folder in one of the known layouts.
    group : str
        Column with the groups.
    confounders : tuple of str
        Columns or presets.
    covariates : tuple of str
        Columns of the participants table, or ``mean_framewise_displacement``: confounders of the pooled
        networks, whose average is the reference, and what the comparison and the diagnosis account for.
    blocks : str, optional
        Column of the participants table: subjects are exchanged within its levels only.
    output : Path
        Folder for everything that is written.
    fmriprep : Path, optional
        fMRIPrep derivatives with the scans of the participants, or with the confounds of region series
        that another folder holds.
    derivatives : Path, optional
        XCP-D or giga_connectome derivatives with the region series of the participants in the table.
    space : str, optional
        Space of the scans to take where a folder has several.
    session, task : str, optional
        Session and task of the scans to take; all sessions when absent, as runs of their subjects.
    atlas : str
        Name or file of the atlas.
    labels, mask : Path, optional
        Names of a labels image, and brain mask of all scans.
    radius : float
        Radius of spheres, in mm.
    cleaning : Cleaning
        Filters applied to the scans.
    denoise : tuple of str
        Denoising strategies, see :mod:`plaggm.fmri.denoising`. The first is applied before everything; all
        are compared.
    methods : tuple of str
        The first is the one whose comparison is shown.
    threshold : "auto", float or tuple of float
        g*, one for all confounders or one for each.
    criterion : str
        Chooses the penalties of the groups' networks.
    subject_criterion : str
        How the subjects' networks are estimated, for the diagnosis inside the folds. ``"shrinkage"`` draws
        them towards that of all subjects, as strongly as held-out blocks of volumes ask for; ``"cv"``,
        ``"aic"``, ``"bic"`` and ``"ebic"`` are the lasso with that choice of its penalty, AIC as in the
        paper. One strength or penalty serves all subjects.
    edges : {"fdr", "penalty"}
        Whether the edges of the groups' networks are declared by their tests or by the penalty.
    fdr : float
        False discovery rate of declared edges and of declared differences between the groups.
    temporal : "ar", int or None
        Autoregressive filter of all scans: its order, or BIC's choice; None takes volumes as independent.
    smoothing : mapping
        ``indicator``, ``form``, ``kernel``, ``bandwidth``, ``ridge`` and ``variance`` of the method
        ``"kernel"``, see :class:`plaggm.PLAGGM`.
    scrub : float
        Framewise displacement in mm.
    permutations : int
        Number of permutations of the group comparison.
    repeats : int
        Repetitions of the ten-fold cross-validation of the diagnosis; zero leaves the diagnosis out.
    label_permutations : int
        Number of permutations for the p-value of the diagnosis.
    bids : bool
        Whether the networks are also written as a BIDS derivative.
    n_jobs : int, optional
        Subjects side by side; one when absent.
    seed : int
        Seed of folds and permutations.

    Examples
    --------
    >>> plan = StudyPlan(Path("participants.tsv"), "diagnosis", ("fd",), Path("results"))
    >>> plan.methods
    ('pla', 'lr')
    """

    participants: Path
    group: str
    confounders: tuple[str, ...]
    output: Path
    covariates: tuple[str, ...] = ()
    blocks: str | None = None
    fmriprep: Path | None = None
    derivatives: Path | None = None
    space: str | None = None
    session: str | None = None
    task: str | None = None
    atlas: str = HARVARD_OXFORD
    labels: Path | None = None
    mask: Path | None = None
    radius: float = SPHERE_RADIUS
    cleaning: Cleaning = field(default_factory=Cleaning)
    denoise: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("pla", "lr")
    threshold: Any = "auto"
    criterion: str = "cv"
    subject_criterion: str = SHRINKAGE
    edges: str = "fdr"
    fdr: float = FALSE_DISCOVERY
    temporal: Temporal | None = "ar"
    smoothing: Mapping[str, Any] = field(default_factory=dict)
    scrub: float = HIGH_MOTION
    permutations: int = 30_000
    repeats: int = 3
    label_permutations: int = 100
    bids: bool = True
    n_jobs: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        named = {"--covariate": self.covariates, "--blocks": (self.blocks,)}
        for option, columns in named.items():
            if self.group in columns:
                raise ValueError(
                    f"{option} {self.group!r} is the column of the groups (--group), which are compared. "
                    f"Name another column of the participants table, or leave {option} out."
                )

    @property
    def estimators(self) -> dict[str, PLAGGM]:
        """PLA-GGM with the plan's settings, for every method."""
        threshold = self.threshold
        if not isinstance(threshold, str | float):
            threshold = np.asarray(threshold, dtype=np.float64)
        # Motion is an amount, of which zero means none.
        shared: dict[str, Any] = dict(
            threshold=threshold, reference="zero", temporal=self.temporal, n_jobs=1
        )
        if np.ndim(self.smoothing.get("bandwidth", 0.0)) or self.smoothing.get("bandwidth") == "cv":
            raise ValueError(
                "The bandwidth of the method 'kernel' is 'auto' or one number in a study, where several "
                f"confounders enter by their norm; got {self.smoothing['bandwidth']}."
            )
        own = {"kernel": {"smoother": "kernel", **self.smoothing}}
        return {method: PLAGGM(**shared, **own.get(method, {})) for method in self.methods}
