"""Artefacts added to clean series, fingerprints, and the experiment that compares ways to remove them."""

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm.cli.group import commands
from plaggm.fmri.artefacts import HARMLESS, after_effects, draw_artefacts
from plaggm.fmri.contaminated import contaminate, halves, read_clean_series, simulated_series
from plaggm.fmri.fingerprints import identification, intraclass_correlation
from plaggm.fmri.problems import StudyError
from plaggm.fmri.semisynthetic import simulated_motion
from plaggm.reproduce import benchmark_motion

SMALL = dict(people=10, volumes=90, regions=6)


def test_artefacts_are_where_motion_is():
    rng = np.random.default_rng(0)
    artefacts = draw_artefacts(5, 30.0 * rng.standard_normal((5, 3)), rng)
    moved = np.zeros(60)
    moved[20] = 2.0
    added = artefacts.added(moved, None, rng)
    assert not added[:20].any()
    assert np.abs(added[20]).max() > np.abs(added[26:]).max()
    assert not artefacts.added(np.full(60, HARMLESS), None, rng).any()
    assert after_effects(moved)[21] == pytest.approx(0.5 * (2.0 - HARMLESS))


def test_neighbours_have_artefacts_in_common():
    rng = np.random.default_rng(1)
    places = np.array([[0.0, 0, 0], [5.0, 0, 0], [120.0, 0, 0]])
    patterns = np.vstack([draw_artefacts(3, places, rng).patterns[1:] for _ in range(200)])
    likeness = np.corrcoef(patterns.T)
    assert likeness[0, 1] > 0.9 > 0.2 > abs(likeness[0, 2])


def test_everybody_keeps_a_network_and_gets_motion():
    motion = simulated_motion(8, seed=0, volumes=80)
    study = contaminate(simulated_series(**SMALL, seed=1), motion, seed=2)
    assert len(study.clean.subjects) == len(study.moved.subjects) == 10
    assert study.moved.confounder_names[-1] == "framewise_displacement"
    for clean, moved in zip(study.clean.subjects, study.moved.subjects, strict=True):
        assert len(clean.x) == 80
        # The more a person moves, the less is left of the clean series.
        assert np.corrcoef(clean.x.ravel(), moved.x.ravel())[0, 1] < 1.0
        one, other = halves(moved)
        assert len(one.x) == len(other.x) == 40
        assert one.name == moved.name
    again = contaminate(simulated_series(**SMALL, seed=1), motion, seed=2)
    np.testing.assert_array_equal(again.moved.subjects[3].x, study.moved.subjects[3].x)


def test_fingerprints_by_hand():
    first = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    second = first[[0, 2, 1]]
    assert identification(first, second) == pytest.approx(1 / 3)
    assert identification(first, first) == 1.0
    rng = np.random.default_rng(2)
    own, noise = rng.standard_normal((2000, 1)), rng.standard_normal((2, 2000, 1))
    # A third of the variance is the person's.
    found = intraclass_correlation(own + np.sqrt(2) * noise[0], own + np.sqrt(2) * noise[1])
    assert found == pytest.approx(1 / 3, abs=0.06)
    assert intraclass_correlation(np.ones((4, 2)), np.ones((4, 2))) == 0.0


def test_centred_identification_is_blind_to_what_all_have_in_common():
    rng = np.random.default_rng(3)
    own, common = rng.standard_normal((12, 60)), 30.0 * rng.standard_normal(60)
    size = np.linspace(0.5, 2.0, 12)[:, None]
    found = [
        identification(common * size + own, common * size[::-1] + own, centred=centred)
        for centred in (False, True)
    ]
    assert found[0] < 1.0
    assert identification(common + own, common + own + 0.1, centred=True) == 1.0


