"""The content of a saved result: its arrays by name, and everything else as JSON."""

from __future__ import annotations

import json
from typing import Any

from plaggm.result_archive import (
    EDGE_PREFIX,
    EDGE_RULES,
    FORMAT,
    FORMAT_VERSION,
    MODERATION_PREFIX,
    MODERATION_RULES,
    RULES,
    check_values,
)


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
    # What could not be read again is not written.
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
