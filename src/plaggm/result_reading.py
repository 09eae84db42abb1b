"""Read a result from its folder or file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from plaggm.array_types import Array
from plaggm.edge_table import EDGE_DEGREES, EdgeTable
from plaggm.moderation_table import ModerationTable
from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words
from plaggm.result import GraphResult
from plaggm.result_archive import (
    CHANGE_RULES,
    EDGE_PREFIX,
    EDGE_RULES,
    FORMAT_VERSION,
    MODERATION_PREFIX,
    MODERATION_RULES,
    RULES,
    read_arrays,
    read_metadata,
)


def read_result(path: str | os.PathLike[str]) -> GraphResult:
    """Read what :meth:`GraphResult.save` wrote, from a folder or an ``.npz`` file.

    Nothing in the file is executed, and arrays are loaded only if their shapes and sizes agree with the
    metadata. Values that are impossible for a fit, such as a negative scale, are refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaggm import PLAGGM, read_result
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(4, n=200, seed=0)
    >>> result = PLAGGM(0.05).fit(data.x, confounder=data.confounder).to_result()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read_result(result.save(Path(folder) / "network"))
    >>> again.names == result.names
    True
    """
    path = Path(path)
    try:
        if problem := path_problem(path):
            raise UnreadableFile(problem)
        if not path.exists():
            raise FileNotFoundError(f"There is no result at {path}.")
        metadata = read_metadata(path)
        writer = str(_entry(metadata, "versions", dict, "a table").get("plaggm"))
        newer = _entry(metadata, "format_version", int, "a number") > FORMAT_VERSION
        result = None if newer else _assemble(metadata, path)
    except Exception as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            raise
        # Damaged files cause errors of many kinds in the readers.
        raise ValueError(
            f"{path} is not a readable plaggm result ({reason_in_words(error)}). Expected a folder with "
            "result.json and arrays.npz, or an .npz file, written by result.save()."
        ) from error
    if result is None:
        raise ValueError(
            f"{path} was written by a newer plaggm ({writer}); update plaggm to read it."
        )
    return result


def _assemble(metadata: dict[str, Any], path: Path) -> GraphResult:
    names = _names(metadata, "names")
    confounders = _names(metadata, "confounder_names")
    listed = _names(metadata, "arrays")
    if "omega" not in listed:
        raise UnreadableFile("its metadata list no array omega")
    alpha = _entry(metadata, "alpha", (int, float), "a number")
    if not 0.0 <= alpha < float("inf"):
        raise UnreadableFile("alpha in its metadata is not a finite number of zero or more")
    wanted = {name: rule for name, rule in RULES.items() if name in listed}
    p = len(names)
    pairs = p * (p - 1) // 2
    arrays = read_arrays(path, wanted, {"p": p, "e": pairs, "m": len(confounders)})
    tests = {name: arrays.pop(name) for name in EDGE_RULES if name in arrays}
    moderation = {name: arrays.pop(name) for name in MODERATION_RULES if name in arrays}
    result = GraphResult(
        names=tuple(names),
        alpha=float(alpha),
        confounder_names=tuple(confounders),
        references=_by_confounder(metadata, "references", confounders, (str, int, float)),
        levels={
            name: tuple(map(str, levels))
            for name, levels in _by_confounder(metadata, "levels", confounders, (list,)).items()
        },
        settings=_entry(metadata, "settings", dict, "a table"),
        diagnostics=_entry(metadata, "diagnostics", dict, "a table"),
        versions=_entry(metadata, "versions", dict, "a table"),
        edge_table=_edge_table(tests, metadata["diagnostics"]),
        moderation_table=_moderation_table(moderation),
        **arrays,
    )
    _check_fdr(result)
    return result


def _by_confounder(
    metadata: dict[str, Any], key: str, confounders: list[str], kinds: tuple[type, ...]
) -> dict[str, Any]:
    """A table with entries by confounder; empty in results of earlier versions."""
    found = metadata.get(key, {})
    if not isinstance(found, dict) or not set(found) <= set(confounders):
        raise UnreadableFile(f"{key} in its metadata is not a table by confounder")
    if not all(isinstance(value, kinds) for value in found.values()):
        raise UnreadableFile(f"{key} in its metadata holds what it should not")
    return found


def _edge_table(arrays: dict[str, Array], diagnostics: dict[str, Any]) -> EdgeTable | None:
    """The tests of all pairs: all arrays or none; those of changes may be missing."""
    if not arrays:
        return None
    needed = EDGE_RULES if set(arrays) & set(CHANGE_RULES) else set(EDGE_RULES) - set(CHANGE_RULES)
    missing = [name for name in EDGE_RULES if name in needed and name not in arrays]
    if missing:
        raise UnreadableFile(f"its metadata list tests of edges without {', '.join(missing)}")
    columns: dict[str, Any] = {name.removeprefix(EDGE_PREFIX): arrays[name] for name in arrays}
    degrees = diagnostics.get(EDGE_DEGREES)
    if isinstance(degrees, int | float) and degrees > 0.0:
        columns["degrees_of_freedom"] = float(degrees)
    return EdgeTable(**columns)


def _moderation_table(arrays: dict[str, Array]) -> ModerationTable | None:
    """The tests of which pairs change: all arrays or none."""
    if not arrays:
        return None
    missing = [name for name in MODERATION_RULES if name not in arrays]
    if missing:
        raise UnreadableFile(
            f"its metadata list tests of changing edges without {', '.join(missing)}"
        )
    return ModerationTable(
        **{name.removeprefix(MODERATION_PREFIX): arrays[name] for name in arrays}
    )


def _check_fdr(result: GraphResult) -> None:
    """Raise for a result without a valid rate at which its edges are declared."""
    if result.deciding_tests is None:
        return
    fdr = result.settings.get("fdr")
    if isinstance(fdr, bool) or not isinstance(fdr, int | float) or not 0.0 < fdr < 1.0:
        raise UnreadableFile("fdr in its settings is missing or no number between zero and one")


def _entry(metadata: dict[str, Any], key: str, kind: type | tuple[type, ...], words: str) -> Any:
    value = metadata.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UnreadableFile(f"{key} in its metadata is missing or not {words}")
    return value


def _names(metadata: dict[str, Any], key: str) -> list[str]:
    names = _entry(metadata, key, list, "a list")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise UnreadableFile(f"{key} in its metadata is not a list of different names")
    return names
