from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
import pytest

from plaggm.core.families.distributions import FAMILIES
from plaggm.simulate import (
    CONFOUNDERS,
    GRAPHS,
    NUISANCES,
    SHAPES,
    paper_response,
    simulate_family,
    simulate_paper,
    simulate_study,
    with_margins,
)
from plaggm.simulate.graphs import draw_support, rewire, spectral_radius

# Largest departure of 400,000 samples' second moments from their expectation, in standard errors:
# some hundred entries are looked at, so five is beyond chance.
STANDARD_ERRORS = 5.0
# Eigenvalues and products of well-conditioned matrices of order 20.
ROUNDING = 1e-12


def assert_covariance(x: np.ndarray, expected: np.ndarray) -> None:
    """The sample covariance of centred Gaussian rows is within sampling error of ``expected``."""
    variance = np.outer(np.diag(expected), np.diag(expected)) + expected**2
    error = (x.T @ x / len(x) - expected) / np.sqrt(variance / len(x))
    assert np.abs(error).max() < STANDARD_ERRORS


class TestPaperResponse:
    def test_is_odd_and_zero_within_the_threshold(self) -> None:
        g = np.linspace(-60.0, 60.0, 2401)
        np.testing.assert_array_equal(paper_response(-g), -paper_response(g))
        assert not paper_response(np.linspace(-10.0, 10.0, 101)).any()

    def test_is_continuous_with_continuous_slope(self) -> None:
        step = 1e-3
        g = np.arange(-20.0, 20.0, step)
        slope = np.diff(paper_response(g)) / step
        assert slope.min() >= -ROUNDING / step
        assert slope.max() <= 1.0 + ROUNDING / step
        # The second derivative is 1/2 where it is not zero, so the slope moves by step / 2.
        assert np.abs(np.diff(slope)).max() <= 0.5 * step + 1e-9

    def test_far_values_follow_the_corrected_line(self) -> None:
        np.testing.assert_array_equal(paper_response([-400.0, 12.0, 399.0]), [-389.0, 1.0, 388.0])

    def test_even_mirrors_the_positive_side(self) -> None:
        g = np.linspace(-30.0, 30.0, 61)
        np.testing.assert_array_equal(paper_response(g, even=True), paper_response(np.abs(g)))

    @pytest.mark.parametrize(
        ("g", "value"),
        [(12.5, 2.5), (12.0, 1.0), (11.0, 0.25), (10.0, 0.0), (-10.0, 2.0), (-11.0, 0.25),
         (-12.0, -2.0), (-50.0, -40.0)],
    )  # fmt: skip
    def test_printed_pieces(self, g: float, value: float) -> None:
        assert paper_response(g, printed=True) == value


