from __future__ import annotations

import gc
import json
import os
import pickle
import re
import shutil
import sys
import warnings
import zipfile
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from plaggm import PLAGGM, PLAGGMCV, GraphResult, publishing, read_result, result_archive
from plaggm.network_matrices import partial_correlations, precision_matrix
from plaggm.result_archive import FORMAT_VERSION, PATH_RULES, plain_settings
from plaggm.simulate import Simulated, simulate_paper

# Inverse of a well-conditioned matrix of order three; numbers that went through text.
ROUNDING = 1e-12

ODD_NAMES = ("a,b", 'say "hi"', "line\nbreak", "Ω_é漢 ", "=SUM(A1)", "")
INERT = {"=SUM(A1)": "'=SUM(A1)"}
EDGE_COLUMNS = ["source", "target", "partial_correlation", "weight", "precision"]
PAIR_COLUMNS = [
    *("source", "target", "estimate", "standard_error", "low", "high", "z", "p_value", "q_value")
]
FORMS = pytest.mark.parametrize("name", ["result", "result.npz"])


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(4, n=200, seed=2, even=True, threshold=60.0)


@pytest.fixture(scope="module")
def full(data: Simulated) -> GraphResult:
    """A result in which every field is filled."""
    model = PLAGGMCV(alphas=6, cv=3, smoother="kernel", threshold=60.0)
    return model.fit(data.x, confounder=pd.Series(data.confounder, name="motion")).to_result()


@pytest.fixture
def small() -> GraphResult:
    """A result with exact numbers in it."""
    omega = np.array([[0.5, 0.25, 0.0], [0.25, -1.0, -0.5], [0.0, -0.5, 0.0]])
    return GraphResult(
        names=("u", "v", "w"),
        omega=omega,
        location=np.array([1.0, 2.0, 3.0]),
        scale=np.array([2.0, 4.0, 8.0]),
        alpha=0.125,
    )


@pytest.fixture
def tested(small: GraphResult, edge_tests: Any) -> GraphResult:
    """The same with tests, which declare u – w (not in omega) and v – w, but not u – v."""
    estimate = np.array([[0.0, 0.05, 0.4], [0.05, 0.0, -0.6], [0.4, -0.6, 0.0]])
    tests = edge_tests(estimate, 100, pooled=np.full((3, 3), 0.1))
    return replace(small, edge_table=tests, settings={"edges": "fdr", "fdr": 0.05})


def assert_identical(first: Any, second: Any) -> None:
    for item in fields(first):
        a, b = getattr(first, item.name), getattr(second, item.name)
        if is_dataclass(a):
            assert_identical(a, b)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, item.name
            assert a.shape == b.shape, item.name
            assert a.tobytes() == b.tobytes(), item.name
        else:
            assert a == b, item.name


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rewrite_metadata(folder: Path, **changes: Any) -> None:
    path = folder / "result.json"
    metadata = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**metadata, **changes}), encoding="utf-8")


def rewrite_arrays(folder: Path, **changes: Any) -> None:
    path = folder / ("path.npz" if set(changes) & set(PATH_RULES) else "arrays.npz")
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    np.savez(path, **{**arrays, **changes})


