"""A decorator that compiles numerical loops with numba on their first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

# Options of fastmath that allow sums to be reordered.
SUMMATION = frozenset({"reassoc", "contract", "nsz"})


def compiled(
    *, fastmath: frozenset[str] = frozenset(), inline: bool = False
) -> Callable[[Function], Function]:
    """Compile a function to machine code, which is cached on disk and releases the interpreter lock.

    Division by zero gives infinity or NaN, as in NumPy.

    Parameters
    ----------
    fastmath : frozenset of str, default=frozenset()
        LLVM's names of the permitted deviations from IEEE arithmetic.
    inline : bool, default=False
        Copy the function into each of its callers.

    Returns
    -------
    callable
        Decorator that preserves the function's signature.
    """
    decorator: Any = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath=set(fastmath),
        inline="always" if inline else "never",
    )
    return cast("Callable[[Function], Function]", decorator)
