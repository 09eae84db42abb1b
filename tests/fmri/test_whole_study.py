"""A study from its table to its files: interrupted and resumed, and parts of it that cannot be done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from plaggm.fmri import (
    Problems,
    StudyError,
    StudyPlan,
    StudyResult,
    analyse,
    read_study,
    save_tables,
    study_motion,
    study_networks,
)
from plaggm.fmri import study as study_module
from plaggm.report.study import write_study_report

pytestmark = pytest.mark.usefixtures("quick_diagnosis")


class Interrupted(Exception):
    """What a user does."""


@pytest.fixture(scope="module")
def plan(write, tmp_path_factory: pytest.TempPathFactory) -> StudyPlan:
    table = write.series(tmp_path_factory.mktemp("data"), per_group=5, regions=5, volumes=50)
    return StudyPlan(
        table,
        "diagnosis",
        ("fd",),
        output=Path(),
        methods=("lr", "raw"),
        criterion="bic",
        permutations=20,
        repeats=1,
        label_permutations=8,
        n_jobs=2,
    )


def run(plan: StudyPlan, output: Path, stop: tuple[str, int] | None = None) -> StudyResult:
    """Run a study in threads, up to a step of its progress if one is given."""

    def progress(title: str, done: int, total: int) -> None:
        if stop is not None and stop[0] in title and done >= stop[1]:
            raise Interrupted

    plan = replace(plan, output=output)
    with joblib.parallel_config("threading"):
        data, problems = read_study(plan)
        result = analyse(plan, data, problems, progress)
    save_tables(plan, result)
    return result


def files(folder: Path) -> dict[str, bytes]:
    """Everything a study wrote but its store."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "cache" not in path.parts
    }


