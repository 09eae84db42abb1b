"""ConGGM: the graphical model of the variables and the confounders together."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.preparation.dependence import correlations
from plaggm.data import Confounder, check_columns, check_dependence
from plaggm.related.related_estimator import RelatedEstimator
from plaggm.related.tasks import Task, pooled_task


class ConGGM(RelatedEstimator):
    r"""Gaussian graphical model of (Z, G) jointly, read as the network of Z given G = 0.

    Section 5 of the paper. The conditional precision matrix

    .. math::
        [\Sigma_{ZZ} - \Sigma_{ZG} \Sigma_{GG}^{-1} \Sigma_{GZ}]^{-1}

    is the ZZ block of the joint one. It thus has the zeros of the joint estimate and does not depend on
    the value of G, which only affects the intercepts on the diagonal of ``omega_``. Edges between
    variables and confounders are penalised like all others, and the criterion is that of the joint model.
    Any number of confounders is allowed; factors enter as indicator columns for each level but the first.

    Parameters and attributes that are not listed here are those of all related methods; see
    :class:`RelatedEstimator`.

    Attributes
    ----------
    location_, scale_ : ndarray of shape (p,)
        Mean of all samples, and the conditional standard deviations.

    Examples
    --------
    >>> from plaggm.related import ConGGM
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(6, n=400, seed=1, even=True, threshold=60.0)
    >>> model = ConGGM(criterion="bic").fit(data.x, confounder=data.confounder)
    >>> model.omega_.shape
    (6, 6)
    """

    _takes_factors = True

    def _regressors(self, confounder: Array, groups: Index | None) -> Array:
        """The confounders: given the other variables, each variable is linear in them."""
        return confounder

    def _task(
        self, x: Array, confounder: Confounder, groups: Index | None, runs: Index | None
    ) -> Task:
        values = self._filtered_regressors(confounder.values, groups, runs)
        joint, names = np.column_stack([x, values]), self._names + confounder.names
        check_columns(joint, names)
        check_dependence(correlations(joint), len(joint), names, warn=False)
        return pooled_task(joint, names)

    def _read(self, omega: Array, location: Array, scale: Array) -> tuple[Array, Array, Array]:
        p = len(self._names)
        # Intercept of node j at G = 0: the joint one plus the effect of the standardised value of zero.
        at_zero = -location[p:] / scale[:, p:]
        out = omega[:, :p, :p].copy()
        index = np.arange(p)
        out[:, index, index] += np.matmul(omega[:, :p, p:], at_zero[:, :, None])[:, :, 0]
        return out, location[:p], scale[:, :p]

    def _intercept_shift(self, confounder: Array, groups: Index | None, runs: Index) -> Array:
        # omega_ is that at G = 0; the joint network has the effect of the confounders on each intercept.
        p, joint = len(self._names), self._of_task
        values = self._filtered_regressors(confounder, groups, runs)
        return (values / joint.scale[p:]) @ joint.omega[p:, :p]
