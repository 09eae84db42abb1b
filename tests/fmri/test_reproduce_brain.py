"""``plaggm reproduce connectivity`` and ``diagnosis`` on very small studies."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm import read_result, resume
from plaggm.cli.group import commands
from plaggm.cli.reproduce_brain import FIRST_SEED
from plaggm.cli.reproduce_brain import SCENARIOS as COMMAND_SCENARIOS
from plaggm.fmri import study, study_networks
from plaggm.fmri.confounds import FD, confounder_columns, power_displacement
from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
from plaggm.plotting import brain
from plaggm.reproduce import connectivity, diagnosis, diagnosis_study, indicators
from plaggm.reproduce.diagnosis_study import EXCHANGED, VARIANTS
from plaggm.resume import Store

pytestmark = pytest.mark.usefixtures("quick_diagnosis")


@pytest.fixture
def tiny(monkeypatch):
    """Few people and regions; and matrices for brains, whose drawing is slow and tested elsewhere."""
    monkeypatch.setattr(
        brain,
        "glass_brains",
        lambda path, networks, atlas, **more: brain.matrices(path, networks, **more),
    )
    monkeypatch.setattr(brain, "interactive_view", lambda *rest: "")
    for module in (connectivity, diagnosis):
        monkeypatch.setattr(module, "semisynthetic_study", partial(semisynthetic_study, regions=8))
    monkeypatch.setattr(connectivity, "simulated_motion", partial(simulated_motion, volumes=80))
    monkeypatch.setattr(connectivity, "QUICK_PER_GROUP", 3)
    monkeypatch.setattr(diagnosis, "QUICK_PER_GROUP", 4)
    monkeypatch.setattr(diagnosis, "QUICK_PERMUTATIONS", 3)


def test_the_command_knows_all_scenarios():
    assert tuple(diagnosis.SCENARIOS) == COMMAND_SCENARIOS
    assert set(diagnosis.WORDS) == {*diagnosis.SCENARIOS, "cobre"}


@pytest.mark.parametrize("name", ["connectivity", "diagnosis"])
def test_default_seeds_are_those_of_the_published_pages(name):
    page = Path(__file__).parents[2] / "docs" / "replication" / name / f"{name}.md"
    command = commands.get_command(None, "reproduce").get_command(None, name)
    (seed,) = [option.default for option in command.params if option.name == "seed"]
    assert re.search(rf"Made by `plaggm reproduce {name} --seed {seed}\b", page.read_text())
    assert seed == FIRST_SEED == connectivity.FIRST_SEED


def test_indicators_are_the_supplements():
    data, _ = semisynthetic_study(simulated_motion(2, seed=0), seed=0, regions=5)
    largest = max(subject.confounder.max() for subject in data.subjects)
    # The paper: k = 100 is g* = 0.578.
    first = indicators.indicator_treatment(100, data).estimator
    assert first.threshold == pytest.approx(0.578 * largest, rel=1e-3)
    assert (first.smoother, first.indicator) == ("kernel", "soft")
    assert indicators.indicator_treatment(100, data, "mm").estimator.threshold == pytest.approx(
        0.578, rel=1e-3
    )


@pytest.mark.pictures
def test_indicators_by_scale_and_criterion(tmp_path, monkeypatch):
    data, _ = semisynthetic_study(
        simulated_motion(4, seed=0, volumes=60), seed=0, regions=5, difference=0.5
    )
    settings = dict(store=Store(tmp_path / "cache"), indicators=(100,), jobs=1)
    table = indicators.indicator_sensitivity(data, **settings)
    assert len(table) == len(indicators.SCALES) * len(indicators.CRITERIA)
    assert table["auc"].between(0, 1).all()
    means = table.groupby("scale").mean(numeric_only=True)
    # A small g* makes nearly every volume a confounded one, of whose regressors nothing is left.
    part, mm = (means.loc[scale] for scale in indicators.SCALES)
    assert mm["volumes_beyond"] > part["volumes_beyond"]
    assert mm["regressors_left"] < part["regressors_left"]
    # Charging for the smoother can only make networks smaller.
    edges = table.pivot_table(index=["scale", "k"], columns="criterion", values="median_edges")
    assert (edges["AIC of the edges"] >= edges["AIC of edges and smoother"]).all()
    # All subjects come from the store the second time.
    monkeypatch.setattr(indicators, "subject_choices", None)
    monkeypatch.setattr(
        indicators, "classify", lambda *rest, **more: SimpleNamespace(auc=0.0, low=0.0, high=0.0)
    )
    again = indicators.indicator_sensitivity(data, **settings)
    assert again["median_edges"].tolist() == table["median_edges"].tolist()
    section = indicators.sensitivity_section(tmp_path, table)
    assert (tmp_path / "sensitivity.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(tmp_path / "sensitivity.csv")) == len(table)
    assert "g* = 0.578" in section.words[0]
    assert "here it is framewise displacement, as a part of the largest" in section.words[0]
    seven = indicators.sensitivity_section(tmp_path, table, confounder_columns(("motion7",)))
    assert "here it is the norm of trans x, " in seven.words[0]
    assert "(g* = 0.578 of it); or framewise displacement alone, in mill" in seven.words[0]
    assert seven.words[2].startswith("With g as a part of the largest ")
    assert seven.words[3].startswith("With g in mm ")


def test_only_displacement_has_a_scale_in_millimetres() -> None:
    data, _ = semisynthetic_study(
        simulated_motion(2, seed=0),
        seed=0,
        regions=5,
        confounders=confounder_columns(("motion7",)),
    )
    part, mm = (indicators.on_scale(data, scale) for scale in indicators.SCALES)
    assert part is data
    assert mm.confounder_names == (FD,)
    place = data.confounder_names.index(FD)
    for one, other in zip(mm.subjects, data.subjects, strict=True):
        np.testing.assert_array_equal(one.confounder, other.confounder[:, [place]])
    six = replace(data, confounder_names=tuple(name + "_" for name in data.confounder_names))
    assert indicators.on_scale(six, "mm") is None


@pytest.mark.pictures
def test_connectivity_on_a_known_truth(tiny, tmp_path, monkeypatch):
    out = tmp_path / "out"
    arguments = ["reproduce", "connectivity", "--quick", "--jobs", "1", "--output", str(out)]
    arguments += ["--seeds", "2", "--seed", "0"]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    assert "AUC of the true edges" in result.output
    table = pd.read_csv(out / "recovery.csv")
    assert set(table["method"]) == {"pla", "lr", "lr-glasso", "paper"}
    several = pd.read_csv(out / "recovery-seeds.csv")
    assert set(several["seed"]) == {0, 1}
    pd.testing.assert_frame_equal(
        several[several["seed"] == 0].drop(columns="seed").reset_index(drop=True), table
    )
    mean = several[several["method"] == "lr"]["f1"].mean()
    page = (out / "connectivity.md").read_text()
    assert f"{mean:.2f} (" in page
    # Two studies have wide intervals, which end where shares and counts end.
    rows = page.partition("## 2 simulated studies")[2].partition("\n## ")[0].splitlines()
    cells = [row.split("|")[2:-1] for row in rows if "(" in row and row.startswith("|")]
    ends = [re.findall(r"-?\d+\.\d+", cell)[1:] for row in cells for cell in row[:6]]
    assert all(0.0 <= float(end) <= 1.0 for pair in ends for end in pair)
    assert any("1.00)" in cell for row in cells for cell in row[:6])
    assert not any("(-" in cell for row in cells for cell in row[6:8])
    assert "Made by `plaggm reproduce connectivity --seed 0 --seeds 2 --quick` with" in page
    assert table["true_density"].between(0.03, 0.3).all()
    tested = table[~table["method"].isin(("paper", "lr-glasso"))]
    assert tested["null_pairs_below_0.05"].between(0, 1).all()
    for row in table.itertuples():
        found = read_result(out / "groups" / f"{row.method}-{row.group}")
        if row.method in ("paper", "lr-glasso"):
            # The edges of the penalty, as in the paper, and for its kernel the norm of the seven.
            assert len(found.confounder_names) == (1 if row.method == "paper" else 7)
            assert found.fdr is None
            assert found.n_edges == row.edges
            continue
        assert len(found.confounder_names) == 7
        assert found.fdr == 0.05
        assert found.n_edges == row.edges == np.count_nonzero(found.edge_table.q_value <= 0.05)
    assert (out / "report.html").is_file()
    assert (out / "figures" / "glass_brains-patient.png").is_file()
    differences = pd.read_csv(out / "difference_recovery.csv")
    assert (differences["found"] <= differences["true_differences"]).all()
    page = (out / "connectivity.md").read_text()
    assert "## Recovery of the true differences" in page
    assert "](figures/glass_brains-patient.png)" in page
    # An interrupted run is resumed: networks of every study are kept.
    monkeypatch.setattr(study_networks, "fit_group", lambda *rest, **more: pytest.fail("fitted"))
    monkeypatch.setattr(connectivity, "write_study_report", lambda *rest: None)
    assert CliRunner().invoke(commands, arguments).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(out / "recovery-seeds.csv"), several)


def test_connectivity_without_any_comparison(tiny, tmp_path, monkeypatch):
    """Networks of the groups are shown, and so is the reason that nothing was compared."""

    def fail(*rest, **more):
        raise ValueError("too few arrangements.")

    monkeypatch.setattr(study, "compare_groups", fail)
    monkeypatch.setattr(connectivity, "QUICK_METHODS", ("raw",))
    out = tmp_path / "out"
    arguments = ["reproduce", "connectivity", "--quick", "--seeds", "2", "--confounder", "fd"]
    result = CliRunner().invoke(commands, [*arguments, "--jobs", "1", "--output", str(out)])
    assert result.exit_code == 0, result.output
    page = (out / "connectivity.md").read_text()
    assert connectivity.NOT_COMPARED in page
    assert "a region that covers both hemispheres, as those of the Harvard–Oxford atlas do" in page
    assert "the groups are not compared, since that failed: too few arrangements." in page
    assert "method" in pd.read_csv(out / "difference_recovery.csv")


def test_connectivity_on_the_release(tiny, tmp_path, write):
    write.cobre(tmp_path / "cobre", per_group=2, regions=8)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        commands,
        [
            *("reproduce", "connectivity", "--data", str(tmp_path / "cobre")),
            *("--confounder", "fd", "--jobs", "1", "--output", str(out)),
        ],
    )
    assert result.exit_code == 0, result.output
    assert not (out / "recovery.csv").exists()
    assert "Control" in (out / "report.html").read_text()


@pytest.mark.pictures
def test_diagnosis_with_measured_motion(tiny, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    motion = tmp_path / "motion.npz"
    np.savez(
        motion,
        motion=rng.gamma(1.0, 0.2, (10, 80, 1)),
        subject=np.array([str(k) for k in range(10)]),
        column=np.array(["fd"]),
    )
    out = tmp_path / "out"
    arguments = [
        *("reproduce", "diagnosis", "--quick", "--scenario", "matched", "--jobs", "1"),
        *("--no-sensitivity", "--motion", str(motion), "--output", str(out)),
    ]
    # The paper's seven are the default, and this file has one.
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 2
    assert "has no column 'trans_x'" in result.output
    result = CliRunner().invoke(commands, [*arguments, "--confounder", "fd"])
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out / "diagnosis.csv")
    assert set(table["features"]) == {*VARIANTS, EXCHANGED, "motion"}
    assert set(table["classifier"].dropna()) == {"lasso", "elastic net"}
    plain = table[table["features"].isin(("values", "signs", "values, elastic net"))]
    assert plain["auc_with_displacement"].between(0, 1).all()
    assert plain["auc_by_aic"].between(0, 1).all()
    assert table["auc"].between(0, 1).all()
    assert (out / "diagnosis-matched.png").is_file()
    assert "](diagnosis-matched.png)" in (out / "diagnosis.md").read_text()
    assert pd.read_csv(out / "residual_motion-matched.csv")["subjects"].le(8).all()
    # The same study from its store, but for a measure that cannot be taken.
    monkeypatch.setattr(diagnosis_study, "residual_motion", lambda *rest, **how: None)
    again = CliRunner().invoke(commands, [*arguments, "--confounder", "fd"])
    assert again.exit_code == 0, again.output
    pd.testing.assert_frame_equal(pd.read_csv(out / "diagnosis.csv"), table)
    assert "Left out: pla: too few subjects to measure" in (out / "diagnosis.md").read_text()


def test_parts_of_another_version_are_not_reused(tiny, tmp_path, monkeypatch):
    """Folds, single scans, classifications and indicator functions: nothing of an older version is read."""
    sensitivity = partial(indicators.indicator_sensitivity, indicators=(100,))
    monkeypatch.setattr(diagnosis, "indicator_sensitivity", sensitivity)
    out = tmp_path / "out"
    arguments = ["reproduce", "diagnosis", "--quick", "--scenario", "null", "--confounder", "fd"]
    arguments += ["--method", "lr,pla-own", "--permutations", "0", "--jobs", "1"]
    arguments += ["--output", str(out)]
    assert CliRunner().invoke(commands, arguments).exit_code == 0
    kept = {path.relative_to(out) for path in (out / "cache").rglob("*.npz")}
    kinds = {"folds-lr", "alone-pla-own", "diagnoses", "indicators"}
    assert {path.parent.name for path in kept} == kinds
    monkeypatch.setattr(resume, "library_versions", lambda: {"plaggm": "999"})
    assert CliRunner().invoke(commands, arguments).exit_code == 0
    # A part replaces that of the same name, so that none of the other version is left.
    again = {path.relative_to(out) for path in (out / "cache").rglob("*.npz")}
    assert len(again) == len(kept)
    assert not again & kept


def test_several_seeds_are_one_table(tiny, tmp_path):
    out = tmp_path / "out"
    arguments = [
        *(
            "reproduce",
            "diagnosis",
            "--quick",
            "--scenario",
            "confounded null",
            "--null-seeds",
            "2",
        ),
        *("--method", "raw", "--method", "scrub", "--people", "5", "--confounder", "fd"),
        *("--no-sensitivity", "--permutations", "4", "--jobs", "1", "--seed", "0"),
        *("--output", str(out)),
    ]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    each = pd.read_csv(out / "diagnosis.csv")
    assert set(each["seed"]) == {0, 1}
    tested = each[(each["features"] == "values") & (each["method"] == "no adjustment")]
    np.testing.assert_allclose(5 * tested["p_value"], np.round(5 * tested["p_value"]))
    together = pd.read_csv(out / "diagnosis-confounded_null.csv").set_index(["method", "features"])
    own = each.groupby(["method", "features"])["auc"].mean()
    for key, auc in together["auc"].items():
        assert auc == pytest.approx(own[key])
    page = (out / "diagnosis.md").read_text()
    assert "10 people; means over 2 simulated studies" in page
    told = (
        "--seed 0 --null-seeds 2 --people 5 --permutations 4 --quick --scenario 'confounded null' "
    )
    told += "--methods raw,scrub --confounder fd --no-sensitivity`"
    assert f"Made by `plaggm reproduce diagnosis {told} with plaggm" in page
    assert "no number for it" in page


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_diagnosis_without_any_method(tiny, tmp_path, monkeypatch, seeds):
    """The page says what failed, also of indicator functions, after whatever time the run took."""

    def fail(*rest, **more):
        raise ValueError("has too few volumes.")

    monkeypatch.setattr(diagnosis_study, "fold_features", fail)
    monkeypatch.setattr(diagnosis, "indicator_sensitivity", fail)
    out = tmp_path / "out"
    arguments = ["reproduce", "diagnosis", "--quick", "--scenario", "null", "--seeds", seeds]
    arguments += ["--method", "raw,lr", "--jobs", "1", "--output", str(out)]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    assert "AUC by null: no method can be fitted to everybody." in result.output
    page = (out / "diagnosis.md").read_text()
    for method in ("raw", "lr"):
        told = f"Left out: {method}: not everybody can be fitted; one subject has too few volumes."
        assert page.count(told) == 1
    assert "They are not compared. has too few volumes." in page
    assert "mean framewise displacement alone" in page
    assert "diagnosis-null.png" not in page
    assert pd.read_csv(out / "diagnosis.csv")["features"].tolist() == ["motion"] * int(seeds)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["connectivity", "--data", "nowhere"], "There is no nowhere"),
        (["diagnosis", "--data", ".", "--scenario", "null"], "--scenario is for semi-synthetic"),
        (["connectivity", "--data", ".", "--motion", "x.npz"], "leave --motion out"),
        (["connectivity", "--motion", "pyproject.toml"], "Expected an .npz"),
    ],
)
def test_wrong_options(tmp_path, arguments, said, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("no numbers")
    result = CliRunner().invoke(commands, ["reproduce", *arguments, "--output", "out"])
    assert result.exit_code == 2, result.output
    assert said in result.output


def test_seven_confounders_leave_the_signals_as_they_are():
    motion = simulated_motion(3, seed=0, volumes=60)
    one, _ = semisynthetic_study(motion, seed=1, regions=5)
    names = confounder_columns(("motion7",))
    seven, _ = semisynthetic_study(motion, seed=1, regions=5, confounders=names)
    assert seven.confounder_names == names
    for first, second in zip(one.subjects, seven.subjects, strict=True):
        np.testing.assert_array_equal(first.x, second.x)
        np.testing.assert_array_equal(first.confounder[:, 0], second.confounder[:, -1])
        # Displacement is that of the parameters.
        moved = power_displacement(second.confounder[:, :6])
        np.testing.assert_allclose(moved, second.confounder[:, -1], atol=1e-9)
