"""One network from a table on many machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from plaggm.core.spline_design import SplineDesign, plain_design
from plaggm.core.spline_statistics import SplineStatistics
from plaggm.core.threads import single_threaded_blas
from plaggm.data import variable_names
from plaggm.distributed.checkpoint import Checkpoint
from plaggm.distributed.faults import partition_key
from plaggm.distributed.partition_sums import (
    PartitionLabels,
    Task,
    count_rows,
    read_head,
    read_labels,
    sample_confounder,
    take_rows,
)
from plaggm.distributed.partitions import ColumnNames, Partitions, as_partitions
from plaggm.distributed.reduction import gather, sum_partitions
from plaggm.estimators.chunked_fit import (
    Survey,
    conclude,
    settle_units,
    survey_chunks,
    variance_from_bins,
)
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.spline_model import spline_design
from plaggm.estimators.threshold_choice import sampled_rows, threshold_from_rows
from plaggm.group_labels import group_numbers
from plaggm.resume import Store, digest
from plaggm.selection import common_parts

Estimator = TypeVar("Estimator", bound=PLAGGM)

# Confounders from which a design is made if not all are gathered.
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
    """Estimate from a table whose rows lie on many machines; the same estimate as that of ``fit``.

    Workers turn each partition into sums, and add these up in a tree; what travels is sums, and the
    columns of confounders and groups. The fit itself runs on the client. Sums are added in the order of
    the partitions, so that the result does not depend on the workers.

    Without ``design`` the columns of confounders and groups come to the client (8 bytes a row and column),
    and folds are those of ``fit``. All columns are then read once, or twice for cross-validation and
    groups under ``variance="function"``. With ``design``, see :func:`sample_design`, no column comes to
    the client, all columns are read once, and folds are those of ``partial_fit``, which may go on
    afterwards.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
        With ``smoother="spline"``. It is fitted and returned.
    data : dask DataFrame, dask array of shape (n, p), or path
        A path is that of a Parquet file or of a folder of such files, each of them a partition; all
        workers must see it. A worker holds one partition of a DataFrame or an array at a time, but only
        some rows of a file.
    confounder : str or list of str, or array of shape (n,) or (n, m), optional
        Columns; with an array, another array.
    variables : list of str, optional
        Columns of the variables; all others when absent.
    groups : str, or array of shape (n,), optional
        Group (a subject, a batch) of every row: see ``fit``.
    design : SplineDesign, optional
        From :func:`sample_design` or ``make_design``.
    client : distributed.Client, optional
        Dask's default scheduler when absent: the latest client of this process, or threads.
    checkpoint : path, optional
        Folder in which finished sums are kept. If the cluster is lost, the same call goes on from them.
        The table must not change in between; remove the folder afterwards.

    Returns
    -------
    estimator

    Raises
    ------
    PartitionError
        If a partition does not fit into a worker's memory.
    ClusterLostError
        If the scheduler is lost, or has no worker for as long as Dask's setting
        ``plaggm.no-workers-timeout`` says (60 seconds).

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
    estimator._validate_params()
    estimator._need_spline("fit_dask")
    estimator._need_no_rows()
    partitions = as_partitions(data, confounder=confounder, variables=variables, groups=groups)
    client = _default_client() if client is None else client
    if design is None:
        parts = _read_labels(partitions, client)
        starts = _starts([part.n for part in parts])
        _learn_names(estimator, partitions, starts, client)
        _fit_gathered(estimator, partitions, parts, starts, client, checkpoint)
    else:
        starts = _starts(_count_rows(partitions, client))
        _learn_names(estimator, partitions, starts, client)
        _fit_streamed(estimator, partitions, design, groups is not None, starts, client, checkpoint)
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
    """Settle threshold and functions from a random sample of the confounder.

    The range is that of all rows; quantiles are those of the sample, whose ranks err by about
    ``0.5 / sqrt(rows)``. Rows are drawn by their numbers, so that the partitions do not matter.

    Parameters
    ----------
    estimator : PLAGGM or PLAGGMCV
    data, confounder, variables, groups, client
        As in :func:`fit_dask`.
    rows : int, default=1000000
        Size of the sample, nearly; all rows where there are fewer.

    Returns
    -------
    SplineDesign
        For ``fit_dask(..., design=...)``.

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
    if int(rows) < 2:
        raise ValueError(f"rows must be 2 or more; got {rows!r}.")
    if confounder is None:
        raise ValueError("A design needs a confounder; without one fit_dask needs no design.")
    partitions = as_partitions(data, confounder=confounder, variables=variables, groups=groups)
    client = _default_client() if client is None else client
    starts = _starts(_count_rows(partitions, client))
    head = _head(partitions, starts, client)
    part = min(1.0, rows / starts[-1])
    tasks = [(start, part) for start in starts[:-1]]
    found = [one for one in _each(partitions, sample_confounder, client, tasks) if one is not None]
    values: Any = np.concatenate([drawn for drawn, _, _ in found])
    low = np.min([least for _, least, _ in found], axis=0)
    high = np.max([most for _, _, most in found], axis=0)
    names = partitions.columns.confounder
    if names is not None:
        import pandas as pd

        names = [names] if isinstance(names, str) else list(names)
        values = pd.DataFrame(values, columns=names)
    return estimator.make_design(
        values,
        n_features=head.shape[1],
        n_samples=starts[-1],
        confounder_range=(low, high),
    )


def _default_client() -> Any:
    """The client that Dask is set to use, or the latest one of this process, if there is any."""
    import dask

    try:
        from distributed import Client, default_client
    except ImportError:
        return None
    chosen = dask.config.get("scheduler", None)
    if isinstance(chosen, Client):
        return chosen
    try:
        return default_client()
    except ValueError:
        return None


def _read_labels(partitions: Partitions, client: Any) -> tuple[PartitionLabels, ...]:
    return tuple(_each(partitions, read_labels, client))


def _count_rows(partitions: Partitions, client: Any) -> list[int]:
    return _each(partitions, count_rows, client)


def _each(
    partitions: Partitions, function: Any, client: Any, extra: Sequence[tuple[Any, ...]] = ()
) -> list[Any]:
    """A function of the confounders and groups of every partition."""
    from dask import delayed

    columns = ColumnNames(partitions.columns.confounder, None, partitions.columns.groups)
    more = extra or [()] * len(partitions.labels)
    tasks = [
        delayed(function, pure=False)(
            piece, columns, name, *rest, dask_key_name=partition_key(place)
        )
        for place, (piece, name, rest) in enumerate(
            zip(partitions.labels, partitions.names, more, strict=True)
        )
    ]
    return gather(tasks, client, partitions.names)


def _starts(rows: Sequence[int]) -> list[int]:
    """Number of the first row of every partition, and of all rows."""
    starts = [0, *np.cumsum(rows, dtype=np.int64).tolist()]
    if not starts[-1]:
        raise ValueError("There are no rows to fit: all partitions are empty.")
    return starts


def _head(partitions: Partitions, starts: Sequence[int], client: Any) -> Any:
    """The first row of the table, with the variables only."""
    from dask import delayed

    place = int(np.flatnonzero(np.diff(starts))[0])
    piece, name = partitions.pieces[place], partitions.names[place]
    task = delayed(read_head, pure=False)(
        piece, partitions.columns, name, dask_key_name=partition_key(place)
    )
    return gather([task], client, partitions.names)[0]


def _learn_names(
    estimator: PLAGGM, partitions: Partitions, starts: Sequence[int], client: Any
) -> None:
    """What the estimator takes from its first rows: names and number of the variables."""
    head = _head(partitions, starts, client)
    x = estimator._validate_x(head, reset=True, fewest=1)
    estimator._names = variable_names(head, x.shape[1])
    estimator._forget()


def _fit_streamed(
    estimator: PLAGGM,
    partitions: Partitions,
    design: SplineDesign,
    grouped: bool,
    starts: Sequence[int],
    client: Any,
    checkpoint: str | Path | None,
) -> None:
    """One pass over all columns, divided and concluded as ``partial_fit`` does."""
    if not design.one_pass:
        raise _several_confounders()
    task = Task(clone(estimator), partitions.columns, estimator._names, design, True, grouped)
    kept = _checkpoint(checkpoint, task, partitions, starts, None)
    stream = sum_partitions(partitions, task, None, starts, client, kept)
    stream.sums.n_threads = estimator._threads()
    estimator._check_memory(stream.sums)
    estimator._stream = stream
    estimator._estimate_stream(stream)


def _fit_gathered(
    estimator: PLAGGM,
    partitions: Partitions,
    labels: tuple[PartitionLabels, ...],
    starts: Sequence[int],
    client: Any,
    checkpoint: str | Path | None,
) -> None:
    """Passes over all columns as ``fit_chunks`` makes them, with its design and its folds."""
    survey = survey_chunks(chunk for part in labels for chunk in part.chunks)
    numbers = None if survey.groups is None else group_numbers(survey.groups, survey.n)[0]
    folds = estimator._row_folds(survey.n, survey.groups)
    parts = None
    if folds or numbers is not None:
        parts = common_parts(folds, survey.n, numbers)
    design, observed = plain_design(), np.zeros((0, 0))
    if survey.confounder is not None:
        observed = survey.confounder.values
        design = spline_design(
            survey.confounder,
            len(estimator._names) + 1,
            threshold=_threshold(estimator, partitions, survey, starts, client),
            variance_function=estimator.variance == "function",
        )
    if not design.one_pass:
        raise _several_confounders()
    # Without a variance's factor the weights are known beforehand.
    known = not design.variance_basis.sides
    sets = None if parts is None else _narrowed(parts.labels)
    task = Task(
        clone(estimator), partitions.columns, estimator._names, design, False, numbers is not None
    )

    def reduced(task: Task, sets: NDArray[np.integer[Any]] | None) -> Any:
        kept = _checkpoint(checkpoint, task, partitions, starts, sets)
        return sum_partitions(partitions, task, sets, starts, client, kept).sums

    sums = reduced(task, sets if known else None)
    location, scale = settle_units(estimator, sums)
    variance, total = variance_from_bins(sums, location, scale)
    pieces: tuple[SplineStatistics, ...] = (total,)
    if parts is not None:
        summed = sums if known else reduced(replace(task, variance=variance), sets)
        # Statistics of bins that were weighted row by row need no weights of their own.
        pieces = summed.parts(np.ones(design.bins.count), location, scale, parts.count)
    data = conclude(estimator, sums, (location, scale), variance, total, pieces, observed)
    estimator._estimate(data, [] if parts is None else parts.folds)
    if numbers is not None:
        estimator._keep_groups(data.profiler, numbers, parts)


def _threshold(
    estimator: PLAGGM,
    partitions: Partitions,
    survey: Survey,
    starts: Sequence[int],
    client: Any,
) -> Any:
    """The estimator's threshold; for ``"auto"`` evenly spaced rows come to the client."""
    from dask import delayed

    confounder = survey.confounder
    if not isinstance(estimator.threshold, str) or confounder is None:
        return estimator.threshold
    wanted = sampled_rows(survey.n, survey.p + 1, len(confounder.names))
    ends = np.searchsorted(wanted, starts)
    model = clone(estimator)
    tasks = []
    for place, (piece, name) in enumerate(zip(partitions.pieces, partitions.names, strict=True)):
        first = starts[place]
        numbers = wanted[ends[place] : ends[place + 1]] - first
        if len(numbers):
            settings = (partitions.columns, name, numbers, first, model)
            key = partition_key(place)
            tasks.append(delayed(take_rows, pure=False)(piece, *settings, dask_key_name=key))
    x = np.concatenate(gather(tasks, client, partitions.names))
    return threshold_from_rows(estimator, x, confounder, wanted)


def _several_confounders() -> ValueError:
    return ValueError(
        "Several confounders exceed their thresholds, and how they inflate the variance cannot be learnt "
        "from sums alone. Use variance='conditional', or fit_chunks."
    )


def _narrowed(labels: NDArray[np.intp]) -> NDArray[np.integer[Any]]:
    """Labels in as few bytes as hold them: they travel to the workers."""
    return labels.astype(np.min_scalar_type(int(labels.max())))


def _checkpoint(
    folder: str | Path | None,
    task: Task,
    partitions: Partitions,
    starts: Sequence[int],
    sets: NDArray[np.integer[Any]] | None,
) -> Checkpoint | None:
    if folder is None:
        return None
    design = task.design
    ends = np.array(starts)
    key = digest(
        *(task.names, partitions.names, task.columns, design.names, design.basis, task.streamed),
        *(design.threshold, design.bins.edges, design.bins.centres, ends, task.grouped),
        *(() if sets is None else (sets,)),
        *(() if task.variance is None else (task.variance.basis, task.variance.coefficients)),
        *((task.estimator._stream_part_count(),) if task.streamed else ()),
    )
    return Checkpoint(Store(Path(folder), compress=False), key)
