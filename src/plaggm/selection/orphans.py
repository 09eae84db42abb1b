"""Worker processes that end with the process that started them, even if it is killed."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time

CHECK_SECONDS = 1.0


def end_with_parent(parent: int) -> None:
    """End this process soon after its parent has ended; an initializer of joblib's processes.

    The workers of a killed parent are not notified: those of loky would finish their work and then wait
    five minutes for more. Linux could send a signal instead, but at the end of the parent's *thread* that
    started the worker.

    Parameters
    ----------
    parent : int
        Process id of the process that started this one.
    """
    threading.Thread(target=_watch, args=(parent,), name="plaggm-parent", daemon=True).start()


def _watch(parent: int) -> None:
    if sys.platform == "win32":
        started_by = multiprocessing.parent_process()
        if started_by is None:
            return
        started_by.join()
    else:
        # An orphaned process gets another parent at once.
        while os.getppid() == parent:
            time.sleep(CHECK_SECONDS)
    os._exit(1)
