"""PLAGGMCV: the model with its penalty chosen from a path."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from plaggm.core.path import PathSolution, informative_rows, lambda_grid, lambda_max, solve_path
from plaggm.core.profile.kernel import SingularLocalSystemError
from plaggm.core.profile.profilers import Profiler, SplineParts
from plaggm.core.row_hash import row_hash
from plaggm.core.threads import single_threaded_blas
from plaggm.data import Confounder
from plaggm.estimators.group_methods import affordable
from plaggm.estimators.kernel_model import resolve_bandwidth
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.preparation import Prepared, prepare
from plaggm.group_labels import group_numbers
from plaggm.selection import (
    CrossValidation,
    PathFit,
    Problem,
    PseudoLoss,
    check_alphas,
    common_parts,
    make_folds,
    make_selection,
    pseudo_path,
)
from plaggm.selection.parallel import concurrent_jobs
from plaggm.selection.parts import Fold, Index

Array = NDArray[np.float64]

# Multiples of the automatic bandwidth that bandwidth="cv" tries.
BANDWIDTH_FACTORS = 2.0 ** np.arange(-1.0, 1.01, 0.5)
# Keeps the folds of a stream apart from the sample of its confounders.
FOLD_SEED = 1


class PLAGGMCV(PLAGGM):
    """Network of the variables without the confounder, its penalty chosen by the data.

    The whole regularisation path is fitted and the penalty taken where the criterion is smallest. See
    :class:`PLAGGM` for the model and the parameters that are not listed here.

    Parameters
    ----------
    alphas : int or array, default=100
        Number of penalties on glmnet's grid, or the penalties themselves, decreasing.
    cv : int, splitter or iterable, default=10
        Folds; an integer means that many random folds, of rows or, where ``fit`` has them, of groups.
        Folds and subsamples are drawn by row position: the same rows in another order fall into other
        folds, and the chosen penalty may differ.
        Splitters of groups such as ``LeaveOneGroupOut()`` work too.
    criterion : {"cv", "aic", "bic", "ebic", "stars"}, default="cv"
        What chooses the penalty: held-out loss, with the smoother learnt from the training rows alone;
        an information criterion of the pseudo-likelihood; or StARS, the densest network that is stable
        between subsamples.
    one_se : bool, default=False
        With ``criterion="cv"``: take the largest penalty within one standard error of the best.
    ebic_gamma : float, default=0.5
    n_subsamples : int, default=20
        Of StARS.
    subsample : "auto" or float, default="auto"
        Part of the rows in a subsample of StARS; ``"auto"`` is 10 sqrt(n) rows.
    instability : float, default=0.05
        Largest instability that StARS accepts.
    random_state : int, RandomState or None, default=0
        For folds and subsamples.
    threshold, smoother, tau, indicator, form, kernel, symmetry, variance, standardize, ridge, tol, max_iter
        As for :class:`PLAGGM`.
    bandwidth : "auto", "cv", float or array of shape (m,), default="auto"
        ``"cv"`` takes the multiple of the automatic bandwidth (a half to two) with the smallest held-out
        loss.
    n_jobs : int, default=None
        Folds or subsamples side by side; the cores that are left go to each of them.
    verbose : int, default=0

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,)
    omega_path_ : ndarray of shape (n_alphas, p, p)
    dual_gaps_ : ndarray of shape (n_alphas,)
    criterion_path_ : ndarray of shape (n_alphas,)
        The criterion along the path; smaller is better (StARS: the instability).
    cv_loss_ : ndarray of shape (n_alphas, n_folds)
        With ``criterion="cv"``.
    cv_standard_error_ : ndarray of shape (n_alphas,)
        With ``criterion="cv"``.
    edge_stability_ : ndarray of shape (p, p)
        With ``criterion="stars"``: how often each pair was an edge at the chosen penalty.

    Examples
    --------
    >>> from plaggm import PLAGGMCV
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=500, seed=1, even=True, threshold=60.0)
    >>> model = PLAGGMCV(alphas=20, cv=5, threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> bool(model.alphas_[0] > model.alpha_ > model.alphas_[-1])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in PLAGGM._parameter_constraints.items() if name != "alpha"},
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "criterion": [StrOptions({"cv", "aic", "bic", "ebic", "stars"})],
        "one_se": ["boolean"],
        "ebic_gamma": [Interval(Real, 0, None, closed="left")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "subsample": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "instability": [Interval(Real, 0, 0.5, closed="neither")],
        "random_state": ["random_state"],
        "bandwidth": [StrOptions({"auto", "cv"}), Real, "array-like"],
    }

    def __init__(
        self,
        *,
        alphas: Any = 100,
        cv: Any = 10,
        criterion: str = "cv",
        one_se: bool = False,
        ebic_gamma: float = 0.5,
        n_subsamples: int = 20,
        subsample: Any = "auto",
        instability: float = 0.05,
        random_state: Any = 0,
        threshold: Any = "auto",
        smoother: str = "spline",
        tau: Any = "focused",
        indicator: Any = "ramp",
        form: str = "auto",
        kernel: str = "gaussian",
        bandwidth: Any = "auto",
        symmetry: str = "joint",
        variance: str = "function",
        standardize: Any = "auto",
        ridge: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.criterion = criterion
        self.one_se = one_se
        self.ebic_gamma = ebic_gamma
        self.n_subsamples = n_subsamples
        self.subsample = subsample
        self.instability = instability
        self.random_state = random_state
        self.threshold = threshold
        self.smoother = smoother
        self.tau = tau
        self.indicator = indicator
        self.form = form
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.symmetry = symmetry
        self.variance = variance
        self.standardize = standardize
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, confounder: Any = None, groups: Any = None) -> PLAGGMCV:
        """Fit the path and choose the penalty.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
        groups : array of shape (n,), optional
            Group of every row, such as the subject, for ``cv`` and for :meth:`bootstrap`. An integer
            ``cv`` then divides the groups, not the rows.

        Returns
        -------
        self
        """
        given = self._given_alphas()
        x, checked = self._validate(X, confounder)
        self._forget()
        numbers = None if groups is None else group_numbers(groups, len(x))[0]
        search = checked is not None and self.smoother == "kernel" and _is(self.bandwidth, "cv")
        folds = self._row_folds(len(x), groups, needed=search)
        parts = None
        if self.criterion == "cv" and checked is not None and self.smoother == "spline":
            parts = common_parts(folds, len(x), numbers)
            parts = affordable(parts, x.shape[1] + 1, checked.values.shape[1])
        if search and checked is not None:
            data = self._prepare_best_bandwidth(x, checked, folds, given)
        else:
            data = prepare(self, x, checked, self._threads(), parts=parts)
        if numbers is not None:
            self._keep_groups(data.profiler, numbers, parts)
        self._estimate(data, folds if parts is None else parts.folds)
        return self

    def _estimate(self, data: Prepared, folds: list[Fold]) -> None:
        """Fit the path, choose the penalty and set the fitted attributes."""
        given = self._given_alphas()
        alphas = self._grid(data) if given is None else given
        self._say(f"path of {len(alphas)} penalties")
        path = solve_path(
            data.node_grams,
            alphas,
            symmetry=self.symmetry,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=self._threads(),
        )
        chosen = self._choose(data, path, folds)
        self._finish(data, path, chosen)
        self.alphas_ = alphas
        self.omega_path_ = path.omega
        self.dual_gaps_ = path.gaps

    def _need_no_rows(self) -> None:
        if self.criterion == "stars":
            raise ValueError(
                "criterion='stars' draws rows, and chunks are not kept. Use criterion='cv' or 'ebic', or "
                "groups and bootstrap() for how stable the edges are."
            )

    def _given_alphas(self) -> Array | None:
        return None if isinstance(self.alphas, Integral) else check_alphas(self.alphas)

    def _row_folds(self, n: int, groups: Any, *, needed: bool = False) -> list[Fold]:
        """Training and test rows, where something is to be cross-validated."""
        if self.criterion != "cv" and not needed:
            return []
        return make_folds(self.cv, n, self.random_state, groups)

    def _stream_parts(self, start: int, n: int, groups: Index | None) -> Index | None:
        """Fold of every row, by its number, unless rows have groups."""
        if groups is not None or self.criterion != "cv":
            return groups
        if not isinstance(self.cv, Integral):
            raise ValueError(
                f"partial_fit does not know the rows to come, so that cv={self.cv!r} cannot divide them. "
                "Use a number of folds, or pass groups, or use fit_chunks."
            )
        return (row_hash(start, n, FOLD_SEED) % np.uint64(self.cv)).astype(np.intp)

    def _stream_part_count(self) -> int:
        return int(self.cv) if self.criterion == "cv" and isinstance(self.cv, Integral) else 1

    def _stream_folds(self, parts: int, grouped: bool) -> list[Fold]:
        """Each part a fold; groups are divided as ``cv`` says."""
        if self.criterion != "cv":
            return []
        if grouped:
            return make_folds(self.cv, parts, self.random_state, np.arange(parts))
        everything = np.arange(parts)
        return [(np.delete(everything, part), everything[[part]]) for part in everything]

    def _grid(self, data: Prepared) -> Array:
        largest = lambda_max(data.node_grams, self.symmetry)  # type: ignore[arg-type]
        rows = informative_rows(data.node_grams)
        return lambda_grid(largest, int(self.alphas), rows, data.node_grams.p)

    def _problem(self, data: Prepared) -> Problem:
        """What a selection works on."""
        loss = PseudoLoss(
            self.symmetry,  # type: ignore[arg-type]
            self.tol,
            self.max_iter,
            known_variance=self.variance == "unit",
        )
        return Problem.single(data.profiler, data.sigma, loss)

    def _jobs(self, profiler: Profiler) -> int | None:
        """Folds side by side."""
        if isinstance(profiler, SplineParts) and self.n_jobs is None:
            # Small problems, whose matrices fit the cache of one core.
            return self._workers() if concurrent_jobs(None) == 1 else None
        return self.n_jobs

    def _prepare_best_bandwidth(
        self, x: Array, confounder: Confounder, folds: list[Any], given: Array | None
    ) -> Prepared:
        """The multiple of the automatic bandwidth with the smallest held-out loss."""
        automatic = resolve_bandwidth("auto", confounder, x.shape[1])
        best: Prepared | None = None
        reason: ValueError | None = None
        best_loss, scale = np.inf, np.ones(x.shape[1])
        for factor in BANDWIDTH_FACTORS:
            try:
                data = prepare(self, x, confounder, self._threads(), factor * automatic)
                if best is None:
                    # Losses are compared in the same units.
                    scale = data.sigma
                alphas = self._grid(data) if given is None else given
                problem = replace(self._problem(data), scales=(scale,))
                found = CrossValidation(folds).evaluate(
                    problem, alphas, n_jobs=self.n_jobs, verbose=self.verbose
                )
                loss = float(found.mean.min())
            except SingularLocalSystemError as error:
                # Too narrow for some window: not a candidate.
                reason = error
                continue
            self._say(f"bandwidth {factor * automatic}: held-out loss {loss:.6g}")
            if loss < best_loss:
                best, best_loss = data, loss
        if best is None:
            raise ValueError(
                f"bandwidth='cv' found none of {(BANDWIDTH_FACTORS * automatic[0]).round(6).tolist()} "
                f"wide enough. {reason}"
            ) from reason
        return best

    def _choose(self, data: Prepared, path: PathSolution, folds: list[Fold]) -> int:
        """The chosen step, with what speaks for it as attributes."""
        profiler = data.profiler
        sizes = None
        if isinstance(profiler, SplineParts):
            sizes = [profiler.rows(test) for _, test in folds]
        selection = make_selection(self, folds, sizes=sizes)
        problem = self._problem(data)
        self._say(selection.describe(problem))
        fit = PathFit(path.alphas, [data.node_grams], [pseudo_path(path)])
        choice = selection.choose(problem, fit, n_jobs=self._jobs(profiler), verbose=self.verbose)
        self._set_choice(choice)
        return choice.step

    def _diagnostics(self) -> dict[str, Any]:
        return {**super()._diagnostics(), "largest_dual_gap": float(self.dual_gaps_.max())}


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word
