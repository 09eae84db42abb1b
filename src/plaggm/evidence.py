"""Combined evidence that the network depends on the confounders: three kinds of tests, one level.

A fit tests three hypotheses that all hold where the confounder has nothing to do with the variables: that
the whole network is the same at every value of the confounder (R = 0), that each pair's edge is, and that
adjusting leaves each pair's estimate as it is without. Each is rejected by chance in one of twenty tables,
and at least one of them in up to three of twenty. Here they share one level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plaggm.edge_table import EdgeTable
from plaggm.moderation_table import ModerationTable

# Probability of finding something where there is nothing.
LEVEL = 0.05
# How it is divided. The test of the whole network has most of it: a single pair that changes clearly has a
# q-value far below a tenth of the level.
NETWORK, PAIRS, ADJUSTING = 0.8, 0.1, 0.1
# Change of a partial correlation below which nobody would report it.
WORTH_REPORTING = 0.05
# Where results keep the p-value of R = 0.
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

        ``"network"``: the network depends on a confounder. ``"adjusting"``: adjusting changes edges, as
        shifts of the means along a confounder do, and nothing shows that the network itself depends on it.
        ``"none"``: nothing. ``"untested"``: no test was made that could have shown that it depends on it.
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

    Returns
    -------
    Evidence
    """
    whole = diagnostics.get(P_VALUE) if isinstance(diagnostics, Mapping) else None
    known = isinstance(whole, int | float) and math.isfinite(whole)
    pairs = adjusting = None
    if moderation is not None and moderation.q_value.size:
        pairs = min(1.0, len(moderation.q_value) * float(np.min(moderation.q_value)))
    if tests is not None and tests.change_q_value is not None and tests.change_q_value.size:
        adjusting = float(np.min(tests.change_q_value))
    return Evidence(float(whole) if known and whole is not None else None, pairs, adjusting)
