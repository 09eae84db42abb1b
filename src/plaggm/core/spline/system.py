"""Sums over rows as the linear system of a spline, in functions whose penalty is diagonal.

The functions of each term are rotated to functions that are orthogonal over the data and ordered by
roughness (Demmler and Reinsch), the first being close to linear. If a penalty is not diagonal in them, the
system is rotated again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from plaggm.array_types import Array
from plaggm.core.spline.basis import SplineBasis
from plaggm.core.spline.statistics import SplineStatistics

# Largest ratio between the penalties of two functions.
ROUGHEST = 1e6


@dataclass(frozen=True, slots=True)
class SplineSystem:
    """Means of products over all rows, in rotated functions, ready for any penalty.

    Attributes
    ----------
    n : int
    bb : ndarray of shape (q, q)
    c : ndarray of shape (M q, q)
        D'B / n.
    h : ndarray of shape (M q, M q)
        D'D / n.
    rotation : ndarray of shape (M, M)
        Rotated functions = functions of the basis @ rotation.
    """

    n: int
    bb: Array
    c: Array
    h: Array
    rotation: Array

    @property
    def q(self) -> int:
        """Number of columns of [Z, 1]."""
        return len(self.bb)

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.bb) - 1

    @property
    def functions(self) -> int:
        """Number of functions M."""
        return len(self.rotation)

    @property
    def function_means(self) -> Array:
        """Mean product of every function with the constant: shape (M,)."""
        return self.c[self.q - 1 :: self.q, -1]


def plain_system(n: int, bb: Array) -> SplineSystem:
    """System of n rows without any function, from B'B / n (q, q)."""
    none = np.zeros((0, 0))
    return SplineSystem(n, bb, np.zeros((0, len(bb))), none, none)


def demmler_reinsch(basis: SplineBasis, second_moments: Array) -> tuple[Array, Array]:
    """Rotation of each term's functions to orthogonal ones of unit mean square, smooth ones first.

    Parameters
    ----------
    basis : SplineBasis
    second_moments : ndarray of shape (M, M)
        Mean of phi phi' over the data.

    Returns
    -------
    rotation : ndarray of shape (M, M)
    roughness : ndarray of shape (M,)
        Integrated squared curvature relative to the second function of each term; zero for the first.
    """
    rotation = np.zeros_like(second_moments)
    roughness = np.zeros(len(second_moments))
    for term, part in zip(basis.terms, basis.slices(), strict=True):
        moments = second_moments[part, part]
        moments = moments + 1e-10 * np.trace(moments) * np.eye(len(moments))
        values, vectors = eigh(term.roughness(), moments)
        rotation[part, part] = vectors
        # Exchangeable levels are equally rough.
        if len(values) > 1 and values[1] > 0.0 and term.exchangeable() is None:
            roughness[part] = np.clip(values / values[1], 0.0, ROUGHEST)
        roughness[part.start] = 0.0
    return rotation, roughness


def spline_system(statistics: SplineStatistics, rotation: Array) -> SplineSystem:
    """The system of some statistics in given functions.

    Parameters
    ----------
    statistics : SplineStatistics
    rotation : ndarray of shape (M, M)
        Rotation of the functions, for example that of all rows where the statistics are those of a fold.
    """
    bb, db, dd = statistics.matrices()
    unrotated = np.eye(statistics.functions)
    size = statistics.functions * len(bb)
    h = dd.transpose(0, 2, 1, 3).reshape(size, size)
    return rotated(
        SplineSystem(statistics.n, bb, db.reshape(size, len(bb)), h, unrotated), rotation
    )


def smooth_system(statistics: SplineStatistics, basis: SplineBasis) -> tuple[SplineSystem, Array]:
    """The system of some statistics in their Demmler-Reinsch functions.

    Returns
    -------
    system : SplineSystem
    roughness : ndarray of shape (M,)
        Roughness of these functions: see :func:`demmler_reinsch`.
    """
    rotation, roughness = demmler_reinsch(basis, statistics.second_moments())
    return spline_system(statistics, rotation), roughness


def rotated(system: SplineSystem, rotation: Array) -> SplineSystem:
    """The same system in other functions, those of the system @ rotation (shape (M, M))."""
    q, size = system.q, system.functions
    c = rotation.T @ system.c.reshape(size, q * q)
    return SplineSystem(
        system.n,
        system.bb,
        c.reshape(size * q, q),
        in_other_functions(system.h, rotation.T),
        system.rotation @ rotation,
    )


def in_other_functions(matrix: Array, rotation: Array) -> Array:
    """A quadratic form in other functions: K matrix K' with K the Kronecker product of rotation and I.

    Parameters
    ----------
    matrix : ndarray of shape (M q, M q)
        Rows and columns are ordered by function.
    rotation : ndarray of shape (M, M)
        Coefficients of each of the other functions in a row.
    """
    size = len(rotation)
    q = len(matrix) // max(size, 1)
    half = (rotation @ matrix.reshape(size, q * size * q)).reshape(size, q, size, q)
    return np.asarray(np.matmul(rotation, half).reshape(size * q, size * q))
