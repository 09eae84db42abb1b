from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plaggm.cli.messages import InputError
from plaggm.cli.staging import staged_folder

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


@pytest.mark.parametrize("failing", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("error", [OSError("disk gone"), KeyboardInterrupt()])
def test_a_failure_in_between_is_undone(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, failing: int, error: BaseException
) -> None:
    genuine, calls = Path.rename, 0

    def rename(self: Path, target: Any) -> Path:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise error
        return genuine(self, target)

    before = content(earlier)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        with pytest.raises((InputError, KeyboardInterrupt)):
            publish(earlier)
    assert calls >= failing
    assert content(earlier) == before


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
