"""Libraries that a command needs besides those of the command line itself."""

from __future__ import annotations

import os
from importlib.util import find_spec

from plaggm.cli.messages import InputError


def need_libraries(command: str, *names: str) -> None:
    """Raise if a library is missing, before any work is done.

    Figures are then drawn to files whatever MPLBACKEND says: another backend may need a window.

    Parameters
    ----------
    command : str
        Name of the command, for the message.
    *names : str
        Names of modules.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise InputError(f"{command} needs {', '.join(missing)}: pip install 'plaggm[cli,plot]'")
    os.environ["MPLBACKEND"] = "Agg"
