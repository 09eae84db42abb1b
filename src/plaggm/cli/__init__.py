"""The command line; it needs the ``cli`` extra (click and rich)."""

from __future__ import annotations

import sys

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command ``plaggm``."""
    try:
        from plaggm.cli.group import commands
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        print("The command line needs click and rich: pip install 'plaggm[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    commands(prog_name="plaggm")
