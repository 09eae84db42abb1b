"""Fit all methods to one data set, and to random subsets of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd
from joblib import delayed

from plaggm.arguments import check_count, check_jobs
from plaggm.array_types import Index
from plaggm.comparison.attempts import Attempt, attempt
from plaggm.comparison.choices import Choices
from plaggm.comparison.comparison import Comparison
from plaggm.comparison.methods import METHODS, Estimator, build_method, check_methods, compared
from plaggm.comparison.network import Network
from plaggm.comparison.resamples import LEARN, draw_resamples
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike, as_confounder, as_table
from plaggm.estimators.missing_rows import complete_rows
from plaggm.estimators.reference_choice import refer, reference_labels
from plaggm.estimators.serial import NO_RUNS, run_numbers
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.related.series_filter import used_runs
from plaggm.selection.parallel import in_turn

# Smallest number of groups.
FEWEST_GROUPS = 4


def compare_methods(
    X: TableLike,
    confounder: ConfounderLike,
    *,
    methods: Sequence[str] | None = None,
    choices: Choices | None = None,
    resamples: int = 10,
    groups: LabelsLike | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    runs: LabelsLike | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Fit methods to all samples, and to random subsets of them that are scored on the other samples.

    The penalty is chosen in every fit. Edges are declared by the tests of PLA-GGM, or by the t test of the
    partial correlations of a related method's columns. TV-GGM and MRF have no tests; their edges are
    declared by the penalty. For methods that cannot be fitted the comparison has the reason.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables, one row for each sample.
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
        Confounders of the same rows.
    methods : sequence of str, optional
        Keys of :data:`plaggm.comparison.METHODS`; by default all that are not slow and allow the families
        of the variables.
    choices : Choices, optional
        Settings that all methods share; ``seed`` also draws the resamples.
    resamples : int
        Number of random subsets of three quarters of the samples; 0 for no stability and no prediction.
    groups : array of shape (n,), optional
        Group of every row, such as the subject. Groups are never divided, neither in the resamples nor in
        the folds of the cross-validation.
    missing : {"refuse", "drop"}, default="refuse"
        Whether missing values raise an error or their rows are left out. ``"em"`` is for PLA-GGM alone:
        the other methods have no model of missing cells, and all should see the same rows.
    runs : array of shape (n,), optional
        Run of every row; only with ``choices.temporal``. Resamples are then drawn from contiguous blocks of
        rows (or from groups), and a series ends where rows are left out.
    n_jobs : int, optional
        Number of processes, on which the result does not depend. An active joblib backend is used instead;
        workers of a Dask cluster should have one thread each, since warnings of fits are caught.
    progress : callable, optional
        Called with a method, the number of its finished fits (zero at first) and that of all its fits.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from plaggm.comparison import Choices, compare_methods
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=300, seed=0, even=True, threshold=60.0)
    >>> found = compare_methods(
    ...     data.x,
    ...     data.confounder,
    ...     methods=["spline", "lr-ggm"],
    ...     resamples=2,
    ...     choices=Choices(criterion="bic", alphas=10),
    ... )
    >>> list(found.table()["method"])
    ['spline', 'lr-ggm']
    """
    choices = Choices() if choices is None else choices
    names = check_methods(compared(choices) if methods is None else methods)
    check_count("resamples", resamples, 0)
    check_jobs(n_jobs)
    if missing != "refuse":
        if choices.temporal is not None:
            raise ValueError(
                f"missing={missing!r} leaves rows out, where a time series (temporal={choices.temporal!r}) "
                "ends. Leave them out before, and give the rows on either side different runs."
            )
        X, confounder, groups = complete_rows(missing, X, confounder, groups)
    x, columns = as_table(X)
    checked = as_confounder(confounder, X, len(x), choices.categorical)
    checked = refer(checked, choices.reference, choices.threshold)
    # All methods have the same reference.
    reference = reference_labels(checked.names, checked.all_references, checked.all_levels)
    choices = replace(choices, reference=reference, categorical=None)
    labels = None if groups is None else group_numbers(groups, len(x), fewest=FEWEST_GROUPS)[0]
    table = pd.DataFrame(x, columns=list(columns))
    g = pd.DataFrame(checked.values, columns=list(checked.names))
    for name, levels in zip(checked.names, checked.all_levels, strict=True):
        if levels is not None:
            g[name] = pd.Categorical.from_codes(g[name].astype(int), categories=levels)
    if runs is not None and choices.temporal is None:
        raise ValueError(NO_RUNS)
    series = None if choices.temporal is None else run_numbers(runs, labels, len(x))
    splits = draw_resamples(len(x), labels, series, resamples, choices.seed)
    everything = (np.arange(len(x)), np.arange(0))
    tasks = [(name, split) for name in names for split in (everything, *splits)]
    work = partial(_fit, table=table, confounder=g, choices=choices, groups=labels, series=series)
    # Processes, since the graphical lasso holds the interpreter lock.
    run = in_turn(n_jobs, [name for name, _ in tasks], prefer="processes")
    tell = progress or (lambda name, done, of: None)
    results = run(delayed(work)(*task) for task in tasks)
    size = 1 + len(splits)
    of_method: dict[str, list[Attempt]] = {}
    for name in names:
        tell(name, 0, size)
        of_method[name] = []
        for one in islice(results, size):
            of_method[name].append(one)
            tell(name, len(of_method[name]), size)
    return Comparison(
        methods=names,
        names=tuple(table.columns),
        fits={name: own[0] for name, own in of_method.items()},
        resamples={name: tuple(own[1:]) for name, own in of_method.items()},
        settings={
            "n_samples": len(x),
            "n_groups": None if labels is None else int(labels.max() + 1),
            "confounders": list(checked.names),
            "resamples": resamples,
            "learnt_from": LEARN,
            "threshold": choices.threshold,
            "variance": choices.variance,
            "family": choices.family,
            "smoothing": dict(choices.smoothing),
            "references": choices.reference,
            "loss": choices.loss,
            "criterion": choices.criterion,
            "edges": choices.edges,
            "fdr": choices.fdr if choices.edges == "fdr" else None,
            "alphas": choices.alphas,
            "cv": choices.cv,
            "temporal": choices.temporal,
            "n_runs": None if series is None else int(series.max() + 1),
            "seed": choices.seed,
        },
    )


