"""Atomic replacement of output folders, with a lock that allows one run at a time.

A run writes into a hidden folder beside its output, ``.NAME.plaggm``, which also holds the lock. The
finished output then replaces the old one in a single step if the system can exchange two folders, and
otherwise by moves that the next run undoes if this one is killed in between.
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
# Number of attempts to take a lock that its owner is removing.
ATTEMPTS = 100
# Largest number of bytes that are read of the description of an owner.
OWNER_SIZE = 1000

# Source and destination, each the output, the new or the old content, and the name of an entry.
Move = tuple[str, str, str]


@contextmanager
def locked(output: Path) -> Iterator[Path]:
    """Lock an output while this run writes it.

    Interrupted replacements of killed runs are undone first, and their unfinished files are removed.

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
        File or folder. It always holds either the old or the new content.
    replaceable : collection of str, optional
        Entries of an existing folder that are removed if the new one does not have them, while all others
        remain. By default no entry remains.
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
    """Replacement of an output by new content, which can be undone.

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
            # Entries of others may not be movable. A remaining journal lists moves that were not undone.
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
        """Whether folders may be exchanged: not if the output contains the current or the hidden folder."""
        try:
            here = Path.cwd()
        except OSError:
            return False
        return not here.is_relative_to(self.output) and not self.work.is_relative_to(self.output)

    def _move(self, moves: list[Move], last: Callable[[], bool] = lambda: True) -> bool:
        """Move entries and take the last step; undo all moves if it fails."""
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
        """Undo moves."""
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
        # A journal in a copied folder must not lead outside.
        if valid and not any(self.places[name].is_symlink() for name in (NEW, OLD)):
            self.undo(moves)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step.

    Returns
    -------
    bool
        False if the system or the file system cannot do this, and nothing has changed.
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
    """The hidden folder: beside the output, or in it if it is a mount or its parent is not writable."""
    if output.is_dir() and (os.path.ismount(output) or not os.access(output.parent, os.W_OK)):
        return output / HIDDEN
    return output.with_name(f".{output.name}{HIDDEN}")


@contextmanager
def _owned(work: Path) -> Iterator[None]:
    """Hold the lock of a hidden folder, and finally remove the folder."""
    handle = _take(work)
    try:
        yield
    finally:
        # A remaining journal lists moves that could not be undone, so nothing is removed.
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
    """Descriptor of the lock file, opened and locked."""
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
        # The file must not have been removed, nor be a link to another file.
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
    """Whether the owner of a lock is running, for file systems without locks."""
    if not isinstance(owner.get("pid"), int):
        return False
    if owner.get("host") != socket.gethostname():
        return True
    return process_start(owner["pid"]) == owner.get("started")


def process_start(pid: int) -> str | None:
    """Start of a process, in ticks since the machine was started; None if there is no such process.

    It distinguishes processes that have the same number one after the other.
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
    """Undo an interrupted replacement, and remove unfinished files of a killed run."""
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
    """Flush a finished file to the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
