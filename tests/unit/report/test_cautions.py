"""What undermines a result stands at the top of its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.edge_table import EdgeTable
from plaggm.report.cautions import cautions, positive_definite_points
from plaggm.report.page import render_report
from plaggm.result import GraphResult
from plaggm.simulate import simulate_paper


@pytest.fixture(scope="module")
def result() -> GraphResult:
    data = simulate_paper(4, n=300, seed=1, even=True, threshold=100.0)
    return PLAGGM(0.05, threshold=100.0).fit(data.x, confounder=data.confounder).to_result()


def known(result: GraphResult, **diagnostics: object) -> GraphResult:
    return replace(result, diagnostics={**result.diagnostics, **diagnostics})


def test_nothing_is_said_where_nothing_is_known(result: GraphResult) -> None:
    assert cautions(result) == ()
    assert "Before you rely on it" not in render_report(result)


def test_findings_of_the_table_come_first_and_are_inert(result: GraphResult) -> None:
    found = known(
        result,
        data_findings=["'<b>x</b>' is 9."],
        dependent_variable="a",
        dependent_lag1_correlation=0.5,
    )
    first, second = cautions(found)
    assert first == "'<b>x</b>' is 9."
    assert second.startswith("Residuals of a resemble those of the row before")
    page = render_report(found)
    assert "&lt;b&gt;x&lt;/b&gt;" in page[: page.index('<div class="lead">')]
    assert "<b>x</b>" not in page


def test_no_line_ends_within_an_option(result: GraphResult) -> None:
    found = known(result, data_findings=["Use --time-lag or --missing, not <--x>."])
    page = render_report(found)
    for option in ("--time-lag", "--missing"):
        assert f'<span class="option">{option}</span>' in page
    assert "not &lt;--x&gt;" in page.replace('<span class="option">', "").replace("</span>", "")


def test_imputed_cells_are_not_observed_ones(result: GraphResult) -> None:
    counts = {"imputed_cells": 1200, "imputed_most": "iron", "imputed_most_cells": 700}
    (said,) = cautions(known(result, **counts))
    assert said == (
        "1,200 missing values, most of them in iron (700), were filled in with predicted values "
        "(--missing impute). Tests take them for observed ones, so p-values are too small and intervals "
        "too narrow: --missing em allows for missing values."
    )
    counts |= {"imputed_cells": 1, "imputed_most_cells": 1}
    (said,) = cautions(known(result, **counts))
    assert said.startswith("1 missing value, in iron, was filled in with predicted values")
    assert cautions(known(result, imputed_cells="many", imputed_most_cells=None)) == ()


def test_few_samples(result: GraphResult) -> None:
    (said,) = cautions(known(result, n_samples=39, n_unconfounded=20))
    assert said == "39 samples are few for 4 variables: only strong edges can be found."
    (said,) = cautions(known(result, n_samples=300, n_unconfounded=11))
    assert said.startswith("Only 11 samples for 4 variables are free of confounding")


def test_improper_networks(result: GraphResult) -> None:
    assert result.nuisance is not None
    far = replace(result, nuisance=np.full_like(result.nuisance, 0.9))
    points = positive_definite_points(far)
    assert points is not None
    assert not points.any()
    (said,) = cautions(far)
    assert said.startswith(f"At {len(points)} of {len(points)} values of the confounder")


def test_unpenalised_estimates_may_be_improper_where_the_shrunken_network_is_not(
    result: GraphResult, edge_tests: Callable[..., EdgeTable]
) -> None:
    """Curves along the confounder are drawn from them: with R they may leave what any Gaussian has."""
    ring = np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0)
    assert result.nuisance is not None
    strong = replace(
        result,
        omega=0.1 * ring,
        edge_table=edge_tests(0.4 * ring, 300),
        settings={**result.settings, "edges": "fdr", "fdr": 0.05},
        nuisance=np.broadcast_to(0.2 * ring, result.nuisance.shape).copy(),
    )
    points = positive_definite_points(strong)
    assert points is not None
    assert points.all()
    (said,) = cautions(strong)
    assert said.startswith(
        f"At {len(points)} of {len(points)} values of the confounder the network of"
    )
    assert "the unpenalised estimates is not that of any Gaussian" in said


def test_networks_of_other_families_need_not_be_those_of_a_gaussian(result: GraphResult) -> None:
    assert result.nuisance is not None
    far = replace(result, nuisance=100.0 * result.nuisance, settings={"family": "binomial"})
    assert positive_definite_points(far) is None


@pytest.mark.parametrize("odd", [None, "text", 3, {"a": 1}, [["nested"], 4]])
def test_foreign_files_may_hold_anything(result: GraphResult, odd: object) -> None:
    assert all(isinstance(said, str) for said in cautions(known(result, data_findings=odd)))
