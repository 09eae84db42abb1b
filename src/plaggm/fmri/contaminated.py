"""Studies whose motion artefacts are known: region series without them, and motion that adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from plaggm.array_types import Array
from plaggm.fmri.artefacts import draw_artefacts
from plaggm.fmri.atlas import Atlas, harvard_oxford, name_regions
from plaggm.fmri.confounds import FD, SIX
from plaggm.fmri.problems import StudyError
from plaggm.fmri.scans import ScanError, check_series, read_series
from plaggm.fmri.semisynthetic import Motion
from plaggm.fmri.subjects import StudyData, Subject, standardised
from plaggm.fmri.tables import reading
from plaggm.numpy_files import open_archive
from plaggm.wording import listed

SERIES_FILES = (".tsv", ".csv", ".npy")
# Simulated people: spectral radius of their common network and of what is a person's own, density of the
# former, and autocorrelation of the series.
COMMON_RADIUS, OWN_RADIUS, DENSITY, AUTOCORRELATION = 0.5, 0.45, 0.12, 0.5
# Volumes before the first that is kept.
BURN_IN = 20


@dataclass(frozen=True, slots=True, eq=False)
class CleanSeries:
    """Region series of some people, taken as free of motion.

    Attributes
    ----------
    series : tuple of ndarray of shape (n_s, p)
    names : tuple of str
        Names of the people.
    atlas : Atlas
    source : str
        Origin in words.
    """

    series: tuple[Array, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    atlas: Atlas
    source: str


def simulated_series(people: int, volumes: int, regions: int, seed: int) -> CleanSeries:
    """People whose networks differ in all edges, with autocorrelated series."""
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(regions, 1)
    pairs = len(upper[0])
    strength = rng.uniform(0.5, 1.0, pairs) * rng.choice([1.0, 1.0, -1.0], pairs)
    common = _symmetric(strength * (rng.random(pairs) < DENSITY), regions, COMMON_RADIUS)
    series = []
    for _ in range(people):
        own = _symmetric(rng.standard_normal(pairs), regions, OWN_RADIUS)
        root = np.linalg.cholesky(np.linalg.inv(np.eye(regions) - common - own))
        noise = rng.standard_normal((volumes + BURN_IN, regions)) @ root.T
        for row in range(1, len(noise)):
            fresh = np.sqrt(1.0 - AUTOCORRELATION**2) * noise[row]
            noise[row] = AUTOCORRELATION * noise[row - 1] + fresh
        series.append(noise[BURN_IN:])
    atlas = harvard_oxford()
    assert atlas.coordinates is not None
    places = Atlas(atlas.title, atlas.names[:regions], atlas.coordinates[:regions])
    names = tuple(f"person{k + 1:03d}" for k in range(people))
    return CleanSeries(tuple(series), names, places, "simulated series")


def _symmetric(values: Array, p: int, radius: float) -> Array:
    """A symmetric matrix with these values above the diagonal, scaled to a spectral radius."""
    out = np.zeros((p, p))
    out[np.triu_indices(p, 1)] = values
    out += out.T
    size = float(np.abs(np.linalg.eigvalsh(out)).max())
    return out * (radius / size) if size > 0.0 else out


def read_clean_series(path: Path) -> CleanSeries:
    """Series from a folder with one file for each person, or from an archive.

    Parameters
    ----------
    path : Path
        Folder of TSV, CSV or NPY files, volumes in rows; or an ``.npz`` with ``series`` (people × volumes ×
        regions), and ``subject`` and ``coordinates`` (in mm) where they are known.
    """
    if path.is_dir():
        return _series_folder(path)
    with (
        reading(StudyError, f"{path} ", " Expected an .npz with series, or a folder."),
        open_archive(path) as archive,
    ):
        further = [name for name in ("subject", "coordinates") if name in archive.names]
        stored = archive.load(("series", *further))
    series = np.asarray(stored["series"], dtype=np.float64)
    if series.ndim != 3:
        raise StudyError(
            f"{path} must hold series for each person, volume and region; its shape is {series.shape}."
        )
    people = stored.get("subject", np.arange(1, len(series) + 1))
    return _checked(tuple(series), [str(name) for name in people], stored.get("coordinates"), path)


def _series_folder(path: Path) -> CleanSeries:
    files = sorted(file for file in path.iterdir() if file.suffix in SERIES_FILES)
    if not files:
        raise StudyError(f"{path} has no series: files that end in {listed(list(SERIES_FILES))}.")
    series = []
    for file in files:
        try:
            series.append(read_series(file)[0])
        except ScanError as error:
            raise StudyError(f"{file} {error}") from error
    return _checked(tuple(series), [file.stem for file in files], None, path)


def _checked(
    series: tuple[Array, ...], names: Sequence[str], coordinates: Array | None, path: Path
) -> CleanSeries:
    regions = {one.shape[1] for one in series}
    if len(regions) > 1:
        raise StudyError(f"The series of {path} have different numbers of regions: {regions}.")
    atlas = name_regions(regions.pop(), None, None)
    if coordinates is not None and np.shape(coordinates) == (len(atlas.names), 3):
        atlas = replace(atlas, coordinates=np.asarray(coordinates, dtype=np.float64))
    for name, one in zip(names, series, strict=True):
        try:
            check_series(one, atlas.names, alone=True)
        except ScanError as error:
            raise StudyError(f"{path}, {name}: {error}") from error
    return CleanSeries(series, tuple(names), atlas, f"series of {path.name}")


@dataclass(frozen=True, slots=True, eq=False)
class ContaminatedStudy:
    """The same people with and without artefacts.

    Attributes
    ----------
    clean, moved : StudyData
        Subjects have the six parameters, where they are known, and framewise displacement as confounders.
    """

    clean: StudyData
    moved: StudyData


def contaminate(given: CleanSeries, motion: Motion, *, seed: int) -> ContaminatedStudy:
    """Add the artefacts that the motion of another person causes to the series of each person.

    Motion is divided at random, so that it says nothing about the networks. Scans end where series or
    motion do, whichever is shorter.

    Parameters
    ----------
    given : CleanSeries
    motion : Motion
    seed : int
        Seed of artefacts and division.

    Returns
    -------
    ContaminatedStudy
    """
    rng = np.random.default_rng(seed)
    people = min(len(given.series), len(motion.displacement))
    mover = rng.permutation(len(motion.displacement))[:people]
    names = (FD,) if motion.parameters is None else (*SIX, FD)
    columns = motion.columns(names)
    p = given.series[0].shape[1]
    artefacts = draw_artefacts(p, given.atlas.coordinates, rng)
    clean, moved = [], []
    for series, name, k in zip(given.series, given.names, mover, strict=False):
        n = min(len(series), len(columns[k]))
        displacement = motion.displacement[k][:n]
        parameters = None if motion.parameters is None else motion.parameters[k][:n]
        x = standardised(series[:n])
        subject = Subject(name, "all", x, columns[k][:n], displacement)
        clean.append(subject)
        added = artefacts.added(displacement, parameters, rng)
        moved.append(replace(subject, x=standardised(x + added)))
    return ContaminatedStudy(
        StudyData(tuple(clean), given.atlas, names), StudyData(tuple(moved), given.atlas, names)
    )


def halves(subject: Subject) -> tuple[Subject, Subject]:
    """Both halves of a scan, under the name of the person."""
    middle = len(subject.x) // 2
    parts = []
    for rows in (slice(0, middle), slice(middle, 2 * middle)):
        moved = None if subject.displacement is None else subject.displacement[rows]
        parts.append(
            replace(
                subject,
                x=standardised(subject.x[rows]),
                confounder=subject.confounder[rows],
                displacement=moved,
            )
        )
    return parts[0], parts[1]
