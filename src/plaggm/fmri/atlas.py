"""Brain regions: names, coordinates and parcellation of scans."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.data import column_numbers
from plaggm.fmri.images import open_image
from plaggm.fmri.label_tables import (
    network_column,
    networks_in_names,
    read_label_table,
    table_beside,
)
from plaggm.fmri.problems import WHOLE_STUDY, Problems, StudyError
from plaggm.fmri.tables import bare_suffix, read_table, reading
from plaggm.read_errors import UnreadableFile
from plaggm.wording import listed

HARVARD_OXFORD = "harvard-oxford"
FETCHED = (HARVARD_OXFORD, "schaefer-100", "schaefer-200", "schaefer-400", "aal")
# The maximum-probability image that has one label for each of the 48 cortical regions.
HARVARD_OXFORD_IMAGE = "cort-maxprob-thr25-2mm"
SPHERE_RADIUS = 5.0
# Different values of a labels image.
MOST_LABELS = 5_000
IMAGES, TABLES = (".nii", ".img", ".hdr", ".mgz"), (".csv", ".tsv", ".txt")


@dataclass(frozen=True, slots=True)
class Atlas:
    """The regions of an atlas, with names, coordinates and image where they are known.

    Attributes
    ----------
    title : str
        Name of the atlas in words.
    names : tuple of str
        Names of the regions.
    coordinates : ndarray of shape (p, 3), optional
        MNI millimetres.
    image : Any, optional
        Labels image (path or nibabel image); absent for spheres and for ready series.
    labels : tuple of int
        Values of the image, in the order of the names.
    radius : float
        Radius of the spheres round the coordinates, in mm; used where there is no image.
    networks : tuple of str
        Network that each region belongs to, such as ``"Default"``; empty where it is not known.

    Examples
    --------
    >>> Atlas("two spheres", ("left", "right"), np.array([[-30.0, 0, 0], [30.0, 0, 0]])).distances
    array([[ 0., 60.],
           [60.,  0.]])
    """

    title: str
    names: tuple[str, ...]
    coordinates: Array | None = None
    image: Any = None
    labels: tuple[int, ...] = ()
    radius: float = SPHERE_RADIUS
    networks: tuple[str, ...] = ()

    @property
    def distances(self) -> Array | None:
        """Distances between the regions in mm: shape (p, p)."""
        if self.coordinates is None:
            return None
        steps = self.coordinates[:, None, :] - self.coordinates[None, :, :]
        return np.asarray(np.sqrt(np.sum(steps**2, axis=2)), dtype=np.float64)


def harvard_oxford() -> Atlas:
    """Names and places of the 48 cortical regions of the Harvard–Oxford atlas.

    In the usual maximum-probability image a region has one label for both hemispheres. The coordinates
    are those of its left half, in MNI millimetres: at every voxel of FSL's probability maps (1 mm) the most
    probable region, if it has more than 25 %, and then the centre of mass of the largest connected piece
    left of the midline, which is what nilearn's ``find_parcellation_cut_coords`` makes of such an image.
    Names and order are FSL's, without the remarks in brackets that two of the names have.

    Examples
    --------
    >>> atlas = harvard_oxford()
    >>> len(atlas.names), atlas.names[-1]
    (48, 'Occipital Pole')
    """
    with files("plaggm.fmri").joinpath("harvard_oxford_cortical.csv").open() as file:
        table = pd.read_csv(file)
    return Atlas(
        "Harvard–Oxford, cortical",
        tuple(table["name"]),
        table[["x", "y", "z"]].to_numpy(dtype=np.float64),
        labels=tuple(int(label) for label in table["label"]),
    )


def known_atlas(atlas: str) -> bool:
    """Whether a name or file identifies an atlas without further files."""
    return atlas in FETCHED or bare_suffix(Path(atlas)) in (*IMAGES, *TABLES)


def load_atlas(
    atlas: str, labels: Path | None, radius: float, problems: Problems, *, images: bool
) -> Atlas:
    """The atlas that a study asks for.

    Parameters
    ----------
    atlas : str
        ``"harvard-oxford"``, another name in ``FETCHED`` (nilearn downloads it once), a labels image
        (``.nii``, ``.nii.gz``), or a table with the columns x, y, z and, if known, name and network.
    labels : Path, optional
        Names of a labels image: a table with the columns ``label`` (or ``index``) and ``name``, and
        ``network`` where regions belong to networks. The table that TemplateFlow puts beside its images is
        found without asking.
    radius : float
        Radius of spheres, in mm.
    problems : Problems
    images : bool
        Whether scans are to be cut by it; ready series need names and places only.

    Returns
    -------
    Atlas
    """
    path = Path(atlas)
    suffix = bare_suffix(path)
    if atlas in FETCHED:
        if images or atlas != HARVARD_OXFORD:
            return _fetch(atlas)
        return harvard_oxford()
    if suffix in IMAGES:
        return _image_atlas(path, labels or table_beside(path), problems)
    if suffix in TABLES:
        return _sphere_atlas(path, radius)
    raise StudyError(
        f"--atlas {atlas}: expected one of {', '.join(FETCHED)}, a labels image (.nii.gz) or a table "
        "of coordinates (.csv, .tsv)."
    )


def label_atlas(path: Path, title: str) -> Atlas:
    """An atlas given by a table of its regions only."""
    table = read_label_table(path)
    labels = [label for label in table.names if label != 0]
    names = tuple(table.names[label] for label in labels)
    places = np.array([table.places[label] for label in labels]) if table.places else None
    networks = tuple(table.networks[label] for label in labels) if table.networks else ()
    return Atlas(
        title,
        names,
        places,
        labels=tuple(labels),
        networks=networks or networks_in_names(names),
    )


def _image_atlas(path: Path, labels: Path | None, problems: Problems) -> Atlas:
    from nilearn.plotting import find_parcellation_cut_coords

    with reading(StudyError, f"The atlas {path} "):
        image = open_image(path)
        if len(image.shape) != 3:
            raise UnreadableFile(f"it must be one 3-D labels image and has {len(image.shape)} axes")
        values = np.asarray(image.dataobj)
        found = np.unique(values[np.isfinite(values)])
        if len(found) > MOST_LABELS or np.any(found != np.floor(found)):
            raise UnreadableFile(
                f"a labels image has whole numbers, at most {MOST_LABELS:,} different ones; this one has "
                f"{len(found):,} different values"
            )
    present = [int(value) for value in found if value != 0]
    names = {label: f"region {label}" for label in present}
    networks: tuple[str, ...] = ()
    if labels is not None:
        table = read_label_table(labels)
        names = _matched_names(path, labels, table.names, present, problems)
        if table.networks:
            networks = tuple(table.networks.get(label, "none") for label in names)
    elif present == list(range(1, 49)):
        names = dict(enumerate(harvard_oxford().names, 1))
    if len(names) < 2:
        raise StudyError(
            f"The atlas {path} has {len(names)} region(s); a network needs two or more."
        )
    coordinates, labelled = find_parcellation_cut_coords(image, return_label_names=True)
    places = {int(label): place for label, place in zip(labelled, coordinates, strict=True)}
    return Atlas(
        path.name,
        tuple(names.values()),
        np.array([places[label] for label in names], dtype=np.float64),
        image,
        tuple(names),
        networks=networks or networks_in_names(tuple(names.values())),
    )


def _matched_names(
    path: Path, labels: Path, names: dict[int, str], present: list[int], problems: Problems
) -> dict[int, str]:
    named = {label: name for label, name in names.items() if label != 0}
    empty = [f"{name} ({label})" for label, name in named.items() if label not in present]
    if empty:
        problems.add(
            WHOLE_STUDY, path, f"has no voxel of the region(s) {listed(empty)}; they are left out."
        )
    unnamed = [label for label in present if label not in named]
    if unnamed:
        problems.add(
            WHOLE_STUDY,
            labels,
            f"does not name the label(s) {listed([str(label) for label in unnamed])} of {path.name}; "
            "they are called by their number.",
        )
    return {label: named.get(label, f"region {label}") for label in present}


def _sphere_atlas(path: Path, radius: float) -> Atlas:
    with reading(StudyError, f"The coordinates {path} "):
        table = read_table(path)
    table = table.rename(columns=str.lower)
    missing = [name for name in "xyz" if name not in table]
    if missing:
        raise StudyError(f"The coordinates {path} lack the column(s) {listed(missing)}.")
    names = (
        table["name"].astype(str) if "name" in table else [f"region {k + 1}" for k in table.index]
    )
    coordinates = np.column_stack([column_numbers(table[axis]) for axis in "xyz"])
    if not np.isfinite(coordinates).all():
        raise StudyError(
            f"The coordinates {path} have gaps, or values that are not numbers; every region needs x, y "
            "and z in mm."
        )
    networks = tuple(network_column(table) or ())
    return Atlas(path.name, tuple(names), coordinates, radius=radius, networks=networks)


def _fetch(atlas: str) -> Atlas:
    """Let nilearn find an atlas in its folder, or download it."""
    from nilearn import datasets
    from nilearn.plotting import find_parcellation_cut_coords

    try:
        if atlas == HARVARD_OXFORD:
            fetched = datasets.fetch_atlas_harvard_oxford(HARVARD_OXFORD_IMAGE, verbose=0)
            known = harvard_oxford()
            return Atlas(known.title, known.names, known.coordinates, fetched.maps, known.labels)
        if atlas == "aal":
            fetched = datasets.fetch_atlas_aal(verbose=0)
            names = {int(k): n for k, n in zip(fetched.indices, fetched.labels[1:], strict=False)}
        else:
            regions = int(atlas.split("-")[1])
            fetched = datasets.fetch_atlas_schaefer_2018(regions, resolution_mm=2, verbose=0)
            words = [w.decode() if isinstance(w, bytes) else str(w) for w in fetched.labels]
            names = dict(enumerate([word for word in words if word != "Background"], 1))
    except Exception as error:
        # Network and archive errors of many kinds: what helps is the same for all.
        raise StudyError(
            f"nilearn could not fetch the atlas {atlas}: there is no connection, or the download is "
            "damaged. Without internet, pass a labels image: --atlas FILE.nii.gz --labels NAMES.csv."
        ) from error
    coordinates, found = find_parcellation_cut_coords(fetched.maps, return_label_names=True)
    places = {int(label): place for label, place in zip(found, coordinates, strict=True)}
    kept = {label: name for label, name in names.items() if label in places}
    return Atlas(
        atlas,
        tuple(kept.values()),
        np.array([places[label] for label in kept], dtype=np.float64),
        fetched.maps,
        tuple(kept),
        networks=networks_in_names(tuple(kept.values())),
    )


def name_regions(count: int, columns: tuple[str, ...] | None, atlas: Atlas | None) -> Atlas:
    """Regions of extracted series: named by their columns, or by the atlas if the numbers agree.

    Parameters
    ----------
    count : int
        Regions of the series.
    columns : tuple of str, optional
        Their names; absent for NPY files.
    atlas : Atlas, optional

    Returns
    -------
    Atlas
        Atlas, with coordinates and networks only where names or number are those of the atlas. Remarks in
        brackets are not part of a name, and capitals, spaces, underscores and other signs do not count.
    """
    if atlas is not None and len(atlas.names) == count and columns in (None, atlas.names):
        return Atlas(
            atlas.title,
            atlas.names,
            atlas.coordinates,
            labels=atlas.labels,
            networks=atlas.networks,
        )
    if columns is None:
        return Atlas("regions", tuple(f"region {k + 1}" for k in range(count)))
    if atlas is not None:
        for key in (str, _bare, _letters):
            known = {key(name): place for place, name in enumerate(atlas.names)}
            # Names that differ in their remarks alone do not say which region is meant.
            if len(known) == len(atlas.names) and all(key(name) in known for name in columns):
                return _some_regions(atlas, columns, [known[key(name)] for name in columns])
    return Atlas("regions", columns, networks=networks_in_names(columns))


def _some_regions(atlas: Atlas, names: tuple[str, ...], places: list[int]) -> Atlas:
    """Some regions of an atlas, by the names that series have for them."""
    return Atlas(
        atlas.title,
        names,
        None if atlas.coordinates is None else atlas.coordinates[places],
        labels=tuple(atlas.labels[place] for place in places) if atlas.labels else (),
        networks=tuple(atlas.networks[place] for place in places) if atlas.networks else (),
    )


def _bare(name: str) -> str:
    """A name without a remark in brackets: FSL's "Heschl's Gyrus (includes H1 and H2)"."""
    return name.partition(" (")[0]


def _letters(name: str) -> str:
    """Letters and digits of a name without its remark: programs write spaces in several ways."""
    return "".join(sign for sign in name.partition("(")[0].lower() if sign.isalnum())
