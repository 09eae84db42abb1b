"""Settings files of ``plaggm fit``, in TOML."""

from __future__ import annotations

import tomllib
from dataclasses import Field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from plaggm.cli.messages import InputError
from plaggm.cli.options import check_value
from plaggm.cli.settings import DECLARED, SECTION, FitSettings
from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words
from plaggm.wording import shown


def read_settings(path: Path) -> tuple[FitSettings, dict[str, Any]]:
    """Read a settings file.

    Paths in it are relative to its own folder.

    Parameters
    ----------
    path : Path

    Returns
    -------
    settings : FitSettings
    run : dict
        The section about the run that wrote the file; empty without one.
    """
    try:
        if problem := path_problem(path):
            raise UnreadableFile(problem)
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file {path}.") from None
    except tomllib.TOMLDecodeError as error:
        # Its words are about TOML, with line and column.
        raise InputError(f"{path} is not a settings file in TOML ({error}).") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"Cannot read the settings {path} ({reason_in_words(error)}).") from error
    section = content.get(SECTION)
    if not isinstance(section, dict):
        raise InputError(
            f"{path} has no section [{SECTION}], so it holds no settings of plaggm fit."
        )
    values: dict[str, Any] = {}
    for key, value in section.items():
        name = key.replace("-", "_")
        if name not in DECLARED:
            near = get_close_matches(name, DECLARED, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{path} has an unknown setting {key!r}.{hint}")
        try:
            values[name] = _checked(DECLARED[name], value)
        except ValueError as error:
            raise InputError(f"{path}: {key} {error}") from error
    for name in ("data", "truth", "node_groups"):
        if values.get(name):
            values[name] = str(path.parent / values[name])
    run = content.get("run")
    return FitSettings(**values), run if isinstance(run, dict) else {}


def _checked(setting: Field[Any], value: Any) -> Any:
    """A value of a settings file; of a setting that may be repeated, one name or a list of them."""
    if not isinstance(setting.default, tuple):
        return check_value(setting.metadata["type"], value)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise ValueError(f"must be a list of names; got {shown(value)}.")
    return tuple(values)
