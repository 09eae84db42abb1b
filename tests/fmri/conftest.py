"""Small studies on disk, in the layouts that programs write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from plaggm.core.confounding.rearranged_test import calibrated_test
from plaggm.core.lasso.logistic_lasso import glmnet_parts
from plaggm.estimators import fitted_network
from plaggm.fmri import classifiers, fold_networks
from plaggm.fmri.confounds import FD, SIX, power_displacement

REGIONS, VOLUMES = 6, 60
AFFINE = np.diag([4.0, 4.0, 4.0, 1.0]) + np.array(
    [[0, 0, 0, -22.0], [0, 0, 0, -30.0], [0, 0, 0, -10.0], [0, 0, 0, 0]]
)
GRID = (12, 16, 8)


def motion(rng: np.random.Generator, volumes: int = VOLUMES) -> np.ndarray:
    """Six parameters: a small drift and a few jumps."""
    steps = 0.01 * rng.standard_normal((volumes, 6))
    steps[rng.random(volumes) < 0.15] += 0.2 * rng.standard_normal(6)
    steps[:, 3:] /= 50.0
    return np.cumsum(steps, axis=0) * 0.8


def confounds_frame(parameters: np.ndarray) -> pd.DataFrame:
    """As fMRIPrep writes them: no framewise displacement at the first volume."""
    frame = pd.DataFrame(parameters, columns=list(SIX))
    moved = power_displacement(parameters)
    frame[FD] = ["n/a", *moved[1:]]
    frame["std_dvars"] = ["n/a", *(1.0 + moved[1:])]
    frame["csf"] = np.sin(np.arange(len(frame)))
    frame["white_matter"] = np.cos(np.arange(len(frame)))
    return frame


def region_series(
    rng: np.random.Generator, parameters: np.ndarray, regions: int, group: int
) -> np.ndarray:
    """Series in which neighbours are coupled, one pair in the second group only."""
    noise = rng.standard_normal((len(parameters), regions))
    x = noise.copy()
    x[:, 1] += 0.8 * noise[:, 0]
    if group:
        x[:, 3] += 0.9 * noise[:, 2]
    moved = power_displacement(parameters)
    return x + np.outer(np.minimum(moved, 2.0), rng.standard_normal(regions))


def write_series_study(
    folder: Path,
    *,
    per_group: int = 6,
    regions: int = REGIONS,
    volumes: int = VOLUMES,
    names: list[str] | None = None,
    seed: int = 0,
) -> Path:
    """Ready region series of two groups; returns the participants table."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    labels = names or [f"area {k}" for k in range(regions)]
    rows = []
    for k in range(2 * per_group):
        name, group = f"sub-{k + 1:02d}", int(k >= per_group)
        parameters = motion(rng, volumes)
        series = region_series(rng, parameters, regions, group)
        pd.DataFrame(series, columns=labels).to_csv(folder / f"{name}.tsv", sep="\t", index=False)
        confounds_frame(parameters).to_csv(folder / f"{name}_confounds.tsv", sep="\t", index=False)
        rows.append(
            (name, ("control", "patient")[group], f"{name}.tsv", f"{name}_confounds.tsv", 20 + k)
        )
    table = pd.DataFrame(rows, columns=["subject", "diagnosis", "timeseries", "confounds", "age"])
    path = folder / "participants.tsv"
    table.to_csv(path, sep="\t", index=False)
    return path


def atlas_image(regions: int):
    """A labels image on a coarse grid: slabs along the second axis, cut in two by the third."""
    import nibabel as nib

    values = np.zeros(GRID, dtype=np.int16)
    place = 0
    for y in range(0, GRID[1], 2):
        for x in range(0, GRID[0], 3):
            for z in range(0, GRID[2], 4):
                place += 1
                if place <= regions:
                    values[x : x + 2, y : y + 2, z : z + 3] = place
    return nib.Nifti1Image(values, AFFINE)


def scan(series: np.ndarray, atlas, rng: np.random.Generator):
    """A 4-D image whose regions have the given mean signals."""
    import nibabel as nib

    labels = np.asarray(atlas.dataobj)
    voxels = 100.0 + 0.1 * rng.standard_normal((*labels.shape, len(series)))
    for k in range(series.shape[1]):
        voxels[labels == k + 1] += 10.0 * series[:, k]
    image = nib.Nifti1Image(voxels.astype(np.float32), atlas.affine)
    image.header.set_zooms((4.0, 4.0, 4.0, 2.0))
    return image


