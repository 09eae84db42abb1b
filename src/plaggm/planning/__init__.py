"""Before data are collected: what a study of some size would find, by simulation."""

from plaggm.planning.plan import StudyPlan, plan_study
from plaggm.planning.question import STRENGTHS, Question
from plaggm.planning.sample_size import SampleSize

__all__ = ["STRENGTHS", "Question", "SampleSize", "StudyPlan", "plan_study"]
