"""Three or more groups: the omnibus test against a literal one, its level, and which pairs are declared."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from plaggm.fmri import compare_all_groups, compare_groups
from plaggm.fmri.comparison import SPREAD_FLOOR
from plaggm.fmri.covariates import Covariates, exchange_blocks
from plaggm.fmri.permutations import Orders, arrangements
from plaggm.fmri.problems import Problems, StudyError

P = 5
PAIRS = P * (P - 1) // 2
NAMES = ("a", "b", "c")
UPPER = np.triu_indices(P, 1)


def literal_welch(values: np.ndarray, labels: np.ndarray, floor: float) -> np.ndarray:
    means = np.array([values[labels == k].mean(axis=0) for k in range(3)])
    errors = np.array(
        [values[labels == k].var(axis=0, ddof=1) / np.sum(labels == k) for k in range(3)]
    )
    weights = 1.0 / (errors + floor)
    common = (weights * means).sum(axis=0) / weights.sum(axis=0)
    return (weights * (means - common) ** 2).sum(axis=0) / 2.0


def literal_wald(
    values: np.ndarray, labels: np.ndarray, age: np.ndarray, floor: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Wald statistics of the groups, edge by edge, and the groups' variances.

    Differences to the first group and their covariance come from least squares; the covariance has the mean
    squared residual of each group in its middle.
    """
    design = np.column_stack([np.ones(len(age)), age, labels == 1, labels == 2]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    rest = values - design @ (inverse @ design.T @ values)
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    variances = np.array(
        [
            np.sum(rest[labels == k] ** 2, axis=0) / np.sum(1.0 - leverage[labels == k])
            for k in range(3)
        ]
    )
    floor = SPREAD_FLOOR**2 * np.median(variances.mean(axis=0)) if floor is None else floor
    statistics = []
    for edge in range(values.shape[1]):
        middle = (design * (variances[labels, edge] + floor)[:, None]).T @ design
        covariance = (inverse @ middle @ inverse)[2:, 2:]
        slopes = (inverse @ design.T @ values[:, edge])[2:]
        statistics.append(slopes @ np.linalg.solve(covariance, slopes) / 2.0)
    return np.array(statistics), variances


@pytest.fixture(scope="module")
def groups() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [7, 9, 8])
    values = draw.standard_normal((24, PAIRS))
    # The third group differs in the first edge.
    values[labels == 2, 0] += 3.0
    return values, labels, draw.standard_normal(24)


def test_statistic_is_the_literal_one(groups):
    values, labels, age = groups
    found = compare_all_groups(values, labels, NAMES, P, permutations=20)
    errors = np.mean(
        [values[labels == k].var(axis=0, ddof=1) / np.sum(labels == k) for k in range(3)], axis=0
    )
    floor = SPREAD_FLOOR**2 * np.median(errors)
    expected = literal_welch(values, labels, floor)
    np.testing.assert_allclose(found.statistic[UPPER], expected, rtol=1e-10)
    adjusted = compare_all_groups(
        values, labels, NAMES, P, permutations=20, covariates=age[:, None]
    )
    expected, _ = literal_wald(values, labels, age)
    np.testing.assert_allclose(adjusted.statistic[UPPER], expected, rtol=1e-9)


@pytest.mark.parametrize("blocks", [None, ["x"] * 12 + ["y"] * 12])
def test_p_values_are_the_literal_ones(groups, blocks):
    """Freedman and Lane by least squares on every permuted data set, within blocks."""
    values, labels, age = groups
    found = compare_all_groups(
        values, labels, NAMES, P, permutations=60, seed=4, covariates=age[:, None], blocks=blocks
    )
    null = np.column_stack([np.ones(24), age])
    fitted = null @ np.linalg.lstsq(null, values, rcond=None)[0]
    rest = values - fitted
    (orders,) = list(Orders(24, 60, 4, blocks))
    if blocks is not None:
        assert np.all(orders[:, :12] < 12)
    drawn = []
    for order in orders:
        # Orders place the rows of labels and covariates; residuals move the other way.
        moved = np.empty_like(rest)
        moved[order] = rest
        drawn.append(fitted + moved)
    means = [literal_wald(one, labels, age)[1].mean(axis=0) for one in drawn]
    floor = SPREAD_FLOOR**2 * np.median(means)
    statistics = np.array([literal_wald(one, labels, age, floor)[0] for one in drawn])
    p_values = (1 + np.sum(statistics >= found.statistic[UPPER] - 1e-12, axis=0)) / 61
    np.testing.assert_allclose(found.p_value[UPPER], p_values)


