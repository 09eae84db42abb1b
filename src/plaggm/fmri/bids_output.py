"""The networks of a study as a BIDS derivative: matrices with sidecars that say where they come from.

Names follow the proposal for relationship matrices (BEP 17), as giga_connectome and XCP-D do:
``sub-01/func/sub-01_task-rest_seg-A_meas-partialcorrelation_desc-pla_relmat.tsv``. A subject's matrix is
that of all runs. Where the input was CIFTI, every matrix is there as ``.pconn.nii`` too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.atomic_files import new_file, write_file
from plaggm.fmri.derivatives import PARCELLATED, bids_file
from plaggm.fmri.networks import from_pairs
from plaggm.fmri.scans import parcels
from plaggm.fmri.study import StudyResult
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.subject_paths import SHRINKAGE
from plaggm.fmri.subjects import StudyData, Subject
from plaggm.fmri.treatments import METHODS
from plaggm.result_archive import library_versions

FOLDER = "bids"
VERSION = "1.10.0"
FROM_TABLE = "Column of the participants table of the study"
PROPOSED = ("*_relmat.tsv", "*_relmat.json", "*.pconn.nii", "groups/", "*_dseg.tsv")
MEASURE = "partialcorrelation"
MEASURE_WORDS = (
    "Partial correlation of two regions given all others, without the confounders' influence"
)


def write_bids(plan: StudyPlan, result: StudyResult) -> Path:
    """Write the networks of groups and subjects as a BIDS derivative beside a study's tables.

    Parameters
    ----------
    plan : StudyPlan
    result : StudyResult

    Returns
    -------
    Path
        Folder of the derivative; what an earlier run left in it is removed.

    Examples
    --------
    >>> import tempfile
    >>> from plaggm.fmri.problems import Problems
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> from plaggm.fmri.study import analyse
    >>> data, _ = semisynthetic_study(simulated_motion(3, seed=0, volumes=60), seed=0, regions=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = StudyPlan(
    ...         Path(),
    ...         "diagnosis",
    ...         ("fd",),
    ...         Path(folder),
    ...         methods=("lr",),
    ...         repeats=0,
    ...         permutations=99,
    ...     )
    ...     written = write_bids(plan, analyse(plan, data, Problems()))
    ...     (written / "dataset_description.json").is_file()
    True
    """
    root = plan.output / FOLDER
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    data = result.data
    labels = subject_labels([subject.name for subject in data.subjects])
    atlas = bids_label(_atlas_label(data)) or "regions"
    _write_json(root / "dataset_description.json", _description(plan))
    # Names that are proposed for BIDS, and not in it yet.
    write_file(root / ".bidsignore", "".join(f"{pattern}\n" for pattern in PROPOSED))
    write_file(root / "README.md", _readme(plan, atlas))
    _write_participants(root, data, labels)
    regions = pd.DataFrame({"index": range(1, len(data.atlas.names) + 1), "name": data.atlas.names})
    if data.atlas.networks:
        regions["network"] = list(data.atlas.networks)
    _write_table(root / f"seg-{atlas}_dseg.tsv", regions)
    axis = _parcels(data)
    for method, networks in result.networks.items():
        matrices = from_pairs(networks.values, len(data.atlas.names))
        for subject, label, matrix, good in zip(
            data.subjects, labels, matrices, networks.usable, strict=True
        ):
            if good:
                stem = _stem(subject, label, atlas, method)
                about = _about(plan, result, method, [subject])
                about["SubjectCriterion"] = networks.rule
                kind = "SpreadAroundGroup" if networks.rule == SHRINKAGE else "Penalty"
                about[kind] = float(networks.steps[networks.chosen])
                home = root / f"sub-{label}"
                if (session := _agreed(subject, "session")) is not None:
                    home /= f"ses-{session}"
                write_matrix(home / "func", stem, matrix, data, about, axis)
    named = dict(zip(data.groups, unique_labels(data.groups, "all"), strict=True))
    for (method, group), network in result.groups.items():
        stem = f"group-{named[group]}_seg-{atlas}_meas-{MEASURE}_desc-{bids_label(method)}"
        about = _about(plan, result, method, data.of(group))
        about["Group"] = group
        about["Edges"] = network.n_edges
        if network.fdr is not None:
            about["FalseDiscoveryRate"] = network.fdr
        write_matrix(root / "groups", stem, network.network, data, about, axis)
    return root


def bids_label(name: str) -> str:
    """A name as a label of BIDS, which has letters and digits only.

    Examples
    --------
    >>> bids_label("sub-01_a"), bids_label("pla-own")
    ('sub01a', 'plaown')
    """
    return re.sub(r"[^0-9A-Za-z]", "", name)


def subject_labels(names: Sequence[str]) -> list[str]:
    """Labels of subjects, all different: without ``sub-``, and by number where letters are left out.

    Examples
    --------
    >>> subject_labels(["sub-01", "02", "a.b", "ab"])
    ['01', '02', 'ab', 'ab4']
    """
    return unique_labels([name.removeprefix("sub-") for name in names])


def unique_labels(names: Sequence[str], unnamed: str = "") -> list[str]:
    """Labels of BIDS for some names, all different.

    Parameters
    ----------
    names : sequence of str
    unnamed : str
        Label of a name without letters and digits; its number if empty.

    Examples
    --------
    >>> unique_labels(["MDD+", "MDD-", "+"], "all")
    ['MDD', 'MDD2', 'all']
    """
    labels: list[str] = []
    for place, name in enumerate(names, 1):
        label = bids_label(name) or unnamed or str(place)
        while label in labels:
            label = f"{label}{place}"
        labels.append(label)
    return labels


def write_matrix(
    folder: Path,
    stem: str,
    matrix: Array,
    data: StudyData,
    about: Mapping[str, Any],
    axis: Any = None,
) -> None:
    """A matrix as TSV with the regions' names in its first line, its sidecar, and as CIFTI.

    Parameters
    ----------
    folder : Path
    stem : str
        Beginning of the names of all files.
    matrix : ndarray of shape (p, p)
        Diagonal of zeros.
    data : StudyData
    about : mapping
        Content of the sidecar.
    axis : nibabel ParcelsAxis, optional
        Parcels for CIFTI; none is written when absent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(matrix, columns=list(data.atlas.names))
    _write_table(folder / f"{stem}_relmat.tsv", frame)
    _write_json(folder / f"{stem}_relmat.json", about)
    if axis is not None:
        import nibabel

        header = nibabel.Cifti2Header.from_axes((axis, axis))
        image = nibabel.Cifti2Image(matrix.astype(np.float32), header)
        # ConnParcels.
        image.nifti_header.set_intent(3003)
        with new_file(folder / f"{stem}_boldmap.pconn.nii") as file:
            file.write(image.to_bytes())


def _stem(subject: Subject, label: str, atlas: str, method: str) -> str:
    """Name of a subject's matrix: entities in which all its scans agree are kept."""
    entities = [f"sub-{label}"]
    for key, entity in (("session", "ses"), ("task", "task")):
        if (only := _agreed(subject, key)) is not None:
            entities.append(f"{entity}-{only}")
    return "_".join([*entities, f"seg-{atlas}", f"meas-{MEASURE}", f"desc-{bids_label(method)}"])


def _agreed(subject: Subject, key: str) -> str | None:
    """The session or task of all scans of a subject; None where they have several, or no label."""
    found = {bids_label(getattr(scan, key)) for scan in subject.scans}
    return (found.pop() or None) if len(found) == 1 else None


def _about(
    plan: StudyPlan, result: StudyResult, method: str, subjects: Iterable[Subject]
) -> dict[str, Any]:
    """Content of a matrix's sidecar."""
    sources = [
        path
        for subject in subjects
        for scan in subject.scans
        for path in (scan.source, scan.confounds)
        if path is not None
    ]
    return {
        "RelationshipMeasure": MEASURE,
        "MeasureDescription": MEASURE_WORDS,
        "Weighted": True,
        "Directed": False,
        "ValidDiagonal": False,
        "NonNegative": False,
        "StorageFormat": "Full",
        "Model": METHODS[method],
        "Confounders": list(result.data.confounder_names),
        "Covariates": list(result.covariates),
        "TemporalFilter": "none" if plan.temporal is None else str(plan.temporal),
        "Sources": [_uri(path, plan) for path in sources],
        "SoftwareVersions": library_versions(),
    }


def _datasets(plan: StudyPlan) -> dict[str, Path]:
    """The folders that the input of a study is in, by the names that sidecars have for them."""
    table = plan.participants
    folders = {
        "derivatives": plan.derivatives,
        "fmriprep": plan.fmriprep,
        "source": table if table.is_dir() else table.parent,
    }
    return {name: folder for name, folder in folders.items() if folder is not None}


def _uri(path: Path, plan: StudyPlan) -> str:
    """Where a file is: within one of the datasets of the study, or relative to the derivative."""
    for name, folder in _datasets(plan).items():
        if path.resolve().is_relative_to(folder.resolve()):
            return f"bids:{name}:{path.resolve().relative_to(folder.resolve()).as_posix()}"
    return _relative(path, plan.output / FOLDER)


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path.resolve(), root.resolve())).as_posix()


