"""Warnings that point at the line of user code that called the package."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Packages whose frames between the user and a warning are skipped.
_PASSED_THROUGH = ("plaggm", "sklearn", "joblib", "contextlib")

# Categories of warnings that are silenced in this thread.
_silenced: ContextVar[tuple[type[Warning], ...]] = ContextVar("silenced", default=())
# List that collects messages in place of warnings in this thread.
_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package and outside the libraries that call it."""
    if issubclass(category, _silenced.get()):
        return
    collected = _collected.get()
    if collected is not None:
        collected.append(message)
        return
    frame, level = sys._getframe(), 1
    while frame.f_globals.get("__name__", "").split(".")[0] in _PASSED_THROUGH:
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def silenced_warnings(*categories: type[Warning]) -> Iterator[None]:
    """Silence warnings of these categories in this thread.

    Examples
    --------
    >>> with collected_warnings() as messages, silenced_warnings(RuntimeWarning):
    ...     warn_user("Slow.", RuntimeWarning)
    ...     warn_user("Few samples.")
    >>> messages
    ['Few samples.']
    """
    token = _silenced.set((*_silenced.get(), *categories))
    try:
        yield
    finally:
        _silenced.reset(token)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the messages of :func:`warn_user` in this thread in a list, instead of warning.

    Python's ``catch_warnings`` would also collect warnings of other threads.

    Examples
    --------
    >>> with collected_warnings() as messages:
    ...     warn_user("Few samples.")
    >>> messages
    ['Few samples.']
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)
