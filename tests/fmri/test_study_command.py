"""``plaggm study`` as a user runs it: in a process of its own, killed, resumed, and with wrong input."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rich.console import Console

from plaggm import read_result
from plaggm.cli import study_run
from plaggm.cli.group import commands
from plaggm.cli.study import METHODS as COMMAND_METHODS
from plaggm.cli.study_run import Pace
from plaggm.fmri.problems import WHOLE_STUDY
from plaggm.fmri.treatments import METHODS
from plaggm.publishing import locked

# Of the atlas that goes with the scans.
REGIONS = 12
BRIEF = ["--confounder", "fd", "--permutations", "50", "--jobs", "1"]
ALONE = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}

pytestmark = pytest.mark.usefixtures("quick_diagnosis")


def test_the_command_knows_all_methods():
    assert tuple(METHODS) == COMMAND_METHODS


def test_no_bar_where_stderr_is_no_terminal(monkeypatch, capsys):
    # As before rich 14.3, whether disabled or not.
    monkeypatch.setattr(study_run.Progress, "stop", lambda bar: print(file=sys.stderr))
    with study_run.counting(quiet=True) as told:
        told("networks", 1, 2)
    assert capsys.readouterr().err == ""


def test_lines_where_stderr_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(study_run, "EVERY_SECONDS", 0.02)
    with study_run.counting(quiet=False) as told:
        told("networks", 1, 4)
        time.sleep(0.03)
        told("networks", 2, 4)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert any(
        re.fullmatch(r"0:00:00  networks: 2 of 4, about 0:00:0\d left", line) for line in lines
    )
    assert lines[-1] == "0:00:00  networks: 2 of 4, longer than expected"


def test_time_left_does_not_grow_while_a_piece_is_at_work():
    pace = Pace.begun(0, 6, 0.0).after(2, 6, 10.0)
    assert pace.left(10.0) == 20.0
    assert pace.left(25.0) == 5.0
    # Told again without news, as by a step that reports more often than it gets on.
    assert pace.after(2, 6, 25.0).left(25.0) == 5.0
    assert pace.left(40.0) < 0.0
    assert pace.after(5, 6, 50.0).left(50.0) == 10.0
    assert pace.after(6, 6, 60.0).left(60.0) is None


def test_time_left_on_a_terminal(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr(study_run, "Console", lambda **options: console)
    with study_run.counting(quiet=False) as told:
        told("networks", 0, 4)
        time.sleep(0.01)
        told("networks", 1, 4)
        time.sleep(0.3)
    assert "1/4 longer than expected" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())


def test_interrupted_says_how_to_resume(tmp_path, write, monkeypatch):
    """Ctrl-C ends with status 130 and one line: where finished parts are, and what to do."""
    from plaggm import fmri

    table = write.series(tmp_path / "data", per_group=2)

    def stopped(plan, *rest):
        (plan.output / "cache").mkdir()
        (plan.output / "cache" / "part.npz").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(fmri, "analyse", stopped)
    arguments = ["study", str(table), "--group", "diagnosis", *BRIEF]
    result = CliRunner().invoke(commands, [*arguments, "--output", str(tmp_path / "out")])
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        f"Interrupted. Finished parts are kept in {tmp_path / 'out'}; run the same command again to "
        "resume."
    )


def test_interrupted_before_anything_is_finished(tmp_path, write, monkeypatch):
    """There is nothing to resume from, and no folder is left behind."""
    from plaggm import fmri

    def stopped(*rest):
        raise KeyboardInterrupt

    table = write.series(tmp_path / "data", per_group=2)
    monkeypatch.setattr(fmri, "analyse", stopped)
    arguments = ["study", str(table), "--group", "diagnosis", *BRIEF]
    result = CliRunner().invoke(commands, [*arguments, "--output", str(tmp_path / "out")])
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].endswith("the same command starts from the beginning.")
    assert not (tmp_path / "out").exists()


@pytest.mark.pictures
def test_scans_to_report(tmp_path, write, monkeypatch):
    """fMRIPrep derivatives with one broken scan, from end to end."""
    atlas = write.fmriprep(tmp_path / "derivatives", per_group=4, regions=REGIONS)
    broken = next((tmp_path / "derivatives" / "sub-02" / "func").glob("*bold.nii.gz"))
    broken.write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        commands,
        [
            *("study", "derivatives", "--group", "diagnosis", "--atlas", str(atlas), *BRIEF),
            *("--repeats", "1", "--label-permutations", "3", "--output", "out"),
        ],
    )
    assert done.exit_code == 0, done.stderr
    assert "sub-02" in done.stderr
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
    assert "3 control, 4 patient; 4 problem(s) noted." in done.stdout
    # Seven people tell nothing about the groups; chance decides which of the two sentences it is.
    assert re.search(r"No region differs|\d+ of 12 regions differ", done.stdout)
    out = tmp_path / "out"
    problems = pd.read_csv(out / "problems.csv")
    assert problems["subject"].tolist() == ["sub-02", WHOLE_STUDY, WHOLE_STUDY, WHOLE_STUDY]
    assert problems["problem"].str.contains("Standard errors rest on 3 subjects").sum() == 1
    assert len(pd.read_csv(out / "subjects.csv")) == 7
    names = pd.read_csv(out / "regions.csv")["region"]
    for method in ("pla", "lr"):
        for group in ("control", "patient"):
            result = read_result(out / "groups" / f"{method}-{group}")
            assert result.names == tuple(names)
            assert result.fdr == 0.05
        with np.load(out / f"subject_networks-{method}.npz") as stored:
            assert stored["omega"].shape == (7, REGIONS, REGIONS)
            assert list(stored["region"]) == list(names)
        edges = pd.read_csv(out / f"edges_compared-{method}.csv")
        assert len(edges) == REGIONS * (REGIONS - 1) // 2
        assert edges["p_family_wise"].between(0, 1).all()
    assert json.loads((out / "study.json").read_text())["groups"] == {"control": 3, "patient": 4}
    diagnosis = pd.read_csv(out / "diagnosis.csv")
    assert "mean framewise displacement alone" in set(diagnosis["method"])
    # With 50 permutations no difference of 1,128 can be declared, so that none is drawn.
    assert not (out / "figures" / "difference.png").exists()
    for figure in ("glass_brains-control", "glass_brains-patient", "residual_motion"):
        assert (out / "figures" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert "sub-02" in page
    assert "All series were whitened by one autoregression (order" in page
    told = json.loads((out / "groups" / "pla-control" / "result.json").read_text())["diagnostics"]
    assert told["confounding_method"] == "circular shifts"
    assert told["n_runs"] == 3
    assert "No edge is declared different; the table has the strongest candidates." in page
    assert "No edge of control passes. The strongest candidate is" in page
    assert "Diagnosis from single networks" in page
    # Nothing is fetched from elsewhere, and a network without declared edges has no view.
    assert not re.search(r"""<(script|img|link)[^>]+(src|href)=["']https?:""", page)
    assert 'data-view="control, ' not in page