def _fit(
    name: str,
    split: tuple[Index, Index],
    *,
    table: pd.DataFrame,
    confounder: pd.DataFrame,
    choices: Choices,
    groups: Index | None,
    series: Index | None,
) -> Attempt:
    """One method on some rows, scored on others."""
    train, test = split

    def work() -> Network:
        own, owners = choices, None if groups is None else groups[train]
        if owners is not None and isinstance(choices.cv, int):
            # There cannot be more folds than groups.
            own = replace(choices, cv=min(choices.cv, len(np.unique(owners))))
        entering, own = METHODS[name].entering(confounder, own)

        def given(rows: Index) -> dict[str, Any]:
            beside: dict[str, Any] = {}
            if METHODS[name].adjusts:
                beside["confounder"] = entering.iloc[rows]
            return beside if series is None else {**beside, "runs": used_runs(series, rows)}

        with single_threaded_blas():
            model = build_method(name, own)
            model.fit(table.iloc[train], **given(train), groups=owners)
            network = Network(model.omega_, model.alpha_, _tests(model, choices), choices.fdr)
            if not len(test):
                return network
            scored = attempt(lambda: model.score(table.iloc[test], **given(test)))
        score = np.nan if scored.value is None else scored.value
        return replace(network, score=score, score_reason=scored.reason)

    return attempt(work)


def _tests(model: Estimator, choices: Choices) -> pd.DataFrame | None:
    """Tests of all pairs; None if the penalty declares the edges, or if there are no tests."""
    if choices.edges == "penalty":
        return None
    try:
        return model.inference()
    except ValueError:
        return None
