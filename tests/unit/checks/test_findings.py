"""Findings and their table."""

from __future__ import annotations

import numpy as np

from plaggm.checks.findings import Finding, findings_frame, ordered


def test_findings_are_ordered_by_level_and_else_as_they_came():
    found = [
        Finding(level, kind, (), "What.", "Done.")
        for level, kind in (("note", "1"), ("refused", "2"), ("note", "3"), ("warning", "4"))
    ]
    assert [one.kind for one in ordered(found)] == ["2", "4", "1", "3"]


def test_the_table_has_one_row_for_each():
    one = Finding("warning", "outlier", ("a", "b"), "Far.", "Taken.", "--robust", (3, 5), 9.0)
    frame = findings_frame([one, Finding("note", "count", (), "x", "y")])
    assert frame.loc[0].tolist() == [
        *("warning", "outlier", "a, b", "3, 5", 9.0, "Far.", "Taken.", "--robust"),
    ]
    assert np.isnan(frame.loc[1, "size"])
    assert findings_frame([]).empty
