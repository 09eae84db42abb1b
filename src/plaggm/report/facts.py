"""Diagnostics, settings and versions as rows of tables."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaggm.edge_table import EDGE_DEGREES
from plaggm.evidence import P_VALUE
from plaggm.network_matrices import unit_precision
from plaggm.report.cautions import positive_definite_points
from plaggm.report.certainty import DISPERSION, EFFECTIVE
from plaggm.report.phrases import number_in
from plaggm.result import GraphResult

# Name and explanation of each diagnostic of the estimators.
MEANINGS = {
    "n_samples": ("Samples", "rows of the data"),
    "n_unconfounded": ("Unconfounded samples", "rows at or below every threshold"),
    "nuisance_degrees_of_freedom_per_node": (
        "Degrees of freedom of R",
        "for each variable",
    ),
    "nuisance_degrees_of_freedom": (
        "Degrees of freedom of R, in all",
        "for all variables together",
    ),
    "tau": (
        "Penalty τ",
        "of the confounder's part: small removes all of it, large pools the samples",
    ),
    "kept": (
        "Retained share of the adjustment",
        "1: the whole estimated effect of the confounder is removed, 0: the samples are pooled",
    ),
    "smoothness": ("Smoothness κ", "extra penalty on rough functions of the confounder"),
    "dual_gap": ("Duality gap", "at the chosen penalty; the solver stops below its tolerance"),
    "largest_dual_gap": ("Duality gap, largest", "over all penalties of the path"),
    "n_iter": ("Sweeps", "of coordinate descent at the chosen penalty"),
    DISPERSION: (
        "Dispersion of the estimates",
        "factor by which heavy tails widen the sampling variances of the tests of edges",
    ),
    EFFECTIVE: (
        "Independent samples",
        "that tell as much about a correlation as the time series do without filter",
    ),
    "winsorised_share": ("Winsorised values", "share of all values, by robust='winsor'"),
    "winsorised_most": ("Variable with most of them", "look at its distribution"),
    "winsorised_most_share": ("Its share of winsorised values", "0.003 for Gaussian values"),
    "overdispersion": (
        "Over-dispersion",
        "variance of the counts that vary most, in that of Poisson counts",
    ),
    "most_overdispersed": ("Counts that vary most", "given the other variables"),
    "tied_variables": ("Tied variables", "with at least 5 % of their values the same"),
    "most_tied": ("Variable with the largest tie", "its ranks are least informative"),
    "most_tied_share": ("Its largest tie", "share of its values"),
    "missing": (
        "Missing values",
        "em: completed by the rest of their row; drop: their rows left out; impute: predicted, "
        "and taken for observed",
    ),
    "imputed_cells": ("Imputed cells", "missing values that were replaced by predictions"),
    "imputed_most": ("Variable with the most imputed cells", ""),
    "imputed_most_cells": ("Its imputed cells", "of the rows of the fit"),
    "rows_given": ("Rows of the table", "before any was left out"),
    "rows_without_confounder": ("Rows without confounder", "left out"),
    "rows_without_variables": ("Rows without any variable", "left out"),
    "incomplete_rows": ("Incomplete rows", "that miss some variables"),
    "missing_share": ("Missing cells", "share of all cells of usable rows"),
    "missing_most": ("Variable that misses most", "cells"),
    "missing_most_share": ("Its missing cells", "share of usable rows"),
    "missing_shares": (
        "Missing cells of each variable",
        "share of usable rows, where it is not zero",
    ),
    "effective_rows": (
        "Complete rows",
        "that would tell as much about a pair as the observed cells",
    ),
    "missing_variance_factor": (
        "Factor of variances for missing neighbours",
        "beyond the rows that observe both variables of a pair",
    ),
    "em_steps": ("Steps of EM", "by which the distribution of missing cells was learnt"),
    "em_change": ("Change of the last step", "largest, of a partial correlation"),
    "em_shrunken_rows": (
        "Rows with shrunken R",
        "whose network at their confounder would let missing cells vary too much",
    ),
    "dependent_variable": ("Variable that resembles its row before", "rows taken as independent"),
    "dependent_lag1_correlation": ("Its lag-1 correlation", "of residuals; zero if independent"),
    "ar_order": ("Order of the filter", "rows from which each row of a time series is predicted"),
    "lag1_correlation": ("Lag-1 correlation", "of the time series, all variables together"),
    "n_runs": ("Runs", "time series that are filtered each on its own"),
    "n_blocks": ("Blocks", "of consecutive rows, which standard errors leave out in turn"),
    "block_rows": ("Rows of a block", "on average"),
    "jackknife_groups": ("Groups", "of rows, which standard errors leave out in turn"),
    "confounding_method": (
        "Test of no confounding, method",
        "where its distribution under no confounding comes from",
    ),
    "leading_row": ("Row that weighs most", "in the test of no confounding, the first being 0"),
    "leading_place": ("Its place in the file", "the first row being 1"),
    "leading_variable": (
        "Its most unusual variable",
        "look for an outlier",
    ),
    "group_confounders": ("Constant within groups", "their effect is estimated from groups"),
    "confounder_groups": ("Groups", "from which such confounders are estimated"),
    EDGE_DEGREES: ("Degrees of freedom", "of the standard errors of edges"),
    "untested_moderation": ("Which edges change was not tested", "why"),
    P_VALUE: ("Test of no confounding, p", "small: the network does change with the confounder"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A row: name, value and explanation."""

    name: str
    value: str
    meaning: str = ""


