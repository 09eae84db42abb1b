"""The test of no confounding, for tables and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from plaggm.arguments import check_count
from plaggm.core.confounding.confounding_test import ConfoundingTest
from plaggm.core.confounding.rearranged_test import REARRANGED, calibrated_test
from plaggm.core.spline.reference import deviations
from plaggm.data import ConfounderLike, TableLike, as_confounder, as_table
from plaggm.estimators.design import given_threshold, quantile_threshold
from plaggm.estimators.parameter_checks import random_generator
from plaggm.estimators.reference_choice import refer
from plaggm.estimators.row_warnings import warn_of_copies
from plaggm.estimators.serial import NO_RUNS, check_temporal, learn_series, run_numbers
from plaggm.group_labels import LabelsLike, group_numbers
from plaggm.parameter_types import ReferenceChoice, Seed, Temporal, Threshold


def confounding_test(
    X: TableLike,
    confounder: ConfounderLike,
    *,
    threshold: Threshold = "auto",
    reference: ReferenceChoice = "auto",
    categorical: str | Sequence[str] | None = None,
    temporal: Temporal | None = None,
    runs: LabelsLike | None = None,
    groups: LabelsLike | None = None,
    n_rearranged: int = REARRANGED,
    random_state: Seed = 0,
    verbose: int = 0,
) -> ConfoundingTest:
    r"""Test whether the network of the variables changes with the confounder at all.

    The null hypothesis is :math:`R(g) = 0` off the diagonal: the partial correlations, and with them the
    correlations, are the same at every value of the confounder. Means and variances may change with it,
    each variable's in its own way; that is no confounding of the network. Neither Gaussian data nor more
    samples than variables are needed. Samples must be independent, or time series with ``temporal``: the
    p-value is too small for autocorrelated rows otherwise.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables, one row for each sample.
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
        Confounders of the same rows.
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, below which the network is assumed to be constant. ``"auto"`` is the smallest quantile of the
        absolute confounder, from 10 % up, that leaves two samples below it for each variable; unlike
        :class:`plaggm.PLAGGM`, the test does not look for a better one.
    reference : "auto", "zero", "average", number, level or dict, default="auto"
        Where R is zero; see :class:`plaggm.PLAGGM`. The null hypothesis is the same for all references,
        which determine the order of values: by their distance from zero or from a value, or as they are.
    categorical : str or list of str, optional
        Names of confounders whose numbers are names of levels; see :class:`plaggm.PLAGGM`.
    temporal : {None, "ar"} or int, default=None
        See :class:`plaggm.PLAGGM`: rows are whitened, and the statistic is compared with those of
        confounders that are shifted circularly within runs.
    runs : array of shape (n,), optional
        Run of every row, as for ``PLAGGM.fit``; only with ``temporal``.
    groups : array of shape (n,), optional
        Group (a subject, a batch) of every row, where rows of a group depend on each other. Confounders
        that are constant within groups are exchanged between groups, which then count instead of rows;
        others are permuted within groups.
    n_rearranged : int, default=199
        Number of shifts, or of permutations where tails are heavy. The smallest possible p-value is
        ``1 / (n_rearranged + 1)``.
    random_state : int, RandomState or None, default=0
        Seed of shifts and permutations.
    verbose : int, default=0
        Whether to print progress messages.

    Returns
    -------
    ConfoundingTest
        Result with ``p_value``, ``statistic``, ``degrees_of_freedom``, ``method`` and ``n_rearranged``.

    Warns
    -----
    UserWarning
        If rows are copies of others, which are then counted once.

    Notes
    -----
    Smooth means and scales along the confounder are removed from the columns. The statistic sums, over all
    pairs and a few smooth functions of the confounder's ranks, the squared changes of the correlations
    along them, minus their expectation. Its distribution under the null hypothesis is that of a weighted
    sum of chi-squares whose first three cumulants are estimated. Outlying rows are winsorised.
    If a few rows still dominate (the mean square of the rows' squared influences is more than twice that
    of Gaussian rows), the statistic is compared with those of permuted confounders instead. So are
    p-values between 1e-8 and 0.2 if the null distribution has fewer than forty degrees of freedom, as for
    variables with a common factor, and smaller ones if it has fewer than six. Each of several confounders
    is also tested alone. The p-values from cumulants, one for each confounder and one for all together,
    are combined by the Cauchy combination test; with rearranged confounders the largest of the
    standardised statistics is compared.

    Examples
    --------
    >>> from plaggm import confounding_test
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=1500, seed=0, even=True, threshold=60.0)
    >>> confounding_test(data.x, data.confounder).p_value < 0.01
    True
    >>> same = simulate_paper(
    ...     6, n=600, seed=0, shape="none", mean_shift=1.0, variance_inflation=2.0
    ... )
    >>> confounding_test(same.x, same.confounder).p_value > 0.05
    True
    """
    x, _ = as_table(X)
    checked = refer(as_confounder(confounder, X, len(x), categorical), reference, threshold)
    distinct = np.arange(len(x))
    owners = None if groups is None else group_numbers(groups, len(x))[0]
    if temporal is None and groups is None:
        distinct = warn_of_copies(x, checked.values, "They are counted once.")
        x, checked = x[distinct], checked.rows(distinct)
    if isinstance(threshold, str):
        if threshold != "auto":
            raise ValueError(f"threshold must be 'auto', a number or an array; got {threshold!r}.")
        limits = quantile_threshold(checked, x.shape[1] + 1)
    else:
        limits = given_threshold(threshold, checked.names, checked.all_references)
    distances, limits = deviations(checked.values, limits, checked.all_references)
    check_count("n_rearranged", n_rearranged, 1)
    generator = random_generator(random_state)
    # An integer is the seed itself: by default the same as that of fitted models.
    given = isinstance(random_state, (int, np.integer))
    seed = int(cast(int, random_state)) if given else int(generator.randint(2**31))
    numbers = None
    if temporal is not None:
        check_temporal(temporal)
        numbers = run_numbers(runs, None, len(x))
        rows = [(x, checked.values)]
        # The actual confounder is compared with rearranged ones, so none may have its means removed before.
        serial = learn_series(temporal, lambda: rows, None, numbers, x.shape[1])
        x, _ = next(serial.whitening.whitened(rows, serial.position))
    elif runs is not None:
        raise ValueError(NO_RUNS)
    found = calibrated_test(
        x,
        distances,
        limits,
        runs=numbers,
        groups=owners,
        count=int(n_rearranged),
        seed=seed,
        progress=partial(_show, n_rearranged) if verbose else None,
    )
    if found.leading_row is None:
        return found
    return replace(found, leading_row=int(distinct[found.leading_row]))


def _show(count: int, share: float) -> None:
    """Print progress over the rearranged confounders, at most ten times."""
    done = round(share * count)
    if done % max(count // 10, 1) == 0 or done == count:
        print(f"[confounding_test] {done} of {count} rearranged confounders")
