"""Atomic replacement of output folders, with a lock that allows one run at a time.

A run writes into a hidden folder beside its output, ``.NAME.plaggm``, which also holds the lock. When
all is written, the new output takes the place of the old one in a single step where the system can
exchange two folders, and otherwise by moves that the next run undoes if this one dies among them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plaggm.atomic_files import HIDDEN, NO_LINKS, remove_unfinished, take_lock, write_file

LOCK, JOURNAL, NEW, OLD = "lock", "journal.json", "new", "old"
# Tries to take a lock whose owner is just leaving.
ATTEMPTS = 100
# Bytes that are read of what an owner wrote about itself.
OWNER_SIZE = 1000

# From the output, the new or the old content to another of them: the name of an entry.
Move = tuple[str, str, str]


@contextmanager
def locked(output: Path) -> Iterator[Path]:
    """Keep other runs away from an output while this one writes it.

    What a killed run left behind is put right first: an interrupted replacement is undone, unfinished
    files are removed.

    Parameters
    ----------
    output : Path
        File or folder; it need not exist.

    Yields
    ------
    Path
        An empty hidden folder on the same file system, removed at the end.

    Raises
    ------
    BlockingIOError
        If another run is writing there.
    """
    output = Path(os.path.abspath(output))
    work = _hidden_folder(output)
    made = [folder for folder in (work.parent, *work.parent.parents) if not folder.exists()]
    work.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _owned(work):
            _put_right(work, output)
            yield work
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextmanager
def staged(
    output: Path,
    *,
    replaceable: Collection[str] | None = None,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Yield a temporary place for new output, which replaces ``output`` unless an error occurs.

    Parameters
    ----------
    output : Path
        File or folder. Either the old or the new one stands there at any time.
    replaceable : collection of str, optional
        Entries of an existing folder that go although the new one does not have them; all others stay.
        By default nothing stays.
    check : callable, optional
        Raises if the output must not be written; called at the start and again before the end.

    Yields
    ------
    Path
        Path at which to write the file or make the folder.
    """
    output = Path(os.path.abspath(output))
    with locked(output) as work:
        check()
        yield work / NEW
        check()
        _Replacement(work, output).publish(replaceable)