@pytest.fixture(scope="module")
def whole(plan: StudyPlan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    run(plan, folder)
    return files(folder)


# joblib says how many pieces of work it drops.
@pytest.mark.filterwarnings("ignore:.*tasks:UserWarning")
@pytest.mark.parametrize(
    "stop", [("pooled", 2), ("subjects", 3), ("inside folds", 2), ("permutations", 0)]
)
def test_resumed_equals_uninterrupted(plan, whole, tmp_path, stop):
    with pytest.raises(Interrupted):
        run(plan, tmp_path, stop)
    assert not (tmp_path / "diagnosis.csv").exists()
    run(plan, tmp_path)
    assert "diagnosis.csv" in whole
    assert files(tmp_path) == whole


def test_number_of_workers_changes_nothing(plan, whole, tmp_path):
    run(replace(plan, n_jobs=1), tmp_path)
    assert files(tmp_path) == whole


def test_compared_edges_have_the_sizes_of_pooled_networks(plan, whole, tmp_path):
    """Subjects' networks are drawn towards each other, so their difference is no size of an effect."""
    for name in (
        "edges_compared-lr.csv",
        *(f"groups/lr-{g}/pairs.csv" for g in ("control", "patient")),
    ):
        (tmp_path / Path(name).parent).mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(whole[name])
    edges = pd.read_csv(tmp_path / "edges_compared-lr.csv").set_index(["source", "target"])
    for group in ("control", "patient"):
        pooled = pd.read_csv(tmp_path / f"groups/lr-{group}/pairs.csv")
        pooled = pooled.set_index(["source", "target"])["estimate"]
        np.testing.assert_allclose(edges[f"estimate {group}"], pooled[edges.index], atol=1e-12)


def noted(problems: Problems) -> list[str]:
    return [problem.message for problem in problems if problem.subject == "(study)"]


@pytest.mark.pictures
def test_three_groups_are_compared_and_not_told_apart(plan, tmp_path):
    table = pd.read_csv(plan.participants, sep="\t")
    table.loc[::3, "diagnosis"] = "relative"
    path = plan.participants.with_name("three.tsv")
    table.to_csv(path, sep="\t", index=False)
    plan = replace(plan, participants=path)
    result = run(plan, tmp_path)
    assert not result.comparisons
    assert set(result.omnibus) == {"lr", "raw"}
    assert len(result.omnibus["lr"].pairs) == 3
    edges = pd.read_csv(tmp_path / "edges_compared-lr.csv")
    assert "patient - control" in edges
    assert {"estimate control", "estimate patient", "estimate relative"} <= set(edges)
    assert not result.diagnoses
    (message,) = noted(result.problems)
    assert message == (
        "There is no diagnosis, which tells two groups apart: there are 3 (control, patient, relative). "
        "Keep two of them in the table for one."
    )
    page = write_study_report(replace(plan, output=tmp_path), result).read_text()
    assert "relative minus patient: " in page
    assert "There is no diagnosis. The section on problems says why." in page
    assert result.missing(plan) == ("diagnosis",)
    assert "Missing: diagnosis. The section on problems says why." in page


def test_one_group_is_said_not_to_be_compared(plan, tmp_path):
    table = pd.read_csv(plan.participants, sep="\t").assign(diagnosis="everybody")
    path = plan.participants.with_name("one.tsv")
    table.to_csv(path, sep="\t", index=False)
    plan = replace(plan, participants=path, methods=("raw",))
    result = run(plan, tmp_path)
    compared, diagnosis = noted(result.problems)
    assert compared == "no adjustment: the groups are not compared, since there is one group."
    assert diagnosis.startswith("There is no diagnosis")
    page = write_study_report(replace(plan, output=tmp_path), result).read_text()
    assert "The groups were not compared (no adjustment)" in page


@pytest.mark.pictures
@pytest.mark.parametrize("lost", [("patient",), ("control", "patient")])
def test_a_method_that_cannot_pool_a_group_does_not_end_the_study(
    plan, tmp_path, monkeypatch, lost
):
    original = study_networks.fit_group

    def refuse(method, *rest, label, **options):
        if method == "lr" and label in lost:
            raise ValueError("Nothing is left.")
        return original(method, *rest, label=label, **options)

    monkeypatch.setattr(study_networks, "fit_group", refuse)
    result = run(plan, tmp_path)
    assert set(result.comparisons) == {"lr", "raw"}
    assert noted(result.problems) == [
        f"LR-GGM: there is no pooled network of the group {group!r}. Nothing is left."
        for group in lost
    ]
    assert result.missing(plan) == ("pooled networks by LR-GGM",)
    edges = pd.read_csv(tmp_path / "edges_compared-lr.csv")
    assert ("estimate control" in edges) is ("control" not in lost)
    assert "estimate patient" not in edges
    page = write_study_report(replace(plan, output=tmp_path), result).read_text()
    assert "Missing: pooled networks by LR-GGM. The section on problems says why." in page
    if len(lost) == len(result.data.groups):
        with pytest.raises(StudyError, match=r"No method can fit any group\."):
            run(replace(plan, methods=("lr",)), tmp_path)


@pytest.mark.pictures
def test_a_method_whose_subjects_cannot_be_fitted_does_not_end_the_study(
    plan, tmp_path, monkeypatch
):
    original = study_networks.learn_shared

    def refuse(treatment, *rest):
        if treatment.name in refused:
            raise ValueError("Nothing is left.")
        return original(treatment, *rest)

    monkeypatch.setattr(study_networks, "learn_shared", refuse)
    refused = ["lr"]
    result = run(plan, tmp_path)
    assert set(result.networks) == set(result.comparisons) == {"raw"}
    assert (
        noted(result.problems)[0] == "LR-GGM: there are no networks of subjects. Nothing is left."
    )
    parts = ("comparison of the groups", "diagnosis", "residual motion")
    assert result.missing(plan) == tuple(f"{part} by LR-GGM" for part in parts)
    page = write_study_report(replace(plan, output=tmp_path), result).read_text()
    assert "Missing: comparison of the groups by LR-GGM" in page
    assert "The groups were not compared (LR-GGM); the section on problems says why." in page
    refused.append("raw")
    with pytest.raises(StudyError, match=r"No method can fit the subjects\."):
        run(plan, tmp_path / "again")


def test_what_is_left_out_is_said_and_earlier_tables_go(plan, tmp_path, monkeypatch):
    """One patient by one method, and motion that cannot be measured: three notes, no stale table."""
    run(plan, tmp_path)
    assert {"diagnosis.csv", "edges_compared-lr.csv", "residual_motion.csv"} <= set(files(tmp_path))
    original = study_module.fit_networks

    def lose_patients(*arguments, **options):
        networks, groups = original(*arguments, **options)
        lr = networks["lr"]
        criterion = lr.criterion.copy()
        criterion[6:] = np.nan
        return {**networks, "lr": replace(lr, criterion=criterion)}, groups

    monkeypatch.setattr(study_module, "fit_networks", lose_patients)
    monkeypatch.setattr(study_motion, "residual_motion", lambda *rest, **how: None)
    result = run(plan, tmp_path)
    assert set(result.comparisons) == {"raw"}
    lost = ("comparison of the groups by LR-GGM", "diagnosis by LR-GGM", "residual motion")
    assert result.missing(plan) == lost
    # Its people are not missing among those of the other method.
    assert {one.method for one in result.diagnoses} == {"raw"}
    compared, motion, diagnosis = noted(result.problems)
    assert compared == (
        "LR-GGM: the groups are not compared, since 1 of 5 subjects of the group 'patient' could be "
        "fitted and two are needed."
    )
    assert "LR-GGM, no adjustment is not measured" in motion
    assert diagnosis == (
        "LR-GGM: there is no diagnosis, since 1 of 5 subjects of the group 'patient' could be fitted and 3 "
        "are needed."
    )
    left = set(files(tmp_path))
    assert "edges_compared-raw.csv" in left
    assert "LR-GGM" not in (tmp_path / "diagnosis.csv").read_text()
    assert not left & {"edges_compared-lr.csv", "residual_motion.csv"}
    assert "are not compared" in (tmp_path / "problems.csv").read_text()


def test_a_diagnosis_that_fails_is_said(plan, tmp_path, monkeypatch):
    original = study_module.diagnose

    def fail(treatment, *arguments, **options):
        if treatment.name == "lr":
            raise np.linalg.LinAlgError("Singular.")
        return original(treatment, *arguments, **options)

    monkeypatch.setattr(study_module, "diagnose", fail)
    result = run(plan, tmp_path)
    assert {one.method for one in result.diagnoses} == {"raw"}
    assert noted(result.problems) == ["LR-GGM: there is no diagnosis. Singular."]


def test_unknown_displacement_is_said(plan, tmp_path, monkeypatch):
    original = study_module.fit_networks

    def forget(methods, data, **options):
        found = original(methods, data, **options)
        object.__setattr__(
            data, "subjects", (replace(data.subjects[0], displacement=None), *data.subjects[1:])
        )
        return found

    monkeypatch.setattr(study_module, "fit_networks", forget)
    result = run(plan, tmp_path)
    assert result.motion_alone is None
    assert noted(result.problems) == [
        "Mean framewise displacement alone is not tried as a diagnosis: it is unknown for 1 of 10 "
        "subjects."
    ]


def test_covariates_from_table_to_files(plan, whole, tmp_path):
    """Age and site from the participants table change comparison and diagnosis, and are told."""
    table = pd.read_csv(plan.participants, sep="\t")
    table["age"] = np.arange(20, 20 + len(table))
    table["site"] = ["Lund", "Oslo"] * (len(table) // 2)
    path = plan.participants.with_name("covariates.tsv")
    table.to_csv(path, sep="\t", index=False)
    plan = replace(plan, participants=path, methods=("pla", "lr"), covariates=("age", "site"))
    result = run(plan, tmp_path)
    assert result.covariates == ("age", "site")
    for group in result.data.groups:
        assert result.groups["pla", group].references["age"] == "average"
    assert b'"covariates"' in (tmp_path / "study.json").read_bytes()
    assert len(result.diagnoses) == 4
    for name in ("edges-lr.csv", "diagnosis.csv"):
        known = [key for key in whole if key.endswith(name)]
        assert all(files(tmp_path)[key] != whole[key] for key in known)