def test_killed_and_resumed(tmp_path, write, monkeypatch):
    """A run that dies between two networks goes on with the next one, and ends as if it had not."""
    table = write.series(tmp_path / "data", per_group=4)
    arguments = [str(table), "--group", "diagnosis", *BRIEF, "--repeats", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "plaggm.cli", "study", *arguments, "--output", "out"],
        cwd=tmp_path,
        env=ALONE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    cache = tmp_path / "out" / "cache"
    limit = time.monotonic() + 300.0
    # Groups come first, then subjects: all of the former and some of the latter are finished.
    while time.monotonic() < limit and process.poll() is None:
        if list(cache.glob("networks-*/[a-z]*.npz")):
            break
        time.sleep(0.002)
    process.kill()
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in cache.glob("*/[a-z]*.npz")}
    kinds = {path.parent.name for path in kept}
    assert kinds >= {"groups-pla", "groups-lr"}
    assert any(kind.startswith("networks-") for kind in kinds)
    assert not (tmp_path / "out" / "report.html").exists()
    monkeypatch.chdir(tmp_path)
    again = CliRunner().invoke(commands, ["study", *arguments, "--output", "out"])
    assert again.exit_code == 0, again.output
    # What was finished is as it was, to the nanosecond.
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    # Neither the killed run nor the other one left anything hidden but what BIDS asks for.
    assert [path.name for path in tmp_path.rglob(".*")] == [".bidsignore"]
    whole = CliRunner().invoke(commands, ["study", *arguments, "--output", "whole"])
    assert whole.exit_code == 0, whole.output
    for name in (
        *("edges_compared-pla.csv", "regions_compared-lr.csv", "subjects.csv"),
        *("groups/pla-control/edges.csv", "groups/lr-patient/matrix.csv"),
    ):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_full_disk(tmp_path, write, monkeypatch):
    """One line, wherever it happens; what is finished stays for the next run."""
    table = write.series(tmp_path / "data", per_group=2)
    full = OSError(28, "No space left on device")

    def fail(*arguments, **options):
        raise full

    monkeypatch.setattr(np, "savez_compressed", fail)
    result = CliRunner().invoke(
        commands,
        [
            *("study", str(table), "--group", "diagnosis", *BRIEF),
            *("--output", str(tmp_path / "out")),
        ],
    )
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        f"Error: Cannot write to {tmp_path / 'out'} (No space left on device). Finished parts"
    )
    assert not list((tmp_path).rglob(".*"))


