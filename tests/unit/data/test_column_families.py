"""Families by column: what is named, what is not, and values that cannot be of a family."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.data.column_families import check_family_values, column_families

NAMES = ("a", "b", "c")


def test_one_family_serves_all_variables():
    assert column_families("poisson", NAMES) == ("poisson",) * 3


def test_variables_that_are_not_named_are_gaussian():
    assert column_families({"c": "binomial"}, NAMES) == ("gaussian", "gaussian", "binomial")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("gamma", "family must be one of 'gaussian', 'binomial', 'poisson'; got 'gamma'"),
        ({"b": "ordinal"}, "family of variable 'b' must be one of .* got 'ordinal'"),
        (
            {"z": "binomial"},
            "'z', which is not a variable of the table. Variables are 'a', 'b', 'c'",
        ),
        (3, "got 3"),
    ],
)
def test_what_is_not_known_is_said(choice, message):
    with pytest.raises(ValueError, match=message):
        column_families(choice, NAMES)


@pytest.mark.parametrize(
    ("family", "value", "allowed"),
    [
        ("binomial", 2.0, "0 or 1"),
        ("binomial", 0.5, "0 or 1"),
        ("poisson", -1.0, "whole numbers"),
        ("poisson", 1.5, "whole numbers"),
    ],
)
def test_values_that_are_not_of_the_family_are_refused_with_row_and_name(family, value, allowed):
    x = np.zeros((5, 3))
    x[3, 1] = value
    with pytest.raises(
        ValueError, match=f"'b' is to be {family}.*{allowed}.*; row 3 has {value:g}"
    ):
        check_family_values(x, ("gaussian", family, "gaussian"), NAMES)
    check_family_values(np.abs(np.round(x)) > 0, (family,) * 3, NAMES)
    check_family_values(x, ("gaussian",) * 3, NAMES)
