"""The experiment on exact structures: cells, constants, tables, picture and page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm.report.sections import page_markdown
from plaggm.reproduce.figures import plot_structure
from plaggm.reproduce.sparsistency import (
    CONSTANTS,
    DEVELOPMENT,
    STRUCTURE_METHODS,
    StructureCell,
    StructurePlan,
    constants_of,
    first_found,
    run_structure_cell,
    settled_constants,
    structure_cells,
    structure_data,
    structure_table,
)
from plaggm.reproduce.structure_page import structure_page


def made(method: str, p: int, ratio: float, seed: int, exact: list[int], error: float) -> dict:
    count = len(CONSTANTS)
    return {
        "method": method,
        "p": p,
        "ratio": ratio,
        "n": round(ratio * np.log(p)),
        "seed": seed,
        "reason": "",
        "warnings": [],
        "exact": exact + [0] * (count - len(exact)),
        "wrong": [1] * count,
        "missing": [0] * count,
        "sup_error": [error] * count,
        "incoherence": 0.5,
    }


@pytest.fixture
def records() -> list[dict[str, Any]]:
    out = []
    for p in (10, 20):
        for ratio in (100.0, 200.0, 400.0):
            # The third constant is best on the development seeds, the first on the others.
            out.append(made("spline", p, ratio, DEVELOPMENT, [0, 0, 1], 0.1))
            late = [1, 0, int(ratio >= 200.0)]
            out += [made("spline", p, ratio, seed, late, 0.2) for seed in (0, 1)]
    failed = made("ggm", 10, 100.0, 0, [1, 1, 1], 0.3) | {"reason": "too few samples"}
    return [*out, made("ggm", 10, 100.0, DEVELOPMENT, [1], 0.3), failed]


def test_every_variable_has_at_most_two_neighbours() -> None:
    for p in StructurePlan().variables:
        data = structure_data(p, 50, 0)
        assert data.support.sum(axis=1).max() == 2
        edges = np.abs(data.omega[data.support])
        assert edges.min() > 0.1


def test_cells() -> None:
    plan = StructurePlan((10, 20), (100.0,), seeds=2, development=1)
    cells = structure_cells(plan)
    assert len({cell.name for cell in cells}) == len(cells) == 2 * 3 * len(STRUCTURE_METHODS)
    assert {cell.n for cell in cells} == {230, 300}


def test_one_cell() -> None:
    record = run_structure_cell(StructureCell(10, 800.0, DEVELOPMENT, "spline"))
    assert record["reason"] == ""
    assert len(record["exact"]) == len(CONSTANTS)
    # Small penalties have wrong edges, large ones miss some, and between there is the truth.
    assert record["wrong"][0] > 0
    assert record["missing"][-1] > 0
    assert max(record["exact"]) == 1
    place = record["exact"].index(1)
    assert record["wrong"][place] == record["missing"][place] == 0
    assert record["incoherence"] < 1.0
    assert record == run_structure_cell(StructureCell(10, 800.0, DEVELOPMENT, "spline"))


def test_constants_are_settled_on_other_seeds_than_are_reported(records) -> None:
    assert settled_constants(records)["spline"] == CONSTANTS[2]
    table = structure_table(records).set_index(["method", "p", "ratio"])
    assert table.loc[("spline", 10, 100.0), "frequency"] == 0.0
    assert table.loc[("spline", 10, 200.0), "frequency"] == 1.0
    assert table.loc[("spline", 10, 200.0), "seeds"] == 2
    # A failure is no structure.
    assert table.loc[("ggm", 10, 100.0), "frequency"] == 0.0
    assert table.loc[("ggm", 10, 100.0), "failed"] == 1


def test_first_size_with_the_structure(records) -> None:
    found = first_found(structure_table(records))
    assert found.loc["spline"].tolist() == [200.0, 200.0]
    assert pd.isna(found.loc["ggm", 10])


def test_page_and_picture(records) -> None:
    from matplotlib import pyplot as plt

    figure = plot_structure(structure_table(records))
    assert len(figure.axes) == 4
    plt.close(figure)
    plan = StructurePlan((10, 20), (100.0, 200.0, 400.0), seeds=2, development=1)
    page = page_markdown(structure_page(records, plan, figure=Path("a.png"), source="x"), Path())
    assert "| PLA-GGM, spline, g\\* known | 2 | 200 | 200 | 0.50 |" in page
    assert "too few samples" in page
    assert "nan" not in page


def test_the_soft_indicator_needs_smaller_penalties_than_all_others() -> None:
    assert constants_of("spline") == CONSTANTS
    assert max(constants_of("paper")) < CONSTANTS[0]
    record = run_structure_cell(StructureCell(10, 800.0, 0, "paper"))
    # From the empty network at the largest constant to one with edges.
    edges = 9 - np.array(record["missing"]) + np.array(record["wrong"])
    assert edges[-1] == 0
    assert edges[0] > 0