class TestViews:
    def test_is_one_line_in_a_notebook(self, small: GraphResult, full: GraphResult) -> None:
        assert repr(small).startswith(f"GraphResult({len(small.names)} variables, ")
        assert "\n" not in repr(full)
        assert f"adjusted for {full.confounder_names[0]}" in repr(full)

    def test_partial_correlations(self, small: GraphResult) -> None:
        expected = [[1.0, 0.25, 0.0], [0.25, 1.0, -0.5], [0.0, -0.5, 1.0]]
        np.testing.assert_array_equal(small.partial_correlation, expected)
        np.testing.assert_array_equal(small.matrix().to_numpy(), expected)
        assert small.matrix().index.tolist() == small.matrix().columns.tolist() == ["u", "v", "w"]

    def test_adjacency_ignores_the_intercepts(self, small: GraphResult) -> None:
        expected = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
        np.testing.assert_array_equal(small.adjacency, expected)
        assert small.adjacency.dtype == bool

    def test_precision_is_in_the_units_of_the_data(self, small: GraphResult) -> None:
        # Cov(x) = S inv(I - offdiagonal) S with S the scales.
        unit = np.eye(3) - (small.omega - np.diag(np.diag(small.omega)))
        covariance = np.diag(small.scale) @ np.linalg.inv(unit) @ np.diag(small.scale)
        np.testing.assert_allclose(small.precision @ covariance, np.eye(3), atol=ROUNDING)

    def test_functions_leave_their_argument_alone(self, small: GraphResult) -> None:
        omega = small.omega.copy()
        partial_correlations(omega)
        precision_matrix(omega, small.scale)
        np.testing.assert_array_equal(omega, small.omega)

    def test_edges_strongest_first(self, small: GraphResult) -> None:
        edges = small.edges()
        assert edges.columns.tolist() == EDGE_COLUMNS
        # The scales are 2, 4 and 8.
        assert edges.to_numpy().tolist() == [
            ["v", "w", -0.5, -0.5, 0.5 / 32],
            ["u", "v", 0.25, 0.25, -0.25 / 8],
        ]
        assert edges["precision"].tolist() == [small.precision[1, 2], small.precision[0, 1]]
        assert edges.index.tolist() == [0, 1]

    def test_edges_with_their_stability(self, small: GraphResult) -> None:
        stability = np.array([[0.0, 0.6, 0.1], [0.6, 0.0, 0.9], [0.1, 0.9, 0.0]])
        edges = replace(small, stability=stability).edges()
        assert edges["stability"].tolist() == [0.9, 0.6]

    def test_nuisance_table(self, small: GraphResult) -> None:
        assert len(small.nuisance_table()) == 0
        nuisance = np.arange(27.0).reshape(3, 3, 3)
        two = replace(
            small,
            confounder_names=("g", "h"),
            confounder_grid=np.array([[-1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]),
            nuisance=nuisance,
            nuisance_error=nuisance / 10.0,
        )
        table = two.nuisance_table()
        assert len(table) == 9
        row = table.query("confounder == 'g' and value == 2 and source == 'u' and target == 'w'")
        assert row[["nuisance", "standard_error"]].to_numpy().tolist() == [[11.0, 1.1]]
        assert table.query("confounder == 'h'")["value"].unique().tolist() == [3.0]
        assert "standard_error" not in replace(two, nuisance_error=None).nuisance_table()

    def test_no_edges(self, small: GraphResult) -> None:
        edges = replace(small, omega=np.diag([1.0, 2.0, 3.0])).edges()
        assert edges.columns.tolist() == EDGE_COLUMNS
        assert len(edges) == 0

    def test_networkx(self, small: GraphResult) -> None:
        pytest.importorskip("networkx")
        graph = small.to_networkx()
        assert list(graph.nodes) == ["u", "v", "w"]
        assert dict(graph.edges) == {("u", "v"): {"weight": 0.25}, ("v", "w"): {"weight": -0.5}}

    def test_networkx_missing(self, small: GraphResult, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(ImportError, match=r"pip install 'plaggm\[plot\]'"):
            small.to_networkx()

    def test_summary(self, small: GraphResult, full: GraphResult) -> None:
        assert "2 edges between 3 variables (67% of all pairs), alpha = 0.125" in small.summary()
        assert "No confounder" in small.summary()
        assert "|motion| <= 60" in full.summary()

    def test_a_result_cannot_be_changed(self, small: GraphResult) -> None:
        with pytest.raises(AttributeError):
            small.alpha = 1.0  # type: ignore[misc]


class TestDeclaredEdges:
    """What tests declare is the network; omega stays as it is."""

    def test_network_is_of_unpenalised_estimates(self, tested: GraphResult) -> None:
        expected = np.array([[0.0, 0.0, 0.4], [0.0, 0.0, -0.6], [0.4, -0.6, 0.0]])
        np.testing.assert_array_equal(tested.network, expected)
        np.testing.assert_array_equal(tested.adjacency, expected != 0.0)
        np.testing.assert_array_equal(tested.matrix().to_numpy(), expected + np.eye(3))
        assert tested.partial_correlation[0, 1] == 0.25
        assert "2 edges between 3 variables" in tested.summary()
        assert "a false discovery rate of 0.05" in tested.summary()

    def test_the_penalty_decides_on_request(self, tested: GraphResult, small: GraphResult) -> None:
        for settings in ({"edges": "penalty", "fdr": 0.05}, {}):
            penalised = replace(tested, settings=settings)
            np.testing.assert_array_equal(penalised.adjacency, small.adjacency)
            assert penalised.edges()["partial_correlation"].tolist() == [-0.5, 0.25]
            assert penalised.edges().columns.tolist() == EDGE_COLUMNS
            assert len(penalised.inference()) == 3

    def test_edges_have_their_tests(self, tested: GraphResult) -> None:
        edges, pairs = tested.edges(), tested.inference()
        assert pairs.columns.tolist() == [*PAIR_COLUMNS, "change_p_value", "change_q_value"]
        assert list(zip(pairs["source"], pairs["target"], strict=True)) == [
            *(("u", "v"), ("u", "w")),
            ("v", "w"),
        ]
        assert edges["source"].tolist() == ["v", "u"]
        own = pairs.iloc[[2, 1]].reset_index(drop=True)
        pd.testing.assert_frame_equal(edges[pairs.columns], own)
        assert edges["weight"].tolist() == edges["estimate"].tolist() == [-0.6, 0.4]
        assert edges["precision"].tolist() == [0.6 / 32, -0.4 / 16]

    def test_no_tests_no_table(self, small: GraphResult) -> None:
        with pytest.raises(ValueError, match="no tests of its edges"):
            small.inference()

    @FORMS
    @pytest.mark.parametrize("changes", [True, False])
    def test_round_trip(
        self, tested: GraphResult, tmp_path: Path, name: str, changes: bool
    ) -> None:
        if not changes:
            tests = replace(tested.edge_table, change_p_value=None, change_q_value=None)
            tested = replace(tested, edge_table=tests)
        tested.save(tmp_path / name)
        assert_identical(read_result(tmp_path / name), tested)

    def test_tables_for_other_programs(self, tested: GraphResult, tmp_path: Path) -> None:
        tested.save(tmp_path / "result")
        pairs = pd.read_csv(tmp_path / "result" / "pairs.csv")
        pd.testing.assert_frame_equal(pairs, tested.inference(), check_dtype=False)
        edges = pd.read_csv(tmp_path / "result" / "edges.csv")
        pd.testing.assert_frame_equal(edges, tested.edges(), check_dtype=False)

    @FORMS
    def test_tests_of_changing_edges_travel_along(
        self, tested: GraphResult, moderation_tests: Any, tmp_path: Path, name: str
    ) -> None:
        found = moderation_tests([[0.001, 0.2, 0.9], [0.5, 0.6, 0.7]])
        result = replace(
            tested, confounder_names=("age", "site"), threshold=np.ones(2), moderation_table=found
        )
        result.save(tmp_path / name)
        read = read_result(tmp_path / name)
        assert_identical(read, result)
        assert read.moderation()["confounder"].tolist() == ["age"] * 3 + ["site"] * 3
        if (tmp_path / name).is_dir():
            table = pd.read_csv(tmp_path / name / "moderation.csv")
            pd.testing.assert_frame_equal(table, result.moderation(), check_dtype=False)

    def test_incomplete_or_impossible_tests_of_changing_edges_are_refused(
        self, tested: GraphResult, moderation_tests: Any, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match="no tests of which edges change"):
            tested.moderation()
        found = moderation_tests([[0.001, 0.2, 0.9]])
        aged = replace(tested, confounder_names=("age",), threshold=np.ones(1))
        replace(aged, moderation_table=found).save(tmp_path / "result")
        metadata = json.loads((tmp_path / "result" / "result.json").read_text(encoding="utf-8"))
        fewer = [name for name in metadata["arrays"] if name != "moderation_q_value"]
        rewrite_metadata(tmp_path / "result", arrays=fewer)
        with pytest.raises(ValueError, match="changing edges without moderation_q_value"):
            read_result(tmp_path / "result")
        wrong = replace(aged, moderation_table=replace(found, p_value=found.p_value + 1.0))
        with pytest.raises(ValueError, match="moderation_p_value must be between zero and one"):
            wrong.save(tmp_path / "wrong")

    def test_folders_of_the_first_format_still_open(
        self, small: GraphResult, tmp_path: Path
    ) -> None:
        small.save(tmp_path / "result")
        rewrite_metadata(tmp_path / "result", format_version=1)
        assert_identical(read_result(tmp_path / "result"), small)

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"edge_q_value": np.zeros(4)}, r"edge_q_value has shape \(4,\) instead of \(3,\)"),
            ({"edge_p_value": np.full(3, 2.0)}, "edge_p_value must be between zero and one"),
            ({"edge_low": np.full(3, np.nan)}, "edge_low must be between -1 and 1"),
            ({"edge_low": np.full(3, 1.0)}, "must not end before they begin"),
        ],
    )
    def test_impossible_tests_are_refused(
        self, tested: GraphResult, tmp_path: Path, arrays: dict[str, Any], message: str
    ) -> None:
        tested.save(tmp_path / "result")
        rewrite_arrays(tmp_path / "result", **arrays)
        with pytest.raises(ValueError, match=message):
            read_result(tmp_path / "result")

    @pytest.mark.parametrize("fdr", ["0.05", None, True, float("nan"), 0.0, 1.5])
    def test_impossible_rates_are_refused(
        self, tested: GraphResult, tmp_path: Path, fdr: Any
    ) -> None:
        tested.save(tmp_path / "result")
        rewrite_metadata(tmp_path / "result", settings={"edges": "fdr", "fdr": fdr})
        with pytest.raises(ValueError, match="fdr in its settings"):
            read_result(tmp_path / "result")

    def test_part_of_the_tests_is_refused(self, tested: GraphResult, tmp_path: Path) -> None:
        tested.save(tmp_path / "result")
        kept = ["omega", "location", "scale", "edge_estimate", "edge_q_value"]
        rewrite_metadata(tmp_path / "result", arrays=kept)
        with pytest.raises(ValueError, match="tests of edges without edge_standard_error"):
            read_result(tmp_path / "result")


