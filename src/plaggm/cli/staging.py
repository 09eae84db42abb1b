"""Output folders that appear whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from plaggm.cli.messages import InputError


@contextmanager
def staged_folder(output: Path, entries: Sequence[str], *, force: bool) -> Iterator[Path]:
    """A temporary folder whose content becomes that of ``output``, unless something goes wrong.

    Nothing but the entries of an earlier run is ever replaced, and those all at once: a file that
    the earlier run left and this one does not write goes too.

    Parameters
    ----------
    output : Path
    entries : sequence of str
        Names of the files and results that will be written.
    force : bool
        Whether those of an earlier run may be replaced.

    Yields
    ------
    Path
        On the same file system as ``output``.
    """
    with write_errors(output):
        target = output.resolve()
        _check_target(output, target, entries, force=force)
        stage = _nearest_folder(target) / f".{target.name}.{secrets.token_hex(4)}"
        stage.mkdir()
    try:
        yield stage
        with write_errors(output):
            _publish(stage, target, entries)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def write_errors(
    output: Path, remedy: str = "Choose another folder with --output."
) -> Iterator[None]:
    """Turn what the file system refuses into one message about ``output``."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write to {output} ({error.strerror or error}). {remedy}"
        ) from error


def _check_target(output: Path, target: Path, entries: Sequence[str], *, force: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"{output} is a file. Choose a folder with --output.")
    if not force and any(target.iterdir()):
        raise InputError(
            f"{output} is not empty. Choose another folder with --output, or pass --force to replace "
            "what an earlier run wrote there."
        )
    if _is_ours(target):
        return
    for name in entries:
        entry = target / name
        if entry.is_dir() and not _is_ours(entry):
            raise InputError(
                f"{output / name} is not a plaggm result, so --force leaves it alone. Choose another "
                "folder with --output."
            )


def _is_ours(folder: Path) -> bool:
    """Whether a folder was written by this program."""
    return (folder / "result.json").is_file() or (folder / "settings.toml").is_file()


def _nearest_folder(target: Path) -> Path:
    """The target, or the nearest folder above it, that exists."""
    for folder in (target, *target.parents):
        if folder.exists():
            return folder
    return Path.cwd()


def _publish(stage: Path, target: Path, entries: Sequence[str]) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        stage.rename(target)
        return
    replaced = stage / ".replaced"
    replaced.mkdir()
    new = [entry for entry in stage.iterdir() if entry != replaced]
    moves = [
        (target / name, replaced / name)
        for name in dict.fromkeys([*entries, *(entry.name for entry in new)])
        if (target / name).exists()
    ]
    moves += [(entry, target / entry.name) for entry in new]
    done: list[tuple[Path, Path]] = []
    try:
        for move in moves:
            done.append(move)
            move[0].rename(move[1])
    except BaseException:
        for source, place in reversed(done):
            if place.exists() and not source.exists():
                place.rename(source)
        raise
