from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from plaggm import PLAGGM, PLAGGMCV
from plaggm.simulate import Simulated, simulate_paper

# The same problem solved from columns that differ by the rounding of one standardisation.
SAME_FIT = 1e-8

NAMES = ["amygdala", "hippocampus", "insula", "precuneus", "thalamus"]
THRESHOLD = 60.0


def array_api_check_is_off(estimator: object) -> dict[str, str]:
    """Name the one check that is not ours to pass here.

    The array API check runs only where SciPy's array API was switched on before SciPy was imported;
    the estimators take NumPy arrays and DataFrames.
    """
    if os.environ.get("SCIPY_ARRAY_API"):
        return {"check_array_api_input": "only NumPy arrays and DataFrames are taken"}
    return {}


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(5, n=300, seed=3, even=True, threshold=THRESHOLD, density=0.5)


@pytest.fixture(scope="module")
def frame(data: Simulated) -> pd.DataFrame:
    return pd.DataFrame(data.x, columns=NAMES)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@parametrize_with_checks(
    [PLAGGM(), PLAGGMCV(alphas=5, cv=2), PLAGGM(smoother="kernel")],
    expected_failed_checks=array_api_check_is_off,
)
def test_scikit_learn_check(estimator, check) -> None:
    check(estimator)


class TestParameters:
    @pytest.mark.parametrize("estimator", [PLAGGM, PLAGGMCV])
    def test_every_parameter_survives_a_clone(self, estimator: type) -> None:
        changed = estimator(
            threshold=2.0,
            indicator="soft",
            form="supplement",
            kernel="biweight",
            bandwidth=3.0,
            symmetry="and",
            variance="unit",
            standardize=False,
            ridge=0.1,
            tol=1e-4,
            max_iter=7,
            n_jobs=2,
            verbose=1,
        )
        copy = clone(changed)
        assert copy is not changed
        assert copy.get_params() == changed.get_params()

    def test_a_clone_of_a_fitted_model_is_not_fitted(self, data: Simulated) -> None:
        model = PLAGGM(threshold=THRESHOLD).fit(data.x, confounder=data.confounder)
        assert not hasattr(clone(model), "omega_")

    def test_fit_leaves_the_parameters_alone(self, data: Simulated) -> None:
        limits, alphas = np.array([THRESHOLD]), [0.2, 0.1]
        model = PLAGGMCV(alphas=alphas, cv=2, threshold=limits)
        model.fit(data.x, confounder=data.confounder)
        assert model.threshold is limits
        assert model.alphas is alphas
        assert limits.tolist() == [THRESHOLD]
        assert alphas == [0.2, 0.1]

    def test_fit_leaves_the_data_alone(self, data: Simulated) -> None:
        x, g = data.x.copy(), data.confounder.copy()
        x.setflags(write=False)
        g.setflags(write=False)
        PLAGGMCV(alphas=3, cv=2, threshold=THRESHOLD).fit(x, confounder=g)
        np.testing.assert_array_equal(x, data.x)
        np.testing.assert_array_equal(g, data.confounder)

    def test_set_params_changes_the_next_fit(self, data: Simulated) -> None:
        model = PLAGGM(alpha=0.01).fit(data.x)
        dense = int(model.adjacency_.sum())
        model.set_params(alpha=10.0).fit(data.x)
        assert model.alpha_ == 10.0
        assert int(model.adjacency_.sum()) == 0 < dense

    def test_only_the_path_model_lacks_alpha(self) -> None:
        assert "alpha" in PLAGGM().get_params()
        assert "alpha" not in PLAGGMCV().get_params()
        shared = set(PLAGGM().get_params()) - {"alpha"}
        assert shared < set(PLAGGMCV().get_params())

    def test_fit_returns_the_estimator(self, data: Simulated) -> None:
        for model in (PLAGGM(), PLAGGMCV(alphas=3, cv=2)):
            assert model.fit(data.x) is model

    def test_a_second_fit_forgets_the_first(self, data: Simulated, frame: pd.DataFrame) -> None:
        model = PLAGGM(threshold=THRESHOLD).fit(frame, confounder=data.confounder)
        model.fit(data.x[:, :4])
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 4
        assert model.confounder_names_ == ()
        assert model.threshold_ is None
        assert model.bandwidth_ is None


