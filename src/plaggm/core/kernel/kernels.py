"""Smoothing kernels psi(u) of Lemma 2 and their polynomial pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array


@dataclass(frozen=True, slots=True)
class KernelPiece:
    """A polynomial piece of a compactly supported kernel.

    Attributes
    ----------
    low, high : float
        Ends of the interval of u.
    coefficients : tuple of float
        Coefficients of 1, u, u**2, ...
    """

    low: float
    high: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A symmetric kernel density psi.

    Attributes
    ----------
    name : str
    evaluate : callable
        Maps an array of u to psi(|u|), elementwise.
    pieces : tuple of KernelPiece
        Polynomial pieces; empty for a kernel that is smooth on the whole line.
    """

    name: str
    evaluate: Callable[[Array], Array]
    pieces: tuple[KernelPiece, ...] = ()


def _gaussian(u: Array) -> Array:
    density: Array = np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
    return density


def _epanechnikov(u: Array) -> Array:
    return 0.75 * np.maximum(1.0 - u * u, 0.0)


def _triangular(u: Array) -> Array:
    return np.maximum(1.0 - np.abs(u), 0.0)


def _biweight(u: Array) -> Array:
    return 0.9375 * np.maximum(1.0 - u * u, 0.0) ** 2


def _uniform(u: Array) -> Array:
    return np.where(np.abs(u) <= 1.0, 0.5, 0.0)


KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel("gaussian", _gaussian),
        Kernel("epanechnikov", _epanechnikov, (KernelPiece(-1.0, 1.0, (0.75, 0.0, -0.75)),)),
        Kernel(
            "triangular",
            _triangular,
            (KernelPiece(-1.0, 0.0, (1.0, 1.0)), KernelPiece(0.0, 1.0, (1.0, -1.0))),
        ),
        Kernel(
            "biweight",
            _biweight,
            (KernelPiece(-1.0, 1.0, (0.9375, 0.0, -1.875, 0.0, 0.9375)),),
        ),
        Kernel("uniform", _uniform, (KernelPiece(-1.0, 1.0, (0.5,)),)),
    )
}


def scaled_differences(source: Array, points: Array, bandwidth: Array) -> Array:
    """u[i, k, m] = (source[k, m] - points[i, m]) / bandwidth[m].

    Parameters
    ----------
    source : ndarray of shape (n, m)
    points : ndarray of shape (k, m)
    bandwidth : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (k, n, m)
    """
    return (source[None, :, :] - points[:, None, :]) / bandwidth


def product_weights(kernel: Kernel, u: Array) -> Array:
    """Product kernel over the confounders: prod_m psi(u[..., m]).

    Parameters
    ----------
    kernel : Kernel
    u : ndarray of shape (..., m)

    Returns
    -------
    ndarray of shape (...)
    """
    weights: Array = np.prod(kernel.evaluate(u), axis=-1)
    return weights