class TestSimulatePaper:
    def test_grid_is_the_papers(self) -> None:
        g = simulate_paper(3, seed=0).confounder
        np.testing.assert_array_equal(g, np.arange(-400.0, 400.0))
        coarse = simulate_paper(3, n=5, seed=0).confounder
        np.testing.assert_allclose(np.diff(coarse), 799 / 4)

    def test_truth_is_symmetric_with_zero_diagonal(self) -> None:
        data = simulate_paper(20, seed=1)
        for matrix in (data.omega, data.nuisance(300.0)[0], data.omega_at([-55.0])[0]):
            np.testing.assert_array_equal(matrix, matrix.T)
            assert not np.diag(matrix).any()
        np.testing.assert_array_equal(data.support, data.omega != 0)
        assert (data.nuisance(300.0)[0] == 0).sum() == 20, "a dense W has no other zeros"

    def test_radii_are_as_stated(self) -> None:
        data = simulate_paper(20, seed=2, target_radius=0.3, nuisance_radius=0.5, even=True)
        assert spectral_radius(data.omega) == pytest.approx(0.3, abs=ROUNDING)
        radii = spectral_radius(data.nuisance(data.confounder))
        assert radii.max() == pytest.approx(0.5, abs=ROUNDING)
        assert radii[[0]] == pytest.approx(radii.max()), "the grid's largest |g| is the first"

    def test_scales_recover_the_unscaled_matrices(self) -> None:
        data = simulate_paper(8, seed=2)
        magnitude = np.abs(data.omega[data.support]) / data.settings["omega_scale"]
        assert magnitude.min() >= 0.5 - ROUNDING
        assert magnitude.max() <= 1.0 + ROUNDING
        (scale,) = data.settings["nuisance_scale"]
        assert scale * 389.0 * spectral_radius(data.nuisance.weights[0] / scale) == pytest.approx(
            0.6
        )

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("even", [False, True])
    def test_no_nuisance_within_the_threshold(self, shape: str, even: bool) -> None:
        data = simulate_paper(
            6,
            seed=3,
            shape=shape,
            even=even,
            threshold=25.0,
            mean_shift=1.0,
            variance_inflation=2.0,
        )
        inside, outside = np.linspace(-25.0, 25.0, 11), np.array([-100.0, 100.0])
        assert not data.nuisance(inside).any()
        assert not data.nuisance.mean(inside).any()
        assert (data.nuisance.scale(inside) == 1.0).all()
        assert data.nuisance(outside).any() == (shape != "none")
        assert data.nuisance.mean(outside).any()
        parity = 1.0 if even else -1.0
        np.testing.assert_allclose(data.nuisance(outside[:1]), parity * data.nuisance(outside[1:]))

    @pytest.mark.parametrize("graph", GRAPHS)
    @pytest.mark.parametrize("nuisance", NUISANCES)
    @pytest.mark.parametrize("confounder", CONFOUNDERS)
    def test_positive_definite_at_every_value_used(
        self, graph: str, nuisance: str, confounder: str
    ) -> None:
        data = simulate_paper(
            12, 300, seed=4, graph=graph, nuisance=nuisance, confounder=confounder, printed=True,
            target_radius=0.49, nuisance_radius=0.5,
        )  # fmt: skip
        precision = np.eye(12) - data.omega_at(data.confounder)
        assert np.linalg.eigvalsh(precision).min() >= 0.01 - ROUNDING
        assert np.isfinite(data.x).all()
        assert data.x.shape == (300, 12)

    @pytest.mark.parametrize("g", [0.0, 30.0])
    def test_samples_have_the_stated_mean_and_covariance(self, g: float) -> None:
        # The last row sets the scale of R; all the others are at one value of g.
        values = np.append(np.full(400_000, g), 30.0)
        data = simulate_paper(
            5, seed=5, confounder=values, mean_shift=0.7, variance_inflation=1.5, density=0.6
        )
        x = data.x[:-1] - data.nuisance.mean(g)
        expected = data.covariance_at(g)[0]
        assert_covariance(x, expected)
        standard_error = np.sqrt(np.diag(expected) / len(x))
        assert np.all(np.abs(x.mean(axis=0)) < STANDARD_ERRORS * standard_error)
        variance = 1.0 if g == 0.0 else 2.5
        by_hand = variance * np.linalg.inv(np.eye(5) - data.omega - data.nuisance(g)[0])
        np.testing.assert_allclose(expected, by_hand)

    def test_off_diagonal_is_the_partial_correlation(self) -> None:
        data = simulate_paper(6, seed=6)
        precision = np.linalg.inv(data.covariance_at(0.0)[0])
        scale = np.sqrt(np.diag(precision))
        partial = -precision / np.outer(scale, scale)
        np.testing.assert_allclose((partial - data.omega)[~np.eye(6, dtype=bool)], 0, atol=1e-12)

    def test_same_seed_same_data(self) -> None:
        first, second = simulate_paper(7, 50, seed=7), simulate_paper(7, 50, seed=7)
        np.testing.assert_array_equal(first.x, second.x)
        assert (simulate_paper(7, 50, seed=8).x != first.x).all()

    def test_confounding_does_not_change_the_graph_of_a_seed(self) -> None:
        base = simulate_paper(9, seed=9)
        for change in (
            {"even": True},
            {"nuisance": "rank-one"},
            {"confounder": "skewed"},
            {"n": 9},
        ):
            np.testing.assert_array_equal(simulate_paper(9, seed=9, **change).omega, base.omega)

    def test_chunks_do_not_change_the_samples(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = simulate_paper(6, 101, seed=10).x
        monkeypatch.setattr("plaggm.simulate.sampling.CHUNK_DOUBLES", 10 * 36)
        np.testing.assert_allclose(simulate_paper(6, 101, seed=10).x, whole, rtol=1e-13)

    def test_odd_nuisance_averages_out_and_even_does_not(self) -> None:
        odd, even = (simulate_paper(10, seed=11, even=e) for e in (False, True))
        size = [np.abs(d.nuisance(d.confounder).mean(axis=0)).max() for d in (odd, even)]
        assert size[0] < 0.01 * size[1]

    def test_bump_is_not_monotone(self) -> None:
        data = simulate_paper(4, seed=12, shape="bump", even=True)
        strength = np.abs(data.nuisance(np.arange(10.0, 399.0))).max(axis=(1, 2))
        top = strength.argmax()
        assert 0 < top < 200
        assert (np.diff(strength[: top + 1]) > 0).all()
        assert (np.diff(strength[top:]) < 0).all()
        assert strength[-1] < 0.05 * strength[top]

    def test_printed_form_confounds_at_minus_ten(self) -> None:
        assert simulate_paper(4, seed=0, printed=True).nuisance(-10.0).any()

    def test_skewed_confounder_looks_like_motion(self) -> None:
        g = simulate_paper(2, 20_000, seed=13, confounder="skewed").confounder
        assert g.min() >= 0.0
        assert np.median(g) < 10.0 < np.quantile(g, 0.95)
        assert 0.3 < np.corrcoef(g[1:], g[:-1])[0, 1] < 0.8

    def test_several_given_confounders_add(self) -> None:
        g = np.random.default_rng(0).normal(scale=2.0, size=(60, 2))
        data = simulate_paper(5, seed=14, confounder=g, threshold=[1.0, 2.0], nuisance_radius=0.6)
        assert data.x.shape == (60, 5)
        np.testing.assert_array_equal(data.threshold, [1.0, 2.0])
        both = data.nuisance([[3.0, 5.0]])
        alone = data.nuisance([[3.0, 0.0], [0.0, 5.0]]).sum(axis=0, keepdims=True)
        np.testing.assert_allclose(both, alone)
        assert spectral_radius(data.nuisance(g)).max() <= 0.6 + ROUNDING

    def test_density_is_the_share_of_edges(self) -> None:
        pairs = np.triu_indices(60, k=1)
        share = simulate_paper(60, 1, seed=15, density=0.3).support[pairs].mean()
        assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / len(pairs[0])))
        assert not simulate_paper(10, 5, seed=15, density=0.0).omega.any()

    @pytest.mark.slow  # a clock on a shared machine is no unit test
    def test_hundred_variables_take_under_a_second(self) -> None:
        times = []
        for seed in range(3):
            start = time.perf_counter()
            simulate_paper(100, seed=seed)
            times.append(time.perf_counter() - start)
        assert min(times) < 1.0

    def test_travels_through_pickle_and_a_table(self) -> None:
        data = simulate_paper(11, 20, seed=16)
        twin = pickle.loads(pickle.dumps(data))
        np.testing.assert_array_equal(twin.nuisance(50.0), data.nuisance(50.0))
        table = data.to_frame()
        assert list(table.columns[[0, 10, 11]]) == ["v01", "v11", "confounder"]
        np.testing.assert_array_equal(table["confounder"], data.confounder)

    def test_pairs_that_change_have_a_density_of_their_own(self) -> None:
        few = simulate_paper(30, 50, seed=3, nuisance="sparse", nuisance_density=0.05)
        usual = simulate_paper(30, 50, seed=3, nuisance="sparse")
        changing = [np.mean(data.nuisance.weights[0] != 0.0) for data in (few, usual)]
        assert changing == pytest.approx([0.05, 0.3], abs=0.06)
        np.testing.assert_array_equal(few.support, usual.support)
        assert few.settings["nuisance_density"] == 0.05

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"p": 1}, ["p must", "at least 2", "1"]),
            ({"p": 2.5}, ["p must", "2.5"]),
            ({"n": 0}, ["n must", "0"]),
            ({"density": 1.2}, ["density", "[0, 1]", "1.2"]),
            ({"graph": "ring"}, ["graph", "'hub'", "'ring'"]),
            ({"shape": "sine"}, ["shape", "'bump'", "'sine'"]),
            ({"nuisance": "low-rank"}, ["nuisance", "'rank-one'", "'low-rank'"]),
            ({"confounder": "age"}, ["confounder", "'skewed'", "'age'"]),
            ({"confounder": [1.0, np.nan]}, ["confounder", "finite", "1 NaN"]),
            ({"threshold": 0.0}, ["threshold", "positive", "0.0"]),
            ({"threshold": [1.0, 2.0]}, ["threshold", "(2,)"]),
            (
                {"target_radius": 0.7, "nuisance_radius": 0.5},
                ["target_radius=0.7", "1.2", "below 1"],
            ),
            ({"nuisance_radius": -0.1}, ["nuisance_radius", "[0, 1)", "-0.1"]),
            ({"mean_shift": np.inf}, ["mean_shift", "at least 0", "inf"]),
            ({"variance_inflation": "much"}, ["variance_inflation", "'much'"]),
            ({"printed": True, "shape": "ramp"}, ["printed", "shape='paper'", "'ramp'"]),
            ({"nuisance_density": 0.1}, ["nuisance_density", "nuisance='sparse'", "'dense'"]),
            (
                {"nuisance": "sparse", "nuisance_density": 1.5},
                ["nuisance_density", "[0, 1]", "1.5"],
            ),
        ],
    )
    def test_errors_name_argument_value_and_range(self, arguments: dict, words: list[str]) -> None:
        with pytest.raises(ValueError) as error:
            simulate_paper(**{"p": 4, "n": 10, "seed": 0} | arguments)
        assert all(word in str(error.value) for word in words), str(error.value)


