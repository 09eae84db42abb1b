"""Groups count, not their rows, where a confounder is constant within groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, confounding_test

pytestmark = pytest.mark.slow

GROUPS, EACH, P, SETS = 40, 20, 6, 60
# Five percent of 60 sets, and about two and a half Monte-Carlo standard errors on either side.
MOST_REJECTED = 0.13
# Shares of hundreds of pairs, which depend on each other within a set.
PAIRS = (0.02, 0.08)


def unrelated(seed: int) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """Groups with networks and means of their own, and confounders that have nothing to do with them."""
    draw = np.random.default_rng(seed)
    group = np.repeat(np.arange(GROUPS), EACH)
    own = np.triu(0.15 * draw.standard_normal((GROUPS, P, P)), 1)
    root = np.linalg.cholesky(np.linalg.inv(np.eye(P) - own - own.transpose(0, 2, 1)))
    x = np.einsum("nij,nj->ni", root[group], draw.standard_normal((len(group), P)))
    x += 0.3 * draw.standard_normal((GROUPS, P))[group]
    confounder = pd.DataFrame(
        {
            "age": draw.uniform(18.0, 80.0, GROUPS)[group],
            "site": np.array(list("abcd"))[draw.integers(0, 4, GROUPS)][group],
            "motion": draw.gamma(1.0, size=len(group)),
        }
    )
    return x, confounder, group


@pytest.mark.parametrize("columns", [["age"], ["site"], ["age", "motion"], ["motion"]])
def test_no_confounding_is_not_rejected(columns: list[str]) -> None:
    rejected = []
    for seed in range(SETS):
        x, g, group = unrelated(seed)
        found = confounding_test(x, g[columns], groups=group, n_rearranged=39, random_state=seed)
        rejected.append(found.p_value <= 0.05)
    assert np.mean(rejected) <= MOST_REJECTED


def test_rows_taken_as_independent_would_reject() -> None:
    """Without groups the same tables look confounded, so that the test above can fail."""
    tables = (unrelated(seed) for seed in range(20))
    assert np.mean([confounding_test(x, g["age"]).p_value < 0.05 for x, g, _ in tables]) > 0.5


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_edges_and_their_changes() -> None:
    edges, changes = [], []
    for seed in range(SETS):
        x, g, group = unrelated(seed)
        model = PLAGGM(0.05).fit(x, confounder=g["age"], groups=group)
        edges.append(np.mean(model.inference()["p_value"] < 0.05))
        changes.append(np.mean(model.moderation()["p_value"] < 0.05))
    for share in (np.mean(edges), np.mean(changes)):
        assert PAIRS[0] < share < PAIRS[1]
