"""Implementation of ``plaggm reproduce``: run the cells, write tables, figure and page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from joblib import effective_n_jobs

from plaggm.atomic_files import write_csv
from plaggm.plotting.figure import save_figure
from plaggm.report.sections import write_markdown
from plaggm.reproduce import (
    ENTRANTS,
    FULL,
    QUICK,
    Cell,
    Plan,
    RatePlan,
    cells_of,
    fitted_slopes,
    rate_cells,
    run_cell,
    run_cells,
    run_rate_cell,
    summarise,
    winners,
)
from plaggm.reproduce.cells import CELLS, Named
from plaggm.reproduce.figures import plot_rates, plot_recovery, plot_structure
from plaggm.reproduce.pages import rates_page, recovery_page
from plaggm.reproduce.plan import KERNEL_SWEEPS
from plaggm.reproduce.provenance import made_by, settings_digest
from plaggm.reproduce.sparsistency import (
    SIMULATION,
    STRUCTURE_METHODS,
    StructurePlan,
    constants_of,
    first_found,
    run_structure_cell,
    structure_cells,
    structure_table,
)
from plaggm.reproduce.structure_page import structure_page
from plaggm.reproduce.tables import cell_table
from plaggm.resume import Store, versioned_key

Records = list[dict[str, Any]]
DPI = 150


class Work(Protocol):
    """An experiment: its cells (one fit each), and how their records become tables, figure and page."""

    @property
    def cells(self) -> Sequence[Named]:
        """All cells, in the order in which they are run."""
        ...

    @property
    def command(self) -> str:
        """The command that makes the page."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that a cell depends on besides its name."""
        ...

    @property
    def fit_cell(self) -> Callable[[Any], dict[str, Any]]:
        """The fit of one cell."""
        ...

    @property
    def page(self) -> str:
        """Name of the page's file."""
        ...

    def write(self, output: Path, records: Records) -> None:
        """Write tables, figure and page."""
        ...

    def conclusion(self, records: Records) -> str:
        """The conclusion in a sentence."""
        ...


@dataclass(frozen=True, slots=True)
class RecoveryWork:
    """``plaggm reproduce recovery``."""

    plan: Plan
    cells: list[Cell]
    command: str

    page = "recovery.md"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that a cell depends on besides its name."""
        return {
            "experiment": "recovery",
            "folds": self.plan.folds,
            "penalties": self.plan.penalties,
            "glasso_penalties": self.plan.glasso_penalties,
            "kernel_sweeps": KERNEL_SWEEPS,
        }

    @property
    def fit_cell(self) -> Callable[[Any], dict[str, Any]]:
        """The fit of one cell."""
        return partial(run_cell, plan=self.plan)

    def write(self, output: Path, records: Records) -> None:
        """Tables, figure and page."""
        summary = summarise(records)
        _write_csv(output / "cells.csv", cell_table(records))
        _write_csv(output / "summary.csv", summary)
        _write_csv(output / "winners.csv", winners(records))
        save_figure(plot_recovery(summary), output / "recovery.png", dpi=DPI)
        picture = output / "recovery.png"
        page = recovery_page(records, self.plan, figure=picture, source=page_source(self))
        write_markdown(output / self.page, page)

    def conclusion(self, records: Records) -> str:
        """The conclusion in a sentence."""
        best = winners(records)
        won = int((best["difference"] > 0.0).sum())
        failed = sum(bool(record["reason"]) for record in records)
        return (
            f"{len(records)} fits, {failed} of which failed with a reason. PLA-GGM has the higher AUC in "
            f"{won} of {len(best)} settings."
        )


@dataclass(frozen=True, slots=True)
class RatesWork:
    """``plaggm reproduce rates``."""

    plan: RatePlan
    command: str

    page = "rates.md"

    @property
    def cells(self) -> Sequence[Named]:
        """All cells of the experiment."""
        return rate_cells(self.plan)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that a cell depends on besides its name."""
        return {
            "experiment": "rates",
            "folds": self.plan.folds,
            "penalties": self.plan.penalties,
            "kernel_sweeps": KERNEL_SWEEPS,
        }

    @property
    def fit_cell(self) -> Callable[[Any], dict[str, Any]]:
        """The fit of one cell."""
        return partial(run_rate_cell, plan=self.plan)

    def write(self, output: Path, records: Records) -> None:
        """Tables, figure and page."""
        _write_csv(output / "cells.csv", cell_table(records))
        slopes = fitted_slopes(records)
        _write_csv(output / "slopes.csv", slopes)
        save_figure(plot_rates(records), output / "rates.png", dpi=DPI)
        picture = output / "rates.png"
        page = rates_page(records, self.plan, figure=picture, source=page_source(self))
        write_markdown(output / self.page, page)

    def conclusion(self, records: Records) -> str:
        """The conclusion in a sentence."""
        slopes = fitted_slopes(records).set_index("method")["slope"]
        words = ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items())
        return f"Slopes of log error against log n: {words}."


