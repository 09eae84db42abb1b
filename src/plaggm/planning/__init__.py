"""Before data are collected: what a study of some size would find, by simulation."""

from plaggm.planning.plan import PowerAnalysis, plan_study
from plaggm.planning.question import STRENGTHS, Question
from plaggm.planning.sample_size import SampleSize

__all__ = ["STRENGTHS", "PowerAnalysis", "Question", "SampleSize", "plan_study"]
