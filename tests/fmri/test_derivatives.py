"""Region series and motion in the folders that XCP-D and giga_connectome write, and tables of atlases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plaggm.fmri import StudyError, StudyPlan, read_study
from plaggm.fmri.atlas import label_atlas, load_atlas
from plaggm.fmri.derivatives import bids_file, choose_scans, functional_files, is_series
from plaggm.fmri.label_tables import networks_in_names, read_label_table, table_beside
from plaggm.fmri.problems import Problems

REGIONS, VOLUMES = 5, 40
NAMES = [f"LH_{net}_{k}" for k, net in enumerate(["Vis", "Vis", "Default", "Default", "Limbic"], 1)]


@pytest.fixture
def folders(tmp_path, write) -> Path:
    """Four people with two runs each: XCP-D, giga_connectome and fMRIPrep side by side."""
    assert write.derivatives(tmp_path, volumes=VOLUMES) == NAMES
    return tmp_path


def study(folders: Path, place: Path, **settings) -> StudyPlan:
    return StudyPlan(place, "group", ("fd",), folders / "out", n_jobs=1, **settings)


def test_xcp_d(folders):
    """The CIFTI file of two is taken; motion, names and networks come from the folder."""
    data, problems = read_study(study(folders, folders / "xcp_d"))
    assert not len(problems)
    assert len(data.subjects) == 4
    first = data.subjects[0]
    assert first.x.shape == (2 * VOLUMES, REGIONS)
    assert [scan.label for scan in first.scans] == ["task-rest_run-1", "task-rest_run-2"]
    assert all(scan.source.name.endswith(".ptseries.nii") for scan in first.scans)
    assert data.atlas.names == tuple(NAMES)
    assert data.atlas.networks == ("Vis", "Vis", "Default", "Default", "Limbic")
    # The tables hold the same series.
    for path in (folders / "xcp_d").rglob("*.ptseries.nii"):
        path.unlink()
    tables, _ = read_study(study(folders, folders / "xcp_d"))
    np.testing.assert_allclose(tables.subjects[3].x, data.subjects[3].x, atol=1e-5)


def test_giga_connectome_needs_the_confounds_of_fmriprep(folders):
    with pytest.raises(StudyError, match="has no table of confounds"):
        read_study(study(folders, folders / "giga"))
    table = folders / "participants.tsv"
    plan = study(folders, table, derivatives=folders / "giga", fmriprep=folders / "fmriprep")
    data, problems = read_study(plan)
    assert not len(problems)
    assert data.subjects[0].x.shape == (2 * VOLUMES, REGIONS)
    # Columns that are only numbered are no names.
    assert data.atlas.names[0] == "region 1"
    (folders / "names.tsv").write_text(
        "index\tname\tnetwork\n" + "".join(f"{k}\tr{k}\tn{k % 2}\n" for k in range(1, REGIONS + 1))
    )
    named, _ = read_study(replace(plan, labels=folders / "names.tsv"))
    assert named.atlas.names[0] == "r1"
    assert named.atlas.networks == ("n1", "n0", "n1", "n0", "n1")


def test_runs_and_sessions_of_a_folder(folders):
    data, _ = read_study(study(folders, folders / "xcp_d", task="rest"))
    assert len(data.scans_frame()) == 8
    with pytest.raises(StudyError, match="has no region series of the task-nback, but of rest"):
        read_study(study(folders, folders / "xcp_d", task="nback"))
    with pytest.raises(StudyError, match="has no region series of the atlas Other, but of Tiny"):
        read_study(study(folders, folders / "xcp_d", atlas="Other"))
    chosen, _ = read_study(study(folders, folders / "xcp_d", atlas="Tiny"))
    assert chosen.atlas.names == tuple(NAMES)


def test_two_atlases_have_to_be_told_apart(folders):
    home = folders / "xcp_d" / "sub-01" / "func"
    for path in list(home.glob("*_seg-Tiny_*.ptseries.nii")):
        (home / path.name.replace("Tiny", "Other")).write_bytes(path.read_bytes())
    chosen, wrong = choose_scans(
        functional_files(folders / "xcp_d", "01"),
        is_series,
        space=None,
        session=None,
        task=None,
        atlas=None,
    )
    assert not chosen
    assert "choose with --atlas" in wrong
    data, problems = read_study(study(folders, folders / "xcp_d"))
    assert "sub-01" in problems.subjects()
    assert len(data.subjects) == 2


def test_series_without_header(folders):
    """A first line of numbers that are no names is a volume."""
    for path in (folders / "giga").rglob("*.tsv"):
        lines = path.read_text().splitlines()[1:]
        path.write_text("\n".join(lines) + "\n")
    plan = study(
        folders,
        folders / "participants.tsv",
        derivatives=folders / "giga",
        fmriprep=folders / "fmriprep",
    )
    data, _ = read_study(plan)
    assert data.subjects[0].x.shape == (2 * VOLUMES, REGIONS)


def test_names_of_files():
    file = bids_file(Path("a/sub-01_ses-2_task-rest_dir-AP_run-1_seg-A_stat-mean_timeseries.tsv"))
    assert file.atlas == "A"
    assert file.scan == ("2", "rest", "", "", "", "AP", "1", "")
    assert file.run == "AP1"
    assert is_series(file)
    assert not is_series(bids_file(Path("sub-01_task-rest_desc-confounds_timeseries.tsv")))


def test_tables_of_atlases(tmp_path, write):
    """TemplateFlow's table is found beside the image; networks come from a column or from names."""
    image = tmp_path / "tpl-MNI_res-02_atlas-A_desc-4_dseg.nii.gz"
    write.atlas(4).to_filename(image)
    table = tmp_path / "tpl-MNI_atlas-A_desc-4_dseg.tsv"
    rows = "".join(f"{k}\t7Networks_RH_Cont_{k}\t#f\n" for k in range(1, 5))
    table.write_text(f"index\tname\tcolor\n{rows}")
    assert table_beside(image) == table
    atlas = load_atlas(str(image), None, 5.0, Problems(), images=True)
    assert atlas.names[0] == "7Networks_RH_Cont_1"
    assert atlas.networks == ("Cont",) * 4
    assert networks_in_names(["LH_Vis_1", "elsewhere"]) == ()
    table.write_text("label\tname\tx\ty\tz\tYeo\n0\tout\t0\t0\t0\t\n7\ta\t1\t2\t3\tDMN\n")
    assert read_label_table(table).places[7].tolist() == [1.0, 2.0, 3.0]
    regions = label_atlas(table, "A")
    assert (regions.names, regions.labels, regions.networks) == (("a",), (7,), ("DMN",))
