"""All areas, by name."""

from __future__ import annotations

from fuzz.areas import (
    binary_tables,
    checks,
    chunks,
    comparisons,
    configurations,
    data,
    methods,
    options,
    parameters,
    partitions,
    pictures,
    results,
    series,
    simulations,
    studies,
    text_tables,
)
from fuzz.case import Area

AREAS: dict[str, Area] = {
    area.name: area
    for area in (
        Area("data", 900, data.draw),
        Area("parameters", 900, parameters.draw),
        Area("methods", 400, methods.draw),
        Area("chunks", 400, chunks.draw),
        Area("series", 400, series.draw),
        Area("partitions", 100, partitions.draw),
        Area("pictures", 150, pictures.draw),
        Area("simulations", 400, simulations.draw),
        Area("comparisons", 60, comparisons.draw),
        Area("text-tables", 400, text_tables.draw),
        Area("binary-tables", 400, binary_tables.draw),
        Area("checks", 400, checks.draw),
        Area("configurations", 250, configurations.draw),
        Area("options", 400, options.draw),
        Area("results", 400, results.draw),
        Area("studies", 250, studies.draw),
    )
}