def write_cobre(folder: Path, *, per_group: int = 3, regions: int = 48, seed: int = 1) -> Path:
    """The release that nilearn used to download; returns the atlas image beside it."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    atlas = atlas_image(regions)
    atlas.to_filename(folder / "atlas.nii.gz")
    rows = []
    for k in range(2 * per_group):
        name = f"{40000 + k:07d}"
        parameters = motion(rng)
        series = region_series(rng, parameters, regions, int(k >= per_group))
        scan(series, atlas, rng).to_filename(folder / f"fmri_{name}.nii.gz")
        frame = pd.DataFrame(
            parameters, columns=[f"motion_{kind}{axis}" for kind in "tr" for axis in "xyz"]
        )
        frame["FD"] = power_displacement(parameters)
        frame.to_csv(folder / f"fmri_{name}.tsv.gz", sep="\t", index=False)
        rows.append((name, 30 + k, ("Control", "Patient")[int(k >= per_group)], 0.2))
    table = pd.DataFrame(rows, columns=["ID", "Current Age", "Subject Type", "FD"])
    table.to_csv(folder / "phenotypic_data.tsv.gz", sep="\t", index=False)
    return folder / "atlas.nii.gz"


def write_fmriprep(folder: Path, *, per_group: int = 3, regions: int = 48, seed: int = 2) -> Path:
    """fMRIPrep derivatives with participants.tsv; returns the atlas image beside it."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    atlas = atlas_image(regions)
    atlas.to_filename(folder / "atlas.nii.gz")
    rows = []
    for k in range(2 * per_group):
        name = f"sub-{k + 1:02d}"
        home = folder / name / "func"
        home.mkdir(parents=True)
        parameters = motion(rng)
        series = region_series(rng, parameters, regions, int(k >= per_group))
        stem = f"{name}_task-rest"
        space = "space-MNI152NLin2009cAsym"
        scan(series, atlas, rng).to_filename(home / f"{stem}_{space}_desc-preproc_bold.nii.gz")
        confounds_frame(parameters).to_csv(
            home / f"{stem}_desc-confounds_timeseries.tsv", sep="\t", index=False
        )
        rows.append((name, ("control", "patient")[int(k >= per_group)]))
    table = pd.DataFrame(rows, columns=["participant_id", "diagnosis"])
    table.to_csv(folder / "participants.tsv", sep="\t", index=False)
    return folder / "atlas.nii.gz"


def write_cifti(path: Path, series: np.ndarray, names: list[str]) -> None:
    """Region series as CIFTI, with parcels of surface vertices."""
    import nibabel as nib
    from nibabel.cifti2 import ParcelsAxis, SeriesAxis

    side = "CIFTI_STRUCTURE_CORTEX_LEFT"
    parcels = ParcelsAxis(
        names,
        [np.zeros((0, 3), dtype=int)] * len(names),
        [{side: np.arange(3 * k, 3 * k + 3)} for k in range(len(names))],
        nvertices={side: 100},
    )
    axes = (SeriesAxis(0.0, 2.0, len(series)), parcels)
    nib.Cifti2Image(series.astype(np.float32), nib.Cifti2Header.from_axes(axes)).to_filename(path)


def write_derivatives(
    folder: Path, *, people: int = 4, volumes: int = 40, seed: int = 0
) -> list[str]:
    """Two runs of each person by XCP-D, giga_connectome and fMRIPrep; returns the names of the regions."""
    rng = np.random.default_rng(seed)
    networks = ["Vis", "Vis", "Default", "Default", "Limbic"]
    names = [f"LH_{network}_{k}" for k, network in enumerate(networks, 1)]
    rows = []
    for k in range(people):
        name = f"sub-{k + 1:02}"
        homes = {kind: folder / kind / name / "func" for kind in ("xcp_d", "giga", "fmriprep")}
        for home in homes.values():
            home.mkdir(parents=True)
        for run in ("1", "2"):
            stem = f"{name}_task-rest_run-{run}"
            parameters = motion(rng, volumes)
            series = region_series(rng, parameters, len(names), k % 2)
            confounds = confounds_frame(parameters)
            frame = pd.DataFrame(series, columns=names)
            space = "space-fsLR_seg-Tiny_den-91k_stat-mean_timeseries"
            frame.to_csv(homes["xcp_d"] / f"{stem}_{space}.tsv", sep="\t", index=False)
            write_cifti(homes["xcp_d"] / f"{stem}_{space}.ptseries.nii", series, names)
            six = confounds.iloc[:, :7]
            six.to_csv(homes["xcp_d"] / f"{stem}_motion.tsv", sep="\t", index=False)
            giga = f"{stem}_seg-Tiny5Parcels_desc-denoiseSimple_timeseries.tsv"
            numbered = frame.set_axis([str(j) for j in range(len(names))], axis=1)
            numbered.to_csv(homes["giga"] / giga, sep="\t", index=False)
            table = homes["fmriprep"] / f"{stem}_desc-confounds_timeseries.tsv"
            confounds.to_csv(table, sep="\t", index=False)
        rows.append((name, "ab"[k % 2], 20 + k))
    people_table = pd.DataFrame(rows, columns=["participant_id", "group", "age"])
    people_table.to_csv(folder / "participants.tsv", sep="\t", index=False)
    atlases = folder / "xcp_d" / "atlases" / "atlas-Tiny"
    atlases.mkdir(parents=True)
    regions = {"index": range(1, len(names) + 1), "label": names, "network_label": networks}
    path = atlases / "atlas-Tiny_dseg.tsv"
    pd.DataFrame(regions).to_csv(path, sep="\t", index=False)
    return names


@pytest.fixture(autouse=True, scope="module")
def few_shifts() -> Iterator[None]:
    """Scans are shifted 19 times instead of 199 to test for R: none of these tests reads the p-value."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitted_network, "calibrated_test", partial(calibrated_test, count=19))
        yield


@pytest.fixture(scope="module")
def quick_diagnosis() -> Iterator[None]:
    """Three folds instead of up to ten, and 12 penalties of the classifier instead of 100."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fold_networks, "FOLDS", 3)
        patched.setattr(classifiers, "glmnet_parts", partial(glmnet_parts, count=12))
        yield


@pytest.fixture(autouse=True)
def pictures_where_marked(painted_where_marked: None) -> None:
    """Tests of studies paint where marked; those of brain pictures and of one whole study are."""


@pytest.fixture(scope="session")
def write() -> SimpleNamespace:
    """The writers above."""
    return SimpleNamespace(
        series=write_series_study,
        cobre=write_cobre,
        fmriprep=write_fmriprep,
        derivatives=write_derivatives,
        atlas=atlas_image,
        scan=scan,
        confounds=confounds_frame,
        motion=motion,
        regions=region_series,
    )
