"""Choosing the penalty: cross-validation, information criteria and stability."""

from plaggm.selection.criteria import information_criterion
from plaggm.selection.cross_validation import CrossValidation, cross_validate_path
from plaggm.selection.stability import Stability, stability_path

__all__ = [
    "CrossValidation",
    "Stability",
    "cross_validate_path",
    "information_criterion",
    "stability_path",
]