class _Replacement:
    """How new content takes the place of an output, and how that is undone.

    Parameters
    ----------
    work : Path
        The hidden folder.
    output : Path
        Path that the new content replaces.
    """

    def __init__(self, work: Path, output: Path) -> None:
        self.work, self.output = work, output
        self.places = {"target": output, NEW: work / NEW, OLD: work / OLD}

    def publish(self, replaceable: Collection[str] | None) -> None:
        """Move new output into place."""
        new, output = self.places[NEW], self.output
        if not new.is_dir():
            _sync(new)
            os.replace(new, output)
            return
        for place, _, names in os.walk(new):
            for name in names:
                _sync(Path(place, name))
        if not os.path.lexists(output):
            os.rename(new, output)
            return
        if not output.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(output))
        shutil.copymode(output, new)
        written = set(os.listdir(new))
        present = set(os.listdir(output)) - {self.work.name}
        others = set() if replaceable is None else present - written - set(replaceable)
        try:
            if self._may_be_exchanged() and self._move(
                [("target", NEW, name) for name in sorted(others)],
                lambda: exchange(new, output),
            ):
                return
        except OSError:
            # What others have put there may be what cannot be moved. A journal is of moves not undone.
            if (self.work / JOURNAL).exists():
                raise
        self.places[OLD].mkdir()
        self._move(
            [
                *(("target", OLD, name) for name in sorted(present - others)),
                *((NEW, "target", name) for name in sorted(written)),
            ]
        )

    def _may_be_exchanged(self) -> bool:
        """Whether folders may be exchanged: not if the current or the hidden folder lies in the output."""
        try:
            here = Path.cwd()
        except OSError:
            return False
        return not here.is_relative_to(self.output) and not self.work.is_relative_to(self.output)

    def _move(self, moves: list[Move], last: Callable[[], bool] = lambda: True) -> bool:
        """Move entries and do the last step; undo all if that fails."""
        journal = write_file(self.work / JOURNAL, json.dumps(moves))
        done = False
        try:
            for source, place, name in moves:
                os.rename(self.places[source] / name, self.places[place] / name)
            done = last()
        finally:
            if not done:
                self.undo(moves)
            journal.unlink()
        return done

    def undo(self, moves: list[Move]) -> None:
        """Move back what was moved."""
        for source, place, name in reversed(moves):
            before, after = self.places[source] / name, self.places[place] / name
            if os.path.lexists(after) and not os.path.lexists(before):
                os.rename(after, before)

    def recover(self) -> None:
        """Undo a replacement during which its run was killed."""
        try:
            moves = json.loads((self.work / JOURNAL).read_text(encoding="utf-8"))
            valid = all(
                source in self.places and place in self.places and name == os.path.basename(name)
                for source, place, name in moves
            )
        except (OSError, ValueError, TypeError):
            return
        # A folder from elsewhere may bring a journal along; it must not reach outside.
        if valid and not any(self.places[name].is_symlink() for name in (NEW, OLD)):
            self.undo(moves)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step.

    Returns
    -------
    bool
        False where the system or the file system cannot, and nothing has changed.
    """
    names = os.fsencode(one), os.fsencode(other)
    here, swap = -100, 2
    if sys.platform == "linux":
        function, arguments = "renameat2", (here, names[0], here, names[1], swap)
    elif sys.platform == "darwin":
        function, arguments = "renamex_np", (*names, swap)
    else:
        return False
    call: Any = getattr(ctypes.CDLL(None), function, None)
    return call is not None and call(*arguments) == 0


def _hidden_folder(output: Path) -> Path:
    """Beside an output, or in it if it is a mount or nothing may be written beside it."""
    if output.is_dir() and (os.path.ismount(output) or not os.access(output.parent, os.W_OK)):
        return output / HIDDEN
    return output.with_name(f".{output.name}{HIDDEN}")


@contextmanager
def _owned(work: Path) -> Iterator[None]:
    """Hold the lock of a hidden folder, and remove the folder in the end."""
    handle = _take(work)
    try:
        yield
    finally:
        # A journal that is still there belongs to moves that could not be undone: all is kept.
        if not (work / JOURNAL).exists():
            _empty(work)
        if os.name != "posix":
            os.close(handle)
        with contextlib.suppress(OSError):
            (work / LOCK).unlink()
        if os.name == "posix":
            os.close(handle)
        with contextlib.suppress(OSError):
            work.rmdir()


def _take(work: Path) -> int:
    """Open and lock the file that shows that a run is at work; returns its descriptor."""
    path = work / LOCK
    for _ in range(ATTEMPTS):
        if work.is_symlink():
            raise OSError(errno.ELOOP, f"{work} is a link; remove it")
        try:
            work.mkdir(exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o644)
        except FileNotFoundError:
            # The owner has just removed the folder.
            continue
        free = take_lock(handle)
        owner = _owner(handle)
        if free is None:
            free = not _alive(owner)
        if not free:
            os.close(handle)
            raise BlockingIOError(errno.EWOULDBLOCK, f"{_named(owner)} is writing there")
        # Not one that its owner has just removed, nor another name of some other file.
        status = os.fstat(handle)
        if status.st_nlink == 1 and path.exists() and os.path.samestat(status, path.stat()):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, json.dumps(_self()).encode())
            return handle
        os.close(handle)
    raise BlockingIOError(errno.EWOULDBLOCK, "other runs are writing there")


def _self() -> dict[str, Any]:
    pid = os.getpid()
    return {"pid": pid, "started": process_start(pid), "host": socket.gethostname()}


def _owner(handle: int) -> dict[str, Any]:
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        owner = json.loads(os.read(handle, OWNER_SIZE))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _named(owner: dict[str, Any]) -> str:
    if "pid" not in owner:
        return "another run"
    return f"another run, process {owner['pid']} on {owner.get('host')},"


def _alive(owner: dict[str, Any]) -> bool:
    """Whether the owner of a lock is still there, where the file system itself does not tell."""
    if not isinstance(owner.get("pid"), int):
        return False
    if owner.get("host") != socket.gethostname():
        return True
    return process_start(owner["pid"]) == owner.get("started")


def process_start(pid: int) -> str | None:
    """When a process was started, in ticks since the machine was; None if it is not there.

    Two processes that had the same number one after the other differ in it.
    """
    if not os.path.isdir("/proc/self"):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except OSError:
            pass
        return "unknown"
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _put_right(work: Path, output: Path) -> None:
    """Undo, complete or remove the output of a run that was killed."""
    _Replacement(work, output).recover()
    _empty(work)
    if output.is_dir():
        remove_unfinished(output)


def _empty(work: Path) -> None:
    """Remove everything but the lock."""
    try:
        entries = [entry for entry in work.iterdir() if entry.name != LOCK]
    except OSError:
        return
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()


def _sync(path: Path) -> None:
    """Have a finished file written to the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
