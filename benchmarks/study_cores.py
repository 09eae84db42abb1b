"""One study on one core and on several, for run.py: `python study_cores.py JOBS SUBJECTS`.

Prints the seconds of all subjects' networks and of both groups' pooled networks as JSON. With one job the
process is held to one core, so that no thread of a library helps; a small study first compiles what is
to be compiled and starts the workers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

METHODS = ("pla", "lr")


def seconds(jobs: int, per_group: int) -> float:
    """One study of two groups, 150 volumes and 48 regions, by two methods."""
    from plaggm import PLAGGM
    from plaggm.fmri.problems import Problems
    from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    from plaggm.fmri.study_networks import fit_networks
    from plaggm.fmri.subjects import HIGH_MOTION
    from plaggm.resume import Store

    data, _ = semisynthetic_study(simulated_motion(per_group, seed=0), seed=0)
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        fit_networks(
            METHODS,
            data,
            estimator=PLAGGM(),
            criterion="cv",
            subject_criterion="aic",
            scrub=HIGH_MOTION,
            store=Store(Path(folder)),
            problems=Problems(),
            settings={},
            n_jobs=jobs,
        )
        return time.perf_counter() - start


def main() -> None:
    jobs, subjects = int(sys.argv[1]), int(sys.argv[2])
    if jobs == 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    seconds(jobs, 3)
    print(json.dumps({"seconds": seconds(jobs, subjects // 2)}))


if __name__ == "__main__":
    main()
