"""Finished cells on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from joblib import delayed

from plaggm.atomic_files import write_file
from plaggm.result import library_versions
from plaggm.selection.cluster import keeping
from plaggm.selection.parallel import in_turn


class Named(Protocol):
    """A piece of work with the name of its file and its usual time."""

    @property
    def name(self) -> str:
        """Of its file."""
        ...

    def usual_seconds(self) -> float:
        """For the progress bar."""
        ...


@dataclass(frozen=True, slots=True)
class CellStore:
    """A folder with one JSON file for each finished cell.

    Attributes
    ----------
    folder : Path
    setting : str
        What the cells depend on besides their names; cells of another setting count as missing.
    """

    folder: Path
    setting: str

    @classmethod
    def of(cls, folder: Path, **setting: Any) -> CellStore:
        """A store whose setting is a digest of the arguments and the package's version."""
        version = library_versions()["plaggm"]
        text = json.dumps({"plaggm": version, **setting}, sort_keys=True, default=str)
        # Worker processes may stand in another folder.
        return cls(folder.absolute(), hashlib.sha256(text.encode()).hexdigest()[:16])

    def read(self, name: str) -> dict[str, Any] | None:
        """A finished cell, or None if it is missing, unreadable or of another setting."""
        try:
            found = json.loads(self._path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        usable = isinstance(found, dict) and found.get("setting") == self.setting
        return found["record"] if usable else None

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Keep a finished cell; the file appears whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"setting": self.setting, "record": dict(record)}, indent=1)
        write_file(self._path(name), text)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def run_cells(
    cells: Sequence[Any],
    work: Callable[[Any], dict[str, Any]],
    store: CellStore,
    *,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Do the cells that are not in the store yet, each kept as soon as it is done.

    Parameters
    ----------
    cells : sequence of Named
    work : callable
        From a cell to its record. It must not depend on the order.
    store : CellStore
    n_jobs : int, optional
        Processes, unless a joblib backend is active.
    progress : callable, optional
        Called with the part that is done, from 0 to 1, by the usual times of the cells.

    Returns
    -------
    list of dict
        In the order of the cells.
    """
    records = {cell.name: store.read(cell.name) for cell in cells}
    missing = [cell for cell in cells if records[cell.name] is None]
    total = sum(cell.usual_seconds() for cell in missing)
    done = 0.0
    # Each worker writes its own cells: what is finished survives the end of the run.
    run = in_turn(n_jobs, [cell.name for cell in missing], prefer="processes")
    records_done = run(delayed(_do)(cell, work, store) for cell in missing)
    with keeping(f"Finished cells are kept in {store.folder}; run the same again to continue."):
        for cell, record in zip(missing, records_done, strict=True):
            records[cell.name] = record
            done += cell.usual_seconds()
            if progress is not None:
                progress(min(done / total, 1.0))
    return [record for cell in cells if (record := records[cell.name]) is not None]


def _do(cell: Named, work: Callable[[Any], dict[str, Any]], store: CellStore) -> dict[str, Any]:
    record = work(cell)
    store.write(cell.name, record)
    return record
