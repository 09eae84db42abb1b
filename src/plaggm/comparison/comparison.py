"""Networks of several methods from the same samples: agreement, stability and prediction."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from plaggm.array_types import Mask
from plaggm.comparison.attempts import Attempt
from plaggm.comparison.meaning import network_meaning
from plaggm.comparison.methods import METHODS
from plaggm.comparison.network import Network
from plaggm.estimators.spec import all_gaussian


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
        Fits to random subsets of the samples, scored on the other samples.
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
        """Reasons for the failure of methods, by method."""
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
        """Mean Jaccard index of the edges over all pairs of resamples that are not both empty."""
        values = {}
        for name, attempts in self.resamples.items():
            found = [one.value.edges for one in attempts if one.value is not None]
            pairs = [jaccard(*pair) for pair in combinations(found, 2)]
            known = [pair for pair in pairs if not np.isnan(pair)]
            values[name] = float(np.mean(known)) if known else np.nan
        return pd.Series(values, dtype=np.float64)

    def edges(self) -> pd.DataFrame:
        """Partial correlations of all pairs that are edges of some method, a column for each method."""
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
        """Tests of all pairs by the methods that have tests: one row for each method and pair."""
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
        """Summary of each method: prediction, stability, agreement, and reasons for failures.

        ``held_out`` is the mean log pseudo-likelihood of held-out samples over the resamples;
        ``behind_best`` its difference from that of the best method, with a standard error over the
        resamples; ``stability`` and ``agreement`` are mean Jaccard indices of the edges, between resamples
        and with the other methods; ``edges`` is the number of edges and ``declared_by`` the rule by which
        they are declared; ``network`` describes the reference of the network.
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
        """Reason for empty cells: that of the fit, or of the first resample or score that failed."""
        if self.fits[name].reason:
            return self.fits[name].reason
        for one in self.resamples[name]:
            if one.reason:
                return f"a resample: {one.reason}"
            if one.value.score_reason:
                return f"its score: {one.value.score_reason}"
        return ""


def jaccard(first: Mask, second: Mask) -> float:
    """Number of common edges as a share of the edges of either network; NaN for two empty networks.

    If two empty networks counted as equal, a method that never finds an edge would be the most stable.

    Examples
    --------
    >>> jaccard(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    union = np.count_nonzero(first | second)
    return float(np.count_nonzero(first & second) / union) if union else float("nan")


def _declared_by(network: Network) -> str:
    return "penalty" if network.tests is None else f"tests at q <= {network.fdr:g}"
