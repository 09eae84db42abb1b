"""Public methods that fit an estimator to rows; all of them call `plaggm.estimators.walk`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from plaggm.arguments import check_count
from plaggm.array_types import Array
from plaggm.chunks import CHUNK_ROWS, as_chunks
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.core.spline.design import SplineDesign, plain_design
from plaggm.data import ConfounderLike, TableLike, as_confounder
from plaggm.estimators.chunk_rows import open_chunks
from plaggm.estimators.columns import FEWEST_COLUMNS, read_columns
from plaggm.estimators.confounder_values import checked_range
from plaggm.estimators.design import spline_design
from plaggm.estimators.fitted_estimator import FittedEstimator, adopt
from plaggm.estimators.missing_rows import drop_incomplete
from plaggm.estimators.parameter_checks import Method, check_parameters, checks_parameters
from plaggm.estimators.row_warnings import warn_of_dependence
from plaggm.estimators.rows import RowLabels, array_rows, memory_rows
from plaggm.estimators.spec import FitSpec, fit_spec, needs_spline
from plaggm.estimators.stream import Stream, check_design, chunk_confounder, start_stream
from plaggm.estimators.threshold_choice import make_design
from plaggm.estimators.walk import fit_network, network_from_statistics
from plaggm.group_labels import LabelsLike
from plaggm.wording import shown

if TYPE_CHECKING:
    from typing import Self


ChunksLike: TypeAlias = str | os.PathLike[str] | Iterable[object] | Callable[[], Iterable[object]]
Fitted = TypeVar("Fitted", bound="FitMethods")


def _is_spline(model: FitMethods) -> bool:
    """True if a model's statistics add up over rows; raises AttributeError otherwise."""
    if model.smoother != "spline":
        raise AttributeError(needs_spline("partial_fit", model.smoother))
    return True


# Decorator of methods that need statistics that add up over rows.
_splines_only: Callable[[Method], Method] = available_if(_is_spline)


