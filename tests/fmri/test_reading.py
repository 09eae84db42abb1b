"""Participants, confounds, scans and layouts: what is read, and what is said when it cannot be."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plaggm.fmri import Problems, StudyError, StudyPlan, harvard_oxford, read_study
from plaggm.fmri.atlas import Atlas, load_atlas, name_regions
from plaggm.fmri.confounds import (
    FD,
    ConfoundsError,
    confounder_columns,
    displacement,
    power_displacement,
    select_confounds,
)
from plaggm.fmri.denoising import denoise, parse_strategy
from plaggm.fmri.scans import Cleaning


def plan_for(table: Path, out: Path, **settings) -> StudyPlan:
    return StudyPlan(table, settings.pop("group", "diagnosis"), ("fd",), out, n_jobs=1, **settings)


def messages(problems: Problems) -> dict[str, str]:
    return {problem.subject: f"{problem.file} {problem.message}" for problem in problems}


def test_harvard_oxford_table():
    atlas = harvard_oxford()
    assert len(set(atlas.names)) == 48
    assert {"Occipital Pole", "Central Opercular Cortex"} <= set(atlas.names)
    assert atlas.coordinates.shape == (48, 3)
    # Left half, and within a brain.
    assert np.all(atlas.coordinates[:, 0] < 0)
    assert np.all(np.abs(atlas.coordinates) < 110)
    back = atlas.names.index("Occipital Pole")
    assert atlas.coordinates[back, 1] == atlas.coordinates[:, 1].min()
    distances = atlas.distances
    np.testing.assert_allclose(distances, distances.T)
    assert distances[np.triu_indices(48, 1)].min() > 4.0


def test_remarks_in_brackets_are_no_part_of_a_region():
    atlas = harvard_oxford()
    last = atlas.names.index("Heschl's Gyrus")
    named = name_regions(2, ("Heschl's Gyrus (includes H1 and H2)", "Occipital Pole"), atlas)
    assert named.names[0] == "Heschl's Gyrus (includes H1 and H2)"
    np.testing.assert_array_equal(named.coordinates, atlas.coordinates[[last, 47]])
    # Where the remarks tell regions apart, they must be there.
    sides = Atlas("two", ("a (left)", "a (right)", "b"), np.eye(3))
    assert name_regions(2, ("a", "b"), sides).coordinates is None
    known = name_regions(2, ("b", "a (right)"), sides)
    np.testing.assert_array_equal(known.coordinates, np.eye(3)[[2, 1]])


@pytest.mark.parametrize("label", ["", "_seg-HarvardOxford"])
def test_names_with_underscores_have_the_places_of_the_default_atlas(write, tmp_path, label):
    names = list(harvard_oxford().names[:6])
    written = [name.replace(" ", "_") for name in names]
    table = write.series(tmp_path / "data", per_group=3, names=written)
    if label:
        people = pd.read_csv(table, sep="\t")
        for file in people["timeseries"]:
            stem = file.removesuffix(".tsv")
            (table.parent / file).rename(table.parent / f"{stem}{label}_timeseries.tsv")
        people["timeseries"] = [
            f"{file.removesuffix('.tsv')}{label}_timeseries.tsv" for file in people["timeseries"]
        ]
        people.to_csv(table, sep="\t", index=False)
    data, problems = read_study(plan_for(table, tmp_path / "out"))
    assert data.atlas.names == tuple(written)
    np.testing.assert_array_equal(data.atlas.coordinates, harvard_oxford().coordinates[:6])
    assert not len(problems)


def test_an_atlas_of_other_regions_is_told(write, tmp_path):
    table = write.series(tmp_path / "data", per_group=3)
    places = pd.DataFrame(np.eye(6)[:, :3], columns=list("xyz"))
    places.insert(0, "name", [f"Area-{k}" for k in range(6)])
    path = tmp_path / "places.csv"
    places.to_csv(path, index=False)
    data, problems = read_study(plan_for(table, tmp_path / "out", atlas=str(path)))
    np.testing.assert_array_equal(data.atlas.coordinates, places[list("xyz")])
    assert not len(problems)
    places.assign(name=[f"place {k}" for k in range(6)]).to_csv(path, index=False)
    data, problems = read_study(plan_for(table, tmp_path / "out", atlas=str(path)))
    assert data.atlas.coordinates is None
    (message,) = messages(problems).values()
    assert (
        "has other regions ('place 0', 'place 1' and 4 more) than the series ('area 0'" in message
    )
    assert "places of theirs are not known" in message


def test_presets():
    assert confounder_columns(("motion7",)) == (
        *("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z"),
        FD,
    )
    assert confounder_columns(("fd", FD, "csf")) == (FD, "csf")


def test_first_displacement_is_zero_and_dvars_its_median():
    frame = pd.DataFrame({FD: [np.nan, 0.2, 0.4], "std_dvars": [np.nan, 1.0, 3.0]})
    values = select_confounds(frame, (FD, "std_dvars"))
    np.testing.assert_allclose(values, [[0.0, 2.0], [0.2, 1.0], [0.4, 3.0]])


def test_other_gaps_are_errors_with_their_volume():
    frame = pd.DataFrame({FD: [0.0, np.nan, 0.4], "csf": [np.nan, 1.0, 1.0]})
    with pytest.raises(ConfoundsError, match="volume\\(s\\) 2"):
        select_confounds(frame, (FD,))
    with pytest.raises(ConfoundsError, match="'csf' at volume\\(s\\) 1"):
        select_confounds(frame, ("csf",))
    with pytest.raises(ConfoundsError, match="lacks the column\\(s\\) trans_x"):
        select_confounds(frame, ("trans_x",))
    huge = pd.DataFrame({"csf": [10**400, 1, 2]}, dtype=object)
    with pytest.raises(ConfoundsError, match="number in column 'csf' that is too large"):
        select_confounds(huge, ("csf",))


def test_names_of_other_programs_are_understood():
    rng = np.random.default_rng(0)
    parameters = rng.standard_normal((5, 6))
    frame = pd.DataFrame(
        parameters, columns=[f"motion_{kind}{axis}" for kind in "tr" for axis in "xyz"]
    )
    np.testing.assert_allclose(select_confounds(frame, ("trans_x", "rot_z")), parameters[:, [0, 5]])
    np.testing.assert_allclose(displacement(frame), power_displacement(parameters))
    assert displacement(pd.DataFrame({"csf": [1.0]})) is None


def test_power_displacement_by_hand():
    parameters = np.zeros((3, 6))
    parameters[1, 0], parameters[2, 0], parameters[2, 3] = 0.5, 0.5, 0.02
    np.testing.assert_allclose(power_displacement(parameters), [0.0, 0.5, 1.0])


def test_series_study(tmp_path, write):
    table = write.series(tmp_path / "data", per_group=3)
    data, problems = read_study(plan_for(table, tmp_path / "out"))
    assert len(problems) == 0
    assert data.groups == ("control", "patient")
    assert [subject.name for subject in data.subjects][:2] == ["sub-01", "sub-02"]
    assert data.atlas.names[0] == "area 0"
    assert data.subjects[0].further == {"age": "20"}
    assert data.subjects[0].confounder[0, 0] == 0.0
    x = data.subjects[0].x
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(x.std(axis=0), 1.0)
    assert list(data.to_frame()["age"]) == [str(age) for age in range(20, 26)]


def test_npy_series_take_the_atlas_names(tmp_path, write):
    table = write.series(tmp_path, per_group=2, regions=48)
    frame = pd.read_csv(table, sep="\t")
    for place, name in enumerate(frame["timeseries"]):
        values = pd.read_csv(tmp_path / name, sep="\t").to_numpy()
        np.save(tmp_path / f"{place}.npy", values)
        frame.loc[place, "timeseries"] = f"{place}.npy"
    frame.to_csv(table, sep="\t", index=False)
    data, _ = read_study(plan_for(table, tmp_path / "out"))
    assert data.atlas.names == harvard_oxford().names


def test_every_problem_of_ready_series_is_reported_at_once(tmp_path, write):
    table = write.series(tmp_path, per_group=10)
    frame = pd.read_csv(table, sep="\t", dtype=str)

    def series(k: int) -> pd.DataFrame:
        return pd.read_csv(tmp_path / f"sub-{k:02d}.tsv", sep="\t")

    (tmp_path / "sub-01.tsv").unlink()
    series(2).iloc[:5].to_csv(tmp_path / "sub-02.tsv", sep="\t", index=False)
    confounds = pd.read_csv(tmp_path / "sub-02_confounds.tsv", sep="\t")
    confounds.iloc[:5].to_csv(tmp_path / "sub-02_confounds.tsv", sep="\t", index=False)
    series(3).iloc[:-4].to_csv(tmp_path / "sub-03.tsv", sep="\t", index=False)
    series(4).rename(columns={"area 1": "elsewhere"}).to_csv(
        tmp_path / "sub-04.tsv", sep="\t", index=False
    )
    series(5).iloc[:, :-1].to_csv(tmp_path / "sub-05.tsv", sep="\t", index=False)
    series(6).assign(**{"area 2": 1.0}).to_csv(tmp_path / "sub-06.tsv", sep="\t", index=False)
    moving = pd.read_csv(tmp_path / "sub-07_confounds.tsv", sep="\t", keep_default_na=False)
    moving[FD] = ["n/a", *([3.0] * (len(moving) - 1))]
    moving.to_csv(tmp_path / "sub-07_confounds.tsv", sep="\t", index=False)
    (tmp_path / "sub-08.tsv").write_bytes(b"\x1f\x8b\x00broken\xff\xfe")
    (tmp_path / "sub-08_confounds.tsv").unlink()
    frame.loc[8, "diagnosis"] = "unique"
    frame.loc[9, "diagnosis"] = None
    frame.loc[11, ["subject", "diagnosis"]] = ["sub-11", "control"]
    frame.to_csv(table, sep="\t", index=False, na_rep="n/a")

    data, problems = read_study(plan_for(table, tmp_path / "out"))
    found = messages(problems)
    assert "sub-01.tsv does not exist" in found["sub-01"]
    assert "5 volumes but 6 regions" in found["sub-02"]
    assert "sub-03_confounds.tsv has 60 rows, but the series has 56" in found["sub-03"]
    assert "volumes were dropped cannot be used" in found["sub-03"]
    assert "'elsewhere' instead of 'area 1'" in found["sub-04"]
    assert "has 5 regions, the study 6" in found["sub-05"]
    assert "constant in the region(s) area 2" in found["sub-06"]
    assert "all 60 volumes are high-motion" in found["sub-07"]
    broken = [p for p in problems if p.subject == "sub-08"]
    # Both of the subject's files are reported, not the first alone.
    assert [Path(p.file).name for p in broken] == ["sub-08.tsv", "sub-08_confounds.tsv"]
    assert "only usable subject of the group 'unique'" in found["sub-09"]
    assert "no value in the column 'diagnosis'" in found["sub-10"]
    # Two lines of a subject are two runs, unless they say different things about the subject.
    assert "is in the groups patient, control (lines 12, 13)" in found["sub-11"]
    assert {subject.name for subject in data.subjects} == {f"sub-{k}" for k in range(13, 21)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\tb\n", "holds no volumes"),
        ("a\tb\n1\tx\n2\ty\n", "not numbers: b"),
        ("", "cannot be read"),
        ("a\tb\n1\t2\n3\tn/a\n4\t5\n", "gaps or infinite values in the region\\(s\\) b"),
        ("a\tb\n1\t2e200\n3\t1\n4\t5\n", "values beyond 1e\\+100 in the region\\(s\\) b"),
        ("a\tb\n1\t2e-200\n3\t0\n4\t0\n", "varies by less than 1e-100 in the region\\(s\\) b"),
        ("a\tb\n1\t2\n3\t6\n4\t8\n", "the same series, but for unit .* in the regions a and b"),
        (
            "a\tb\tc\n1\t2\t3\n5\t6\t11\n4\t8\t12\n0\t1\t1\n",
            "regions that follow exactly from each other: a, b, c",
        ),
    ],
)
def test_odd_series(tmp_path, write, content, said):
    table = write.series(tmp_path, per_group=2)
    for path in tmp_path.glob("sub-??.tsv"):
        path.write_text(content)
    with pytest.raises(StudyError, match=said):
        read_study(plan_for(table, tmp_path / "out"))


def test_nothing_left_is_one_error_with_all_problems(tmp_path, write):
    table = write.series(tmp_path, per_group=2)
    for path in tmp_path.glob("sub-??.tsv"):
        path.unlink()
    with pytest.raises(StudyError) as caught:
        read_study(plan_for(table, tmp_path / "out"))
    assert all(f"sub-0{k}" in str(caught.value) for k in range(1, 5))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="subject"), "no column 'subject'"),
        (lambda frame: frame.drop(columns="diagnosis"), "no column 'diagnosis' for --group"),
        (lambda frame: frame.drop(columns="timeseries"), "'timeseries' .* or 'image'"),
    ],
)
def test_tables_without_their_columns(tmp_path, write, change, said):
    table = write.series(tmp_path, per_group=2)
    change(pd.read_csv(table, sep="\t")).to_csv(table, sep="\t", index=False)
    with pytest.raises(StudyError, match=said):
        read_study(plan_for(table, tmp_path / "out"))


def test_cobre_release(tmp_path, write):
    atlas = write.cobre(tmp_path / "cobre", per_group=2)
    plan = plan_for(tmp_path / "cobre", tmp_path / "out", group="Subject Type", atlas=str(atlas))
    data, problems = read_study(plan)
    assert len(problems) == 0
    assert data.groups == ("Control", "Patient")
    assert data.subjects[0].name == "0040000"
    assert data.subjects[0].further["Current Age"] == "30"
    # An atlas with the labels 1 to 48 is taken for the Harvard-Oxford one.
    assert data.atlas.names == harvard_oxford().names
    assert data.atlas.coordinates.shape == (48, 3)


def test_extraction_gives_back_the_signals(tmp_path, write):
    rng = np.random.default_rng(0)
    atlas = write.cobre(tmp_path / "cobre", per_group=2)
    series = rng.standard_normal((60, 48))
    image = load_atlas(str(atlas), None, 5.0, Problems(), images=True)
    path = tmp_path / "cobre" / "fmri_0040000.nii.gz"
    write.scan(series, image.image, rng).to_filename(path)
    plan = plan_for(
        tmp_path / "cobre",
        tmp_path / "out",
        group="Subject Type",
        atlas=str(atlas),
        cleaning=Cleaning(detrend=False),
    )
    data, _ = read_study(plan)
    expected = (series - series.mean(axis=0)) / series.std(axis=0)
    # Voxel noise of 0.01 units is averaged over twelve voxels.
    np.testing.assert_allclose(data.subjects[0].x, expected, atol=0.03)


def test_series_are_kept_and_made_again_when_the_scan_changes(tmp_path, write, monkeypatch):
    from plaggm.fmri import study_reading as subjects

    atlas = write.cobre(tmp_path / "cobre", per_group=2)
    plan = plan_for(tmp_path / "cobre", tmp_path / "out", group="Subject Type", atlas=str(atlas))
    first, _ = read_study(plan)
    seen = []
    original = subjects.extract_series

    def spy(path, *rest):
        seen.append(path.name)
        return original(path, *rest)

    monkeypatch.setattr(subjects, "extract_series", spy)
    again, _ = read_study(plan)
    assert seen == []
    np.testing.assert_array_equal(first.subjects[0].x, again.subjects[0].x)
    changed = tmp_path / "cobre" / "fmri_0040001.nii.gz"
    changed.write_bytes((tmp_path / "cobre" / "fmri_0040002.nii.gz").read_bytes())
    read_study(plan)
    assert seen == ["fmri_0040001.nii.gz"]


def test_fmriprep_derivatives(tmp_path, write):
    atlas = write.fmriprep(tmp_path / "derivatives", per_group=2)
    data, problems = read_study(
        plan_for(tmp_path / "derivatives", tmp_path / "out", atlas=str(atlas))
    )
    assert len(problems) == 0
    assert [subject.name for subject in data.subjects] == [f"sub-0{k}" for k in range(1, 5)]
    # The same with a table from elsewhere, whose ids lack "sub-".
    elsewhere = tmp_path / "people.csv"
    frame = pd.read_csv(tmp_path / "derivatives" / "participants.tsv", sep="\t")
    frame["participant_id"] = frame["participant_id"].str.removeprefix("sub-")
    frame.to_csv(elsewhere, index=False)
    other, _ = read_study(
        plan_for(
            elsewhere,
            tmp_path / "out",
            fmriprep=tmp_path / "derivatives",
            atlas=str(atlas),
            space="MNI152NLin2009cAsym",
            task="rest",
        )
    )
    np.testing.assert_allclose(other.subjects[3].x, data.subjects[3].x)


def test_denoising_of_scans(tmp_path, write):
    """White matter and CSF are regressed out, so nothing of them is left in the series."""
    atlas = write.fmriprep(tmp_path / "derivatives", per_group=2, regions=6)
    plan = plan_for(tmp_path / "derivatives", tmp_path / "out", atlas=str(atlas))
    data, problems = read_study(plan)
    data = denoise(data, parse_strategy("wm_csf"), problems)
    assert len(problems) == 0
    wave = np.sin(np.arange(60))
    assert max(abs(np.corrcoef(wave, column)[0, 1]) for column in data.subjects[0].x.T) < 1e-3
    with pytest.raises(StudyError, match="--denoise must be one of 24p, simple"):
        parse_strategy("magic")


def test_high_pass_needs_a_repetition_time(tmp_path, write):
    import nibabel as nib

    folder = tmp_path / "cobre"
    atlas = write.cobre(folder, per_group=3, regions=6)
    path = folder / "fmri_0040000.nii.gz"
    image = nib.load(str(path))
    silent = nib.Nifti1Image(np.asarray(image.dataobj), image.affine)
    silent.header["pixdim"][4] = 0.0
    silent.to_filename(path)
    plan = plan_for(
        folder,
        tmp_path / "out",
        group="Subject Type",
        atlas=str(atlas),
        cleaning=Cleaning(high_pass=0.01),
    )
    data, problems = read_study(plan)
    assert "repetition time" in messages(problems)["0040000"]
    assert len(data.subjects) == 5


def test_two_scans_of_a_subject_must_be_told_apart(tmp_path, write):
    atlas = write.fmriprep(tmp_path / "derivatives", per_group=3)
    home = tmp_path / "derivatives" / "sub-01" / "func"
    scan = next(home.glob("*bold.nii.gz"))
    (home / scan.name.replace("task-rest", "task-other")).write_bytes(scan.read_bytes())
    data, problems = read_study(
        plan_for(tmp_path / "derivatives", tmp_path / "out", atlas=str(atlas))
    )
    assert "scans of the tasks other, rest; choose with --task" in messages(problems)["sub-01"]
    assert len(data.subjects) == 5


def test_bad_scans_are_reported_together(tmp_path, write):
    import nibabel as nib

    folder = tmp_path / "cobre"
    atlas = write.cobre(folder, per_group=6)
    whole = nib.load(str(folder / "fmri_0040000.nii.gz"))
    mask = nib.Nifti1Image(np.ones(whole.shape[:3], np.uint8), whole.affine)
    mask.to_filename(tmp_path / "mask.nii.gz")
    values = np.asarray(whole.dataobj)
    moved = whole.affine.copy()
    moved[0, 3] += 4.0
    nib.Nifti1Image(values, moved).to_filename(folder / "fmri_0040000.nii.gz")
    nib.Nifti1Image(values[:-1], whole.affine).to_filename(folder / "fmri_0040001.nii.gz")
    nib.Nifti1Image(values[..., 0], whole.affine).to_filename(folder / "fmri_0040002.nii.gz")
    raw = gzip.decompress((folder / "fmri_0040003.nii.gz").read_bytes())
    (folder / "fmri_0040003.nii.gz").write_bytes(gzip.compress(raw[: len(raw) // 2]))
    (folder / "fmri_0040004.nii.gz").write_bytes(b"not an image")
    (folder / "fmri_0040006.nii.gz").unlink()
    nib.Nifti1Image(values[..., :40], whole.affine).to_filename(folder / "fmri_0040007.nii.gz")
    plan = plan_for(
        folder,
        tmp_path / "out",
        group="Subject Type",
        atlas=str(atlas),
        mask=tmp_path / "mask.nii.gz",
    )
    data, problems = read_study(plan)
    found = {p.subject: p for p in problems}
    assert "another affine than the mask" in found["0040000"].message
    assert "the mask (12, 16, 8)" in found["0040001"].message
    assert "not a 4-D image" in found["0040002"].message
    assert "cannot be read" in found["0040003"].message
    assert "cannot be read" in found["0040004"].message
    assert "does not exist" in found["0040006"].message
    every = [p.message for p in problems if p.subject == "0040007"]
    assert any("40 volumes but 48 regions" in message for message in every)
    assert any("60 rows, but the series has 40" in message for message in every)
    # The last of the controls stands alone once the others are gone, which no file is to blame for.
    assert "only usable subject" in found["0040005"].message
    assert all("fmri_" in problem.file for problem in problems if problem.subject != "0040005")
    assert {subject.name for subject in data.subjects} == {f"00400{k:02d}" for k in range(8, 12)}


def test_atlas_regions_without_voxels(tmp_path, write):
    import nibabel as nib

    folder = tmp_path / "cobre"
    atlas = write.cobre(folder, per_group=2)
    labels = tmp_path / "labels.csv"
    pd.DataFrame(
        {"label": [*range(1, 48), 77], "name": [f"area {k}" for k in [*range(1, 48), 77]]}
    ).to_csv(labels, index=False)
    mask = np.ones((12, 16, 8), np.uint8)
    image = nib.load(str(atlas))
    plan = plan_for(folder, tmp_path / "out", group="Subject Type", atlas=str(atlas), labels=labels)
    data, problems = read_study(plan)
    said = [problem.message for problem in problems]
    assert any("no voxel of the region(s) area 77 (77)" in message for message in said)
    assert any("does not name the label(s) 48" in message for message in said)
    assert data.atlas.names[-2:] == ("area 47", "region 48")
    # A mask that covers a region leaves nobody with that region.
    mask[np.asarray(image.dataobj) == 5] = 0
    nib.Nifti1Image(mask, image.affine).to_filename(tmp_path / "mask.nii.gz")
    with pytest.raises(StudyError, match="no voxel of the atlas region\\(s\\) area 5"):
        read_study(
            plan_for(
                folder,
                tmp_path / "other",
                group="Subject Type",
                atlas=str(atlas),
                labels=labels,
                mask=tmp_path / "mask.nii.gz",
            )
        )


def test_spheres(tmp_path, write):
    import nibabel as nib

    folder = tmp_path / "cobre"
    atlas = write.cobre(folder, per_group=2, regions=4)
    image = nib.load(str(atlas))
    centres = []
    for k in range(1, 5):
        voxel = np.argwhere(np.asarray(image.dataobj) == k).mean(axis=0)
        centres.append(nib.affines.apply_affine(image.affine, voxel))
    table = tmp_path / "spheres.csv"
    frame = pd.DataFrame(np.round(centres, 1), columns=list("xyz"))
    frame.assign(name=list("abcd")).to_csv(table, index=False)
    data, problems = read_study(
        plan_for(folder, tmp_path / "out", group="Subject Type", atlas=str(table))
    )
    assert len(problems) == 0
    assert data.atlas.names == ("a", "b", "c", "d")
    frame.assign(name=list("abcd"), x=500.0).to_csv(table, index=False)
    with pytest.raises(StudyError, match="no voxel of the atlas region\\(s\\) a, b"):
        read_study(plan_for(folder, tmp_path / "out", group="Subject Type", atlas=str(table)))


@pytest.mark.parametrize("atlas", ["nowhere.nii.gz", "nowhere.csv", "brodmann"])
def test_unusable_atlases(tmp_path, write, atlas):
    table = write.series(tmp_path, per_group=2)
    with pytest.raises(StudyError, match=r"(?i)atlas|coordinates"):
        read_study(plan_for(table, tmp_path / "out", atlas=atlas))


def test_a_problem_takes_one_line_whatever_the_names():
    problems = Problems()
    problems.add("sub\n01", "a\nb.tsv", "has 3 rows.")
    assert str(problems).splitlines() == ["1 problem:", "  sub 01 [a b.tsv]: has 3 rows."]
