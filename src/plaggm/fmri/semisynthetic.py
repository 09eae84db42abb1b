"""Studies with a known truth: measured or simulated head motion, simulated signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from plaggm.array_types import Array, Mask
from plaggm.fmri.atlas import Atlas, harvard_oxford
from plaggm.fmri.comparison import FALSE_DISCOVERY, Comparison
from plaggm.fmri.confounds import FD, SIX, power_displacement
from plaggm.fmri.problems import StudyError
from plaggm.fmri.subjects import StudyData, Subject, standardised
from plaggm.fmri.tables import read_table, reading
from plaggm.numpy_files import open_archive
from plaggm.result import GraphResult
from plaggm.simulate import simulate_study
from plaggm.simulate.confounding import draw_motion

GROUPS = ("control", "patient")
VOLUMES = 150
# Simulated parameters are scaled so that the median framewise displacement is that of COBRE, in mm.
MEDIAN_DISPLACEMENT = 0.23
# Spread of people's amount of motion (standard deviation of its logarithm), and patients' to controls'.
MOTION_SPREAD, MOTION_RATIO = 0.6, 1.6
# Displacement up to which motion does not distort, as a quantile over all volumes.
CLEAN_QUANTILE = 0.5

# How motion acts: it distorts the network, shifts the means and inflates the noise, as it does in scans.
# Settled after about a dozen trials, so that motion matters at all: with much less inflation every method
# does as well as the others.
NETWORK_RADIUS, SUBJECT_RADIUS, NUISANCE_RADIUS = 0.4, 0.1, 0.45
MEAN_SHIFT, VARIANCE_INFLATION = 3.0, 30.0
DENSITY, DIFFERENCE = 0.1, 0.04
# Columns of the recovery of differences between groups.
RECOVERY_COLUMNS = (
    "method",
    "true_differences",
    "auc",
    "found",
    "found_wrongly",
    "region_correlation",
)


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """Head motion of some people.

    Attributes
    ----------
    displacement : ndarray of shape (S, T)
        Framewise displacement in mm.
    patient : ndarray of bool of shape (S,)
    source : str
        Origin of the motion, in words.
    parameters : ndarray of shape (S, T, 6), optional
        Translations in mm and rotations in radians, in the order of ``SIX``.
    """

    displacement: Array = field(repr=False)
    patient: Mask = field(repr=False)
    source: str
    parameters: Array | None = field(default=None, repr=False)

    def columns(self, names: tuple[str, ...]) -> Array:
        """Framewise displacement and parameters by name: shape (S, T, m)."""
        known = {FD: self.displacement}
        if self.parameters is not None:
            known |= {name: self.parameters[..., place] for place, name in enumerate(SIX)}
        lacking = [name for name in names if name not in known]
        if lacking:
            raise StudyError(
                f"The {self.source} has no column {lacking[0]!r}; it has {', '.join(known)}."
            )
        return np.stack([known[name] for name in names], axis=-1)


def simulated_motion(per_group: int, seed: int, volumes: int = VOLUMES) -> Motion:
    """Motion like COBRE's: mostly small, with bursts, and more of it in patients.

    Examples
    --------
    >>> motion = simulated_motion(30, seed=0)
    >>> motion.displacement.shape
    (60, 150)
    """
    rng = np.random.default_rng(seed)
    patient = np.repeat([False, True], per_group)
    amount = np.exp(MOTION_SPREAD * rng.standard_normal(2 * per_group))
    amount *= np.where(patient, MOTION_RATIO, 1.0)
    parameters = draw_motion(2 * per_group, volumes, 6, rng) * amount[:, None, None]
    parameters[..., 3:] /= 50.0
    moved = np.stack([power_displacement(one) for one in parameters])
    factor = MEDIAN_DISPLACEMENT / np.median(moved[:, 1:])
    return Motion(moved * factor, patient, "simulated motion", parameters * factor)


def measured_motion(path: Path) -> Motion:
    """Measured motion: an ``.npz`` with ``motion`` (S, T, m), ``subject`` and ``column``.

    The column ``fd`` (or ``framewise_displacement``) is needed, in mm; it may be NaN at the first volume,
    which has none before it. ``trans_x`` to ``rot_z`` are used where
    they exist. A table ``cobre_participants.csv`` beside it, with the columns ``id`` and ``diagnosis`` (or
    ``group``), says which people are patients; without it people are divided at random.
    """
    expected = " Expected an .npz with motion, subject and column."
    with reading(StudyError, f"{path} ", expected), open_archive(path) as archive:
        stored = archive.load(("motion", "column", "subject"))
    motion = stored["motion"]
    columns, people = ([str(name) for name in stored[key]] for key in ("column", "subject"))
    columns = [name.lower() for name in columns]
    if motion.ndim != 3 or motion.shape[0] != len(people) or motion.shape[2] != len(columns):
        raise StudyError(
            f"{path} must hold motion for each subject, volume and column; its shape is {motion.shape} "
            f"for {len(people)} subjects and {len(columns)} columns."
        )
    names = [name for name in ("fd", FD) if name in columns]
    if not names:
        raise StudyError(f"{path} has no column 'fd' among {', '.join(columns)}.")
    moved = _numbers(path, motion[..., columns.index(names[0])])
    moved[:, :1] = np.where(np.isnan(moved[:, :1]), 0.0, moved[:, :1])
    parameters = None
    if all(name in columns for name in SIX):
        parameters = _numbers(path, motion[..., [columns.index(name) for name in SIX]])
    _check_motion(path, people, moved, parameters)
    known = _patients(path.parent / "cobre_participants.csv")
    if known is None:
        patient = np.arange(len(moved)) % 2 == 1
        return Motion(
            moved, patient, f"motion of {path.name}, groups divided at random", parameters
        )
    keep = [k for k, name in enumerate(people) if _number(name) in known]
    patient = np.array([known[_number(people[k])] for k in keep])
    return Motion(
        moved[keep],
        patient,
        f"motion of {path.name} with its diagnoses",
        None if parameters is None else parameters[keep],
    )


def _numbers(path: Path, values: Array) -> Array:
    """Motion as floats, in an array of its own."""
    try:
        return np.array(values, dtype=np.float64)
    except ValueError as error:
        raise StudyError(f"{path} holds motion that is no number: {error}.") from error


def _check_motion(
    path: Path, people: list[str], displacement: Array, parameters: Array | None
) -> None:
    """Raise for motion by which no study can be simulated."""
    if len(people) < 2:
        raise StudyError(
            f"{path} has the motion of {len(people)} subject(s); two or more are needed."
        )
    wrong = ~(np.isfinite(displacement) & (displacement >= 0.0))
    if parameters is not None:
        wrong |= ~np.isfinite(parameters).all(axis=2)
    if wrong.any():
        person, volume = np.argwhere(wrong)[0]
        raise StudyError(
            f"{path}: motion must be finite and displacement not negative (it may be NaN at the first "
            f"volume); the subject {people[person]!r} has something else at volume {volume + 1}. Leave "
            "such subjects out of the file."
        )
    if not displacement.any():
        raise StudyError(f"{path}: displacement is zero in all volumes; there is no motion to add.")


def _number(name: str) -> int:
    digits = "".join(letter for letter in name if letter.isdigit())
    return int(digits) if digits else -1


def _patients(path: Path) -> dict[int, bool] | None:
    """Whether each subject is a patient, by the number of the subject."""
    if not path.is_file():
        return None
    with reading(StudyError, f"{path} "):
        table = read_table(path, text=True).rename(columns=str.lower)
    column = next(
        (name for name in ("diagnosis", "dx", "group", "subject type") if name in table), None
    )
    if column is None or "id" not in table:
        return None
    words = table[column].str.lower()
    patient = words.str.startswith(("schizo", "patient", "sz"))
    control = words.str.startswith(("control", "healthy", "none", "no"))
    rows = zip(table["id"], patient, patient | control, strict=True)
    return {_number(name): bool(sick) for name, sick, clear in rows if clear}


def semisynthetic_study(
    motion: Motion,
    *,
    seed: int,
    per_group: int | None = None,
    matched: bool = True,
    difference: float = DIFFERENCE,
    regions: int | None = None,
    confounders: tuple[str, ...] = (FD,),
) -> tuple[StudyData, Array]:
    """Signals of 48 cortical regions whose networks are known, distorted by given motion.

    Framewise displacement is what distorts them, whatever confounders the methods are given.

    Parameters
    ----------
    motion : Motion
    seed : int
    per_group : int, optional
        People in each group; as many as the smaller group has where absent.
    matched : bool
        Divide the motion series between the groups at random, so that motion says nothing about the
        diagnosis. Otherwise patients keep the motion of patients.
    difference : float
        Part of the edges that differ between the groups.
    regions : int, optional
        Number of regions: the first of the Harvard–Oxford atlas; all when absent.
    confounders : tuple of str
        Columns that the subjects come with: framewise displacement, and parameters where the motion has
        them.

    Returns
    -------
    data : StudyData
    omega : ndarray of shape (2, p, p)
        True networks of the groups.
    """
    rng = np.random.default_rng(seed)
    sick, well = np.flatnonzero(motion.patient), np.flatnonzero(~motion.patient)
    size = min(len(sick), len(well)) if per_group is None else per_group
    if size > min(len(sick), len(well)):
        raise StudyError(
            f"{size} people in each group were asked for; the {motion.source} is that of {len(well)} and "
            f"{len(sick)}, so that {min(len(sick), len(well))} are the most."
        )
    if matched:
        chosen = rng.permutation(len(motion.patient))[: 2 * size]
    else:
        chosen = np.concatenate([rng.permutation(well)[:size], rng.permutation(sick)[:size]])
    moved = motion.displacement[chosen]
    given = motion.columns(confounders)[chosen]
    atlas = harvard_oxford()
    p = len(atlas.names) if regions is None else regions
    simulated = simulate_study(
        p,
        seed=rng,
        groups=GROUPS,
        n_subjects=size,
        confounder=moved[:, :, None],
        threshold=float(np.quantile(motion.displacement, CLEAN_QUANTILE)),
        difference=difference,
        density=DENSITY,
        target_radius=NETWORK_RADIUS,
        subject_radius=SUBJECT_RADIUS,
        nuisance_radius=NUISANCE_RADIUS,
        mean_shift=MEAN_SHIFT,
        variance_inflation=VARIANCE_INFLATION,
    )
    volumes = moved.shape[1]
    subjects = [
        Subject(
            name,
            GROUPS[int(k >= size)],
            standardised(simulated.x[k * volumes : (k + 1) * volumes]),
            given[k],
            moved[k],
        )
        for k, name in enumerate(simulated.subjects)
    ]
    coordinates = None if atlas.coordinates is None else atlas.coordinates[:p]
    places = Atlas(atlas.title, atlas.names[:p], coordinates)
    return StudyData(tuple(subjects), places, confounders), simulated.omega


def edge_recovery(
    data: StudyData, omega: Array, networks: dict[tuple[str, str], GraphResult]
) -> pd.DataFrame:
    """How well each method's group networks find the true edges.

    Parameters
    ----------
    data : StudyData
    omega : ndarray of shape (2, p, p)
    networks : dict of (method, group) to GraphResult

    Returns
    -------
    DataFrame
        One row for each method and group: density, precision, recall and F1 of the network's edges, AUC
        of the penalised strengths, and the part of the pairs without edge that has a p-value below 0.05
        (NaN without tests).
    """
    from plaggm.metrics import edge_auc, recovery_report

    rows = []
    for key, found in networks.items():
        method, group = key
        truth = omega[data.groups.index(group)]
        report = recovery_report(found.network, truth)
        pairs = len(truth) * (len(truth) - 1) / 2
        tests = found.edge_table
        absent = truth[np.triu_indices(len(truth), 1)] == 0.0
        rows.append(
            {
                "method": method,
                "group": group,
                "edges": int(report["n_edges"]),
                "density": report["n_edges"] / pairs,
                "true_density": report["n_true_edges"] / pairs,
                "precision": report["precision"],
                "recall": report["recall"],
                "f1": report["f1"],
                "auc": edge_auc(found.omega, truth),
                "null_pairs_below_0.05": (
                    np.nan if tests is None else float(np.mean(tests.p_value[absent] < 0.05))
                ),
            }
        )
    return pd.DataFrame(rows)


def difference_recovery(omega: Array, comparisons: dict[str, Comparison]) -> pd.DataFrame:
    """How well each method recovers the differences between the groups.

    Parameters
    ----------
    omega : ndarray of shape (2, p, p)
        True networks of the groups.
    comparisons : dict of method to Comparison

    Returns
    -------
    DataFrame
        One row for each method: AUC of the edges that differ by the size of their statistic, how many of
        those and of the others are declared at a false discovery rate of 5 %, and Spearman's correlation
        between the regions' statistics and the true sums of their absolute differences. Empty, but with
        its columns, where no method could compare the groups.
    """
    from plaggm.metrics import edge_auc

    truth = omega[1] - omega[0]
    np.fill_diagonal(truth, 0.0)
    upper = np.triu_indices(len(truth), 1)
    differs = truth[upper] != 0.0
    rows = []
    for method, found in comparisons.items():
        sure = found.declared(FALSE_DISCOVERY)[upper]
        rows.append(
            {
                "method": method,
                "true_differences": int(differs.sum()),
                "auc": edge_auc(np.abs(found.statistic), truth),
                "found": int(np.count_nonzero(sure & differs)),
                "found_wrongly": int(np.count_nonzero(sure & ~differs)),
                "region_correlation": float(
                    stats.spearmanr(found.region_statistic, np.abs(truth).sum(axis=1)).statistic
                ),
            }
        )
    return pd.DataFrame(rows, columns=list(RECOVERY_COLUMNS))
