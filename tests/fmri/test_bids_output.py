"""Networks as a BIDS derivative: names, sidecars and matrices, read back by pandas, nilearn and nibabel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import joblib
import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from plaggm.fmri import StudyPlan, StudyResult, analyse, read_study, write_bids
from plaggm.fmri.networks import from_pairs

NAME = re.compile(
    r"sub-[0-9A-Za-z]+(_ses-[0-9A-Za-z]+)?(_task-[0-9A-Za-z]+)?_seg-[0-9A-Za-z]+"
    r"_meas-partialcorrelation_desc-[0-9A-Za-z]+_relmat\.(tsv|json)"
)
# What a sidecar must say, and of which type.
SIDECAR = {
    "RelationshipMeasure": str,
    "MeasureDescription": str,
    "Weighted": bool,
    "Directed": bool,
    "ValidDiagonal": bool,
    "NonNegative": bool,
    "StorageFormat": str,
    "Model": str,
    "Confounders": list,
    "Sources": list,
    "SoftwareVersions": dict,
}


@pytest.fixture(scope="module")
def written(write, tmp_path_factory) -> tuple[Path, StudyPlan, StudyResult, list[str]]:
    folder = tmp_path_factory.mktemp("study")
    names = write.derivatives(folder, people=6)
    plan = StudyPlan(
        folder / "xcp_d",
        "group",
        ("fd",),
        folder / "out",
        methods=("pla-own", "raw"),
        criterion="bic",
        permutations=5,
        repeats=0,
        n_jobs=1,
    )
    with joblib.parallel_config("threading"):
        data, problems = read_study(plan)
        result = analyse(plan, data, problems)
    return write_bids(plan, result), plan, result, names


def test_every_matrix_has_a_sidecar_that_says_where_it_comes_from(written):
    root, plan, result, names = written
    tables = sorted(root.glob("sub-*/**/*_relmat.tsv"))
    assert len(tables) == 12
    links = json.loads((root / "dataset_description.json").read_text())["DatasetLinks"]
    for table in tables:
        assert NAME.fullmatch(table.name)
        assert table.name.startswith(f"{table.relative_to(root).parts[0]}_")
        about = json.loads(table.with_suffix(".json").read_text())
        for key, kind in SIDECAR.items():
            assert isinstance(about[key], kind), key
        # Two runs with series and motion each, all of which are there.
        assert len(about["Sources"]) == 4
        for source in about["Sources"]:
            _, dataset, path = source.split(":")
            assert (root / links[dataset] / path).is_file()
        matrix = pd.read_csv(table, sep="\t")
        assert list(matrix.columns) == names
        np.testing.assert_array_equal(matrix, matrix.T)
    (one,) = root.glob("groups/group-a_*_desc-raw_relmat.tsv")
    np.testing.assert_allclose(
        pd.read_csv(one, sep="\t"), result.groups["raw", "a"].network, rtol=1e-4
    )
    assert json.loads(one.with_suffix(".json").read_text())["FalseDiscoveryRate"] == plan.fdr


def test_description_and_participants(written):
    root, _, result, _ = written
    about = json.loads((root / "dataset_description.json").read_text())
    assert about["DatasetType"] == "derivative"
    assert about["GeneratedBy"][0]["Name"] == "plaggm"
    people = pd.read_csv(root / "participants.tsv", sep="\t")
    assert list(people["participant_id"]) == [f"sub-{k:02}" for k in range(1, 7)]
    assert list(people["runs"]) == [2] * 6
    told = json.loads((root / "participants.json").read_text())
    assert set(people.columns) - {"participant_id"} == set(told)
    regions = pd.read_csv(root / "seg-Tiny_dseg.tsv", sep="\t")
    assert list(regions["network"]) == list(result.data.atlas.networks)


def test_read_back_by_nibabel(written):
    root, _, result, names = written
    (path,) = root.glob("sub-02/func/*desc-raw_boldmap.pconn.nii")
    image = nib.load(path)
    rows, columns = (image.header.get_axis(axis) for axis in range(2))
    assert list(rows.name) == list(columns.name) == names
    assert image.nifti_header.get_intent()[0] == "ConnParcels"
    expected = from_pairs(result.networks["raw"].values, len(names))[1]
    np.testing.assert_allclose(image.get_fdata(), expected, rtol=1e-5, atol=1e-7)


def test_read_back_by_nilearn(written):
    from nilearn.connectome import sym_matrix_to_vec
    from nilearn.interfaces.bids import get_bids_files

    root, _, result, names = written
    files = get_bids_files(
        str(root), file_tag="relmat", file_type="tsv", sub_label="03", modality_folder="func"
    )
    (path,) = [path for path in dict.fromkeys(files) if "desc-raw" in path]
    matrix = pd.read_csv(path, sep="\t").to_numpy()
    found = sym_matrix_to_vec(matrix, discard_diagonal=True)
    lower = np.tril_indices(len(names), -1)
    expected = from_pairs(result.networks["raw"].values, len(names))[2][lower]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_labels_stay_different(written):
    from plaggm.fmri.bids_output import subject_labels

    assert subject_labels(["sub-a_1", "a1", "é"]) == ["a1", "a12", "3"]


def test_validator(written):
    """No error of the registry's validator, which knows no derivatives, but that it sees no raw data."""
    program = os.environ.get("BIDS_VALIDATOR") or shutil.which("bids-validator")
    if program is None:
        pytest.skip("bids-validator is not installed: npm install, and BIDS_VALIDATOR=its path")
    root = written[0]
    done = subprocess.run(
        [program, str(root), "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    issues = json.loads(done.stdout[done.stdout.index("{") :])["issues"]
    assert {issue["key"] for issue in issues["errors"]} <= {"SUBJECT_FOLDERS"}
    assert {issue["key"] for issue in issues["warnings"]} <= {"NO_AUTHORS"}


def test_groups_that_differ_in_signs_alone_have_files_of_their_own(written, tmp_path):
    """Labels of BIDS have letters and digits only, in which MDD+ and MDD- are the same."""
    _, plan, result, _ = written
    signs = {"a": "MDD-", "b": "MDD+"}
    people = tuple(replace(one, group=signs[one.group]) for one in result.data.subjects)
    groups = {(method, signs[group]): one for (method, group), one in result.groups.items()}
    other = replace(result, data=replace(result.data, subjects=people), groups=groups)
    root = write_bids(replace(plan, output=tmp_path), other)
    found = {
        json.loads(path.with_suffix(".json").read_text())["Group"]: pd.read_csv(path, sep="\t")
        for path in root.glob("groups/*_desc-raw_relmat.tsv")
    }
    assert set(found) == set(signs.values())
    for group, matrix in found.items():
        np.testing.assert_allclose(matrix, groups["raw", group].network, rtol=1e-4)
