"""The network your data would show without the confounder.

Partially linear additive Gaussian graphical models (Geng, Yan, Kolar and Koyejo, ICML 2019):
Ω(g) = Ω0 + R(g), where R is a smooth distortion by an observed confounder that vanishes where the
confounder is small, and Ω0 is the network of interest.
"""

from plaggm.estimators import PLAGGM, PLAGGMCV
from plaggm.result import GraphResult, read_result

__version__ = "0.1.0"

__all__ = ["PLAGGM", "PLAGGMCV", "GraphResult", "__version__", "read_result"]
