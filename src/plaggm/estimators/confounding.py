"""The test of no confounding, for tables and frames."""

from __future__ import annotations

from plaggm.core import confounding_test as core
from plaggm.core.confounding_test import ConfoundingTest
from plaggm.data import ConfounderLike, TableLike, as_confounder, as_positive, as_table
from plaggm.estimators.design import quantile_threshold
from plaggm.parameter_types import Threshold


def confounding_test(
    X: TableLike, confounder: ConfounderLike, *, threshold: Threshold = "auto"
) -> ConfoundingTest:
    r"""Test whether the network of the variables changes with the confounder at all.

    The null hypothesis is :math:`R(g) = 0` off the diagonal: the partial correlations, and with them the
    correlations, are the same at every value of the confounder. Means and variances may change with it,
    each variable's in its own way; that is no confounding of the network. Neither Gaussian data nor more
    samples than variables are needed, but independent samples are: with autocorrelated rows the p-value
    is too small.

    Parameters
    ----------
    X : array or DataFrame of shape (n, p)
        Variables, one row for each sample.
    confounder : array, Series or DataFrame of shape (n,) or (n, m)
        Confounders of the same rows.
    threshold : "auto", float or array of shape (m,), default="auto"
        g*, below which the network is taken as constant. ``"auto"`` is the smallest quantile of the
        absolute confounder, from 10 % up, that leaves three samples below it for each variable; unlike
        :class:`plaggm.PLAGGM`, the test does not look for a better one.

    Returns
    -------
    ConfoundingTest
        Result with ``p_value``, ``statistic`` and ``degrees_of_freedom``.

    Notes
    -----
    Columns are freed of smooth means and scales along the confounder. The statistic sums, over all
    pairs and a few smooth functions of the confounder's ranks, the squared changes of the correlations
    along them, less their expectation; its distribution under the null hypothesis is that of a weighted
    sum of chi-squares whose first three cumulants are estimated. Rows that are far out are pulled back.

    Examples
    --------
    >>> from plaggm import confounding_test
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=1500, seed=0, even=True, threshold=60.0)
    >>> confounding_test(data.x, data.confounder).p_value < 0.001
    True
    >>> same = simulate_paper(
    ...     6, n=600, seed=0, shape="none", mean_shift=1.0, variance_inflation=2.0
    ... )
    >>> confounding_test(same.x, same.confounder).p_value > 0.05
    True
    """
    x, _ = as_table(X)
    checked = as_confounder(confounder, X, len(x))
    if isinstance(threshold, str):
        if threshold != "auto":
            raise ValueError(f"threshold must be 'auto', a number or an array; got {threshold!r}.")
        limits = quantile_threshold(checked, x.shape[1] + 1)
    else:
        limits = as_positive(threshold, "threshold", checked.names, zero=True)
    return core.confounding_test(x, checked.values, limits)
