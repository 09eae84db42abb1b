"""Power analysis by simulation, before data are collected."""

from plaggm.planning.plan import PowerAnalysis, plan_study
from plaggm.planning.question import STRENGTHS, Question
from plaggm.planning.sample_size import SampleSize

__all__ = ["STRENGTHS", "PowerAnalysis", "Question", "SampleSize", "plan_study"]
