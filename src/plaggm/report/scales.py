"""Descriptions of the scale of the network where it is not that of the original variables."""

from __future__ import annotations

from plaggm.report.phrases import number_in, percent
from plaggm.result import GraphResult
from plaggm.wording import counted, listed

# Smallest share of equal values of a variable that is reported.
MANY_TIES = 0.3
# Smallest variance of counts, relative to that of Poisson counts, that is reported.
OVERDISPERSED = 1.5


def scale_words(result: GraphResult) -> list[str]:
    """Sentences on the scale that edges refer to."""
    if not result.gaussian:
        return _family_words(result)
    if result.settings.get("margins") != "rank":
        return []
    said = [
        "Variables were replaced by normal scores of their ranks (Gaussian copula), so that edges are "
        "partial correlations of the latent Gaussian variables behind them."
    ]
    tied = number_in(result.diagnostics, "tied_variables")
    most = number_in(result.diagnostics, "most_tied_share")
    if tied and most is not None and most >= MANY_TIES:
        said.append(
            f"{counted(int(tied), 'variable')} {'has' if tied == 1 else 'have'} ties, most of all "
            f"{result.diagnostics.get('most_tied', '')} ({percent(most)} of its values are the same); ties "
            "weaken the correlations that scores can show."
        )
    return said


def _family_words(result: GraphResult) -> list[str]:
    """The meaning of edges between binary variables, counts and others."""
    families = families_of(result)
    binary, counts = ([name for name in families if name == one] for one in ("binomial", "poisson"))
    said = []
    if len(binary) == len(families):
        said.append(
            "All variables are binary: the strength of an edge is a log odds ratio given all others, times "
            "both variables' standard deviations, so that rare and frequent categories compare; the log "
            "odds ratio itself is the column coefficient of edges.csv."
        )
    else:
        number = len(families) - len(binary) - len(counts)
        parts = [
            counted(len(binary), "binary variable") if binary else "",
            counted(len(counts), "count") if counts else "",
            counted(number, "Gaussian variable") if number else "",
        ]
        said.append(
            f"The network has {listed(part for part in parts if part)}: the strength of an edge is a "
            "coefficient in the natural parameter (log odds, log of a mean count, or mean) of one variable "
            "given all others, times both variables' standard deviations; the coefficient itself is in "
            "edges.csv."
        )
    if counts:
        said.append(
            "Counts act on other variables by their logarithm: otherwise positive dependence could grow "
            "without bound."
        )
        ratio = number_in(result.diagnostics, "overdispersion")
        if ratio is not None and ratio >= OVERDISPERSED:
            said.append(
                f"Counts are over-dispersed: given the others, those of "
                f"{result.diagnostics.get('most_overdispersed', '')} vary {ratio:.1f} times as much as "
                "Poisson counts. Tests allow for it."
            )
    return said


def families_of(result: GraphResult) -> tuple[str, ...]:
    """Family of every variable, from the settings of the fit."""
    family = result.settings.get("family", "gaussian")
    if isinstance(family, dict):
        return tuple(str(family.get(name, "gaussian")) for name in result.names)
    return (str(family),) * len(result.names)
