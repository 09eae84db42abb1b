"""The incoherence condition of a fitted model: whether the lasso can find exactly the true edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from plaggm.core.grams.incoherence import Incoherence, incoherence_of
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.plaggm_cv import PLAGGMCV

# Largest number of variables: the Hessian of their 11,175 pairs takes 1 GB.
MOST_VARIABLES = 150


def incoherence(model: PLAGGM | PLAGGMCV, omega: ArrayLike | None = None) -> Incoherence:
    """Evaluate Assumption 4 of the paper, on which its Theorem 1 rests.

    The theorem states that the L1-regularised estimate has exactly the true edges, provided that no pair
    without edge is too strongly related to the edges. This depends on the true network, which is known in
    simulations; for measured data the estimated network is used instead.

    Parameters
    ----------
    model : PLAGGM or PLAGGMCV
        Fitted model with ``symmetry="joint"``. The condition is evaluated on its transformed data, that is,
        the variables with the nuisance removed.
    omega : array of shape (p, p), optional
        True network, zero where there is no edge; by default the model's penalised estimate.

    Returns
    -------
    Incoherence
        Result, whose printed form explains its numbers.

    Examples
    --------
    >>> from plaggm import PLAGGM, incoherence
    >>> from plaggm.simulate import simulate_paper
    >>> data = simulate_paper(
    ...     6, n=600, seed=1, even=True, threshold=60.0, graph="band", density=0.3
    ... )
    >>> model = PLAGGM(alpha=0.05, threshold=60.0).fit(data.x, confounder=data.confounder)
    >>> found = incoherence(model, data.omega)
    >>> found.holds
    True
    """
    check_is_fitted(model)
    if model.symmetry != "joint":
        raise ValueError(
            "incoherence is about one lasso over symmetric matrices (symmetry='joint'), as the paper's "
            f"Assumption 4 is; the model has symmetry={model.symmetry!r}."
        )
    grams = model._network.problem.node_grams
    if grams.p > MOST_VARIABLES:
        raise ValueError(
            f"incoherence forms a matrix of all pairs with all pairs, for at most {MOST_VARIABLES} "
            f"variables; the model has {grams.p}."
        )
    network = np.asarray(model.omega_ if omega is None else omega, dtype=np.float64)
    if network.shape != (grams.p, grams.p) or not np.array_equal(network, network.T):
        raise ValueError(
            f"omega must be a symmetric matrix of shape {(grams.p, grams.p)}; got shape {network.shape}."
        )
    return incoherence_of(grams, network)
