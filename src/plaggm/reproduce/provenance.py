"""Provenance of the numbers on a replication page, and whether they are outdated."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from plaggm.result_archive import library_versions
from plaggm.resume import digest

# Letters of the digest on a page.
DIGEST_LENGTH = 10
_MADE_BY = re.compile(
    r"Made by `(?P<command>[^`]+)` with plaggm (?P<version>[^\s,]+)"
    r"(?:.*?, settings (?P<settings>[0-9a-f]+))?"
)


def settings_digest(**settings: Any) -> str:
    """Short digest of the settings of an experiment, besides the version of the package.

    Examples
    --------
    >>> settings_digest(folds=5) == settings_digest(folds=5)
    True
    >>> settings_digest(folds=5) == settings_digest(folds=10)
    False
    """
    return digest(settings)[:DIGEST_LENGTH]


def command_line(command: str, **options: Any) -> str:
    """A command with the options that were given, as a page names it.

    Parameters
    ----------
    command : str
    **options
        Values by name; None, False and empty sequences are left out, True stands for a switch, and a
        sequence repeats its option.

    Examples
    --------
    >>> command_line(
    ...     "plaggm reproduce diagnosis", seed=31, quick=True, people=None, scenario=["null"]
    ... )
    'plaggm reproduce diagnosis --seed 31 --quick --scenario null'
    """
    words = [command]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            words += [f"{option} {shlex.quote(str(one))}" for one in value]
        else:
            words.append(f"{option} {shlex.quote(str(value))}")
    return " ".join(words)


def made_by(command: str, settings: str, on: str = "") -> str:
    """The sentence on a page that names its command, versions and settings.

    Parameters
    ----------
    command : str
        The command that makes the page.
    settings : str
        See :func:`settings_digest`.
    on : str
        The data, where they are not simulated.
    """
    versions = library_versions()
    used = ", ".join(f"{name} {versions[name]}" for name in ("plaggm", "numpy", "scikit-learn"))
    return f"Made by `{command}` with {used}, settings {settings}{f', on {on}' if on else ''}."


def outdated(page: str, settings: str) -> str | None:
    """Why a page differs from what its command would produce now, or None.

    Parameters
    ----------
    page : str
        Markdown or HTML of the page.
    settings : str
        Digest of the experiment as it is now.

    Examples
    --------
    >>> outdated("Made by `plaggm reproduce rates` with plaggm 0.0.1, settings 12ab.", "12ab")
    'made with plaggm 0.0.1'
    >>> outdated("A page of something else.", "12ab")
    'does not say how it was made'
    """
    found = _MADE_BY.search(page)
    if found is None:
        return "does not say how it was made"
    if found["version"] != library_versions()["plaggm"]:
        return f"made with plaggm {found['version']}"
    if found["settings"] != settings:
        return "made with other settings"
    return None
