"""The result of a fit, or the reason for its failure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one method, or the reason for its failure.

    Attributes
    ----------
    value : Any
        Result; None if the method failed.
    reason : str
        Reason for the failure; empty if there is a result.
    warnings : tuple of str
        Messages of warnings, each once.
    seconds : float
        Duration.

    Examples
    --------
    >>> Attempt(None, "too few samples").reason
    'too few samples'
    """

    value: Any
    reason: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = field(default=0.0, repr=False, compare=False)


def attempt(work: Callable[[], Any]) -> Attempt:
    """Call a function, and return its result or the message of its error.

    Not for use in several threads at a time, since warnings are caught.

    Examples
    --------
    >>> attempt(lambda: 1 / 0)
    Attempt(value=None, reason='division by zero', warnings=())
    """
    start = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value, reason = work(), ""
        except Exception as error:
            # The failure of one method must not end a comparison.
            value, reason = None, " ".join(str(error).split()) or type(error).__name__
    told = tuple(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    return Attempt(value, reason, told, perf_counter() - start)
