"""Output folders that are replaced atomically, by one run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from plaggm.atomic_files import HIDDEN, remove_unfinished
from plaggm.cli.messages import InputError
from plaggm.publishing import locked, staged

OTHER_FOLDER = "Choose another folder with --output."


@contextmanager
def staged_folder(output: Path, entries: Sequence[str], *, force: bool) -> Iterator[Path]:
    """Yield a temporary folder whose content replaces that of ``output``, unless an error occurs.

    Only the entries of an earlier run are replaced, all at once: those that this run does not write again
    are removed.

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
        A new folder on the same file system as ``output``.
    """
    with write_errors(output):
        folder = output.resolve()
        with staged(
            folder,
            replaceable=entries,
            check=lambda: _check_folder(output, folder, entries, force=force),
        ) as stage:
            stage.mkdir()
            yield stage


@contextmanager
def output_folder(
    output: Path, remedy: str = OTHER_FOLDER, *, below: bool = False
) -> Iterator[None]:
    """Lock a folder whose files are written one by one.

    Parameters
    ----------
    output : Path
        Need not exist.
    remedy : str
        Advice for the case that the folder cannot be written to.
    below : bool
        Whether unfinished files of killed runs are removed from subfolders, too.
    """
    with write_errors(output, remedy), locked(output.resolve()):
        remove_unfinished(output, below=below)
        yield


@contextmanager
def write_errors(output: Path, remedy: str = OTHER_FOLDER) -> Iterator[None]:
    """Turn errors of the file system into one message, about ``output`` unless they name a file."""
    try:
        yield
    except OSError as error:
        if (
            isinstance(error, ConnectionError | TimeoutError)
            or type(error).__module__ != "builtins"
        ):
            raise
        if error.errno is None and type(error) is not OSError:
            # Message of plaggm itself, such as that there is no result.
            raise InputError(str(error)) from error
        reason = error.strerror or error
        if error.filename is not None and not _concerns(output, Path(str(error.filename))):
            raise InputError(f"Cannot use {error.filename} ({reason}).") from error
        raise InputError(f"Cannot write to {output} ({reason}). {remedy}") from error


def _concerns(output: Path, file: Path) -> bool:
    """Whether a file is in an output folder, in the hidden one beside it, or a folder around them."""
    folder, place = output.resolve(), file.absolute()
    around = folder.is_relative_to(place) or place.is_relative_to(folder)
    return around or any(part.endswith(HIDDEN) for part in place.parts)


def refuse_file(output: Path) -> None:
    """Raise for an output folder that is a file."""
    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file. Choose a folder with --output.")


def is_empty(folder: Path, *, but: str = "") -> bool:
    """Whether a folder contains nothing except a lock and an entry with the name ``but``."""
    return all(entry.name in (HIDDEN, but) for entry in folder.iterdir())


def _check_folder(output: Path, folder: Path, entries: Sequence[str], *, force: bool) -> None:
    refuse_file(output)
    if not folder.exists():
        return
    if not force and not is_empty(folder):
        raise InputError(
            f"{output} is not empty. Choose another folder with --output, or pass --force to replace "
            "what an earlier run wrote there."
        )
    if _is_ours(folder):
        return
    for name in entries:
        entry = folder / name
        if entry.is_dir() and not _is_ours(entry):
            raise InputError(
                f"{output / name} is not a plaggm result, so --force leaves it alone. Choose another "
                "folder with --output."
            )


def _is_ours(folder: Path) -> bool:
    """Whether a folder was written by this program."""
    return (folder / "result.json").is_file() or (folder / "settings.toml").is_file()
