"""All methods on one data set: agreement, stability and prediction."""

from plaggm.comparison.attempts import Attempt, attempt
from plaggm.comparison.compare import Comparison, compare_methods
from plaggm.comparison.methods import COMPARED, METHODS, Choices, Method, build_method

__all__ = [
    "COMPARED",
    "METHODS",
    "Attempt",
    "Choices",
    "Comparison",
    "Method",
    "attempt",
    "build_method",
    "compare_methods",
]