class TestWithMargins:
    @pytest.mark.parametrize("margins", ["skewed", "heavy-tailed", "likert"])
    def test_ranks_and_truth_stay(self, margins: str) -> None:
        data = simulate_paper(4, n=300, seed=0)
        bent = with_margins(data, margins)
        assert np.array_equal(bent.omega, data.omega)
        assert bent.settings["margins"] == margins
        order = np.argsort(data.x, axis=0)
        assert np.all(np.diff(np.take_along_axis(bent.x, order, axis=0), axis=0) >= 0.0)

    def test_heavy_tails_are_those_of_student(self) -> None:
        bent = with_margins(simulate_paper(2, n=20_000, seed=0, shape="none"), "heavy-tailed")
        shares = [np.mean(np.abs(bent.x) > limit) for limit in (1.886, 4.303)]
        np.testing.assert_allclose(shares, [0.2, 0.05], rtol=0.05)

    def test_unknown_margins_are_refused(self) -> None:
        with pytest.raises(ValueError, match="margins must be one of 'gaussian'"):
            with_margins(simulate_paper(2, n=10, seed=0), "ordinal")
        with pytest.raises(TypeError, match="must come from simulate_paper"):
            with_margins(np.ones((3, 2)), "likert")


class TestSimulateFamily:
    @pytest.mark.parametrize("family", ["binomial", "poisson", "mixed"])
    def test_nodes_follow_their_natural_parameters(self, family: str) -> None:
        data = simulate_family(
            6, n=4000, seed=1, family=family, threshold=60.0, mean_shift=0.5, even=True
        )
        g = data.confounder
        seen = np.column_stack(
            [
                FAMILIES[name].neighbour(x, centre)
                for name, x, centre in zip(data.families, data.x.T, data.centre, strict=True)
            ]
        )
        eta = data.intercept_at(g) + np.einsum("ijk,ik->ij", data.omega_at(g), seen)
        # With counts, which have no joint distribution, only the node that is drawn last is exact.
        nodes = range(6) if family == "binomial" else [5]
        for j in nodes:
            one = FAMILIES[data.families[j]]
            mean = one.mean(eta[:, j])
            left = (data.x[:, j] - mean) / np.sqrt(one.variance(mean))
            # Residuals, and their products with neighbours, are those of the conditional model.
            assert abs(left.mean()) * np.sqrt(4000) < STANDARD_ERRORS
            assert abs(np.mean(left**2) - 1.0) < 0.2
            around = (seen - seen.mean(axis=0)) / seen.std(axis=0)
            products = np.delete(left @ around, j) / np.sqrt(4000)
            assert np.abs(products).max() < STANDARD_ERRORS

    def test_rare_events_stay_rare(self) -> None:
        x = simulate_family(20, n=1000, seed=0, prevalence=0.05, even=True, threshold=60.0).x
        assert 0.02 < x.mean() < 0.12

    @pytest.mark.parametrize("mean", [0.5, 3.0])
    def test_counts_do_not_run_away(self, mean: float) -> None:
        strong = dict(family="poisson", mean_count=mean, even=True, nuisance_radius=0.6)
        data = simulate_family(12, n=3000, seed=7000, threshold=60.0, **strong)
        assert data.x.max() < 100.0

    def test_over_dispersed_counts_vary_more(self) -> None:
        plain = simulate_family(4, n=2000, seed=0, family="poisson", shape="none")
        more = simulate_family(4, n=2000, seed=0, family="poisson", shape="none", overdispersion=1)
        assert np.array_equal(plain.omega, more.omega)
        assert more.x.var() > 2.0 * plain.x.var()

    def test_same_seed_same_rows_and_same_network_as_the_paper(self) -> None:
        arguments = dict(n=50, seed=4, threshold=60.0, shape="ramp", confounder="grid")
        first, again = (simulate_family(5, family="poisson", **arguments) for _ in range(2))
        assert np.array_equal(first.x, again.x)
        gaussian = simulate_paper(5, nuisance_radius=0.5, **arguments)
        np.testing.assert_allclose(first.omega, gaussian.omega / 4.0)
        assert first.to_frame().columns.tolist() == ["v1", "v2", "v3", "v4", "v5", "confounder"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"family": "gamma"}, "family must be one of 'binomial'"),
            ({"family": ["binomial"]}, "families .* of all 5 variables"),
            ({"prevalence": 1.0}, r"prevalence must be a finite number in \(0, 1\)"),
            ({"mean_count": 0.0}, "mean_count must be a finite number"),
            ({"sweeps": 0}, "sweeps must be"),
            ({"p": "five"}, "p must be"),
        ],
    )
    def test_bad_arguments_are_named(self, arguments: dict, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            simulate_family(**{"p": 5, "n": 20, "seed": 0, **arguments})


class TestGraphs:
    @pytest.mark.parametrize("graph", GRAPHS)
    @pytest.mark.parametrize("p", [2, 3, 30])
    def test_symmetric_without_loops_and_near_the_density(self, graph: str, p: int) -> None:
        support = draw_support(graph, p, 0.2, np.random.default_rng(0))
        np.testing.assert_array_equal(support, support.T)
        assert not np.diag(support).any()
        if p == 30:
            assert support[np.triu_indices(p, k=1)].mean() == pytest.approx(0.2, abs=0.05)

    def test_structures(self) -> None:
        rng = np.random.default_rng(1)
        p, pairs = 30, 30 * 29 / 2
        band = draw_support("band", p, (2 * p - 3) / pairs, rng)
        assert set(np.subtract(*np.nonzero(band))) == {-2, -1, 1, 2}
        hub = draw_support("hub", p, (2 * p - 3) / pairs, rng).sum(axis=1)
        assert (hub[:2] == p - 1).all()
        assert (hub[2:] == 2).all()
        block = draw_support("block", p, 1 / 3, rng)
        assert sorted(np.linalg.eigvalsh(block.astype(float)).round(9))[-3:] == [9.0, 9.0, 9.0]
        free = draw_support("scale-free", p, (2 * p - 3) / pairs, rng)
        assert free.sum() / 2 == 2 * p - 3
        assert free.sum(axis=1).min() == 2

    def test_rewire_moves_the_stated_share(self) -> None:
        rng = np.random.default_rng(2)
        weights = simulate_paper(12, 1, seed=0).omega
        moved = rewire(weights, 0.5, rng)
        upper = np.triu_indices(12, k=1)
        before, after = weights[upper] != 0, moved[upper] != 0
        assert before.sum() == after.sum()
        assert (before & ~after).sum() == round(0.5 * before.sum())
        np.testing.assert_array_equal(moved[upper][before & after], weights[upper][before & after])
        np.testing.assert_array_equal(moved, moved.T)


class TestSimulateStudy:
    def test_layout(self) -> None:
        study = simulate_study(
            6, seed=0, groups=("a", "b", "c"), n_subjects=(2, 3, 4), n_times=20, n_confounders=4
        )
        assert study.x.shape == (180, 6)
        assert study.confounder.shape == (180, 4)
        assert study.omega.shape == study.support.shape == (3, 6, 6)
        assert study.subject_omega.shape == (9, 6, 6)
        table = study.to_frame()
        assert table.groupby("subject")["group"].nunique().eq(1).all()
        assert table.groupby("subject", sort=False).size().eq(20).all()
        assert table.drop_duplicates("subject")["group"].tolist() == [*"aabbbcccc"]
        assert tuple(table["subject"].unique()) == study.subjects
        assert table["time"].tolist() == list(range(20)) * 9

    def test_groups_differ_in_the_stated_share_of_edges(self) -> None:
        study = simulate_study(20, seed=1, difference=0.25, density=0.4, n_subjects=1, n_times=5)
        upper = np.triu_indices(20, k=1)
        control, patient = (support[upper] for support in study.support)
        n_moved = round(0.25 * control.sum())
        assert (control & ~patient).sum() == (patient & ~control).sum() == n_moved
        difference = study.difference()[upper]
        assert (difference != 0).sum() == 2 * n_moved
        np.testing.assert_array_equal(study.difference("patient", "control")[upper], -difference)
        assert spectral_radius(study.omega).max() == pytest.approx(0.35)
        same = simulate_study(20, seed=1, difference=0.0, n_subjects=1, n_times=5)
        assert not same.difference().any()

    def test_people_share_edges_and_differ_in_strength(self) -> None:
        study = simulate_study(10, seed=2, n_subjects=3, n_times=4, subject_radius=0.09)
        support = np.repeat(study.support, 3, axis=0)
        effects = study.subject_omega - np.repeat(study.omega, 3, axis=0)
        assert not effects[~support].any()
        np.testing.assert_allclose(spectral_radius(effects), 0.09)
        assert np.abs(effects[0] - effects[1]).max() > 0.01

    def test_positive_definite_for_every_row(self) -> None:
        study = simulate_study(
            8, seed=3, target_radius=0.4, subject_radius=0.09, nuisance_radius=0.5, n_times=60
        )
        person = np.repeat(np.arange(20), 60)
        omega = study.subject_omega[person] + study.nuisance(study.confounder)
        assert np.linalg.eigvalsh(np.eye(8) - omega).min() >= 0.01 - ROUNDING

    def test_samples_of_a_person_have_their_covariance(self) -> None:
        study = simulate_study(4, seed=4, n_subjects=1, n_times=200_000, shape="none", density=0.7)
        for position, label in enumerate(study.subjects):
            expected = np.linalg.inv(np.eye(4) - study.subject_omega[position])
            assert_covariance(study.x[study.subject == label], expected)

    def test_motion_is_mostly_small_autocorrelated_and_larger_in_later_groups(self) -> None:
        study = simulate_study(3, seed=5, n_subjects=200, n_times=60, motion_ratio=2.0)
        size = np.abs(study.confounder)
        assert np.median(size[study.group == "control"]) < 0.5 < np.quantile(size, 0.95)
        ratio = size[study.group == "patient"].mean() / size[study.group == "control"].mean()
        assert ratio == pytest.approx(2.0, rel=0.25)
        series = study.confounder.reshape(400, 60, 3)
        assert np.corrcoef(series[:, 1:].ravel(), series[:, :-1].ravel())[0, 1] > 0.4

    def test_measured_motion_is_used_as_it_is(self) -> None:
        motion = np.random.default_rng(6).standard_cauchy((5, 30, 2))
        study = simulate_study(
            4, seed=6, n_subjects=(2, 3), confounder=motion, threshold=[1.0, 2.0]
        )
        np.testing.assert_array_equal(study.confounder, motion.reshape(150, 2))
        np.testing.assert_array_equal(study.threshold, [1.0, 2.0])

    def test_same_seed_same_study(self) -> None:
        first, second, other = (
            simulate_study(5, seed=seed, n_subjects=2, n_times=9) for seed in (7, 7, 8)
        )
        np.testing.assert_array_equal(first.x, second.x)
        np.testing.assert_array_equal(first.confounder, second.confounder)
        assert (first.x != other.x).all()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"groups": ("a", "a")}, ["groups", "distinct", "('a', 'a')"]),
            ({"groups": 3}, ["groups", "list of labels", "got 3"]),
            ({"groups": [["a"]]}, ["groups", "list of labels"]),
            ({"n_subjects": np.array(2.5)}, ["n_subjects", "whole number"]),
            ({"seed": "now"}, ["seed", "whole number", "'now'"]),
            ({"seed": -1}, ["seed", "whole number", "-1"]),
            ({"even": "yes"}, ["even", "True or False", "'yes'"]),
            ({"threshold": 1e-320}, ["threshold", "positive", "1e-100"]),
            ({"threshold": 1e300}, ["threshold", "1e+100"]),
            ({"threshold": "small"}, ["threshold", "real numbers", "'small'"]),
            ({"variance_inflation": 10**400}, ["variance_inflation", "finite", "1e+100"]),
            ({"confounder": np.full((20, 5, 1), 1e200)}, ["confounder", "1e+100", "units"]),
            ({"n_subjects": (1, 2, 3)}, ["n_subjects", "2 groups", "(1, 2, 3)"]),
            ({"n_subjects": 0}, ["n_subjects", "at least 1", "0"]),
            ({"difference": 2.0}, ["difference", "[0, 1]", "2.0"]),
            ({"motion_ratio": 0.0}, ["motion_ratio", "above 0", "0.0"]),
            ({"subject_radius": 0.5}, ["subject_radius=0.5", "below 1"]),
            ({"confounder": np.zeros((3, 5, 1))}, ["confounder", "3 people", "makes 20"]),
            ({"confounder": np.zeros(3)}, ["confounder", "3 axes", "(3,)"]),
        ],
    )
    def test_errors_name_argument_value_and_range(self, arguments: dict, words: list[str]) -> None:
        with pytest.raises(ValueError) as error:
            simulate_study(**{"p": 4, "n_times": 5, "seed": 0} | arguments)
        assert all(word in str(error.value) for word in words), str(error.value)

    def test_unknown_group_label(self) -> None:
        with pytest.raises(ValueError, match="'control', 'patient'; got 'pilot'"):
            simulate_study(3, seed=0, n_subjects=1, n_times=2).difference("pilot")

    def test_nuisance_wants_one_value_for_each_confounder(self) -> None:
        study = simulate_study(3, seed=0, n_subjects=1, n_times=2)
        assert study.nuisance([0.1, 0.2, 3.0]).shape == (1, 3, 3)
        with pytest.raises(ValueError, match=r"3 confounder value.*\(4, 2\)"):
            study.nuisance(np.zeros((4, 2)))


