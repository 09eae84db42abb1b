"""Folders that other programs write, as a participants table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from plaggm.fmri.participants import read_participants_table
from plaggm.fmri.problems import Problems, StudyError
from plaggm.wording import listed

PHENOTYPES = ("phenotypic_data.tsv.gz", "phenotypic_data.tsv")
COBRE_ID = "ID"


def is_cobre(folder: Path) -> bool:
    """Whether a folder holds the COBRE release."""
    return any((folder / name).is_file() for name in PHENOTYPES)


def cobre_table(folder: Path) -> pd.DataFrame:
    """Participants of the COBRE release that nilearn used to download.

    The folder holds ``phenotypic_data.tsv.gz``, and for each subject ``fmri_<id>.nii.gz`` with its
    confounds ``fmri_<id>.tsv.gz``. The columns of the phenotypic table are kept; a group is found in
    ``Subject Type`` or in ``Diagnosis``.

    Returns
    -------
    DataFrame
        Table with the columns subject, image and confounds, and all others as they are.
    """
    path = next((folder / name for name in PHENOTYPES if (folder / name).is_file()), None)
    if path is None:
        raise StudyError(f"{folder} does not hold the COBRE release: it has no {PHENOTYPES[0]}.")
    table = read_participants_table(path)
    column = next((name for name in table.columns if name.lower() == COBRE_ID.lower()), None)
    if column is None:
        raise StudyError(
            f"{path} has no column {COBRE_ID!r}; it has {listed(list(table.columns))}."
        )
    # Subject ids have seven digits in the names of the files, and fewer in some copies of the table.
    table["subject"] = [str(name).strip().zfill(7) for name in table.pop(column)]
    table["image"] = [f"fmri_{name}.nii.gz" for name in table["subject"]]
    table["confounds"] = [f"fmri_{name}.tsv.gz" for name in table["subject"]]
    return table


def is_fmriprep(folder: Path) -> bool:
    """Whether a folder holds derivatives by subject, as BIDS lays them out."""
    return any(path.is_dir() for path in folder.glob("sub-*"))


def fmriprep_table(
    folder: Path,
    participants: pd.DataFrame,
    problems: Problems,
    *,
    space: str | None,
    task: str | None,
) -> pd.DataFrame:
    """Add each subject's scan and confounds from a folder of fMRIPrep derivatives.

    Parameters
    ----------
    folder : Path
    participants : DataFrame
        Table with a column ``participant_id`` or ``subject``, with or without ``sub-``.
    problems : Problems
    space, task : str, optional
        Which scans to take where a subject has some in several spaces or of several tasks.

    Returns
    -------
    DataFrame
        The rows of those who have a scan, with the columns image and confounds, absolute.
    """
    from nilearn.interfaces.bids import get_bids_files

    column = "participant_id" if "participant_id" in participants else "subject"
    if column not in participants:
        raise StudyError(
            "The participants table needs a column 'participant_id' (or 'subject'); it has "
            f"{listed(list(participants.columns))}."
        )
    filters = [("desc", "preproc")]
    filters += [("space", space)] if space else []
    filters += [("task", task)] if task else []
    images, confounds = [], []
    for name in participants[column]:
        label = str(name).removeprefix("sub-")
        scans = [
            Path(path)
            for path in get_bids_files(
                str(folder),
                file_tag="bold",
                file_type="nii*",
                sub_label=label,
                modality_folder="func",
                filters=filters,
            )
        ]
        scans = list(dict.fromkeys(scans))
        image = _single(str(name), folder, scans, problems)
        images.append(None if image is None else str(image.resolve()))
        confounds.append(None if image is None else _confounds_of(image))
    table = participants.drop(columns=["image", "timeseries", "confounds"], errors="ignore")
    table = table.assign(image=images, confounds=confounds)
    return table[table["image"].notna()].reset_index(drop=True)


def _single(name: str, folder: Path, scans: list[Path], problems: Problems) -> Path | None:
    if not scans:
        problems.add(
            name, folder, "has no preprocessed scan (*_desc-preproc_bold.nii.gz); left out."
        )
        return None
    if len(scans) > 1:
        found = listed([scan.name for scan in scans], 3)
        problems.add(
            name,
            folder,
            f"has {len(scans)} preprocessed scans ({found}); choose with --space and --task. Left out.",
        )
        return None
    return scans[0]


def _confounds_of(image: Path) -> str | None:
    """The table beside a scan: the same entities without space and resolution."""
    entities = [
        part
        for part in image.name.split("_")
        if part.partition("-")[0] not in ("space", "res", "desc") and part.partition("-")[1]
    ]
    stem = "_".join(entities)
    for kind in ("timeseries", "regressors"):
        path = image.parent / f"{stem}_desc-confounds_{kind}.tsv"
        if path.is_file():
            return str(path.resolve())
    return None


def folder_table(
    folder: Path, problems: Problems, *, space: str | None, task: str | None
) -> tuple[pd.DataFrame, Path]:
    """The participants of a folder, whichever of the two layouts it has.

    Returns
    -------
    table : DataFrame
    path : Path
        The file that the rows come from; paths in the table are relative to its folder.
    """
    if is_cobre(folder):
        path = next(folder / name for name in PHENOTYPES if (folder / name).is_file())
        return cobre_table(folder), path
    if is_fmriprep(folder):
        for place in (folder, folder.parent, folder.parent.parent):
            path = place / "participants.tsv"
            if path.is_file():
                table = read_participants_table(path)
                return fmriprep_table(folder, table, problems, space=space, task=task), path
        raise StudyError(
            f"{folder} has subjects but no participants.tsv, here or in the folders above. Pass the "
            f"table and the folder: plaggm study PARTICIPANTS.tsv --fmriprep {folder}"
        )
    raise StudyError(
        f"{folder} is a folder without participants: expected fMRIPrep derivatives (sub-*) or the "
        f"COBRE release ({PHENOTYPES[0]})."
    )
