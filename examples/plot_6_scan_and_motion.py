"""
A resting scan and head motion
==============================

**Question.** Somebody lies in a scanner and moves a little. How much of the network of cortical
regions is motion?
"""

# %%
# The data
# --------
# One scan of the left cortex, 652 volumes, on the surface fsaverage5. Every vertex goes to the
# nearest of the Harvard-Oxford atlas' centres, which is coarser than the atlas itself; regions of
# fewer than 100 vertices are left out. The confounds' columns 6 to 11 are rotations (in radians)
# and translations (in millimetres); framewise displacement is the sum of their changes, rotations
# on a sphere of 50 mm.
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import nibabel
import numpy as np
import pandas as pd
from nilearn.datasets import load_fsaverage
from nilearn.plotting import plot_connectome

from plaggm import PLAGGMCV
from plaggm.fmri import harvard_oxford

folder = Path(find_spec("brainspace").origin).parent / "datasets" / "preprocessing"
scan = nibabel.load(next(folder.glob("*.lh.mgz"))).get_fdata(dtype=np.float32).reshape(-1, 652)
confounds = np.loadtxt(next(folder.glob("*confounds.txt")))
atlas = harvard_oxford()
vertices = load_fsaverage("fsaverage5")["pial"].parts["left"].coordinates
centres = np.asarray(atlas.coordinates)
nearest = ((vertices[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
nearest[scan.std(axis=1) == 0.0] = -1  # the wall between the hemispheres
regions = [k for k in range(len(centres)) if (nearest == k).sum() >= 100]
series = pd.DataFrame({atlas.names[k]: scan[nearest == k].mean(axis=0) for k in regions})
change = np.abs(np.diff(confounds[:, 6:12], axis=0, prepend=confounds[:1, 6:12]))
motion = pd.Series(50.0 * change[:, :3].sum(axis=1) + change[:, 3:].sum(axis=1), name="motion")
print(
    f"{len(series)} volumes, {series.shape[1]} regions, median displacement {motion.median():.2f} mm"
)

# %%
# Four analyses
# -------------
# Motion or not, and volumes as independent rows or as what they are, a time series.
with warnings.catch_warnings():
    # The first two are wrong on purpose: their warnings say so.
    warnings.simplefilter("ignore", UserWarning)
    wrong = PLAGGMCV().fit(series)
    wrong_adjusted = PLAGGMCV().fit(series, confounder=motion)
    wrong.inference(), wrong_adjusted.inference()
naive = PLAGGMCV(temporal="ar").fit(series)
adjusted = PLAGGMCV(temporal="ar").fit(series, confounder=motion)
rows = []
for rest, pair in {"independent": (wrong, wrong_adjusted), "series": (naive, adjusted)}.items():
    plain, fit = pair
    changed = (fit.inference()["change_q_value"] <= 0.05).sum()
    p_value = fit.confounding_test().p_value
    rows.append((rest, len(plain.edges()), len(fit.edges()), changed, p_value))
columns = [
    "volumes as",
    "edges",
    "edges, motion adjusted",
    "pairs that change",
    "p of no motion effect",
]
print(pd.DataFrame(rows, columns=columns).to_string(index=False, float_format="{:.2g}".format))

# %%
# Taken as independent, the volumes show hundreds of edges and overwhelming evidence that motion
# changes the network. Both are artefacts of autocorrelation. As a time series the scan has a few
# dozen edges, and adjusting for motion changes nothing that a test could tell: this person lay
# still.
fig, axes = plt.subplots(1, 2, figsize=(12, 4.5))
for ax, (title, model) in zip(
    axes, {"independent": wrong_adjusted, "a series": adjusted}.items(), strict=True
):
    declared = model.partial_correlation_ * model.adjacency_
    plot_connectome(
        declared,
        centres[regions],
        display_mode="x",
        axes=ax,
        node_color="0.3",
        node_size=15,
        edge_vmin=-0.7,
        edge_vmax=0.7,
        colorbar=False,
    )
    ax.set_title(f"volumes as {title}: {len(model.edges())} edges, red positive")

# %%
print(
    adjusted.edges()[["source", "target", "estimate", "low", "high"]]
    .head(8)
    .round(2)
    .to_string(index=False)
)

# %%
# .. admonition:: Caveat
#
#    The series are those of the package, without further filtering. Neighbouring regions share an
#    edge because the surface is smoothed, too.
#
# **A careful reader would check** the threshold (:doc:`plot_9_threshold`), whether a region's edges
# follow distance on the cortex, and above all more than one person: :doc:`plot_7_study`.
#
# **Data**: a scan that comes with brainspace (BSD 3-Clause; R. Vos de Wael et al., 2020). Only its
# files are read: ``pip install --no-deps brainspace`` is enough.
