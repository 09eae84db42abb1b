"""Covariates of subjects: reading them, and what comparison and diagnosis make of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plaggm.fmri.atlas import name_regions
from plaggm.fmri.classifiers import classifier_grid, path_aucs
from plaggm.fmri.comparison import SPREAD_FLOOR, compare_groups
from plaggm.fmri.covariates import (
    DISPLACEMENT,
    freed_features,
    read_covariates,
    residuals,
)
from plaggm.fmri.fold_networks import FoldFeatures
from plaggm.fmri.pooled_networks import fit_group
from plaggm.fmri.problems import Problems, StudyError
from plaggm.fmri.series_treatments import Residuals
from plaggm.fmri.subjects import StudyData, Subject

S, P, N = 24, 4, 60


@pytest.fixture
def data() -> StudyData:
    draw = np.random.default_rng(0)
    subjects = tuple(
        Subject(
            f"s{k:02}",
            "ab"[k % 2],
            draw.standard_normal((N, P)),
            draw.gamma(1.0, size=(N, 1)) * 0.2,
            draw.gamma(1.0, size=N) * 0.2,
            {"age": f"{20 + k}", "site": ["Lund", "Oslo", "Turku"][k % 3]},
        )
        for k in range(S)
    )
    return StudyData(subjects, name_regions(P, None, None), ("fd",))


class TestReading:
    def test_numbers_factors_and_displacement(self, data: StudyData) -> None:
        kept, found = read_covariates(data, ("age", "site", DISPLACEMENT), Problems())
        assert kept is data
        assert found is not None
        assert found.names == ("age", "site", DISPLACEMENT)
        assert found.factors == ("site",)
        np.testing.assert_array_equal(found.frame["age"], 20.0 + np.arange(S))
        np.testing.assert_allclose(found.frame[DISPLACEMENT], data.mean_displacement)
        # Age, two of three sites, displacement.
        assert found.design().shape == (S, 4)

    def test_nothing_asked_for(self, data: StudyData) -> None:
        assert read_covariates(data, (), Problems()) == (data, None)

    def test_who_has_no_value_is_left_out(self, data: StudyData) -> None:
        first = replace(data.subjects[0], further={"site": "Lund"})
        data = replace(data, subjects=(first, *data.subjects[1:]))
        problems = Problems()
        kept, found = read_covariates(data, ("age", "site"), problems)
        assert found is not None
        assert len(kept.subjects) == len(found.frame) == S - 1
        assert "s00" in str(problems)
        assert "no value of age" in str(problems)

    def test_unknown_and_constant_columns(self, data: StudyData) -> None:
        with pytest.raises(StudyError, match=r"no column 'agee' for --covariate; it has age, site"):
            read_covariates(data, ("agee",), Problems())
        same = tuple(replace(one, further={"site": "Lund"}) for one in data.subjects)
        with pytest.raises(StudyError, match=r"'site' is the same for all subjects"):
            read_covariates(replace(data, subjects=same), ("site",), Problems())


class TestResiduals:
    def test_slopes_come_from_the_training_subjects(self) -> None:
        draw = np.random.default_rng(1)
        values, design = draw.standard_normal((30, 5)), draw.standard_normal((30, 2))
        train = np.arange(20)
        found = residuals(values, design, train)
        full = np.column_stack([np.ones(20), design[train]])
        slopes = np.linalg.lstsq(full, values[train], rcond=None)[0][1:]
        expected = values - (design - design[train].mean(axis=0)) @ slopes
        np.testing.assert_allclose(found, expected, atol=1e-12)
        moved = values.copy()
        moved[20:] += 100.0
        np.testing.assert_allclose(residuals(moved, design, train)[:20], found[:20])

    def test_a_label_that_is_a_covariate_cannot_be_told(self) -> None:
        """Edges follow age, and so does the label: freed of age they tell nothing."""
        draw = np.random.default_rng(2)
        age = draw.standard_normal(200)
        y = (age + 0.5 * draw.standard_normal(200) > 0.0).astype(np.intp)
        values = age[:, None] + draw.standard_normal((200, 6))
        train, test = np.arange(150), np.arange(150, 200)
        plain = FoldFeatures(train, test, values, 0.1)
        freed = replace(plain, covariates=age[:, None])
        grid = classifier_grid(plain)
        assert path_aucs(plain, y, "values", grid)[0].mean() > 0.8
        assert path_aucs(freed, y, "values", grid)[0].mean() < 0.65

    def test_edges_of_a_few_do_not_take_up_a_covariate(self) -> None:
        """Nothing but age goes with the label, and edges that few have are chance: they tell nothing."""
        with_regression, found = [], []
        for seed in range(10):
            draw = np.random.default_rng(seed)
            age = draw.standard_normal(80)
            y = (age + draw.standard_normal(80) > 0.0).astype(np.intp)
            values = np.where(draw.random((80, 400)) < 0.02, draw.standard_normal((80, 400)), 0.0)
            train, test = np.arange(60), np.arange(60, 80)
            freed = FoldFeatures(train, test, values, 0.1, covariates=age[:, None])
            grid = classifier_grid(freed)
            found.append(path_aucs(freed, y, "values", grid)[0].mean())
            left = replace(freed, values=residuals(values, age[:, None], train), covariates=None)
            with_regression.append(path_aucs(left, y, "values", grid)[0].mean())
        assert np.mean(with_regression) > 0.6
        assert found == [0.5] * 10

    def test_features_that_half_of_few_subjects_have_are_freed(self) -> None:
        values = np.repeat([[0.0], [1.0]], 4, axis=0)
        design = np.random.default_rng(0).standard_normal((8, 1))
        train = np.arange(8)
        np.testing.assert_array_equal(
            freed_features(values, design, train), residuals(values, design, train)
        )


class TestComparison:
    def literal(self, values: Any, labels: Any, covariates: Any) -> tuple[Any, Any]:
        """Slopes on the group by least squares, and their errors with a variance for each group."""
        full = np.column_stack([np.ones(len(labels)), covariates, labels])
        inverse = np.linalg.inv(full.T @ full)
        slopes = inverse @ full.T @ values
        rest = values - full @ slopes
        left = 1.0 - np.einsum("ij,jk,ik->i", full, inverse, full)
        errors = []
        for edge in rest.T:
            noise = np.empty(len(labels))
            for group in (0, 1):
                own = labels == group
                noise[own] = np.sum(edge[own] ** 2) / left[own].sum()
            errors.append((inverse @ (full * noise[:, None]).T @ full @ inverse)[-1, -1])
        return slopes[-1], np.sqrt(errors)

    def test_the_slope_of_the_group_beside_covariates(self) -> None:
        draw = np.random.default_rng(3)
        labels = np.repeat([0, 1], [10, 20])
        covariates = draw.standard_normal((30, 2)) + labels[:, None]
        values = draw.standard_normal((30, 6)) * (1.0 + 2.0 * labels[:, None]) + covariates[:, :1]
        found = compare_groups(
            values, labels, ("a", "b"), 4, permutations=199, covariates=covariates
        )
        slope, error = self.literal(values, labels, covariates)
        pairs = np.triu_indices(4, 1)
        np.testing.assert_allclose(found.difference[pairs], slope, atol=1e-12)
        floor = SPREAD_FLOOR * np.median(error)
        np.testing.assert_allclose(found.statistic[pairs], slope / (error + floor), atol=1e-10)

    def test_covariates_that_explain_the_difference(self) -> None:
        """Where edges follow a covariate that differs between the groups, only the plain test rejects."""
        draw = np.random.default_rng(4)
        labels = np.repeat([0, 1], 30)
        age = draw.standard_normal(60) + 1.5 * labels
        values = age[:, None] + 0.5 * draw.standard_normal((60, 10))
        given: dict[str, Any] = dict(permutations=999, seed=0)
        plain = compare_groups(values, labels, ("a", "b"), 5, **given)
        freed = compare_groups(values, labels, ("a", "b"), 5, covariates=age[:, None], **given)
        pairs = np.triu_indices(5, 1)
        assert np.all(plain.p_value[pairs] < 0.01)
        assert np.median(freed.p_value[pairs]) > 0.1

    @pytest.mark.slow
    def test_the_null_hypothesis_is_kept(self) -> None:
        draw = np.random.default_rng(5)
        pairs = np.triu_indices(4, 1)
        found = []
        for _ in range(120):
            labels = np.repeat([0, 1], 12)
            age = draw.standard_normal(24) + labels
            values = age[:, None] * draw.standard_normal(6) + draw.standard_normal((24, 6))
            test = compare_groups(
                values, labels, ("a", "b"), 4, permutations=199, covariates=age[:, None]
            )
            found.append(test.p_value[pairs])
        assert 0.02 < np.mean(np.array(found) < 0.05) < 0.08

    @pytest.mark.parametrize("noise", [(3.0, 1.0), (1.0, 3.0)])
    def test_the_null_hypothesis_is_kept_where_sizes_and_variances_differ(
        self, noise: tuple[float, float]
    ) -> None:
        """With one variance for both groups .20 and .004 of the p-values are at most .05."""
        draw = np.random.default_rng(6)
        pairs = np.triu_indices(10, 1)
        labels = np.repeat([0, 1], [15, 45])
        found = []
        for _ in range(12):
            age = draw.standard_normal(60) + 0.5 * labels
            values = age[:, None] + np.array(noise)[labels, None] * draw.standard_normal((60, 45))
            test = compare_groups(
                values, labels, ("a", "b"), 10, permutations=199, covariates=age[:, None]
            )
            found.append(test.p_value[pairs])
        assert 0.03 < np.mean(np.array(found) <= 0.05) < 0.08

    def test_covariates_that_are_the_groups(self) -> None:
        labels = np.repeat([0, 1], 5)
        with pytest.raises(ValueError, match="tell the groups apart"):
            compare_groups(
                np.ones((10, 3)), labels, ("a", "b"), 3, covariates=labels[:, None] * 2.0
            )


def test_pooled_networks_average_over_covariates(data: StudyData) -> None:
    from plaggm import PLAGGM

    data = replace(data, subjects=data.subjects[:12])
    _, covariates = read_covariates(data, ("age", "site"), Problems())
    for threshold in ("auto", 0.1):
        result = fit_group(
            "pla",
            data,
            data.subjects,
            estimator=PLAGGM(threshold=threshold, reference="zero"),
            criterion="bic",
            scrub=0.5,
            label="all",
            covariates=covariates,
        )
        assert result.references == {"fd": "zero", "age": "average", "site": "average"}
        assert result.levels == {"site": ("Lund", "Oslo", "Turku")}
        assert result.diagnostics["confounder_groups"] == 12
        assert result.diagnostics["group_confounders"] == ["age", "site"]


def test_a_confounder_that_is_constant_within_a_scan(data: StudyData) -> None:
    """LR-GGM regresses on what varies, and a constant confounder leaves the series as they are."""
    subject = data.subjects[0]
    still = replace(subject, confounder=np.column_stack([subject.confounder, np.full(N, 0.4)]))
    treatment = Residuals()
    np.testing.assert_allclose(treatment.treat(still), treatment.treat(subject), atol=1e-12)


def test_blocks_whose_levels_differ_are_no_difference_of_groups() -> None:
    """Sites with other networks and other shares of patients: only exchanges within sites are fair."""
    rng = np.random.default_rng(31)
    found = {"free": 0, "blocks": 0}
    for _ in range(20):
        site = np.repeat([0, 1], 20)
        labels = (rng.random(40) < np.where(site, 0.8, 0.2)).astype(int)
        values = rng.standard_normal((40, 3)) + 1.5 * site[:, None]
        for kind in found:
            blocks = site if kind == "blocks" else None
            one = compare_groups(
                values, labels, ("a", "b"), 3, permutations=99, seed=1, blocks=blocks
            )
            found[kind] += one.p_family[0, 1] < 0.05
    assert found["blocks"] <= 4 < 10 <= found["free"]
