"""Writing a result: its arrays by name, and everything else as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from plaggm.publishing import staged
from plaggm.read_errors import path_problem
from plaggm.result_archive import (
    EDGE_PREFIX,
    EDGE_RULES,
    FORMAT,
    FORMAT_VERSION,
    MODERATION_PREFIX,
    MODERATION_RULES,
    PATH_RULES,
    RULES,
    check_values,
    is_result,
)
from plaggm.wording import shown


@contextmanager
def replaced_result(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``path`` unless an error occurs.

    Parameters
    ----------
    path : Path
        Nothing, or a result if ``overwrite``.
    overwrite : bool
        Whether an existing result may be replaced.
    """
    if problem := path_problem(path):
        raise ValueError(f"Cannot write to {shown(str(path))}: {problem}. Choose another name.")

    def check() -> None:
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists; choose another name or pass overwrite=True.")

    with staged(path, check=check) as new:
        if path.exists() and not is_result(path):
            raise FileExistsError(f"{path} exists and is not a plaggm result; it is left alone.")
        yield new


def write_content(result: Any, folder: Path) -> None:
    """Write ``result.json``, ``arrays.npz`` and, if there is a path, ``path.npz`` into a folder."""
    arrays = stored_arrays(result)
    path = {name: arrays.pop(name) for name in PATH_RULES if name in arrays}
    (folder / "result.json").write_text(metadata_text(result), encoding="utf-8")
    np.savez_compressed(folder / "arrays.npz", **arrays)
    if path:
        np.savez_compressed(folder / "path.npz", **path)


def write_single_file(result: Any, file: BinaryIO) -> None:
    """Write metadata and arrays as one ``.npz`` archive into an open file."""
    text = np.frombuffer(metadata_text(result).encode(), dtype=np.uint8)
    np.savez_compressed(file, metadata=text, **stored_arrays(result))


def stored_arrays(result: Any) -> dict[str, Any]:
    """All arrays of a result that are not None, by their names on disk."""
    own = [name for name in RULES if name not in EDGE_RULES | MODERATION_RULES]
    arrays = {name: value for name in own if (value := getattr(result, name)) is not None}
    if result.edge_table is not None:
        tests = result.edge_table.arrays()
        arrays |= {f"{EDGE_PREFIX}{name}": value for name, value in tests.items()}
    if result.moderation_table is not None:
        tests = result.moderation_table.arrays()
        arrays |= {f"{MODERATION_PREFIX}{name}": value for name, value in tests.items()}
    # Values that could not be read again raise an error here.
    check_values(arrays)
    return arrays


def metadata_text(result: Any) -> str:
    """Everything but the arrays, as JSON."""
    return json.dumps(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "names": list(result.names),
            "confounder_names": list(result.confounder_names),
            "references": result.references,
            "levels": {name: list(levels) for name, levels in result.levels.items()},
            "alpha": result.alpha,
            "arrays": list(stored_arrays(result)),
            "settings": result.settings,
            "diagnostics": result.diagnostics,
            "versions": result.versions,
        },
        indent=2,
    )