def _description(plan: StudyPlan) -> dict[str, Any]:
    root = plan.output / FOLDER
    links = {name: _relative(folder, root) for name, folder in _datasets(plan).items()}
    return {
        "Name": f"Brain networks by {plan.group}",
        "BIDSVersion": VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [
            {
                "Name": "plaggm",
                "Version": library_versions()["plaggm"],
                "Description": "Partial correlations without the influence of motion",
            }
        ],
        "DatasetLinks": links,
    }


def _readme(plan: StudyPlan, atlas: str) -> str:
    return f"""# Brain networks by {plan.group}

Networks without the influence of {", ".join(plan.confounders)}, made by `plaggm study`.

- `sub-*/**/*_relmat.tsv`: the network of a subject, all runs together. Values are partial correlations;
  rows have the order of the columns.
- `groups/*_relmat.tsv`: the pooled network of a group, zero where no edge is declared.
- `*_relmat.json`: model, confounders and the files that a network comes from.
- `seg-{atlas}_dseg.tsv`: the regions.

Names follow the proposal for relationship matrices (BEP 17), which `.bidsignore` tells the validator.
"""


def _write_participants(root: Path, data: StudyData, labels: Sequence[str]) -> None:
    frame = data.to_frame()
    frame.insert(0, "participant_id", [f"sub-{label}" for label in labels])
    frame = frame.rename(columns={"subject": "original_id"})
    _write_table(root / "participants.tsv", frame)
    known = {
        "original_id": {"Description": "Subject as the participants table of the study names it"},
        "group": {"Description": "Group that networks were compared by"},
        "runs": {"Description": "Scans that the subject's networks rest on"},
        "volumes": {"Description": "Volumes of all scans"},
        "mean_framewise_displacement": {
            "Description": "Mean framewise displacement of all volumes",
            "Units": "mm",
        },
    }
    told = {name: known.get(name, {"Description": FROM_TABLE}) for name in frame.columns[1:]}
    _write_json(root / "participants.json", told)


def _atlas_label(data: StudyData) -> str:
    """Label of the atlas: that of the region series, or the title without its remarks."""
    for subject in data.subjects:
        for scan in subject.scans:
            if scan.timeseries is not None and (label := bids_file(scan.timeseries).atlas):
                return label
    return data.atlas.title.split(".")[0]


def _parcels(data: StudyData) -> Any:
    """Parcels of the region series where they are CIFTI, in the order of the regions."""
    for subject in data.subjects:
        for scan in subject.scans:
            if scan.timeseries is not None and scan.timeseries.name.endswith(PARCELLATED):
                axis, _ = parcels(scan.timeseries)
                return axis if len(axis) == len(data.atlas.names) else None
    return None


def _write_table(path: Path, frame: pd.DataFrame) -> None:
    text = frame.to_csv(sep="\t", index=False, na_rep="n/a", float_format="%.6g")
    write_file(path, text)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_file(path, json.dumps(dict(content), indent=2, ensure_ascii=False))
