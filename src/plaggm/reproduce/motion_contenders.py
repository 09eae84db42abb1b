"""Treatments of motion that the benchmark compares, each from the scans of a study to networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.estimators import PLAGGM
from plaggm.fmri.confounds import FD, SIX
from plaggm.fmri.contaminated import halves
from plaggm.fmri.denoising import denoise_series, expanded
from plaggm.fmri.motion import edge_regression
from plaggm.fmri.subject_paths import SHRINKAGE, make_path, pair_values
from plaggm.fmri.subjects import StudyData, Subject
from plaggm.fmri.treatments import make_treatment

# Fewest people whom a method must be able to treat.
FEWEST_PEOPLE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """Networks of the people whom a method can treat.

    Attributes
    ----------
    whole, first, second : ndarray of shape (s, pairs)
        Networks of whole scans, and of their halves.
    effective : float
        Volumes that the networks of whole scans rest on, in the mean.
    people : ndarray of int of shape (s,)
        Numbers of these people.
    """

    whole: Array
    first: Array
    second: Array
    effective: float
    people: Index


@dataclass(frozen=True, slots=True)
class Contender:
    """A treatment of motion.

    Attributes
    ----------
    name, title : str
    networks : callable
        Makes networks (S, pairs) of whole scans and of both halves, and the effective volumes, from a study
        and the confounders that it is given.
    """

    name: str
    title: str
    networks: Callable[[StudyData], Networks]


def by_treatment(
    method: str, confounders: tuple[str, ...], *, denoised: bool = False
) -> Callable[[StudyData], Networks]:
    """Networks of one of the study's methods, drawn towards that of everybody.

    Whoever cannot be treated, be it in one half, is left out. ``denoised`` regresses scans on 24 parameters
    first.
    """

    def make(data: StudyData) -> Networks:
        prepared = [_scans(subject, data, denoised) for subject in data.subjects]
        scans_of = [[_with(one, data, confounders) for one in scans] for scans in prepared]
        subjects = [scans[0] for scans in scans_of]
        estimator = PLAGGM(reference="zero", temporal="ar", n_jobs=1)
        learnt = make_treatment(method, estimator, confounders).learn(subjects)
        people, found = [], []
        for number, scans in enumerate(scans_of):
            try:
                found.append([learnt.problem(one) for one in scans])
            except ValueError:
                continue
            people.append(number)
        if len(people) < FEWEST_PEOPLE:
            raise ValueError(
                f"{len(people)} of {len(subjects)} people can be treated, and {FEWEST_PEOPLE} are needed."
            )
        path = make_path(SHRINKAGE, [scans[0] for scans in found])
        chosen = int(np.argmin(np.sum([path.fit(scans[0])[1] for scans in found], axis=0)))
        networks = [
            np.stack([path.network(scans[place], chosen) for scans in found]) for place in range(3)
        ]
        effective = float(np.mean([scans[0].effective for scans in found]))
        return Networks(networks[0], networks[1], networks[2], effective, np.array(people))

    return make


def edges_regressed(data: StudyData) -> Networks:
    """Networks without adjustment whose edges are regressed on mean displacement across people."""
    found = by_treatment("raw", (FD,))(data)
    moved = data.mean_displacement[found.people]
    return replace(
        found,
        whole=edge_regression(found.whole, moved),
        first=edge_regression(found.first, moved),
        second=edge_regression(found.second, moved),
    )


def ledoit_wolf(data: StudyData, *, denoised: bool = False) -> Networks:
    """nilearn's partial correlations: the inverse of Ledoit and Wolf's covariance of each scan."""
    found = [_scans(subject, data, denoised) for subject in data.subjects]
    whole, first, second = (
        np.stack([_partial_correlations(scans[place].x) for scans in found]) for place in range(3)
    )
    left = float(np.mean([len(scans[0].x) - scans[0].spent for scans in found]))
    return Networks(whole, first, second, left, np.arange(len(found)))


def _partial_correlations(x: Array) -> Array:
    from sklearn.covariance import LedoitWolf

    precision = LedoitWolf().fit(x).precision_
    size = np.sqrt(np.diagonal(precision))
    return pair_values(-precision / np.outer(size, size))


def contenders(parameters: bool) -> tuple[Contender, ...]:
    """All treatments that are compared; those that need the six parameters only where they are known."""
    seven = (*SIX, FD)
    found = [
        Contender("raw", "no adjustment", by_treatment("raw", (FD,))),
        Contender("lr", "LR-GGM, displacement", by_treatment("lr", (FD,))),
        Contender("pla", "PLA-GGM, displacement", by_treatment("pla", (FD,))),
        Contender("scrub", "scrubbing at 0.5 mm", by_treatment("scrub", (FD,))),
        Contender("edges", "edges regressed on mean displacement", edges_regressed),
        Contender("ledoit-wolf", "Ledoit–Wolf (nilearn), no adjustment", ledoit_wolf),
    ]
    if parameters:
        found += [
            Contender("pla-seven", "PLA-GGM, seven parameters", by_treatment("pla", seven)),
            Contender("24p", "24 parameters", by_treatment("raw", (FD,), denoised=True)),
            Contender(
                "24p-pla", "24 parameters, then PLA-GGM", by_treatment("pla", (FD,), denoised=True)
            ),
            Contender(
                "24p-ledoit-wolf",
                "24 parameters, then Ledoit–Wolf",
                partial(ledoit_wolf, denoised=True),
            ),
        ]
    return tuple(found)


def _with(subject: Subject, data: StudyData, confounders: tuple[str, ...]) -> Subject:
    """A subject with some of the confounders."""
    places = [data.confounder_names.index(name) for name in confounders]
    return replace(subject, confounder=subject.confounder[:, places])


def _scans(subject: Subject, data: StudyData, denoised: bool) -> tuple[Subject, Subject, Subject]:
    """A scan and its halves, each denoised by itself: common regressions would tie the halves together."""
    scans = (subject, *halves(subject))
    if not denoised:
        return scans
    whole, first, second = (_without_24(one, data) for one in scans)
    return whole, first, second


def _without_24(subject: Subject, data: StudyData) -> Subject:
    parameters = _with(subject, data, SIX).confounder
    design = expanded(parameters)
    everything = np.ones(len(design), dtype=bool)
    return replace(
        subject, x=denoise_series(subject.x, design, everything), spent=float(design.shape[1])
    )
