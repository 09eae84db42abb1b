from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from plaggm.cli.messages import InputError
from plaggm.cli.staging import output_folder, staged_folder, write_errors

ENTRIES = ("a.txt", "b.txt", "old.txt")


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    target = tmp_path / "out"
    target.mkdir()
    for name in (*ENTRIES, "mine.txt"):
        (target / name).write_text("earlier")
    return target


def publish(target: Path) -> None:
    with staged_folder(target, ENTRIES, force=True) as stage:
        for name in ("a.txt", "b.txt"):
            (stage / name).write_text("new")


def test_replaces_everything_of_the_earlier_run_and_nothing_else(earlier: Path) -> None:
    publish(earlier)
    assert content(earlier) == {"a.txt": "new", "b.txt": "new", "mine.txt": "earlier"}


def test_a_failure_in_between_is_one_line(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Any, place: Any) -> None:
        raise OSError(28, "No space left on device", str(source))

    before = content(earlier)
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", fail)
        with pytest.raises(InputError, match=r"Cannot write to .*out \(No space left on device\)"):
            publish(earlier)
    assert content(earlier) == before


def test_two_runs_to_one_output(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with staged_folder(target, ENTRIES, force=False) as stage:
        (stage / "a.txt").write_text("first")
        with pytest.raises(InputError, match=r"another run, process .* is writing there"):
            publish(target)
    assert content(tmp_path) == {"out/a.txt": "first"}


def test_a_folder_that_is_filled_bit_by_bit_has_one_run_too(tmp_path: Path) -> None:
    below = tmp_path / "out" / "cells"
    below.mkdir(parents=True)
    (below / ".a.json.0123abcd.plaggm").write_text("of a run that was killed")
    with output_folder(tmp_path / "out", below=True):
        assert list(below.iterdir()) == []
        with (
            pytest.raises(InputError, match=r"another run, .* is writing there\)\. Do this"),
            output_folder(tmp_path / "out", "Do this."),
        ):
            pass
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            PermissionError(13, "Permission denied", "/elsewhere/data.csv"),
            "use /elsewhere/data.csv",
        ),
        (OSError(28, "No space left on device"), "write to out"),
        (FileNotFoundError("There is no result at x."), r"^There is no result at x\.$"),
        (OSError("disk gone"), r"write to out \(disk gone\). Do this"),
    ],
)
def test_messages_name_the_right_file(error: OSError, words: str) -> None:
    with pytest.raises(InputError, match=words), write_errors(Path("out"), "Do this."):
        raise error


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), TimeoutError("late")])
def test_lost_connections_are_not_about_the_output(error: OSError) -> None:
    with pytest.raises(type(error)), write_errors(Path("out")):
        raise error


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    publish(tmp_path / "deep" / "out")
    assert content(tmp_path) == {"deep/out/a.txt": "new", "deep/out/b.txt": "new"}


def test_an_error_leaves_no_trace(tmp_path: Path) -> None:
    def fail() -> None:
        with staged_folder(tmp_path / "out", ENTRIES, force=False) as stage:
            (stage / "a.txt").write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
