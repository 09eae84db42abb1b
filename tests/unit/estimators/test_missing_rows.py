"""Rows that are used where values are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.estimators.missing_rows import usable_rows


def table(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    return x, rng.gamma(1.0, size=n)


def test_reasons_are_counted() -> None:
    x, g = table()
    x.iloc[3] = np.nan
    x.iloc[4, 1] = np.nan
    x.iloc[5, [1, 2]] = np.nan
    g[4] = np.nan
    found = usable_rows("em", PLAGGM, x, g)
    assert (found.missing.without_confounder, found.missing.empty, found.missing.incomplete) == (
        1,
        1,
        1,
    )
    assert found.missing.cells.tolist() == [0, 1, 1, 0]
    assert found.used is not None
    assert 3 not in found.used.index
    assert 4 not in found.used.index
    assert len(found.values) == len(found.x) == len(found.confounder) == 198


def test_dropping_is_fitting_what_is_left() -> None:
    x, g = table()
    x.iloc[::7, 2] = np.nan
    g[11] = np.nan
    groups = np.arange(200) // 10
    keep = x.notna().all(axis=1).to_numpy() & ~np.isnan(g)
    with pytest.warns(UserWarning, match=r"1 row without confounder and \d+ rows with missing"):
        found = PLAGGMCV(missing="drop", alphas=10, cv=4).fit(x, confounder=g, groups=groups)
    other = PLAGGMCV(alphas=10, cv=4).fit(x[keep], confounder=g[keep], groups=groups[keep])
    assert np.array_equal(found.omega_, other.omega_)
    assert found.inference().equals(other.inference())


def test_series_end_where_rows_are_left_out() -> None:
    x, g = table()
    x.iloc[[50, 51, 120], 0] = np.nan
    found = usable_rows("drop", PLAGGM, x, g, serial=True)
    assert np.count_nonzero(np.diff(found.runs)) == 2
    with pytest.warns(UserWarning, match="left out"):
        model = PLAGGM(missing="drop", temporal=1).fit(x, confounder=g)
    assert model.to_result().diagnostics["n_runs"] == 3


def test_folds_of_the_table_follow_its_rows() -> None:
    x, g = table()
    x.iloc[:20, 0] = np.nan
    rows = np.arange(200)
    folds = [(rows[rows % 2 == k], rows[rows % 2 != k]) for k in (0, 1)]
    keep = np.arange(20, 200)
    with pytest.warns(UserWarning, match="20 rows with missing values"):
        found = PLAGGMCV(missing="drop", alphas=10, cv=folds).fit(x, confounder=g)
    mine = [(train[train >= 20] - 20, test[test >= 20] - 20) for train, test in folds]
    other = PLAGGMCV(alphas=10, cv=mine).fit(x.iloc[keep], confounder=g[keep])
    assert np.array_equal(found.cv_loss_, other.cv_loss_)
    empty = [(rows[20:], rows[:20]), (rows[:100], rows[100:])]
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(ValueError, match="Fold 0 of cv has no rows left"),
    ):
        PLAGGMCV(missing="drop", alphas=10, cv=empty).fit(x, confounder=g)


def test_nothing_left_is_said() -> None:
    x, g = table()
    x["b"] = np.nan
    with pytest.raises(ValueError, match=r"Not one of the 200 rows .*'b' in 100%.*missing='em'"):
        PLAGGM(missing="drop").fit(x, confounder=g)
    with pytest.raises(ValueError, match="columns with no more than one value: 'b'"):
        PLAGGM(missing="em").fit(x, confounder=g)


def test_refusing_is_the_default() -> None:
    x, g = table()
    x.iloc[4, 1] = np.nan
    with pytest.raises(ValueError, match="row 4 of column 'b'"):
        PLAGGM().fit(x, confounder=g)


def test_chunks_and_streams_drop_rows_too() -> None:
    x, g = table()
    x.iloc[::9, 1] = np.nan
    parts = [(x.iloc[:90], g[:90]), (x.iloc[90:], g[90:])]
    model = PLAGGM(missing="drop", threshold=0.5)
    with pytest.warns(UserWarning, match="23 rows with missing values of 200"):
        whole = model.fit(x, confounder=g).omega_
    with pytest.warns(UserWarning, match="23 rows with missing values of 200"):
        chunked = model.fit_chunks(parts).omega_
    np.testing.assert_allclose(chunked, whole, atol=1e-8)
    with pytest.warns(UserWarning, match="rows with missing values of 200"):
        design = PLAGGM(missing="drop", threshold=0.5).fit(x, confounder=g).design_
    stream = PLAGGM(missing="drop", threshold=0.5)
    with pytest.warns(UserWarning, match="10 rows with missing values of 90"):
        stream.partial_fit(*parts[0][:1], confounder=parts[0][1], design=design, refit=False)
    with pytest.warns(UserWarning, match="13 rows with missing values of 110"):
        stream.partial_fit(parts[1][0], confounder=parts[1][1])
    np.testing.assert_allclose(stream.omega_, whole, atol=1e-8)
    with pytest.raises(ValueError, match="does not take time series"):
        PLAGGM(missing="drop", temporal=1).fit_chunks(parts)
