"""Brain functional connectivity: studies of many scans, from files to a report.

Reading scans and drawing brains needs the ``fmri`` extra (nilearn); ready region series do not.
"""

from plaggm.fmri.atlas import Atlas, harvard_oxford
from plaggm.fmri.bids_output import write_bids
from plaggm.fmri.comparison import Comparison, compare_groups
from plaggm.fmri.diagnosis import Diagnosis, classify
from plaggm.fmri.fold_networks import fold_features
from plaggm.fmri.motion import ResidualMotion, residual_motion
from plaggm.fmri.networks import SubjectNetworks, fit_subjects
from plaggm.fmri.omnibus import Omnibus, compare_all_groups
from plaggm.fmri.pooled_networks import fit_group
from plaggm.fmri.problems import Problem, Problems, StudyError
from plaggm.fmri.study import StudyResult, analyse
from plaggm.fmri.study_input import read_study
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.study_tables import save_tables
from plaggm.fmri.subjects import StudyData, Subject

__all__ = [
    "Atlas",
    "Comparison",
    "Diagnosis",
    "Omnibus",
    "Problem",
    "Problems",
    "ResidualMotion",
    "StudyData",
    "StudyError",
    "StudyPlan",
    "StudyResult",
    "Subject",
    "SubjectNetworks",
    "analyse",
    "classify",
    "compare_all_groups",
    "compare_groups",
    "fit_group",
    "fit_subjects",
    "fold_features",
    "harvard_oxford",
    "read_study",
    "residual_motion",
    "save_tables",
    "write_bids",
]
