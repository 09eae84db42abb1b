"""Input is judged once, in words: what is wrong, where it is, and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from plaggm import PLAGGM, PLAGGMCV
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.data import (
    as_confounder,
    as_positive,
    check_columns,
    check_finite,
    check_numeric_frame,
    variable_names,
)

# Sums of products over some hundred rows, in another order.
ROUNDING = 1e-12

N, P = 120, 4
NAMES = list("abcd")


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, P))


@pytest.fixture
def frame(x: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x, columns=NAMES)


@pytest.fixture
def g() -> np.ndarray:
    return np.linspace(-1.0, 1.0, N)


def refusal(
    estimator: Any, x: Any, confounder: Any = None, *, error: type[Exception] = ValueError
) -> str:
    """The message with which a fit is refused."""
    with pytest.raises(error) as caught:
        estimator.fit(x, confounder=confounder)
    return str(caught.value)


def assert_says(message: str, *parts: str) -> None:
    missing = [part for part in parts if part not in message]
    assert not missing, f"{missing} not in {message!r}"


class TestTable:
    def test_nan_is_counted_and_placed(self, frame: pd.DataFrame) -> None:
        frame.loc[7, "b"] = np.nan
        frame.loc[7, "d"] = np.nan
        frame.loc[100, "b"] = np.nan
        message = refusal(PLAGGM(), frame)
        assert_says(message, "X contains NaN", "3 value(s) in 2 row(s) and 2 column(s)")
        assert_says(message, "row 7 of column 'b'", "row 7 of column 'd'", "row 100 of column 'b'")
        assert_says(message, "Drop or impute")

    def test_infinity_is_called_infinity(self, x: np.ndarray) -> None:
        x[3, 2] = -np.inf
        message = refusal(PLAGGM(), x)
        assert_says(message, "X contains infinity", "1 value(s)", "row 3 of column 'x2'")

    def test_many_bad_values_are_not_all_listed(self, x: np.ndarray) -> None:
        x[:50, 1] = np.nan
        message = refusal(PLAGGM(), x)
        assert_says(message, "50 value(s) in 50 row(s) and 1 column(s)", "and 45 more")
        assert message.count("of column") == 5

    def test_missing_values_of_nullable_columns(self, frame: pd.DataFrame) -> None:
        frame["c"] = pd.array(np.arange(N), dtype="Int64")
        frame.loc[3, "c"] = pd.NA
        assert_says(refusal(PLAGGM(), frame), "X contains NaN", "row 3 of column 'c'")

    @pytest.mark.parametrize("value", [0.0, 1.0, -1e12, 1e-300])
    def test_constant_column(self, frame: pd.DataFrame, value: float) -> None:
        frame["b"] = value
        message = refusal(PLAGGM(), frame)
        assert_says(message, "X has constant columns: 'b'", "drop it")

    def test_constant_up_to_rounding(self, frame: pd.DataFrame) -> None:
        frame["b"] = 1e6 + 1e-9 * np.arange(N)
        assert_says(refusal(PLAGGM(), frame), "constant columns: 'b'")

    def test_a_small_but_varying_column_is_fine(self, frame: pd.DataFrame) -> None:
        frame["b"] = 1e6 + 1e-3 * frame["b"]
        assert PLAGGM().fit(frame).omega_.shape == (P, P)

    def test_duplicate_columns(self, frame: pd.DataFrame) -> None:
        frame["copy"] = frame["b"]
        frame["again"] = frame["b"]
        message = refusal(PLAGGM(), frame)
        assert_says(message, "duplicate columns", "'copy' equals 'b'", "'again' equals 'b'")
        assert_says(message, "keep one of each")

    def test_duplicate_names(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), pd.DataFrame(x, columns=["a", "b", "a", "b"]))
        assert_says(message, "X has repeated column names: a, b", "rename or drop")

    def test_columns_without_numbers(self, frame: pd.DataFrame) -> None:
        frame["site"] = "Berlin"
        frame["sex"] = np.where(np.arange(N) % 2, "f", "m")
        message = refusal(PLAGGM(), frame)
        assert_says(message, "X has columns that are not numeric: site, sex", "Drop them")

    def test_dates_are_not_numbers(self, frame: pd.DataFrame) -> None:
        frame["scanned"] = pd.date_range("2020-01-01", periods=N)
        assert_says(refusal(PLAGGM(), frame, error=Exception), "not numeric: scanned")

    def test_numbers_written_as_text_are_read(self, frame: pd.DataFrame) -> None:
        from_text = PLAGGM(alpha=0.05).fit(frame.astype(str))
        from_numbers = PLAGGM(alpha=0.05).fit(frame)
        np.testing.assert_allclose(from_text.omega_, from_numbers.omega_, atol=ROUNDING)

    def test_too_few_samples(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), x[:2])
        assert_says(message, "2 sample(s)", "a minimum of 3 is required")

    def test_too_few_variables(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), x[:, :1])
        assert_says(message, "1 feature(s)", "a minimum of 2 is required")


class TestConfounder:
    def test_other_length(self, x: np.ndarray, g: np.ndarray) -> None:
        message = refusal(PLAGGM(), x, g[:-1])
        assert_says(message, f"confounder has {N - 1} rows but X has {N}", "one value for each row")

    def test_transposed(self, x: np.ndarray, g: np.ndarray) -> None:
        message = refusal(PLAGGM(), x, np.vstack([g, g**2]))
        assert_says(message, f"confounder has 2 rows but X has {N}")

    @pytest.mark.parametrize("value", [0.0, 0.3, -7.0])
    def test_constant(self, x: np.ndarray, value: float) -> None:
        message = refusal(PLAGGM(), x, pd.Series(np.full(N, value), name="motion"))
        assert_says(message, "'motion' is constant", "confounder=None")

    def test_one_constant_of_several(self, x: np.ndarray, g: np.ndarray) -> None:
        motion = pd.DataFrame({"pitch": g, "roll": 1.0, "yaw": 2.0})
        message = refusal(PLAGGM(), x, motion)
        assert_says(message, "'roll', 'yaw'", "constant")
        assert "pitch" not in message

    def test_text(self, x: np.ndarray) -> None:
        assert_says(refusal(PLAGGM(), x, ["high"] * N), "confounder must be numeric")

    def test_text_in_a_series(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), x, pd.Series(["high"] * N, name="motion"))
        assert_says(message, "confounder has columns that are not numeric: motion")

    def test_dates(self, x: np.ndarray) -> None:
        with pytest.raises(ValueError, match="numeric"):
            as_confounder(pd.Series(pd.date_range("2020-01-01", periods=N)), x, N)

    def test_nan(self, x: np.ndarray, g: np.ndarray) -> None:
        g[[4, 9]] = np.nan
        message = refusal(PLAGGM(), x, pd.Series(g, name="motion"))
        assert_says(message, "confounder contains NaN", "2 value(s)", "row 4 of column 'motion'")

    def test_infinity(self, x: np.ndarray, g: np.ndarray) -> None:
        g[4] = np.inf
        message = refusal(PLAGGM(), x, g)
        assert_says(message, "confounder contains infinity", "row 4 of column 'confounder'")

    def test_other_row_labels(self, frame: pd.DataFrame, g: np.ndarray) -> None:
        shuffled = pd.Series(g, name="motion").sample(frac=1.0, random_state=0)
        message = refusal(PLAGGM(), frame, shuffled)
        assert_says(message, "different row labels", "confounder.loc[X.index]", "to_numpy()")
        PLAGGM(threshold=0.5).fit(frame, confounder=shuffled.loc[frame.index])
        PLAGGM(threshold=0.5).fit(frame, confounder=shuffled.to_numpy())

    def test_repeated_names(self, x: np.ndarray, g: np.ndarray) -> None:
        motion = pd.DataFrame(np.column_stack([g, g**2]), columns=["roll", "roll"])
        assert_says(refusal(PLAGGM(), x, motion), "confounder has repeated column names: roll")

    @pytest.mark.parametrize("shape", [(), (N, 1, 1)])
    def test_shape(self, x: np.ndarray, shape: tuple[int, ...]) -> None:
        message = refusal(PLAGGM(), x, np.ones(shape))
        assert_says(message, "shape (n,) or (n, m)", f"got an array of shape {shape}")

    def test_no_columns(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), x, np.empty((N, 0)))
        assert_says(message, "confounder has no columns", "confounder=None")


class TestParameters:
    @pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, [np.nan]])
    def test_threshold(self, x: np.ndarray, g: np.ndarray, value: Any) -> None:
        message = refusal(PLAGGM(threshold=value), x, g)
        assert_says(message, "threshold must be finite and zero or more", "confounder's units")
        assert_says(message, f"got {value!r}")

    @pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
    def test_bandwidth(self, x: np.ndarray, g: np.ndarray, value: float) -> None:
        message = refusal(PLAGGM(smoother="kernel", bandwidth=value), x, g)
        assert_says(message, "bandwidth must be finite and greater than zero", f"got {value!r}")

    @pytest.mark.parametrize("name", ["threshold", "bandwidth"])
    def test_one_value_for_each_confounder(self, x: np.ndarray, g: np.ndarray, name: str) -> None:
        model = PLAGGM(smoother="kernel", threshold=0.5).set_params(**{name: [1.0, 2.0, 3.0]})
        message = refusal(model, x, np.column_stack([g, g**2]))
        assert_says(message, f"{name} must be one number or one for each of the 2 confounders")

    @pytest.mark.parametrize("name", ["threshold", "bandwidth"])
    def test_an_unknown_word(self, x: np.ndarray, g: np.ndarray, name: str) -> None:
        message = refusal(PLAGGM().set_params(**{name: "median"}), x, g)
        assert_says(message, f"'{name}' parameter of PLAGGM", "'auto'", "Got 'median'")

    def test_no_sample_below_the_threshold(self, x: np.ndarray, g: np.ndarray) -> None:
        message = refusal(PLAGGM(threshold=0.25), x, pd.Series(g + 1.5, name="motion"))
        assert_says(message, "No sample lies below the threshold 0.25;", "motion: 0.5")
        assert_says(message, "larger threshold", "shift the confounder")

    def test_singular_local_system(self, x: np.ndarray, g: np.ndarray) -> None:
        message = refusal(
            PLAGGM(smoother="kernel", threshold=0.5, bandwidth=0.01),
            x,
            g,
            error=SingularLocalSystemError,
        )
        # One intercept and one slope for each of the four variables and the constant.
        assert_says(message, "is singular", "effective samples", "10 unknowns")
        assert re.search(r"at confounder = -?(0\.[5-9]\d*|1) is", message)
        assert_says(message, "larger bandwidth", "fewer variables", "ridge")

    def test_no_automatic_threshold(self, x: np.ndarray, g: np.ndarray) -> None:
        message = refusal(PLAGGM(smoother="kernel", bandwidth=0.01), x, g)
        assert_says(message, "threshold='auto' found no threshold", "4 variables")
        assert_says(message, "larger bandwidth", "ridge > 0", "effective samples")

    def test_the_ridge_is_a_way_out(self, x: np.ndarray, g: np.ndarray) -> None:
        model = PLAGGM(smoother="kernel", threshold=0.5, bandwidth=0.01, ridge=1e-3).fit(
            x, confounder=g
        )
        assert np.isfinite(model.omega_).all()

    def test_hard_indicator_in_the_lemmas_form(self, x: np.ndarray, g: np.ndarray) -> None:
        model = PLAGGM(
            smoother="kernel", indicator="hard", form="lemma", threshold=0.5, bandwidth=0.5
        )
        message = refusal(model, x, g)
        assert_says(message, "form='lemma' leaves nothing of the variables")
        assert_says(message, "Use form='supplement'", "indicator='soft'")

    def test_hard_indicator_in_the_lemmas_form_with_automatic_threshold(
        self, x: np.ndarray, g: np.ndarray
    ) -> None:
        message = refusal(
            PLAGGM(smoother="kernel", indicator="hard", form="lemma", bandwidth=0.5), x, g
        )
        assert_says(message, "form='supplement'")

    @pytest.mark.parametrize(
        ("name", "allowed"),
        [
            ("smoother", "kernel"),
            ("indicator", "ramp"),
            ("form", "supplement"),
            ("kernel", "epanechnikov"),
            ("symmetry", "joint"),
            ("variance", "conditional"),
        ],
    )
    def test_an_unknown_option(self, x: np.ndarray, name: str, allowed: str) -> None:
        model = PLAGGM().set_params(**{name: "other"})
        message = refusal(model, x, error=InvalidParameterError)
        assert_says(message, f"'{name}' parameter of PLAGGM", f"'{allowed}'", "Got 'other'")

    @pytest.mark.parametrize(
        ("name", "value", "allowed"),
        [
            ("alpha", -0.1, "[0.0, inf)"),
            ("alpha", np.nan, "[0.0, inf)"),
            ("alpha", "large", "[0.0, inf)"),
            ("ridge", -1.0, "[0.0, inf)"),
            ("tol", 0.0, "(0.0, inf)"),
            ("max_iter", 0, "[1, inf)"),
        ],
    )
    def test_out_of_range(self, x: np.ndarray, name: str, value: Any, allowed: str) -> None:
        model = PLAGGM().set_params(**{name: value})
        message = refusal(model, x, error=InvalidParameterError)
        assert_says(message, f"'{name}' parameter of PLAGGM", allowed, f"Got {value!r}")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("alphas", 0),
            ("alphas", "many"),
            ("criterion", "rss"),
            ("cv", 1),
            ("ebic_gamma", -0.5),
            ("n_subsamples", 1),
            ("subsample", 1.5),
            ("instability", 0.5),
        ],
    )
    def test_out_of_range_of_the_path_model(self, x: np.ndarray, name: str, value: Any) -> None:
        model = PLAGGMCV().set_params(**{name: value})
        message = refusal(model, x, error=InvalidParameterError)
        assert_says(message, f"'{name}' parameter of PLAGGMCV", f"Got {value!r}")

    @pytest.mark.parametrize("alphas", [[0.1, 0.2], [0.2, 0.2, 0.1]])
    def test_alphas_must_decrease(self, x: np.ndarray, alphas: list[float]) -> None:
        message = refusal(PLAGGMCV(alphas=alphas), x)
        assert_says(message, "alphas must be strictly decreasing", repr(alphas), "reverse=True")

    @pytest.mark.parametrize("alphas", [[0.2, -0.1], [np.inf, 0.1], [np.nan], [], [[0.2, 0.1]]])
    def test_alphas_must_be_penalties(self, x: np.ndarray, alphas: list[Any]) -> None:
        message = refusal(PLAGGMCV(alphas=alphas), x)
        assert_says(message, "alphas must be a list of finite penalties", repr(alphas))

    def test_more_folds_than_samples(self, x: np.ndarray) -> None:
        message = refusal(PLAGGMCV(cv=N + 1, alphas=3), x)
        assert_says(message, f"cv must be between 2 and n_samples={N} folds", f"got {N + 1}")

    @pytest.mark.parametrize(
        ("indicator", "problem"),
        [
            (lambda ratio: 2.0 * ratio, "outside [0, 1]"),
            (lambda ratio: np.full_like(ratio, np.nan), "outside [0, 1]"),
            (lambda ratio: 1.0, "shape ()"),
        ],
    )
    def test_an_indicator_that_is_none(
        self, x: np.ndarray, g: np.ndarray, indicator: Any, problem: str
    ) -> None:
        message = refusal(PLAGGM(smoother="kernel", indicator=indicator, threshold=0.5), x, g)
        assert_says(message, "indicator returned", problem)


class TestValidators:
    def test_names_of_frames_and_arrays(self, frame: pd.DataFrame) -> None:
        assert variable_names(frame, P) == ("a", "b", "c", "d")
        assert variable_names(frame.to_numpy(), 3) == ("x0", "x1", "x2")
        assert variable_names(frame.set_axis([10, 20, 30, 40], axis=1), P)[0] == "10"

    def test_good_input_passes(self, frame: pd.DataFrame) -> None:
        check_numeric_frame(frame)
        check_numeric_frame(frame.to_numpy())
        check_numeric_frame(frame.assign(e=np.arange(N) % 2 == 0, f=np.arange(N, dtype="int8")))
        check_finite(frame.to_numpy(), tuple(NAMES), "X")
        check_columns(frame.to_numpy(), tuple(NAMES))

    def test_complex_columns_are_refused(self, frame: pd.DataFrame) -> None:
        with pytest.raises(ValueError, match="not numeric: b"):
            check_numeric_frame(frame.assign(b=1j))

    def test_opposite_columns_are_not_duplicates(self, x: np.ndarray) -> None:
        check_columns(np.column_stack([x[:, 0], -x[:, 0]]), ("a", "b"))

    @pytest.mark.parametrize(
        ("confounder", "names"),
        [
            (np.arange(3.0), ("confounder",)),
            (np.arange(3), ("confounder",)),
            ([0.0, 1.0, 2.0], ("confounder",)),
            (pd.Series([0.0, 1.0, 2.0]), ("confounder",)),
            (pd.Series([0.0, 1.0, 2.0], name="motion"), ("motion",)),
            (pd.Series([0.0, 1.0, 2.0], name=0), ("0",)),
            (pd.DataFrame({"motion": [0.0, 1.0, 2.0]}), ("motion",)),
            (pd.Series([0, 1, 2], dtype="Int64", name="motion"), ("motion",)),
        ],
    )
    def test_one_confounder(self, confounder: Any, names: tuple[str, ...]) -> None:
        checked = as_confounder(confounder, None, 3)
        assert checked.names == names
        assert checked.values.dtype == np.float64
        np.testing.assert_array_equal(checked.values, [[0.0], [1.0], [2.0]])

    def test_several_confounders(self) -> None:
        values = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 6.0]])
        assert as_confounder(values, None, 3).names == ("confounder0", "confounder1")
        named = as_confounder(pd.DataFrame(values, columns=["roll", "yaw"]), None, 3)
        assert named.names == ("roll", "yaw")
        np.testing.assert_array_equal(named.values, values)

    def test_the_index_matters_only_between_tables(
        self, frame: pd.DataFrame, g: np.ndarray
    ) -> None:
        labelled = pd.Series(g, index=np.arange(N) + 1000)
        np.testing.assert_array_equal(as_confounder(labelled, None, N).values[:, 0], g)
        with pytest.raises(ValueError, match="row labels"):
            as_confounder(labelled, frame, N)
        with pytest.raises(ValueError, match=f"has {N - 1} rows"):
            as_confounder(labelled.iloc[1:], frame, N)

    def test_one_number_serves_all_confounders(self) -> None:
        np.testing.assert_array_equal(as_positive(2, "bandwidth", ("a", "b")), [2.0, 2.0])
        np.testing.assert_array_equal(as_positive([1, 2], "bandwidth", ("a", "b")), [1.0, 2.0])
        np.testing.assert_array_equal(as_positive(0, "threshold", ("a",), zero=True), [0.0])
