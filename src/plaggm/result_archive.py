"""The format of saved results: JSON and arrays, without executable content."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaggm.memory import in_bytes
from plaggm.numpy_files import Archive, Header, open_archive
from plaggm.read_errors import UnreadableFile, check_memory

# An array of a result, of any kind of numbers.
Stored: TypeAlias = NDArray[Any]
FORMAT = "plaggm-result"
# Results of version 1 have no tests of pairs, and those of versions 1 and 2 no references and levels of
# confounders.
FORMAT_VERSION = 3
# Largest size of the metadata, in bytes.
MOST_METADATA = 50_000_000
# Largest difference of two entries of a symmetric matrix, relative to its largest entry.
ASYMMETRY = 1e-8


def _finite(values: Stored) -> bool:
    return bool(np.isfinite(values).all())


def _finite_or_missing(values: Stored) -> bool:
    return not np.isinf(values).any()


def _symmetric(values: Stored) -> bool:
    limit = ASYMMETRY * np.abs(values).max(initial=0.0)
    return _finite(values) and bool(np.all(np.abs(values - values.T) <= limit))


def _finite_steps(values: Stored) -> bool:
    """Whether every network of a path is finite, or NaN as a whole because its fit failed."""
    missing = np.isnan(values).all(axis=(1, 2))
    return _finite(values[~missing])


def _decreasing(values: Stored) -> bool:
    return _not_negative(values) and bool(np.all(np.diff(values) < 0.0))


def _not_negative(values: Stored) -> bool:
    return _finite(values) and bool(np.all(values >= 0.0))


def _not_negative_or_infinite(values: Stored) -> bool:
    return _no_gaps(values) and bool(np.all(values >= 0.0))


def _positive(values: Stored) -> bool:
    return _finite(values) and bool(np.all(values > 0.0))


def _unit(values: Stored) -> bool:
    """Whether products of two entries, and their inverses, stay within the range of floats."""
    return bool(np.all((values >= 1e-150) & (values <= 1e150)))


def _share(values: Stored) -> bool:
    return bool(np.all((values >= 0.0) & (values <= 1.0)))


def _correlation(values: Stored) -> bool:
    return bool(np.all(np.abs(values) <= 1.0))


def _no_gaps(values: Stored) -> bool:
    return not np.isnan(values).any()


def _missing_or_not_negative(values: Stored) -> bool:
    return _finite_or_missing(values) and not np.any(values < 0.0)


@dataclass(frozen=True, slots=True)
class ArrayRule:
    """Rule for the shape and values of an array of a result.

    Attributes
    ----------
    axes : str
        Lengths of its axes: p variables, e pairs of variables, m confounders, a penalties, k values of the
        confounder in the grid of the nuisance, s values of its distribution.
    allowed : str
        Description of the allowed values, for messages.
    holds : callable
        Function that returns whether values are allowed.
    """

    axes: str
    allowed: str
    holds: Callable[[Stored], bool]


# The path has a separate file in a folder, since it is large.
PATH_RULES = {
    "alphas": ArrayRule("a", "decreasing penalties of zero or more", _decreasing),
    "omega_path": ArrayRule("app", "finite in every step that was fitted", _finite_steps),
    "criterion_path": ArrayRule("a", "numbers, missing where a step failed", lambda values: True),
    "criterion_error": ArrayRule(
        "a", "zero or more, missing where a step failed", _missing_or_not_negative
    ),
}
# Attributes of an EdgeTable, under names that begin with EDGE_PREFIX; those of changes may be missing.
EDGE_PREFIX = "edge_"
CHANGE_RULES = {
    "edge_change_p_value": ArrayRule("e", "between zero and one", _share),
    "edge_change_q_value": ArrayRule("e", "between zero and one", _share),
}
EDGE_RULES = {
    "edge_estimate": ArrayRule("e", "between -1 and 1", _correlation),
    "edge_standard_error": ArrayRule(
        "e", "zero or more, infinite where no row observes a pair", _not_negative_or_infinite
    ),
    "edge_low": ArrayRule("e", "between -1 and 1", _correlation),
    "edge_high": ArrayRule("e", "between -1 and 1", _correlation),
    "edge_z": ArrayRule("e", "numbers", _no_gaps),
    "edge_p_value": ArrayRule("e", "between zero and one", _share),
    "edge_q_value": ArrayRule("e", "between zero and one", _share),
    **CHANGE_RULES,
}
# Attributes of a ModerationTable, under names that begin with MODERATION_PREFIX: all or none.
MODERATION_PREFIX = "moderation_"
MODERATION_RULES = {
    "moderation_statistic": ArrayRule("me", "finite and zero or more", _not_negative),
    "moderation_degrees_of_freedom": ArrayRule("me", "finite and zero or more", _not_negative),
    "moderation_p_value": ArrayRule("me", "between zero and one", _share),
    "moderation_q_value": ArrayRule("me", "between zero and one", _share),
    "moderation_largest_change": ArrayRule("me", "finite", _finite),
    "moderation_largest_at": ArrayRule("me", "finite", _finite),
}
RULES = {
    "omega": ArrayRule("pp", "finite and symmetric", _symmetric),
    "location": ArrayRule("p", "finite", _finite),
    "scale": ArrayRule("p", "positive, between 1e-150 and 1e150", _unit),
    "threshold": ArrayRule("m", "zero or more, or missing", _missing_or_not_negative),
    "bandwidth": ArrayRule("m", "finite and positive", _positive),
    "confounder_grid": ArrayRule("km", "finite, or missing", _finite_or_missing),
    "nuisance": ArrayRule("kpp", "finite", _finite),
    "nuisance_error": ArrayRule("kpp", "finite and zero or more", _not_negative),
    "confounder_sample": ArrayRule("sm", "finite", _finite),
    "stability": ArrayRule("pp", "between zero and one", _share),
    **EDGE_RULES,
    **MODERATION_RULES,
    **PATH_RULES,
}


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a saved result, without its arrays.

    Parameters
    ----------
    path : Path
        Folder or ``.npz`` file.
    """
    if path.is_dir():
        file = path / "result.json"
        _check_metadata_size(file.stat().st_size)
        text = file.read_text(encoding="utf-8")
    else:
        with open_archive(path) as archive:
            _check_metadata_size(archive.header("metadata").nbytes)
            text = archive.load(["metadata"])["metadata"].tobytes().decode()
    metadata = json.loads(text)
    if not isinstance(metadata, dict):
        raise UnreadableFile("its metadata are no JSON object")
    if metadata.get("format") != FORMAT:
        raise UnreadableFile(f"its metadata do not name the format {FORMAT!r}")
    return metadata