class TestSeriesOfOnesOwn:
    def test_a_folder_and_an_archive(self, tmp_path):
        rng = np.random.default_rng(4)
        series = rng.standard_normal((3, 40, 4))
        for k, one in enumerate(series):
            np.save(tmp_path / f"sub-{k}.npy", one)
        np.savez(tmp_path / "all.npz", series=series, coordinates=rng.standard_normal((4, 3)))
        folder, archive = read_clean_series(tmp_path), read_clean_series(tmp_path / "all.npz")
        np.testing.assert_array_equal(folder.series, archive.series)
        assert folder.names == ("sub-0", "sub-1", "sub-2")
        assert archive.atlas.coordinates.shape == (4, 3)

    def test_what_cannot_be_used(self, tmp_path):
        with pytest.raises(StudyError, match="has no series"):
            read_clean_series(tmp_path)
        np.savez(tmp_path / "flat.npz", series=np.zeros((3, 4)))
        with pytest.raises(StudyError, match="for each person, volume and region"):
            read_clean_series(tmp_path / "flat.npz")
        rng = np.random.default_rng(5)
        np.save(tmp_path / "a.npy", rng.standard_normal((30, 3)))
        np.save(tmp_path / "b.npy", rng.standard_normal((30, 4)))
        with pytest.raises(StudyError, match="different numbers of regions"):
            read_clean_series(tmp_path)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(benchmark_motion, "QUICK_PEOPLE", 10)
    monkeypatch.setattr(benchmark_motion, "QUICK_REGIONS", 5)
    monkeypatch.setattr(benchmark_motion, "REPEATS", 1)
    everybody = benchmark_motion.contenders(True)
    assert len(everybody) == 10
    some = [one for one in everybody if one.name in ("raw", "pla", "edges", "24p-ledoit-wolf")]
    monkeypatch.setattr(benchmark_motion, "contenders", lambda parameters: some)


@pytest.mark.pictures
def test_the_experiment_compares_all_ways(tiny, tmp_path, monkeypatch):
    out = tmp_path / "out"
    arguments = ["reproduce", "benchmark-motion", "--quick", "--output", str(out)]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    assert "Agreement with the clean network" in result.output
    table = pd.read_csv(out / "benchmark.csv")
    assert len(table) == 4
    assert table["agreement"].between(-1, 1).all()
    assert table[["qc_fc", "leak", "identification"]].stack().between(0, 1).all()
    assert (out / "benchmark.png").is_file()
    assert "PLA-GGM, displacement" in (out / "report.html").read_text()
    page = (out / "benchmark-motion.md").read_text()
    assert "](benchmark.png)" in page
    made = "Made by `plaggm reproduce benchmark-motion --seed 0 --quick` with plaggm"
    assert re.search(made + r" .*, settings [0-9a-f]{10}, on simulated", page)
    # What is finished is taken from there.
    monkeypatch.setattr(benchmark_motion, "judge", None)
    again = CliRunner().invoke(commands, arguments)
    assert again.exit_code == 0, again.output
    pd.testing.assert_frame_equal(pd.read_csv(out / "benchmark.csv"), table)


def test_too_few_people_end_with_the_reasons(tmp_path):
    np.savez(tmp_path / "three.npz", series=np.random.default_rng(0).random((3, 60, 4)))
    arguments = ["reproduce", "benchmark-motion", "--quick"]
    arguments += ["--series", str(tmp_path / "three.npz"), "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 2, result.output
    assert "No method can be judged on these people. no adjustment: 3 of 3" in result.output


def test_conclusion_without_numbers():
    methods = ["PLA-GGM, displacement", "no adjustment"]
    table = pd.DataFrame({"method": methods, "agreement": [0.9, 0.8], "qc_fc": [0.05, 0.1]})
    assert benchmark_motion.conclusion(table).endswith("correlate with motion 5.0% and 10.0%.")
    still = benchmark_motion.conclusion(table.assign(qc_fc=np.nan))
    assert still.endswith("edges that correlate with motion could not be counted.")
    assert "say" in benchmark_motion.conclusion(table.assign(agreement=[np.nan, 0.8]))


def test_missing_files_are_named(tmp_path):
    result = CliRunner().invoke(
        commands,
        [
            *("reproduce", "benchmark-motion", "--series", str(tmp_path / "none.npz")),
            *("--output", str(tmp_path / "out")),
        ],
    )
    assert result.exit_code == 2
    assert "none.npz" in result.output
