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
    DependenceWarning,
    as_confounder,
    as_positive,
    check_columns,
    check_finite,
    check_numeric_frame,
    join_confounders,
    variable_names,
)
from plaggm.estimators.network_methods import finite_score
from plaggm.related import GGM, LRGGM, ConGGM

# Sums of products over some hundred rows, in another order.
ROUNDING = 1e-12
# Solutions of problems that are the same but for rounding, with a duality gap of 1e-6.
SAME_UNITS = 1e-6

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


class TestDependence:
    """Columns that follow from others have no partial correlations."""

    def test_the_same_in_another_unit(self, frame: pd.DataFrame) -> None:
        frame["inches"] = 1.0 - frame["b"] / 2.54
        message = refusal(PLAGGM(), frame)
        assert_says(message, "duplicate columns: 'inches' and 'b' are the same but for unit")
        assert_says(message, "not defined; keep one fewer of them")

    @pytest.mark.parametrize("kind", ["total", "shares", "levels"])
    def test_exact_dependence_is_refused(self, frame: pd.DataFrame, kind: str) -> None:
        if kind == "total":
            frame["total"] = frame["a"] + frame["c"]
            involved = "'a', 'c', 'total'"
        elif kind == "shares":
            positive = frame[["b", "c", "d"]].apply(np.exp)
            frame[["b", "c", "d"]] = positive.div(positive.sum(axis=1), axis=0)
            involved = "'b', 'c', 'd'"
        else:
            frame[["p", "q", "r"]] = np.eye(3)[np.arange(N) % 3]
            involved = "'p', 'q', 'r'"
        message = refusal(PLAGGM(), frame)
        assert_says(message, f"linearly dependent columns: {involved}.", "keep one fewer of them")

    def test_a_rounded_copy_is_told(self, frame: pd.DataFrame) -> None:
        frame["inches"] = (50.0 * frame["b"]).round() / 127.0
        expected = r"hardly differ: 'inches' and 'b' \(r = 0\.99998\d\)\. .*Keep one of them"
        with pytest.warns(DependenceWarning, match=expected):
            PLAGGM(0.1).fit(frame)

    def test_a_nearly_exact_total_is_told(self, frame: pd.DataFrame) -> None:
        frame["total"] = (frame["a"] + frame["b"] + frame["c"]).round(1)
        with pytest.warns(DependenceWarning, match="nearly follow from others: 'a', 'b', 'c', 'to"):
            PLAGGM(0.1).fit(frame)

    def test_correlated_columns_are_fine(self, frame: pd.DataFrame) -> None:
        frame["d"] = frame["b"] + 0.2 * frame["c"] + 0.1 * frame["d"]
        assert np.abs(frame.corr().to_numpy() - np.eye(P)).max() > 0.95
        PLAGGM(0.1).fit(frame)

    def test_more_variables_than_rows_are_fine(self) -> None:
        PLAGGM(0.3).fit(np.random.default_rng(0).standard_normal((12, 20)))

    def test_copies_among_more_variables_than_rows_are_not(self) -> None:
        x = np.random.default_rng(0).standard_normal((12, 20))
        x[:, 7] = -3.0 * x[:, 2]
        assert_says(refusal(PLAGGM(0.3), x), "duplicate columns: 'x7' and 'x2'")

    def test_the_confounder_among_the_variables_of_a_joint_model(self, frame: pd.DataFrame) -> None:
        whole = pd.Series(frame.mean(axis=1), name="mean")
        message = refusal(ConGGM(), frame, whole)
        assert_says(message, "linearly dependent columns: 'a', 'b', 'c', 'd', 'mean'")
        message = refusal(LRGGM(), frame, whole)
        assert_says(message, "dependent columns given the confounders: 'a', 'b', 'c', 'd'.")

    @pytest.mark.filterwarnings("ignore:X has columns that hardly differ")
    def test_estimates_beyond_one_are_told_and_held(self, frame: pd.DataFrame) -> None:
        frame["b"] = frame["a"] + 0.1 * frame["b"]
        model = PLAGGM(1e-3, symmetry="or", max_iter=100_000)
        with pytest.warns(DependenceWarning, match=r"beyond one, as .*: 'a' and 'b' \([1-9]\."):
            model.fit(frame)
        assert model.omega_[0, 1] > 1.0
        assert model.partial_correlation_[0, 1] == 1.0
        assert model.edges()["partial_correlation"].max() == 1.0
        scale = model.scale_[0] * model.scale_[1]
        assert model.precision_[0, 1] == pytest.approx(-1.0 / scale, rel=ROUNDING)


