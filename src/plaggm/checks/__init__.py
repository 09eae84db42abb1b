"""Checks of tables before a fit: findings, and how a fit handles each of them."""

from plaggm.checks.columns import unusable_columns
from plaggm.checks.findings import LEVELS, Finding, findings_frame
from plaggm.checks.table import check_table, examine, examine_values, without_values

__all__ = [
    "LEVELS",
    "Finding",
    "check_table",
    "examine",
    "examine_values",
    "findings_frame",
    "unusable_columns",
    "without_values",
]
