"""Choosing the penalty: cross-validation, information criteria and stability."""

from plaggm.selection.bootstrap import GroupBootstrap, group_bootstrap
from plaggm.selection.criteria import information_criterion
from plaggm.selection.cross_validation import CrossValidation, cross_validate_path
from plaggm.selection.parts import RowParts, common_parts
from plaggm.selection.stability import Stability, stability_path

__all__ = [
    "CrossValidation",
    "GroupBootstrap",
    "RowParts",
    "Stability",
    "common_parts",
    "cross_validate_path",
    "group_bootstrap",
    "information_criterion",
    "stability_path",
]