class TestFromAnEstimator:
    def test_everything_is_there(self, full: GraphResult, data: Simulated) -> None:
        assert full.names == ("x0", "x1", "x2", "x3")
        assert full.confounder_names == ("motion",)
        assert full.threshold.tolist() == [60.0]
        assert full.omega_path.shape == (6, 4, 4)
        assert full.alphas.shape == full.criterion_path.shape == (6,)
        assert full.alpha in full.alphas
        assert full.settings["estimator"] == "PLAGGMCV"
        assert full.settings["alphas"] == 6
        assert full.diagnostics["n_samples"] == 200
        below = int(np.count_nonzero(np.abs(data.confounder) <= 60.0))
        assert full.diagnostics["n_unconfounded"] == below
        assert set(full.versions) >= {"plaggm", "numpy", "python"}

    def test_the_kept_nuisance_spans_the_data(self, full: GraphResult, data: Simulated) -> None:
        assert full.confounder_grid.shape[1] == 1
        grid = full.confounder_grid[:, 0]
        assert full.nuisance.shape == (len(grid), 4, 4)
        assert grid[0] == data.confounder.min()
        assert grid[-1] == data.confounder.max()
        assert np.all(np.diff(grid) > 0.0)
        inside = np.abs(grid) <= 60.0
        assert not full.nuisance[inside].any()
        assert full.nuisance[~inside].any()

    def test_without_confounder(self, data: Simulated) -> None:
        result = PLAGGM().fit(data.x).to_result()
        assert result.confounder_names == ()
        for name in ("threshold", "bandwidth", "confounder_grid", "nuisance", "omega_path"):
            assert getattr(result, name) is None
        assert result.diagnostics["n_unconfounded"] == 200


