"""Comparison of the networks of several groups of samples, overall, by pair and by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from plaggm.array_types import Array, Mask
from plaggm.core.graphs.classical_scaling import classical_scaling
from plaggm.core.inference.network_differences import NetworkDifferences, network_differences
from plaggm.core.inference.pair_statistics import adjusted
from plaggm.edge_table import EdgeTable, square
from plaggm.result import GraphResult
from plaggm.wording import shown

# False discovery rate of results without one.
FALSE_DISCOVERY = 0.05
# Words for the heterogeneity, by their smallest value (Higgins et al., 2003).
HETEROGENEITY = {0.0: "little", 0.25: "some", 0.5: "much", 0.75: "most"}


@dataclass(frozen=True, slots=True, eq=False)
class NetworkComparison:
    """Networks of the same variables from different samples, and tests of how they differ.

    Attributes
    ----------
    names : tuple of str
        Variables.
    levels : tuple of str
        Names of the networks.
    results : tuple of GraphResult
    fdr : float
        False discovery rate at which pairs are declared to differ.
    tests : NetworkDifferences
        Tests of all pairs, of all pairs together, and of each network against the others.
    """

    names: tuple[str, ...]
    levels: tuple[str, ...]
    results: tuple[GraphResult, ...] = field(repr=False)
    fdr: float
    tests: NetworkDifferences = field(repr=False)

    @property
    def p_value(self) -> float:
        """P-value of the hypothesis that all networks are the same."""
        return self.tests.overall

    @property
    def differing(self) -> Mask:
        """Pairs that differ at the false discovery rate: shape (P,)."""
        return self.tests.q_value <= self.fdr

    @property
    def heterogeneity_word(self) -> str:
        """The share of the variation between networks beyond chance, as a word."""
        return next(
            word
            for least, word in reversed(HETEROGENEITY.items())
            if self.tests.heterogeneity >= least
        )

    def common_network(self) -> Array:
        """Mean partial correlations of the pairs whose mean is declared non-zero: shape (p, p)."""
        ratio = np.abs(self.tests.common) / self.tests.common_error
        edges = adjusted(2.0 * norm.sf(ratio)) <= self.fdr
        return square(np.where(edges, self.tests.common, 0.0))

    def differences(self) -> pd.DataFrame:
        """Tests of all pairs of variables, the smallest p-value first.

        Returns
        -------
        DataFrame
            Table with the columns source, target, common (mean over the networks), spread (standard
            deviation of the true partial correlations between them, on the Fisher scale), difference
            (of two networks: second minus first), statistic, p_value, q_value, and for each network
            ``estimate NAME`` and ``standard_error NAME``.
        """
        j, k = np.triu_indices(len(self.names), 1)
        labels = np.array(self.names, dtype=object)
        tests = [_tests(result) for result in self.results]
        columns: dict[str, Any] = {
            "source": labels[j],
            "target": labels[k],
            "common": self.tests.common,
        }
        if len(tests) == 2:
            columns["difference"] = tests[1].estimate - tests[0].estimate
        columns |= {
            "spread": self.tests.spread,
            "statistic": self.tests.statistic,
            "p_value": self.tests.p_value,
            "q_value": self.tests.q_value,
        }
        for level, table in zip(self.levels, tests, strict=True):
            columns[f"estimate {level}"] = table.estimate
            columns[f"standard_error {level}"] = table.standard_error
        order = np.lexsort((-self.tests.statistic, self.tests.p_value))
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def networks(self) -> pd.DataFrame:
        """Distance of each network from the others, and its coordinates on a map.

        Returns
        -------
        DataFrame
            Table with the columns level, edges, p_value and q_value (of being like the others, given how
            much those differ), distance (root mean square distance to the others, on the Fisher scale,
            beyond chance), x and y (places whose distances are about those of the networks).
        """
        others = max(len(self.levels) - 1, 1)
        places = classical_scaling(self.tests.distance)
        unusual = self.tests.unusual
        return pd.DataFrame(
            {
                "level": list(self.levels),
                "edges": [result.n_edges for result in self.results],
                "p_value": unusual,
                "q_value": unusual if np.isnan(unusual).any() else adjusted(unusual),
                "distance": np.sqrt((self.tests.distance**2).sum(axis=1) / others),
                "x": places[:, 0],
                "y": places[:, 1],
            }
        )


def compare_networks(networks: Mapping[str, Any], *, fdr: float | None = None) -> NetworkComparison:
    """Test whether networks of the same variables from different samples differ.

    Every pair's partial correlations are compared with the textbook test of independent estimates on the
    Fisher scale, with standard errors that allow for confounders, groups of rows, time series and heavy
    tails as those of the fits. Means and variances of the variables, and numbers of samples, may differ.
    The samples of different networks must be independent; two networks of the same people are not.

    Parameters
    ----------
    networks : mapping of str to GraphResult or fitted estimator
        Networks by name, at least two, with tests of their edges.
    fdr : float, optional
        False discovery rate at which pairs are declared to differ; by default that of the results, or 0.05.

    Returns
    -------
    NetworkComparison

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> fits = {}
    >>> for name, seed in (("one", 0), ("same", 0), ("other", 5)):
    ...     data = simulate_paper(6, n=900, seed=seed, nuisance_radius=0.0)
    ...     half = slice(0, 450) if name == "one" else slice(450, 900)
    ...     fits[name] = PLAGGMCV(criterion="bic").fit(data.x[half])
    >>> bool(compare_networks({"a": fits["one"], "b": fits["same"]}).p_value > 0.05)
    True
    >>> bool(compare_networks({"a": fits["one"], "b": fits["other"]}).p_value < 0.001)
    True
    """
    if not isinstance(networks, Mapping) or len(networks) < 2:
        raise ValueError(f"networks must be two or more results by name; got {shown(networks)}.")
    results = tuple(
        one if isinstance(one, GraphResult) else one.to_result() for one in networks.values()
    )
    levels = tuple(map(str, networks))
    names = results[0].names
    for level, result in zip(levels, results, strict=True):
        if result.names != names:
            raise ValueError(
                f"Network {level!r} has other variables than {levels[0]!r}: all must have the same ones in "
                "the same order."
            )
        if result.edge_table is None:
            raise ValueError(
                f"Network {level!r} has no tests of its edges, so it cannot be compared."
            )
    tests = [_tests(result) for result in results]
    rates = [result.fdr for result in results if result.fdr is not None]
    found = network_differences(
        np.stack([table.estimate for table in tests]),
        np.stack([table.standard_error for table in tests]),
        np.array([table.degrees_of_freedom for table in tests]),
    )
    rate = fdr if fdr is not None else min(rates, default=FALSE_DISCOVERY)
    return NetworkComparison(names, levels, results, rate, found)


def _tests(result: GraphResult) -> EdgeTable:
    assert result.edge_table is not None
    return result.edge_table
