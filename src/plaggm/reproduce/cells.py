"""The cells of an experiment, each stored as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from joblib import delayed

from plaggm.resume import Store
from plaggm.selection.cluster import keeping
from plaggm.selection.parallel import in_turn

# Folder of finished cells in a store.
CELLS = "cells"


class Named(Protocol):
    """A task with the name of its file and its usual time."""

    @property
    def name(self) -> str:
        """Name of the file that keeps the cell."""
        ...

    def usual_seconds(self) -> float:
        """Usual duration, for the progress bar."""
        ...


def run_cells(
    cells: Sequence[Any],
    work: Callable[[Any], dict[str, Any]],
    store: Store,
    key: str,
    *,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Run the cells that are not in the store yet, each stored as soon as it is done.

    Parameters
    ----------
    cells : sequence of Named
    work : callable
        Makes the record of a cell. It must not depend on the order.
    store : Store
    key : str
        Settings that the cells depend on besides their names, see :func:`plaggm.resume.versioned_key`.
    n_jobs : int, optional
        Processes, unless a joblib backend is active.
    progress : callable, optional
        Called with the part that is done, from 0 to 1, by the usual times of the cells.

    Returns
    -------
    list of dict
        Records in the order of the cells.
    """
    records = {cell.name: store.get_record(CELLS, cell.name, key) for cell in cells}
    missing = [cell for cell in cells if records[cell.name] is None]
    total = sum(cell.usual_seconds() for cell in missing)
    done = 0.0
    # Each worker writes its own cells: what is finished survives the end of the run.
    run = in_turn(n_jobs, [cell.name for cell in missing], prefer="processes")
    records_done = run(delayed(_do)(cell, work, store, key) for cell in missing)
    with keeping(
        f"Finished cells are kept in {store.folder / CELLS}; run the same again to continue."
    ):
        for cell, record in zip(missing, records_done, strict=True):
            records[cell.name] = record
            done += cell.usual_seconds()
            if progress is not None:
                progress(min(done / total, 1.0))
    return [record for cell in cells if (record := records[cell.name]) is not None]


def _do(
    cell: Named, work: Callable[[Any], dict[str, Any]], store: Store, key: str
) -> dict[str, Any]:
    record = work(cell)
    store.put_record(CELLS, cell.name, key, record)
    return record
