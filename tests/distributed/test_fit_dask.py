"""Fits of partitions equal fits of the whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from plaggm import PLAGGM, PLAGGMCV
from plaggm.distributed import PartitionError, fit_dask, sample_design
from plaggm.distributed.reduction import batch_ends

VARIABLES = list("abcdef")
# What partitioned and whole fits may differ by, in units of partial correlations.
AGREEMENT = 1e-10
# The same of tests of edges, which pass through inverses.
TEST_AGREEMENT = 1e-8
# Motion is an amount, though its values do not look like one.
EXACT: dict[str, Any] = dict(tol=1e-13, max_iter=20_000, reference="zero")
PRECISE: dict[str, Any] = dict(tol=1e-13, max_iter=20_000)


@pytest.fixture(autouse=True)
def _threads() -> Any:
    """No cluster: Dask's threads, whose tasks are the same."""
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture
def frame(table: pd.DataFrame) -> Any:
    return dd.from_pandas(table, npartitions=20, sort=False)


@pytest.fixture
def folder(table: pd.DataFrame, tmp_path: Path) -> Path:
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 5)):
        table.iloc[rows].to_parquet(tmp_path / f"part-{number}.parquet")
    return tmp_path


def assert_same(found: PLAGGM, expected: PLAGGM) -> None:
    for name in ("omega_", "location_", "alpha_", "tau_", "threshold_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=AGREEMENT, atol=AGREEMENT
        )
    assert found._network.problem.model.unconfounded == expected._network.problem.model.unconfounded
    assert found.n_features_in_ == expected.n_features_in_
    assert_same_tests(found.inference(), expected.inference())
    if expected.confounder_names_:
        columns = ["p_value", "q_value", "statistic", "degrees_of_freedom"]
        assert_same_tests(found.moderation()[columns], expected.moderation()[columns])


def assert_same_tests(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    assert list(ours.columns) == list(theirs.columns)
    for column in ours.select_dtypes("number"):
        np.testing.assert_allclose(
            ours[column], theirs[column], rtol=TEST_AGREEMENT, atol=TEST_AGREEMENT, err_msg=column
        )


class TestSameAsFit:
    @pytest.mark.parametrize("variance", ["function", "conditional", "unit"])
    def test_frame(self, table: pd.DataFrame, frame: Any, variance: str) -> None:
        whole = PLAGGM(0.05, variance=variance, **EXACT)
        whole.fit(table[VARIABLES], confounder=table["motion"])
        found = PLAGGM(0.05, variance=variance, **EXACT)
        assert fit_dask(found, frame, confounder="motion", variables=VARIABLES) is found
        assert_same(found, whole)
        assert list(found.feature_names_in_) == VARIABLES
        at = np.array([-200.0, 10.0, 350.0])
        np.testing.assert_allclose(found.nuisance(at), whole.nuisance(at), atol=AGREEMENT)

    @pytest.mark.parametrize("variance", ["function", "conditional"])
    def test_cross_validation_and_groups(
        self, table: pd.DataFrame, frame: Any, variance: str
    ) -> None:
        settings = dict(alphas=10, cv=4, variance=variance, random_state=0, **EXACT)
        whole = PLAGGMCV(**settings)
        whole.fit(table[VARIABLES], confounder=table["motion"], groups=table["subject"])
        found = fit_dask(PLAGGMCV(**settings), frame, confounder="motion", groups="subject")
        assert_same(found, whole)
        np.testing.assert_allclose(found.cv_loss_, whole.cv_loss_, rtol=1e-9)
        ours, theirs = found.bootstrap(5), whole.bootstrap(5)
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=AGREEMENT)

    def test_heavy_tails_widen_intervals_alike(self, table: pd.DataFrame) -> None:
        heavy = table.copy()
        scale = np.where(np.arange(len(table)) % 20 == 0, 6.0, 1.0)
        centred = table[VARIABLES] - table[VARIABLES].mean()
        heavy[VARIABLES] = centred.mul(scale, axis=0)
        settings = dict(alphas=5, cv=4, **EXACT)
        whole = PLAGGMCV(**settings).fit(heavy[VARIABLES], confounder=heavy["motion"])
        frame = dd.from_pandas(heavy, npartitions=4, sort=False)
        found = fit_dask(PLAGGMCV(**settings), frame, confounder="motion", variables=VARIABLES)
        assert whole.to_result().diagnostics["edge_dispersion"] > 1.2
        assert_same(found, whole)

    def test_array_cut_across_columns(self, table: pd.DataFrame) -> None:
        x, g = table[VARIABLES].to_numpy(), table["motion"].to_numpy()
        whole = PLAGGM(0.05, **EXACT).fit(x, confounder=g)
        spread = da.from_array(x, chunks=(90, 4))
        for motion in (da.from_array(g, chunks=150), g):
            assert_same(fit_dask(PLAGGM(0.05, **EXACT), spread, confounder=motion), whole)

    def test_without_confounder(self, table: pd.DataFrame) -> None:
        x = table[VARIABLES].to_numpy()
        whole = PLAGGM(0.05, **EXACT).fit(x)
        found = fit_dask(PLAGGM(0.05, **EXACT), da.from_array(x, chunks=(90, 6)))
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)

    def test_folder_of_parquet_files(self, table: pd.DataFrame, folder: Path) -> None:
        whole = PLAGGM(0.05, **EXACT).fit(table[VARIABLES], confounder=table["motion"])
        found = fit_dask(PLAGGM(0.05, **EXACT), folder, confounder="motion", variables=VARIABLES)
        assert_same(found, whole)

    def test_empty_partitions(self, table: pd.DataFrame) -> None:
        whole = PLAGGM(0.05, **EXACT).fit(table[VARIABLES], confounder=table["motion"])
        parts = [table.iloc[:0], table.iloc[:300], table.iloc[300:300], table.iloc[300:]]
        frame = dd.from_delayed([dask.delayed(part) for part in parts], meta=table.iloc[:0])
        found = fit_dask(PLAGGM(0.05, **EXACT), frame, confounder="motion", variables=VARIABLES)
        assert_same(found, whole)


