"""Sentences on the certainty of edges, and on the choice of the penalty."""

from __future__ import annotations

import numpy as np

from plaggm.report.cautions import FEW_FREE, few_unconfounded
from plaggm.report.encoding import upper_triangle
from plaggm.report.phrases import number_in, percent
from plaggm.report.scales import scale_words
from plaggm.result import GraphResult
from plaggm.wording import counted, listed

# Smallest share of the resamples with a stable edge.
STABLE = 0.9
# Number of unconfounded samples for each variable below which the network depends on the model of R.
ENOUGH_FREE = 10
# Largest share of edges among all pairs in a network that is not dense.
DENSE = 0.5
DISPERSION = "edge_dispersion"
EFFECTIVE = "effective_samples"
PULL_IN = "To pull far values in, fit with --robust winsor (robust='winsor' in Python)."
CRITERIA = {
    "cv": "cross-validation",
    "aic": "AIC",
    "bic": "BIC",
    "ebic": "EBIC",
    "refit": "EBIC of refitted networks",
    "stars": "StARS",
}


def certainty(result: GraphResult, drawn: GraphResult | None = None) -> tuple[str, ...]:
    """Sentences on the certainty of the edges.

    Parameters
    ----------
    result : GraphResult
    drawn : GraphResult, optional
        The network that is shown first, where it is not the adjusted one.

    Returns
    -------
    tuple of str
    """
    shown = result if drawn is None else drawn
    said = _false_discoveries(shown) + _heavy_tails(shown)
    said += (
        scale_words(result) + _winsorised(result) + _missing_cells(result) + _time_series(result)
    )
    if drawn is None:
        said += _stable(result)
    said.append(_chosen(shown))
    said += _too_many(shown)
    if drawn is not None:
        return tuple(said)
    # Fewer are a caution at the top of the page.
    said += few_unconfounded(result, FEW_FREE, ENOUGH_FREE)
    if result.stability is None and result.fdr is None:
        said.append(
            "How often each edge would come back in other samples was not measured, so take faint "
            "edges as hints."
        )
    return tuple(said)


def _stable(result: GraphResult) -> list[str]:
    """A sentence on how often edges recur in resamples."""
    if result.stability is None or not result.n_edges:
        return []
    kept = upper_triangle(result.stability)[upper_triangle(result.network) != 0.0]
    stable = int(np.count_nonzero(kept >= STABLE))
    was = "was" if result.n_edges == 1 else "were"
    verb = "came back" if result.fdr is None else f"{was} also kept by the penalty"
    return [
        f"{stable:,} of {counted(result.n_edges, 'edge')} {verb} in at least {STABLE:.0%} of the "
        f"resamples; the median edge in {float(np.median(kept)):.0%}."
    ]


def _false_discoveries(result: GraphResult) -> list[str]:
    """Sentences on the false discovery rate and on the width of intervals."""
    tests = result.deciding_tests
    if tests is None or result.fdr is None or not result.n_edges:
        return []
    declared = tests.declared(result.fdr)
    width = float(np.median(tests.high[declared] - tests.low[declared]))
    return [
        f"On average at most {percent(result.fdr)} of the edges declared in this way are false.",
        f"The median 95% interval of an edge is {width:.2g} wide.",
    ]


def _missing_cells(result: GraphResult) -> list[str]:
    """Sentences on missing cells, and on how they were handled."""
    known = result.diagnostics
    share, incomplete = number_in(known, "missing_share"), number_in(known, "incomplete_rows")
    given = number_in(known, "rows_given")
    if share is None or incomplete is None or not given:
        return []
    said = []
    keys = {"confounder": "rows_without_confounder", "any variable": "rows_without_variables"}
    for what, key in keys.items():
        count = int(number_in(known, key) or 0)
        if count:
            verb = "was" if count == 1 else "were"
            said.append(f"{counted(count, 'row')} without {what} {verb} left out.")
    if not incomplete:
        return said
    worst, most = known.get("missing_most"), number_in(known, "missing_most_share") or 0.0
    where = f"{percent(share)} of the cells are missing, most of them in {worst} ({percent(most)})"
    if known.get("missing") == "drop":
        rows = f"{int(incomplete):,} of {int(given):,} rows"
        return [*said, f"{where}; the {rows} that miss a value were left out."]
    rows = f"in {int(incomplete):,} of {int(given):,} rows"
    left = number_in(known, "effective_rows")
    amount = (
        "" if left is None else f"; all rows tell about as much as {round(left):,} complete ones"
    )
    return [
        *said,
        f"{where}, {rows}{amount}. What a row's observed values tell of the missing ones was used, and "
        "standard errors allow for the rest; this is right unless values are missing because of what "
        "they are.",
        *_unobserved_pairs(result),
    ]


def _unobserved_pairs(result: GraphResult) -> list[str]:
    """A sentence on pairs of variables that no row observes together."""
    pairs = [] if result.edge_table is None else result.edge_table.unobserved()
    if not pairs:
        return []
    named = listed(f"{result.names[j]} and {result.names[k]}" for j, k in pairs)
    which = named if len(pairs) == 1 else f"variables of {len(pairs):,} pairs ({named})"
    return [
        f"No row observes both {which}: whether there is an edge cannot be known, and none is declared; a "
        "true one would show as edges with their neighbours."
    ]


