"""All that is used of GGLasso: its solver of the fused graphical lasso.

The optional package is imported here alone, so that a change of its insides has one place to be met.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from plaggm.array_types import Array


@dataclass(frozen=True, slots=True)
class FusedSolution:
    """Precision matrices at one penalty.

    Attributes
    ----------
    precision : ndarray of shape (K, p, p)
    residual : float
        Residual of the optimality conditions.
    n_iter : int
    start : dict
        The solver's variables, from which the next penalty can start.
    """

    precision: Array
    residual: float
    n_iter: int
    start: dict[str, Any]


def solve_fused(
    covariances: Array,
    alpha: float,
    fusion: float,
    *,
    start: dict[str, Any] | None,
    tol: float,
    max_iter: int,
) -> FusedSolution:
    """Solve the fused graphical lasso by ADMM.

    Parameters
    ----------
    covariances : ndarray of shape (K, p, p)
    alpha : float
        Penalty on the entries.
    fusion : float
        Penalty on differences between neighbours, as a multiple of ``alpha``.
    start : dict, optional
        The ``start`` of a solution at another penalty.
    tol : float
        Relative primal and dual residuals.
    max_iter : int

    Returns
    -------
    FusedSolution

    Raises
    ------
    ArithmeticError
        Without convergence, or where a matrix is not positive definite.
    """
    solver = _admm_solver()
    count, p, _ = covariances.shape
    if start is None:
        start = {"Omega_0": np.tile(np.eye(p), (count, 1, 1))}
    penalties = dict(lambda1=alpha, lambda2=fusion * alpha, reg="FGL")
    # A fixed rho keeps the scaled dual variable usable as the next start.
    solution, info = solver.ADMM_MGL(
        covariances,
        **penalties,
        **start,
        tol=tol / (count * p * (p + 1) / 2),
        rtol=tol,
        max_iter=max_iter,
        update_rho=False,
        measure=True,
    )
    residual = solver.kkt_stopping_criterion(
        solution["Omega"],
        solution["Theta"],
        solution["L"],
        solution["X"],
        covariances,
        nk=np.ones((count, 1, 1)),
        **penalties,
    )
    if info["status"] != "optimal":
        raise ArithmeticError(
            f"no convergence after {max_iter} iterations, residual {residual:.3g}"
        )
    if np.linalg.eigvalsh(solution["Theta"]).min() <= 0.0:
        raise ArithmeticError("an estimated precision matrix is not positive definite")
    again = {f"{name}_0": solution[name] for name in ("Omega", "Theta", "X")}
    return FusedSolution(solution["Theta"], float(residual), len(info["residual"]), again)


@cache
def _admm_solver() -> ModuleType:
    """Import GGLasso's solver, and let numba keep on disk what it compiles of GGLasso."""
    from gglasso.solver import admm_solver

    for module in [module for name, module in sys.modules.items() if name.startswith("gglasso.")]:
        for function in vars(module).values():
            if hasattr(function, "enable_caching"):
                # Where no folder can be written to, each process compiles anew.
                with suppress(RuntimeError):
                    function.enable_caching()
    return admm_solver


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