class TestSameAsPartialFit:
    def test_one_pass_with_a_design(self, table: pd.DataFrame, folder: Path) -> None:
        settings = dict(alphas=10, cv=4, **EXACT)
        columns = dict(confounder="motion", variables=VARIABLES)
        design = sample_design(PLAGGMCV(**settings), folder, **columns)
        found = fit_dask(PLAGGMCV(**settings), folder, design=design, **columns)
        expected = PLAGGMCV(**settings).partial_fit(
            table[VARIABLES], confounder=table[["motion"]], design=design
        )
        assert_same(found, expected)
        np.testing.assert_allclose(found.cv_loss_, expected.cv_loss_, rtol=1e-9)
        more = table.iloc[:50]
        found.partial_fit(more[VARIABLES], confounder=more[["motion"]])
        assert found._stream.sums.n == len(table) + 50

    def test_a_finished_checkpoint_is_all_that_is_needed(
        self, table: pd.DataFrame, folder: Path, tmp_path: Path
    ) -> None:
        columns = dict(confounder="motion", variables=VARIABLES, checkpoint=tmp_path / "kept")
        model = PLAGGM(0.05, **EXACT)
        design = model.make_design(table[["motion"]], n_features=len(VARIABLES))
        first = fit_dask(clone(model), folder, design=design, **columns)
        assert_same(fit_dask(clone(model), folder, design=design, **columns), first)

    def test_groups_are_numbered_alike(self, table: pd.DataFrame, folder: Path) -> None:
        settings = dict(alphas=10, cv=3, random_state=1, **EXACT)
        columns = dict(confounder="motion", groups="subject")
        design = sample_design(PLAGGMCV(**settings), folder, **columns)
        found = fit_dask(PLAGGMCV(**settings), folder, design=design, **columns)
        expected = PLAGGMCV(**settings).partial_fit(
            table[VARIABLES],
            confounder=table[["motion"]],
            groups=table["subject"],
            design=design,
        )
        assert_same(found, expected)


class TestSampleDesign:
    def test_all_rows_give_the_design_of_fit(self, table: pd.DataFrame, frame: Any) -> None:
        model = PLAGGM(reference="zero")
        found = sample_design(model, frame, confounder="motion", groups="subject")
        expected = model.make_design(table[["motion"]], n_features=6)
        np.testing.assert_array_equal(found.threshold, expected.threshold)
        np.testing.assert_array_equal(found.bins.edges, expected.bins.edges)

    def test_does_not_depend_on_partitions(self, table: pd.DataFrame, frame: Any) -> None:
        columns = dict(confounder="motion", groups="subject", rows=200)
        model = PLAGGM(reference="zero")
        one = sample_design(model, frame, **columns)
        other = sample_design(model, dd.from_pandas(table, npartitions=3, sort=False), **columns)
        assert one.same_as(other)
        # The range is that of all rows, not of the sample.
        assert one.low[0] == table["motion"].min()
        assert one.high[0] == table["motion"].max()