def read_arrays(
    path: Path, wanted: Mapping[str, ArrayRule], lengths: Mapping[str, int]
) -> dict[str, Stored]:
    """Some arrays of a result, whose names, shapes and sizes are checked before the first is loaded.

    Parameters
    ----------
    path : Path
        Folder or ``.npz`` file.
    wanted : mapping of str to ArrayRule
    lengths : mapping of str to int
        Lengths of the axes ``p``, ``e`` and ``m``; the others follow from the first array that has them.
    """
    files = [path / "arrays.npz", path / "path.npz"] if path.is_dir() else [path]
    with ExitStack() as stack:
        archives = [
            stack.enter_context(open_archive(file))
            for number, file in enumerate(files)
            if number == 0 or file.exists()
        ]
        homes: dict[str, Archive] = {}
        for archive in archives:
            homes |= dict.fromkeys(archive.names, archive)
        missing = [name for name in wanted if name not in homes]
        if missing:
            raise UnreadableFile(f"{', '.join(missing)} should be there and is not")
        headers = {name: homes[name].header(name) for name in wanted}
        _check_headers(headers, wanted, dict(lengths))
        check_memory(sum(header.nbytes for header in headers.values()))
        found: dict[str, Stored] = {}
        for archive in archives:
            found |= archive.load(name for name in wanted if homes[name] is archive)
        arrays = {name: found[name] for name in wanted}
    check_values(arrays)
    return arrays


def _check_headers(
    headers: Mapping[str, Header], wanted: Mapping[str, ArrayRule], lengths: dict[str, int]
) -> None:
    """Raise for arrays whose axes do not agree, or that do not hold numbers."""
    for name, header in headers.items():
        if header.dtype.kind not in "fiu":
            raise UnreadableFile(f"{name} holds {header.dtype} instead of numbers")
        axes = wanted[name].axes
        if len(header.shape) == len(axes):
            for axis, length in zip(axes, header.shape, strict=True):
                lengths.setdefault(axis, length)
        expected = tuple(lengths.get(axis, 0) for axis in axes)
        if header.shape != expected:
            raise UnreadableFile(
                f"{lengths['p']} names but a matrix of shape {header.shape}"
                if name == "omega"
                else f"{name} has shape {header.shape} instead of {expected}"
            )


def check_values(arrays: Mapping[str, Stored]) -> None:
    """Raise for arrays with values that are not allowed."""
    for name, array in arrays.items():
        if not RULES[name].holds(array):
            raise UnreadableFile(f"{name} must be {RULES[name].allowed}, and it is not")
    low, high = (arrays.get(f"{EDGE_PREFIX}{end}") for end in ("low", "high"))
    if low is not None and high is not None and np.any(low > high):
        raise UnreadableFile("intervals of edges must not end before they begin, and some do")


def is_result(path: Path) -> bool:
    """Whether a path holds a saved result; its arrays are not read."""
    try:
        read_metadata(path)
    except Exception:
        return False
    return True


def _check_metadata_size(size: int) -> None:
    if size > MOST_METADATA:
        raise UnreadableFile(f"its metadata take {in_bytes(size)}")


def plain_settings(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters in a form that JSON can represent; functions are given by their names."""
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return getattr(value, "__qualname__", repr(value))


def library_versions() -> dict[str, str]:
    """Versions of plaggm and of the numerical libraries it uses."""
    return dict(_installed_versions())


@cache
def _installed_versions() -> tuple[tuple[str, str], ...]:
    """Names and versions, which are cached since looking them up is slow."""
    packages = ("plaggm", "numpy", "scipy", "numba", "scikit-learn", "pandas")
    return (("python", platform.python_version()), *((name, version(name)) for name in packages))
