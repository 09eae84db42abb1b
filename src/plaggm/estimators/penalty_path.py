"""The path of penalties of a problem, and the choice among them."""

from __future__ import annotations

from dataclasses import replace

from plaggm.array_types import Array
from plaggm.core.lasso.path import (
    PathSolution,
    grid_noise,
    informative_rows,
    lambda_grid,
    lambda_max,
    solve_path,
)
from plaggm.core.profile.profilers import SplineSubsets
from plaggm.estimators.family_model import FamilyModel
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.spec import FitSpec
from plaggm.selection import (
    Choice,
    CrossValidation,
    FamilyLoss,
    HeldOutLoss,
    PathFit,
    Problem,
    PseudoLoss,
    Selection,
    make_selection,
    pseudo_path,
)


def select(spec: FitSpec, problem: FitProblem) -> tuple[PathSolution, Choice]:
    """Solve the lasso along the penalties and choose one of them."""
    alphas = penalty_grid(spec, problem)
    selection = _selection(spec, problem)
    if len(alphas) > 1:
        spec.say(f"path of {len(alphas)} penalties")
    path = _path(spec, problem, alphas)
    judged = _selection_problem(spec, problem)
    spec.say(selection.describe(judged))
    fit = PathFit(alphas, [problem.node_grams], [pseudo_path(path)])
    return path, selection.choose(judged, fit, n_jobs=spec.n_jobs, verbose=spec.verbose)


def _path(spec: FitSpec, problem: FitProblem, alphas: Array) -> PathSolution:
    """Networks at all penalties."""
    if isinstance(problem.model, FamilyModel):
        return problem.model.path.solution()
    return solve_path(
        problem.node_grams,
        alphas,
        symmetry=spec.symmetry,
        tol=spec.tol,
        max_iter=spec.max_iter,
        n_threads=spec.n_threads,
    )


def penalty_grid(spec: FitSpec, problem: FitProblem) -> Array:
    """The given penalties, or a grid with the given number of penalties."""
    alphas = spec.penalties.alphas
    if isinstance(problem.model, FamilyModel):
        return problem.model.path.alphas
    if not isinstance(alphas, int):
        return alphas
    grams = problem.node_grams
    largest = lambda_max(grams, spec.symmetry)
    rows, noise = informative_rows(grams), grid_noise(grams)
    return lambda_grid(largest, alphas, rows, grams.p, noise=noise)


def held_out_loss(spec: FitSpec, problem: FitProblem, alphas: Array, scale: Array) -> HeldOutLoss:
    """Held-out loss of every penalty, with columns divided by a scale of shape (p,)."""
    judged = replace(_selection_problem(spec, problem), scales=(scale,))
    return CrossValidation(problem.folds).evaluate(
        judged, alphas, n_jobs=spec.n_jobs, verbose=spec.verbose
    )


def _selection_problem(spec: FitSpec, problem: FitProblem) -> Problem:
    """The problem as :mod:`plaggm.selection` represents it."""
    if isinstance(problem.model, FamilyModel):
        losses = problem.model.path.losses
        family = FamilyLoss(spec.symmetry, spec.tol, spec.max_iter, True, losses)
        return Problem.single(problem.profiler, problem.sigma, family)
    known = spec.variance == "unit"
    loss = PseudoLoss(spec.symmetry, spec.tol, spec.max_iter, known_variance=known)
    return Problem.single(problem.profiler, problem.sigma, loss)


def _selection(spec: FitSpec, problem: FitProblem) -> Selection:
    profiler, sizes = problem.profiler, None
    if isinstance(profiler, SplineSubsets):
        sizes = [profiler.rows(test) for _, test in problem.folds]
    return make_selection(spec.penalties, problem.folds, sizes=sizes)
