"""Run a command while every core is kept busy: ``python benchmarks/under_load.py COMMAND ...``.

One endless loop for each core competes with the command at the same priority, as other users of a machine
do. The status is that of the command.
"""

from __future__ import annotations

import os
import subprocess
import sys

# Ends by itself should this script be killed.
BUSY = f"""
import os
while os.getppid() == {os.getpid()}:
    for _ in range(1_000_000):
        pass
"""


def main(command: list[str]) -> int:
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        return subprocess.call(command)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
