"""Several confounders as one: their norm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm.data.norm_index import norm_index


@pytest.fixture
def moved() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(50, 3)) * [1.0, 20.0, 0.1], columns=list("abc"))


def test_one_confounder_stays_as_it_is(moved: pd.DataFrame) -> None:
    index, threshold = norm_index(moved[["a"]], 0.5)
    pd.testing.assert_frame_equal(index, moved[["a"]])
    assert threshold == 0.5


def test_units_do_not_matter(moved: pd.DataFrame) -> None:
    first, threshold = norm_index(moved)
    second, _ = norm_index(moved * [1e3, 1.0, -1e-3])
    assert threshold == "auto"
    np.testing.assert_allclose(first.to_numpy(), second.to_numpy())


def test_thresholds_are_the_scale(moved: pd.DataFrame) -> None:
    index, threshold = norm_index(moved, [2.0, 10.0, 0.5])
    literal = [
        sum((row[k] / (2.0, 10.0, 0.5)[k]) ** 2 for k in range(3)) for row in moved.to_numpy()
    ]
    np.testing.assert_allclose(index.iloc[:, 0] ** 2, literal)
    assert threshold == 1.0


def test_what_has_no_norm_is_refused(moved: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="'site' is a factor"):
        norm_index(moved.assign(site="x"))
    with pytest.raises(ValueError, match=r"'b' .* is zero"):
        norm_index(moved.assign(b=0.0))
    with pytest.raises(ValueError, match=r"'c' .* is zero"):
        norm_index(moved, [1.0, 1.0, 0.0])
