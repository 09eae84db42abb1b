"""Other people's solvers of the same lasso, each at the loosest tolerance that reaches a KKT residual.

The symmetric lasso of p nodes is one lasso on a stacked design of n p rows and p (p - 1) / 2 columns. Data
are centred, which takes the place of one free intercept for each node.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.io import mmwrite

from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.path import solve_path
from plaggm.core.profile.pooled import profile_pooled

HERE = Path(__file__).parent
# Tolerances are tightened by tens between these powers.
LOOSEST, TIGHTEST = 2, 15
# Solves a path on a stacked design: (x, y, alphas, tolerance) -> (seconds, coefficients).
Solver = Callable[[sparse.csc_matrix, np.ndarray, np.ndarray, float], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Problem:
    """One path to be solved by everybody.

    Attributes
    ----------
    z : ndarray of shape (n, p)
        Centred.
    alphas : ndarray of shape (k,)
        Of the symmetric problem, decreasing.
    residual : float
        KKT residual to be reached, in units of the largest penalty.
    """

    z: np.ndarray
    alphas: np.ndarray
    residual: float

    @property
    def grams(self) -> NodeGrams:
        return profile_pooled(np.column_stack([self.z, np.ones(len(self.z))]))


@dataclass(frozen=True)
class Timing:
    """Time of one solver, or a word on why there is none.

    Attributes
    ----------
    seconds : float or None
    residual : float or None
        KKT residual that was reached, in units of the largest penalty.
    tolerance : float or None
        Of the solver's own criterion.
    note : str
    """

    seconds: float | None
    residual: float | None = None
    tolerance: float | None = None
    note: str = ""


def stacked_design(z: np.ndarray) -> tuple[sparse.csc_matrix, np.ndarray]:
    """Columns of pairs in n p rows, and the response."""
    n, p = z.shape
    first, second = np.triu_indices(p, 1)
    pairs = len(first)
    offsets = np.arange(n)
    row = np.concatenate(
        [(first[:, None] * n + offsets).ravel(), (second[:, None] * n + offsets).ravel()]
    )
    column = np.tile(np.repeat(np.arange(pairs), n), 2)
    value = np.concatenate([z.T[second].ravel(), z.T[first].ravel()])
    shape = (n * p, pairs)
    return sparse.csc_matrix((value, (row, column)), shape=shape), z.T.ravel()


def scikit_learn(x: sparse.csc_matrix, y: np.ndarray, alphas: np.ndarray, tol: float):
    from sklearn.linear_model import lasso_path

    start = time.perf_counter()
    _, coefficients, _ = lasso_path(x, y, alphas=alphas, tol=tol, max_iter=100_000)
    return time.perf_counter() - start, coefficients


def celer(x: sparse.csc_matrix, y: np.ndarray, alphas: np.ndarray, tol: float):
    from celer import celer_path

    start = time.perf_counter()
    found = celer_path(x, y, "lasso", alphas=alphas, tol=tol, max_iter=200)
    return time.perf_counter() - start, found[1]


def skglm(x: sparse.csc_matrix, y: np.ndarray, alphas: np.ndarray, tol: float):
    from skglm.datafits import Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    solver = AndersonCD(tol=tol, max_iter=200, fit_intercept=False, warm_start=True)
    datafit, penalty = compiled_clone(Quadratic()), compiled_clone(L1(1.0))
    datafit.initialize_sparse(x.data, x.indptr, x.indices, y)
    coefficients = np.zeros((x.shape[1], len(alphas)))
    w, fitted = np.zeros(x.shape[1]), np.zeros(len(y))
    start = time.perf_counter()
    for step, alpha in enumerate(alphas):
        penalty.alpha = alpha
        w = solver.solve(x, y, datafit, penalty, w, fitted)[0]
        fitted = x @ w
        coefficients[:, step] = w
    return time.perf_counter() - start, coefficients


def glmnet(x: sparse.csc_matrix, y: np.ndarray, alphas: np.ndarray, tol: float):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mmwrite(folder / "x.mtx", x)
        np.savetxt(folder / "y.txt", y)
        np.savetxt(folder / "penalty.txt", np.ones(x.shape[1]))
        np.savetxt(folder / "lambda.txt", alphas, fmt="%.17g")
        np.savetxt(folder / "thresholds.txt", [tol])
        command = ["Rscript", str(HERE / "glmnet_path.R"), name]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise ImportError(ran.stderr.strip().splitlines()[-1])
        seconds = float((folder / "seconds_1.txt").read_text())
        return seconds, np.loadtxt(folder / "beta_1.txt", ndmin=2)


SOLVERS: dict[str, Solver] = {
    "glmnet (R)": glmnet,
    "scikit-learn": scikit_learn,
    "skglm": skglm,
    "celer": celer,
}


def ours(problem: Problem) -> Timing:
    """Our path on the Grams; forming them is counted in."""
    grams = problem.grams
    for power in range(LOOSEST, TIGHTEST):
        tol = 10.0**-power
        path = solve_path(grams, problem.alphas, tol=tol, max_iter=100_000)
        residual = _worst(grams, path.omega, problem.alphas)
        if residual <= problem.residual:
            break
    seconds = _quickest(
        lambda: solve_path(problem.grams, problem.alphas, tol=tol, max_iter=100_000)
    )
    return Timing(seconds, residual, tol)


def other_solver(name: str, problem: Problem) -> Timing:
    """The loosest tolerance of another solver that reaches the residual, and its time."""
    if name.startswith("glmnet") and shutil.which("Rscript") is None:
        return Timing(None, note="skipped: Rscript is not installed")
    p = problem.z.shape[1]
    x, y = stacked_design(problem.z)
    grams = problem.grams
    # These solvers divide the squares by n p, we by n.
    alphas = problem.alphas / p
    residual = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for power in range(LOOSEST, TIGHTEST):
            tol = 10.0**-power
            try:
                seconds, beta = SOLVERS[name](x, y, alphas, tol)
            except ImportError as error:
                return Timing(None, note=f"skipped: {error}")
            residual = _worst(grams, _matrices(beta, p), problem.alphas)
            if residual <= problem.residual:
                again = [SOLVERS[name](x, y, alphas, tol)[0] for _ in range(2)]
                return Timing(min(seconds, *again), residual, tol)
    return Timing(None, residual, note=f"skipped: reaches {residual:.1e} only")


def our_folds(folds: list[Problem], tolerance: float) -> Timing:
    """Time of our path on the training rows of every fold; tightened until all folds are there."""
    tol = tolerance
    while True:
        worst = 0.0
        for fold in folds:
            path = solve_path(fold.grams, fold.alphas, tol=tol, max_iter=100_000)
            worst = max(worst, _worst(fold.grams, path.omega, fold.alphas) / fold.residual)
        if worst <= 1.0 or tol <= 10.0**-TIGHTEST:
            break
        tol /= 10.0

    def solve() -> None:
        for fold in folds:
            solve_path(fold.grams, fold.alphas, tol=tol, max_iter=100_000)

    return Timing(_quickest(solve, 2), worst * folds[0].residual, tol)


def other_folds(name: str, folds: list[Problem], tolerance: float) -> Timing:
    """The same of another solver, from the tolerance of its path on."""
    stacked = [stacked_design(fold.z) for fold in folds]
    tol, worst = tolerance, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while tol > 10.0**-TIGHTEST:
            total, worst = 0.0, 0.0
            for fold, (x, y) in zip(folds, stacked, strict=True):
                p = fold.z.shape[1]
                seconds, beta = SOLVERS[name](x, y, fold.alphas / p, tol)
                total += seconds
                worst = max(worst, _worst(fold.grams, _matrices(beta, p), fold.alphas))
            if worst <= folds[0].residual:
                return Timing(total, worst, tol)
            tol /= 10.0
    return Timing(None, worst, note=f"skipped: reaches {worst:.1e} only")


def _matrices(beta: np.ndarray, p: int) -> np.ndarray:
    upper = np.triu_indices(p, 1)
    omega = np.zeros((beta.shape[1], p, p))
    omega[:, upper[0], upper[1]] = beta.T
    return omega + omega.transpose(0, 2, 1)


def _worst(grams: NodeGrams, omega: np.ndarray, alphas: np.ndarray) -> float:
    pairs = zip(omega, alphas, strict=True)
    return float(max(kkt_residual(grams, one, alpha) for one, alpha in pairs) / alphas[0])


def _quickest(function: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times[1:])