def diagnostic_facts(result: GraphResult) -> tuple[Fact, ...]:
    """Diagnostics of the fit: known ones with explanations, derived ones, then all others."""
    values = _entries(result.diagnostics)
    known = [key for key in MEANINGS if key in values]
    facts = [Fact(MEANINGS[key][0], written(values[key]), MEANINGS[key][1]) for key in known]
    facts += _effective_samples(result)
    facts += _conditioning(result)
    facts.append(Fact("Penalty λ", written(result.alpha), "of the edges"))
    for name, array, meaning in (
        ("Threshold g*", result.threshold, "at most this: no confounding"),
        ("Bandwidth", result.bandwidth, "of the kernel"),
    ):
        if array is not None:
            facts += [
                Fact(f"{name} of {confounder}", written(float(value)), meaning)
                for confounder, value in zip(result.confounder_names, array, strict=True)
                if not np.isnan(value)
            ]
    facts += [
        Fact(f"Reference of {name}", written(value), "where the confounder's part is zero")
        for name, value in result.references.items()
    ]
    facts += [
        Fact(key.replace("_", " "), written(value))
        for key, value in values.items()
        if key not in MEANINGS and key != "data_findings"
    ]
    return tuple(facts)


def _effective_samples(result: GraphResult) -> list[Fact]:
    """Effective number of samples: samples minus degrees of freedom of the nuisance."""
    n = number_in(result.diagnostics, "n_samples")
    spent = number_in(result.diagnostics, "nuisance_degrees_of_freedom_per_node")
    if n is None or spent is None:
        return []
    meaning = "samples less the degrees of freedom of R for each variable"
    return [Fact("Effective samples", written(round(n - spent)), meaning)]


def _conditioning(result: GraphResult) -> list[Fact]:
    """Condition number of the baseline, and confounder values at which Ω(g) is not positive definite."""
    values = np.linalg.eigvalsh(unit_precision(result.omega))
    facts = []
    if values[0] > 0.0:
        ratio = float(values[-1] / values[0])
        facts.append(Fact("Condition number", written(ratio), "of the baseline's precision matrix"))
    else:
        facts.append(
            Fact(
                "Condition number",
                "none",
                "the baseline's precision matrix is not positive definite",
            )
        )
    proper = positive_definite_points(result)
    if proper is not None:
        facts.append(
            Fact(
                "Positive definite along the confounder",
                f"{int(proper.sum())} of {len(proper)}",
                "confounder values at which Ω̂(g) is the network of a Gaussian",
            )
        )
    return facts


def setting_facts(result: GraphResult) -> tuple[Fact, ...]:
    """The estimator's parameters."""
    return tuple(Fact(key, written(value)) for key, value in _entries(result.settings).items())


def version_facts(result: GraphResult) -> tuple[Fact, ...]:
    """Versions of plaggm and of the libraries below it."""
    return tuple(Fact(key, written(value)) for key, value in _entries(result.versions).items())


def written(value: Any) -> str:
    """A JSON value formatted for display.

    Examples
    --------
    >>> (
    ...     written(3000),
    ...     written(4.501227367920759e-07),
    ...     written(True),
    ...     written(None),
    ...     written([1, 2.5]),
    ...     written({"age": 0.00571428571, "sex": 0.01}),
    ... )
    ('3,000', '4.501e−07', 'yes', '–', '1, 2.5', 'age 0.005714, sex 0.01')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "not a number"
        case str():
            return value
        case list():
            return ", ".join(map(written, value))
        case dict():
            return ", ".join(f"{key} {written(one)}" for key, one in value.items())
        case _:
            return json.dumps(value)


def _entries(values: Any) -> dict[str, Any]:
    """The value if it is a dict, otherwise an empty dict, as files may have been edited."""
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else {}
