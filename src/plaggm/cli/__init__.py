"""The command line; it needs the ``cli`` extra (click and rich)."""

from __future__ import annotations

import signal
import sys

# What a shell expects of a program that was ended by SIGTERM.
TERMINATED = 143
_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command ``plaggm``."""
    # A scheduler that ends the program leaves no half-written folder either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        from plaggm.cli.group import commands

        # Subcommands are imported as they are called, and need these libraries too.
        commands(prog_name="plaggm")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        print("The command line needs click and rich: pip install 'plaggm[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
