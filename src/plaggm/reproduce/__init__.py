"""The paper's experiments: recovery, rates and structure on simulated data, and Section 6.2 on scans."""

from plaggm.reproduce.cells import run_cells
from plaggm.reproduce.plan import DESIGNS, ENTRANTS, FULL, QUICK, Cell, Plan, cells_of
from plaggm.reproduce.rates import (
    RATE_METHODS,
    RatePlan,
    fitted_slopes,
    rate_cells,
    run_rate_cell,
)
from plaggm.reproduce.recovery import run_cell
from plaggm.reproduce.tables import summarise, winners

__all__ = [
    "DESIGNS",
    "ENTRANTS",
    "FULL",
    "QUICK",
    "RATE_METHODS",
    "Cell",
    "Plan",
    "RatePlan",
    "cells_of",
    "fitted_slopes",
    "rate_cells",
    "run_cell",
    "run_cells",
    "run_rate_cell",
    "summarise",
    "winners",
]