class TestExtremeValues:
    @pytest.mark.parametrize("value", [1e101, -1e200, 1e300, 1.7e308])
    def test_one_cell_is_placed(self, frame: pd.DataFrame, g: np.ndarray, value: float) -> None:
        frame.loc[11, "c"] = value
        message = refusal(PLAGGM(), frame)
        assert_says(message, "numbers beyond 1e+100: 1 value(s)", "row 11 of column 'c'")
        g[4] = value
        message = refusal(GGM(), frame.to_numpy()[:, :2], g)
        assert_says(message, "confounder contains numbers beyond 1e+100", "row 4 of column 'conf")

    @pytest.mark.parametrize("unit", [1e-160, 1e-310])
    def test_a_column_that_squares_to_nothing(
        self, frame: pd.DataFrame, g: np.ndarray, unit: float
    ) -> None:
        frame["c"] *= unit
        message = refusal(PLAGGM(), frame)
        assert_says(message, "vary by less than 1e-100: 'c'", "Use a smaller unit")
        message = refusal(PLAGGM(), frame[["a", "b"]], unit * g)
        assert_says(message, "confounder 'confounder' varies by less than 1e-100")

    @pytest.mark.parametrize("unit", [1e-98, 1e98])
    @pytest.mark.parametrize("smoother", ["spline", "kernel"])
    def test_units_within_the_limits_do_not_matter(
        self, x: np.ndarray, g: np.ndarray, unit: float, smoother: str
    ) -> None:
        plain = PLAGGM(0.1, smoother=smoother, threshold=0.5).fit(x, confounder=g)
        far = PLAGGM(0.1, smoother=smoother, threshold=0.5 * unit)
        far.fit(x * unit, confounder=g * unit)
        np.testing.assert_allclose(far.omega_, plain.omega_, atol=SAME_UNITS)
        np.testing.assert_allclose(far.precision_, plain.precision_ / unit**2, rtol=SAME_UNITS)
        shift = P * np.log(unit)
        score = plain.score(x, confounder=g)
        assert far.score(x * unit, confounder=g * unit) == pytest.approx(score - shift)

    def test_integers_that_no_float_can_hold(self, frame: pd.DataFrame, g: np.ndarray) -> None:
        large = frame.astype(object)
        large.iloc[5, 1] = -(10**400)
        place = "numbers beyond 1e+100: 1 value(s) in 1 row(s) and 1 column(s), first row 5 of"
        assert_says(refusal(PLAGGM(), large), f"X contains {place} column 'b'")
        assert_says(refusal(PLAGGM(), large.to_numpy()), f"X contains {place} column 'x1'")
        values = large["b"]
        message = refusal(PLAGGM(), frame, values)
        assert_says(message, f"confounder contains {place} column 'b'")
        message = refusal(PLAGGM(), frame, values.tolist())
        assert_says(message, f"confounder contains {place} column 'confounder'")
        message = refusal(PLAGGM(threshold=10**400), frame, g)
        assert_says(message, "threshold must be a number below", "got 1000")
        assert len(message) < 200

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_columns_that_cannot_be_compared(self, x: np.ndarray, g: np.ndarray) -> None:
        """As they are, an outlier of 1e50 leaves no digit to the others."""
        x[3, 0] = 1e50
        model = PLAGGM(0.1, standardize=False, variance="conditional", threshold=0.5)
        assert_says(refusal(model, x, g), "cannot be estimated in double precision", "outliers")
        assert np.isfinite(model.set_params(standardize=True).fit(x, confounder=g).omega_).all()

    def test_scores_are_numbers(self, frame: pd.DataFrame, g: np.ndarray) -> None:
        for model in (PLAGGM(0.1, threshold=0.5), GGM(alpha=0.1, threshold=0.5)):
            model.fit(frame, confounder=g)
            with pytest.raises(ValueError, match="0 sample"):
                model.score(frame[:0], confounder=g[:0])
            plain = model.score(frame, confounder=g)
            for weight in (1e308, 1e-308):
                equal = model.score(frame, confounder=g, sample_weight=np.full(N, weight))
                assert equal == pytest.approx(plain)
        with pytest.raises(ValueError, match="These samples have no score"):
            finite_score(np.nan)


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
        mistaken = ["0.5"] * (N - 1) + ["high"]
        assert_says(refusal(PLAGGM(), x, mistaken), "confounder must be numeric")

    def test_text_in_a_series(self, x: np.ndarray) -> None:
        message = refusal(PLAGGM(), x, pd.Series(["0.5"] * (N - 1) + ["high"], name="motion"))
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
    @pytest.mark.parametrize("order", [1, -1])
    def test_chunks_without_columns(self, order: int) -> None:
        parts = [np.zeros((3, 0)), np.arange(3.0)][::order]
        with pytest.raises(ValueError, match=r"confounder of chunk 1 has 3 rows and the columns"):
            join_confounders(parts, [3, 3])
        with pytest.raises(ValueError, match="confounder has no columns"):
            join_confounders([np.zeros((3, 0))], [3])

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


@pytest.mark.parametrize("unit", [1.0, -12.0])
def test_a_confounder_among_the_variables_is_refused(unit):
    x = np.random.default_rng(0).standard_normal((60, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "age"])
    months = pd.Series(unit * x[:, 2] + 5.0, name="months")
    with pytest.raises(ValueError, match=r"'age' is 'months'.*drop the column from X"):
        PLAGGM(0.1).fit(frame, confounder=months)
    PLAGGM(0.1).fit(frame, confounder=months + 0.1 * np.random.default_rng(1).normal(size=60))
