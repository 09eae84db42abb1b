"""Fit all methods to one data set and measure agreement, stability and prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from typing import Any, Literal

import numpy as np
import pandas as pd
from joblib import delayed

from plaggm.arguments import check_count, check_jobs
from plaggm.array_types import Index, Mask
from plaggm.comparison.attempts import Attempt, attempt
from plaggm.comparison.meaning import network_meaning
from plaggm.comparison.methods import (
    METHODS,
    Choices,
    Estimator,
    build_method,
    check_methods,
    compared,
)
from plaggm.comparison.network import Network
from plaggm.comparison.resamples import LEARN, draw_resamples
from plaggm.core.threads import single_threaded_blas
from plaggm.data import ConfounderLike, TableLike, as_confounder, as_table
from plaggm.estimators.missing_rows import complete_rows
from plaggm.estimators.reference_choice import refer, reference_labels
from plaggm.estimators.serial import NO_RUNS, run_numbers
from plaggm.estimators.spec import all_gaussian
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.related.series_filter import used_runs
from plaggm.selection.parallel import in_turn

# Groups that are needed to learn from some and hold others out.
FEWEST_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Comparison:
    """Networks of several methods from the same samples.

    Attributes
    ----------
    methods, names : tuple of str
        Names of the methods, in the order of the tables, and of the variables.
    fits : dict of str to Attempt
        Fits to all samples; the value of each is a :class:`Network` or None.
    resamples : dict of str to tuple of Attempt
        Each a :class:`Network` of a part of the samples, scored on the rest.
    settings : dict
        Choices that all methods share.

    Examples
    --------
    >>> Comparison(("ggm",), ("a", "b"), {}, {}, {}).methods
    ('ggm',)
    """

    methods: tuple[str, ...]
    names: tuple[str, ...]
    fits: dict[str, Attempt] = field(repr=False)
    resamples: dict[str, tuple[Attempt, ...]] = field(repr=False)
    settings: dict[str, Any]

    @property
    def gaussian(self) -> bool:
        """Whether all variables are Gaussian."""
        return all_gaussian(self.settings["family"])

    @property
    def failures(self) -> dict[str, str]:
        """Reasons of the methods that have no network."""
        return {name: fit.reason for name, fit in self.fits.items() if fit.value is None}

    def agreement(self) -> pd.DataFrame:
        """Jaccard index of the edges of every two methods; NaN where one failed or both are empty."""
        out = np.full((len(self.methods), len(self.methods)), np.nan)
        for i, first in enumerate(self.methods):
            for j, second in enumerate(self.methods):
                one, other = self.fits[first].value, self.fits[second].value
                if one is not None and other is not None:
                    out[i, j] = jaccard(one.edges, other.edges)
        return pd.DataFrame(out, self.methods, self.methods)

    def scores(self) -> pd.DataFrame:
        """Held-out log pseudo-likelihood: a row for each resample, a column for each method."""
        return pd.DataFrame(
            {
                name: [np.nan if one.value is None else one.value.score for one in attempts]
                for name, attempts in self.resamples.items()
            }
        )

    def stability(self) -> pd.Series:
        """Mean Jaccard index of the edges over all pairs of resamples, of which one has an edge."""
        values = {}
        for name, attempts in self.resamples.items():
            found = [one.value.edges for one in attempts if one.value is not None]
            pairs = [jaccard(*pair) for pair in combinations(found, 2)]
            known = [pair for pair in pairs if not np.isnan(pair)]
            values[name] = float(np.mean(known)) if known else np.nan
        return pd.Series(values, dtype=np.float64)

    def edges(self) -> pd.DataFrame:
        """Partial correlations of all pairs that some method has as an edge, a column for each method."""
        rows, columns = np.triu_indices(len(self.names), 1)
        table = pd.DataFrame(
            {
                "source": [self.names[j] for j in rows],
                "target": [self.names[k] for k in columns],
            }
        )
        found = {
            name: fit.value.strength for name, fit in self.fits.items() if fit.value is not None
        }
        for name in self.methods:
            table[name] = found.get(name, np.nan)
        known = np.array(list(found.values())).reshape(len(found), len(rows))
        table["methods"] = np.count_nonzero(known, axis=0)
        table = table[table["methods"] > 0]
        return table.sort_values("methods", ascending=False, kind="stable", ignore_index=True)

    def tests(self) -> pd.DataFrame:
        """The tests of all pairs by every method that has one: one row for each method and pair."""
        tables = [
            fit.value.tests.assign(method=name)
            for name, fit in self.fits.items()
            if fit.value is not None and fit.value.tests is not None
        ]
        if not tables:
            return pd.DataFrame(columns=["method", "source", "target"])
        joined = pd.concat(tables, ignore_index=True)
        return joined[["method", *joined.columns.drop("method")]]

    def table(self) -> pd.DataFrame:
        """One row for each method: what can be judged without knowing the truth, and what went wrong.

        ``held_out`` is the log pseudo-likelihood of held-out samples, the mean over the resamples;
        ``behind_best`` how far it lies below the best method's, with the standard error of that difference
        over the resamples; ``stability`` and ``agreement`` mean Jaccard indices of the edges, between
        resamples and with the other methods; ``edges`` their number and ``declared_by`` what declares them;
        ``network`` what they refer to along the confounder.
        """
        agreement = self.agreement().to_numpy(copy=True)
        np.fill_diagonal(agreement, np.nan)
        scores, stability = self.scores(), self.stability()
        best = scores.mean().idxmax() if scores.notna().to_numpy().any() else None
        rows = []
        for at, name in enumerate(self.methods):
            network = self.fits[name].value
            others = agreement[at][~np.isnan(agreement[at])]
            lag = (scores[best] - scores[name]).dropna() if best else pd.Series(dtype=np.float64)
            rows.append(
                {
                    "method": name,
                    "title": METHODS[name].shown_title(self.gaussian),
                    "held_out": scores[name].mean(),
                    "behind_best": lag.mean() if len(lag) else np.nan,
                    "behind_best_se": lag.std() / np.sqrt(len(lag)) if len(lag) > 1 else np.nan,
                    "stability": stability[name],
                    "agreement": others.mean() if len(others) else np.nan,
                    "edges": pd.NA if network is None else int(network.edges.sum()),
                    "declared_by": "" if network is None else _declared_by(network),
                    "network": network_meaning(name, self.settings["references"]),
                    "alpha": np.nan if network is None else network.alpha,
                    "failed_resamples": sum(one.value is None for one in self.resamples[name]),
                    "reason": self._reason(name),
                }
            )
        return pd.DataFrame(rows).astype({"edges": "Int64"})

    def seconds(self) -> dict[str, float]:
        """Seconds of all fits of every method, in one process."""
        return {
            name: self.fits[name].seconds + sum(one.seconds for one in self.resamples[name])
            for name in self.methods
        }

    def _reason(self, name: str) -> str:
        """Why cells are empty: the fit, or else the first of the resamples or scores that failed."""
        if self.fits[name].reason:
            return self.fits[name].reason
        for one in self.resamples[name]:
            if one.reason:
                return f"a resample: {one.reason}"
            if one.value.score_reason:
                return f"its score: {one.value.score_reason}"
        return ""


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
    """Fit methods to all samples, and again to random parts of them that are scored on the rest.

    Every fit chooses its own penalty. Edges are the pairs that a test declares: the test of PLA-GGM, or the
    t test of a partial correlation of the columns that a related method works on. TV-GGM and MRF have no
    test; their edges are those that the penalty keeps. A method that cannot be fitted leaves empty cells
    and a reason.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables, one row for each sample.
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
        Confounders of the same rows.
    methods : sequence of str, optional
        Keys of :data:`plaggm.comparison.METHODS`; when left out all that are not slow and take the
        families of the variables.
    choices : Choices, optional
        Settings that all methods share; ``seed`` also draws the resamples.
    resamples : int
        Random parts of three quarters of the samples; 0 for no stability and no prediction.
    groups : array of shape (n,), optional
        Subjects. All rows of one are learnt from or held out together, in the resamples and in the
        folds of the cross-validation.
    missing : {"refuse", "drop"}, default="refuse"
        Whether missing values raise an error or their rows are left out. ``"em"`` is for PLA-GGM alone:
        the other methods have no model of missing cells, and all should see the same rows.
    runs : array of shape (n,), optional
        Run of every row, where ``choices.temporal`` says that rows are time series. Resamples are then
        drawn from contiguous blocks of rows (or from groups), and no series is bridged where rows are
        left out.
    n_jobs : int, optional
        Processes. The result does not depend on it. An active joblib backend is used instead; workers
        of a Dask cluster should have one thread each, since every fit's warnings are caught.
    progress : callable, optional
        Called with a method, the number of its fits that are done (zero when it begins) and of all of them.

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
    # Every method is asked for the network that the spline refers to.
    choices = replace(choices, reference=reference_labels(checked), categorical=None)
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


def jaccard(first: Mask, second: Mask) -> float:
    """Edges that both have, as a part of those that one has; NaN for two empty networks.

    Two networks without edges have nothing to agree on: counted as agreement, a method that never finds
    anything would look the most stable.

    Examples
    --------
    >>> jaccard(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    union = np.count_nonzero(first | second)
    return float(np.count_nonzero(first & second) / union) if union else float("nan")


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
            # No more folds than there are groups to divide.
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
    """Tests of all pairs; None where the penalty decides, or the method has no test for these samples."""
    if choices.edges == "penalty":
        return None
    try:
        return model.inference()
    except ValueError:
        return None


def _declared_by(network: Network) -> str:
    return "penalty" if network.tests is None else f"tests at q <= {network.fdr:g}"
