"""Pages with the design and the results of experiments, and with details that the paper left open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from plaggm.report.sections import Page, Picture, Section, Table, text_table
from plaggm.reproduce.plan import DESIGNS, ENTRANTS, FIRST_SEED, KERNEL_SWEEPS, Plan
from plaggm.reproduce.rates import RATE_METHODS, SIMULATION, VARIABLES, RatePlan, fitted_slopes
from plaggm.reproduce.recovery import GLASSO_RATIO
from plaggm.reproduce.tables import cell_table, summarise, winners

Records = Sequence[dict[str, Any]]


def recovery_page(records: Records, plan: Plan, *, figure: Path, source: str) -> Page:
    """The page of the recovery experiment.

    Parameters
    ----------
    records : sequence of dict
    plan : Plan
    figure : Path
        The picture.
    source : str
        Where its numbers come from, see :func:`plaggm.reproduce.provenance.made_by`.

    Returns
    -------
    Page
    """
    summary = summarise(records)
    present = [name for name in DESIGNS if name in set(summary["design"])]
    caption = "Area under the ROC curve against the number of variables"
    sections = [
        Section("", pictures=(Picture(figure, caption),)),
        Section(
            "",
            (
                "Mean area under the ROC curve of the edges at the penalty that cross-validation chose; "
                "bars are standard errors over seeds. Hollow marks are fits by the graphical lasso, all "
                "others use the pseudo-likelihood, so that they differ in their treatment of the "
                "confounder only.",
            ),
        ),
        Section(
            "Best of PLA-GGM against the best related method",
            (
                "Both sides are the best of their kind in each row, among those with the most seeds; the "
                "interval is 1.96 standard errors of the paired difference over seeds.",
            ),
            tables=(_winner_table(winners(records)),),
        ),
        Section("All methods"),
    ]
    for name in present:
        table = _auc_table(summary[summary["design"] == name])
        words = (DESIGNS[name].meaning,)
        sections.append(Section(DESIGNS[name].title, words, tables=(table,), level=3))
    return Page(
        "Recovery of simulated networks (the paper's Figure 1)",
        summary=(source,),
        sections=(
            *sections,
            *failures(records),
            Section(
                "What the paper left open, and what was chosen",
                items=_recovery_choices(plan, records),
            ),
        ),
    )


def rates_page(records: Records, plan: RatePlan, *, figure: Path, source: str) -> Page:
    """The page of the rates experiment; see :func:`recovery_page`."""
    frame = pd.DataFrame(list(records))
    half = plan.sizes[len(plan.sizes) // 2]
    slopes = (
        f"Least squares of log error on log n over n = {plan.sizes[0]} to {plan.sizes[-1]}, with 1.96 "
        f"standard errors over {plan.seeds} seeds; and from n = {half} on, where the rates, which are "
        "about large n, should show. Theorem 1 promises −1/2 for PLA-GGM; ordinary kernel estimates "
        "reach −2/5."
    )
    choices = (
        (
            "Data.",
            f"`simulate_paper({VARIABLES}, n=n, {_arguments(SIMULATION)})`: p = {VARIABLES}, the paper's "
            "f of |g| on an even grid from −400 to 399, g* = 40, so that a tenth of the samples is "
            "unconfounded at every n. With the paper's g* = 10 it would be a fortieth.",
        ),
        (
            "Penalty.",
            f"{plan.folds}-fold cross-validation over {plan.penalties} penalties.",
        ),
        (
            "Threshold.",
            "Methods marked so are told g*, as Theorem 1 has it. The bandwidths of the kernels follow "
            "Assumption 1.",
        ),
        ("TV-GGM.", "Read at g = 0, local constant. All methods use the pseudo-likelihood."),
        ("Iterations.", f"Kernel estimators stop after {KERNEL_SWEEPS} sweeps at each penalty."),
    )
    return Page(
        "Error of the baseline network against the number of samples",
        summary=(source,),
        sections=(
            Section(
                "",
                pictures=(Picture(figure, "Error against the number of samples on log axes"),),
            ),
            Section("Fitted slopes", (slopes,), tables=(_slope_table(records, half),)),
            Section("Mean errors (Frobenius)", tables=(_error_table(frame, "error"),)),
            Section(
                "",
                ("With the best penalty of the path, which needs the truth:",),
                tables=(_error_table(frame, "best_error"),),
            ),
            *failures(records),
            Section("What was chosen", items=choices),
        ),
    )


def _winner_table(table: pd.DataFrame) -> Table:
    heads = [
        "design",
        "p",
        "best PLA-GGM",
        "AUC",
        "best related method",
        "AUC",
        "difference",
        "seeds",
    ]
    rows = [
        [
            DESIGNS[row.design].title,
            str(row.p),
            ENTRANTS[row.ours].title,
            _number(row.our_auc),
            ENTRANTS[row.related].title,
            _number(row.related_auc),
            f"{row.difference:+.3f} ({row.low:+.3f} to {row.high:+.3f})"
            if row.seeds > 1
            else f"{row.difference:+.3f}",
            str(row.seeds),
        ]
        for row in table.itertuples()
    ]
    return text_table(heads, rows)


def _auc_table(own: pd.DataFrame) -> Table:
    sizes = sorted(own["p"].unique())
    rows = []
    for name in [entrant for entrant in ENTRANTS if entrant in set(own["entrant"])]:
        cells = [ENTRANTS[name].title]
        for p in sizes:
            found = own[(own["entrant"] == name) & (own["p"] == p)]
            cells.append(_cell(found.iloc[0]) if len(found) else "not run")
        rows.append(cells)
    return text_table(["", *[f"p = {p}" for p in sizes]], rows)


def _cell(row: pd.Series) -> str:
    """Mean AUC, its error, the best of the path and the number of seeds."""
    if pd.isna(row["auc"]):
        return "failed"
    error = "" if pd.isna(row["auc_se"]) else f" ± {row['auc_se']:.3f}"
    seeds = row["seeds"] - row["failed"]
    return f"{row['auc']:.3f}{error} (path {row['best_path_auc']:.3f}; {seeds})"


def _slope_table(records: Records, half: int) -> Table:
    columns = [
        fitted_slopes(records, smallest=smallest, measure=measure).set_index("method")
        for measure in ("error", "best_error")
        for smallest in (0, half)
    ]
    heads = [
        "", "promised", "chosen penalty, all n", f"n ≥ {half}",
        "best penalty, all n", f"n ≥ {half}",
    ]  # fmt: skip
    rows = []
    for method, entrant in RATE_METHODS.items():
        if method not in columns[0].index:
            continue
        promised = "–" if entrant.promised is None else f"{entrant.promised:.1f}"
        cells = [entrant.title, promised]
        for table in columns:
            row = table.loc[method] if method in table.index else None
            cells.append(
                "–"
                if row is None
                else f"{row['slope']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
            )
        rows.append(cells)
    return text_table(heads, rows)


def _error_table(frame: pd.DataFrame, measure: str) -> Table:
    table = frame.pivot_table(index="n", columns="method", values=measure)
    names = [method for method in RATE_METHODS if method in table]
    return text_table(
        ["n", *[RATE_METHODS[name].title for name in names]],
        [[str(n), *[_number(table.loc[n, name]) for name in names]] for n in table.index],
    )


def failures(records: Records) -> list[Section]:
    """Why cells are empty, each reason once."""
    frame = cell_table(records)
    failed = frame[frame["reason"] != ""]
    if failed.empty:
        return []
    key = "entrant" if "entrant" in failed else "method"
    size = "p" if "p" in failed else "n"
    items = [
        (
            f"{name}, {size} = {value}:",
            f"{len(part)} of {len(frame[(frame[key] == name) & (frame[size] == value)])} fits. "
            f"{part['reason'].iloc[0]}",
        )
        for (name, value), part in failed.groupby([key, size], sort=False)
    ]
    return [Section("Fits that failed", items=tuple(items))]


def _recovery_choices(plan: Plan, records: Records) -> tuple[tuple[str, str], ...]:
    frame = cell_table(records)
    counts = frame.groupby(["design", "p"])["seed"].nunique()
    seeds = "; ".join(
        f"{DESIGNS[design].title}: "
        + ", ".join(f"p = {p}: {counts[design, p]}" for p in sorted(counts[design].index))
        for design in [name for name in DESIGNS if name in counts.index.get_level_values(0)]
    )
    return (
        (
            "f.",
            "The printed f is not continuous and, corrected, is odd; the designs above are the readings of "
            "it. With an odd f the average of R over the samples is zero, so that a method which ignores "
            "the confounder estimates Ω0 itself.",
        ),
        (
            "Scale of Ω0 and W.",
            "f reaches ±390, so W must be scaled for the precision matrix to be positive definite: Ω0 has "
            "spectral radius 0.35 and f(g) W at most 0.6, unless a design says otherwise. Only with f(|g|) "
            "and W positive definite nothing has to be scaled, which is a design of its own.",
        ),
        (
            "Values.",
            "Edges of Ω0 are uniform on ±[1/2, 1] before they are scaled, all entries of W standard "
            "normal.",
        ),
        (
            "Penalties.",
            f"{plan.penalties} on glmnet's grid, {plan.folds} random folds. The graphical lasso has "
            f"{plan.glasso_penalties} from its largest down to {GLASSO_RATIO:g} of it.",
        ),
        (
            "Losses of the related methods.",
            "Section 5.1 of the paper names the graphical lasso for CON-GGM and LR-GGM; it is there where "
            "it was run. The pseudo-likelihood isolates the treatment of the confounder.",
        ),
        (
            "g*.",
            "10, as the simulation has it (100 in the design that says so), for the estimators marked as "
            "knowing it; otherwise each has its automatic choice.",
        ),
        (
            "AUC.",
            "Pairs ranked by |Ω̂0| at the chosen penalty; pairs that are not selected are tied. An empty "
            "network has 0.5. In brackets the largest AUC of the path, which needs the truth.",
        ),
        (
            "Printed estimator.",
            "`smoother='kernel', indicator='soft', variance='unit'` in the form of Lemma 2, the bandwidth "
            "of Assumption 1, on the data as they are.",
        ),
        (
            "TV-GGM.",
            "Gaussian kernel with the bandwidth of Assumption 1, local constant, read at g = 0 or averaged "
            "over 20 points; fused over 9 bins with equal penalties on entries and differences.",
        ),
        ("Iterations.", f"Kernel estimators stop after {KERNEL_SWEEPS} sweeps at each penalty."),
        (
            "Seeds.",
            f"{seeds}, from {FIRST_SEED}: nothing was settled on these data sets. Fewer for the averaged "
            "TV-GGM and the graphical lasso; the number stands in each cell.",
        ),
    )


def _arguments(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"