def _heavy_tails(result: GraphResult) -> list[str]:
    """A sentence on outlying rows, and on their effect on the tests."""
    dispersion = number_in(result.diagnostics, DISPERSION)
    row = number_in(result.diagnostics, "leading_row")
    most = ""
    if row is not None:
        place = result.diagnostics.get("leading_place", f"sample {row + 1:,.0f}")
        most = f"most of all {place} by {result.diagnostics.get('leading_variable', '')}"
    if result.deciding_tests is None or dispersion is None or not dispersion > 1.0:
        alone = "A few samples far from the others weigh most in the correlations"
        return [f"{alone}, {most}: look at their values."] if most else []
    return [
        f"Samples far from the others{f' ({most})' if most else ''} make the estimates vary more than "
        "those of Gaussian data: the tests allow for it by standard errors of sampling that are "
        f"{dispersion**0.5:.2f} times as large." + ("" if _winsorised(result) else f" {PULL_IN}")
    ]


def _winsorised(result: GraphResult) -> list[str]:
    """A sentence on values that were winsorised."""
    share, most = (
        number_in(result.diagnostics, key) for key in ("winsorised_share", "winsorised_most_share")
    )
    if share is None or most is None:
        return []
    return [
        f"Values more than three robust standard deviations from their variable's location at the sample's "
        f"confounder were moved to that distance: {percent(share)} of all values, and {percent(most)} "
        f"of those of {result.diagnostics.get('winsorised_most', '')}."
    ]


def _time_series(result: GraphResult) -> list[str]:
    """A sentence on how time series were whitened."""
    order = number_in(result.diagnostics, "ar_order")
    samples, left = (number_in(result.diagnostics, key) for key in ("n_samples", EFFECTIVE))
    blocks = number_in(result.diagnostics, "n_blocks")
    groups = number_in(result.diagnostics, "jackknife_groups")
    if order is None or samples is None or left is None or (blocks is None and groups is None):
        return []
    left_out = (
        f"{blocks:.0f} contiguous blocks" if groups is None else f"{groups:.0f} groups of rows"
    )
    blocks_used = f"standard errors come from {left_out}."
    if not order:
        return [
            "The samples are time series, but neighbours do not depend on each other, so nothing had to be "
            f"filtered; {blocks_used}"
        ]
    return [
        f"The samples are time series: unfiltered, {samples:,.0f} of them tell about as much as "
        f"{left:,.0f} independent ones. The network is that of the series whitened by an autoregression of "
        f"order {order:.0f}, and {blocks_used}"
    ]


def curve_words(result: GraphResult) -> tuple[str, str]:
    """Explanation of the selection curve.

    Parameters
    ----------
    result : GraphResult

    Returns
    -------
    name, explanation : str
    """
    settings = result.settings if isinstance(result.settings, dict) else {}
    criterion = str(settings.get("criterion", "criterion"))
    if criterion == "stars":
        limit = number_in(settings, "instability")
        below = "low" if limit is None else f"at most {limit:g}"
        return "instability", (
            "How much the edges differ between subsamples, at each penalty. The chosen network is the "
            f"densest whose instability stays {below}."
        )
    name = "held-out loss" if criterion == "cv" else CRITERIA.get(criterion, criterion)
    said = f"{name[0].upper()}{name[1:]} at each penalty, smaller is better"
    if result.criterion_error is not None:
        said += "; the band is one standard error on either side"
    if settings.get("one_se") is True:
        said += ". The largest penalty within one standard error of the best was chosen"
    return name, f"{said}."


def _criterion(result: GraphResult) -> str | None:
    """The criterion that chose the penalty; None if it was given."""
    criterion = result.settings.get("criterion") if isinstance(result.settings, dict) else None
    return criterion if result.criterion_path is not None and isinstance(criterion, str) else None


def _too_many(result: GraphResult) -> list[str]:
    """A sentence of advice if most pairs are edges of a penalised network."""
    p = len(result.names)
    criterion = _criterion(result)
    if criterion is None or result.fdr is not None or result.n_edges <= DENSE * p * (p - 1) / 2:
        return []
    remedy = "" if criterion == "ebic" else ", or choose the penalty by EBIC, which keeps few"
    if result.alphas is not None and result.alpha <= np.min(result.alphas):
        return [
            "It is the smallest that was tried: that there is an edge says little here. Look at how "
            f"strong it is{remedy}."
        ]
    if criterion == "cv":
        return [
            f"It is chosen for prediction and keeps weak edges: look at the strong ones{remedy}."
        ]
    return []


def _chosen(result: GraphResult) -> str:
    """A sentence on how the penalty was chosen."""
    criterion = _criterion(result)
    role = "" if result.fdr is None else "; it ranks the pairs and predicts, the tests decide"
    if criterion is None:
        return f"The penalty (λ = {result.alpha:.3g}) was given, not chosen from the data{role}."
    name = CRITERIA.get(criterion, criterion)
    return f"The penalty (λ = {result.alpha:.3g}) was chosen by {name}{role}."