class FitMethods(FittedEstimator):
    """Fits to arrays, to chunks that can be read again, and to chunks that are read once."""

    smoother: str

    @checks_parameters
    @single_threaded_blas()
    def fit(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        groups: LabelsLike | None = None,
        runs: LabelsLike | None = None,
    ) -> Self:
        """Estimate the baseline network.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Confounders of the same rows. Without it the plain pseudo-likelihood model is fitted.
        groups : array of shape (n,), optional
            Group of every row, such as the subject. :meth:`bootstrap` then resamples groups, an integer
            ``cv`` divides groups instead of rows, and standard errors come from leaving out groups.
        runs : array of shape (n,), optional
            Run of every row; only with ``temporal``. A time series ends where the run or the group changes,
            and the filter does not reach across. Rows before and after a gap need different runs.
            By default the rows of each group are one series.

        Returns
        -------
        self
        """
        spec = fit_spec(self)
        rows = array_rows(spec, type(self), X, confounder, groups, runs)
        network = fit_network(spec, rows)
        if not rows.labels.incomplete:
            warn_of_dependence(rows)
        return adopt(self, network)

    @checks_parameters
    @single_threaded_blas()
    def fit_chunks(
        self,
        chunks: ChunksLike,
        y: object = None,
        *,
        confounder: str | Sequence[str] | None = None,
        variables: Sequence[str] | None = None,
        groups: str | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Self:
        """Estimate from a table that need not fit into memory; the estimate equals that of ``fit``.

        The data are read at least twice: first the confounders and groups, which must fit into memory, then
        all columns. A further reading is needed if the sums of folds, groups or blocks by bins of the
        confounder would exceed 64 MB (for ten folds from about 40 variables on), and several more if
        several confounders inflate the variance (not with ``variance="conditional"``). ``temporal`` needs
        four more, ``missing="em"`` one for each step of EM (about ten to fifty) and nine for standard
        errors. Needs ``smoother="spline"``.

        Parameters
        ----------
        chunks : path, iterable or callable
            A text table (``.csv``, ``.tsv``, ``.tab`` or ``.txt``; also compressed), a Parquet file or a
            folder of Parquet files; or an iterable of chunks, or a function that returns one. A chunk is
            a DataFrame, or ``(X, confounder)``, or ``(X, confounder, groups)``. Generators are not
            allowed, since they can be read only once.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : str or list of str, optional
            Columns that hold the confounders, for files and DataFrames.
        variables : list of str, optional
            Columns of the variables; by default all others.
        groups : str, optional
            Column with the group (a subject, a batch) of every row: see ``fit``. With ``temporal`` a
            time series ends where it changes, and chunks are filtered as if they were one table.
        chunk_rows : int, default=65536
            Rows of a file that are held in memory at a time.

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
        spec = fit_spec(self)
        spec.need_sums("fit_chunks")
        source = as_chunks(
            chunks,
            confounder=confounder,
            variables=variables,
            groups=groups,
            chunk_rows=chunk_rows,
        )
        return adopt(self, fit_network(spec, open_chunks(spec, type(self), source)))

    @_splines_only
    @checks_parameters
    @single_threaded_blas()
    def partial_fit(
        self,
        X: TableLike,
        y: object = None,
        *,
        confounder: ConfounderLike | None = None,
        groups: LabelsLike | None = None,
        design: SplineDesign | None = None,
        refit: bool = True,
    ) -> Self:
        """Add rows to those of earlier calls, and estimate from all of them.

        Only sums over rows are stored. They need a design, that is, the threshold and the functions of the
        confounder, which comes from the rows of the first call, from :meth:`make_design`, or from another
        model's ``design_``. With the design of ``fit`` the estimate equals that of ``fit``, in whatever
        chunks or order the rows come. Variables need not be scaled beforehand.

        If several confounders exceed their thresholds, ``variance="function"`` is not possible: use
        ``fit_chunks``, or ``variance="conditional"``. For ``missing="em"`` use ``fit_chunks``.

        Standard errors allow for heavy tails as in ``fit`` if rows are summed by folds, or by ten blocks,
        which requires that these sums take at most 64 MB (about 40 variables with one confounder).

        After ``fit`` or ``fit_chunks`` the first call starts anew.

        Parameters
        ----------
        X : array or DataFrame of shape (n, p)
            Variables of the network, one row for each sample.
        y : ignored
            Present for scikit-learn's pipelines.
        confounder : array, Series or DataFrame of shape (n,) or (n, m), optional
            Confounders of the same rows, within the range of the design; in all calls or in none.
        groups : array of shape (n,), optional
            Group of every row, for :meth:`bootstrap` and for cross-validation that leaves out groups;
            in all calls or in none. A group may return in later calls.
        design : SplineDesign, optional
            Design; only in the first call.
        refit : bool, default=True
            Whether to estimate now. If False, rows are only summed and the fitted attributes do not change,
            which is faster for many small chunks.

        Returns
        -------
        self
        """
        spec = fit_spec(self)
        spec.need_sums("partial_fit")
        spec.need_nothing_learnt("partial_fit")
        if design is not None:
            check_design(design)
        if spec.missing == "drop":
            X, confounder, groups = drop_incomplete(type(self), X, confounder, groups)
        stream = self._stream
        if stream is None:
            stream, x, values = _first_rows(spec, type(self), X, confounder, groups, design)
        elif design is None or design.same_as(stream.sums.design):
            x, values = stream.values(X, confounder)
        else:
            raise ValueError(
                "The design was settled by the first call of partial_fit; pass design= there, or start "
                "anew with a fresh model."
            )
        stream.add(x, values, groups)
        self._stream = stream
        stream.check_memory()
        return fit_stream(self, stream) if refit else self

    @_splines_only
    @single_threaded_blas()
    def merge(self, other: FitMethods, *, refit: bool = True) -> Self:
        """Add the rows that another model was given by :meth:`partial_fit`.

        The rows of one table can thus be divided between workers: give all of them the same design, and
        merge their models. The other model is not changed.

        Parameters
        ----------
        other : PLAGGM or PLAGGMCV
            Estimator with the same design and the same variables.
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
        if not isinstance(other, FitMethods):
            raise TypeError(f"merge takes a PLAGGM or a PLAGGMCV; got {shown(other)}.")
        mine, theirs = self._stream, other._stream
        if mine is None or theirs is None:
            raise ValueError(
                "merge adds the rows of two models that were given theirs by partial_fit; "
                f"{'this' if mine is None else 'the other'} one has none."
            )
        mine.check_mergeable(theirs)
        mine.absorb(theirs)
        mine.check_memory()
        return fit_stream(self, mine) if refit else self

    def make_design(
        self,
        confounder: ConfounderLike,
        *,
        n_features: int,
        n_samples: int | None = None,
        confounder_range: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> SplineDesign:
        """Choose the threshold and the functions of the confounder for :meth:`partial_fit`.

        Parameters
        ----------
        confounder : array, Series or DataFrame of shape (k,) or (k, m)
            Typical values. Their quantiles determine the functions and, with ``threshold="auto"``, the
            threshold: without variables there is no likelihood by which to choose it.
        n_features : int
            Number of variables.
        n_samples : int, optional
            Expected number of rows, which limits the number of functions; by default the number of values.
        confounder_range : (low, high), optional
            Smallest and largest allowed value, numbers or one for each confounder; by default those of
            ``confounder``. Values outside are refused later.

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
        check_parameters(self)
        spec = fit_spec(self)
        if spec.smoother != "spline":
            raise ValueError(needs_spline("make_design", spec.smoother))
        check_count("n_features", n_features, FEWEST_COLUMNS)
        if n_samples is not None:
            check_count("n_samples", n_samples, 1)
        checked = spec.referred(as_confounder(confounder, None, None, spec.categorical))
        limits = None
        if confounder_range is not None:
            limits = checked_range(confounder_range, checked)
        return spline_design(
            checked,
            int(n_features) + 1,
            threshold=spec.threshold,
            variance_function=spec.inflation,
            n_samples=None if n_samples is None else min(n_samples, sys.maxsize),
            confounder_range=limits,
        )


def fit_stream(estimator: Fitted, stream: Stream) -> Fitted:
    """Fit an estimator to the rows of a stream so far; further rows may follow."""
    spec = fit_spec(estimator)
    return adopt(estimator, network_from_statistics(spec, stream.statistics(spec)), stream)


def _first_rows(
    spec: FitSpec,
    owner: type,
    X: TableLike,
    confounder: ConfounderLike | None,
    groups: LabelsLike | None,
    design: SplineDesign | None,
) -> tuple[Stream, Array, Array]:
    """A new stream and its validated first rows, from which the design is made if none is given."""
    x, columns = read_columns(owner, X, fewest=1)
    if design is not None:
        values = chunk_confounder(design, X, confounder, len(x))
    elif confounder is None:
        design, values = plain_design(), np.zeros((len(x), 0))
    else:
        checked = spec.referred(as_confounder(confounder, X, len(x), spec.categorical))
        labels = RowLabels(len(x), columns, checked, None)
        design, values = make_design(spec, memory_rows(spec, x, labels)), checked.values
    stream = start_stream(spec.penalties, columns, design, groups is not None, spec.n_threads)
    return stream, x, values
