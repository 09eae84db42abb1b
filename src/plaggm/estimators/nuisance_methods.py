"""Methods of a fitted PLAGGM or PLAGGMCV about the effect of the confounder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.array_types import Array
from plaggm.core.confounding.confounding_test import ConfoundingTest
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.estimators.confounder_values import confounder_points, warn_of_extrapolation
from plaggm.estimators.family_model import Splines
from plaggm.estimators.fitted_network import FittedNetwork
from plaggm.estimators.network_methods import NetworkMethods

if TYPE_CHECKING:
    import pandas as pd


class NuisanceMethods(NetworkMethods):
    """Estimates of R, and tests of R = 0."""

    _network: FittedNetwork

    @overload
    def nuisance(self, g: ArrayLike, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def nuisance(self, g: ArrayLike, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def nuisance(self, g: ArrayLike, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        r"""Estimate R(g), the difference from the baseline network at some confounder values.

        R is zero at the reference; elsewhere it is the mean of the two nodes' estimates for every pair.

        Parameters
        ----------
        g : float, str, array of shape (k,) or (k, m), or DataFrame
            Values in the confounder's units, names of levels for factors.
        return_std : bool, default=False
            Also return pointwise standard errors; only with ``smoother="spline"``.

        Returns
        -------
        nuisance : ndarray of shape (k, p, p)
            R in the units of ``omega_``, shifts of the intercepts on the diagonal; (p, p) for a single
            value.
        std : ndarray of the same shape
            Only with ``return_std``.

        Notes
        -----
        The standard errors are those of the mixed model whose posterior mean is the penalised spline. The
        baseline network is not penalised in it, and uncertainty about the penalty, the threshold and the
        variances is ignored. Averaged over the confounder and the pairs, intervals :math:`R \pm 2\,` std
        cover about 95 % of true values that the spline can follow; the coverage at a single point may be
        higher or lower. It is lower for the largest values of R, which are shrunk most, and for a steep
        increase just beyond the threshold. A pair's two estimates nearly coincide, so that the standard
        error of their mean is taken as the mean of both standard errors.
        """
        return self._along(g, return_std, baseline=False)

    @overload
    def omega_at(self, g: ArrayLike, *, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def omega_at(self, g: ArrayLike, *, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def omega_at(self, g: ArrayLike, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Estimate Ω(g) = Ω0 + R(g), the network at some confounder values.

        Parameters
        ----------
        g : float, array of shape (k,) or (k, m)
            Values in the confounder's units.
        return_std : bool, default=False
            Also return pointwise standard errors, as :meth:`nuisance` does. Below the threshold they
            are those of the baseline network without the lasso.

        Returns
        -------
        omega : ndarray of shape (k, p, p), or (p, p) for a single value
        std : ndarray of the same shape
            Only with ``return_std``.
        """
        return self._along(g, return_std, baseline=True)

    @single_threaded_blas()
    def _along(
        self, g: ArrayLike, return_std: bool, *, baseline: bool
    ) -> Array | tuple[Array, Array]:
        """R, or the baseline network plus R, at some confounder values."""
        check_is_fitted(self)
        network = self._network
        points, single = confounder_points(
            g, network.problem.confounder_names, network.problem.confounder_levels
        )
        found = network.nuisance(points)
        model = network.problem.model
        # The kernel model warns on its own, of points further than a bandwidth from the data.
        if isinstance(model, Splines):
            warn_of_extrapolation(points, found, model.design)
        if baseline:
            found = network.omega + found
        if not return_std:
            return found[0] if single else found
        errors = network.nuisance_error(points, baseline=baseline)
        if errors is None:
            raise ValueError(
                f"smoother={network.spec.smoother!r} has no standard errors; fit with smoother='spline', "
                "or leave return_std out."
            )
        return (found[0], errors[0]) if single else (found, errors)

    @single_threaded_blas()
    def confounding_test(self) -> ConfoundingTest:
        """Test the null hypothesis that the network does not change with the confounder (R = 0).

        See :func:`plaggm.confounding_test`. This test uses the data and the threshold of ``fit`` and is
        computed on the first call. With ``temporal`` the statistic is compared with those of 199 circular
        shifts of the confounder within runs; with ``family``, if a few rows dominate, with those of 199
        draws of random signs of the rows' or groups' scores.

        Returns
        -------
        ConfoundingTest
            Result with ``p_value``, ``statistic`` and ``degrees_of_freedom``.
        """
        check_is_fitted(self)
        return self._network.confounding

    def moderation(self) -> pd.DataFrame:
        r"""Test which edges change with which confounder.

        For each pair (j, k) and each confounder the null hypothesis is that the confounder's term in
        :math:`R_{jk}` is zero everywhere: an omnibus test over its functions, adjusted for the other
        confounders. Means and variances of the variables may depend on the confounder. The tests need sums
        over rows only, and are therefore available after ``fit``, ``fit_chunks``, ``partial_fit`` and
        ``fit_dask``. They are computed on the first call.

        Returns
        -------
        DataFrame
            One row for each confounder and pair, with the columns source, target, confounder, statistic,
            degrees_of_freedom, p_value, q_value, largest_change (estimated difference of the partial
            correlation from the baseline network where it is largest) and largest_at (the confounder's
            value there).

        Notes
        -----
        q-values are those of Benjamini and Hochberg over all pairs, separately for each confounder: of the
        pairs with ``q_value <= 0.05`` about 5 % at most do not change with this confounder. With ``groups``
        or ``temporal`` variances come from leaving out groups or blocks. With ``family`` changes are those
        of ``omega_``, in its units. ``smoother="kernel"`` has no such test. Heavy tails are accounted for
        as in :meth:`inference`. ``docs/moderation.md`` describes the statistic.

        Examples
        --------
        >>> import numpy as np
        >>> from plaggm import PLAGGM
        >>> from plaggm.simulate import simulate_paper
        >>> sparse = dict(
        ...     nuisance="sparse", nuisance_density=0.1, shape="ramp", confounder="uniform"
        ... )
        >>> data = simulate_paper(8, n=1500, seed=1, threshold=60.0, **sparse)
        >>> model = PLAGGM(0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
        >>> found = model.moderation()
        >>> changing = found[found["q_value"] <= 0.05]
        >>> sorted(zip(changing["source"], changing["target"], strict=True))
        [('x2', 'x6'), ('x2', 'x7'), ('x4', 'x7')]
        >>> np.argwhere(np.triu(data.nuisance.weights[0])).tolist()
        [[2, 6], [2, 7], [4, 7]]
        """
        check_is_fitted(self)
        network = self._network
        names = network.problem.confounder_names
        return network.moderation.frame(self._names, names, network.levels)
