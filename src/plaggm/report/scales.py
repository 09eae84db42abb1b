"""What the network describes, in words, where it is not the variables in their own units."""

from __future__ import annotations

from plaggm.report.phrases import number_in, percent
from plaggm.result import GraphResult
from plaggm.wording import counted

# Share of a variable's values at its most frequent one from which on it is told.
MANY_TIES = 0.3


def scale_words(result: GraphResult) -> list[str]:
    """Sentences on the scale that edges refer to."""
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
