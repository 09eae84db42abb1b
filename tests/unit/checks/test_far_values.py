"""Findings about far values where many rows share one value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm.checks import examine_values

N = 400


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def kinds(column, **options):
    """Findings of a table with this column and some Gaussian ones, by kind."""
    frame = pd.DataFrame(
        np.random.default_rng(1).standard_normal((N, 3)), columns=["g", "one", "two"]
    )
    found = examine_values(frame.assign(amount=column), ["one", "two", "amount"], ["g"], **options)
    return {finding.kind: finding for finding in found}


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("amounts", ["lognormal", "gamma", "far from zero"])
def test_amounts_beside_many_zeros_are_not_far(draw, share, amounts):
    some = {
        "lognormal": draw.lognormal(size=N),
        "gamma": draw.gamma(5.0, size=N),
        "far from zero": draw.normal(20.0, size=N),
    }[amounts]
    found = kinds(np.where(draw.random(N) < share, 0.0, some))
    assert set(found) == {"common value"}
    one = found["common value"]
    assert (one.level, one.columns) == ("note", ("amount",))
    assert one.size == pytest.approx(share, abs=0.08)
    assert "'amount' is 0 in" in one.text
    assert "--margins rank" in one.option


def test_errors_among_the_amounts_are_far(draw):
    amounts = np.where(draw.random(N) < 0.6, 0.0, draw.gamma(5.0, size=N))
    amounts[17] = 500.0
    found = kinds(amounts)["outlier"]
    assert (found.level, found.rows) == ("warning", (17,))
    assert found.text.startswith("'amount' is 500,")


def test_rounding_makes_no_common_value(draw):
    found = kinds(np.round(draw.standard_normal(N), 1))
    assert "common value" not in found


def test_counts_have_their_own_finding(draw):
    found = kinds(np.where(draw.random(N) < 0.5, 0, draw.poisson(8.0, N)))
    assert set(found) == {"count"}


def test_ranks_are_told(draw):
    found = kinds(np.where(draw.random(N) < 0.5, 0.0, draw.gamma(5.0, size=N)), ranks=True)
    one = found["common value"]
    assert one.action.startswith("Replaced by normal scores")
    assert not one.option


def test_the_confounder_of_a_far_value_is_named(draw):
    column = draw.standard_normal(N)
    column[7] = 60.0
    frame = pd.DataFrame(draw.standard_normal((N, 3)), columns=["g", "h", "one"])
    frame = frame.assign(amount=column)
    given = f"above what is usual at g = {frame['g'].iloc[7]:.6g}."
    (found,) = (one for one in examine_values(frame, ["one", "amount"], ["g"]) if one.rows == (7,))
    assert given in found.text
    (found,) = (
        one for one in examine_values(frame, ["one", "amount"], ["g", "h"]) if one.rows == (7,)
    )
    assert "above what is usual at the row's confounders." in found.text
    (found,) = (one for one in examine_values(frame, ["one", "amount"]) if one.rows == (7,))
    assert "above what is usual." in found.text
