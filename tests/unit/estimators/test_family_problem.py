"""family=: networks of binary variables, counts and mixtures, and all that a fitted network offers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from plaggm import PLAGGM, PLAGGMCV, read_result
from plaggm.simulate import simulate_family

N, NAMES = 500, list("abcde")
FAMILY = {"a": "binomial", "b": "binomial", "c": "poisson", "d": "binomial"}


def table(seed=0, strength=1.2):
    """a and b, and c and e, are tied; the tie of a and b grows with g."""
    rng = np.random.default_rng(seed)
    g = rng.uniform(-1.0, 1.0, N)
    first, second = rng.standard_normal((2, N))
    x = pd.DataFrame(index=np.arange(N), columns=NAMES, dtype=float)
    both = strength * (1.0 + np.clip(np.abs(g) - 0.3, 0.0, None)) * first
    x["a"] = rng.uniform(size=N) < expit(both)
    x["b"] = rng.uniform(size=N) < expit(both)
    x["c"] = rng.poisson(np.exp(0.5 + 0.4 * second))
    x["d"] = rng.uniform(size=N) < 0.4
    x["e"] = 3.0 + 2.0 * (second + rng.standard_normal(N))
    return x.astype(float), pd.Series(g, name="motion")


@pytest.fixture(scope="module")
def fitted():
    x, g = table()
    model = PLAGGMCV(family=FAMILY, threshold=0.3, alphas=20, cv=4)
    return model.fit(x, confounder=g, groups=np.arange(N) % 25), x, g


def test_strong_pairs_lead_and_are_declared(fitted):
    model, _, _ = fitted
    strength = np.abs(np.triu(model.omega_, 1))
    largest = {
        tuple(int(i) for i in divmod(place, 5)) for place in np.argsort(strength.ravel())[-2:]
    }
    assert largest == {(0, 1), (2, 4)}
    assert model.families_ == ("binomial", "binomial", "poisson", "binomial", "gaussian")
    declared = {(row.source, row.target) for row in model.edges().itertuples()}
    assert {("a", "b"), ("c", "e")} <= declared


def test_coefficients_are_log_odds_ratios_in_natural_units(fitted):
    model, x, _ = fitted
    edges = model.edges().set_index(["source", "target"])
    scale = dict(zip(NAMES, model.scale_, strict=True))
    row = edges.loc[("a", "b")]
    assert row["coefficient"] == pytest.approx(row["weight"] / (scale["a"] * scale["b"]))
    counts = pd.crosstab(x["a"], x["b"]).to_numpy()
    odds = np.log(counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0]))
    assert row["coefficient"] == pytest.approx(odds, abs=0.8)
    assert scale["d"] == pytest.approx(x["d"].std(ddof=0))


def test_a_network_of_two_binary_variables_is_their_log_odds_ratio():
    x, _ = table()
    model = PLAGGM(0.0, family="binomial", tol=1e-10).fit(x[["a", "b"]])
    counts = pd.crosstab(x["a"], x["b"]).to_numpy()
    odds = np.log(counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0]))
    assert model.omega_[0, 1] / np.prod(model.scale_) == pytest.approx(odds, abs=1e-6)
    tested = model.inference().iloc[0]
    error = np.sqrt(np.sum(1.0 / counts)) * np.prod(model.scale_)
    assert tested["estimate"] == pytest.approx(model.omega_[0, 1], rel=1e-3)
    assert tested["standard_error"] == pytest.approx(error, rel=2e-3)


def test_everything_downstream_works(fitted, tmp_path):
    model, _, _ = fitted
    along, errors = model.nuisance([0.0, 0.9], return_std=True)
    assert np.all(along[0] == 0.0)
    assert np.all(errors[1] > 0.0)
    np.testing.assert_allclose(model.omega_at(0.0), model.omega_)
    assert 0.0 <= model.confounding_test().p_value <= 1.0
    assert model.bootstrap(3).frequency[0, 1] == 1.0
    assert model.inference()["change_p_value"].between(0.0, 1.0).all()
    result = model.to_result(moderation=True)
    assert len(result.moderation()) == 10
    assert result.moderation()["p_value"].between(0.0, 1.0).all()
    result.save(tmp_path / "result")
    again = read_result(tmp_path / "result")
    assert not again.gaussian
    pd.testing.assert_frame_equal(again.edges(), model.edges())
    np.testing.assert_array_equal(again.nuisance, result.nuisance)


def test_the_score_is_the_log_likelihood_of_new_rows(fitted):
    model, x, _ = fitted
    new, moved = table(seed=1)
    right = model.score(new, confounder=moved)
    shuffled = new.copy()
    shuffled["a"] = np.random.default_rng(0).permutation(new["a"])
    assert right > model.score(shuffled, confounder=moved)
    with pytest.raises(ValueError, match="'a' is to be binomial"):
        model.score(new + 0.5, confounder=moved)
    plain = PLAGGM(10.0, family=FAMILY).fit(x)
    means = x.mean()
    binary = [
        np.mean(new[name] * np.log(means[name]) + (1 - new[name]) * np.log(1 - means[name]))
        for name in "abd"
    ]
    from scipy.stats import norm, poisson

    counts = np.mean(poisson(means["c"]).logpmf(new["c"]))
    gaussian = np.mean(norm(means["e"], plain.scale_[4]).logpdf(new["e"]))
    assert plain.score(new) == pytest.approx(sum(binary) + counts + gaussian, abs=1e-6)


def test_a_dict_of_gaussian_families_is_the_gaussian_fit():
    x, g = table()
    plain = PLAGGM(0.05, threshold=0.3).fit(x, confounder=g)
    named = PLAGGM(0.05, threshold=0.3, family=dict.fromkeys(NAMES, "gaussian"))
    np.testing.assert_array_equal(plain.omega_, named.fit(x, confounder=g).omega_)


def test_samples_are_of_the_families_and_have_the_fitted_dependence(fitted):
    model, x, _ = fitted
    drawn = model.sample(4000, random_state=0)
    assert set(np.unique(drawn[:, [0, 1, 3]])) == {0.0, 1.0}
    assert np.all(drawn[:, 2] == np.round(drawn[:, 2]))
    np.testing.assert_allclose(drawn.mean(axis=0), x.mean(), atol=0.25)
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] > 0.1
    assert np.corrcoef(drawn[:, 2], drawn[:, 4])[0, 1] > 0.1
    far = model.sample(4000, confounder=0.95, random_state=0)
    assert np.corrcoef(far[:, 0], far[:, 1])[0, 1] > np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]


def test_rows_are_drawn_where_there_are_no_groups():
    x, g = table()
    model = PLAGGM(0.05, family=FAMILY, threshold=0.3).fit(x, confounder=g)
    found = model.bootstrap(3)
    assert found.n_groups == N
    assert found.frequency[0, 1] == 1.0


@pytest.mark.parametrize("criterion", ["aic", "ebic", "refit", "stars"])
def test_every_criterion_chooses(criterion):
    x, g = table()
    options = {"n_subsamples": 2} if criterion == "stars" else {}
    model = PLAGGMCV(family=FAMILY, threshold=0.3, alphas=8, criterion=criterion, **options)
    model.fit(x, confounder=g)
    assert model.alpha_ in model.alphas_


def test_the_result_does_not_depend_on_threads():
    x, g = table()
    shared = dict(family=FAMILY, threshold=0.3, alphas=5, cv=3)
    one = PLAGGMCV(**shared, n_jobs=1).fit(x, confounder=g)
    two = PLAGGMCV(**shared, n_jobs=2).fit(x, confounder=g)
    np.testing.assert_array_equal(one.omega_path_, two.omega_path_)
    assert one.alpha_ == two.alpha_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoother": "kernel"}, "smoother='kernel' is not used with family="),
        ({"robust": "winsor"}, "robust='winsor' needs family='gaussian'"),
        ({"temporal": "ar"}, "temporal='ar' is not used with family="),
        ({"variance": "unit"}, "variance='unit' is not used with family="),
        ({"margins": "rank"}, "margins='rank' is not used with family="),
        ({"symmetry": "and"}, "symmetry='and' needs family='gaussian'"),
        ({"missing": "em"}, "missing='em' does not take family="),
    ],
)
def test_what_a_family_cannot_do_is_refused_in_words(options, message):
    x, _ = table()
    with pytest.raises(ValueError, match=message):
        PLAGGM(0.05, family=FAMILY, **options).fit(x)


def test_sums_over_rows_will_not_do():
    x, _ = table()
    model = PLAGGM(0.05, family="binomial")
    with pytest.raises(ValueError, match="fit_chunks needs family='gaussian'"):
        model.fit_chunks([x[["a", "b", "d"]]])
    with pytest.raises(ValueError, match="partial_fit needs family='gaussian'"):
        model.partial_fit(x[["a", "b", "d"]])


def test_rows_can_be_left_out_where_values_are_missing():
    x, g = table()
    holed = x.copy()
    holed.loc[3, "a"] = np.nan
    with pytest.warns(UserWarning, match="of 500 in all was left out"):
        dropped = PLAGGM(0.05, family=FAMILY, missing="drop").fit(holed, confounder=g)
    kept = PLAGGM(0.05, family=FAMILY).fit(x.drop(index=3), confounder=g.drop(index=3))
    np.testing.assert_allclose(dropped.omega_, kept.omega_, atol=1e-12)


def test_values_of_another_family_are_refused():
    x, _ = table()
    with pytest.raises(ValueError, match="'c' is to be binomial"):
        PLAGGM(0.05, family="binomial").fit(x)


def test_rare_categories_are_named_and_estimates_are_finite():
    x, g = table()
    x["d"] = 0.0
    x.loc[:2, "d"] = 1.0
    with pytest.warns(UserWarning, match=r"'d' \(3 of 500\)"):
        model = PLAGGMCV(family=FAMILY, threshold=0.3, alphas=10, cv=3).fit(x, confounder=g)
    assert np.isfinite(model.omega_path_).all()
    with pytest.warns(UserWarning, match="determine 'd'"):
        assert np.isfinite(model.inference()["standard_error"]).all()


def test_separation_is_named_and_estimates_are_finite():
    x, _ = table()
    x["d"] = x["a"]
    x.loc[::12, "d"] = 0.0
    with pytest.warns(UserWarning, match=r"determine .*'a'.* in some samples"):
        tested = PLAGGM(0.01, family="binomial").fit(x[["a", "b", "d"]]).inference()
    assert np.isfinite(tested[["estimate", "standard_error"]]).all(axis=None)


def test_too_few_rows_for_tests_are_told():
    rng = np.random.default_rng(3)
    x = (rng.uniform(size=(40, 24)) < 0.5).astype(float)
    model = PLAGGM(0.1, family="binomial").fit(x)
    with pytest.raises(ValueError, match="40 samples are too few to test the edges of 24"):
        model.inference()


def test_over_dispersed_counts_are_told_of():
    kind = dict(family="poisson", shape="none", n=500, seed=0)
    for extra, most in ((0.0, 1.4), (1.0, 9.0)):
        data = simulate_family(4, overdispersion=extra, **kind)
        found = PLAGGM(0.05, family="poisson").fit(data.x).to_result().diagnostics
        assert found["overdispersion"] < most
        assert found["most_overdispersed"] in {"x0", "x1", "x2", "x3"}
    assert found["overdispersion"] > 2.0
