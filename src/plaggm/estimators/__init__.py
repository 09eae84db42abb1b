"""The estimators, which follow scikit-learn's conventions, and their supporting modules."""

from plaggm.estimators.confounding import confounding_test
from plaggm.estimators.incoherence_check import incoherence
from plaggm.estimators.plaggm import PLAGGM
from plaggm.estimators.plaggm_cv import PLAGGMCV
from plaggm.estimators.sensitivity import threshold_sensitivity

__all__ = ["PLAGGM", "PLAGGMCV", "confounding_test", "incoherence", "threshold_sensitivity"]
