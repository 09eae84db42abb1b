r"""Variables of several families in common units.

For a symmetric Omega both ends of an edge must have the same scaling. With y_j the values of node j, t_j
those that enter its neighbours' predictors (`plaggm.core.families.distributions`) and s_j its scale, the model is

    eta_j = s_j * natural parameter of y_j,     eta_j = theta_j(g) + sum_k Omega_jk(g) z_k,
    z_k = (t_k - location_k) / s_k

so that Omega_jk / (s_j s_k) is the coefficient of t_k in the natural parameter of y_j, and of t_j in that
of y_k: the log odds ratio of two binary columns. s_j is the standard deviation of t_j; that of a Gaussian
column is its conditional one, which makes its conditional variance one and Omega_jk of two such columns
their partial correlation. The log-likelihood then has slope (y_j - mean) / s_j and curvature variance /
s_j^2 in eta_j, which is about one for every family.

A penalty on |Omega_jk| is one on s_j s_k times the natural coefficient. Since s_j s_k is proportional to
the standard deviation of a pair's slope without edges, false edges are equally likely for rare and for
frequent categories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.families.distributions import FAMILIES, Family
from plaggm.parameter_types import FamilyName

# Smallest variance of a node's value in units of its squared scale, so that the curvature is never zero.
LEAST_VARIANCE = 1e-7


@dataclass(frozen=True, slots=True)
class FamilyColumns:
    """Families of the variables, and the units of a network of them.

    Attributes
    ----------
    families : tuple of {"gaussian", "binomial", "poisson"}
    centre : ndarray of shape (p,)
        Means of the columns, m in the transform of counts.
    location, scale : ndarray of shape (p,)
        Location and scale of the columns as they enter the predictors of other nodes.
    """

    families: tuple[FamilyName, ...]
    centre: Array
    location: Array
    scale: Array

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.families)

    def of(self, *names: FamilyName) -> Index:
        """Numbers of the columns of some families."""
        return np.flatnonzero(np.isin(self.families, names))

    def dispersed(self) -> Array:
        """One for columns whose dispersion is estimated, zero for others: shape (p,)."""
        return np.array([float(FAMILIES[name].dispersed) for name in self.families])

    def rescaled(self, scale: Array) -> FamilyColumns:
        """The same columns in units of another scale (p,)."""
        return replace(self, scale=scale)

    def seen(self, x: Array) -> Array:
        """Columns as they enter the predictors of other nodes, in common units: shape (n, p)."""
        seen = np.empty_like(x)
        for family, columns in self._parts():
            seen[:, columns] = family.neighbour(x[:, columns], self.centre[columns])
        return np.asarray((seen - self.location) / self.scale)

    def log_likelihood(self, x: Array, eta: Array) -> Array:
        """Log-density of every value in its own units: shape (n, p).

        Parameters
        ----------
        x : ndarray of shape (n, p)
        eta : ndarray of shape (n, p)
            Predictors in common units.
        """
        values = np.empty_like(eta)
        for family, columns in self._parts():
            y, natural = self._own_units(family, x[:, columns], eta[:, columns], columns)
            values[:, columns] = family.log_likelihood(y, natural)
            if family.name == "gaussian":
                values[:, columns] -= np.log(self.scale[columns])
        return values

    def slopes(self, x: Array, eta: Array) -> tuple[Array, Array]:
        """Slope (y - mean) / s and curvature variance / s^2 of every value's log-likelihood in eta.

        Parameters
        ----------
        x, eta : ndarray of shape (n, p)

        Returns
        -------
        slope, curvature : ndarray of shape (n, p)
        """
        slope, curvature = np.empty_like(eta), np.empty_like(eta)
        for family, columns in self._parts():
            y, natural = self._own_units(family, x[:, columns], eta[:, columns], columns)
            mean = family.mean(natural)
            unit = 1.0 if family.name == "gaussian" else self.scale[columns]
            slope[:, columns] = (y - mean) / unit
            curvature[:, columns] = family.variance(mean) / unit**2
        return slope, np.maximum(curvature, LEAST_VARIANCE)

    def mean_responses(self, x: Array) -> Array:
        """Constant predictors at which every column has its mean: shape (p,)."""
        start = np.zeros(self.p)
        for family, columns in self._parts():
            if family.name != "gaussian":
                start[columns] = family.natural(x[:, columns].mean(axis=0)) * self.scale[columns]
        return start

    def _own_units(
        self, family: Family, x: Array, eta: Array, columns: Index
    ) -> tuple[Array, Array]:
        """Values and natural parameters in a family's own units."""
        if family.name == "gaussian":
            return (x - self.location[columns]) / self.scale[columns], eta
        return x, eta / self.scale[columns]

    def _parts(self) -> Iterator[tuple[Family, Index]]:
        for name, family in FAMILIES.items():
            columns = self.of(name)
            if len(columns):
                yield family, columns


def family_columns(x: Array, families: tuple[FamilyName, ...]) -> FamilyColumns:
    """Units of all columns from their values, Gaussian ones in units of their standard deviation.

    Parameters
    ----------
    x : ndarray of shape (n, p)
    families : tuple of str

    Examples
    --------
    >>> columns = family_columns(np.array([[0.0, 3.0], [1.0, 5.0]]), ("binomial", "gaussian"))
    >>> columns.seen(np.array([[0.0, 3.0], [1.0, 5.0]]))
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    p = x.shape[1]
    plain = FamilyColumns(families, x.mean(axis=0), np.zeros(p), np.ones(p))
    seen = plain.seen(x)
    spread = seen.std(axis=0)
    return replace(plain, location=seen.mean(axis=0), scale=np.where(spread > 0.0, spread, 1.0))
