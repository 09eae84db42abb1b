"""All methods on one data set: agreement, stability and prediction."""

from plaggm.comparison.attempts import Attempt, attempt
from plaggm.comparison.choices import Choices
from plaggm.comparison.compare import compare_methods
from plaggm.comparison.comparison import Comparison
from plaggm.comparison.methods import COMPARED, METHODS, Method, build_method

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