def test_pairs_are_those_of_two_groups(groups):
    values, labels, _ = groups
    found = compare_all_groups(values, labels, NAMES, P, permutations=400)
    assert [pair.groups for pair in found.pairs] == list(combinations(NAMES, 2))
    some = labels != 1
    alone = compare_groups(values[some], labels[some] == 2, ("a", "c"), P, permutations=400)
    np.testing.assert_array_equal(found.pairs[1].p_value, alone.p_value)
    # Of three groups that are not all alike two at most are: no correction for the number of pairs.
    ordered = np.sort(found.pair_p_values(), axis=0)
    np.testing.assert_allclose(ordered[0], np.min([pair.p_value for pair in found.pairs], axis=0))
    chosen = found.declared_pairs(0.1)
    assert found.declared(0.1)[0, 1]
    assert chosen[1:, 0, 1].all()
    assert not chosen[0, 0, 1]
    table = found.edges(tuple("vwxyz"), 0.1)
    assert list(table.iloc[0][["source", "target"]]) == ["v", "w"]
    assert table["declared: c - a"].sum() == np.count_nonzero(chosen[1][UPPER])
    assert "p_family_wise: b - a" in found.regions(tuple("vwxyz"))


def test_four_groups_are_corrected():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 6)
    values = draw.standard_normal((24, PAIRS))
    found = compare_all_groups(values, labels, tuple("abcd"), P, permutations=50)
    raw = np.sort([pair.p_value[UPPER] for pair in found.pairs], axis=0)
    adjusted = np.sort([one[UPPER] for one in found.pair_p_values()], axis=0)
    expected = np.minimum(np.maximum.accumulate(raw * np.array([3, 3, 3, 3, 2, 1])[:, None]), 1.0)
    np.testing.assert_allclose(adjusted, expected)


def test_level_of_both_stages():
    """Under no difference 5 % of omnibus p-values fall below 5 %, and few studies declare any pair."""
    below, declared = [], 0
    labels = np.repeat([0, 1, 2], 8)
    for seed in range(120):
        values = np.random.default_rng(seed).standard_normal((24, PAIRS))
        found = compare_all_groups(values, labels, NAMES, P, permutations=199, seed=seed)
        below.append(np.mean(found.p_value[UPPER] <= 0.05))
        declared += bool(found.declared_pairs(0.1).any())
    assert 0.03 < np.mean(below) < 0.07
    # At most 10 % of studies, within two standard errors.
    assert declared / 120 < 0.1 + 2 * np.sqrt(0.1 * 0.9 / 120)


def test_blocks(groups):
    """Groups that differ only because sites do are alike within sites."""
    draw = np.random.default_rng(1)
    site = np.tile([0, 0, 0, 1], 12)
    labels = (draw.random(48) < np.where(site == 1, 0.8, 0.2)).astype(int)
    values = draw.standard_normal((48, PAIRS)) + 1.5 * site[:, None]
    blocks = [f"site {one}" for one in site]
    plain = compare_groups(values, labels, ("a", "b"), P, permutations=500)
    within = compare_groups(values, labels, ("a", "b"), P, permutations=500, blocks=blocks)
    assert np.mean(plain.p_value[UPPER] < 0.05) > 0.5
    assert np.mean(within.p_value[UPPER] < 0.05) < 0.3
    assert arrangements("ab" * 4) == pytest.approx(70)
    assert within.finest_fdr == pytest.approx(PAIRS / min(501, arrangements(labels, blocks)))


def test_blocks_limit_the_false_discovery_rate():
    """Where blocks leave few arrangements, no number of permutations finds an edge that differs alone."""
    values = np.random.default_rng(0).standard_normal((8, PAIRS))
    labels, blocks = np.tile([0, 1], 4), list("aabbccdd")
    settings = {"permutations": 30_000, "blocks": blocks}
    two = compare_groups(values, labels, ("a", "b"), P, **settings)
    assert two.finest_fdr == pytest.approx(PAIRS / 2**4)
    freed = compare_groups(
        values, labels, ("a", "b"), P, covariates=np.arange(8.0)[:, None], **settings
    )
    assert freed.finest_fdr == two.finest_fdr
    third = compare_all_groups(
        values, np.array([0, 1, 0, 2, 1, 2, 0, 1]), ("a", "b", "c"), P, **settings
    )
    assert third.finest_fdr == pytest.approx(PAIRS / 2**4)


def test_blocks_of_the_participants_table(write, tmp_path):
    from plaggm.fmri import StudyPlan, read_study

    table = write.series(tmp_path, per_group=3, volumes=20)
    data, _ = read_study(StudyPlan(table, "diagnosis", ("fd",), tmp_path / "out", n_jobs=1))
    sites = "xyxyxy"
    data = replace(
        data,
        subjects=tuple(
            replace(one, further={"site": site, "group": one.group})
            for one, site in zip(data.subjects, sites, strict=True)
        ),
    )
    problems = Problems()
    assert exchange_blocks(data, None, problems) is None
    assert exchange_blocks(data, "site", problems) == tuple(sites)
    assert "there are 9 arrangements of the groups" in str(problems)
    # Residuals of all subjects differ, so that more can be told apart.
    told = Problems()
    known = Covariates(pd.DataFrame({"age": np.arange(6.0)}))
    exchange_blocks(data, "site", told, known)
    assert "there are 36 arrangements of the subjects" in str(told)
    with pytest.raises(StudyError, match="all subjects are in one group"):
        exchange_blocks(data, "group", problems)
    with pytest.raises(StudyError, match=r"'family' \(--blocks\) has no value for sub-01"):
        exchange_blocks(data, "family", problems)
