"""Work in other processes: what becomes of it when something ends."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from plaggm.selection.parallel import in_turn

# Longest wait for other processes, in seconds; a loaded machine may take long to start or end them.
PATIENCE = 300

SCRIPT = f"""
import sys, time
from joblib import delayed
from plaggm.selection.parallel import in_turn

def work():
    print("working", flush=True)
    time.sleep({3 * PATIENCE})

if __name__ == "__main__":
    list(in_turn(2, prefer="processes")(delayed(work)() for _ in range(2)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise there")
def test_workers_do_not_outlive_a_killed_parent() -> None:
    # Workers inherit the pipe, which is at its end when the last of them has ended.
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert [parent.stdout.readline() for _ in range(2)] == [b"working\n"] * 2
        parent.kill()
        rest, _ = parent.communicate(timeout=PATIENCE)
    assert rest == b""


def test_replaced_worker_is_no_error() -> None:
    """As an error, loky's warning would end the thread that feeds the workers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_turn(2, prefer="processes")
        with warnings.catch_warnings(record=True) as caught:
            warnings.warn(
                "A worker stopped while some jobs were given to the executor. This can be caused by a "
                "too short worker timeout or by a memory leak.",
                UserWarning,
                stacklevel=1,
            )
    assert len(caught) == 1
