"""Combined evidence that the network depends on the confounders, from three kinds of tests.

A fit tests three hypotheses that are all true if the confounders have no effect: that the network is the
same at every value of the confounders (R = 0), that the partial correlation of each pair is, and that
adjustment does not change the estimate of any pair. Here these tests share one level, so that the
probability of finding an effect where there is none is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaggm.edge_table import EdgeTable
from plaggm.moderation_table import ModerationTable

# Probability of finding an effect where there is none.
LEVEL = 0.05
# Shares of the tests in this level. Most of it is for the test of the whole network, since a pair that
# clearly changes has a q-value far below a tenth of the level.
NETWORK, PAIRS, ADJUSTING = 0.8, 0.1, 0.1
# Smallest change of a partial correlation that is worth reporting.
WORTH_REPORTING = 0.05
# Diagnostic of a result that holds the p-value of R = 0.
P_VALUE = "confounding_p_value"

Kind = Literal["network", "adjusting", "none", "untested"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """P-values of the tests of an effect of the confounders; None for tests that were not made.

    Attributes
    ----------
    network : float or None
        P-value of the hypothesis that the whole network is the same at every value of the confounders.
    pairs : float or None
        P-value of the hypothesis that no pair's partial correlation changes with a confounder: the smallest
        q-value times the number of confounders.
    adjusting : float or None
        P-value of the hypothesis that adjusting changes no pair's partial correlation: the smallest
        q-value. It also responds to shifts of the means.

    Examples
    --------
    >>> Evidence(network=0.4, pairs=0.7, adjusting=0.9).kind
    'none'
    >>> Evidence(network=0.4, pairs=0.7, adjusting=1e-4).kind
    'adjusting'
    >>> Evidence(network=0.03, pairs=0.7, adjusting=0.9).p_value
    0.0375
    """

    network: float | None
    pairs: float | None
    adjusting: float | None

    @property
    def p_value(self) -> float | None:
        """P-value of the hypothesis that the confounders have no effect; None without tests.

        The smallest p-value divided by its share of the level (Bonferroni's rule with weights).
        """
        found = self._shared()
        return min((1.0, *found.values())) if found else None

    @property
    def kind(self) -> Kind:
        """Which kind of effect the tests support.

        ``"network"``: the network depends on a confounder. ``"adjusting"``: adjusting changes edges, which
        may be due to shifts of the means, without evidence that the network depends on a confounder.
        ``"none"``: no effect. ``"untested"``: no test of whether the network depends on a confounder.
        """
        found = self._shared()
        if min(found.get("network", 1.0), found.get("pairs", 1.0)) <= LEVEL:
            return "network"
        if found.get("adjusting", 1.0) <= LEVEL:
            return "adjusting"
        return "none" if {"network", "pairs"} & set(found) else "untested"

    def _shared(self) -> dict[str, float]:
        """P-values divided by the shares of the tests that were made."""
        made = {
            name: (value, share)
            for name, value, share in (
                ("network", self.network, NETWORK),
                ("pairs", self.pairs, PAIRS),
                ("adjusting", self.adjusting, ADJUSTING),
            )
            if value is not None
        }
        total = sum(share for _, share in made.values())
        return {name: value * total / share for name, (value, share) in made.items()}


def gather(
    diagnostics: Mapping[str, Any], tests: EdgeTable | None, moderation: ModerationTable | None
) -> Evidence:
    """Collect the evidence from a result.

    Parameters
    ----------
    diagnostics : mapping
        Diagnostics of the result.
    tests : EdgeTable or None
        Tests of all pairs.
    moderation : ModerationTable or None
        Tests of which pairs change.
    """
    network = pairs = adjusting = None
    whole = diagnostics.get(P_VALUE) if isinstance(diagnostics, Mapping) else None
    if isinstance(whole, int | float) and math.isfinite(whole):
        network = float(whole)
    if moderation is not None and moderation.q_value.size:
        pairs = min(1.0, len(moderation.q_value) * float(np.min(moderation.q_value)))
    if tests is not None and tests.change_q_value is not None and tests.change_q_value.size:
        adjusting = float(np.min(tests.change_q_value))
    return Evidence(network, pairs, adjusting)
