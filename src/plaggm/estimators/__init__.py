"""The estimators, in scikit-learn's manners."""

from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.plaggm_cv import PLAGGMCV

__all__ = ["PLAGGM", "PLAGGMCV"]
