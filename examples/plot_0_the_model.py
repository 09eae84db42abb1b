"""
The model in pictures
=====================

**Question.** What does it mean that a confounder distorts a *network*, and what is it that plaggm
estimates?
"""

# %%
# A confounder can do three things
# --------------------------------
# Take two variables and something measured beside them, g: head motion, say. It can shift their
# means, it can make them noisier, and it can change how they go together. Only the last is a change
# of the network, and it is the one that regressing g out of each variable leaves in place.
import matplotlib.pyplot as plt
import numpy as np

from plaggm import PLAGGMCV
from plaggm.plotting import plot_edge, plot_matrix
from plaggm.simulate import simulate_paper

rng = np.random.default_rng(0)
g = np.repeat([0.1, 0.9], 300)
noise = rng.standard_normal((600, 2))
far = g > 0.5
tied = noise @ np.array([[1.0, 0.6], [0.0, 0.8]])
panels = {
    "shifts the means": noise + 2.0 * far[:, None],
    "inflates the noise": noise * np.where(far, 2.0, 0.8)[:, None],
    "changes the network": np.where(far[:, None], tied, noise),
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharex=True, sharey=True)
for ax, (title, z) in zip(axes, panels.items(), strict=True):
    for part, colour, label in ((~far, "tab:blue", "small g"), (far, "tab:orange", "large g")):
        r = np.corrcoef(z[part].T)[0, 1]
        ax.scatter(*z[part].T, s=6, color=colour, label=f"{label}: r = {r:.2f}")
    ax.set_title(f"{title}\nall samples: r = {np.corrcoef(z.T)[0, 1]:.2f}")
    ax.legend(frameon=False, fontsize=8, loc="upper left")

# %%
# Pooled, the first looks like an edge that is not there, and the third like one of a strength that
# it has nowhere. In the second the noisy samples outweigh the others. plaggm models all three at
# once: the means and the noise are smooth functions of g, and the network is
#
# .. math:: \Omega(g) = \Omega_0 + R(g),
#
# with R smooth, otherwise free, and zero where the confounder is small. :math:`\Omega_0`, the
# *baseline network*, is what is estimated: the network the data would show without the confounder.
#
# The baseline, the distortion, and what the pooled samples show
# --------------------------------------------------------------
data = simulate_paper(
    10, n=3000, seed=1, even=True, shape="saturating", confounder="uniform", threshold=80.0
)
x = data.to_frame().drop(columns="confounder")
g = data.to_frame()["confounder"]
naive = PLAGGMCV().fit(x)
model = PLAGGMCV(threshold=80.0).fit(x, confounder=g)
fig, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
shown = {
    "Ω0, the truth": data.omega,
    "R(g) at g = 300": data.nuisance(np.array([300.0]))[0],
    "all samples pooled": naive.partial_correlation_,
    "Ω0, estimated": model.partial_correlation_,
}
for ax, (title, matrix) in zip(axes, shown.items(), strict=True):
    matrix = np.array(matrix)
    np.fill_diagonal(matrix, np.nan)
    picture = ax.imshow(matrix, cmap="RdBu_r", vmin=-0.3, vmax=0.3)
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
fig.colorbar(picture, ax=axes, shrink=0.8, label="partial correlation")

# %%
# Where the samples come from
# ---------------------------
# Samples below the threshold g* (grey) speak of the baseline directly. Those beyond it speak of the
# baseline *plus* the distortion; since the distortion is smooth and its size is learnt from all
# pairs together, they still help. One edge along g:
first = model.edges().iloc[0]
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=[1, 2])
axes[0].axvspan(-80, 80, color="0.88")
axes[0].hist(g, bins=40, color="0.5", rwidth=0.7)
axes[0].set(xlabel="confounder", ylabel="samples")
ax = plot_edge(model, first["source"], first["target"], axes[1])

# %%
# For age, sex, site or batch nothing is "harmless". There the baseline is the *average* network, or
# the one at a value that you name: :doc:`../confounders`.
#
# Which edges are declared
# ------------------------
# The picture of a fit shows edges that pass a test at a false discovery rate of 5 %:
ax = plot_matrix(model)
print(model.edges()[["source", "target", "estimate", "low", "high", "q_value"]].round(3).head())

# %%
# .. admonition:: Caveat
#
#    The confounder must have been *measured*. What nobody measured cannot be taken out, and an edge
#    that stays may have another cause. An edge is a partial correlation, not an effect of one
#    variable on another.
#
# **A careful reader would check** whether anything speaks for confounding at all
# (:func:`plaggm.confounding_test`), and read :doc:`../guide/which-edges` next.
#
# **Data**: simulated by :func:`plaggm.simulate.simulate_paper`; no licence needed.