class TestRoundTrip:
    @FORMS
    def test_bit_for_bit(self, full: GraphResult, tmp_path: Path, name: str) -> None:
        assert full.save(tmp_path / name) == tmp_path / name
        assert listing(tmp_path) == [name]
        assert_identical(read_result(tmp_path / name), full)

    @FORMS
    def test_without_the_optional_parts(
        self, small: GraphResult, tmp_path: Path, name: str
    ) -> None:
        small.save(str(tmp_path / name))
        read = read_result(str(tmp_path / name))
        assert_identical(read, small)
        assert read.threshold is None

    @FORMS
    def test_extreme_numbers(self, small: GraphResult, tmp_path: Path, name: str) -> None:
        extreme = replace(
            small,
            omega=np.array([[-0.0, 5e-324, 0.1], [5e-324, 1e308, np.pi], [0.1, np.pi, 1e-17]]),
            alpha=0.1 + 0.2,
            diagnostics={"gap": 1e-300},
        )
        extreme.save(tmp_path / name)
        assert_identical(read_result(tmp_path / name), extreme)

    @FORMS
    def test_odd_names(self, tmp_path: Path, name: str) -> None:
        p = len(ODD_NAMES)
        result = GraphResult(
            names=ODD_NAMES,
            omega=np.full((p, p), 0.1),
            location=np.zeros(p),
            scale=np.ones(p),
            alpha=0.1,
            confounder_names=("müde; wach\t",),
            threshold=np.ones(1),
            bandwidth=np.ones(1),
        )
        result.save(tmp_path / name)
        assert_identical(read_result(tmp_path / name), result)

    def test_tables_hold_the_names(self, tmp_path: Path) -> None:
        p = len(ODD_NAMES)
        omega = np.random.default_rng(0).uniform(-0.1, 0.1, (p, p))
        omega += omega.T
        result = GraphResult(ODD_NAMES, omega, np.zeros(p), np.ones(p), 0.1)
        result.save(tmp_path / "result")
        table = dict(keep_default_na=False, encoding="utf-8")
        matrix = pd.read_csv(tmp_path / "result" / "matrix.csv", index_col=0, **table)
        # A spreadsheet would run a formula; reading the result gives all names as they were.
        assert matrix.index.tolist() == [INERT.get(name, name) for name in ODD_NAMES]
        np.testing.assert_allclose(matrix.to_numpy(), result.partial_correlation, rtol=ROUNDING)
        edges = pd.read_csv(tmp_path / "result" / "edges.csv", **table)
        pd.testing.assert_frame_equal(edges, result.edges().replace(INERT), check_dtype=False)

    def test_parents_are_made(self, small: GraphResult, tmp_path: Path) -> None:
        small.save(tmp_path / "study" / "group" / "result")
        assert_identical(read_result(tmp_path / "study" / "group" / "result"), small)

    def test_a_folder_can_be_read_by_others(
        self, small: GraphResult, full: GraphResult, tmp_path: Path
    ) -> None:
        small.save(tmp_path / "result")
        assert listing(tmp_path / "result") == [
            "arrays.npz",
            "centrality.csv",
            "edges.csv",
            "matrix.csv",
            "network.graphml",
            "result.json",
        ]
        full.save(tmp_path / "full")
        assert set(listing(tmp_path / "full")) - set(listing(tmp_path / "result")) == {
            "nuisance.csv",
            "pairs.csv",
            "path.npz",
        }
        table = pd.read_csv(tmp_path / "full" / "nuisance.csv")
        expected = full.nuisance_table()
        np.testing.assert_allclose(table["nuisance"], expected["nuisance"], rtol=1e-7)
        assert table["confounder"].unique().tolist() == ["motion"]
        small.save(tmp_path / "result.npz")
        if os.name == "posix":
            assert (tmp_path / "result").stat().st_mode & 0o777 == 0o755
            assert (tmp_path / "result.npz").stat().st_mode & 0o777 == 0o644

    @pytest.mark.parametrize(
        "changes",
        [
            {"cv": KFold(2)},
            {"threshold": np.array([60.0])},
            {"indicator": lambda ratio: np.clip(ratio - 1.0, 0.0, 1.0)},
            {"alphas": np.array([0.2, 0.1])},
            {"alphas": (0.2, 0.1)},
            {"random_state": np.random.RandomState(0)},
        ],
        ids=["splitter", "threshold", "function", "array", "tuple", "random state"],
    )
    def test_any_setting_can_be_saved(
        self, data: Simulated, tmp_path: Path, changes: dict[str, Any]
    ) -> None:
        model = PLAGGMCV(alphas=2, cv=2, smoother="kernel", threshold=60.0).set_params(**changes)
        result = model.fit(data.x, confounder=data.confounder).to_result()
        result.save(tmp_path / "result")
        read = read_result(tmp_path / "result")
        np.testing.assert_array_equal(read.omega, result.omega)
        assert read.settings.keys() == result.settings.keys()

    @pytest.mark.parametrize(
        "changes",
        [
            {"cv": list(KFold(2, shuffle=True, random_state=0).split(np.empty(200)))},
            {"threshold": [np.int64(60)]},
            {"alphas": [np.float32(0.2), np.float32(0.1)]},
        ],
        ids=["folds", "integer", "single precision"],
    )
    def test_any_list_can_be_saved(
        self, data: Simulated, tmp_path: Path, changes: dict[str, Any]
    ) -> None:
        model = PLAGGMCV(alphas=2, cv=2, smoother="kernel", threshold=60.0).set_params(**changes)
        model.fit(data.x, confounder=data.confounder).to_result().save(tmp_path / "result")

    def test_plain_settings(self) -> None:
        settings = plain_settings(
            {"a": np.float64(0.5), "b": np.arange(2), "c": None, "d": len, "e": "x", "f": KFold(2)}
        )
        assert json.loads(json.dumps(settings)) == settings
        assert settings["a"] == 0.5
        assert settings["b"] == [0, 1]
        assert settings["d"] == "len"
        assert settings["f"].startswith("KFold(")