def test_two_runs_to_one_folder(tmp_path, write):
    table = write.series(tmp_path / "data", per_group=2)
    with locked(tmp_path / "out"):
        result = CliRunner().invoke(
            commands,
            [
                *("study", str(table), "--group", "diagnosis", "--confounder", "fd"),
                *("--output", str(tmp_path / "out")),
            ],
        )
    assert result.exit_code == 2
    assert "another run, process" in result.stderr
    assert not (tmp_path / "out").exists()


def test_check_only(tmp_path, write):
    table = write.series(tmp_path / "data", per_group=3)
    runner = CliRunner()
    arguments = ["study", str(table), "--group", "diagnosis", "--confounder", "fd", "--check"]
    good = runner.invoke(commands, [*arguments, "--output", str(tmp_path / "out")])
    assert good.exit_code == 0, good.output
    assert "6 subjects in 2 group(s) can be analysed; 0 problem(s)." in good.output
    assert not (tmp_path / "out").exists()
    (tmp_path / "data" / "sub-03.tsv").unlink()
    bad = runner.invoke(commands, [*arguments, "--output", str(tmp_path / "out")])
    assert bad.exit_code == 2
    assert "sub-03" in bad.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--group", "colour"], "no column 'colour' for --group"),
        (["--confounder", "heartbeat"], "lacks the column(s) heartbeat"),
        (
            ["--confounder", "heartbeat"],
            "takes a column of the confounds tables, or one of fd, dvars",
        ),
        (
            ["--session", "1"],
            "no column 'session' for --session; its columns are subject, diagnosis",
        ),
        (["--atlas", "nowhere.nii.gz"], "The atlas nowhere.nii.gz does not exist"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--covariate", "diagnosis"], "--covariate 'diagnosis' is the column of the groups"),
        (["--blocks", "diagnosis"], "--blocks 'diagnosis' is the column of the groups"),
        (["--method", "magic"], "'magic' is not one of"),
        (["--threshold", "1", "--threshold", "2"], "threshold must be one number or one for each"),
        (["--threshold", "9" * 400], "is not a finite number"),
        (["--method", "lr,kernel", "--bandwidth", "-1"], "bandwidth"),
        (["--method", "lr,kernel", "--bandwidth", "1,2"], "'auto' or one number in a study"),
        (["--method", "lr,kernel", "--ridge", "-1"], "ridge"),
        (["--temporal", "2.5"], "Must be 'ar', 'none' or the order of the filter"),
        (["--temporal", "999999"], "temporal=999999 predicts a row from 999999 rows before it"),
        (["--scrub", "nan"], "'nan' is not a finite number"),
        (["--seed", str(2**32)], "is not in the range"),
        (["--atlas", "a" * 5000 + ".csv"], "too long"),
        (["--mask", "a" * 5000], "Cannot use the path"),
    ],
)
def test_wrong_options_end_with_one_message(tmp_path, write, change, said):
    table = write.series(tmp_path / "data", per_group=2)
    arguments = ["study", str(table), "--group", "diagnosis", "--output", str(tmp_path / "out")]
    if "--confounder" not in change:
        arguments += ["--confounder", "fd"]
    # Processes of their own would take seconds to start, and find the same.
    jobs = [] if "--jobs" in change else ["--jobs", "1"]
    result = CliRunner().invoke(commands, [*arguments, "--repeats", "0", *jobs, *change])
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        (0.0, "the same in all volumes of all subjects (framewise_displacement = 0)"),
        (3.0, "It must be in mm; --scrub sets the limit."),
    ],
)
def test_displacement_that_tells_nothing(tmp_path, write, moved, said):
    """Nobody moves at all, or all volumes are high-motion: what to do is for the command line."""
    table = write.series(tmp_path / "data", per_group=2)
    for path in table.parent.glob("*_confounds.tsv"):
        frame = pd.read_csv(path, sep="\t").assign(framewise_displacement=moved)
        frame.to_csv(path, sep="\t", index=False)
    arguments = ["study", str(table), "--group", "diagnosis", "--jobs", "1", "--check"]
    result = CliRunner().invoke(commands, [*arguments, "--output", str(tmp_path / "out")])
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert "confounder=None" not in result.output
    if not moved:
        raw = CliRunner().invoke(
            commands, [*arguments, "--methods", "raw", "--output", str(tmp_path / "out")]
        )
        assert raw.exit_code == 0, raw.output


def test_other_peoples_folders_are_left_alone(tmp_path, write):
    table = write.series(tmp_path / "data", per_group=2)
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    result = CliRunner().invoke(
        commands,
        ["study", str(table), "--group", "diagnosis", "--confounder", "fd", "--output", str(out)],
    )
    assert result.exit_code == 2
    assert "holds no study" in result.output
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
    missing = CliRunner().invoke(
        commands, ["study", str(tmp_path / "none.tsv"), "--group", "g", "--confounder", "fd"]
    )
    assert missing.exit_code == 2
    assert "There is no file or folder" in missing.output
