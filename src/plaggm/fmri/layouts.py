"""Folders that other programs write, as a participants table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from plaggm.fmri.derivatives import (
    choose_scans,
    functional_files,
    is_preprocessed,
    is_series,
    motion_of,
)
from plaggm.fmri.participants import (
    ENTITIES,
    FILES,
    SUBJECT_COLUMNS,
    read_participants_table,
)
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


def is_derivatives(folder: Path) -> bool:
    """Whether a folder holds derivatives by subject, as BIDS lays them out."""
    return any(path.is_dir() for path in folder.glob("sub-*"))


@dataclass(frozen=True, slots=True)
class ScanChoice:
    """Which scans of a folder are taken.

    Attributes
    ----------
    space, session, task : str, optional
        Labels that scans must have; scans of several sessions are runs of their subject.
    atlas : str, optional
        Label of the atlas of region series.
    """

    space: str | None = None
    session: str | None = None
    task: str | None = None
    atlas: str | None = None


def derivatives_table(
    folder: Path,
    participants: pd.DataFrame,
    problems: Problems,
    choice: ScanChoice,
    confounds: Path | None = None,
) -> pd.DataFrame:
    """Add each subject's scans and confounds from a folder of derivatives.

    Region series (XCP-D, giga_connectome) are taken where the folder has any, preprocessed images
    (fMRIPrep) otherwise.

    Parameters
    ----------
    folder : Path
    participants : DataFrame
        Table with a column ``participant_id`` or ``subject``, with or without ``sub-``.
    problems : Problems
    choice : ScanChoice
    confounds : Path, optional
        fMRIPrep derivatives with the confounds of the scans; those in the folder itself when absent.

    Returns
    -------
    DataFrame
        One row for each scan, with the columns timeseries or image, confounds, session, task and run; paths
        are absolute.
    """
    column = next((name for name in SUBJECT_COLUMNS[::-1] if name in participants), None)
    if column is None:
        raise StudyError(
            "The participants table needs a column 'participant_id' (or 'subject'); it has "
            f"{listed(list(participants.columns))}."
        )
    names = [str(name).strip() for name in participants[column]]
    files = {name: functional_files(folder, name) for name in names}
    ready = any(is_series(file) for own in files.values() for file in own)
    known_names = any(is_preprocessed(file) for own in files.values() for file in own)
    if choice.atlas is not None and not ready and known_names:
        choice = replace(choice, atlas=None)
    what = "region series" if ready else "preprocessed scan (*_desc-preproc_bold.nii.gz)"
    kept = [
        name
        for name in participants
        if name not in FILES and not any(name in columns for columns in ENTITIES.values())
    ]
    rows = []
    for name, row in zip(names, participants[kept].to_dict("records"), strict=True):
        scans, wrong = choose_scans(
            files[name],
            is_series if ready else is_preprocessed,
            space=choice.space,
            session=choice.session,
            task=choice.task,
            atlas=choice.atlas,
        )
        if wrong:
            problems.add(
                name, folder, f"{wrong.replace('has none', f'has no {what}', 1)}; left out."
            )
        other = [] if confounds is None else functional_files(confounds, name)
        for scan in scans:
            table = motion_of(scan, other, files[name])
            rows.append(
                {
                    **row,
                    "timeseries" if ready else "image": str(scan.path.resolve()),
                    "confounds": None if table is None else str(table),
                    "session": scan.entities.get("ses"),
                    "task": scan.entities.get("task"),
                    "run": scan.run or None,
                }
            )
    if not rows:
        raise StudyError(f"No scan was found in {folder}. {problems}")
    return pd.DataFrame(rows)


def folder_table(
    folder: Path, problems: Problems, choice: ScanChoice, confounds: Path | None = None
) -> tuple[pd.DataFrame, Path]:
    """The participants of a folder, whichever layout it has; see :func:`derivatives_table`.

    Returns
    -------
    table : DataFrame
    path : Path
        The file that the rows come from; paths in the table are relative to its folder.
    """
    if is_cobre(folder):
        path = next(folder / name for name in PHENOTYPES if (folder / name).is_file())
        return cobre_table(folder), path
    if is_derivatives(folder):
        for place in (folder, folder.parent, folder.parent.parent):
            path = place / "participants.tsv"
            if path.is_file():
                table = read_participants_table(path)
                return derivatives_table(folder, table, problems, choice, confounds), path
        raise StudyError(
            f"{folder} has subjects but no participants.tsv, here or in the folders above. Pass the "
            f"table and the folder: plaggm study PARTICIPANTS.tsv --derivatives {folder}"
        )
    raise StudyError(
        f"{folder} is a folder without participants: expected derivatives (sub-*) of fMRIPrep, XCP-D or "
        f"giga_connectome, or the COBRE release ({PHENOTYPES[0]})."
    )
