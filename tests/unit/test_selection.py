from __future__ import annotations

import re
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from joblib import effective_n_jobs
from sklearn.model_selection import KFold

from plaggm import PLAGGM
from plaggm.core.lasso.path import lambda_max, solve_path
from plaggm.core.profile.pooled import profile_pooled
from plaggm.core.profile.profilers import PooledProfiler
from plaggm.related.gaussian import GaussianLoss, covariances_of
from plaggm.related.profilers import ResidualProfiler
from plaggm.selection import (
    CrossValidation,
    GivenPenalty,
    HalfSamples,
    HeldOutLoss,
    InformationCriterion,
    PathFit,
    Problem,
    PseudoLoss,
    Stability,
    Stars,
    information_criterion,
)
from plaggm.selection.parallel import inner_threads, run_parallel
from plaggm.selection.stability import subsample_size

# The same sums in another order.
ROUNDING = 1e-10
# Two solutions with duality gaps of 1e-13.
SAME_LOSS = 1e-6

LOSS = PseudoLoss("joint", tol=1e-13, max_iter=20_000)
PLAIN: dict[str, Any] = dict(variance="unit", standardize=False, tol=1e-13, max_iter=20_000)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    rng = np.random.default_rng(0)
    chain = np.eye(5) - 0.4 * (np.eye(5, k=1) + np.eye(5, k=-1))
    return rng.standard_normal((200, 5)) @ np.linalg.cholesky(np.linalg.inv(chain)).T + 0.5