class TestNames:
    def test_feature_names_are_kept(self, frame: pd.DataFrame) -> None:
        assert PLAGGM().fit(frame).feature_names_in_.tolist() == NAMES

    def test_names_travel_to_every_export(self, data: Simulated, frame: pd.DataFrame) -> None:
        networkx = pytest.importorskip("networkx")
        g = pd.Series(data.confounder, name="motion")
        model = PLAGGM(alpha=0.05, threshold=THRESHOLD).fit(frame, confounder=g)
        result = model.to_result()
        assert model.confounder_names_ == ("motion",) == result.confounder_names
        matrix = result.matrix()
        assert matrix.index.tolist() == matrix.columns.tolist() == NAMES
        edges = model.edges()
        assert len(edges) == np.count_nonzero(np.triu(model.adjacency_, 1)) > 0
        graph = model.to_networkx()
        assert isinstance(graph, networkx.Graph)
        assert list(graph.nodes) == NAMES
        assert graph.number_of_edges() == len(edges)
        for _, edge in edges.iterrows():
            j, k = NAMES.index(edge["source"]), NAMES.index(edge["target"])
            assert edge["partial_correlation"] == model.partial_correlation_[j, k]
            assert graph.edges[NAMES[j], NAMES[k]]["weight"] == model.partial_correlation_[j, k]
        same = result.to_networkx()
        weights = [networkx.to_numpy_array(found, nodelist=NAMES) for found in (graph, same)]
        assert np.array_equal(*weights)
        assert "|motion| <= 60" in result.summary()

    def test_arrays_get_scikit_learns_names(self, data: Simulated) -> None:
        assert list(PLAGGM().fit(data.x).to_result().names) == ["x0", "x1", "x2", "x3", "x4"]

    def test_new_samples_must_have_the_same_columns(self, frame: pd.DataFrame) -> None:
        model = PLAGGM().fit(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            model.score(frame[NAMES[::-1]])
        unnamed = PLAGGM().fit(frame.to_numpy())
        with pytest.raises(ValueError, match="expecting 5 features"):
            unnamed.score(frame.to_numpy()[:, :3])


@pytest.mark.usefixtures("routing")
class TestRouting:
    def test_grid_search_routes_the_confounder(self, data: Simulated) -> None:
        alphas = [3.0, 0.1, 0.03]
        model = PLAGGM(threshold=THRESHOLD)
        model.set_fit_request(confounder=True).set_score_request(confounder=True)
        folds = KFold(3, shuffle=True, random_state=0)
        search = GridSearchCV(model, {"alpha": alphas}, cv=folds)
        search.fit(data.x, confounder=data.confounder)

        expected = np.empty((3, 3))
        for fold, (train, test) in enumerate(folds.split(data.x)):
            for row, alpha in enumerate(alphas):
                fitted = PLAGGM(alpha=alpha, threshold=THRESHOLD)
                fitted.fit(data.x[train], confounder=data.confounder[train])
                expected[row, fold] = fitted.score(data.x[test], confounder=data.confounder[test])
        found = [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
        np.testing.assert_allclose(np.transpose(found), expected, rtol=SAME_FIT)
        assert search.best_params_["alpha"] == alphas[int(np.argmax(expected.mean(axis=1)))]
        assert search.best_estimator_.confounder_names_ == ("confounder",)

    def test_several_confounders_are_split_by_row(self, data: Simulated) -> None:
        rng = np.random.default_rng(0)
        motion = pd.DataFrame(rng.uniform(-1.0, 1.0, (300, 2)), columns=["pitch", "roll"])
        model = PLAGGM(alpha=0.1, threshold=0.8)
        model.set_fit_request(confounder=True).set_score_request(confounder=True)
        scores = cross_val_score(model, data.x, cv=KFold(2), params={"confounder": motion})
        train, test = next(KFold(2).split(data.x))
        fitted = clone(model).fit(data.x[train], confounder=motion.iloc[train])
        assert scores[0] == pytest.approx(fitted.score(data.x[test], confounder=motion.iloc[test]))

    def test_pipeline_routes_the_confounder(self, data: Simulated, frame: pd.DataFrame) -> None:
        last = PLAGGM(alpha=0.05, threshold=THRESHOLD, standardize=False)
        last.set_fit_request(confounder=True).set_score_request(confounder=True)
        scaler = StandardScaler().set_output(transform="pandas")
        pipeline = make_pipeline(scaler, last).fit(frame, confounder=data.confounder)
        direct = PLAGGM(alpha=0.05, threshold=THRESHOLD, standardize=True).fit(
            frame, confounder=data.confounder
        )
        np.testing.assert_allclose(pipeline[-1].omega_, direct.omega_, atol=SAME_FIT)
        assert list(pipeline[-1].to_result().names) == NAMES

    def test_pipeline_scores_with_the_confounder(self, data: Simulated) -> None:
        last = PLAGGM(alpha=0.05, threshold=THRESHOLD, standardize=False)
        last.set_fit_request(confounder=True).set_score_request(confounder=True)
        pipeline = make_pipeline(StandardScaler(), last).fit(data.x, confounder=data.confounder)
        direct = PLAGGM(alpha=0.05, threshold=THRESHOLD, standardize=True).fit(
            data.x, confounder=data.confounder
        )
        # The pipeline's density is that of the scaled columns.
        jacobian = np.log(pipeline[0].scale_).sum()
        np.testing.assert_allclose(
            pipeline.score(data.x, confounder=data.confounder) - jacobian,
            direct.score(data.x, confounder=data.confounder),
            rtol=SAME_FIT,
        )

    def test_an_unrequested_confounder_is_not_dropped_in_silence(self, data: Simulated) -> None:
        search = GridSearchCV(PLAGGM(threshold=THRESHOLD), {"alpha": [0.1]}, cv=2)
        with pytest.raises(UnsetMetadataPassedError, match="confounder"):
            search.fit(data.x, confounder=data.confounder)


def test_values_beyond_the_data_are_warned_of():
    data = simulate_paper(5, n=300, seed=2, even=True, threshold=60.0)
    model = PLAGGM(0.05, threshold=60.0)
    model.fit(data.x, confounder=pd.Series(data.confounder, name="motion"))
    for method in (model.omega_at, model.nuisance):
        with pytest.warns(UserWarning, match=r"motion = 1000 lies beyond the data \(-400 to 399\)"):
            method([0.0, 1000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.omega_at([-400.0, 0.0, 399.0])
