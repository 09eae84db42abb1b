"""Names in the result folder of ``plaggm fit``."""

from __future__ import annotations

FIGURES, UNADJUSTED, GROUPS = "figures", "unadjusted", "groups"
SETTINGS, SUMMARY, REPORT = "settings.toml", "summary.txt", "report.html"
GROUP_TABLE, PAIR_TABLE = "groups.csv", "edges_by_group.csv"
DIFFERENCE_TABLE, MAP_TABLE, NOTES = "differences.csv", "map.csv", "cautions.txt"
# Everything that a run may leave in its folder; --force replaces nothing else.
ENTRIES = (
    "arrays.npz",
    NOTES,
    "centrality.csv",
    DIFFERENCE_TABLE,
    "edges.csv",
    "edges.parquet",
    PAIR_TABLE,
    FIGURES,
    GROUPS,
    GROUP_TABLE,
    MAP_TABLE,
    "matrix.csv",
    "moderation.csv",
    "moderation.parquet",
    "network.edge",
    "network.gexf",
    "network.graphml",
    "network.node",
    "node_groups.csv",
    "nuisance.csv",
    "pairs.csv",
    "pairs.parquet",
    "path.npz",
    REPORT,
    "result.json",
    SETTINGS,
    SUMMARY,
    "truth.json",
    UNADJUSTED,
)