@pytest.fixture(scope="module")
def mixed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with sites by name, rows of one site in some partitions only, and ages."""
    rng = np.random.default_rng(3)
    site = rng.choice(["Berlin", "Ann Arbor", "Cork"], len(table), p=[0.5, 0.3, 0.2])
    site[:100] = "Berlin"
    site[-60:] = "Dijon"
    age = rng.uniform(20.0, 70.0, len(table))
    made = table.assign(site=site, age=age)
    made["b"] += 3.0 * (site == "Cork") + (site == "Dijon") * (made["a"] - 30.0)
    made["c"] += 0.002 * (age - 45.0) * (made["a"] - 30.0)
    return made


class TestKindsOfConfounders:
    @pytest.mark.parametrize(
        ("columns", "asked"),
        [
            ("site", {}),
            ("site", {"reference": "Cork"}),
            ("age", {}),
            ("age", {"reference": 40.0}),
            (["age", "site", "motion"], {"reference": {"motion": "zero"}}),
        ],
    )
    @pytest.mark.parametrize("variance", ["function", "conditional"])
    def test_same_as_fit(
        self, mixed: pd.DataFrame, columns: Any, asked: dict[str, Any], variance: str
    ) -> None:
        if variance == "function" and isinstance(columns, list):
            pytest.skip("several confounders that inflate the variance need more than one pass")
        model = PLAGGM(0.05, variance=variance, **asked, **PRECISE)
        # Errors come from groups: without folds only rows in memory tell how heavy their tails are.
        whole = clone(model).fit(
            mixed[VARIABLES], confounder=mixed[columns], groups=mixed["subject"]
        )
        frame = dd.from_pandas(mixed, npartitions=9, sort=False)
        found = fit_dask(model, frame, confounder=columns, variables=VARIABLES, groups="subject")
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=AGREEMENT)
        assert found.reference_ == whole.reference_
        ours, theirs = found.inference()["p_value"], whole.inference()["p_value"]
        np.testing.assert_allclose(ours, theirs, atol=TEST_AGREEMENT)
        at = mixed[columns].iloc[[0, -1, 350]].to_numpy()
        np.testing.assert_allclose(found.omega_at(at), whole.omega_at(at), atol=AGREEMENT)

    def test_categories_and_declared_numbers(self, mixed: pd.DataFrame) -> None:
        whole = PLAGGM(0.05, **PRECISE).fit(mixed[VARIABLES], confounder=mixed["site"])
        names = sorted(set(mixed["site"]))
        for site, asked in (
            (pd.Categorical(mixed["site"], names[::-1]), {}),
            (
                mixed["site"].map({name: 7 * k for k, name in enumerate(names)}),
                {"categorical": "site"},
            ),
        ):
            frame = dd.from_pandas(mixed.assign(site=site), npartitions=5, sort=False)
            model = PLAGGM(0.05, **asked, **PRECISE)
            found = fit_dask(model, frame, confounder="site", variables=VARIABLES)
            np.testing.assert_allclose(found.omega_, whole.omega_, atol=TEST_AGREEMENT)

    @pytest.mark.parametrize("columns", ["site", "age", ["age", "site"]])
    def test_one_pass_with_a_design(self, mixed: pd.DataFrame, columns: Any) -> None:
        """Partitions that have one site only tell nothing but that."""
        model = PLAGGM(0.05, variance="conditional", **PRECISE)
        frame = dd.from_pandas(mixed, npartitions=9, sort=False)
        where = dict(confounder=columns, variables=VARIABLES)
        design = sample_design(model, frame, **where)
        given = mixed[[columns] if isinstance(columns, str) else columns]
        assert design.same_as(model.make_design(given, n_features=6))
        found = fit_dask(clone(model), frame, design=design, **where)
        whole = clone(model).fit(mixed[VARIABLES], confounder=given)
        np.testing.assert_allclose(found.omega_, whole.omega_, atol=TEST_AGREEMENT)


class TestMessages:
    def test_pandas_needs_no_cluster(self, table: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match="use fit"):
            fit_dask(PLAGGM(), table, confounder="motion")

    def test_wrong_column(self, frame: Any) -> None:
        with pytest.raises(ValueError, match="no column 'movement'"):
            fit_dask(PLAGGM(), frame, confounder="movement")

    def test_kernel(self, frame: Any) -> None:
        with pytest.raises(ValueError, match="smoother='spline'"):
            fit_dask(PLAGGM(smoother="kernel"), frame, confounder="motion")

    def test_stars(self, frame: Any) -> None:
        with pytest.raises(ValueError, match="stars"):
            fit_dask(PLAGGMCV(criterion="stars"), frame, confounder="motion")

    def test_several_confounders(self, table: pd.DataFrame) -> None:
        twice = table.drop(columns="subject").assign(other=np.roll(table["motion"], 7))
        frame = dd.from_pandas(twice, npartitions=3)
        with pytest.raises(ValueError, match="variance='conditional'"):
            fit_dask(PLAGGM(), frame, confounder=["motion", "other"])

    def test_missing_value_names_its_row_and_partition(self, table: pd.DataFrame) -> None:
        holed = table.drop(columns="subject")
        holed.loc[400, "c"] = np.nan
        frame = dd.from_pandas(holed, npartitions=7)
        with pytest.raises(ValueError, match="400") as caught:
            fit_dask(PLAGGM(), frame, confounder="motion")
        assert caught.value.__notes__ == ["In partition 4."]

    def test_confounder_of_another_length(self, table: pd.DataFrame) -> None:
        x = da.from_array(table[VARIABLES].to_numpy(), chunks=(100, 6))
        with pytest.raises(ValueError, match="699 rows for the 700"):
            fit_dask(PLAGGM(), x, confounder=table["motion"].to_numpy()[1:])

    def test_odd_arguments(self, table: pd.DataFrame) -> None:
        frame = dd.from_pandas(table.drop(columns="subject"), npartitions=2)
        with pytest.raises(TypeError, match="estimator must be a PLAGGM or a PLAGGMCV; got 3"):
            fit_dask(3, frame, confounder="motion")
        with pytest.raises(TypeError, match="design must come from make_design"):
            fit_dask(PLAGGM(), frame, confounder="motion", design="auto")
        with pytest.raises(TypeError, match="checkpoint must be the path of a folder; got 3"):
            fit_dask(PLAGGM(), frame, confounder="motion", checkpoint=3)
        with pytest.raises(ValueError, match=r"variables must be a list of column names; got 0\.5"):
            fit_dask(PLAGGM(), frame, confounder="motion", variables=0.5)
        with pytest.raises(ValueError, match="groups is the name of a column"):
            fit_dask(PLAGGM(), frame, confounder="motion", groups=["a"])
        with pytest.raises(ValueError, match="rows must be a whole number of at least 2"):
            sample_design(PLAGGM(), frame, confounder="motion", rows=0.5)
        x = da.from_array(table[VARIABLES].to_numpy(), chunks=(100, 6))
        with pytest.raises(ValueError, match="confounder has one value for the 700 of X"):
            fit_dask(PLAGGM(), x, confounder=1.0)

    def test_no_rows(self, table: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match="no rows"):
            fit_dask(PLAGGM(), dd.from_pandas(table.iloc[:0], npartitions=1), confounder="motion")

    def test_memory_error_names_the_file(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from plaggm.estimators.row_sums import RowSums

        add = RowSums.add

        def too_large(self: RowSums, x: Any, *rest: Any) -> None:
            if not self.n and len(x) == 140 and np.isclose(x[0, 0], poison):
                raise MemoryError
            add(self, x, *rest)

        poison = pd.read_parquet(folder / "part-3.parquet")["a"].iloc[0]
        monkeypatch.setattr(RowSums, "add", too_large)
        with pytest.raises(PartitionError, match=r"partition 3 \(part-3.parquet\)") as caught:
            fit_dask(PLAGGM(), folder, confounder="motion", variables=VARIABLES)
        assert caught.value.partition == "partition 3 (part-3.parquet)"


@pytest.mark.parametrize("count", [1, 7, 8, 9, 255, 257, 10_000])
def test_blocks_hold_every_partition_once(count: int) -> None:
    ends = batch_ends(count)
    assert ends[-1] == count
    assert len(ends) <= 32
    assert np.all(np.diff(ends) > 0)


def test_time_series_are_refused() -> None:
    """The filter needs rows one after the other; nothing is asked of a cluster."""
    with pytest.raises(ValueError, match="fit_dask cannot filter time series"):
        fit_dask(PLAGGM(0.1, temporal="ar"), "no-such-folder")
