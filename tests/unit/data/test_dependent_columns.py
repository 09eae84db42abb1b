"""Variables that determine each other given the confounders."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.core.preparation.dependence import correlations
from plaggm.data import check_dependence_given
from plaggm.data.dependent_columns import DependenceWarning

NAMES = ("education", "experience", "wage")


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((200, 3))


def test_fits_refuse_variables_that_add_up_to_the_confounder(x: np.ndarray) -> None:
    age = x[:, 0] + x[:, 1] + 6.0
    with pytest.raises(ValueError, match=r"follow from each other given 'confounder': 'x0', 'x1'"):
        PLAGGM(0.1, threshold=1.0).fit(x, confounder=age)
    near = age + 0.01 * np.random.default_rng(1).standard_normal(200)
    PLAGGM(0.1, threshold=6.0).fit(x, confounder=near)


def test_two_confounders_together(x: np.ndarray) -> None:
    other = np.random.default_rng(1).standard_normal(200)
    together = correlations(x, np.column_stack([x[:, 0] + x[:, 1] + other, other]))
    with pytest.raises(ValueError, match="given 'age', 'other': 'education', 'experience'"):
        check_dependence_given(together, 200, NAMES, ("age", "other"))
    # Neither alone makes them dependent.
    for column in (3, 4):
        some = [0, 1, 2, column]
        check_dependence_given(together[np.ix_(some, some)], 200, NAMES, ("one",))


def test_a_ridge_shares_them_out(x: np.ndarray) -> None:
    together = correlations(x, x[:, :1] - x[:, 2:])
    with pytest.warns(DependenceWarning, match="'education', 'wage'.*The ridge"):
        check_dependence_given(together, 200, NAMES, ("age",), ridge=0.1)


def test_variables_near_the_confounder_and_few_rows_are_left_alone(x: np.ndarray) -> None:
    close = x[:, :1] + 1e-4 * x[:, 1:2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_dependence_given(correlations(x, close), 200, NAMES, ("age",))
        few = x[:4]
        check_dependence_given(correlations(few, few[:, :1] + few[:, 1:2]), 4, NAMES, ("age",))
