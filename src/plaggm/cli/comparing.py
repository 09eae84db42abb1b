"""The work of ``plaggm compare``: read the table, run the methods, write and print what was found."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import effective_n_jobs
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from plaggm.atomic_files import write_csv
from plaggm.cli.compare import AGREEMENT, EDGES, PICTURE, SCORES, SETTINGS, TABLE, TESTS
from plaggm.cli.confounder_kinds import numbers_of, reference_of, with_levels
from plaggm.cli.messages import InputError
from plaggm.cli.options import as_numbers
from plaggm.cli.samples import (
    Samples,
    find_columns,
    take_samples,
)
from plaggm.cli.setting_options import take_smoothing
from plaggm.cli.settings import FitSettings
from plaggm.cli.time_order import in_time_order, with_runs
from plaggm.cli.variables import left_out_lines, read_frame, table_roles
from plaggm.comparison import COMPARED, METHODS, Choices, Comparison, compare_methods
from plaggm.comparison.methods import check_methods
from plaggm.parameter_types import Criterion, LossName, Temporal
from plaggm.plotting.comparison import plot_comparison
from plaggm.plotting.figure import save_figure
from plaggm.result_archive import library_versions

DPI = 150
# Usual seconds of a fit with cross-validation at twenty variables and a thousand samples.
USUAL = {"paper": 3.0, "kernel": 2.0, "tv-ggm-average": 3.0, "tv-ggm-fused": 8.0}
OTHER = 0.4


@dataclass(frozen=True, slots=True)
class CompareWork:
    """A comparison that is ready to run."""

    samples: Samples
    methods: tuple[str, ...]
    choices: Choices
    resamples: int
    groups: Any
    notices: tuple[str, ...] = ()

    def usual_seconds(self, jobs: int) -> float:
        """Usual duration, for the progress bar."""
        n, p = self.samples.x.shape
        each = sum(USUAL.get(name, OTHER) for name in self.methods) * (p / 20.0) ** 2 * n / 1000.0
        return (1 + self.resamples) * each / effective_n_jobs(jobs)

    def run(self, jobs: int, progress: Callable[[int, int], None]) -> Comparison:
        """Fit all methods."""
        return compare_methods(
            self.samples.x,
            self.samples.confounder,
            methods=self.methods,
            choices=self.choices,
            resamples=self.resamples,
            groups=self.groups,
            runs=self.samples.runs,
            n_jobs=jobs,
            progress=progress,
        )


def read_work(
    settings: FitSettings,
    *,
    kernel: dict[str, Any],
    subject: str | None,
    methods: str | None,
    loss: LossName,
    criterion: Criterion,
    penalties: int,
    folds: int,
    resamples: int,
) -> CompareWork:
    """Read the table and judge everything that can be judged before a fit.

    ``kernel`` holds the settings of the method of that name, None where they were left out.
    """
    names = COMPARED
    if methods is not None:
        names = check_methods(name.strip() for name in methods.split(",") if name.strip())
    source = Path(settings.data)
    frame = read_frame(settings, source)
    owner = None if subject is None else _subject_column(subject, list(frame.columns), source)
    if owner is not None:
        settings = replace(settings, exclude=(*settings.exclude, owner))
    if settings.missing == "em":
        raise InputError(
            "plaggm compare does not take --missing em: only PLA-GGM has a model of missing cells, and all "
            "methods should see the same rows. Use --missing drop or --missing impute."
        )
    table = table_roles(frame, settings, source)
    roles = table.roles
    if owner in roles.confounders:
        raise InputError(f"{owner!r} cannot be the confounder and the subject at once.")
    frame, series = in_time_order(frame, roles, settings, source)
    roles, numbers = numbers_of(frame, roles, settings, source)
    samples = with_levels(take_samples(numbers, roles, settings, source), frame, roles.factors)
    if series is not None:
        samples = with_runs(samples, series, frame.index)
    if samples.note:
        warnings.warn(samples.note, stacklevel=2)
    groups = None if owner is None else frame.loc[samples.x.index, owner]
    choices = Choices(edges=settings.edges)
    return CompareWork(
        samples,
        tuple(names),
        replace(
            choices,
            threshold=as_numbers(settings.threshold),
            reference=reference_of(settings, samples.confounder),
            categorical=roles.factors or None,
            loss=loss,
            criterion=criterion,
            variance=settings.variance,
            smoothing=take_smoothing(kernel, names),
            fdr=choices.fdr if settings.fdr is None else settings.fdr,
            alphas=penalties,
            cv=folds,
            temporal=_temporal(settings.series),
            seed=settings.seed,
            n_jobs=1,
        ),
        resamples,
        groups,
        tuple(left_out_lines(table.odd)),
    )


def _temporal(series: str | int | None) -> Temporal | None:
    return series if series is None or isinstance(series, int) else "ar"


def _subject_column(subject: str, columns: list[str], source: Path) -> str:
    found = find_columns((subject,), columns, "--subject", source)
    if len(found) > 1:
        raise InputError(f"--subject takes one column; {subject!r} names several.")
    return found[0]


def write(found: Comparison, folder: Path) -> None:
    """Tables, picture and settings."""
    short = {"float_format": "%.6g"}
    write_csv(folder / TABLE, found.table(), index=False, **short)
    write_csv(folder / AGREEMENT, found.agreement(), index_label="method", **short)
    write_csv(folder / EDGES, found.edges(), index=False, **short)
    write_csv(folder / TESTS, found.tests(), index=False, **short)
    write_csv(folder / SCORES, found.scores(), index_label="resample", float_format="%.8g")
    told = {
        name: list(attempt.warnings) for name, attempt in found.fits.items() if attempt.warnings
    }
    facts = {**found.settings, "warnings": told, "versions": library_versions()}
    (folder / SETTINGS).write_text(json.dumps(facts, indent=1, default=str), encoding="utf-8")
    save_figure(plot_comparison(found), folder / PICTURE, dpi=DPI)


def show(found: Comparison) -> None:
    """Print the table, and why cells are empty."""
    console = Console()
    table = Table(
        title=f"{found.settings['n_samples']} samples of {len(found.names)} variables; penalties chosen "
        f"by {found.settings['criterion']}",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("method")
    for head in ("edges", "declared by", "agreement", "stability", "held-out", "behind best"):
        table.add_column(head, justify="right")
    rows = found.table()
    for row in rows.itertuples():
        table.add_row(
            row.method,
            "–" if pd.isna(row.edges) else str(row.edges),
            row.declared_by.replace("<=", "≤"),
            _number(row.agreement),
            _number(row.stability),
            _number(row.held_out),
            _behind(row.behind_best, row.behind_best_se),
        )
    console.print(table)
    for row in rows.itertuples():
        if row.reason:
            console.print(f"{row.method}: {row.reason}", markup=False, highlight=False)


def lesson(found: Comparison) -> str:
    """What the numbers say, in one sentence."""
    table = found.table()
    fitted = len(table) - len(found.failures)
    words = f"{fitted} of {len(table)} methods were fitted."
    scored = table[table["behind_best"].notna()]
    if not scored.empty:
        best = scored.loc[scored["held_out"].idxmax()]
        words += f" {METHODS[best['method']].title} predicts held-out samples best"
        if found.settings["resamples"] == 1:
            return f"{words}, in the one resample."
        words += "."
        # Within two standard errors of the best nothing can be said.
        near = scored[
            (scored["behind_best"] <= 2.0 * scored["behind_best_se"].fillna(0.0))
            & (scored["method"] != best["method"])
        ]
        if not near.empty:
            words += f" Not told apart from it: {', '.join(near['method'])}."
    return words


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def _behind(value: float, error: float) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.3f}" if pd.isna(error) else f"{value:.3f} ± {error:.3f}"
