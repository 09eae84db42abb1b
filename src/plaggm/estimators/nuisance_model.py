"""The interface between the estimators and a model of the nuisance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.profile.profilers import Profiler
from plaggm.core.variance.variance_function import VarianceFunction
from plaggm.data import in_figures


class NuisanceModel(Protocol):
    """A nuisance learnt from data."""

    @property
    def profiler(self) -> Profiler:
        """Profiler that removes the nuisance from folds and subsamples."""
        ...

    @property
    def node_grams(self) -> GramMatrices:
        """Node Grams of all rows."""
        ...

    @property
    def threshold(self) -> Array:
        """Threshold of every confounder, in its units: shape (m,)."""
        ...

    @property
    def bandwidth(self) -> Array | None:
        """Bandwidth for every confounder, in its units: shape (m,); None without a kernel."""
        ...

    @property
    def confounder(self) -> Array:
        """Confounder values of the data: shape (n, m)."""
        ...

    @property
    def variance_function(self) -> VarianceFunction:
        """The conditional variance as a function of the confounder."""
        ...

    @property
    def unconfounded(self) -> int:
        """Number of samples treated as free of confounding."""
        ...

    @property
    def diagnostics(self) -> dict[str, float]:
        """Numbers for the result."""
        ...

    def curve(self, omega: Array, sigma: Array) -> Callable[[Array], Array]:
        """R(g) as a function of confounder values, in the units of omega.

        Parameters
        ----------
        omega : ndarray of shape (p, p)
            Network of the columns divided by ``sigma``, intercepts on the diagonal.
        sigma : ndarray of shape (p,)

        Returns
        -------
        callable
            Function of confounder values (k, m) that returns (k, p, p): the mean of both nodes' estimates
            for every pair, intercept shifts on the diagonal; zero at the reference.
        """
        ...

    def nuisance_error(
        self, omega: Array, sigma: Array, points: Array, *, baseline: bool
    ) -> Array | None:
        """Pointwise standard errors of R(g), or with ``baseline`` of Omega0 + R(g).

        Parameters
        ----------
        omega, sigma, points
            See :meth:`curve`; points are confounder values of shape (k, m).
        baseline : bool

        Returns
        -------
        ndarray of shape (k, p, p) or None
            Mean of both nodes' standard errors for every pair; None if the model has none.
        """
        ...


def undo_scale(omega: Array, sigma: Array) -> Array:
    """Column j's coefficients for variables that were not divided by sigma: shape (p, p)."""
    out = omega * sigma[None, :] / sigma[:, None]
    np.fill_diagonal(out, np.diagonal(omega) * sigma)
    return out


def rescale_and_average(estimate: Array, sigma: Array) -> Array:
    """Node-wise estimates (k, p, p) in units of sigma, averaged over both nodes of every pair."""
    scaled = estimate * sigma[None, :, None] / sigma[None, None, :]
    index = np.arange(len(sigma))
    scaled[:, index, index] = estimate[:, index, index] / sigma
    return 0.5 * (scaled + np.swapaxes(scaled, 1, 2))


def none_below(nearest: str, threshold: Array) -> ValueError:
    """The error for a threshold that leaves no sample free of confounding."""
    return ValueError(
        f"No sample lies below the threshold {in_figures(threshold)}; {nearest}. Unconfounded samples are "
        "what the baseline network is learnt from: use a larger threshold, or shift the confounder so that "
        "zero means no confounding."
    )
