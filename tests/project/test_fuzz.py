"""The fuzzer finds what is planted, repeats its cases, and (slowly) finds nothing in the library."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import linalg

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fuzzer(monkeypatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    from fuzz import areas, case, commands, impossible, run

    return SimpleNamespace(
        areas=areas, case=case, commands=commands, impossible=impossible, run=run
    )


def kinds(fuzzer, call, limit: float = 60.0, **settings) -> set[str]:
    area = fuzzer.case.Area("planted", 1, lambda *_: fuzzer.case.Case("planted", call, **settings))
    return {finding.kind for finding in fuzzer.case.run_case(area, 0, 0, limit=limit).findings}


def refuse() -> None:
    from plaggm.data import as_table

    as_table([[1.0, 2.0]])


def leave_a_file() -> None:
    Path("half.csv").write_text("x")
    refuse()


def leave_a_hidden_file() -> None:
    Path(".out.1234").mkdir()


def warn() -> None:
    np.log(np.zeros(1))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: {}["key"], "undocumented exception"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "undocumented exception"),
        (lambda: linalg.inv(np.ones((2, 3))), "accidental exception"),
        (leave_a_file, "left behind"),
        (leave_a_hidden_file, "left behind"),
        (warn, "arithmetic warning"),
        (lambda: print("Error: 'list' object has no attribute 'get'"), "Python internals"),
    ],
)
def test_what_is_planted_is_found(fuzzer, call, kind):
    assert kinds(fuzzer, call) == {kind}


def test_a_clear_refusal_is_no_finding(fuzzer):
    assert kinds(fuzzer, refuse) == set()


def test_a_case_without_end_is_stopped(fuzzer):
    assert kinds(fuzzer, lambda: time.sleep(60.0), limit=0.2) == {"no end"}


def test_impossible_models_are_told(fuzzer):
    from plaggm import PLAGGM

    x = np.random.default_rng(0).standard_normal((30, 3))
    model = PLAGGM(0.01).fit(x)
    assert list(fuzzer.impossible.in_model(model)) == []
    for change, said in (
        (
            lambda: model.partial_correlation_.__setitem__((0, 1), 1.5),
            "a partial correlation of 1.5",
        ),
        (lambda: model.omega_.__setitem__((0, 1), 0.9), "omega is asymmetric by"),
        (lambda: model.omega_.__setitem__((0, 1), np.nan), "omega_ holds NaN"),
        (lambda: model.scale_.__setitem__(0, -1.0), "a scale of -1"),
    ):
        model.fit(x)
        change()
        assert any(said in text for text in fuzzer.impossible.in_model(model))


@pytest.mark.parametrize(
    ("exit_code", "output", "kind"),
    [
        (0, "done", None),
        (2, "Error: t.csv is empty: write names and rows into it.\n", None),
        (2, "Usage: plaggm fit\n\nError: No such option: --colour\n", None),
        (2, "Error: the table t.csv is wrong\nin two lines\n", "not one line"),
        (2, "Error: wrong.\n", "says nothing"),
        (1, "Error: t.csv is empty: write names and rows into it.\n", "exit status"),
        (2, "Error: t.csv cannot be read (UnicodeDecodeError: byte 3).\n", "Python internals"),
    ],
)
def test_the_end_of_a_command_is_judged(fuzzer, exit_code, output, kind):
    from fuzz.judge import command_findings

    result = SimpleNamespace(exception=None, exit_code=exit_code, output=output)
    assert [found for found, _ in command_findings(result, ())] == ([] if kind is None else [kind])


def test_cases_are_repeated_by_their_number(fuzzer, monkeypatch):
    # What is drawn decides what is run.
    monkeypatch.setattr(fuzzer.case, "_judged", lambda *_: iter(()))
    for name, area in fuzzer.areas.AREAS.items():
        drawn = []
        for _ in range(2):
            outcome = fuzzer.case.run_case(area, 3, 1)
            assert "could not be drawn" not in outcome.what, outcome.told
            drawn.append(outcome.what)
        assert drawn[0].split("plaggm-fuzz-")[0] == drawn[1].split("plaggm-fuzz-")[0], name


def test_a_worker_that_dies_is_a_finding_and_is_replaced(fuzzer, monkeypatch):
    def draw(rng, folder):
        return fuzzer.case.Case("dies", lambda: os._exit(3))

    def harmless(rng, folder):
        return fuzzer.case.Case("lives", refuse)

    areas = {
        "dying": fuzzer.case.Area("dying", 1, draw),
        "fine": fuzzer.case.Area("fine", 3, harmless),
    }
    monkeypatch.setattr(fuzzer.areas, "AREAS", areas)
    monkeypatch.setattr(fuzzer.run, "_warm_up", lambda: None)
    cases = [("dying", 0), ("fine", 0), ("fine", 1), ("fine", 2)]
    findings, seconds = fuzzer.run._run(cases, seed=0, jobs=1)
    assert [(found.area, found.kind) for found in findings] == [("dying", "end of the process")]
    assert "status 3" in findings[0].detail
    assert set(seconds) == {("fine", 0), ("fine", 1), ("fine", 2)}


@pytest.mark.slow
def test_nothing_is_found_in_the_library():
    done = subprocess.run(
        [sys.executable, "-m", "fuzz"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
