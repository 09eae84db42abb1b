"""Pictures of brains, whatever regions and groups are called."""

from __future__ import annotations

import numpy as np

from plaggm.fmri.atlas import Atlas
from plaggm.plotting.brain import interactive_view, matrices
from plaggm.report.rendering import inline_scripts

MATRIX = np.array([[0.0, 0.4, -0.2], [0.4, 0.0, 0.1], [-0.2, 0.1, 0.0]])
PLACES = np.array([[-30.0, 0.0, 10.0], [30.0, 20.0, 0.0], [0.0, -40.0, 20.0]])


def test_names_end_no_script():
    plain = interactive_view(MATRIX, Atlas("three", ("a", "b", "c"), PLACES), "group")
    hostile = ("</script><script>run()</script>", "<!-- <script>", "]]>")
    view = interactive_view(MATRIX, Atlas("three", hostile, PLACES), "<img src=x onerror=run()>")
    assert len(inline_scripts(view)) == len(inline_scripts(plain))
    assert view.count("<") == plain.count("<")
    assert interactive_view(np.zeros((3, 3)), Atlas("three", hostile, PLACES), "") == ""


def test_dollars_are_letters(tmp_path):
    matrices(tmp_path / "one.png", {"$\\frac$ of $x": MATRIX})
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
