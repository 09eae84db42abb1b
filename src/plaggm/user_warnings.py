"""Warnings that point at the user's own line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings

# Packages between the user and a warning.
_PASSED_THROUGH = ("plaggm", "sklearn", "joblib", "contextlib")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is neither of this package nor of the libraries it is called through.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    frame, level = sys._getframe(), 1
    while frame.f_globals.get("__name__", "").split(".")[0] in _PASSED_THROUGH:
        if frame.f_back is None:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
