"""Fits of one network to a table on many machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from plaggm.arguments import check_count
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.design import SplineDesign
from plaggm.distributed.cluster_rows import open_partitions
from plaggm.distributed.partition_sums import sample_confounder
from plaggm.distributed.partitions import as_partitions
from plaggm.estimators.fit_methods import fit_stream
from plaggm.estimators.fitted_estimator import adopt
from plaggm.estimators.parameter_checks import check_parameters
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.spec import fit_spec
from plaggm.estimators.stream import check_design, start_stream
from plaggm.estimators.walk import fit_network
from plaggm.wording import shown

Estimator = TypeVar("Estimator", bound=PLAGGM)

# Default number of confounder values from which a design is made.
SAMPLE_ROWS = 1_000_000


@single_threaded_blas()
def fit_dask(
    estimator: Estimator,
    data: Any,
    *,
    confounder: Any = None,
    variables: Sequence[str] | None = None,
    groups: Any = None,
    design: SplineDesign | None = None,
    client: Any = None,
    checkpoint: str | Path | None = None,
) -> Estimator:
    """Estimate from a table that is distributed over many machines; the estimate equals that of ``fit``.

    Workers compute sums over the rows of each partition and add them up in a tree. The fit itself runs on
    the client. Sums are added in the order of the partitions, so that the result does not depend on the
    workers.

    Without ``design`` the columns of confounders and groups are sent to the client (8 bytes per row and
    column), and folds are those of ``fit``. All columns are then read once, or twice with
    ``variance="function"`` if sums of folds, groups or blocks by bins of the confounder exceed 64 MB. With
    ``design``, see :func:`sample_design`, no column is sent to the client, all columns are read once, and
    folds are those of ``partial_fit``, which may be called afterwards.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
        Estimator with ``smoother="spline"``. It is fitted and returned.
    data : dask DataFrame, dask array of shape (n, p), or path
        A path is that of a Parquet file or of a folder of such files, each of them a partition, to which
        all workers must have access. A worker holds one partition of a DataFrame or an array in memory at a
        time, but only some rows of a file.
    confounder : str or list of str, or array of shape (n,) or (n, m), optional
        Columns of the confounders or, with an array, another array.
    variables : list of str, optional
        Columns of the variables; by default all others.
    groups : str, or array of shape (n,), optional
        Group (a subject, a batch) of every row: see ``fit``.
    design : SplineDesign, optional
        Design made by :func:`sample_design` or ``make_design``.
    client : distributed.Client, optional
        Client of the cluster; by default the latest client of this process, or else threads.
    checkpoint : path, optional
        Folder in which finished sums are stored. If the cluster is lost, the same call resumes from them.
        The table must not change in between; remove the folder afterwards.

    Returns
    -------
    estimator

    Raises
    ------
    PartitionError
        If a partition does not fit into a worker's memory.
    ClusterLostError
        If the scheduler is lost, or has no worker for the time of Dask's setting
        ``plaggm.no-workers-timeout`` (60 seconds by default).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> from plaggm import PLAGGM
    >>> from plaggm.distributed import fit_dask
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=0, even=True, threshold=60.0)
    >>> frame = pd.DataFrame(data.x, columns=list("abcdef")).assign(motion=data.confounder)
    >>> spread = dd.from_pandas(frame, npartitions=4)
    >>> model = fit_dask(PLAGGM(0.05, threshold=60.0), spread, confounder="motion")
    >>> whole = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> bool(np.abs(model.omega_ - whole.omega_).max() < 1e-8)
    True
    """
    _check_estimator(estimator)
    check_parameters(estimator)
    spec = fit_spec(estimator)
    spec.need_sums("fit_dask")
    spec.need_nothing_learnt("fit_dask")
    if spec.missing == "drop":
        raise ValueError(
            "fit_dask cannot leave out rows (missing='drop'): rows are numbered before workers look at "
            "them. Drop them first (frame.dropna()), or use fit_chunks."
        )
    if design is not None:
        check_design(design)
    if not (checkpoint is None or isinstance(checkpoint, str | os.PathLike)):
        raise TypeError(f"checkpoint must be the path of a folder; got {shown(checkpoint)}.")
    partitions = as_partitions(data, confounder=confounder, variables=variables, groups=groups)
    rows = open_partitions(
        partitions,
        type(estimator),
        client,
        checkpoint,
        spec=spec if design is None else None,
    )
    if design is None:
        return adopt(estimator, fit_network(spec, rows))
    grouped = groups is not None
    empty = start_stream(spec.penalties, rows.columns, design, grouped, spec.n_threads)
    stream = rows.sum_stream(empty)
    stream.check_memory()
    fit_stream(estimator, stream)
    return estimator


def sample_design(
    estimator: PLAGGM,
    data: Any,
    *,
    confounder: Any,
    variables: Sequence[str] | None = None,
    groups: Any = None,
    rows: int = SAMPLE_ROWS,
    client: Any = None,
) -> SplineDesign:
    """Choose threshold and functions from a random sample of the confounder.

    The range is that of all rows; quantiles are those of the sample, whose ranks have errors of about
    ``0.5 / sqrt(rows)``. The sample does not depend on the partitions.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
        Estimator for which the design is made.
    data, confounder, variables, groups, client
        See :func:`fit_dask`.
    rows : int, default=1000000
        Approximate size of the sample; all rows if there are fewer.

    Returns
    -------
    SplineDesign
        Design for ``fit_dask(..., design=...)``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from plaggm import PLAGGM
    >>> from plaggm.distributed import sample_design
    >>> draw = np.random.default_rng(0)
    >>> x = da.from_array(draw.standard_normal((1000, 5)), chunks=(250, 5))
    >>> motion = da.from_array(draw.gamma(1.0, size=1000), chunks=250)
    >>> design = sample_design(PLAGGM(threshold=0.5), x, confounder=motion, rows=300)
    >>> bool(design.high[0] == motion.max().compute())
    True
    """
    _check_estimator(estimator)
    check_count("rows", rows, 2)
    if confounder is None:
        raise ValueError("A design needs a confounder; without one fit_dask needs no design.")
    partitions = as_partitions(data, confounder=confounder, variables=variables, groups=groups)
    table = open_partitions(partitions, type(estimator), client)
    share = min(1.0, rows / table.starts[-1])
    tasks = [(start, share) for start in table.starts[:-1]]
    found = [one for one in table.each(sample_confounder, tasks) if one is not None]
    values = pd.concat([drawn for drawn, _, _ in found], ignore_index=True)
    low = np.fmin.reduce([least for _, least, _ in found])
    high = np.fmax.reduce([most for _, _, most in found])
    return estimator.make_design(
        values,
        n_features=len(table.columns.names),
        n_samples=table.starts[-1],
        confounder_range=(low, high),
    )


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, PLAGGM):
        raise TypeError(f"estimator must be a PLAGGM or a PLAGGMCV; got {shown(estimator)}.")