@dataclass(frozen=True, slots=True)
class StructureWork:
    """``plaggm reproduce sparsistency``."""

    plan: StructurePlan
    command: str

    page = "sparsistency.md"

    @property
    def cells(self) -> Sequence[Named]:
        """All cells of the experiment."""
        return structure_cells(self.plan)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that a cell depends on besides its name."""
        return {
            "experiment": "sparsistency",
            "simulation": SIMULATION,
            "constants": {method: constants_of(method) for method in STRUCTURE_METHODS},
            "kernel_sweeps": KERNEL_SWEEPS,
        }

    @property
    def fit_cell(self) -> Callable[[Any], dict[str, Any]]:
        """The fit of one cell."""
        return run_structure_cell

    def write(self, output: Path, records: Records) -> None:
        """Tables, figure and page."""
        table = structure_table(records)
        _write_csv(output / "structure.csv", table)
        picture = output / "sparsistency.png"
        save_figure(plot_structure(table), picture, dpi=DPI)
        page = structure_page(records, self.plan, figure=picture, source=page_source(self))
        write_markdown(output / self.page, page)

    def conclusion(self, records: Records) -> str:
        """The conclusion in a sentence."""
        found = first_found(structure_table(records))
        words = []
        for method, row in found.iterrows():
            known = [f"{row[p]:g} (p = {p})" for p in row.index if pd.notna(row[p])]
            words.append(f"{method} {', '.join(known) or 'at no size'}")
        return f"n / log p from which the exact structure is found: {'; '.join(words)}."


def usual_seconds(work: Work, jobs: int) -> float:
    """Usual duration of an experiment, for the progress bar."""
    return sum(cell.usual_seconds() for cell in work.cells) / effective_n_jobs(jobs)


def run_work(
    work: Work, output: Path, *, jobs: int, restart: bool, progress: Callable[[float], None]
) -> Records:
    """Run the cells of an experiment that are not stored yet."""
    key, store = versioned_key(work.settings), _store(output, restart)
    return run_cells(work.cells, work.fit_cell, store, key, n_jobs=jobs, progress=progress)


def page_settings(work: Work) -> str:
    """Digest of the settings that the page of an experiment depends on."""
    return settings_digest(cells=[cell.name for cell in work.cells], **work.settings)


def page_source(work: Work) -> str:
    """The sentence on an experiment's page that names its command, versions and settings."""
    return made_by(work.command, page_settings(work))


def recovery_work(
    quick: bool, sizes: tuple[int, ...], methods: Sequence[str], designs: tuple[str, ...] = ()
) -> RecoveryWork:
    """The requested cells; raises ValueError with the allowed values for unknown ones."""
    plan = QUICK if quick else FULL
    unknown = [name for name in methods if name not in ENTRANTS]
    if unknown:
        raise ValueError(
            f"There is no method {unknown[0]!r} in this experiment. Choose among {', '.join(ENTRANTS)}."
        )
    cells = cells_of(plan, sizes=sizes, entrants=tuple(methods), designs=designs)
    if not cells:
        known = sorted({cell.p for cell in cells_of(plan)})
        raise ValueError(
            f"The {plan.name} experiment has no such cell; it has p = {', '.join(map(str, known))}"
            f"{' and no graphical lasso' if quick else ''}."
        )
    command = "plaggm reproduce recovery" + (" --quick" if quick else "")
    command += "".join(f" --p {p}" for p in sizes)
    command += "".join(f" --design {name}" for name in designs)
    command += f" --methods {','.join(methods)}" if methods else ""
    return RecoveryWork(plan, cells, command)


def rates_work(quick: bool) -> RatesWork:
    """All cells of the experiment."""
    plan = RatePlan.quick() if quick else RatePlan()
    return RatesWork(plan, "plaggm reproduce rates" + (" --quick" if quick else ""))


def structure_work(quick: bool) -> StructureWork:
    """All cells of the experiment."""
    plan = StructurePlan.quick() if quick else StructurePlan()
    return StructureWork(plan, "plaggm reproduce sparsistency" + (" --quick" if quick else ""))


def _store(output: Path, restart: bool) -> Store:
    """Store of the finished cells in an output folder, which is emptied first for a restart."""
    folder = output / CELLS
    if restart and folder.is_dir():
        shutil.rmtree(folder)
    # The folder of cells marks the output as that of an experiment, even if none is finished yet.
    folder.mkdir(parents=True, exist_ok=True)
    return Store(output)


def _write_csv(path: Path, table: pd.DataFrame) -> None:
    write_csv(path, table, index=False, float_format="%.6g")
