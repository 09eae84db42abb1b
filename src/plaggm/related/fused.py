"""The fused graphical lasso over ordered parts of the data, by GGLasso."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaggm.core.node_grams import NodeGrams
from plaggm.core.profile.profilers import Profiler
from plaggm.core.threads import single_threaded_blas
from plaggm.related.losses import (
    MISSING,
    LossPath,
    gaussian_information,
    gaussian_loss,
    hopeless,
    path_of_precisions,
    split_moments,
)
from plaggm.selection.criteria import Criterion
from plaggm.selection.cross_validation import Fold
from plaggm.selection.parallel import run_parallel

Array = NDArray[np.float64]

# Halvings of the interval in which the smallest emptying penalty lies.
BISECTIONS = 50


@dataclass(frozen=True, slots=True)
class FusedLoss:
    r"""The Gaussian likelihood of K ordered parts whose precision matrices are drawn together.

    .. math::
        \sum_k \{\operatorname{tr}(S_k P_k) - \log\det P_k\}
        + \alpha \sum_k \sum_{i \ne j} |P_{k,ij}|
        + \alpha\,\text{fusion} \sum_{k > 1} \sum_{i \ne j} |P_{k,ij} - P_{k-1,ij}|

    solved by GGLasso's ADMM, with the result of one penalty as the start of the next.

    Attributes
    ----------
    fusion : float
        Penalty on differences between neighbours, as a multiple of that on the entries.
    tol : float
        Relative primal and dual residuals of ADMM.
    max_iter : int
    n_jobs, verbose
        As for joblib.
    """

    fusion: float
    tol: float
    max_iter: int
    n_jobs: int | None = None
    verbose: int = 0

    def scale(self, grams: NodeGrams) -> Array:
        """See :class:`plaggm.related.losses.Loss`: nothing."""
        return np.ones(grams.p)

    def largest_penalty(self, parts: Sequence[NodeGrams]) -> float:
        """See :class:`plaggm.related.losses.Loss`: where GGLasso's proximal map of S is diagonal."""
        from gglasso.solver.ggl_helper import prox_p

        covariances = _covariances(parts)
        off = ~np.eye(covariances.shape[1], dtype=bool)
        # Without fusion the largest entry empties all; with it less is enough.
        empty, some = float(np.abs(covariances[:, off]).max()), 0.0
        if empty == 0.0:
            return 0.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (empty + some)
            if np.any(prox_p(covariances, middle, self.fusion * middle, "FGL")[:, off]):
                some = middle
            else:
                empty = middle
        return empty

    def paths(self, parts: Sequence[NodeGrams], alphas: Array) -> list[LossPath]:
        """See :class:`plaggm.related.losses.Loss`."""
        with nothing_printed(), single_threaded_blas():
            precision, residuals, n_iter, failures = self._precisions(_covariances(parts), alphas)
        return [
            path_of_precisions(precision[:, k], residuals, n_iter, dict(failures))
            for k in range(len(parts))
        ]

    def held_out(
        self,
        profilers: Sequence[Profiler],
        weights: Array,
        alphas: Array,
        folds: Sequence[Fold],
        scales: Sequence[Array],
    ) -> Array:
        """See :class:`plaggm.related.losses.Loss`."""
        work = partial(
            self._fold_loss, profilers=profilers, weights=weights, alphas=alphas, scales=scales
        )
        with nothing_printed():
            found = run_parallel(work, folds, n_jobs=self.n_jobs, verbose=self.verbose)
        return np.stack(found, axis=1)

    def information(
        self, grams: NodeGrams, path: LossPath, criterion: Criterion, gamma: float
    ) -> Array:
        """See :class:`plaggm.related.losses.Loss`."""
        return gaussian_information(grams, path, criterion, gamma)

    def _fold_loss(
        self,
        fold: Fold,
        *,
        profilers: Sequence[Profiler],
        weights: Array,
        alphas: Array,
        scales: Sequence[Array],
    ) -> Array:
        splits = [
            split_moments(profiler, fold, scale)
            for profiler, scale in zip(profilers, scales, strict=True)
        ]
        covariances = np.stack([covariance for covariance, _, _ in splits])
        precision, _, _, failures = self._precisions(covariances, alphas)
        loss = np.full(len(alphas), MISSING)
        for step, matrices in enumerate(precision):
            if step not in failures:
                loss[step] = sum(
                    weight * gaussian_loss(moments, matrix, mass)
                    for weight, (_, moments, mass), matrix in zip(
                        weights, splits, matrices, strict=True
                    )
                )
        return loss

    def _precisions(
        self, covariances: Array, alphas: Array
    ) -> tuple[Array, Array, NDArray[np.int64], dict[int, str]]:
        """Precision matrices (n_alphas, K, p, p), residuals, iterations and reasons for failures."""
        precision = np.full((len(alphas), *covariances.shape), MISSING)
        residuals = np.full(len(alphas), MISSING)
        n_iter = np.zeros(len(alphas), np.int64)
        failures: dict[int, str] = {}
        start: dict[str, Array] = {
            "Omega_0": np.tile(np.eye(covariances.shape[1]), (len(covariances), 1, 1))
        }
        for step, alpha in enumerate(alphas):
            if hopeless(step, failures):
                failures[step] = "not tried, since larger penalties failed"
                continue
            try:
                solution, residuals[step], n_iter[step] = self._solve(
                    covariances, float(alpha), start
                )
            except (ArithmeticError, np.linalg.LinAlgError) as error:
                failures[step] = str(error)
                continue
            precision[step] = solution["Theta"]
            start = {f"{name}_0": solution[name] for name in ("Omega", "Theta", "X")}
        return precision, residuals, n_iter, failures

    def _solve(
        self, covariances: Array, alpha: float, start: dict[str, Array]
    ) -> tuple[dict[str, Any], float, int]:
        from gglasso.solver.admm_solver import ADMM_MGL, kkt_stopping_criterion

        parts, p, _ = covariances.shape
        penalties = dict(lambda1=alpha, lambda2=self.fusion * alpha, reg="FGL")
        # A fixed rho keeps the scaled dual variable usable as the next start.
        solution, info = ADMM_MGL(
            covariances,
            **penalties,
            **start,
            tol=self.tol / (parts * p * (p + 1) / 2),
            rtol=self.tol,
            max_iter=self.max_iter,
            update_rho=False,
            measure=True,
        )
        residual = kkt_stopping_criterion(
            solution["Omega"],
            solution["Theta"],
            solution["L"],
            solution["X"],
            covariances,
            nk=np.ones((parts, 1, 1)),
            **penalties,
        )
        if info["status"] != "optimal":
            raise ArithmeticError(
                f"no convergence after {self.max_iter} iterations, residual {residual:.3g}"
            )
        if np.linalg.eigvalsh(solution["Theta"]).min() <= 0.0:
            raise ArithmeticError("an estimated precision matrix is not positive definite")
        return solution, float(residual), len(info["residual"])


_printing = threading.Lock()
_silent: list[ExitStack] = []


@contextmanager
def nothing_printed() -> Iterator[None]:
    """Discard what GGLasso prints.

    There is one ``sys.stdout`` for all threads: the first to enter sets it aside, the last to leave puts
    it back.
    """
    with _printing:
        stack = ExitStack()
        if not _silent:
            stack.enter_context(redirect_stdout(io.StringIO()))
        _silent.append(stack)
    try:
        yield
    finally:
        with _printing:
            own = _silent.index(stack)
            # Whoever holds the redirection hands it on while others are still inside.
            if len(_silent) > 1 and own == 0:
                _silent[1].push(stack.pop_all())
            _silent.remove(stack)
            stack.close()


def check_gglasso() -> None:
    """Raise an ImportError that says how to get GGLasso where it is missing."""
    try:
        import gglasso.solver.admm_solver  # noqa: F401
    except ImportError as error:
        raise ImportError("smoother='fused' needs GGLasso: pip install 'plaggm[fused]'") from error


def _covariances(parts: Sequence[NodeGrams]) -> Array:
    return np.stack([grams.grams[0, :-1, :-1] for grams in parts])
