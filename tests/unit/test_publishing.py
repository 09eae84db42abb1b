from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plaggm import publishing
from plaggm.publishing import exchange, locked, process_start, staged

ENTRIES = ("a.txt", "figures", "stale.txt")
OLD = {"a.txt": "old", "figures/one": "old", "stale.txt": "old", "mine/notes": "mine"}
NEW = {"a.txt": "new", "figures/one": "new", "b.txt": "new"}
BOTH = {**NEW, "mine/notes": "mine"}

# Replaces the output `out` and dies before the given step: a rename, the exchange, or the removal of the
# journal. The exchange is refused if asked for.
DEATH = """
import os, sys
from pathlib import Path
from plaggm import publishing

fatal, whole = int(sys.argv[1]), sys.argv[2] == "exchange"
steps = 0

def dying(function):
    def step(*arguments):
        global steps
        steps += 1
        if steps == fatal:
            os._exit(9)
        return function(*arguments)
    return step

os.rename = dying(os.rename)
publishing.exchange = dying(publishing.exchange if whole else lambda one, other: False)
Path.unlink = dying(Path.unlink)
with publishing.staged(Path("out"), replaceable=("a.txt", "figures", "stale.txt")) as new:
    (new / "figures").mkdir(parents=True)
    for name in ("a.txt", "figures/one", "b.txt"):
        (new / name).write_text("new")
"""


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    fill(tmp_path / "out", OLD)
    return tmp_path / "out"


