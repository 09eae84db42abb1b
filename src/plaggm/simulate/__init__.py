"""Simulated data with the truth: the paper's simulation, variations of it, and a study of groups."""

from .confounding import CONFOUNDERS, SHAPES, Nuisance, Response, paper_response
from .family import FAMILY_CHOICES, SimulatedFamily, simulate_family
from .graphs import GRAPHS, NUISANCES
from .margins import MARGINS, with_margins
from .paper import Simulated, simulate_paper
from .study import SimulatedStudy, simulate_study

__all__ = [
    "CONFOUNDERS",
    "FAMILY_CHOICES",
    "GRAPHS",
    "MARGINS",
    "NUISANCES",
    "SHAPES",
    "Nuisance",
    "Response",
    "Simulated",
    "SimulatedFamily",
    "SimulatedStudy",
    "paper_response",
    "simulate_family",
    "simulate_paper",
    "simulate_study",
    "with_margins",
]