def test_paths_that_no_file_can_have(small: GraphResult) -> None:
    for odd, why in (("a\0b", "zero byte"), ("x" * 300, "[Ff]ile name too long")):
        with pytest.raises(ValueError, match=f"Cannot write to .*{why}"):
            small.save(odd)


class TestOverwriting:
    @FORMS
    def test_not_unless_asked(
        self, small: GraphResult, full: GraphResult, tmp_path: Path, name: str
    ) -> None:
        small.save(tmp_path / name)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            full.save(tmp_path / name)
        assert_identical(read_result(tmp_path / name), small)

    @FORMS
    def test_replaces_the_whole_result(
        self, small: GraphResult, full: GraphResult, tmp_path: Path, name: str
    ) -> None:
        full.save(tmp_path / name)
        small.save(tmp_path / name, overwrite=True)
        assert_identical(read_result(tmp_path / name), small)
        assert listing(tmp_path) == [name]

    def test_a_foreign_folder_is_left_alone(self, small: GraphResult, tmp_path: Path) -> None:
        folder = tmp_path / "thesis"
        folder.mkdir()
        (folder / "chapter.txt").write_text("years of work")
        with pytest.raises(FileExistsError, match="not a plaggm result; it is left alone"):
            small.save(folder, overwrite=True)
        assert listing(folder) == ["chapter.txt"]
        assert listing(tmp_path) == ["thesis"]

    def test_a_foreign_folder_with_its_own_result_json(
        self, small: GraphResult, tmp_path: Path
    ) -> None:
        folder = tmp_path / "thesis"
        folder.mkdir()
        (folder / "chapter.txt").write_text("years of work")
        (folder / "result.json").write_text('{"accuracy": 0.9}')
        with pytest.raises(FileExistsError, match="left alone"):
            small.save(folder, overwrite=True)
        assert listing(folder) == ["chapter.txt", "result.json"]

    def test_a_foreign_npz_file_is_left_alone(self, small: GraphResult, tmp_path: Path) -> None:
        np.savez(tmp_path / "data.npz", x=np.arange(3))
        with pytest.raises(FileExistsError, match="left alone"):
            small.save(tmp_path / "data.npz", overwrite=True)

    def test_a_foreign_file_is_left_alone(self, small: GraphResult, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text("years of work")
        with pytest.raises(FileExistsError, match="left alone"):
            small.save(tmp_path / "notes", overwrite=True)
        assert (tmp_path / "notes").read_text() == "years of work"


class TestWholeOrNotAtAll:
    @FORMS
    @pytest.mark.parametrize("interruption", [OSError("disk full"), KeyboardInterrupt()])
    def test_a_failed_save_leaves_nothing(
        self,
        small: GraphResult,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        interruption: BaseException,
    ) -> None:
        def fail(*args: Any, **kwargs: Any) -> None:
            raise interruption

        monkeypatch.setattr(np, "savez_compressed", fail)
        with pytest.raises(type(interruption)):
            small.save(tmp_path / name)
        assert listing(tmp_path) == []

    @FORMS
    def test_a_failed_save_keeps_the_old_result(
        self,
        small: GraphResult,
        full: GraphResult,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
    ) -> None:
        full.save(tmp_path / name)

        def fail(*args: Any, **kwargs: Any) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(np, "savez_compressed", fail)
        with pytest.raises(OSError, match="disk full"):
            small.save(tmp_path / name, overwrite=True)
        assert listing(tmp_path) == [name]
        assert_identical(read_result(tmp_path / name), full)

    @FORMS
    def test_a_failed_move_keeps_the_old_result(
        self,
        small: GraphResult,
        full: GraphResult,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
    ) -> None:
        full.save(tmp_path / name)
        genuine = os.replace

        def fail(source: Any, target: Any) -> None:
            if any(Path(place).is_relative_to(tmp_path / name) for place in (source, target)):
                raise OSError("no permission")
            genuine(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", fail)
            patched.setattr(os, "rename", fail)
            patched.setattr(publishing, "exchange", fail)
            with pytest.raises(OSError, match="no permission"):
                small.save(tmp_path / name, overwrite=True)
        assert_identical(read_result(tmp_path / name), full)
        assert listing(tmp_path) == [name]

    def test_a_result_that_json_cannot_hold(self, small: GraphResult, tmp_path: Path) -> None:
        with pytest.raises(TypeError):
            replace(small, settings={"alpha": {1, 2}}).save(tmp_path / "result")
        assert listing(tmp_path) == []


# numpy leaves a file open that begins like an archive and is none; see test_no_file_stays_open.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestDamage:
    """Every file that cannot be read is refused with its name and what was expected."""

    @pytest.fixture
    def folder(self, full: GraphResult, tmp_path: Path) -> Path:
        return full.save(tmp_path / "result")

    def refusal(self, path: Path) -> str:
        with pytest.raises(ValueError, match="not a readable plaggm result") as caught:
            read_result(path)
        message = str(caught.value)
        assert str(path) in message
        assert "result.save()" in message
        return message

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"There is no result at .*missing"):
            read_result(tmp_path / "missing")

    @pytest.mark.parametrize("name", ["result.json", "arrays.npz"])
    def test_a_missing_part(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        assert name in self.refusal(folder)

    def test_a_missing_path(self, folder: Path) -> None:
        (folder / "path.npz").unlink()
        assert "omega_path, criterion_path" in self.refusal(folder)

    def test_a_cut_off_path(self, folder: Path) -> None:
        path = folder / "path.npz"
        path.write_bytes(path.read_bytes()[:100])
        self.refusal(folder)

    def test_a_path_of_another_result(self, small: GraphResult, folder: Path) -> None:
        shutil.copy(folder / "path.npz", small.save(folder.parent / "small") / "path.npz")
        assert read_result(folder.parent / "small").omega_path is None

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", '"text"', '{"accuracy": 0.9}', '{"format": "other"}']
    )
    def test_other_metadata(self, folder: Path, text: str) -> None:
        (folder / "result.json").write_text(text)
        self.refusal(folder)

    def test_metadata_that_is_no_text(self, folder: Path) -> None:
        (folder / "result.json").write_bytes(b"\xff\xfe\x00\x01")
        self.refusal(folder)

    @pytest.mark.parametrize(
        "name", ["format", "names", "alpha", "arrays", "settings", "versions", "confounder_names"]
    )
    def test_metadata_with_a_gap(self, folder: Path, name: str) -> None:
        path = folder / "result.json"
        metadata = json.loads(path.read_text())
        del metadata[name]
        path.write_text(json.dumps(metadata))
        assert name in self.refusal(folder)

    @pytest.mark.parametrize(
        "changes",
        [
            {"alpha": None},
            {"names": 4},
            {"names": ["a", "b"]},
            {"format_version": "newest"},
            {"alpha": "large"},
            {"names": "abcd"},
            {"names": [1, 2, 3, 4]},
            {"arrays": 3},
            {"arrays": []},
        ],
        ids=str,
    )
    def test_metadata_of_another_kind(self, folder: Path, changes: dict[str, Any]) -> None:
        rewrite_metadata(folder, **changes)
        self.refusal(folder)

    def test_a_newer_format(self, folder: Path) -> None:
        rewrite_metadata(folder, format_version=FORMAT_VERSION + 1, versions={"plaggm": "9.1"})
        with pytest.raises(ValueError, match=r"newer plaggm \(9\.1\); update plaggm"):
            read_result(folder)

    @pytest.mark.parametrize("kept", [0, 500, -1])
    def test_cut_off_arrays(self, folder: Path, kept: int) -> None:
        path = folder / "arrays.npz"
        path.write_bytes(path.read_bytes()[:kept])
        self.refusal(folder)

    @pytest.mark.parametrize("kept", [0, 500, -1])
    def test_cut_off_file(self, full: GraphResult, tmp_path: Path, kept: int) -> None:
        path = full.save(tmp_path / "result.npz")
        path.write_bytes(path.read_bytes()[:kept])
        self.refusal(path)

    def test_flipped_bytes(self, folder: Path) -> None:
        path = folder / "arrays.npz"
        sound = path.read_bytes()
        escaped = set()
        for position in range(0, len(sound), 23):
            broken = bytearray(sound)
            broken[position] ^= 0xFF
            path.write_bytes(broken)
            try:
                read_result(folder)
            except Exception as error:
                if "not a readable plaggm result" not in str(error):
                    escaped.add(f"{type(error).__name__}: {error}")
        assert not escaped

    def test_no_file_stays_open(self, folder: Path) -> None:
        path = folder / "arrays.npz"
        path.write_bytes(path.read_bytes()[:500])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.refusal(folder)
            gc.collect()
        assert not [warning for warning in caught if warning.category is ResourceWarning]

    def test_a_file_of_another_kind(self, folder: Path) -> None:
        self.refusal(folder / "edges.csv")

    def test_an_archive_of_another_kind(self, folder: Path) -> None:
        assert "metadata" in self.refusal(folder / "arrays.npz")

    def test_an_array_without_archive(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.arange(3))
        self.refusal(tmp_path / "x.npy")

    def test_a_missing_array(self, folder: Path) -> None:
        with np.load(folder / "arrays.npz") as stored:
            arrays = {name: stored[name] for name in stored.files if name != "omega"}
        np.savez(folder / "arrays.npz", **arrays)
        assert "omega" in self.refusal(folder)

    def test_a_network_of_another_size(self, folder: Path) -> None:
        rewrite_arrays(folder, omega=np.zeros((3, 3)))
        assert "4 names but a matrix of shape (3, 3)" in self.refusal(folder)

    @pytest.mark.parametrize(
        "changes",
        [
            {"scale": np.ones(2)},
            {"location": np.ones((4, 4))},
            {"omega": np.full((4, 4), "a")},
            {"omega_path": np.zeros((2, 3))},
            {"threshold": np.ones(3)},
            {"nuisance": np.zeros((1, 4, 4))},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_arrays_of_another_shape_or_kind(self, folder: Path, changes: dict[str, Any]) -> None:
        rewrite_arrays(folder, **changes)
        self.refusal(folder)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"omega": np.full((4, 4), np.nan)}, "omega must be finite and symmetric"),
            ({"omega": np.triu(np.ones((4, 4)))}, "omega must be finite and symmetric"),
            ({"location": np.array([0.0, 1.0, np.inf, 0.0])}, "location must be finite"),
            (
                {"scale": np.array([1.0, 1.0, 1.0, 1e-320])},
                "scale must be positive, between 1e-150",
            ),
            (
                {"scale": np.array([1.0, 1.0, 1.0, 0.0])},
                "scale must be positive, between 1e-150 and 1e150",
            ),
            ({"threshold": np.array([-1.0])}, "threshold must be zero or more, or missing"),
            ({"threshold": np.array([np.inf])}, "threshold must be zero or more, or missing"),
            ({"bandwidth": np.array([-1.0])}, "bandwidth must be finite and positive"),
            ({"confounder_sample": np.array([[np.inf]])}, "confounder_sample must be finite"),
            ({"stability": np.full((4, 4), 1.5)}, "stability must be between zero and one"),
            ({"stability": np.full((4, 4), np.nan)}, "stability must be between zero and one"),
            ({"alphas": np.array([0.1, 0.2])}, "alphas must be decreasing penalties"),
            ({"alphas": np.array([0.2, -0.1])}, "alphas must be decreasing penalties"),
            ({"omega_path": np.full((2, 4, 4), np.inf)}, "omega_path must be finite in every"),
            ({"criterion_error": np.array([0.1, -0.1])}, "criterion_error must be zero or more"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_values_outside_their_meaning(
        self, folder: Path, changes: dict[str, Any], words: str
    ) -> None:
        rewrite_arrays(folder, stability=np.zeros((4, 4)))
        path = {"alphas": np.array([0.2, 0.1]), "omega_path": np.zeros((2, 4, 4))}
        path |= {"criterion_path": np.zeros(2), "criterion_error": np.zeros(2)}
        rewrite_arrays(folder, **path)
        listed = json.loads((folder / "result.json").read_text())["arrays"]
        rewrite_metadata(folder, arrays=[*listed, "stability"])
        read_result(folder)
        rewrite_arrays(folder, **changes)
        assert words in self.refusal(folder)

    def test_values_that_could_not_be_read_are_not_written(
        self, small: GraphResult, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError, match="scale must be positive, between 1e-150 and 1e150"):
            replace(small, scale=np.zeros(3)).save(tmp_path / "result")
        assert listing(tmp_path) == []

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"alpha": float("nan")}, "alpha in its metadata is not a finite number"),
            ({"alpha": -0.1}, "alpha in its metadata is not a finite number"),
            ({"alpha": 10**400}, "a number that is too large"),
            ({"alpha": True}, "alpha in its metadata is missing or not a number"),
            ({"names": ["a", "b", "c", "a"]}, "names in its metadata is not a list of different"),
            ({"settings": []}, "settings in its metadata is missing or not a table"),
            ({"versions": "all"}, "versions in its metadata is missing or not a table"),
        ],
        ids=str,
    )
    def test_metadata_outside_their_meaning(
        self, folder: Path, changes: dict[str, Any], words: str
    ) -> None:
        rewrite_metadata(folder, **changes)
        assert words in self.refusal(folder)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[" * 100_000, "nested too deeply"),
            ("[]", "its metadata are no JSON object"),
            ("{,}", "not valid JSON from line 1, column 2 on"),
            ('{"format": ' + "1" * 5000 + "}", "a number of thousands of digits"),
            (b'{"format": "\xff"}', "not UTF-8 text: byte 0xff at position 13"),
        ],
        ids=["nested", "list", "comma", "digits", "bytes"],
    )
    def test_hostile_metadata(self, folder: Path, text: str | bytes, words: str) -> None:
        content = text if isinstance(text, bytes) else text.encode()
        (folder / "result.json").write_bytes(content)
        assert words in self.refusal(folder)

    def test_unknown_arrays_are_never_loaded(self, folder: Path, full: GraphResult) -> None:
        with zipfile.ZipFile(folder / "arrays.npz", "a") as archive:
            archive.writestr("other.npy", b"no array at all")
        assert_identical(read_result(folder), full)

    def test_nothing_is_loaded_before_all_shapes_are_judged(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rewrite_arrays(folder, omega_path=np.zeros((2, 3, 3)))
        monkeypatch.setattr(np.lib.format, "read_array", None)
        assert "omega_path has shape (2, 3, 3) instead of (6, 4, 4)" in self.refusal(folder)

    def test_metadata_of_absurd_size(
        self, folder: Path, full: GraphResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(result_archive, "MOST_METADATA", 100)
        assert "its metadata take" in self.refusal(folder)
        assert "its metadata take" in self.refusal(full.save(tmp_path / "result.npz"))

    @pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
    def test_impossible_names(self, tmp_path: Path, name: str) -> None:
        assert re.search("zero byte|too long", self.refusal(tmp_path / name))

    @pytest.mark.parametrize("form", ["folder", "file"])
    def test_pickled_objects_are_never_executed(
        self, full: GraphResult, folder: Path, tmp_path: Path, form: str
    ) -> None:
        marker = tmp_path / "executed"
        evil = np.array([Trap(marker)], dtype=object)
        if form == "folder":
            rewrite_arrays(folder, omega=evil)
            path = folder
        else:
            path = full.save(tmp_path / "result.npz")
            with np.load(path) as stored:
                arrays = {name: stored[name] for name in stored.files}
            np.savez(path, **{**arrays, "omega": evil})
        with pytest.raises(ValueError, match="not a readable"):
            read_result(path)
        assert not marker.exists()

    def test_a_bare_pickle_is_never_executed(self, tmp_path: Path) -> None:
        marker = tmp_path / "executed"
        path = tmp_path / "result.npz"
        path.write_bytes(pickle.dumps(Trap(marker)))
        with pytest.raises(ValueError, match="not a readable"):
            read_result(path)
        assert not marker.exists()
        pickle.loads(path.read_bytes())
        assert marker.exists()

    def test_pickled_objects_are_refused_in_our_words(self, folder: Path) -> None:
        rewrite_arrays(folder, omega=np.array([{}], dtype=object))
        self.refusal(folder)

    def test_a_copy_of_a_folder_is_a_result(self, folder: Path, full: GraphResult) -> None:
        shutil.copytree(folder, folder.parent / "copy")
        assert_identical(read_result(folder.parent / "copy"), full)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)