@pytest.mark.parametrize("way", ["exchange", "moves"])
def test_replaces_all_of_the_earlier_run_and_nothing_else(
    out: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "moves":
        monkeypatch.setattr(publishing, "exchange", lambda one, other: False)
    out.chmod(0o750)
    with staged(out, replaceable=ENTRIES) as new:
        fill(new, NEW)
        assert content(out) == OLD
    assert content(out.parent) == {f"out/{name}": text for name, text in BOTH.items()}
    assert out.stat().st_mode & 0o777 == 0o750
    with staged(out) as new:
        fill(new, NEW)
    assert content(out) == NEW


@pytest.mark.parametrize("way", ["exchange", "moves"])
def test_death_at_any_step_loses_nothing(tmp_path: Path, way: str) -> None:
    """Old or new is complete after the next start; where folders can be exchanged, at any time."""
    if way == "exchange" and not possible(tmp_path):
        pytest.skip("this file system cannot exchange folders")
    seen = []
    for fatal in range(1, 20):
        home = tmp_path / str(fatal)
        fill(home / "out", OLD)
        arguments = [sys.executable, "-c", DEATH, str(fatal), way]
        code = subprocess.run(arguments, cwd=home, check=False).returncode
        if way == "exchange":
            result = {
                name: text for name, text in content(home / "out").items() if "mine" not in name
            }
            assert result == NEW or result == {k: v for k, v in OLD.items() if "mine" not in k}
        with locked(home / "out"):
            pass
        assert content(home) in [{f"out/{k}": v for k, v in state.items()} for state in (OLD, BOTH)]
        seen.append(content(home / "out") == BOTH)
        if code == 0:
            break
        assert code == 9
    # It was killed before and after the decisive step, and the last run was not killed.
    assert not seen[0]
    assert seen[-2]
    assert code == 0


def possible(folder: Path) -> bool:
    for name in ("one", "other"):
        (folder / name).mkdir()
    return exchange(folder / "one", folder / "other")


class Failing:
    """Lets the given step of a replacement fail.

    With moves the second step undoes what the exchange, refused after the first, would have needed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        self.steps, self.fatal, self.error = 0, 0, BaseException()
        monkeypatch.setattr(os, "rename", self.failing(os.rename))
        whole = self.failing(exchange) if way == "exchange" else lambda *_: False
        monkeypatch.setattr(publishing, "exchange", whole)

    def failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            self.steps += 1
            if self.steps == self.fatal:
                raise self.error
            return function(*arguments)

        return step

    def replace(self, out: Path, fatal: int, error: BaseException) -> None:
        self.steps, self.fatal, self.error = 0, fatal, error
        with staged(out, replaceable=ENTRIES) as new:
            fill(new, NEW)


@pytest.mark.parametrize(
    ("way", "error", "fatal"),
    [
        *(("exchange", KeyboardInterrupt(), fatal) for fatal in (1, 2)),
        *(("moves", KeyboardInterrupt(), fatal) for fatal in (1, 3, 4, 5, 6, 7, 8)),
        *(("moves", OSError("disk gone"), fatal) for fatal in (3, 4, 5, 6, 7, 8)),
    ],
)
def test_a_failure_at_any_step_is_undone(
    out: Path, monkeypatch: pytest.MonkeyPatch, way: str, error: BaseException, fatal: int
) -> None:
    with monkeypatch.context() as patched:
        failing = Failing(patched, way)
        with pytest.raises(type(error)):
            failing.replace(out, fatal, error)
    assert failing.steps >= fatal
    assert content(out.parent) == {f"out/{name}": text for name, text in OLD.items()}


@pytest.mark.parametrize("fatal", [1, 2])
def test_what_cannot_be_exchanged_is_moved(
    out: Path, monkeypatch: pytest.MonkeyPatch, fatal: int
) -> None:
    with monkeypatch.context() as patched:
        Failing(patched, "exchange").replace(out, fatal, OSError(18, "Invalid cross-device link"))
    assert content(out.parent) == {f"out/{name}": text for name, text in BOTH.items()}


@pytest.mark.parametrize("allowed", [1, 4])
def test_what_cannot_be_undone_is_kept(
    out: Path, monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    """The disk goes for good: after the move that the exchange needs, or later."""
    genuine, steps = os.rename, 0

    def fail(*arguments: Any) -> None:
        nonlocal steps
        steps += 1
        if steps > allowed:
            raise OSError("disk gone")
        genuine(*arguments)

    def replace_it() -> None:
        with staged(out, replaceable=ENTRIES) as new:
            fill(new, NEW)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "exchange", lambda one, other: False)
        patched.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="disk gone"):
            replace_it()
    assert content(out) != OLD
    with locked(out):
        assert content(out) == OLD
    assert os.listdir(out.parent) == ["out"]


class TestTwoRuns:
    def test_the_second_is_refused_while_the_first_is_alive(self, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from plaggm.publishing import locked\n"
            "with locked(Path('out')): print('in', flush=True); sys.stdin.readline()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as first:
            assert first.stdout is not None
            assert first.stdout.readline() == b"in\n"
            with (
                pytest.raises(BlockingIOError, match=f"process {first.pid} on"),
                locked(tmp_path / "out"),
            ):
                pass
            first.kill()
            first.wait()
        # What the dead one left is no hindrance, and goes.
        assert os.listdir(tmp_path) == [".out.plaggm"]
        with locked(tmp_path / "out"):
            pass
        assert os.listdir(tmp_path) == []

    def test_of_one_process(self, tmp_path: Path) -> None:
        with (
            locked(tmp_path / "out"),
            locked(tmp_path / "other"),
            pytest.raises(BlockingIOError, match=f"process {os.getpid()}"),
            locked(tmp_path / "out"),
        ):
            pass
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("alive", [True, False])
    def test_without_locks_of_the_file_system(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
    ) -> None:
        """The number of the process and its start tell; another process may have the number now."""
        monkeypatch.setattr(publishing, "take_lock", lambda handle: None)
        with locked(tmp_path / "out") as work:
            owner = json.loads((work / "lock").read_text())
            assert owner["pid"] == os.getpid()
            assert owner["started"] == process_start(os.getpid())
        work.mkdir()
        if not alive:
            owner["started"] = "0"
        (work / "lock").write_text(json.dumps(owner))
        if alive:
            with pytest.raises(BlockingIOError), locked(tmp_path / "out"):
                pass
        else:
            with locked(tmp_path / "out"):
                pass
            assert os.listdir(tmp_path) == []

    def test_output_that_appears_meanwhile_is_left_alone(self, tmp_path: Path) -> None:
        out = tmp_path / "out"

        def check() -> None:
            if out.exists():
                raise FileExistsError("it is there")

        def write() -> None:
            with staged(out, check=check) as new:
                fill(new, NEW)
                fill(out, OLD)

        with pytest.raises(FileExistsError):
            write()
        assert content(tmp_path) == {f"out/{name}": text for name, text in OLD.items()}


class TestPlaces:
    def test_new_folders_around_the_output(self, tmp_path: Path) -> None:
        out = tmp_path / "deep" / "deeper" / "out"
        with pytest.raises(ZeroDivisionError), staged(out) as new:
            new.mkdir(mode=1 // 0)
        assert os.listdir(tmp_path) == []
        with staged(out) as new:
            fill(new, NEW)
        assert content(out) == NEW

    def test_a_file(self, tmp_path: Path) -> None:
        for text in ("old", "new"):
            with staged(tmp_path / "out.npz") as new:
                new.write_text(text)
            assert content(tmp_path) == {"out.npz": text}

    def test_where_somebody_stands_the_folder_itself_stays(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(out)
        with staged(Path(), replaceable=ENTRIES) as new:
            fill(new, NEW)
        assert content(Path.cwd()) == BOTH
        assert Path.cwd().samefile(out)

    def test_in_the_folder_where_nothing_may_be_written_beside_it(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out.parent)
        with staged(out, replaceable=ENTRIES) as new:
            fill(new, NEW)
            assert new.is_relative_to(out)
        assert content(out) == BOTH


class TestHostileLeftovers:
    """Beside a folder from elsewhere there may be more than a dead run leaves."""

    @pytest.fixture
    def secret(self, tmp_path: Path, out: Path) -> Path:
        fill(tmp_path / "home", {"secret": "mine"})
        return tmp_path / "home" / "secret"

    def test_a_journal_reaches_nothing_else(self, out: Path, secret: Path) -> None:
        work = out.parent / ".out.plaggm"
        for name in ("../../home/secret", "..", str(secret)):
            fill(work, {"journal.json": json.dumps([["target", "new", name]]), "new/x": ""})
            with locked(out):
                pass
            assert secret.read_text() == "mine"
            assert content(out) == OLD

    def test_links_are_not_followed(self, out: Path, secret: Path) -> None:
        work = out.parent / ".out.plaggm"
        fill(work, {"journal.json": json.dumps([["target", "new", "secret"]])})
        (work / "new").symlink_to(secret.parent)
        with locked(out):
            pass
        assert secret.read_text() == "mine"
        work.symlink_to(secret.parent)
        with pytest.raises(OSError, match="is a link"), locked(out):
            pass
        work.unlink()
        work.mkdir()
        for kind in (os.symlink, os.link):
            kind(secret, work / "lock")
            with pytest.raises(OSError), locked(out):
                pass
            (work / "lock").unlink()
        assert secret.read_text() == "mine"
        assert content(out) == OLD
