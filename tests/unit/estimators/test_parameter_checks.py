"""What is said where input cannot be right: collinear confounders, labels of rows, words for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

from plaggm import PLAGGM, PLAGGMCV
from plaggm.data import as_confounder
from plaggm.simulate import Simulated, simulate_paper

N, P = 200, 3


@pytest.fixture(scope="module")
def data() -> Simulated:
    return simulate_paper(P, n=N, seed=0, even=True, threshold=100.0, confounder="uniform")


@pytest.fixture(scope="module")
def fitted(data: Simulated) -> PLAGGM:
    return PLAGGM(0.1, threshold=100.0).fit(data.x, confounder=data.confounder)


@pytest.fixture
def motion() -> pd.DataFrame:
    return pd.DataFrame(
        np.random.default_rng(0).normal(size=(N, 3)), columns=["roll", "pitch", "yaw"]
    )


class TestCollinear:
    @pytest.mark.parametrize(
        ("slope", "sign"), [(1.0, "1"), (25.4, "1"), (-1e-6, "-1")], ids=["same", "inch", "minus"]
    )
    def test_duplicates_are_refused(
        self, data: Simulated, motion: pd.DataFrame, slope: float, sign: str
    ) -> None:
        motion["copy"] = slope * motion["pitch"] + 3.0
        expected = f"'pitch' and 'copy' have correlation {sign}: .* Keep one of them"
        with pytest.raises(ValueError, match=expected):
            PLAGGM().fit(data.x, confounder=motion)

    def test_near_duplicates_are_named(self, data: Simulated, motion: pd.DataFrame) -> None:
        noise = np.random.default_rng(1).normal(size=N)
        motion["again"] = motion["yaw"] + 0.05 * noise
        with pytest.warns(
            UserWarning, match=r"'yaw' and 'again' have correlation 0\.99.* Keep one"
        ):
            model = PLAGGM(0.1, threshold=0.8).fit(data.x, confounder=motion)
        assert np.all(np.isfinite(model.omega_))

    def test_linear_dependence_is_named(self, motion: pd.DataFrame) -> None:
        motion["sum"] = motion["roll"] - motion["yaw"]
        with pytest.warns(UserWarning, match=r"confounders 'roll', 'yaw', 'sum' are linearly dep"):
            as_confounder(motion, None, N)

    def test_others_pass(self, motion: pd.DataFrame) -> None:
        motion["pitch"] += 2.0 * motion["roll"]
        assert as_confounder(motion, None, N).names == ("roll", "pitch", "yaw")

    def test_fewer_rows_than_confounders_are_dependent(self) -> None:
        wide = np.random.default_rng(0).normal(size=(4, 6))
        with pytest.warns(UserWarning, match="linearly dependent"):
            as_confounder(wide, None, 4)


class TestLabels:
    def test_rows_with_names(self, data: Simulated) -> None:
        frame = pd.DataFrame(
            data.x.copy(), index=[f"sub-{i:03d}" for i in range(N)], columns=["a", "b", "c"]
        )
        frame.iloc[7, 1] = np.nan
        with pytest.raises(ValueError, match=r"first row 7 \('sub-007'\) of column 'b'"):
            PLAGGM().fit(frame)

    def test_filtered_rows_keep_their_numbers(self, data: Simulated) -> None:
        frame = pd.DataFrame(data.x.copy()).iloc[50:]
        frame.iloc[3, 0] = np.inf
        with pytest.raises(ValueError, match=r"row 3 \(53\) of column '0'"):
            PLAGGM().fit(frame)

    def test_confounders(self, data: Simulated, fitted: PLAGGM) -> None:
        g = pd.Series(data.confounder.copy(), index=np.arange(N) + 1000, name="motion")
        g.iloc[5] = np.nan
        with pytest.raises(ValueError, match=r"row 5 \(1005\) of column 'motion'"):
            PLAGGM().fit(data.x, confounder=g)
        with pytest.raises(ValueError, match=r"row 5 \(1005\) of column 'confounder'"):
            fitted.score(data.x, confounder=g.rename("confounder"))

    def test_plain_counts_are_not_repeated(self, data: Simulated) -> None:
        frame = pd.DataFrame(data.x.copy())
        frame.iloc[7, 1] = np.nan
        with pytest.raises(ValueError, match="row 7 of column '1'"):
            PLAGGM().fit(frame)


class TestWordsForNumbers:
    @pytest.mark.parametrize("g", ["a", ["a", "b"], {"g": 1.0}, None])
    def test_confounder_values(self, fitted: PLAGGM, g: Any) -> None:
        with pytest.raises(ValueError, match=r"^g (must hold numbers|contains NaN)"):
            fitted.nuisance(g)

    @pytest.mark.parametrize("n_samples", [-1, 0, 2.5, "a", True])
    def test_numbers_of_samples(self, fitted: PLAGGM, n_samples: Any) -> None:
        with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1; got"):
            fitted.sample(n_samples)

    @pytest.mark.parametrize("seed", [-1, 2**40, "now", 0.5])
    def test_seeds(self, fitted: PLAGGM, seed: Any) -> None:
        with pytest.raises(ValueError, match="random_state must be a whole number from 0 to"):
            fitted.sample(2, random_state=seed)

    def test_weights(self, fitted: PLAGGM, data: Simulated) -> None:
        with pytest.raises(ValueError, match="sample_weight must hold real numbers; got 'heavy'"):
            fitted.score(data.x, confounder=data.confounder, sample_weight="heavy")

    def test_no_points_at_all(self, fitted: PLAGGM) -> None:
        for found in fitted.nuisance(np.empty((0, 1)), return_std=True):
            assert found.shape == (0, P, P)

    @pytest.mark.parametrize(
        ("odd", "kind", "said"),
        [
            ([[1.0, 2.0], [3.0]] * 2, ValueError, "X must have rows of the same length"),
            (np.zeros(9, "f8,f8"), ValueError, "real numbers; got records; pass their fields"),
            (np.zeros((9, 3), "M8[s]"), ValueError, "X must hold real numbers; got dates"),
            (np.full((9, 3), "wind"), ValueError, "X must be numeric; text cannot be used"),
            (
                np.full((9, 3), {}, dtype=object),
                TypeError,
                "X must be numeric: an argument must be",
            ),
            (
                pd.DataFrame({"a": [1.0, pd.NA, 2.0] * 3, "b": np.arange(9.0)}, dtype=object),
                ValueError,
                "X contains NaN: 3 value",
            ),
            (object, TypeError, "X must be numeric: an argument must be"),
            (
                pd.DataFrame({"a": pd.to_datetime([]), "b": []}),
                ValueError,
                "X has columns that are not numeric: a",
            ),
        ],
        ids=["ragged", "records", "dates", "text", "objects", "missing", "class", "empty"],
    )
    def test_tables(self, odd: Any, kind: type, said: str) -> None:
        with pytest.raises(kind, match=said):
            PLAGGM().fit(odd)

    @pytest.mark.parametrize(
        "folds",
        [
            [1.0, 2.0],
            [([], [0])],
            [([0, 1], [N])],
            [([0.5], [1])],
            [(1, 2, 3)],
            np.array(0.5),
            [([0], [-1])],
        ],
    )
    def test_folds(self, data: Simulated, folds: Any) -> None:
        with pytest.raises(
            ValueError, match="pairs of training and test rows, numbers from 0 to 199"
        ):
            PLAGGMCV(alphas=3, cv=folds).fit(data.x)

    def test_no_folds(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match="empty list of folds"):
            PLAGGMCV(alphas=3, cv=[]).fit(data.x)

    @pytest.mark.parametrize("name", ["ebic_gamma", "tau", "ridge", "max_iter", "tol"])
    def test_huge_integers(self, data: Simulated, name: str) -> None:
        with pytest.raises(
            ValueError, match=rf"{name} must be a number below 9\.22e\+18; got 1000"
        ):
            PLAGGMCV(**{name: 10**400}).fit(data.x)

    @pytest.mark.parametrize("name", ["ebic_gamma", "tau", "ridge", "tol", "bandwidth"])
    def test_numbers_beyond_all_range(self, data: Simulated, name: str) -> None:
        with pytest.raises(
            ValueError, match=rf"{name} must be a number below 1e\+100; got 1e\+308"
        ):
            PLAGGMCV(**{name: 1e308}).fit(data.x)

    def test_bandwidths_below_all_range(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match=r"bandwidth must be between 1e-100 and 1e\+100"):
            PLAGGM(smoother="kernel", bandwidth=1e-320).fit(data.x, confounder=data.confounder)

    def test_no_jobs(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match="n_jobs must be a whole number other than zero"):
            PLAGGMCV(n_jobs=0).fit(data.x)
        PLAGGM(n_jobs=np.int8(1)).fit(data.x)

    def test_grids_beyond_all_memory(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match=r"'alphas' .* range \[1, 100000\]"):
            PLAGGMCV(alphas=10**9).fit(data.x)

    def test_penalties(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match=r"alphas must hold real numbers; got \['a'\]"):
            PLAGGMCV(alphas=["a"]).fit(data.x)

    @pytest.mark.parametrize("smoother", ["spline", "kernel"])
    def test_thresholds(self, data: Simulated, smoother: str) -> None:
        with pytest.raises(ValueError, match=r"threshold must hold numbers; got \['a'\]"):
            PLAGGM(threshold=["a"], smoother=smoother).fit(data.x, confounder=data.confounder)

    def test_bandwidths(self, data: Simulated) -> None:
        with pytest.raises(ValueError, match="bandwidth must hold numbers"):
            PLAGGM(smoother="kernel", bandwidth=["a"]).fit(data.x, confounder=data.confounder)


def test_folds_of_groups_without_groups(data: Simulated) -> None:
    with pytest.raises(ValueError, match=r"cv=GroupKFold.*Pass groups= to fit"):
        PLAGGMCV(cv=GroupKFold(3), alphas=3).fit(data.x)


class TestFarBeyondTheData:
    @pytest.fixture(scope="class")
    @classmethod
    def kernel(cls, data: Simulated) -> PLAGGM:
        model = PLAGGM(0.1, smoother="kernel", threshold=100.0, bandwidth=80.0)
        return model.fit(data.x, confounder=data.confounder)

    def test_the_kernel_warns(self, kernel: PLAGGM) -> None:
        with pytest.warns(UserWarning, match=r"1 of 2 confounder values lie more than a bandwidth"):
            kernel.nuisance([300.0, 600.0])

    def test_nearby_it_does_not(self, kernel: PLAGGM) -> None:
        assert np.all(np.isfinite(kernel.nuisance([-420.0, 420.0])))