@pytest.fixture(scope="module")
def b(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


@pytest.fixture(scope="module")
def alphas(b: np.ndarray) -> np.ndarray:
    return np.geomspace(2.0 * lambda_max(profile_pooled(b)), 0.01, 12)


def problem_of(b: np.ndarray, scale: Any = None) -> Problem:
    return Problem.single(PooledProfiler(b), np.ones(5) if scale is None else scale, LOSS)


def held_out(b: np.ndarray, alphas: np.ndarray, folds: Any, scale: Any) -> HeldOutLoss:
    return CrossValidation(folds).evaluate(problem_of(b, scale), alphas)


def residuals(x: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Residual of every node at every row."""
    off = omega - np.diag(np.diag(omega))
    return x - np.diag(omega) - x @ off


class TestCrossValidation:
    def test_the_smallest_mean_is_best(self) -> None:
        mean = np.array([5.0, 3.0, 2.0, 2.5])
        curve = HeldOutLoss(mean[:, None], mean, np.full(4, 0.1), 4)
        assert curve.best() == 2

    @pytest.mark.parametrize(
        ("error", "chosen"), [(0.0, 2), (0.9, 2), (1.0, 1), (2.9, 1), (3.0, 0), (99.0, 0)]
    )
    def test_one_standard_error_goes_to_larger_penalties_only(
        self, error: float, chosen: int
    ) -> None:
        mean = np.array([5.0, 3.0, 2.0, 2.05, 2.0])
        errors = np.array([0.0, 0.0, error, 50.0, 50.0])
        curve = HeldOutLoss(mean[:, None], mean, errors, len(mean))
        assert curve.best(one_standard_error=True) == chosen

    def test_loss_of_single_fits(self, x: np.ndarray, b: np.ndarray, alphas: np.ndarray) -> None:
        folds = list(KFold(4, shuffle=True, random_state=0).split(x))
        curve = held_out(b, alphas, folds, np.ones(5))
        assert curve.loss.shape == (12, 4)
        for step in (0, 5, 11):
            for fold, (train, test) in enumerate(folds):
                model = PLAGGM(alphas[step], **PLAIN).fit(x[train])
                expected = np.sum(residuals(x[test], model.omega_) ** 2, axis=1).mean()
                assert curve.loss[step, fold] == pytest.approx(expected, rel=SAME_LOSS)

    def test_columns_are_divided_by_the_scale(
        self, x: np.ndarray, b: np.ndarray, alphas: np.ndarray
    ) -> None:
        scale = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
        folds = list(KFold(3).split(x))
        scaled = np.column_stack([x / scale, np.ones(len(x))])
        ones = np.ones(5)
        inside = held_out(b, alphas, folds, scale)
        before = held_out(scaled, alphas, folds, ones)
        np.testing.assert_allclose(inside.loss, before.loss, rtol=SAME_LOSS)

    def test_mean_and_error_weigh_folds_by_size(self, b: np.ndarray, alphas: np.ndarray) -> None:
        rows = np.arange(200)
        folds = [(rows[20:], rows[:20]), (rows[:80], rows[80:])]
        curve = held_out(b, alphas, folds, np.ones(5))
        weights = np.array([20.0, 120.0]) / 140.0
        np.testing.assert_allclose(curve.mean, curve.loss @ weights, rtol=ROUNDING)
        spread = (curve.loss - curve.mean[:, None]) ** 2 @ weights
        np.testing.assert_allclose(curve.standard_error, np.sqrt(spread / 1.0), rtol=ROUNDING)

    def test_equal_folds_give_the_usual_standard_error(
        self, b: np.ndarray, alphas: np.ndarray
    ) -> None:
        folds = list(KFold(5).split(b))
        curve = held_out(b, alphas, folds, np.ones(5))
        usual = curve.loss.std(axis=1, ddof=1) / np.sqrt(5)
        np.testing.assert_allclose(curve.standard_error, usual, rtol=ROUNDING)

    def test_one_fold_has_no_spread(self, b: np.ndarray, alphas: np.ndarray) -> None:
        fold = [(np.arange(100), np.arange(100, 200))]
        curve = held_out(b, alphas, fold, np.ones(5))
        np.testing.assert_allclose(curve.standard_error, np.zeros(12), atol=ROUNDING)

    @pytest.mark.parametrize("seed", range(4))
    def test_folds_of_many_variables_end_where_the_loss_has_risen(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        strength = (0.0, 0.2, 0.35, 0.45)[seed]
        chain = np.eye(12) - strength * (np.eye(12, k=1) + np.eye(12, k=-1))
        z = np.random.default_rng(seed).standard_normal((36, 12))
        z = z @ np.linalg.cholesky(np.linalg.inv(chain)).T
        loss = replace(LOSS, tol=1e-8)
        known = Problem.single(PooledProfiler(np.column_stack([z, np.ones(36)])), np.ones(12), loss)
        alphas = np.geomspace(4.0, 1e-2, 30)
        folds = list(KFold(3, shuffle=True, random_state=seed).split(z))
        whole = CrossValidation(folds).evaluate(known, alphas)
        assert whole.reached == 30
        monkeypatch.setattr("plaggm.core.lasso.path.MANY_VARIABLES", 12)
        curve = CrossValidation(folds).evaluate(known, alphas)
        assert curve.best() == whole.best()
        assert curve.best(one_standard_error=True) == whole.best(one_standard_error=True)
        assert whole.best() + 3 < curve.reached < 30
        assert np.isnan(curve.mean[curve.reached :]).all()
        np.testing.assert_allclose(
            curve.loss[: curve.reached], whole.loss[: curve.reached], rtol=SAME_LOSS
        )

    def test_all_penalties_are_judged_where_the_mean_has_not_risen(
        self,
    ) -> None:
        asked = []

        class Judged(Problem):
            def held_out(self, fold: Any, alphas: Any, *, whole: bool = True) -> np.ndarray:
                asked.append(whole)
                # The first fold has turned long before the other, which decides.
                falling = np.linspace(9.0, 1.0, 12)
                return falling if whole or len(fold[1]) > 2 else np.array([1.0, *[2.0] * 8])

        one = Judged.single(PooledProfiler(np.ones((9, 2))), np.ones(1), LOSS)
        folds = [(np.arange(7), np.arange(7, 9)), (np.arange(2), np.arange(2, 9))]
        curve = CrossValidation(folds).evaluate(one, np.arange(12.0, 0.0, -1.0))
        assert asked == [False, False, True, True]
        assert curve.reached == 12
        assert curve.best() == 11

    def test_the_chosen_penalty_is_neither_end(self, b: np.ndarray, alphas: np.ndarray) -> None:
        folds = list(KFold(5, shuffle=True, random_state=0).split(b))
        curve = held_out(b, alphas, folds, np.ones(5))
        assert 0 < curve.best() < 11
        assert curve.best(one_standard_error=True) < curve.best()


class TestInformationCriterion:
    @pytest.fixture(scope="class")
    @staticmethod
    def path(b: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return solve_path(profile_pooled(b), alphas, tol=1e-13, max_iter=20_000).omega

    @pytest.mark.parametrize("known_variance", [True, False])
    @pytest.mark.parametrize(
        ("criterion", "per_parameter", "per_edge"),
        [
            ("aic", 2.0, 0.0),
            ("bic", np.log(200.0), 0.0),
            ("ebic", np.log(200.0), 4.0 * 0.25 * np.log(5.0)),
        ],
    )
    def test_formula_from_the_rows(
        self,
        x: np.ndarray,
        b: np.ndarray,
        path: np.ndarray,
        criterion: Any,
        per_parameter: float,
        per_edge: float,
        known_variance: bool,
    ) -> None:
        found = information_criterion(
            profile_pooled(b), path, criterion, known_variance=known_variance, gamma=0.25
        )
        for value, omega in zip(found, path, strict=True):
            squares = np.sum(residuals(x, omega) ** 2, axis=0)
            fit = squares.sum() if known_variance else 200 * np.log(squares / 200).sum()
            edges = np.count_nonzero(np.triu(omega, 1))
            expected = fit + per_parameter * (edges + 5) + per_edge * edges
            assert value == pytest.approx(expected, rel=ROUNDING)

    def test_gamma_is_the_extra_price_of_an_edge(self, b: np.ndarray, path: np.ndarray) -> None:
        grams = profile_pooled(b)
        bic = information_criterion(grams, path, "bic", known_variance=False)
        free = information_criterion(grams, path, "ebic", known_variance=False, gamma=0.0)
        np.testing.assert_array_equal(bic, free)
        dear = information_criterion(grams, path, "ebic", known_variance=False, gamma=1.0)
        edges = np.array([np.count_nonzero(np.triu(omega, 1)) for omega in path])
        np.testing.assert_allclose(dear - bic, 4.0 * np.log(5.0) * edges)

    def test_bic_finds_the_chain(self, b: np.ndarray, path: np.ndarray) -> None:
        found = information_criterion(profile_pooled(b), path, "bic", known_variance=True)
        best = path[int(np.argmin(found))]
        assert np.all(np.diagonal(best, 1) != 0.0)


class Recorder(np.random.RandomState):
    """A random state that remembers what it drew."""

    def __init__(self) -> None:
        super().__init__(0)
        self.drawn: list[np.ndarray] = []

    def permutation(self, n: int) -> np.ndarray:
        self.drawn.append(super().permutation(n))
        return self.drawn[-1]


class TestStability:
    def run(self, b: np.ndarray, alphas: np.ndarray, rng: Any) -> Stability:
        return Stars(6, 0.45, 0.05, rng).evaluate(problem_of(b), alphas)

    def test_frequencies_of_single_fits(
        self, x: np.ndarray, b: np.ndarray, alphas: np.ndarray
    ) -> None:
        recorder = Recorder()
        stability = self.run(b, alphas, recorder)
        assert len(recorder.drawn) == 6
        for step in (2, 5, 8):
            edges = [
                PLAGGM(alphas[step], **PLAIN).fit(x[np.sort(drawn[:90])]).adjacency_
                for drawn in recorder.drawn
            ]
            np.testing.assert_allclose(stability.frequency[step], np.mean(edges, axis=0))

    def test_instability_is_the_monotone_mean(self, b: np.ndarray, alphas: np.ndarray) -> None:
        stability = self.run(b, alphas, np.random.RandomState(0))
        upper = np.triu_indices(5, 1)
        f = stability.frequency[:, upper[0], upper[1]]
        raw = (2.0 * f * (1.0 - f)).mean(axis=1)
        np.testing.assert_allclose(stability.instability, np.maximum.accumulate(raw))
        assert np.any(np.diff(raw) < 0.0)
        assert 0.0 < stability.instability.max() <= 0.5

    def test_no_rows_are_drawn_twice(self, b: np.ndarray, alphas: np.ndarray) -> None:
        class Rows(PooledProfiler):
            """Notes the rows that it is asked for."""

            seen: list[np.ndarray] = []  # noqa: RUF012

            def fitted(self, index: Any = None) -> Any:
                self.seen.append(index)
                return PooledProfiler.fitted(self, index)

        problem = Problem.single(Rows(b), np.ones(5), LOSS)
        Stars(3, 0.25, 0.05, 0).evaluate(problem, alphas, n_jobs=1)
        assert len(Rows.seen) == 3
        for index in Rows.seen:
            assert len(np.unique(index)) == 50
            assert np.all(np.diff(index) > 0)
        assert not np.array_equal(Rows.seen[0], Rows.seen[1])

    def test_the_densest_stable_step_is_best(self) -> None:
        stability = Stability(
            np.zeros((5, 2, 2)), np.array([0.0, 0.01, 0.05, 0.06, 0.3]), np.zeros(5, int)
        )
        assert stability.best(0.05) == 2
        assert stability.best(0.0) == 0
        assert stability.best(0.4) == 4

    def test_nothing_is_stable(self) -> None:
        stability = Stability(np.zeros((2, 2, 2)), np.array([0.1, 0.2]), np.zeros(2, int))
        assert stability.best(0.05) == 0

    @pytest.mark.parametrize(
        ("n", "size"), [(10, 8), (144, 115), (145, 120), (400, 200), (10_000, 1000)]
    )
    def test_subsample_size(self, n: int, size: int) -> None:
        assert subsample_size(n) == size


def regression_problem(x: np.ndarray) -> Problem:
    """LR-GGM with the graphical lasso: a problem of a related method."""
    z = x / x.std(axis=0)
    regressor = np.random.default_rng(3).standard_normal((len(x), 1))
    b = np.column_stack([z, np.ones(len(x))])
    return Problem.single(ResidualProfiler(b, regressor), np.ones(5), GaussianLoss(1e-6, 500))


class TestAnyProblem:
    """The same selections serve PLA-GGM's problems and those of the related methods."""

    @pytest.fixture(scope="class", params=["pseudo", "glasso"])
    @staticmethod
    def case(request: pytest.FixtureRequest, x: np.ndarray, b: np.ndarray) -> Any:
        problem = problem_of(b) if request.param == "pseudo" else regression_problem(x)
        grams = [problem.profilers[0].fitted()]
        largest = problem.loss.largest_penalty(grams)
        alphas = np.geomspace(largest, 0.02 * largest, 8)
        return problem, PathFit(alphas, grams, problem.loss.paths(grams, alphas))

    @pytest.mark.parametrize(
        "selection",
        [
            CrossValidation(list(KFold(4).split(np.zeros(200)))),
            InformationCriterion("bic"),
            Stars(6, 0.5, 0.1, 0),
        ],
        ids=["cv", "bic", "stars"],
    )
    def test_the_chain_is_found(self, case: Any, selection: Any) -> None:
        problem, fit = case
        choice = selection.choose(problem, fit, n_jobs=2)
        assert choice.criterion.shape == (8,)
        assert choice.failures == {}
        assert np.all(np.diagonal(fit.paths[0].omega[choice.step], 1) != 0.0)
        again = selection.choose(problem, fit, n_jobs=1)
        np.testing.assert_array_equal(again.criterion, choice.criterion)

    def test_half_samples(self, case: Any) -> None:
        problem, fit = case
        middle = fit.alphas[[4]]
        shares: list[float] = []
        frequency = HalfSamples(10, seed=1).frequency(
            lambda half: problem.edges(half, middle)[0][0],
            problem.n,
            n_jobs=2,
            progress=shares.append,
        )
        random = np.random.default_rng(1)
        halves = [np.sort(random.permutation(200)[:100]) for _ in range(10)]
        expected = np.mean([problem.edges(half, middle)[0][0] for half in halves], axis=0)
        np.testing.assert_array_equal(frequency, expected)
        assert np.all(np.diagonal(frequency, 1) == 1.0)
        assert frequency.min() < 1.0
        np.testing.assert_allclose(shares, np.arange(1, 11) / 10)

    def test_given_penalty(self, case: Any) -> None:
        problem, fit = case
        choice = GivenPenalty().choose(problem, fit)
        assert (choice.step, choice.criterion) == (0, None)


class TestFailedSteps:
    """A step without a network, of all rows, of a fold or of a subsample, is left out and named."""

    @dataclass(frozen=True)
    class Brittle(GaussianLoss):
        """Fails at small penalties where the first variance is below one."""

        def _path(self, grams, alphas):
            found = super()._path(grams, alphas)
            if covariances_of(grams)[0, 0, 0] >= 1.0:
                return found
            failed = np.flatnonzero(alphas < 0.1)
            precision = found.precision.copy()
            precision[failed] = np.nan
            return replace(
                found, precision=precision, failures=dict.fromkeys(failed.tolist(), "circles")
            )

    @pytest.fixture(scope="class")
    @staticmethod
    def case(b: np.ndarray) -> tuple[Problem, PathFit]:
        scale = b[:, :-1].std(axis=0) * 0.999
        problem = Problem.single(PooledProfiler(b), scale, TestFailedSteps.Brittle(1e-5, 200))
        grams = [PooledProfiler(b).fitted().rescaled(scale)]
        alphas = np.array([0.4, 0.2, 0.05])
        return problem, PathFit(alphas, grams, problem.loss.paths(grams, alphas))

    def test_in_folds(self, case: Any) -> None:
        problem, fit = case
        assert fit.failures == {}
        choice = CrossValidation(list(KFold(4).split(np.zeros(200)))).choose(problem, fit)
        assert list(choice.failures) == [2]
        assert re.fullmatch(r"did not converge in [123] of 4 folds", choice.failures[2])
        assert np.isnan(choice.criterion[2])
        assert choice.step < 2

    def test_in_subsamples(self, case: Any) -> None:
        choice = Stars(6, 0.5, 0.4, 0).choose(*case)
        assert choice.failures == {2: "did not converge in some subsamples"}
        assert np.isnan(choice.criterion[2])
        assert choice.step == 1

    def test_everywhere(self, case: Any, b: np.ndarray) -> None:
        problem, _ = case
        scale = 2.0 * problem.scales[0]
        grams = [PooledProfiler(b).fitted().rescaled(scale)]
        alphas = np.array([0.05, 0.01])
        failed = PathFit(alphas, grams, problem.loss.paths(grams, alphas))
        for selection in (GivenPenalty(), InformationCriterion("bic")):
            with pytest.raises(ValueError, match=r"converged at none of the 2 .*\(circles\)"):
                selection.choose(problem, failed)


class TestParallel:
    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    def test_results_come_in_order(self, n_jobs: int | None) -> None:
        assert run_parallel(lambda k: k * k, range(20), n_jobs=n_jobs) == [k * k for k in range(20)]

    def test_workers_are_threads(self) -> None:
        ready = threading.Barrier(2, timeout=300.0)
        # Each piece waits for the other: they must run side by side, in this process.
        assert run_parallel(lambda _: ready.wait() in (0, 1), range(2), n_jobs=2) == [True, True]

    def test_an_error_in_a_worker_comes_out(self) -> None:
        def fail(_: int) -> None:
            raise ValueError("piece 3 is singular")

        with pytest.raises(ValueError, match="piece 3 is singular"):
            run_parallel(fail, range(4), n_jobs=2)

    def test_inner_threads_share_the_cores(self) -> None:
        assert inner_threads(None, 1) == inner_threads(1, 1) == inner_threads(8, 10) == 1
        assert (inner_threads(8, 4), inner_threads(8, 3)) == (2, 2)
        assert inner_threads(-1, 1) == effective_n_jobs(-1)
