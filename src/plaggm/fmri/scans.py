"""Region series from files: checks of scans and of given series, and extraction by nilearn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array, Mask
from plaggm.core.preparation.dependence import correlations, find_dependence
from plaggm.data import column_numbers
from plaggm.data.variables import LARGEST
from plaggm.fmri.atlas import Atlas
from plaggm.fmri.derivatives import PARCELLATED
from plaggm.fmri.images import open_image
from plaggm.fmri.tables import bare_suffix, read_table, reading
from plaggm.numpy_files import Header, read_arrays
from plaggm.read_errors import UnreadableFile, path_problem
from plaggm.wording import listed

# Two affines that differ by less are the same up to rounding in the header.
SAME_AFFINE = 1e-3
# Volumes of one of several runs without which mean and spread of its regions are not known at all.
FEWEST_VOLUMES = 5


class ScanError(ValueError):
    """A scan or series that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Options of nilearn's signal extraction.

    Attributes
    ----------
    detrend : bool
        Remove a line from every region.
    high_pass : float, optional
        Hertz; the repetition time is read from the scan.
    """

    detrend: bool = True
    high_pass: float | None = None


def read_series(path: Path) -> tuple[Array, tuple[str, ...] | None]:
    """Read region series that are extracted already, volumes in rows.

    Parameters
    ----------
    path : Path
        ``.tsv``, ``.csv`` (with a header of region names), ``.npy``, or ``.ptseries.nii`` (CIFTI).

    Returns
    -------
    series : ndarray of shape (n, p)
    names : tuple of str, or None where the file has none: NPY, no header, or one that numbers the columns
    """
    with reading(ScanError):
        if path.name.endswith(PARCELLATED):
            return _parcellated(path)
        if bare_suffix(path) == ".npy":
            if problem := path_problem(path):
                raise UnreadableFile(problem)
            (values,) = read_arrays(path, _check_header).values()
            return values.astype(np.float64), None
        frame = read_table(path)
    if frame.empty:
        raise ScanError("holds no volumes.")
    text = [str(name) for name in frame.columns if frame[name].dtype.kind not in "fiub"]
    if text:
        raise ScanError(f"has columns that are not numbers: {listed(text)}.")
    names = tuple(str(name) for name in frame.columns)
    values = frame.to_numpy(dtype=np.float64)
    numbers = column_numbers(pd.Series(names, dtype=object))
    if not np.isfinite(numbers).all():
        return values, names
    if np.any(numbers != np.floor(numbers)):
        # No header: its first line is a volume.
        return np.vstack([numbers, values]), None
    return values, names if np.ptp(np.diff(numbers, prepend=numbers[0] - 1.0)) else None


def _parcellated(path: Path) -> tuple[Array, tuple[str, ...]]:
    """Region series of a CIFTI file, and the names of its parcels."""
    axis, values = parcels(path)
    return values, tuple(str(name) for name in axis.name)


def parcels(path: Path) -> tuple[Any, Array]:
    """Parcels (nibabel's ``ParcelsAxis``) and series (n, p) of a ``.ptseries.nii`` file."""
    import nibabel

    if problem := path_problem(path):
        raise UnreadableFile(problem)
    image: Any = nibabel.load(path)
    axes = [image.header.get_axis(place) for place in range(len(image.shape))]
    kinds = [type(axis).__name__ for axis in axes]
    if kinds != ["SeriesAxis", "ParcelsAxis"]:
        raise UnreadableFile(f"it holds {' by '.join(kinds)} instead of a series by parcels")
    return axes[1], np.asarray(image.get_fdata(), dtype=np.float64)


def _check_header(headers: Mapping[str, Header]) -> None:
    """Raise for arrays that are not series, before they are loaded."""
    shapes = [(header.shape, header.dtype) for header in headers.values()]
    if len(shapes) != 1 or len(shapes[0][0]) != 2 or shapes[0][1].kind not in "fiu":
        held = " and ".join(f"{dtype} of shape {shape}" for shape, dtype in shapes)
        raise ScanError(f"must hold a table of numbers, volumes in rows; it holds {held}.")


def open_scan(path: Path) -> Any:
    """A 4-D image, its voxels not read yet."""
    with reading(ScanError):
        image = open_image(path)
    shape = image.shape
    if len(shape) != 4:
        raise ScanError(f"is not a 4-D image: its shape is {shape}.")
    return image


def check_grid(image: Any, mask: Any) -> None:
    """Raise where a scan does not lie on the mask's grid."""
    if image.shape[:3] != mask.shape[:3]:
        raise ScanError(
            f"has the shape {image.shape[:3]}, the mask {mask.shape[:3]}; resample it to the mask."
        )
    if np.abs(image.affine - mask.affine).max() > SAME_AFFINE:
        raise ScanError(
            "has another affine than the mask, so their voxels are at different places; resample it "
            "to the mask."
        )


def extract_series(path: Path, atlas: Atlas, mask: Any, cleaning: Cleaning) -> Array:
    """Mean signal of every region in every volume.

    Parameters
    ----------
    path : Path
        4-D image.
    atlas : Atlas
        Atlas with a labels image, which nilearn resamples to the scan, or coordinates of spheres.
    mask : nibabel image or None
    cleaning : Cleaning

    Returns
    -------
    ndarray of shape (n, p)
    """
    image = open_scan(path)
    if mask is not None:
        check_grid(image, mask)
    repetition = float(image.header.get_zooms()[3])
    if cleaning.high_pass is not None and repetition <= 0.0:
        raise ScanError("does not say its repetition time, which --high-pass needs.")
    common = dict(
        mask_img=mask,
        detrend=cleaning.detrend,
        high_pass=cleaning.high_pass,
        t_r=repetition if cleaning.high_pass is not None else None,
        standardize=False,
        reports=False,
    )
    # Truncated voxels show only while they are read.
    with reading(ScanError):
        if atlas.image is not None:
            return _labels(image, atlas, common)
        return _spheres(image, atlas, common)


def _labels(image: Any, atlas: Atlas, common: dict[str, Any]) -> Array:
    from nilearn.maskers import NiftiLabelsMasker

    masker = NiftiLabelsMasker(atlas.image, resampling_target="data", **common)
    series = masker.fit_transform(image)
    found = [int(value) for key, value in masker.region_ids_.items() if key != "background"]
    missing = [
        name for name, label in zip(atlas.names, atlas.labels, strict=True) if label not in found
    ]
    if missing:
        raise ScanError(f"has no voxel of the atlas region(s) {listed(missing)}.")
    places = [found.index(label) for label in atlas.labels]
    return np.asarray(series[:, places], dtype=np.float64)


def _spheres(image: Any, atlas: Atlas, common: dict[str, Any]) -> Array:
    from nilearn.maskers import NiftiSpheresMasker

    if atlas.coordinates is None:
        raise ScanError("cannot be cut into regions: the atlas has neither image nor coordinates.")
    inside = _inside(image, atlas.coordinates)
    outside = [name for name, good in zip(atlas.names, inside, strict=True) if not good]
    if outside:
        raise ScanError(f"has no voxel of the atlas region(s) {listed(outside)}.")
    masker = NiftiSpheresMasker(
        [tuple(place) for place in atlas.coordinates],
        radius=atlas.radius,
        allow_overlap=True,
        **common,
    )
    return np.asarray(masker.fit_transform(image), dtype=np.float64)


def _inside(image: Any, coordinates: Array) -> Mask:
    """Which places lie within the field of view."""
    inverse = np.linalg.inv(image.affine)
    voxels = coordinates @ inverse[:3, :3].T + inverse[:3, 3]
    return np.all((voxels > -0.5) & (voxels < np.array(image.shape[:3]) - 0.5), axis=1)


def check_series(series: Array, names: tuple[str, ...], *, alone: bool) -> None:
    """Raise for unusable series of a scan, which may be one of several runs."""
    if alone:
        _check_length(series)
    elif len(series) < FEWEST_VOLUMES:
        raise ScanError(f"has {len(series)} volumes; a run needs {FEWEST_VOLUMES} or more.")
    finite = np.asarray(np.isfinite(series).all(axis=0))
    _refuse(~finite, names, "has gaps or infinite values")
    _refuse(np.abs(series).max(axis=0) > LARGEST, names, f"has values beyond {LARGEST:g}")
    spread = np.ptp(series, axis=0)
    _refuse(spread == 0.0, names, "is constant")
    _refuse(spread < 1.0 / LARGEST, names, f"varies by less than {1.0 / LARGEST:g}")
    if alone:
        check_runs(series, names)


def check_runs(series: Array, names: tuple[str, ...]) -> None:
    """Raise if no network can be estimated from the runs of a subject together."""
    _check_length(series)
    found = find_dependence(correlations(series), len(series))
    if found is not None and found.exact:
        alike = [f"{names[j]} and {names[k]}" for j, k, _ in found.pairs]
        follow = [names[j] for j in found.columns]
        raise ScanError(
            f"has the same series, but for unit and origin, in the regions {listed(alike)}."
            if alike
            else f"has regions that follow exactly from each other: {listed(follow)}."
        )


def _check_length(series: Array) -> None:
    n, p = series.shape
    if n <= p:
        raise ScanError(f"has {n} volumes but {p} regions; more volumes than regions are needed.")


def _refuse(bad: Mask, names: tuple[str, ...], words: str) -> None:
    if bad.any():
        regions = [name for name, one in zip(names, bad, strict=True) if one]
        raise ScanError(f"{words} in the region(s) {listed(regions)}.")