class TestDefiniteNuisance:
    """The reading of the paper's simulation that needs no scaling: W positive definite, f(|g|)."""

    def test_precision_matrices_are_those_of_the_definition(self) -> None:
        data = simulate_paper(6, n=40, seed=1, even=True, nuisance="definite")
        w = data.nuisance.weights[0]
        assert np.linalg.eigvalsh(w)[0] > 0.0
        assert np.all(w[np.triu_indices(6, 1)] != 0.0)
        for g in (-400.0, -11.0, 0.0, 10.0, 11.0, 300.0):
            f = paper_response(np.array([g]), even=True)[0]
            literal = np.linalg.inv(np.eye(6) - data.omega + f * w)
            np.testing.assert_allclose(data.covariance_at([g])[0], literal, rtol=1e-9, atol=1e-12)

    def test_rows_have_these_covariances(self) -> None:
        g = np.full(20_000, 13.0)
        data = simulate_paper(4, seed=2, even=True, nuisance="definite", confounder=g)
        expected = data.covariance_at([13.0])[0]
        np.testing.assert_allclose(np.cov(data.x.T), expected, atol=0.03)

    def test_baseline_is_that_of_the_other_kinds(self) -> None:
        one = simulate_paper(6, n=30, seed=3, even=True, nuisance="definite")
        other = simulate_paper(6, n=30, seed=3, even=True)
        np.testing.assert_array_equal(one.omega, other.omega)
        assert not np.any(one.nuisance([0.0, 10.0]))

    @pytest.mark.parametrize(
        "wrong", [{"even": False}, {"printed": True}, {"nuisance_radius": 0.3}]
    )
    def test_what_does_not_go_together_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="nuisance='definite'"):
            simulate_paper(4, n=20, seed=0, **{"even": True, "nuisance": "definite", **wrong})
