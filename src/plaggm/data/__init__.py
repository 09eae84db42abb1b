"""Validation of tables and confounders: the one place where input is judged."""

from plaggm.data.confounders import (
    Confounder,
    as_confounder,
    as_positive,
    check_collinear,
    join_confounders,
    new_confounder,
)
from plaggm.data.variables import (
    CONSTANT,
    LARGEST,
    DependenceWarning,
    as_table,
    check_columns,
    check_dependence,
    check_finite,
    check_numeric_frame,
    check_partial_correlations,
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
    "DependenceWarning",
    "as_confounder",
    "as_positive",
    "as_table",
    "check_collinear",
    "check_columns",
    "check_dependence",
    "check_finite",
    "check_numeric_frame",
    "check_partial_correlations",
    "check_spread",
    "column_numbers",
    "in_figures",
    "join_confounders",
    "new_confounder",
    "refuse_huge_integers",
    "variable_names",
]
