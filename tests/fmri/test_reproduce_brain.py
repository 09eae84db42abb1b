"""``plaggm reproduce connectivity`` and ``diagnosis`` on very small studies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm.cli.group import commands
from plaggm.cli.reproduce_brain import SCENARIOS as COMMAND_SCENARIOS
from plaggm.fmri import brain_plots
from plaggm.reproduce import connectivity, diagnosis


@pytest.fixture
def tiny(monkeypatch):
    """Few people; and matrices for brains, whose drawing takes longest and is tested elsewhere."""
    monkeypatch.setattr(
        brain_plots,
        "glass_brains",
        lambda path, networks, atlas: brain_plots.matrices(path, networks),
    )
    monkeypatch.setattr(brain_plots, "interactive_view", lambda *rest: "")
    monkeypatch.setattr(connectivity, "QUICK_PER_GROUP", 3)
    monkeypatch.setattr(diagnosis, "QUICK_PER_GROUP", 4)
    monkeypatch.setattr(diagnosis, "QUICK_PERMUTATIONS", 3)


def test_the_command_knows_all_scenarios():
    assert tuple(diagnosis.SCENARIOS) == COMMAND_SCENARIOS
    assert set(diagnosis.WORDS) == {*diagnosis.SCENARIOS, "cobre"}


def test_indicators_are_the_supplements(tiny):
    from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion

    data, _ = semisynthetic_study(simulated_motion(2, seed=0), seed=0, regions=5)
    largest = max(subject.confounder.max() for subject in data.subjects)
    # The paper: k = 100 is g* = 0.578.
    first = diagnosis.indicator_treatment(100, data).estimator
    assert first.threshold == pytest.approx(0.578 * largest, rel=1e-3)
    assert (first.smoother, first.indicator) == ("kernel", "soft")


def test_connectivity_on_a_known_truth(tiny, tmp_path):
    out = tmp_path / "out"
    arguments = ["reproduce", "connectivity", "--quick", "--jobs", "1", "--output", str(out)]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    assert "AUC of the true edges" in result.output
    table = pd.read_csv(out / "recovery.csv")
    assert set(table["method"]) == {"pla", "lr"}
    assert table["true_density"].between(0.05, 0.2).all()
    assert (out / "report.html").is_file()
    assert (out / "figures" / "glass_brains-patient.png").is_file()


def test_connectivity_on_the_release(tiny, tmp_path, write):
    write.cobre(tmp_path / "cobre", per_group=2)
    out = tmp_path / "out"
    result = CliRunner().invoke(
        commands,
        [
            *("reproduce", "connectivity", "--data", str(tmp_path / "cobre")),
            *("--jobs", "1", "--output", str(out)),
        ],
    )
    assert result.exit_code == 0, result.output
    assert not (out / "recovery.csv").exists()
    assert "Control" in (out / "report.html").read_text()


def test_diagnosis_with_measured_motion(tiny, tmp_path):
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
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out / "diagnosis.csv")
    assert set(table["features"]) == {"values", "signs", "motion"}
    assert table["auc"].between(0, 1).all()
    assert (out / "diagnosis-matched.png").is_file()
    assert pd.read_csv(out / "residual_motion-matched.csv")["subjects"].le(8).all()


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
