"""Fitting rows that come in chunks, and resampling the groups that rows belong to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from plaggm.chunks import CHUNK_ROWS, RowChunks, as_chunks
from plaggm.core.binned_variance import bin_weights
from plaggm.core.profile.profilers import SplineParts
from plaggm.core.row_hash import empty_sample
from plaggm.core.spline_design import SplineDesign, plain_design
from plaggm.core.threads import single_threaded_blas
from plaggm.data import Confounder, as_confounder, new_confounder, variable_names
from plaggm.estimators import group_methods
from plaggm.estimators.chunked_fit import (
    Survey,
    conclude,
    prepare_chunks,
    settle_units,
    survey_chunks,
    variance_from_bins,
)
from plaggm.estimators.group_methods import GroupMethods
from plaggm.estimators.preparation import Prepared
from plaggm.estimators.row_sums import RowSums
from plaggm.estimators.spline_model import spline_design
from plaggm.estimators.stream import Stream
from plaggm.estimators.threshold_choice import settled_threshold
from plaggm.group_labels import group_numbers
from plaggm.selection import common_parts
from plaggm.selection.parts import Fold, Index

if TYPE_CHECKING:
    from typing import Self

Array = NDArray[np.float64]

# Confounders of a stream that are remembered, for the grid and the picture of a result.
REMEMBERED = 4096


def _is_spline(model: Any) -> bool:
    """Whether a model has what needs statistics that add up; raises with the reason if not."""
    if model.smoother != "spline":
        raise AttributeError(_needs_spline("partial_fit", model.smoother))
    return True


def _needs_spline(what: str, smoother: str) -> str:
    return (
        f"{what} needs smoother='spline', whose statistics add up over rows; smoother={smoother!r} needs "
        "all rows at once: use fit."
    )


class StreamingMethods(GroupMethods):
    """Fits from chunks of rows, exact by virtue of the spline's statistics, which add up."""

    if TYPE_CHECKING:
        smoother: str
        threshold: Any
        variance: str
        _stream: Stream

        def _estimate(self, data: Prepared, folds: list[Fold]) -> None: ...

    @_fit_context(prefer_skip_nested_validation=True)
    @single_threaded_blas()
    def fit_chunks(
        self,
        chunks: Any,
        y: Any = None,
        *,
        confounder: Any = None,
        variables: Any = None,
        groups: Any = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Self:
        """Estimate from a table that need not fit into memory; the same estimate as that of ``fit``.

        The data are read at least twice: confounders and groups first, which must fit into memory, then
        all columns. Cross-validation and groups take one more reading, and several confounders that
        inflate the variance take several more (``variance="conditional"`` saves these). Needs
        ``smoother="spline"``.

        Parameters
        ----------
        chunks : path, iterable or callable
            A CSV file (``.csv``; ``.tsv`` and ``.txt`` with tabs; also compressed), a Parquet file or a
            folder of Parquet files; or an iterable of chunks, or a function that returns one. A chunk is
            a DataFrame, or ``(X, confounder)``, or ``(X, confounder, groups)``. A generator will not do,
            since it can be read only once.
        y : ignored
        confounder : str or list of str, optional
            Columns that hold the confounders, for files and DataFrames.
        variables : list of str, optional
            Columns of the variables; all others when absent.
        groups : str, optional
            Column with the group (a subject, a batch) of every row: see ``fit``.
        chunk_rows : int, default=65536
            Rows of a file that are held at a time.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> from plaggm.simulate import simulate_paper
        >>> data = simulate_paper(6, n=400, seed=0, even=True, threshold=60.0)
        >>> whole = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
        >>> halves = [
        ...     (data.x[:150], data.confounder[:150]),
        ...     (data.x[150:], data.confounder[150:]),
        ... ]
        >>> streamed = PLAGGM(0.05, threshold=60.0).fit_chunks(halves)
        >>> bool(np.abs(whole.omega_ - streamed.omega_).max() < 1e-8)
        True
        """
        self._need_spline("fit_chunks")
        self._need_no_rows()
        source = as_chunks(
            chunks,
            confounder=confounder,
            variables=variables,
            groups=groups,
            chunk_rows=chunk_rows,
        )
        self._forget()
        survey = survey_chunks(source.labels())
        numbers = None if survey.groups is None else group_numbers(survey.groups, survey.n)[0]
        folds = self._row_folds(survey.n, survey.groups)
        parts = None
        if folds or numbers is not None:
            parts = common_parts(folds, survey.n, numbers)
        self._say(f"{survey.n} rows of {survey.p} variables, chunk by chunk")
        names = self._checked_names(source)
        data = prepare_chunks(
            self,  # type: ignore[arg-type]
            lambda: self._checked_rows(source, survey),
            names,
            survey,
            parts,
            self._threads(),
        )
        self._estimate(data, [] if parts is None else parts.folds)
        if numbers is not None:
            self._keep_groups(data.profiler, numbers, parts)
        return self

    @available_if(_is_spline)
    @_fit_context(prefer_skip_nested_validation=True)
    @single_threaded_blas()
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        confounder: Any = None,
        groups: Any = None,
        design: SplineDesign | None = None,
        refit: bool = True,
    ) -> Self:
        """Add rows to those of earlier calls, and estimate from all of them.

        No row is kept. What has to be known before rows can be summed is the design: the threshold, and
        where the functions of the confounder lie. It comes from the rows of the first call, or
        from :meth:`make_design`, or from another model's ``design_``. With the design of ``fit`` the
        estimate equals that of ``fit``, however the rows are divided or ordered. Scaling needs no
        provision: the statistics are brought to the units of all rows in the end.

        The variance's factor is learnt from the statistics of bins of the confounder, so that
        ``variance="function"`` needs no second look at the rows either. Only if several confounders
        exceed their thresholds that is not possible: use :meth:`fit_chunks`, or
        ``variance="conditional"``.

        After ``fit`` or ``fit_chunks`` the first call starts anew.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
        y : ignored
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            In all calls or in none; within the range of the design.
        groups : array of shape (n,), optional
            Group of every row, for :meth:`bootstrap` and for cross-validation that leaves out groups;
            in all calls or in none. A group may return in later calls.
        design : SplineDesign, optional
            In the first call only.
        refit : bool, default=True
            Whether to estimate now. With False rows are only summed, and the fitted attributes stay as
            they were: the way to take many small chunks.

        Returns
        -------
        self
        """
        self._need_no_rows()
        first = not hasattr(self, "_stream")
        if not first and design is not None and not design.same_as(self._stream.sums.design):
            raise ValueError(
                "The design was settled by the first call of partial_fit; pass design= there, or start "
                "anew with a fresh model."
            )
        x, values = self._validate_chunk(X, confounder, design, first)
        grouped = groups is not None
        if first and design is None and confounder is not None:
            design = self._first_design(x, as_confounder(confounder, X, len(x)))
        stream = self._start_stream(design, grouped) if first else self._stream
        if stream.grouped != grouped:
            raise ValueError("Pass groups in all calls of partial_fit or in none.")
        sums = stream.sums
        self._check_range(values, sums.design)
        numbers = None if groups is None else stream.numbers(groups, len(x))
        sums.add(x, values, self._stream_parts(sums.n, len(x), numbers))
        stream.sample = stream.sample.extended(sums.n - len(x), values)
        self._stream = stream
        self._check_memory(sums)
        if refit:
            self._estimate_stream(stream)
        return self

    @available_if(_is_spline)
    @single_threaded_blas()
    def merge(self, other: StreamingMethods, *, refit: bool = True) -> Self:
        """Add the rows that another model has seen in its own calls of :meth:`partial_fit`.

        So workers can share the rows of one table: give all of them the same design, and merge what
        they send back. The other model stays as it is.

        Parameters
        ----------
        other : PLAGGM or PLAGGMCV
            With the same design and the same variables.
        refit : bool, default=True
            Whether to estimate now.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> from plaggm.simulate import simulate_paper
        >>> data = simulate_paper(6, n=400, seed=0, even=True, threshold=60.0)
        >>> design = PLAGGM(threshold=60.0).make_design(data.confounder, n_features=6)
        >>> workers = [
        ...     PLAGGM(0.05, threshold=60.0).partial_fit(
        ...         data.x[rows], confounder=data.confounder[rows], design=design, refit=False
        ...     )
        ...     for rows in np.split(np.arange(400), 4)
        ... ]
        >>> model = workers[0]
        >>> for worker in workers[1:]:
        ...     model = model.merge(worker, refit=worker is workers[-1])
        >>> model.omega_.shape
        (6, 6)
        """
        for model in (self, other):
            if not hasattr(model, "_stream"):
                raise ValueError(
                    "merge adds the rows of two models that were given theirs by partial_fit; "
                    f"{'this' if model is self else 'the other'} one has none."
                )
        mine, theirs = self._stream, other._stream
        if not mine.sums.design.same_as(theirs.sums.design):
            raise ValueError(
                "The two models have different designs, so that their rows do not add up. Pass the same "
                "design= to the first partial_fit of both: see make_design."
            )
        if mine.sums.names != theirs.sums.names:
            odd = sorted(set(mine.sums.names) ^ set(theirs.sums.names))
            raise ValueError(
                f"The two models have different variables, or in another order: {odd or 'same names'}."
            )
        if mine.grouped != theirs.grouped:
            raise ValueError("One of the two models has groups and the other has none.")
        if self._stream_part_count() != other._stream_part_count():
            raise ValueError("The two models have different folds (cv and criterion must agree).")
        mine.absorb(theirs)
        self._check_memory(mine.sums)
        if refit:
            self._estimate_stream(mine)
        return self

    def make_design(
        self,
        confounder: Any,
        *,
        n_features: int,
        n_samples: int | None = None,
        confounder_range: Any = None,
    ) -> SplineDesign:
        """Settle the threshold and the functions of the confounder for :meth:`partial_fit`.

        Parameters
        ----------
        confounder : array, Series or DataFrame of shape (k,) or (k, m)
            Values such as those to come; their quantiles place the functions, and the threshold
            where it is ``"auto"``: without variables there is no likelihood to choose it by.
        n_features : int
            Number of variables.
        n_samples : int, optional
            Rows to come: few rows bear few functions. As many as there are values when absent.
        confounder_range : (low, high), optional
            Smallest and largest value that may come, numbers or one for each confounder; those of
            ``confounder`` when absent. Values outside are refused later.

        Returns
        -------
        SplineDesign

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> motion = np.random.default_rng(0).gamma(1.0, size=200)
        >>> model = PLAGGM(threshold=0.5)
        >>> design = model.make_design(motion, n_features=10, confounder_range=(0.0, 20.0))
        >>> design.high
        array([20.])
        """
        self._validate_params()  # type: ignore[attr-defined]
        self._need_spline("make_design")
        checked = as_confounder(confounder, None, len(np.asarray(confounder)))
        m = len(checked.names)
        limits = None
        if confounder_range is not None:
            try:
                low, high = (
                    np.broadcast_to(np.asarray(end, dtype=np.float64), (m,)).copy()
                    for end in confounder_range
                )
            except (TypeError, ValueError) as error:
                raise ValueError(
                    "confounder_range must be (low, high), each a number or one for each of the "
                    f"{m} confounders; got {confounder_range!r}."
                ) from error
            inside = (low <= checked.values.min(axis=0)) & (checked.values.max(axis=0) <= high)
            if not np.all(inside):
                odd = int(np.argmin(inside))
                seen = checked.values[:, odd]
                raise ValueError(
                    f"confounder_range of {checked.names[odd]!r} is {low[odd]:g} to {high[odd]:g}, but its "
                    f"values go from {seen.min():g} to {seen.max():g}."
                )
            limits = (low, high)
        return spline_design(
            checked,
            int(n_features) + 1,
            threshold=self.threshold,
            variance_function=self.variance == "function",
            n_samples=n_samples,
            confounder_range=limits,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "omega_")

    def _need_spline(self, what: str) -> None:
        if self.smoother != "spline":
            raise ValueError(_needs_spline(what, self.smoother))

    def _need_no_rows(self) -> None:
        """Raise for settings that cannot do without the rows, in estimators that have such."""

    def _forget(self) -> None:
        """Drop what earlier fits left behind."""
        self._groups = None
        for name in ("_stream", "edge_stability_", "design_"):
            if hasattr(self, name):
                delattr(self, name)

    def _row_folds(self, n: int, groups: Any) -> list[Fold]:
        """Training and test rows, for estimators that cross-validate."""
        return []

    def _stream_parts(self, start: int, n: int, groups: Index | None) -> Index | None:
        """Part of each of n rows, the first of them number ``start``."""
        return groups

    def _stream_part_count(self) -> int:
        """Parts into which rows without groups are divided as they come."""
        return 1

    def _stream_folds(self, parts: int, grouped: bool) -> list[Fold]:
        """Folds of parts, for estimators that cross-validate."""
        return []

    def _checked_names(self, source: RowChunks) -> tuple[str, ...]:
        """Names of the variables, from the first chunk, which is checked as the first of a fit."""
        chunk = next(source.rows())
        x = self._validate_x(chunk.x, reset=True, fewest=1)
        self._names = variable_names(chunk.x, x.shape[1])
        return self._names

    def _checked_rows(
        self, source: RowChunks, survey: Survey
    ) -> Iterator[tuple[Array, Array, int]]:
        """Validated rows of every chunk, with the number of the first."""
        start = 0
        for chunk in source.rows():
            x = self._validate_x(chunk.x, reset=False, first_row=start)
            values = np.zeros((len(x), 0))
            if survey.confounder is not None:
                values = new_confounder(chunk.confounder, survey.confounder.names, chunk.x, len(x))
            start += len(x)
            if start > survey.n:
                break
            if self.verbose > 1:
                self._say(f"{start} of {survey.n} rows")
            yield x, values, start - len(x)
        if start != survey.n:
            raise ValueError(
                f"The data changed between two readings: {survey.n} rows at first, "
                f"{'more' if start > survey.n else start} later. Every reading must yield the same rows "
                "in the same order."
            )

    def _validate_chunk(
        self, X: Any, confounder: Any, design: SplineDesign | None, first: bool
    ) -> tuple[Array, Array]:
        """Rows of a stream and their confounders, checked against those before."""
        start = 0 if first else self._stream.sums.n
        x = self._validate_x(X, reset=first, fewest=1, first_row=start)
        if first:
            self._names = variable_names(X, x.shape[1])
        known = design if first else self._stream.sums.design
        if known is None:
            if confounder is None:
                return x, np.zeros((len(x), 0))
            return x, as_confounder(confounder, X, len(x)).values
        if not known.m:
            if confounder is not None:
                raise ValueError(
                    "The first chunk came without confounder, so this one cannot have one."
                )
            return x, np.zeros((len(x), 0))
        return x, new_confounder(confounder, known.names, X, len(x))

    def _first_design(self, x: Array, confounder: Confounder) -> SplineDesign:
        """The design of a stream that was given none, from its first rows."""
        return spline_design(
            confounder,
            x.shape[1] + 1,
            threshold=settled_threshold(self, x, confounder),  # type: ignore[arg-type]
            variance_function=self.variance == "function",
        )

    def _start_stream(self, design: SplineDesign | None, grouped: bool) -> Stream:
        self._forget()
        design = plain_design() if design is None else design
        if not design.one_pass:
            raise ValueError(
                "Several confounders exceed their thresholds, and how they inflate the variance cannot be "
                "learnt in one pass. Use fit_chunks, or variance='conditional'."
            )
        sums = RowSums(design, self._names, self._threads())
        return Stream(sums, empty_sample(design.m, REMEMBERED), grouped)

    def _check_range(self, values: Array, design: SplineDesign) -> None:
        outside = (values < design.low) | (values > design.high)
        if not outside.any():
            return
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"confounder {design.names[column]!r} is {values[row, column]:g} in row {row} of this chunk, "
            f"outside the range {design.low[column]:g} to {design.high[column]:g} that the design was made "
            "for. Make it for the whole range, make_design(..., confounder_range=(low, high)), and pass "
            "it as design= in the first call of partial_fit."
        )

    def _check_memory(self, sums: RowSums) -> None:
        one = next(iter(sums.cells.values())).sums.nbytes if sums.cells else 0
        if len(sums.cells) * one > group_methods.MOST_BYTES:
            raise ValueError(
                f"The statistics of {len(sums.cells)} groups and bins of the confounder take "
                f"{len(sums.cells) * one / 1e9:.1f} GB. Use fit_chunks, which reads the data again "
                "instead, or variance='conditional', which needs no bins."
            )

    def _estimate_stream(self, stream: Stream) -> None:
        sums = stream.sums
        sums.check_coverage()
        location, scale = settle_units(self, sums)  # type: ignore[arg-type]
        variance, total = variance_from_bins(sums, location, scale)
        count = max(sums.cells) // sums.design.bins.count + 1
        pieces = sums.parts(bin_weights(sums.design, variance), location, scale, count)
        order = np.argsort(stream.sample.hashes)
        data = conclude(
            self,  # type: ignore[arg-type]
            sums,
            (location, scale),
            variance,
            total,
            pieces,
            stream.sample.values[order],
        )
        self._estimate(data, self._stream_folds(count, stream.grouped))
        if stream.grouped and isinstance(data.profiler, SplineParts):
            self._groups = data.profiler
