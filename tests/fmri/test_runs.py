"""Several scans of a subject: runs that are read, levelled, filtered and summed each by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plaggm.estimators import PLAGGM
from plaggm.fmri import Problems, StudyData, StudyError, StudyPlan, Subject, read_study
from plaggm.fmri.atlas import name_regions
from plaggm.fmri.levels import confounder_sizes, learn_levels
from plaggm.fmri.participants import participants_from_frame
from plaggm.fmri.pooled_networks import fit_group, volume_series
from plaggm.fmri.subjects import standardised
from plaggm.fmri.treatments import make_treatment

P, N, S = 4, 50, 8


def subjects_with_runs(seed: int = 0, offset: float = 0.0) -> list[Subject]:
    """Subjects with two runs each, whose second has other offsets and units of the regions."""
    draw = np.random.default_rng(seed)
    people = []
    for k in range(S):
        runs, moved = [], []
        for run in range(2):
            g = draw.gamma(1.0, 0.2, N)
            noise = draw.standard_normal((N, P))
            noise[:, 1] += 0.7 * noise[:, 0]
            for t in range(1, N):
                noise[t] += 0.5 * noise[t - 1]
            series = noise + g[:, None] + run * offset
            runs.append(standardised(series))
            moved.append(g)
        g = np.concatenate(moved)
        people.append(
            Subject(
                f"s{k}",
                "ab"[k % 2],
                np.concatenate(runs),
                g[:, None],
                g,
                runs=np.repeat([0, 1], N),
            )
        )
    return people


@pytest.fixture(scope="module")
def people() -> list[Subject]:
    return subjects_with_runs()


def halves(subject: Subject) -> list[Subject]:
    """The runs of a subject, as if they were two people."""
    return [replace(run, name=f"{subject.name}{k}") for k, run in enumerate(subject.by_run())]


@pytest.mark.parametrize("method", ["pla", "lr", "scrub", "raw"])
def test_sums_of_a_subject_are_those_of_its_runs(people, method):
    """What is learnt is that of runs as scans of their own, and the Gram matrices add over runs."""
    estimator = PLAGGM(threshold=0.1, reference="zero", temporal=1, n_jobs=1)
    treatment = make_treatment(method, estimator, ("fd",), scrub=0.5)
    together = treatment.learn(people)
    apart = treatment.learn([run for subject in people for run in halves(subject)])
    for subject in people[:2]:
        whole = together.problem(subject)
        parts = [apart.problem(run) for run in halves(subject)]
        assert whole.n == sum(part.n for part in parts)
        if method == "pla":
            # Weights have mean one within a subject, not within a run.
            series = np.concatenate([part.columns for part in parts])
            np.testing.assert_allclose(whole.columns, series, atol=1e-8)
            continue
        total = sum(part.n * part.grams().grams for part in parts)
        np.testing.assert_allclose(whole.n * whole.grams().grams, total, atol=1e-7)


def test_filter_begins_anew_with_every_run(people):
    """Volumes before the boundary do not change those after it."""
    treatment = make_treatment("raw", PLAGGM(temporal=2, n_jobs=1), ("fd",))
    learnt = treatment.learn(people)
    subject = people[0]
    x = subject.x.copy()
    x[:N] *= -3.0
    before, after = (learnt.problem(one).columns[N:] for one in (subject, replace(subject, x=x)))
    np.testing.assert_array_equal(before, after)
    # With the runs taken as one series the first of them is seen.
    joined = [
        learnt.problem(replace(subject, runs=None, x=one)).columns[N:] for one in (subject.x, x)
    ]
    assert np.abs(joined[0] - joined[1]).max() > 0.1


def test_levels_of_every_run(people):
    """A run in other units and with other offsets is levelled as before."""
    levels = learn_levels(people, confounder_sizes(people))
    subject = people[0]
    x = subject.x.copy()
    x[N:] = 2.5 * x[N:] + 4.0
    np.testing.assert_allclose(
        levels.levelled(replace(subject, x=x)), levels.levelled(subject), atol=1e-9
    )


def test_pooled_runs_and_groups(people):
    """The pooled network has a run for each scan and a cluster for each subject."""
    np.testing.assert_array_equal(volume_series(people[:2]), np.repeat(np.arange(4), N))
    data = StudyData(tuple(people), name_regions(P, None, None), ("fd",))
    settings = dict(criterion="bic", scrub=0.5, label="a")
    estimator = PLAGGM(threshold=0.1, reference="zero", temporal=1, n_jobs=1)
    found = fit_group("pla", data, people, estimator=estimator, **settings)
    assert found.diagnostics["n_subjects"] == S
    cut = [replace(subject, runs=None) for subject in people]
    other = fit_group("pla", data, cut, estimator=estimator, **settings)
    assert not np.allclose(found.omega, other.omega, atol=1e-10)


def test_filters_of_groups_do_not_bridge_dropped_volumes(people):
    """Stretches without dropped volumes are series of their own in pooled fits, too."""
    whole, broken = (replace(subject, runs=None) for subject in people[:2])
    stretches = np.repeat([0, 1, 2], [N, N // 2, N - N // 2])
    found = volume_series([whole, replace(broken, segments=stretches)])
    np.testing.assert_array_equal(found[: 2 * N], 0)
    np.testing.assert_array_equal(found[2 * N :], 1 + stretches)
    data = StudyData(tuple(people), name_regions(P, None, None), ("fd",))
    estimator = PLAGGM(threshold=0.1, reference="zero", temporal=1, n_jobs=1)
    settings = dict(criterion="bic", scrub=0.5, label="a", estimator=estimator)
    cut = [replace(one, runs=None, segments=stretches) for one in people]
    halves = [replace(one, runs=stretches) for one in people]
    # "raw" has no offsets of runs, so that only the filter tells stretches from one long series.
    raw, bridged, parted = (
        fit_group("raw", data, own, **settings).omega
        for own in (cut, [replace(s, segments=None) for s in cut], halves)
    )
    np.testing.assert_allclose(raw, parted, atol=1e-12)
    assert not np.allclose(raw, bridged, atol=1e-10)


def frame(**columns: list[str]) -> pd.DataFrame:
    count = len(next(iter(columns.values())))
    files = {"timeseries": [f"{k}.tsv" for k in range(count)], "group": ["a"] * count}
    return pd.DataFrame({**files, **columns})


def test_lines_of_a_subject_are_runs():
    table = frame(
        subject=["s1", "s1", "s2"],
        session_id=["ses-1", "ses-2", "ses-1"],
        age=["30", "32", "40"],
        site=["Lund", "Oslo", "Oslo"],
    )
    problems = Problems()
    first, second = participants_from_frame(table, Path("t.tsv"), "group", problems)
    assert not len(problems)
    assert [scan.label for scan in first.scans] == ["ses-1", "ses-2"]
    # Numbers in which sessions differ are averaged; text in which they differ is not theirs.
    assert first.further == {"age": "31"}
    assert second.further == {"session_id": "ses-1", "age": "40", "site": "Oslo"}
    (only,) = participants_from_frame(
        table, Path("t.tsv"), "group", problems, choose={"session": "2"}
    )
    assert len(only.scans) == 1
    with pytest.raises(StudyError, match=r"no line of the session '3'.*sessions are 1, 2"):
        participants_from_frame(table, Path("t.tsv"), "group", problems, choose={"session": "3"})
    with pytest.raises(StudyError, match="no column 'task' for --task"):
        participants_from_frame(table, Path("t.tsv"), "group", problems, choose={"task": "x"})


@pytest.mark.parametrize(
    ("columns", "kept", "words"),
    [
        (
            {"subject": ["s1", "s1"], "timeseries": ["a.tsv"] * 2},
            {"s1": 1},
            "same scan in the lines 2",
        ),
        ({"subject": ["s1", "s2"], "timeseries": ["a.tsv"] * 2}, {}, "same scan as s2"),
        ({"subject": ["s1", "s1"], "run": ["1", "1"]}, {}, "2 lines for run-1"),
        ({"subject": ["s1", "s1"], "group": ["a", "b"]}, {}, "is in the groups a, b"),
    ],
)
def test_lines_that_cannot_be_runs(columns, kept, words):
    problems = Problems()
    people = participants_from_frame(frame(**columns), Path("t.tsv"), "group", problems)
    assert {person.subject: len(person.scans) for person in people} == kept
    assert words in str(problems)


def test_runs_from_files(tmp_path, write):
    """Two subjects become runs of others; a broken run is left out, its subject is not."""
    table = write.series(tmp_path, per_group=5)
    lines = pd.read_csv(table, sep="\t", dtype=str)
    lines.loc[1, "subject"], lines.loc[6, "subject"] = "sub-01", "sub-06"
    lines["run"] = "1"
    lines.loc[[1, 6], "run"] = "2"
    lines.to_csv(table, sep="\t", index=False)
    (tmp_path / "sub-07.tsv").write_text("area 0\n")
    plan = StudyPlan(table, "diagnosis", ("fd",), tmp_path / "out", n_jobs=1)
    data, problems = read_study(plan)
    assert len(data.subjects) == 8
    first, sixth = data.subjects[0], data.subjects[4]
    assert first.x.shape == (120, 6)
    np.testing.assert_array_equal(first.runs, np.repeat([0, 1], 60))
    for run in first.by_run():
        np.testing.assert_allclose(run.x.std(axis=0), 1.0)
    assert sixth.runs is None
    (problem,) = problems
    assert problem.subject == "sub-06"
    assert problem.message.endswith("This run is left out.")
    assert list(data.to_frame()["runs"][:2]) == [2, 1]
    scans = data.scans_frame()
    assert len(scans) == 9
    assert list(scans["run"][:3]) == ["1", "2", "1"]
    assert scans["mean_framewise_displacement"][0] != scans["mean_framewise_displacement"][1]
