"""Validation of tables of variables and of confounders, for estimators and command line alike."""

from plaggm.data.confounder_frames import ConfounderLike, join_frames
from plaggm.data.confounders import (
    Confounder,
    as_confounder,
    as_positive,
    check_collinear,
    join_confounders,
    new_confounder,
)
from plaggm.data.dependent_columns import (
    DependenceWarning,
    check_dependence,
    check_dependence_given,
    check_partial_correlations,
    refuse_confounder_among,
)
from plaggm.data.variables import (
    CONSTANT,
    LARGEST,
    TableLike,
    as_floats,
    as_table,
    check_columns,
    check_finite,
    check_numeric_frame,
    check_spread,
    column_numbers,
    in_figures,
    refuse_huge_integers,
    variable_names,
)

__all__ = [
    "CONSTANT",
    "LARGEST",
    "Confounder",
    "ConfounderLike",
    "DependenceWarning",
    "TableLike",
    "as_confounder",
    "as_floats",
    "as_positive",
    "as_table",
    "check_collinear",
    "check_columns",
    "check_dependence",
    "check_dependence_given",
    "check_finite",
    "check_numeric_frame",
    "check_partial_correlations",
    "check_spread",
    "column_numbers",
    "in_figures",
    "join_confounders",
    "join_frames",
    "new_confounder",
    "refuse_confounder_among",
    "refuse_huge_integers",
    "variable_names",
]
