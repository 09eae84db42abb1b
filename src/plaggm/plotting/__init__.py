"""Pictures of networks, paths and recovery; they need the ``plot`` extra (matplotlib).

Every function but :func:`plot_plan` takes a :class:`plaggm.GraphResult` or a fitted estimator, draws on the
Axes it is given or on new ones, and returns what it drew on.
"""

from plaggm.plotting.before_after import plot_before_after
from plaggm.plotting.centrality import plot_centrality
from plaggm.plotting.edge_curve import plot_edge
from plaggm.plotting.forest import plot_forest
from plaggm.plotting.matrix import plot_matrix
from plaggm.plotting.moderation import plot_moderation
from plaggm.plotting.network import plot_network
from plaggm.plotting.penalty_curves import plot_path, plot_selection
from plaggm.plotting.plan import plot_plan
from plaggm.plotting.roc import plot_roc

__all__ = [
    "plot_before_after",
    "plot_centrality",
    "plot_edge",
    "plot_forest",
    "plot_matrix",
    "plot_moderation",
    "plot_network",
    "plot_path",
    "plot_plan",
    "plot_roc",
    "plot_selection",
]
