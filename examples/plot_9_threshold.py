"""
Choosing and understanding the threshold
========================================

**Question.** For an amount such as motion, samples below the threshold g* count as free of
confounding. What if it is wrong?
"""

# %%
# The data
# --------
# Simulated, so that the right answer is known: the distortion begins at 60.
import matplotlib.pyplot as plt

from plaggm import PLAGGMCV, threshold_sensitivity
from plaggm.metrics import edge_auc
from plaggm.simulate import simulate_paper

data = simulate_paper(
    10, n=1500, seed=5, even=True, shape="saturating", confounder="uniform", threshold=60.0
)
x = data.to_frame().drop(columns="confounder")
g = data.to_frame()["confounder"].abs().rename("harm")
naive = PLAGGMCV().fit(x)
automatic = PLAGGMCV(reference="zero").fit(x, confounder=g)
print(f"chosen by the data: {automatic.threshold_:.0f}; the truth is 60")

# %%
# What other thresholds would do
# ------------------------------
table = threshold_sensitivity(x, g)
shown = ["threshold", "share_below", "edges", "jaccard", "lack_of_fit", "p_value", "agrees"]
print(table[shown].round(3).to_string(index=False))

# %%
# Too small, and few samples are left from which the baseline network is learnt without doubt:
# intervals are wide. Too large, and distorted samples count as clean: the network drifts to the
# naive one.
thresholds = [20.0, 40.0, 60.0, 100.0, 150.0, 250.0]
fits = [PLAGGMCV(threshold=value).fit(x, confounder=g) for value in thresholds]
auc = [edge_auc(fit.omega_, data.support) for fit in fits]
width = [fit.inference()["standard_error"].median() for fit in fits]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
axes[0].plot(thresholds, auc, marker="o", label="adjusted, given this threshold")
axes[0].axhline(
    edge_auc(naive.omega_, data.support), color="0.5", linestyle="--", label="not adjusted"
)
axes[0].axvline(60.0, color="0.8")
axes[0].set(xlabel="threshold", ylabel="AUC of the true edges")
axes[0].legend(frameon=False)
axes[1].plot(thresholds, width, marker="o")
axes[1].axvline(60.0, color="0.8")
axes[1].set(xlabel="threshold", ylabel="median standard error of a pair")

# %%
# .. admonition:: Caveat
#
#    The data can speak against a threshold that is far too large; they can hardly tell 40 from 60.
#    If science has an answer (0.2 mm of displacement), give it.
#
# **A careful reader would check** that the edges a paper rests on are there for every reasonable
# threshold.
#
# **Data**: simulated by :func:`plaggm.simulate.simulate_paper`; no licence needed.
