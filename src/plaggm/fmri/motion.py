"""How much motion is left in the networks: the field's own check, QC-FC."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from plaggm.array_types import Array

FEWEST_SUBJECTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMotion:
    """Correlation of every edge with mean framewise displacement across subjects.

    Attributes
    ----------
    correlation : ndarray of shape (pairs,)
        NaN for edges that are the same in everybody.
    median_absolute : float
    significant : float
        Part of the edges with an uncorrected p-value below 0.05; 0.05 is expected by chance.
    q_value : ndarray of shape (pairs,)
        Smallest false discovery rate at which an edge's correlation is declared; NaN as above.
    distance_dependence : float
        Spearman's correlation between an edge's correlation and its length; NaN without coordinates.
    subjects : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> moved = rng.random(20)
    >>> networks = rng.standard_normal((20, 3)) + 5.0 * moved[:, None]
    >>> residual_motion(networks, moved, None).significant
    1.0
    """

    correlation: Array = field(repr=False)
    median_absolute: float
    significant: float
    q_value: Array = field(repr=False)
    distance_dependence: float
    subjects: int


def residual_motion(
    values: Array, displacement: Array, distances: Array | None
) -> ResidualMotion | None:
    """QC-FC of some subjects' networks.

    Parameters
    ----------
    values : ndarray of shape (S, pairs)
        Upper triangles.
    displacement : ndarray of shape (S,)
        Mean framewise displacement.
    distances : ndarray of shape (p, p), optional

    Returns
    -------
    ResidualMotion, or None where displacement is known of too few subjects

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = residual_motion(rng.standard_normal((40, 3)), rng.random(40), None)
    >>> found.subjects, found.correlation.shape
    (40, (3,))
    """
    known = np.isfinite(displacement) & np.isfinite(values).all(axis=1)
    n = int(np.count_nonzero(known))
    if n < FEWEST_SUBJECTS or np.ptp(displacement[known]) == 0.0:
        return None
    x = values[known] - values[known].mean(axis=0)
    y = displacement[known] - displacement[known].mean()
    spread = np.sqrt((x**2).sum(axis=0) * (y**2).sum())
    varies = spread > 0.0
    r = np.full(values.shape[1], np.nan)
    r[varies] = np.clip(y @ x[:, varies] / spread[varies], -1.0, 1.0)
    found = r[varies]
    t = found * np.sqrt((n - 2) / np.maximum(1.0 - found**2, 1e-12))
    p = 2.0 * stats.t.sf(np.abs(t), n - 2)
    q = np.full(values.shape[1], np.nan)
    q[varies] = stats.false_discovery_control(p) if len(p) else p
    dependence = np.nan
    if distances is not None and np.count_nonzero(varies) > 2:
        first, second = np.triu_indices(len(distances), 1)
        dependence = float(stats.spearmanr(found, distances[first, second][varies]).statistic)
    return ResidualMotion(
        r,
        float(np.median(np.abs(found))) if len(found) else float("nan"),
        float(np.mean(p < 0.05)) if len(found) else float("nan"),
        q,
        dependence,
        n,
    )
