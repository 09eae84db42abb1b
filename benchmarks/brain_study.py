"""Write a study of measured head motion and simulated networks, as XCP-D lays out region series.

People have two runs (halves of their measured motion), a site, their age and sex. The true networks of the
groups differ, and patients move more. What every command makes of it is looked at by hand:

    python benchmarks/brain_study.py DATA FOLDER --per-group 40
    plaggm study FOLDER/xcp_d --group diagnosis --confounder fd --covariate age --blocks site --output OUT

DATA holds ``cobre_motion.npz`` and ``cobre_participants.csv`` (motion of COBRE, 147 people).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from plaggm.fmri.confounds import SIX
from plaggm.fmri.semisynthetic import measured_motion, semisynthetic_study

SITES = ("Lund", "Oslo", "Turku")
# Parts of a region's name and the lobe that it stands for, the first that fits.
LOBES = {
    "Occip": "Occipital",
    "calcarine": "Occipital",
    "Cuneal": "Occipital",
    "Lingual": "Occipital",
    "Temporal": "Temporal",
    "Heschl": "Temporal",
    "Planum": "Temporal",
    "Fusiform": "Temporal",
    "Parahippocampal": "Temporal",
    "Parietal": "Parietal",
    "Postcentral": "Parietal",
    "Supramarginal": "Parietal",
    "Angular": "Parietal",
    "Precune": "Parietal",
    "Cingulate": "Cingulate",
    "Paracingulate": "Cingulate",
    "Insular": "Insular",
    "Opercul": "Insular",
}


def lobe(region: str) -> str:
    """The lobe of a Harvard–Oxford region."""
    return next((name for part, name in LOBES.items() if part in region), "Frontal")


def write(data: Path, folder: Path, per_group: int, seed: int, relatives: int) -> None:
    """Write the study; some controls are called relatives where a third group is wanted."""
    motion = measured_motion(data / "cobre_motion.npz")
    stored = np.load(data / "cobre_motion.npz", allow_pickle=False)
    about = pd.read_csv(data / "cobre_participants.csv").set_index("id")
    study, _ = semisynthetic_study(motion, seed=seed, per_group=per_group, matched=False)
    rng = np.random.default_rng(seed)
    rows = []
    for k, subject in enumerate(study.subjects):
        # Whose motion it is.
        row = int(np.argmin(np.abs(motion.displacement - subject.displacement).max(axis=1)))
        person = about.loc[int(stored["subject"][row])]
        group = "relative" if k < relatives else subject.group
        label = f"sub-{k + 1:03d}"
        rows.append((label, group, person["age"], person["gender"], SITES[rng.integers(3)]))
        home = folder / "xcp_d" / label / "ses-1" / "func"
        home.mkdir(parents=True, exist_ok=True)
        table = pd.DataFrame(motion.parameters[row], columns=list(SIX))
        table["framewise_displacement"] = subject.displacement
        halves = np.array_split(np.arange(len(subject.x)), 2)
        for run, half in enumerate(halves, 1):
            stem = home / f"{label}_ses-1_task-rest_run-{run}"
            # Offsets and units that no analysis may depend on.
            x = 500.0 + 10.0 * run * subject.x[half]
            pd.DataFrame(x, columns=list(study.atlas.names)).to_csv(
                f"{stem}_space-MNI152NLin2009cAsym_seg-HarvardOxford_stat-mean_timeseries.tsv",
                sep="\t",
                index=False,
                float_format="%.5f",
            )
            own = table.iloc[half].copy()
            own.iloc[0, -1] = np.nan
            own.to_csv(f"{stem}_motion.tsv", sep="\t", index=False, na_rep="n/a")
    columns = ["participant_id", "diagnosis", "age", "sex", "site"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "participants.tsv", sep="\t", index=False)
    atlases = folder / "xcp_d" / "atlases" / "atlas-HarvardOxford"
    atlases.mkdir(parents=True, exist_ok=True)
    names = study.atlas.names
    regions = pd.DataFrame({"index": range(1, len(names) + 1), "label": names})
    regions["network_label"] = [lobe(name) for name in names]
    regions[["x", "y", "z"]] = study.atlas.coordinates
    regions.to_csv(atlases / "atlas-HarvardOxford_dseg.tsv", sep="\t", index=False)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-group", type=int, default=40)
    parser.add_argument("--relatives", type=int, default=0, help="controls to call relatives")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.data, given.folder, given.per_group, given.seed, given.relatives)


if __name__ == "__main__":
    main()
