"""Power and false discoveries of the declared network as functions of the number of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed

from plaggm.arguments import check_count, check_jobs
from plaggm.array_types import Array
from plaggm.planning.question import (
    LARGEST_EDGE,
    LARGEST_EIGENVALUE,
    SMALLEST_EDGE,
    Question,
    ask,
    check_possible,
)
from plaggm.planning.sample_size import SampleSize, clean_sample_size, sample_size
from plaggm.planning.trials import NETWORKS, Trial, run_trial
from plaggm.selection.parallel import in_turn
from plaggm.simulate.validate import check_choice, check_range
from plaggm.wording import shown

# Default numbers of simulated studies and of sizes.
SETS, SIZES = 40, 6
# Smallest size as a share of the size needed without confounding, and largest size as a multiple of the
# size needed if confounded samples contain no information.
BELOW, ABOVE = 0.6, 1.5
# Largest ratio of the largest and the smallest size.
WIDEST = 40.0
FEWEST_SAMPLES = 10


@dataclass(frozen=True, slots=True, eq=False)
class PowerAnalysis:
    """Power and false discoveries of studies of several sizes, by simulation.

    Attributes
    ----------
    question : Question
        Assumptions of the plan.
    sizes : ndarray of int of shape (s,)
        Numbers of samples.
    trials : tuple of Trial
        Results of each simulated study.
    wanted : float
        Desired power.
    seed : int
        Seed of the simulations.
    """

    question: Question
    sizes: np.ndarray
    trials: tuple[Trial, ...] = field(repr=False)
    wanted: float
    seed: int

    def power(self, network: str = "adjusted") -> Array:
        """Share of the true edges that are declared in each study: shape (d, s)."""
        column = _column(network)
        return np.stack([trial.power[:, column] for trial in self.trials])

    def false_share(self, network: str = "adjusted") -> Array:
        """Share of the declared edges that are false in each study, zero without any: shape (d, s)."""
        column = _column(network)
        return np.stack([trial.false_share[:, column] for trial in self.trials])

    @property
    def true_edges(self) -> float:
        """Edges of the simulated networks, on average."""
        return float(np.mean([trial.true_edges for trial in self.trials]))

    def table(self) -> pd.DataFrame:
        """One row for each size and network.

        Returns
        -------
        DataFrame
            Table with the columns samples, network (``"adjusted"``: all samples, adjusted for the
            confounder; ``"clean"``: samples without confounding only; ``"unadjusted"``: all samples as
            they are), power (mean share of the true edges that are declared), power_error (its Monte
            Carlo standard error), false_share (mean share of the declared edges that are false: the false
            discovery rate), false_error, found and false (mean numbers of declared edges that are there,
            and that are not), failed (share of the studies in which no network could be estimated).
        """
        found, false, failed = (
            np.stack([getattr(trial, name) for trial in self.trials]).mean(axis=0)
            for name in ("found", "false", "failed")
        )
        rows = []
        for column, network in enumerate(NETWORKS):
            power, wrong = self.power(network), self.false_share(network)
            for row, n in enumerate(self.sizes):
                rows.append(
                    {
                        "samples": int(n),
                        "network": network,
                        "power": power[:, row].mean(),
                        "power_error": _error(power[:, row]),
                        "false_share": wrong[:, row].mean(),
                        "false_error": _error(wrong[:, row]),
                        "found": found[row, column],
                        "false": false[row, column],
                        "failed": failed[row, column],
                    }
                )
        return pd.DataFrame(rows)

    def samples_for(self, power: float | None = None, *, network: str = "adjusted") -> SampleSize:
        """Number of samples at which a network reaches a power, by monotone interpolation.

        Parameters
        ----------
        power : float, optional
            Power to be reached; by default that of the plan.
        network : {"adjusted", "clean", "unadjusted"}

        Returns
        -------
        SampleSize
        """
        wanted = self.wanted if power is None else power
        check_range("power", wanted, 0.0, 1.0, low_open=True)
        return sample_size(self.sizes, self.power(network), wanted, self.seed)

    def settings(self) -> dict[str, Any]:
        """Everything on which the plan depends, by the names of the arguments of ``plan_study``."""
        asked = self.question
        return {
            "p": asked.p,
            "n": [int(n) for n in self.sizes],
            "clean": asked.clean,
            "strength": asked.strength,
            "affected": asked.affected,
            "edge": asked.edge,
            "density": asked.density,
            "power": self.wanted,
            "fdr": asked.fdr,
            "threshold": asked.threshold,
            "sets": len(self.trials),
            "seed": self.seed,
        }


def plan_study(
    p: int,
    n: int | Sequence[int] | None = None,
    *,
    clean: float = 0.5,
    strength: float | str = "moderate",
    affected: float | None = None,
    edge: float = 0.15,
    density: float | None = None,
    power: float = 0.8,
    fdr: float = 0.05,
    threshold: str = "auto",
    sets: int = SETS,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PowerAnalysis:
    r"""Power and false discoveries of the declared network before data are collected, by simulation.

    Studies are simulated that follow the assumptions below. Each is analysed at every size in three ways:
    with all samples and adjusted for the confounder, as ``PLAGGMCV(fdr=fdr).fit(X, confounder=g)`` does;
    with unconfounded samples only; and with all samples without adjustment. A study of 200 samples
    consists of the first rows of the same study of 400, so that curves are smooth.

    Parameters
    ----------
    p : int
        Number of variables, at least 3.
    n : int or sequence of int, optional
        Sample sizes to simulate; by default six sizes around the one with the desired power.
    clean : float in (0, 1]
        Share of the samples without confounding, below the threshold g\*.
    strength : {"none", "weak", "moderate", "strong"} or float
        Strength of confounding: mean absolute change of an affected partial correlation where the
        confounder is largest. The names stand for 0, 0.05, 0.1 and 0.15.
    affected : float in [0, 1], optional
        Share of the pairs that the confounder affects; by default each variable has about six such pairs.
    edge : float
        Mean absolute partial correlation of the edges, which range from two thirds to four thirds of it.
    density : float in (0, 1], optional
        Share of the pairs that are edges; by default each variable has about three edges.
    power : float
        Share of the true edges that the study should find.
    fdr : float
        False discovery rate at which edges are declared.
    threshold : {"auto", "known"}
        Whether the fit chooses g\* or is given the true value.
    sets : int
        Number of simulated studies. Standard errors fall with its square root.
    seed : int
        Seed of the simulations. The plan does not depend on ``n_jobs``.
    n_jobs : int, optional
        Processes; -1 for all cores.
    progress : callable, optional
        Called with the number of finished studies and the number of all studies.

    Returns
    -------
    PowerAnalysis

    Examples
    --------
    >>> from plaggm import plan_study
    >>> plan = plan_study(6, [50, 200], edge=0.3, sets=4)
    >>> table = plan.table()
    >>> print(
    ...     table.loc[table.network == "adjusted", ["samples", "power"]]
    ...     .round(1)
    ...     .to_string(index=False)
    ... )
     samples  power
          50    0.1
         200    1.0
    >>> plan.samples_for(0.8).words().startswith("about")
    True
    """
    question = ask(
        p,
        clean=clean,
        strength=strength,
        affected=affected,
        edge=edge,
        density=density,
        fdr=fdr,
        threshold=threshold,
    )
    check_range("power", power, 0.0, 1.0, low_open=True)
    check_count("sets", sets, 2)
    check_count("seed", seed, 0)
    check_jobs(n_jobs)
    # Raises before processes are started if there are no such networks.
    check_possible(question, seed)
    sizes = likely_sizes(question, power) if n is None else check_sizes(n)
    seeds = np.random.SeedSequence(seed).spawn(sets)
    tell = progress or (lambda done, of: None)
    tell(0, sets)
    # Processes, since short fits hold the interpreter lock for half of the time.
    names = [f"study {number + 1}" for number in range(sets)]
    run = in_turn(n_jobs, names, prefer="processes")
    trials = []
    for trial in run(delayed(partial(run_trial, question, sizes))(one) for one in seeds):
        trials.append(trial)
        tell(len(trials), sets)
    return PowerAnalysis(question, np.array(sizes), tuple(trials), float(power), int(seed))


def check_sizes(n: object) -> tuple[int, ...]:
    """Numbers of samples in increasing order, each once."""
    given = [n] if isinstance(n, int | np.integer) else n
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise ValueError(f"n must be one or more numbers of samples; got {shown(n)}.")
    for one in given:
        check_count("n", one, FEWEST_SAMPLES)
    return tuple(sorted({int(one) for one in given}))


def likely_sizes(question: Question, power: float) -> tuple[int, ...]:
    """Sizes around the one that is likely to reach the power.

    They range from the size needed without confounding to that needed if confounded samples contain no
    information.
    """
    edges = question.edge * np.linspace(SMALLEST_EDGE, LARGEST_EDGE, 21)
    edges = np.minimum(edges, LARGEST_EIGENVALUE)
    all_clean = clean_sample_size(question.p, edges, question.density, question.fdr, power)
    low = BELOW * all_clean
    high = min(ABOVE * all_clean / question.clean, WIDEST * low)
    return tuple(sorted({max(FEWEST_SAMPLES, _tidy(n)) for n in np.geomspace(low, high, SIZES)}))


def _tidy(number: float) -> int:
    """A number of samples with two significant digits."""
    unit = 10 ** max(0, int(np.log10(number)) - 1)
    return int(round(number / unit) * unit)


def _column(network: str) -> int:
    check_choice("network", network, NETWORKS)
    return list(NETWORKS).index(network)


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
