"""Implementation of ``plaggm compare``: read the table, run the methods, write and print the results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import effective_n_jobs
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from plaggm.atomic_files import write_csv
from plaggm.cli.column_roles import one_column
from plaggm.cli.compare import (
    AGREEMENT,
    EDGES,
    PAGE,
    PICTURE,
    SCORES,
    SETTINGS,
    TABLE,
    TESTS,
    Effort,
)
from plaggm.cli.confounder_kinds import numbers_of, reference_of
from plaggm.cli.group_levels import level_samples
from plaggm.cli.messages import InputError
from plaggm.cli.option_values import as_numbers
from plaggm.cli.samples import Samples, labelled_rows, need_labels
from plaggm.cli.setting_options import take_smoothing
from plaggm.cli.settings import FitSettings
from plaggm.cli.time_order import in_time_order
from plaggm.cli.variable_families import family_choice, variable_families
from plaggm.cli.variables import left_out_lines, read_frame, table_roles
from plaggm.comparison import METHODS, Choices, Comparison, compare_methods
from plaggm.comparison.cost import expected_seconds, usual_seconds
from plaggm.comparison.meaning import reference_paragraph
from plaggm.comparison.methods import check_methods, compared
from plaggm.parameter_types import LossName
from plaggm.plotting.comparison import plot_comparison
from plaggm.plotting.figure import save_figure
from plaggm.report.comparison import COLUMNS, comparison_page
from plaggm.report.sections import write_html
from plaggm.result_archive import library_versions
from plaggm.wording import listed

DPI = 150


@dataclass(frozen=True, slots=True)
class CompareWork:
    """A comparison that is ready to run.

    Attributes
    ----------
    samples : Samples
    methods : tuple of str
        Names of the methods, in the order in which they are fitted.
    choices : Choices
        Settings that all methods share.
    resamples : int
        Number of resamples for stability and prediction.
    groups : Series or None
        Subject of every row; None for independent rows.
    notices : tuple of str
        Lines about columns that were left out, and about families that were inferred.
    """

    samples: Samples
    methods: tuple[str, ...]
    choices: Choices
    resamples: int
    groups: pd.Series | None
    notices: tuple[str, ...] = ()

    def usual_seconds(self, names: Iterable[str]) -> dict[str, float]:
        """Usual seconds of methods, in one process."""
        n, p = self.samples.x.shape
        folds = self.choices.cv if self.choices.criterion == "cv" else None
        return {
            name: usual_seconds(
                name,
                n,
                p,
                fits=1 + self.resamples,
                folds=folds if isinstance(folds, int) else None,
                averages=self.averages,
                gaussian=self.choices.gaussian,
            )
            for name in names
        }

    def steps(self, jobs: int) -> dict[str, float]:
        """The step of every method with its usual duration, for the progress bar."""
        usual = self.usual_seconds(self.methods)
        return {step_of(name): usual[name] / effective_n_jobs(jobs) for name in self.methods}

    @property
    def averages(self) -> bool:
        """Whether the reference is the average along every confounder."""
        asked = self.choices.reference
        kinds = set(asked.values()) if isinstance(asked, Mapping) else {asked}
        return kinds == {"average"}

    def slow_methods(self) -> tuple[str, ...]:
        """Slow methods that were not requested.

        With the average as the reference, the average of TV-GGM is TV-GGM itself.
        """
        return tuple(
            name
            for name, method in METHODS.items()
            if method.slow
            and self.choices.gaussian
            and name not in self.methods
            and not (name == "tv-ggm-average" and self.averages and "tv-ggm" in self.methods)
        )

    def left_out(self, jobs: int, measured: Mapping[str, float]) -> str:
        """A sentence on the slow methods that are skipped, and their expected times on this table.

        Parameters
        ----------
        jobs : int
        measured : mapping of str to float
            Seconds that each of the other methods took.

        Returns
        -------
        str
            Empty if none is skipped.
        """
        slow = self.slow_methods()
        if not slow:
            return ""
        usual = self.usual_seconds(METHODS)
        cost = expected_seconds(slow, usual, measured)
        each = [f"{name} (about {duration(cost[name] / effective_n_jobs(jobs))})" for name in slow]
        return f"Run only on request: {listed(each)}. --methods all runs every method."

    def run(self, jobs: int, progress: Callable[[str, int, int], None]) -> Comparison:
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
    methods: tuple[str, ...],
    loss: LossName,
    effort: Effort,
) -> CompareWork:
    """Read the table and check everything that can be checked before a fit.

    Parameters
    ----------
    settings : FitSettings
    kernel : dict
        Settings of the method ``kernel``, None where they were left out.
    subject : str or None
        Column with the subject of each row.
    methods : tuple of str
        Names of the methods, or "all"; the default ones if empty.
    loss : {"pseudo", "glasso"}
        Loss of the related methods.
    effort : Effort
    """
    source = Path(settings.data)
    frame = read_frame(settings, source)
    owner = one_column(subject, list(frame.columns), "--subject", source)
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
    labelled, note = labelled_rows(table.frame, roles, settings, owner)
    if owner is not None:
        need_labels(labelled, owner, "--subject", source)
    frame, series = in_time_order(labelled, roles, settings, source)
    roles, numbers = numbers_of(frame, roles, settings, source)
    ((_, samples),) = level_samples(numbers, frame, series, roles, settings, source)
    for told in (note, samples.note):
        if told:
            warnings.warn(told, stacklevel=2)
    groups = None if owner is None else frame.loc[samples.x.index, owner]
    families = variable_families(settings.family, samples.x, source)
    choices = Choices(edges=settings.edges, family=family_choice(families.setting))
    names = _asked_methods(methods, choices)
    return CompareWork(
        samples,
        names,
        replace(
            choices,
            threshold=as_numbers(settings.threshold),
            reference=reference_of(settings, samples.confounder),
            categorical=roles.factors or None,
            loss=loss,
            criterion=effort.criterion,
            variance=settings.variance,
            smoothing=take_smoothing(kernel, names),
            fdr=choices.fdr if settings.fdr is None else settings.fdr,
            alphas=effort.penalties,
            cv=effort.folds,
            temporal=settings.series,
            seed=settings.seed,
            n_jobs=1,
        ),
        effort.resamples,
        groups,
        (*left_out_lines(table.findings), *families.lines),
    )


def _asked_methods(methods: tuple[str, ...], choices: Choices) -> tuple[str, ...]:
    """The methods that ``--methods`` selects: the default ones, all that support the variables, or some."""
    if not methods:
        return compared(choices)
    if methods == ("all",):
        return tuple(
            name
            for name, one in METHODS.items()
            if (choices.gaussian and one.usual) or one.families
        )
    return check_methods(methods)


def write(found: Comparison, folder: Path, notes: Sequence[str] = ()) -> None:
    """Write tables, picture, page and settings.

    Parameters
    ----------
    found : Comparison
    folder : Path
    notes : sequence of str
        Further sentences at the top of the page.
    """
    short = {"float_format": "%.6g"}
    write_csv(folder / TABLE, found.table(), index=False, **short)
    write_csv(folder / AGREEMENT, found.agreement(), index_label="method", **short)
    write_csv(folder / EDGES, found.edges(), index=False, **short)
    write_csv(folder / TESTS, found.tests(), index=False, **short)
    write_csv(folder / SCORES, found.scores(), index_label="resample", float_format="%.8g")
    told = {
        name: list(attempt.warnings) for name, attempt in found.fits.items() if attempt.warnings
    }
    facts = {
        **found.settings,
        "warnings": told,
        "seconds": {name: round(took, 2) for name, took in found.seconds().items()},
        "versions": library_versions(),
    }
    (folder / SETTINGS).write_text(json.dumps(facts, indent=1, default=str), encoding="utf-8")
    save_figure(plot_comparison(found), folder / PICTURE, dpi=DPI)
    words = [one for one in (conclusion(found), *notes) if one]
    write_html(folder / PAGE, comparison_page(found, words, folder / PICTURE))


def show(found: Comparison) -> None:
    """Print the table, best prediction first, with an explanation and the reasons for empty cells."""
    console = Console()
    table = Table(
        title=f"{found.settings['n_samples']} samples of {len(found.names)} variables; penalties chosen "
        f"by {found.settings['criterion']}",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("method")
    for head in ("behind best", "stability", "agreement", "edges"):
        table.add_column(head, justify="right")
    for head in ("declared by", "network"):
        table.add_column(head)
    rows = found.table().sort_values("behind_best", kind="stable", na_position="last")
    for row in rows.itertuples():
        table.add_row(
            row.method,
            _behind(row.behind_best, row.behind_best_se),
            _number(row.stability),
            _number(row.agreement),
            "–" if pd.isna(row.edges) else str(row.edges),
            row.declared_by.replace("<=", "≤"),
            row.network,
        )
    console.print(table)
    for words in (
        COLUMNS,
        reference_paragraph(found.settings["references"], gaussian=found.gaussian),
    ):
        console.print(words, markup=False, highlight=False)
    for row in rows.itertuples():
        if row.reason:
            console.print(f"{row.method}: {row.reason}", markup=False, highlight=False)


def conclusion(found: Comparison) -> str:
    """The conclusion in one sentence."""
    table = found.table()
    fitted = len(table) - len(found.failures)
    words = f"{fitted} of {len(table)} methods were fitted."
    scored = table[table["behind_best"].notna()]
    if not scored.empty:
        best = scored.loc[scored["held_out"].idxmax()]
        words += f" {best['title']} predicts held-out samples best"
        if found.settings["resamples"] == 1:
            return f"{words}, in the one resample."
        words += "."
        # Methods within two standard errors of the best cannot be distinguished from it.
        near = scored[
            (scored["behind_best"] <= 2.0 * scored["behind_best_se"].fillna(0.0))
            & (scored["method"] != best["method"])
        ]
        if not near.empty:
            words += f" Not told apart from it: {', '.join(near['method'])}."
    return words


def step_of(method: str) -> str:
    """The label of the progress bar while a method is fitted."""
    return f"fitting {method}"


def duration(seconds: float) -> str:
    """A rough duration in words.

    Examples
    --------
    >>> duration(8.2), duration(75.0), duration(1500.0)
    ('8 s', '75 s', '25 min')
    """
    return f"{max(1.0, seconds):.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def _behind(value: float, error: float) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.3f}" if pd.isna(error) else f"{value:.3f} ± {error:.3f}"
