"""Pictures of brains, whatever regions and groups are called."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.fmri.atlas import Atlas, harvard_oxford
from plaggm.fmri.diagnosis import Diagnosis
from plaggm.fmri.motion import residual_motion
from plaggm.fmri.treatments import METHODS
from plaggm.plotting import brain
from plaggm.plotting.brain import interactive_view, matrices
from plaggm.report.rendering import inline_scripts

pytestmark = pytest.mark.pictures

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


def test_edges_by_network(tmp_path):
    """Regions are ordered by network, and every edge is one chord."""
    from plaggm.plotting.brain import figures
    from plaggm.plotting.brain_networks import by_network, chords, network_pictures

    names = ["Vis", "Default", "Vis", "Limbic"]
    order, spans = by_network(names)
    assert order.tolist() == [0, 2, 1, 3]
    assert spans == [("Vis", 0, 2), ("Default", 2, 3), ("Limbic", 3, 4)]
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 0.4
    matrix[2, 3] = matrix[3, 2] = -0.2
    figure, ax = figures().subplots()
    chords(ax, matrix, spans, 0.4)
    # Three arcs and two chords.
    assert len(ax.patches) == 5
    assert [text.get_text() for text in ax.texts] == ["Vis", "Default", "Limbic"]
    figures().close(figure)
    network_pictures(tmp_path / "a.png", {"group $a": matrix}, names)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_regions_of_both_hemispheres_are_drawn_on_the_left():
    """nilearn gives a region on both sides the place of its left half, and the page says so."""
    import nibabel as nib
    from nilearn.plotting import find_parcellation_cut_coords

    values = np.zeros((10, 10, 10), dtype=np.int16)
    values[1:4, 2:4, 2:4] = values[6:9, 2:4, 2:4] = 1
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = -9.0
    (place,) = find_parcellation_cut_coords(nib.Nifti1Image(values, affine))
    assert place[0] < 0.0
    assert brain.one_sided(harvard_oxford())
    assert not brain.one_sided(
        Atlas("two", ("left", "right"), np.array([[-3.0, 0, 0], [3.0, 0, 0]]))
    )
    assert not brain.one_sided(Atlas("none", ("left", "right")))


def test_strongest_edges_have_no_direction():
    """One of the last edges that are shown differs from its mirror image by rounding."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((20, 20))
    matrix += matrix.T
    first, second = np.triu_indices(20, 1)
    last = np.argsort(-np.abs(matrix[first, second]))[brain.MOST_EDGES - 1]
    matrix[second[last], first[last]] *= 1.0 - 1e-15
    shown = brain.strongest(matrix)
    np.testing.assert_array_equal(shown, shown.T)
    assert np.count_nonzero(np.triu(shown)) == brain.MOST_EDGES


@pytest.fixture
def drawn(monkeypatch):
    """Figures that are saved, as they are."""
    figures = []
    monkeypatch.setattr(brain, "save_figure", lambda figure, path, **how: figures.append(figure))
    return figures


def test_every_method_has_a_curve(drawn, tmp_path):
    """Two methods of eight differ by their lines, since there are six colours."""
    path = np.array([0.6, 0.7])
    numbers = (path, path - 0.1, path + 0.1, 0.7, 0.6, 0.8, np.nan, (0.7, 0.6, 0.8))
    found = [
        Diagnosis(method, "values", "cv", *numbers, np.array([1.0, 0.1])) for method in METHODS
    ]
    brain.diagnosis_curves(tmp_path / "curves.png", found, None)
    lines = [line for line in drawn[0].axes[0].lines if len(line.get_xdata()) == len(path)]
    shown = {(line.get_color(), line.get_linestyle()) for line in lines if line.get_marker()}
    assert len(METHODS) == 8
    assert (
        len({(line.get_label()) for line in lines} & {f"{one.title}: 0.70" for one in found}) == 8
    )
    assert len(shown) >= len(METHODS)


def test_panels_of_residual_motion_stay_readable(drawn, tmp_path):
    rng = np.random.default_rng(0)
    values, moved = rng.standard_normal((12, 3)), rng.random(12)
    distances = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=2)
    one = residual_motion(values, moved, distances)
    brain.residual_motion_plot(tmp_path / "m.png", dict.fromkeys(METHODS, one), distances)
    panels = drawn[0].axes
    assert len(panels) == len(METHODS)
    assert {ax.get_subplotspec().colspan.start for ax in panels} == {0, 1, 2}
    assert {ax.get_subplotspec().rowspan.start for ax in panels} == {0, 1, 2}


def test_panel_of_networks_that_are_the_same_in_everybody(drawn, tmp_path):
    moved = np.random.default_rng(0).random(12)
    same = residual_motion(np.zeros((12, 3)), moved, None)
    brain.residual_motion_plot(tmp_path / "m.png", {"raw": same}, None)
    assert drawn[0].axes[0].get_title() == "no adjustment\nno edge varies across subjects"
