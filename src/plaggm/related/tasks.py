"""Rows, weights and units of the data of a related method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.profile.profilers import PooledProfiler, Profiler
from plaggm.data import Confounder
from plaggm.data.factors import indicator_names, indicators
from plaggm.related.profilers import centre
from plaggm.selection import Loss, LossPath, average_omega

# Standard deviation of a standardised column below which the confounder explains all its variation.
NOTHING_LEFT = 1e-7


@dataclass(frozen=True, slots=True)
class Task:
    """Data of a related method: one or several profilers, whose networks are averaged.

    Attributes
    ----------
    profilers : sequence of Profiler
        One for each network.
    weights : ndarray of shape (n_profilers,)
        Weights of the networks in their average; they sum to one.
    location, scale : ndarray of shape (p,)
        Location and scale of the columns of the profilers.
    names : tuple of str
        Names of these columns.
    rows : ndarray of int of shape (n_rows,)
        Used rows of X.
    criterion_weights : ndarray of shape (n_profilers,), optional
        Weights of the profilers in the choice of the penalty; by default those of the networks.
    """

    profilers: Sequence[Profiler]
    weights: Array
    location: Array
    scale: Array
    names: tuple[str, ...]
    rows: Index
    criterion_weights: Array | None = None

    @property
    def weights_of_choice(self) -> Array:
        """Weights of the profilers in the choice of the penalty."""
        return self.weights if self.criterion_weights is None else self.criterion_weights


@dataclass(frozen=True, slots=True)
class Segment:
    """Samples that one network describes.

    Attributes
    ----------
    rows : ndarray of int
        Positions among the samples.
    omega : ndarray of shape (p, p)
        Their network, intercepts on the diagonal.
    location, scale : ndarray of shape (p,)
        Units of the network: it describes (x - ``location``) / ``scale``.
    """

    rows: Index
    omega: Array
    location: Array
    scale: Array


@dataclass(frozen=True, slots=True)
class Statistics:
    """One profiler's Gram matrix about its mean.

    Attributes
    ----------
    grams : GramMatrices
        Columns divided by ``unit``.
    mean, unit : ndarray of shape (p,)
        Mean and unit of the columns.
    """

    grams: GramMatrices
    mean: Array
    unit: Array


def standardised(x: Array) -> tuple[Array, Array, Array]:
    """[Z, 1] with standardised columns Z, and their means and standard deviations."""
    location, scale = x.mean(axis=0), x.std(axis=0)
    return np.column_stack([(x - location) / scale, np.ones(len(x))]), location, scale


def pooled_task(x: Array, names: tuple[str, ...], rows: Index | None = None) -> Task:
    """The task of estimating one network from all rows, or from some."""
    used = np.arange(len(x)) if rows is None else rows
    b, location, scale = standardised(x[used])
    return Task([PooledProfiler(b)], np.ones(1), location, scale, names, used)


def task_statistics(task: Task, loss: Loss) -> list[Statistics]:
    """Gram matrices about the mean of every profiler, in the units of the loss."""
    return [_statistics(profiler, loss, task.names) for profiler in task.profilers]


def _statistics(profiler: Profiler, loss: Loss, names: tuple[str, ...]) -> Statistics:
    grams, mean = centre(profiler.fitted())
    deviation = np.sqrt(np.maximum(np.diagonal(grams.node(0))[:-1], 0.0))
    gone = [name for name, left in zip(names, deviation, strict=True) if left < NOTHING_LEFT]
    if gone:
        raise ValueError(
            f"The confounder explains all variation of the column(s) {', '.join(map(repr, gone[:5]))}, so "
            "that no network can be estimated for them. Drop them."
        )
    scaled = grams.rescaled(deviation)
    sigma = loss.scale(scaled)
    return Statistics(scaled.rescaled(sigma), mean, deviation * sigma)


def average_network(
    task: Task, statistics: Sequence[Statistics], paths: Sequence[LossPath]
) -> tuple[Array, Array, Array]:
    """Networks along the path, averaged over the task's profilers.

    Returns
    -------
    omega : ndarray of shape (n_alphas, p, p)
    location : ndarray of shape (p,)
    scale : ndarray of shape (n_alphas, p)
    """
    mean = task.weights @ np.stack([part.mean for part in statistics])
    units = [part.unit * path.sigma for part, path in zip(statistics, paths, strict=True)]
    unit = np.sqrt(np.einsum("w,wkj->kj", task.weights, np.stack(units) ** 2))
    omega = average_omega(paths, task.weights)
    return omega, task.location + task.scale * mean, task.scale * unit


def log_likelihood(x: Array, shift: Array, segments: Sequence[Segment]) -> Array:
    """Log pseudo-likelihood of every sample under the network that describes it: shape (n,).

    Parameters
    ----------
    x : ndarray of shape (n, p)
        Samples, in the units of X.
    shift : ndarray of shape (n, p)
        Shifts of the intercepts at each sample, in units of omega.
    segments : sequence of Segment
        Disjoint segments of all samples.
    """
    likelihood = np.empty(len(x))
    for part in segments:
        z = (x[part.rows] - part.location) / part.scale
        coefficients = part.omega - np.diag(np.diagonal(part.omega))
        residual = z - z @ coefficients - np.diagonal(part.omega) - shift[part.rows]
        constant = 0.5 * len(part.scale) * np.log(2.0 * np.pi) + np.sum(np.log(part.scale))
        likelihood[part.rows] = -0.5 * np.sum(residual**2, axis=1) - constant
    return likelihood


def with_indicators(confounder: Confounder, method: str, allowed: bool) -> Confounder:
    """The confounders with indicator columns in place of factors.

    Parameters
    ----------
    confounder : Confounder
    method : str
        Name of the method, for the message.
    allowed : bool
        Whether the method can use such columns; raises ValueError otherwise.
    """
    if not allowed:
        factor = confounder.names[confounder.factors.index(True)]
        raise ValueError(
            f"{method} orders samples by their confounder, and {factor!r} is a factor, whose levels have "
            "no order. Use PLAGGM, LRGGM or ConGGM, or leave it out."
        )
    return Confounder(
        indicators(confounder.values, confounder.levels),
        indicator_names(confounder.names, confounder.levels),
    )
