"""From rows to a fitted network, in five steps.

    statistics = reduce_rows(spec, rows)               design, sums of all rows, variance function
    problem = spline_problem(spec, statistics)         penalty of the nuisance, node Grams, nodes' scale
    path, choice = select(spec, problem)               lasso along the penalties, and the choice of one
    network = FittedNetwork(spec, problem, path, choice)       nuisance, score, bootstrap, samples
    adopt(estimator, network)                          the estimator's fitted attributes

Arrays, files and clusters are kinds of rows and enter at the first step; a stream holds sums and enters at
the second. The kernel smoother (:mod:`plaggm.estimators.kernel_problem`) and variables that are not
Gaussian (:mod:`plaggm.estimators.family_problem`) need the rows themselves. Rows with missing cells are
first completed (:mod:`plaggm.estimators.em`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from plaggm.core.cost.fit_memory import FitSize, check_fit_memory
from plaggm.core.cost.fit_time import duration, fit_seconds
from plaggm.estimators.em import complete
from plaggm.estimators.family_problem import family_problem
from plaggm.estimators.fit_size import rows_size, sums_size
from plaggm.estimators.fitted_network import FittedNetwork
from plaggm.estimators.kernel_problem import kernel_problem
from plaggm.estimators.network_methods import imprecise
from plaggm.estimators.penalty_path import select
from plaggm.estimators.problem import FitProblem, spline_problem
from plaggm.estimators.row_statistics import RowStatistics, reduce_rows
from plaggm.estimators.rows import ArrayRows, Rows
from plaggm.estimators.spec import FitSpec
from plaggm.memory import in_bytes


def fit_network(spec: FitSpec, rows: Rows) -> FittedNetwork:
    """Fit all rows.

    Parameters
    ----------
    spec : FitSpec
    rows : Rows
        Rows; in memory for the kernel smoother and for variables that are not Gaussian.
    """
    with _worded_failures():
        return _solved(spec, make_problem(spec, rows))


def network_from_statistics(spec: FitSpec, statistics: RowStatistics) -> FittedNetwork:
    """Fit rows of which only statistics are known."""
    check_fit_memory(sums_size(spec, len(statistics.columns.names), statistics.design))
    with _worded_failures():
        return _solved(spec, spline_problem(spec, statistics))


def make_problem(spec: FitSpec, rows: Rows) -> FitProblem:
    """Remove the nuisance from all rows."""
    size = rows_size(spec, rows.labels, in_memory=isinstance(rows, ArrayRows))
    check_fit_memory(size)
    _announce(spec, size)
    confounder = rows.labels.confounder
    if confounder is not None:
        spec.say(
            f"removing the nuisance of {', '.join(confounder.names)} from {rows.labels.n} samples"
        )
    if rows.labels.incomplete:
        completed = complete(spec, rows)
        return spline_problem(spec, reduce_rows(spec, completed, completed.design))
    if not spec.gaussian:
        assert isinstance(rows, ArrayRows)
        return family_problem(spec, rows)
    if spec.smoother == "kernel" and confounder is not None:
        assert isinstance(rows, ArrayRows)
        return kernel_problem(spec, rows)
    return spline_problem(spec, reduce_rows(spec, rows))


def _announce(spec: FitSpec, size: FitSize) -> None:
    """Print the expected time and memory of the fit, if ``verbose`` asks for it."""
    memory = f"at most {in_bytes(size.peak_bytes())} of memory"
    if spec.gaussian:
        spec.say(f"usually takes about {duration(fit_seconds(size))} on two cores and {memory}")
    else:
        spec.say(f"takes {memory}")


def _solved(spec: FitSpec, problem: FitProblem) -> FittedNetwork:
    return FittedNetwork(spec, problem, *select(spec, problem))


@contextmanager
def _worded_failures() -> Iterator[None]:
    """Replace messages of the linear algebra library about singular matrices."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise imprecise() from error
