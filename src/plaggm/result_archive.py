"""Results as they stand on disk: JSON and arrays, nothing executed, moved into place whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "plaggm-result"
FORMAT_VERSION = 1
# Kept apart from the other arrays, since it is large and few want it.
PATH_ARRAYS = ("alphas", "omega_path", "criterion_path", "criterion_error")
ARRAYS = (
    "omega",
    "location",
    "scale",
    "threshold",
    "bandwidth",
    "confounder_grid",
    "nuisance",
    "nuisance_error",
    "confounder_sample",
    "stability",
    *PATH_ARRAYS,
)


def read_parts(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Metadata and arrays, as they stand on disk."""
    if path.is_dir():
        arrays = _read_archive(path / "arrays.npz")
        if (path / "path.npz").exists():
            arrays |= _read_archive(path / "path.npz")
        text = (path / "result.json").read_text(encoding="utf-8")
    else:
        arrays = _read_archive(path)
        text = arrays.pop("metadata").tobytes().decode()
    metadata = json.loads(text)
    if metadata["format"] != FORMAT:
        raise ValueError(f"its format is {metadata['format']!r}")
    return metadata, arrays


def _read_archive(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            raise ValueError(f"{path.name} is not an .npz archive")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def check_shapes(arrays: dict[str, NDArray[Any]], p: int, m: int) -> None:
    """Raise for arrays that do not fit p variables and m confounders, or hold no numbers."""
    steps = len(arrays["alphas"]) if "alphas" in arrays else 0
    points = len(arrays["confounder_grid"]) if "confounder_grid" in arrays else 0
    ranks = len(arrays["confounder_sample"]) if "confounder_sample" in arrays else 0
    if arrays["omega"].shape != (p, p):
        raise ValueError(f"{p} names but a matrix of shape {arrays['omega'].shape}")
    expected = {
        "omega": (p, p),
        "location": (p,),
        "scale": (p,),
        "threshold": (m,),
        "bandwidth": (m,),
        "confounder_grid": (points, m),
        "nuisance": (points, p, p),
        "nuisance_error": (points, p, p),
        "confounder_sample": (ranks, m),
        "alphas": (steps,),
        "omega_path": (steps, p, p),
        "criterion_path": (steps,),
        "criterion_error": (steps,),
        "stability": (p, p),
    }
    for name, array in arrays.items():
        if array.shape != expected[name]:
            raise ValueError(f"{name} has shape {array.shape} instead of {expected[name]}")
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{name} holds {array.dtype} instead of numbers")


def is_result(path: Path) -> bool:
    """Whether what stands there can be read as a result."""
    try:
        read_parts(path)
    except Exception:
        return False
    return True


def reason_in_words(error: Exception) -> str:
    """Why a result could not be read."""
    if "pickle" in str(error):
        return "it holds data of a kind that results never contain"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"it has no {Path(error.filename).name}"
    return f"{type(error).__name__}: {error}"


def move_into_place(new: Path, path: Path) -> None:
    """Rename a finished folder to its place; what stands there goes only once it is there."""
    if not path.exists():
        new.replace(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)) / "old"
    try:
        path.replace(old)
        try:
            new.replace(path)
        except BaseException:
            os.rename(old, path)
            raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)
