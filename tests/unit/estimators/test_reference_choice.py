"""What the baseline network refers to: as asked for, or as the values suggest; and fits that keep to it."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.core.spline.reference import ZERO, Reference
from plaggm.data import Confounder, as_confounder
from plaggm.estimators.reference_choice import is_amount, refer, reference_label

P = 4
# What chunked and whole fits may differ by.
AGREEMENT = 1e-8
ROUNDING = 1e-9
EXACT: dict[str, Any] = dict(tol=1e-12, max_iter=20_000)


def drawn(kind: str, n: int = 800) -> np.ndarray:
    rng = np.random.default_rng(0)
    columns = {
        "motion": lambda: rng.gamma(1.0, 0.2, n),
        "dose, many without": lambda: np.where(
            rng.uniform(size=n) < 0.3, 0.0, rng.uniform(5, 9, n)
        ),
        "translation": lambda: rng.laplace(size=n),
        "lognormal": lambda: rng.lognormal(0.0, 1.0, n),
        "age": lambda: rng.uniform(18.0, 80.0, n),
        "gaussian": lambda: rng.normal(size=n),
        "centred age": lambda: rng.uniform(-31.0, 31.0, n),
        "weight": lambda: rng.normal(70.0, 12.0, n),
        "negative": lambda: -rng.gamma(1.0, 0.2, n),
        "0 and 1": lambda: rng.integers(0, 2, n).astype(float),
        "reaction time": lambda: 300.0 + rng.gamma(1.5, 100.0, n),
    }
    return columns[kind]()


class TestIsAmount:
    @pytest.mark.parametrize("kind", ["motion", "dose, many without", "translation", "lognormal"])
    def test_amounts(self, kind: str) -> None:
        assert is_amount(drawn(kind))

    @pytest.mark.parametrize(
        "kind",
        ["age", "gaussian", "centred age", "weight", "negative", "0 and 1", "reaction time"],
    )
    def test_others(self, kind: str) -> None:
        assert not is_amount(drawn(kind))

    @pytest.mark.parametrize("kind", ["motion", "translation", "age", "gaussian"])
    @pytest.mark.parametrize("unit", [1e-6, 1e6])
    def test_units_do_not_matter(self, kind: str, unit: float) -> None:
        assert is_amount(unit * drawn(kind)) == is_amount(drawn(kind))

    def test_the_direction_of_a_sign_does_not_matter(self) -> None:
        assert is_amount(-drawn("translation"))


def confounders() -> Confounder:
    """Motion, age and site."""
    frame = pd.DataFrame({"motion": drawn("motion", 60), "age": drawn("age", 60)})
    frame["site"] = np.resize(["b", "a", "c"], 60)
    return as_confounder(frame, None, 60)


class TestRefer:
    def test_by_the_values(self) -> None:
        found = refer(confounders(), "auto", "auto")
        assert found.references == (ZERO, Reference("average"), Reference("average", levels=3))
        assert found.amounts == [0]

    @pytest.mark.parametrize("threshold", [0.5, [0.5, 3.0, 0.0]])
    def test_a_threshold_means_zero(self, threshold: Any) -> None:
        found = refer(confounders(), "auto", threshold)
        assert found.references == (ZERO, ZERO, Reference("average", levels=3))

    def test_by_name(self) -> None:
        found = refer(confounders(), {"age": 40, "site": "c"}, "auto")
        assert found.references == (ZERO, Reference("value", 40.0), Reference("level", 2.0, 3))
        found = refer(confounders(), {"motion": "average", "age": "zero"}, "auto")
        assert found.references[:2] == (Reference("average"), ZERO)

    def test_one_for_all(self) -> None:
        found = refer(confounders(), "average", "auto")
        assert [one.kind for one in found.references] == ["average"] * 3
        # Zero suits numbers only.
        found = refer(confounders(), "zero", "auto")
        assert [one.kind for one in found.references] == ["zero", "zero", "average"]

    def test_values_stay(self) -> None:
        given = confounders()
        np.testing.assert_array_equal(refer(given, "auto", "auto").values, given.values)

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            (
                {"Age": 40},
                r"reference names 'Age', which is not a confounder.*'motion', 'age', 'site'",
            ),
            ({"age": "old"}, r"of 'age' is 'old'; allowed are .*categorical=\['age'\]"),
            ({"age": 17}, r"of 'age' is 17, but its values lie between 18\.\d+ and 7\d\.\d+"),
            ({"age": np.nan}, r"of 'age' must be 'auto', 'zero', 'average' or a number; got nan"),
            ({"age": True}, r"of 'age' must be .*got True"),
            ({"age": None}, r"of 'age' must be .*got None"),
            ({"site": "d"}, r"of 'site' is 'd', which is none of its levels: 'a', 'b', 'c'"),
            ({"site": "zero"}, r"of 'site' is 'zero', which is none of its levels"),
            ({"site": 1}, r"of 'site' is 1, which is none of its levels"),
        ],
    )
    def test_what_is_refused(self, asked: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            refer(confounders(), asked, "auto")

    def test_a_level_called_average_is_not_guessed_at(self) -> None:
        kind = as_confounder(pd.Series(["average", "high", "low"], name="kind"), None, 3)
        with pytest.raises(
            ValueError, match=r"'average', which may mean its level .* Rename the level"
        ):
            refer(kind, "average", "auto")
        assert refer(kind, "auto", "auto").references == (Reference("average", levels=3),)

    def test_the_only_factor_is_meant(self) -> None:
        site = as_confounder(pd.Series(["a", "b", "a"], name="site"), None, 3)
        assert refer(site, "b", "auto").references == (Reference("level", 1.0, 2),)
        with pytest.raises(ValueError, match="none of its levels"):
            refer(site, "zero", "auto")

    def test_the_kernel_has_zero_only(self) -> None:
        age = as_confounder(pd.Series(drawn("age", 50), name="age"), None, 50)
        assert refer(age, "auto", "auto", "kernel").references == (ZERO,)
        with pytest.raises(ValueError, match=r"kernel.*'age' has none.*or reference='zero'"):
            refer(age, "average", "auto", "kernel")
        with pytest.raises(
            ValueError, match=r"kernel.* around zero only; got reference 40 of 'age'"
        ):
            refer(age, 40.0, "auto", "kernel")
        with pytest.raises(ValueError, match=r"kernel.*'site' has none \(a factor\)"):
            refer(confounders(), "auto", 0.5, "kernel")

    @pytest.mark.parametrize(
        ("reference", "label"),
        [
            (ZERO, "zero"),
            (Reference("average"), "average"),
            (Reference("value", 40.0), 40.0),
            (Reference("level", 1.0, 2), "b"),
        ],
    )
    def test_label(self, reference: Reference, label: str | float) -> None:
        assert reference_label(reference, ("a", "b") if reference.levels else None) == label


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, pd.DataFrame]:
    """Rows whose means, variances and network move with age, site and motion."""
    rng = np.random.default_rng(5)
    n = 600
    g = pd.DataFrame({"age": rng.uniform(20.0, 70.0, n), "motion": rng.gamma(1.0, 0.3, n)})
    g["site"] = rng.choice(["Berlin", "Ann Arbor", "Cork", "Dijon"], n, p=[0.4, 0.3, 0.2, 0.1])
    shift = g["site"].map({"Berlin": 0.0, "Ann Arbor": 1.5, "Cork": -1.0, "Dijon": 0.5}).to_numpy()
    age = (g["age"].to_numpy() - 45.0) / 25.0
    x = rng.normal(size=(n, P))
    x[:, 1] += (0.4 + 0.3 * age) * x[:, 0]
    x[:, 2] += (0.3 + 0.3 * (g["site"] == "Cork").to_numpy()) * x[:, 1]
    x *= np.exp(0.2 * np.maximum(g["motion"].to_numpy() - 0.3, 0.0))[:, None]
    return x + shift[:, None] + age[:, None] * [1.0, 0.0, -1.0, 0.5], g


MIXES = {
    "age": dict(columns=["age"]),
    "age at 40": dict(columns=["age"], reference=40.0),
    "around 40": dict(columns=["age"], reference=40.0, threshold=4.0),
    "site": dict(columns=["site"]),
    "site at Cork": dict(columns=["site"], reference="Cork"),
    "all": dict(columns=["age", "motion", "site"]),
    "all at a place": dict(
        columns=["age", "motion", "site"], reference={"age": 40.0, "site": "Berlin"}
    ),
}
mixes = pytest.mark.parametrize("mix", list(MIXES))


def model_of(mix: str, **settings: Any) -> PLAGGM:
    asked = {key: value for key, value in MIXES[mix].items() if key != "columns"}
    return PLAGGM(0.03, **asked, **EXACT, **settings)


def taken(g: pd.DataFrame, mix: str) -> Any:
    found = g[MIXES[mix]["columns"]]
    return found.iloc[:, 0] if found.shape[1] == 1 else found


def pieces(x: np.ndarray, g: Any) -> list[Any]:
    return [(x[a:b], g.iloc[a:b]) for a, b in pairwise([0, 1, 250, 601])]


def assert_same(found: PLAGGM, expected: PLAGGM, at: Any) -> None:
    for name in ("omega_", "scale_", "location_", "tau_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=AGREEMENT, atol=AGREEMENT
        )
    assert found.reference_ == expected.reference_
    assert found.confounder_names_ == expected.confounder_names_
    np.testing.assert_allclose(found.omega_at(at), expected.omega_at(at), atol=AGREEMENT)
    np.testing.assert_allclose(
        found.inference()["p_value"], expected.inference()["p_value"], rtol=1e-6, atol=AGREEMENT
    )


class TestWhereRVanishes:
    def test_averages_to_zero_over_the_samples(self, table: Any) -> None:
        x, g = table
        for columns in (["age"], ["site"], ["age", "site"]):
            chosen = g[columns]
            model = PLAGGM(0.03, **EXACT).fit(x, confounder=chosen)
            assert set(model.reference_.values()) == {"average"}
            assert model.threshold_ is None
            found = model.nuisance(chosen.to_numpy() if len(columns) > 1 else chosen.iloc[:, 0])
            assert np.abs(found).max() > 0.1
            np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=ROUNDING)
            # So Omega0 is the average of Omega(g).
            total = model.omega_at(chosen.to_numpy() if len(columns) > 1 else chosen.iloc[:, 0])
            np.testing.assert_allclose(total.mean(axis=0), model.omega_, atol=ROUNDING)

    def test_zero_at_a_value(self, table: Any) -> None:
        x, g = table
        model = PLAGGM(0.03, reference=40.0).fit(x, confounder=g["age"])
        assert model.reference_ == {"age": 40.0}
        np.testing.assert_allclose(model.nuisance(40.0), 0.0, atol=1e-12)
        assert np.abs(model.nuisance(41.0)).max() > 1e-4
        np.testing.assert_allclose(model.omega_at(40.0), model.omega_, atol=1e-12)

    def test_zero_around_a_value(self, table: Any) -> None:
        x, g = table
        model = PLAGGM(0.03, reference=40.0, threshold=4.0).fit(x, confounder=g["age"])
        assert model.threshold_ == 4.0
        np.testing.assert_array_equal(model.nuisance([36.0, 38.0, 44.0]), np.zeros((3, P, P)))
        assert np.all(np.abs(model.nuisance([33.0, 48.0])).max(axis=(1, 2)) > 1e-4)
        inside = np.count_nonzero(np.abs(g["age"] - 40.0) <= 4.0)
        assert model.to_result().diagnostics["n_unconfounded"] == inside

    def test_zero_at_a_level(self, table: Any) -> None:
        x, g = table
        model = PLAGGM(0.03, reference="Cork").fit(x, confounder=g["site"])
        assert model.reference_ == {"site": "Cork"}
        np.testing.assert_array_equal(model.nuisance("Cork"), np.zeros((P, P)))
        assert np.abs(model.nuisance("Berlin")).max() > 0.1

    def test_a_mix(self, table: Any) -> None:
        x, g = table
        model = model_of("all at a place").fit(x, confounder=g)
        assert model.reference_ == {"age": 40.0, "motion": "zero", "site": "Berlin"}
        limits = np.asarray(model.threshold_)
        # A value has a threshold of zero, a level has none.
        assert limits[0] == 0.0
        assert limits[1] > 0.0
        assert np.isnan(limits[2])
        place = np.array([40.0, 0.0, "Berlin"], dtype=object)
        np.testing.assert_allclose(model.nuisance(place), 0.0, atol=1e-12)

    def test_reference_says_which_network(self, table: Any) -> None:
        """The relation of x0 and x1 grows with age: so does the network at an age."""
        x, g = table
        edges = [
            PLAGGM(0.01, reference=value).fit(x, confounder=g["age"]).omega_[0, 1]
            for value in (25.0, "average", 65.0)
        ]
        assert edges[0] < edges[1] < edges[2]

    def test_the_reference_hardly_changes_the_network_at_a_value(self, table: Any) -> None:
        """Omega(g) is one function, whatever Omega0 refers to."""
        x, g = table
        at = [25.0, 45.0, 65.0]
        found = [
            PLAGGM(1e-6, reference=value).fit(x, confounder=g["age"]).omega_at(at)
            for value in ("average", 30.0, 60.0)
        ]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], atol=0.1)


@pytest.fixture(scope="module")
def model(table: tuple[np.ndarray, pd.DataFrame]) -> PLAGGM:
    x, g = table
    return PLAGGM(0.03).fit(x, confounder=g["site"])


class TestLevelsOfNewRows:
    def test_unknown_level_in_score(self, table: Any, model: PLAGGM) -> None:
        """It has no effect: the rows are scored under the baseline network."""
        x, g = table
        named = g["site"].where(np.arange(len(g)) % 2 == 0, "Elche")
        assert np.isfinite(model.score(x, confounder=named))
        nowhere = model.score(x, confounder=pd.Series(["Elche"] * len(x)))
        assert nowhere != pytest.approx(model.score(x, confounder=g["site"]))
        assert nowhere == pytest.approx(model.score(x, confounder=["Faro"] * len(x)))

    @pytest.mark.parametrize("at", ["Elche", ["Berlin", "Elche"], 2.0])
    def test_unknown_level_at_a_place(self, model: PLAGGM, at: Any) -> None:
        with pytest.raises(ValueError, match=r"'site' has no level .*'Ann Arbor', 'Berlin'"):
            model.omega_at(at)
        with pytest.raises(ValueError, match="has no level"):
            model.sample(2, confounder=at)

    def test_shapes(self, model: PLAGGM) -> None:
        assert model.omega_at("Cork").shape == (P, P)
        assert model.omega_at(["Cork", "Berlin"]).shape == (2, P, P)
        assert model.omega_at(pd.Series(["Cork", "Berlin", "Cork"])).shape == (3, P, P)
        assert model.sample(5, confounder="Cork", random_state=0).shape == (5, P)

    def test_missing_levels(self, table: Any, model: PLAGGM) -> None:
        x, g = table
        holes = g["site"].where(np.arange(len(g)) != 7)
        with pytest.raises(ValueError, match="row 7 of column 'site'"):
            model.score(x, confounder=holes)
        with pytest.raises(ValueError, match="row 7 of column 'site'"):
            PLAGGM().fit(x, confounder=holes)


class TestAllWaysIn:
    @mixes
    @pytest.mark.parametrize("variance", ["function", "conditional"])
    def test_chunks(self, table: Any, mix: str, variance: str) -> None:
        x, g = table
        g = taken(g, mix)
        whole = model_of(mix, variance=variance).fit(x, confounder=g)
        found = model_of(mix, variance=variance).fit_chunks(pieces(x, g))
        assert_same(found, whole, g.iloc[:20].to_numpy())
        assert found.score(x, confounder=g) == pytest.approx(whole.score(x, confounder=g))

    @mixes
    def test_stream_with_make_design(self, table: Any, mix: str) -> None:
        x, g = table
        g = taken(g, mix)
        # Several confounders that inflate the variance need more than one pass.
        variance = "function" if g.ndim == 1 else "conditional"
        whole = model_of(mix, variance=variance).fit(x, confounder=g)
        model = model_of(mix, variance=variance)
        design = model.make_design(g, n_features=P)
        if mix.startswith("all"):
            # Without the variables the threshold of an amount is not chosen by likelihood.
            design = whole.design_
        for number, (part, mine) in enumerate(pieces(x, g)):
            model.partial_fit(
                part, confounder=mine, design=None if number else design, refit=number == 2
            )
        assert_same(model, whole, g.iloc[:20].to_numpy())

    @pytest.mark.parametrize("mix", ["age", "site", "site at Cork", "all"])
    def test_groups(self, table: Any, mix: str) -> None:
        x, g = table
        g = taken(g, mix)
        subject = np.random.default_rng(0).integers(0, 30, len(x))
        whole = model_of(mix).fit(x, confounder=g, groups=subject)
        parts = [(*one, subject[a:b]) for one, (a, b) in zip(
            pieces(x, g), pairwise([0, 1, 250, 600]), strict=True
        )]  # fmt: skip
        found = model_of(mix).fit_chunks(parts)
        assert_same(found, whole, g.iloc[:20].to_numpy())
        np.testing.assert_allclose(found.bootstrap(4).mean, whole.bootstrap(4).mean, atol=AGREEMENT)

    @pytest.mark.parametrize("mix", ["age", "site", "all"])
    def test_cross_validation(self, table: Any, mix: str) -> None:
        x, g = table
        g = taken(g, mix)
        whole = PLAGGMCV(alphas=5, cv=3, **EXACT).fit(x, confounder=g)
        found = PLAGGMCV(alphas=5, cv=3, **EXACT).fit_chunks(pieces(x, g))
        np.testing.assert_allclose(found.cv_loss_, whole.cv_loss_, rtol=AGREEMENT)
        np.testing.assert_allclose(found.omega_path_, whole.omega_path_, atol=AGREEMENT)

    def test_a_level_that_comes_later_only(self, table: Any) -> None:
        x, g = table
        order = np.argsort(g["site"].to_numpy(), kind="stable")
        x, site = x[order], g["site"].iloc[order].reset_index(drop=True)
        whole = PLAGGM(0.03, **EXACT).fit(x, confounder=site)
        found = PLAGGM(0.03, **EXACT).fit_chunks(pieces(x, site))
        assert_same(found, whole, site.unique())

    def test_rows_of_one_level_are_kept_until_others_come(self, table: Any) -> None:
        x, g = table
        design = PLAGGM().make_design(g["site"], n_features=P)
        model = PLAGGM(0.03, **EXACT)
        first = (g["site"] == "Berlin").to_numpy()
        with pytest.raises(ValueError, match=r"do not reach all values of 'site'.*refit=False"):
            model.partial_fit(x[first], confounder=g["site"][first], design=design)
        model.partial_fit(x[~first], confounder=g["site"][~first])
        assert_same(model, PLAGGM(0.03, **EXACT).fit(x, confounder=g["site"]), ["Cork"])

    def test_samples_below_the_threshold_need_not_be_at_the_level(self, table: Any) -> None:
        x, g = table
        quiet = (g["motion"] <= 0.3).to_numpy()
        kept = ~(quiet & (g["site"] == "Dijon").to_numpy())
        x, g = x[kept], g.loc[kept, ["motion", "site"]]
        model = PLAGGM(
            0.03, threshold=0.3, reference={"site": "Dijon"}, variance="conditional", **EXACT
        )
        whole = clone(model).fit(x, confounder=g)
        model.partial_fit(x, confounder=g, design=whole.design_)
        np.testing.assert_allclose(model.omega_, whole.omega_, atol=AGREEMENT)

    def test_levels_outside_the_design_are_refused(self, table: Any) -> None:
        x, g = table
        model = PLAGGM(0.03).partial_fit(x, confounder=g["site"])
        with pytest.raises(ValueError, match=r"'site' has a level in row 0 .* does not know"):
            model.partial_fit(x[:50], confounder=["Elche"] * 50)
        assert model._network.problem.n == len(x)

    def test_numbers_outside_the_design_are_refused(self, table: Any) -> None:
        x, g = table
        both = g[["age", "site"]]
        model = PLAGGM(0.03, variance="conditional").partial_fit(x, confounder=both)
        far = both.iloc[:3].assign(age=[30.0, 95.0, 30.0])
        with pytest.raises(ValueError, match=r"'age' is 95 in row 1"):
            model.partial_fit(x[:3], confounder=far)


class TestManners:
    @mixes
    def test_pickle_and_clone(self, table: Any, mix: str) -> None:
        x, g = table
        g = taken(g, mix)
        model = model_of(mix)
        params = model.get_params()
        for name, value in MIXES[mix].items():
            assert name == "columns" or params[name] == value
        model.fit(x, confounder=g)
        assert model.get_params() == params
        again = clone(model).fit(x, confounder=g)
        np.testing.assert_array_equal(again.omega_, model.omega_)
        copy = pickle.loads(pickle.dumps(model))
        assert copy.reference_ == model.reference_
        at = g.iloc[:5].to_numpy()
        np.testing.assert_array_equal(copy.omega_at(at), model.omega_at(at))

    @pytest.mark.usefixtures("few_permutations")
    @mixes
    def test_result_on_disk(self, table: Any, mix: str, tmp_path: Any) -> None:
        x, g = table
        model = model_of(mix).fit(x, confounder=taken(g, mix))
        result = model.to_result()
        back = read_result(result.save(tmp_path / "result"))
        assert back.references == result.references
        assert back.levels == result.levels
        if "site" in MIXES[mix]["columns"]:
            assert back.levels == {"site": ("Ann Arbor", "Berlin", "Cork", "Dijon")}
        np.testing.assert_array_equal(back.threshold, result.threshold)
        np.testing.assert_array_equal(back.nuisance, result.nuisance)
        np.testing.assert_array_equal(back.confounder_grid, result.confounder_grid)
        assert np.all(np.isfinite(back.nuisance))
        assert back.summary() == result.summary()

    def test_declared_numbers_equal_text(self, table: Any) -> None:
        x, g = table
        number = g["site"].map({"Berlin": 3, "Ann Arbor": 1, "Cork": 40, "Dijon": 5})
        declared = PLAGGM(0.03, categorical="site", **EXACT).fit(x, confounder=number)
        text = PLAGGM(0.03, **EXACT).fit(x, confounder=g["site"])
        np.testing.assert_allclose(declared.omega_, text.omega_, atol=AGREEMENT)
        np.testing.assert_allclose(
            declared.omega_at([40, 3]), text.omega_at(["Cork", "Berlin"]), atol=AGREEMENT
        )
        at_cork = PLAGGM(0.03, categorical=["site"], reference=40, **EXACT)
        assert at_cork.fit(x, confounder=number).reference_ == {"site": "40"}
        as_numbers = PLAGGM(0.03, reference="average").fit(x, confounder=number)
        assert np.abs(as_numbers.omega_ - text.omega_).max() > 1e-3

    @pytest.mark.parametrize("threshold", [0.5, [1.0]])
    def test_a_threshold_that_nothing_uses(self, table: Any, threshold: Any) -> None:
        x, g = table
        with pytest.raises(ValueError, match=r"threshold=.* is not used"):
            PLAGGM(threshold=threshold, reference="average").fit(x, confounder=g["age"])
        with pytest.raises(ValueError, match=r"threshold=.* is not used"):
            PLAGGM(threshold=threshold).fit(x, confounder=g["site"])

    @pytest.mark.parametrize("categorical", ["age", ["site", "sex"]])
    def test_what_is_declared_must_be_there(self, table: Any, categorical: Any) -> None:
        x, g = table
        with pytest.raises(ValueError, match="categorical names"):
            PLAGGM(categorical=categorical).fit(x, confounder=g["site"])

    def test_the_kernel_refuses_factors(self, table: Any) -> None:
        x, g = table
        with pytest.raises(ValueError, match="Use smoother='spline'"):
            PLAGGM(smoother="kernel").fit(x, confounder=g["site"])

    def test_subjects_are_no_factor(self, table: Any) -> None:
        x, _ = table
        with pytest.raises(ValueError, match="pass it as groups"):
            PLAGGM().fit(x, confounder=[f"sub-{k % 150}" for k in range(len(x))])

    @pytest.mark.filterwarnings("ignore:Levels of")
    def test_a_factor_without_enough_samples_is_told(self, table: Any) -> None:
        x, _ = table
        rare = ["most"] * (len(x) - 2) + ["two"] * 2
        with pytest.warns(UserWarning, match="R is taken as zero"):
            model = PLAGGM(0.03).fit(x, confounder=rare)
        assert not model.nuisance(["most", "two"]).any()


def test_rare_levels_are_named(table: Any) -> None:
    x, g = table
    site = g["site"].copy()
    site.iloc[:3] = "Elche"
    site.iloc[3:6] = "Faro"
    with pytest.warns(
        UserWarning, match=r"'site' with fewer than 5 samples \('Elche', 'Faro'\) share"
    ):
        PLAGGM(0.03).fit(x, confounder=site)
    site.iloc[3:6] = "Berlin"
    with pytest.warns(UserWarning, match=r"\('Elche'\) have none"):
        PLAGGM(0.03).fit(x, confounder=site)
