"""From the kernel parameters of an estimator to a profiler: indicator, form, bandwidth, threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import eigh, eigvalsh

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import NodeGrams
from plaggm.core.kernel.bandwidth import assumption_bandwidth
from plaggm.core.kernel.indicators import INDICATORS, Indicator, evaluate_indicator, threshold_ratio
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.moments import Rows
from plaggm.core.profile.kernel import (
    Form,
    KernelSmoother,
    SingularLocalSystemError,
    local_nuisance,
    profile_kernel,
)
from plaggm.core.profile.profilers import KernelProfiler
from plaggm.core.variance.variance_function import (
    VarianceFunction,
    constant_variance,
    fit_variance_function,
)
from plaggm.data import Confounder, as_positive
from plaggm.estimators.design import nuisance_basis
from plaggm.estimators.nuisance_model import (
    none_below,
    rescale_and_average,
    undo_scale,
)
from plaggm.parameter_types import Bandwidth, FormChoice, IndicatorChoice, Threshold
from plaggm.user_warnings import warn_user

# Quantiles of |confounder| that threshold="auto" tries, smallest first.
AUTO_QUANTILES = np.arange(0.05, 0.96, 0.05)
# Minimum effective sample size in any direction of a node's design after profiling.
FEWEST_SAMPLES = 1.0
# Share of the data's sum of squares below which a transformed design consists of rounding errors.
VANISHED = 1e-20
# Eigenvalues of the data's Gram matrix below this share of the largest are rounding errors.
NO_DATA = 1e-10


class NothingLeftError(ValueError):
    """The smoother interpolates the data, so that there are no residuals to estimate a network from."""


@dataclass(frozen=True, slots=True)
class KernelModel:
    """A fitted kernel smoother; see :class:`NuisanceModel`.

    Attributes
    ----------
    profiler : KernelProfiler
    smoother : KernelSmoother
        Smoother of all rows.
    node_grams : NodeGrams
        Gram matrices of all rows.
    threshold, bandwidth : ndarray of shape (m,)
        Values in the confounder's units.
    indicator : callable
        Function of the ratio |g| / g*.
    variance_function : VarianceFunction
    """

    profiler: KernelProfiler
    smoother: KernelSmoother
    node_grams: NodeGrams
    threshold: Array
    bandwidth: Array
    indicator: Indicator
    variance_function: VarianceFunction

    @property
    def confounder(self) -> Array:
        """Confounder values of the data: shape (n, m)."""
        return self.smoother.rows.confounder

    @property
    def unconfounded(self) -> int:
        """See :class:`NuisanceModel`."""
        return within_norm(self.confounder, self.threshold)

    @property
    def diagnostics(self) -> dict[str, float]:
        """Empty: results hold threshold and bandwidth already."""
        return {}

    def held_out(self, b: Array, confounder: Array, n_threads: int) -> NodeGrams:
        """Node Grams of new rows, with the nuisance learnt from the rows of the fit."""
        rows = weighted_rows(b, confounder, self.threshold, self.indicator, self.variance_function)
        return profile_kernel(self.smoother, rows, n_threads=n_threads)

    def group_grams(self, groups: Index) -> Iterator[NodeGrams]:
        """Gram matrices of the transformed rows of every group, one at a time.

        Parameters
        ----------
        groups : ndarray of int of shape (n,)
            Number of every row's group.
        """
        profiler = self.profiler
        for group in range(int(groups.max()) + 1):
            rows = profiler.rows.take(np.flatnonzero(groups == group))
            yield profile_kernel(self.smoother, rows, n_threads=profiler.n_threads)

    def curve(self, omega: Array, sigma: Array) -> Callable[[Array], Array]:
        """See :class:`NuisanceModel`."""
        return partial(self._nuisance, omega, sigma)

    def _nuisance(self, omega: Array, sigma: Array, points: Array) -> Array:
        out = np.zeros((len(points), *omega.shape))
        beyond = threshold_ratio(points, self.threshold) > 1.0
        if not beyond.any():
            return out
        self._warn_far(points)
        estimate = local_nuisance(self.smoother, undo_scale(omega, sigma), points[beyond])
        if self.smoother.form == "supplement":
            inside = evaluate_indicator(self.indicator, points[beyond], self.threshold)
            estimate *= inside[:, None, None]
        out[beyond] = rescale_and_average(estimate, sigma)
        return out

    def _warn_far(self, points: Array) -> None:
        """Warn of points that are more than a bandwidth away from all samples of some confounder."""
        low = self.confounder.min(axis=0) - self.bandwidth
        high = self.confounder.max(axis=0) + self.bandwidth
        far = np.any((points < low) | (points > high), axis=1)
        if far.any():
            first = points[int(np.argmax(far))].tolist()
            warn_user(
                f"{np.count_nonzero(far)} of {len(points)} confounder values lie more than a bandwidth "
                f"beyond the data (the first is {first}; the data go from "
                f"{self.confounder.min(axis=0).tolist()} to {self.confounder.max(axis=0).tolist()}). There "
                "the local estimate is a straight line drawn on, or zero where no weight is left: do not "
                "rely on it.",
            )

    def nuisance_error(
        self, omega: Array, sigma: Array, points: Array, *, baseline: bool
    ) -> Array | None:
        """None: local linear smoothing has no standard errors."""
        return None


def within_norm(confounder: Array, threshold: Array) -> int:
    """Number of samples whose confounders, each over its threshold, have a norm of at most one."""
    return int(np.count_nonzero(threshold_ratio(confounder, threshold) <= 1.0))


def weighted_rows(
    b: Array,
    confounder: Array,
    threshold: Array,
    indicator: Indicator,
    variance_function: VarianceFunction,
) -> Rows:
    """Rows with their indicator, divided by their standard deviation along the confounder."""
    inside = evaluate_indicator(indicator, confounder, threshold)
    root = np.sqrt(variance_function.weights(confounder))
    return Rows(b * root[:, None], confounder, inside)


def resolve_form(form: FormChoice, indicator: IndicatorChoice) -> Form:
    """The form of the smoother: with ``"auto"`` the lemma's for the soft indicator, else the supplement's.

    With an indicator that is zero for some samples the lemma's form would transform these samples too,
    although they have no nuisance in the model.
    """
    if form == "auto":
        return "lemma" if indicator == "soft" else "supplement"
    return "lemma" if form == "lemma" else "supplement"


def resolve_bandwidth(bandwidth: Bandwidth, confounder: Confounder, p: int) -> Array:
    """The given bandwidth, or that of Assumption 1 for ``"auto"`` and ``"cv"``, in the confounder's units.

    Returns
    -------
    ndarray of shape (m,)
    """
    if not isinstance(bandwidth, str):
        return as_positive(bandwidth, "bandwidth", confounder.names)
    rule = assumption_bandwidth(len(confounder.values), p)
    if not rule.satisfied:
        warn_user(
            f"Assumption 1 of the paper asks for c_n^2 <= sqrt(log p / n); the automatic bandwidth has "
            f"{rule.rate**2:.3g} > {rule.bound:.3g}. It is used all the same; more samples would help.",
        )
    found: Array = rule.bandwidth * np.abs(confounder.values).max(axis=0)
    return found


def kernel_model(
    b: Array,
    confounder: Confounder,
    *,
    kernel: str,
    indicator: IndicatorChoice,
    form: FormChoice,
    bandwidth: Array,
    threshold: Threshold,
    ridge: float,
    variance_function: bool,
    n_threads: int,
) -> KernelModel:
    """Profile all rows, and search for the threshold if it is ``"auto"``.

    Parameters
    ----------
    b : ndarray of shape (n, q)
        [Z, 1].
    confounder : Confounder
    kernel, indicator, form, ridge
        See :class:`plaggm.PLAGGM`.
    bandwidth : ndarray of shape (m,)
    threshold : "auto", float or array of shape (m,)
    variance_function : bool
        Whether the confounder may inflate the variance.
    n_threads : int
    """
    function = INDICATORS[indicator] if isinstance(indicator, str) else indicator
    settled = resolve_form(form, indicator)
    if settled == "lemma" and indicator == "hard":
        raise _nothing_left(settled)

    def build(limits: Array) -> KernelModel:
        variance = constant_variance()
        if variance_function:
            basis = nuisance_basis(confounder, limits, *b.shape)
            variance = fit_variance_function(b, confounder.values, basis, limits, n_threads)
        rows = weighted_rows(b, confounder.values, limits, function, variance)
        profiler = KernelProfiler(rows, KERNELS[kernel], bandwidth, settled, ridge, n_threads)
        smoother = profiler.smoother()
        grams = profile_kernel(smoother, n_threads=n_threads)
        _check_information(grams, b, settled)
        return KernelModel(profiler, smoother, grams, limits, bandwidth, function, variance)

    if isinstance(threshold, str):
        return _search_threshold(build, confounder, b)
    limits = as_positive(threshold, "threshold", confounder.names, zero=True)
    if not within_norm(confounder.values, limits):
        nearest = float(threshold_ratio(confounder.values, limits).min())
        raise none_below(f"the nearest is {nearest:.4g} thresholds away from zero", limits)
    return build(limits)


def information_samples(node_grams: NodeGrams, b: Array) -> float:
    """Minimum effective sample size left in any direction of any node's design after profiling.

    The smallest eigenvalue of the transformed design's Gram matrix relative to that of the data, times n:
    if k of n samples are unconfounded and only these are left unchanged, it is about k.
    """
    p = node_grams.p
    pooled = b.T @ b / len(b)
    columns = np.arange(p + 1)
    worst = np.inf
    for j in range(p):
        keep = columns != j
        values, vectors = eigh(pooled[np.ix_(keep, keep)])
        # With fewer rows than columns, directions without data are not considered.
        filled = values > NO_DATA * values[-1]
        whitened = vectors[:, filled] / np.sqrt(values[filled])
        kept = whitened.T @ node_grams.grams[j][np.ix_(keep, keep)] @ whitened
        worst = min(worst, float(eigvalsh(kept, subset_by_index=(0, 0))[0]))
    return node_grams.n * worst


def _search_threshold(
    build: Callable[[Array], KernelModel], confounder: Confounder, b: Array
) -> KernelModel:
    """The paper's rule: the smallest threshold for which every system is well conditioned."""
    reason: Exception | None = None
    for level in AUTO_QUANTILES:
        limits = np.quantile(np.abs(confounder.values), level, axis=0)
        beyond = np.any(np.abs(confounder.values) > limits)
        if not np.all(limits > 0.0) or not beyond:
            continue
        try:
            model = build(limits)
        except (SingularLocalSystemError, NothingLeftError) as error:
            reason = error
            continue
        if information_samples(model.node_grams, b) >= FEWEST_SAMPLES:
            return model
    raise ValueError(
        "threshold='auto' found no threshold for which every system is well conditioned: there are too "
        f"few samples for {b.shape[1] - 1} variables. Set the threshold, use a larger bandwidth or fewer "
        "variables, or set ridge > 0."
        + (f" The last attempt failed with: {reason}" if reason else "")
    ) from reason


def _check_information(node_grams: NodeGrams, b: Array, form: Form) -> None:
    diagonals = np.einsum("jkk->jk", node_grams.grams).copy()
    np.fill_diagonal(diagonals, 0.0)
    if np.all(diagonals.sum(axis=1) > VANISHED * np.sum(b * b) / len(b)):
        return
    raise _nothing_left(form)


def _nothing_left(form: Form) -> NothingLeftError:
    return NothingLeftError(
        f"The transformation with form={form!r} leaves nothing of the variables: the smoother "
        "reproduces them, as it does where the indicator is one everywhere or only zero or one. Use "
        "form='supplement', indicator='soft' or 'ramp', or a larger threshold."
    )
