"""Tables and networks of a study, written into its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from plaggm.array_types import Array
from plaggm.atomic_files import new_file, write_csv, write_file
from plaggm.edge_table import square
from plaggm.fmri.comparison import FALSE_DISCOVERY
from plaggm.fmri.diagnosis import Diagnosis
from plaggm.fmri.motion import ResidualMotion
from plaggm.fmri.networks import SubjectNetworks, from_pairs
from plaggm.fmri.study import StudyResult
from plaggm.fmri.study_plan import StudyPlan
from plaggm.fmri.treatments import METHODS
from plaggm.result import GraphResult
from plaggm.result_archive import library_versions
from plaggm.resume import file_name

STUDY_FILE = "study.json"
# Files that not every study has.
OPTIONAL = (
    "scans.csv",
    "*_compared-*.csv",
    "residual_motion.csv",
    "denoising.csv",
    "diagnosis.csv",
    "subject_networks-*.npz",
)


def diagnosis_table(
    found: Sequence[Diagnosis], alone: tuple[float, float, float] | None
) -> pd.DataFrame:
    """One row for each method and kind of features, and one for motion alone.

    The classifier's penalty is chosen by cross-validation, and by AIC where the column says so.
    """
    rows = [
        {
            "method": one.title,
            "features": one.features,
            "classifier": one.classifier,
            "auc": one.auc,
            "low": one.low,
            "high": one.high,
            "auc_by_aic": one.by_aic[0],
            "low_by_aic": one.by_aic[1],
            "high_by_aic": one.by_aic[2],
            "auc_with_displacement": np.nan if one.with_motion is None else one.with_motion[0],
            "mean_auc_over_path": float(one.path_auc.mean()),
            "p_value": one.p_value,
        }
        for one in found
    ]
    if alone is not None:
        rows.append(
            {
                "method": "mean framewise displacement alone",
                "features": "motion",
                "auc": alone[0],
                "low": alone[1],
                "high": alone[2],
            }
        )
    return pd.DataFrame(rows)


def motion_table(
    found: dict[str, ResidualMotion],
    fdr: float = FALSE_DISCOVERY,
    networks: Mapping[str, SubjectNetworks] | None = None,
) -> pd.DataFrame:
    """One row for each method: residual effects of motion in its networks, and the cost of adjusting.

    Parameters
    ----------
    found : dict of method to ResidualMotion
    fdr : float
        False discovery rate of the edges whose correlation with motion is declared.
    networks : mapping of method to SubjectNetworks, optional
        For the volumes that the networks rest on.
    """
    known = networks or {}
    return pd.DataFrame(
        [
            {
                "method": METHODS.get(method, method),
                "median_absolute_correlation": one.median_absolute,
                "part_below_0.05": one.significant,
                "chance_up_to": one.chance,
                "p_value": one.p_value,
                "declared_edges": int(np.count_nonzero(one.q_value <= fdr)),
                "short_range_excess": one.short_range_excess,
                "short_range_p_value": one.short_range_p_value,
                "after_edge_regression": one.regressed,
                "effective_volumes": (
                    float(np.nanmean(known[method].effective)) if method in known else np.nan
                ),
                "subjects": one.subjects,
            }
            for method, one in found.items()
        ]
    )


def save_tables(plan: StudyPlan, result: StudyResult) -> None:
    """Write every table and network of a study into its folder.

    Tables and networks of an earlier run that this one does not write are removed, so that they are not
    taken for part of it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plaggm.fmri.problems import Problems
    >>> from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    >>> from plaggm.fmri.study import analyse
    >>> motion = simulated_motion(3, seed=0, volumes=60)
    >>> data, _ = semisynthetic_study(motion, seed=0, per_group=3, regions=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan = StudyPlan(
    ...         Path(),
    ...         "diagnosis",
    ...         ("fd",),
    ...         Path(folder),
    ...         methods=("lr",),
    ...         repeats=0,
    ...         permutations=99,
    ...     )
    ...     save_tables(plan, analyse(plan, data, Problems()))
    ...     (Path(folder) / "subjects.csv").is_file()
    True
    """
    folder = plan.output
    names = result.data.atlas.names
    regions = pd.DataFrame({"region": list(names)})
    if result.data.atlas.coordinates is not None:
        regions[["x", "y", "z"]] = result.data.atlas.coordinates
    if result.data.atlas.networks:
        regions["network"] = list(result.data.atlas.networks)
    tables = {
        "problems.csv": result.problems.to_frame(),
        "subjects.csv": result.data.to_frame(),
        "regions.csv": regions,
    }
    scans = result.data.scans_frame()
    if len(scans):
        tables["scans.csv"] = scans
    for method, comparison in result.comparisons.items():
        difference = pooled_difference(result, method)
        edges = comparison.edges(names)
        tables[f"edges_compared-{method}.csv"] = with_estimates(edges, result, method)
        tables[f"regions_compared-{method}.csv"] = comparison.regions(names, difference)
    for method, omnibus in result.omnibus.items():
        edges = omnibus.edges(names, plan.fdr)
        tables[f"edges_compared-{method}.csv"] = with_estimates(edges, result, method)
        tables[f"regions_compared-{method}.csv"] = omnibus.regions(names)
    if result.motion:
        tables["residual_motion.csv"] = motion_table(result.motion, plan.fdr, result.networks)
    if result.denoising is not None:
        tables["denoising.csv"] = result.denoising
    if result.diagnoses:
        tables["diagnosis.csv"] = diagnosis_table(result.diagnoses, result.motion_alone)
    for name, table in tables.items():
        write_csv(folder / name, table, index=False)
    written = set(tables)
    for (method, group), found in result.groups.items():
        found.save(folder / "groups" / f"{method}-{file_name(group)}", overwrite=True)
    for method, networks in result.networks.items():
        name = f"subject_networks-{method}.npz"
        written.add(name)
        with new_file(folder / name) as file:
            np.savez_compressed(
                file,
                omega=from_pairs(networks.values, len(names)),
                subject=np.array(networks.subjects),
                region=np.array(names),
                step=networks.steps[networks.chosen],
            )
    for pattern in OPTIONAL:
        for path in folder.glob(pattern):
            if path.name not in written:
                path.unlink()
    record = {
        "format": "plaggm-study",
        "group": plan.group,
        "groups": {group: len(result.data.of(group)) for group in result.data.groups},
        "confounders": list(result.data.confounder_names),
        "covariates": list(result.covariates),
        "blocks": plan.blocks,
        "methods": list(plan.methods),
        "criterion": plan.criterion,
        "edges": plan.edges,
        "fdr": plan.fdr,
        "subject_criterion": plan.subject_criterion,
        "threshold": plan.threshold,
        "atlas": result.data.atlas.title,
        "seed": plan.seed,
        "versions": library_versions(),
    }
    write_file(folder / STUDY_FILE, json.dumps(record, indent=2))


def with_estimates(edges: pd.DataFrame, result: StudyResult, method: str) -> pd.DataFrame:
    """Compared edges with their estimates in the groups' pooled networks.

    Subjects' networks are shrunk towards that of all subjects, so that their differences show whether
    groups differ and in which direction, not by how much.

    Parameters
    ----------
    edges : DataFrame
        With the columns source and target.
    result : StudyResult
    method : str

    Returns
    -------
    DataFrame
        A column ``estimate <group>`` for each group that has a network, after the names.
    """
    places = {name: place for place, name in enumerate(result.data.atlas.names)}
    first, second = (edges[end].map(places).to_numpy() for end in ("source", "target"))
    made = edges.copy()
    known = [group for group in result.data.groups if (method, group) in result.groups]
    for place, group in enumerate(known, 2):
        values = pooled_estimates(result.groups[method, group])
        made.insert(place, f"estimate {group}", values[first, second])
    return made


def pooled_estimates(network: GraphResult) -> Array:
    """Partial correlations of all pairs, edges or not: unpenalised where pairs are tested; (p, p)."""
    if network.deciding_tests is None:
        return network.partial_correlation
    return square(network.deciding_tests.estimate)


def pooled_difference(result: StudyResult, method: str) -> Array | None:
    """Edges of the second group's pooled network minus those of the first's: shape (p, p)."""
    networks = [result.groups.get((method, group)) for group in result.data.groups]
    if len(networks) != 2 or networks[0] is None or networks[1] is None:
        return None
    return networks[1].network - networks[0].network
