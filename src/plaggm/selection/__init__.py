"""Choosing the penalty: cross-validation, information criteria and stability.

A selection chooses among the penalties of a :class:`PathFit` to all rows of a :class:`Problem`, which is
the same for PLA-GGM and for the related methods.
"""

from plaggm.selection.bootstrap import DrawnGroups, GroupBootstrap, group_bootstrap
from plaggm.selection.choice import Choice, GivenPenalty, InformationCriterion, Selection
from plaggm.selection.criteria import information_criterion
from plaggm.selection.cross_validation import CrossValidation, HeldOutLoss
from plaggm.selection.losses import FamilyLoss, Loss, LossPath, PseudoLoss, pseudo_path
from plaggm.selection.parameters import (
    PenaltySpec,
    check_alphas,
    make_selection,
    penalty_spec,
)
from plaggm.selection.problem import PathFit, Problem, average_omega
from plaggm.selection.refit import RefittedSupport
from plaggm.selection.stability import HalfSamples, Stability, Stars
from plaggm.selection.subsets import RowSubsets, common_subsets

__all__ = [
    "Choice",
    "CrossValidation",
    "DrawnGroups",
    "FamilyLoss",
    "GivenPenalty",
    "GroupBootstrap",
    "HalfSamples",
    "HeldOutLoss",
    "InformationCriterion",
    "Loss",
    "LossPath",
    "PathFit",
    "PenaltySpec",
    "Problem",
    "PseudoLoss",
    "RefittedSupport",
    "RowSubsets",
    "Selection",
    "Stability",
    "Stars",
    "average_omega",
    "check_alphas",
    "common_subsets",
    "group_bootstrap",
    "information_criterion",
    "make_selection",
    "penalty_spec",
    "pseudo_path",
]
