from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

from plaggm import PLAGGMCV, GraphResult, plotting
from plaggm.edge_table import CANDIDATES
from plaggm.metrics import edge_auc
from plaggm.plotting.penalty_curves import spread
from plaggm.simulate import simulate_paper

mpl.use("Agg")

NAMES = ("fear", "sleep", "pain", "mood")
OMEGA = np.array(
    [
        [9.0, 0.30, -0.20, 0.0],
        [0.30, 9.0, 0.10, 0.0],
        [-0.20, 0.10, 9.0, 0.0],
        [0.0, 0.0, 0.0, 9.0],
    ]
)
# fear – sleep and pain – mood; the network finds the first and two that are not there.
TRUTH = np.zeros((4, 4))
TRUTH[0, 1] = TRUTH[1, 0] = 0.4
TRUTH[2, 3] = TRUTH[3, 2] = -0.2

ALPHAS = np.array([0.4, 0.2, 0.1])
GRID = np.array([-4.0, -1.0, 0.0, 2.0, 5.0])


def symmetric(p: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(p, p)) * 0.1
    return matrix + matrix.T


@pytest.fixture
def plain() -> GraphResult:
    return GraphResult(names=NAMES, omega=OMEGA, location=np.zeros(4), scale=np.ones(4), alpha=0.2)


@pytest.fixture
def full(plain: GraphResult) -> GraphResult:
    """With a path, a criterion and a nuisance along one confounder."""
    nuisance = GRID[:, None, None] * symmetric(4)
    nuisance[1:4] = 0.0
    return replace(
        plain,
        confounder_names=("motion",),
        threshold=np.array([2.0]),
        confounder_grid=GRID[:, None],
        nuisance=nuisance,
        alphas=ALPHAS,
        omega_path=np.stack([np.zeros((4, 4)), OMEGA, OMEGA + symmetric(4)]),
        criterion_path=np.array([3.0, 1.0, 2.0]),
        settings={"criterion": "bic"},
    )


@pytest.fixture
def tested(full: GraphResult, edge_tests: Any) -> GraphResult:
    """With tests that declare fear – sleep and, unlike omega, pain – mood."""
    estimate = np.where(TRUTH == 0.0, 0.01, TRUTH)
    tests = edge_tests(estimate, 400)
    return replace(full, edge_table=tests, settings={"edges": "fdr", "fdr": 0.05})


@pytest.fixture
def undeclared(tested: GraphResult, edge_tests: Any) -> GraphResult:
    """With tests that declare nothing."""
    return replace(tested, edge_table=edge_tests(np.where(TRUTH == 0.0, 0.01, TRUTH), 9))


@pytest.fixture(scope="module")
def fitted() -> PLAGGMCV:
    data = simulate_paper(4, n=200, seed=0, even=True, threshold=100.0)
    return PLAGGMCV(alphas=8, cv=3, threshold=100.0).fit(data.x, confounder=data.confounder)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def edges_of(ax: Any) -> LineCollection:
    (lines,) = [child for child in ax.collections if isinstance(child, LineCollection)]
    return lines


def nodes_of(ax: Any) -> np.ndarray:
    (points,) = [child for child in ax.collections if not isinstance(child, LineCollection)]
    return np.asarray(points.get_offsets())


def line_named(ax: Any, label: str) -> Any:
    (line,) = [line for line in ax.lines if label in str(line.get_label())]
    return line


def texts(ax: Any) -> set[str]:
    return {text.get_text() for text in ax.texts}


class TestNetwork:
    def test_draws_one_line_for_each_edge_between_its_nodes(self, plain: GraphResult) -> None:
        ax = plotting.plot_network(plain)
        ends = {
            frozenset(map(tuple, np.round(segment[[0, -1]], 6)))
            for segment in edges_of(ax).get_segments()
        }
        nodes = list(map(tuple, np.round(nodes_of(ax), 6)))
        assert ends == {frozenset(nodes[k] for k in pair) for pair in ((0, 1), (0, 2), (1, 2))}
        assert texts(ax) == set(NAMES)
        assert ax.get_title() == "3 edges, not adjusted"

    def test_strength_is_width_and_sign_is_colour(self, plain: GraphResult) -> None:
        lines = edges_of(plotting.plot_network(plain))
        # Drawn from the weakest to the strongest: 0.1, -0.2, 0.3.
        assert np.all(np.diff(lines.get_linewidths()) > 0.0)
        red, blue = lines.get_colors()[:, 0], lines.get_colors()[:, 2]
        np.testing.assert_array_equal(red > blue, [True, False, True])

    def test_variables_stay_where_they_are(self, plain: GraphResult) -> None:
        other = replace(plain, omega=np.eye(4))
        empty = plotting.plot_network(other)
        full = plotting.plot_network(plain, layout="circle")
        np.testing.assert_array_equal(nodes_of(full), nodes_of(empty))
        assert empty.get_title() == "0 edges, not adjusted"

    def test_many_names_are_thinned(self, plain: GraphResult) -> None:
        names = tuple(f"region {k}" for k in range(100))
        ax = plotting.plot_network(
            replace(plain, names=names, omega=symmetric(100)), layout="circle"
        )
        assert 20 <= len(ax.texts) <= 48
        assert len(nodes_of(ax)) == 100
        # Round the circle the last name is as far from the first as any other.
        shown = [names.index(text.get_text()) for text in ax.texts]
        assert 100 - shown[-1] >= shown[1] - shown[0]

    def test_long_names_are_cut_and_stay_clear_of_the_title(self, plain: GraphResult) -> None:
        names = tuple(f"left superior frontal gyrus {k}" for k in range(20))
        long = replace(plain, names=names, omega=symmetric(20))
        ax = plotting.plot_network(long, layout="circle")
        ax.figure.canvas.draw()
        assert len(texts(ax)) == 20
        assert 10 <= max(map(len, texts(ax))) <= 18
        below = ax.title.get_window_extent().y0
        assert max(text.get_window_extent().y1 for text in ax.texts) < below

    @pytest.mark.parametrize("layout", ["force", "circle"])
    def test_long_names_do_not_shrink_the_picture(self, plain: GraphResult, layout: Any) -> None:
        def width(names: tuple[str, ...]) -> float:
            ax = plotting.plot_network(
                replace(plain, names=names, omega=symmetric(20)), layout=layout, groups=None
            )
            ax.figure.canvas.draw()
            nodes = ax.transData.transform(nodes_of(ax))
            return float(np.ptp(nodes[:, 0]))

        short, long = (
            width(tuple(f"{word}{k}" for k in range(20))) for word in ("v", "very long name " * 9)
        )
        assert long > (0.65 if layout == "circle" else 0.99) * short

    def test_places_by_forces_are_common_and_fixed(self, plain: GraphResult) -> None:
        first, again = (nodes_of(plotting.plot_network(plain)) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        before, after, difference, *_ = plotting.plot_before_after(
            plain, replace(plain, omega=0.5 * plain.omega)
        ).axes
        np.testing.assert_array_equal(nodes_of(before), nodes_of(after))
        np.testing.assert_array_equal(nodes_of(before), nodes_of(difference))
        given = np.arange(8.0).reshape(4, 2)
        np.testing.assert_array_equal(nodes_of(plotting.plot_network(plain, layout=given)), given)

    @pytest.mark.parametrize("layout", ["spiral", np.zeros((3, 2))])
    def test_unknown_layouts_are_refused(self, plain: GraphResult, layout: Any) -> None:
        with pytest.raises(ValueError, match="layout must be 'force', 'circle' or places"):
            plotting.plot_network(plain, layout=layout)

    def test_weak_edges_fade(self, plain: GraphResult) -> None:
        opacity = edges_of(plotting.plot_network(plain)).get_colors()[:, 3]
        assert np.all(np.diff(opacity) > 0.0)

    def test_groups_have_colours_and_a_legend(self, plain: GraphResult) -> None:
        groups = {name: "sad" if name in NAMES[:2] else "well" for name in NAMES}
        ax = plotting.plot_network(plain, groups=groups)
        words = [text.get_text() for text in ax.get_legend().get_texts()]
        assert words[:2] == ["sad", "well"]
        (points,) = [c for c in ax.collections if not isinstance(c, LineCollection)]
        fills = [tuple(fill) for fill in points.get_facecolors()]
        assert fills[0] == fills[1] != fills[2] == fills[3]
        with pytest.raises(ValueError, match="no group for 2 of 4"):
            plotting.plot_network(plain, groups=dict.fromkeys(NAMES[:2], "a"))
        with pytest.raises(ValueError, match="'communities'"):
            plotting.plot_network(plain, groups="traits")

    def test_communities_are_found(self, plain: GraphResult) -> None:
        omega = np.kron(np.eye(2), np.full((2, 2), 0.3))
        ax = plotting.plot_network(replace(plain, omega=omega))
        words = [text.get_text() for text in ax.get_legend().get_texts()]
        assert words[:2] == [", ".join(NAMES[:2]), ", ".join(NAMES[2:])]

    def test_draws_where_it_is_told(self, plain: GraphResult) -> None:
        ax = plt.subplots()[1]
        assert plotting.plot_network(plain, ax) is ax

    def test_takes_a_fitted_estimator(self, fitted: PLAGGMCV) -> None:
        ax = plotting.plot_network(fitted)
        assert texts(ax) == {"x0", "x1", "x2", "x3"}
        assert ax.get_title().endswith("adjusted for confounder")

    def test_refuses_anything_else(self) -> None:
        with pytest.raises(TypeError, match=r"GraphResult or a fitted PLAGGM.*got ndarray"):
            plotting.plot_network(OMEGA)


class TestDifference:
    def test_only_tested_changes_are_strong(self, tested: GraphResult, edge_tests: Any) -> None:
        estimate = np.where(TRUTH == 0.0, 0.01, TRUTH)
        pooled = estimate.copy()
        pooled[0, 1] = pooled[1, 0] = estimate[0, 1] + 0.3
        pooled[2, 3] = pooled[3, 2] = estimate[2, 3] + 0.03
        after = replace(tested, edge_table=edge_tests(estimate, 400, pooled=pooled))
        before = replace(tested, edge_table=edge_tests(pooled, 400))
        ax = plotting.plot_before_after(before, after).axes[2]
        assert ax.get_title() == "Difference\n1 change beyond chance"
        lines = edges_of(ax)
        assert len(lines.get_segments()) == 2
        widths, inks = lines.get_linewidths(), lines.get_colors()
        assert widths[1] > 5.0 * widths[0]
        # Blue: weaker after adjustment. The other is grey.
        assert inks[1, 2] > inks[1, 0]
        assert inks[0, 0] == inks[0, 1] == inks[0, 2]

    def test_small_changes_are_faint(self, tested: GraphResult, edge_tests: Any) -> None:
        """With many samples a change of 0.04 passes its test, and is too small to report."""
        estimate = np.where(TRUTH == 0.0, 0.01, TRUTH)
        pooled = estimate.copy()
        pooled[0, 1] = pooled[1, 0] = estimate[0, 1] + 0.04
        many = 40_000
        after = replace(tested, edge_table=edge_tests(estimate, many, pooled=pooled))
        before = replace(tested, edge_table=edge_tests(pooled, many))
        ax = plotting.plot_before_after(before, after).axes[2]
        assert ax.get_title() == "Difference\n1 too small to report"
        inks = edges_of(ax).get_colors()
        assert np.ptp(inks[:, :3], axis=1).max() == 0.0

    def test_without_tests_it_says_so(self, plain: GraphResult) -> None:
        other = replace(plain, omega=0.5 * plain.omega)
        assert plotting.plot_before_after(plain, other).axes[2].get_title().endswith("not tested")


class TestCentrality:
    def test_strongest_on_top_with_intervals(self, tested: GraphResult) -> None:
        figure = plotting.plot_centrality(tested)
        titles = [ax.get_title("left") for ax in figure.axes]
        assert titles == ["Strength", "Expected influence"]
        names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        assert names == tested.centrality()["variable"].tolist()
        (bars,) = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
        assert len(bars.get_segments()) == 4

    def test_bridges_between_groups_and_few_variables(self, plain: GraphResult) -> None:
        groups = dict(zip(NAMES, "aabb", strict=True))
        figure = plotting.plot_centrality(plain, groups, most=3)
        assert len(figure.axes) == 4
        assert "strongest 3 of 4 variables" in figure._suptitle.get_text()


class TestDeclaredNetwork:
    def test_pictures_show_what_was_declared(self, tested: GraphResult) -> None:
        ax = plotting.plot_network(tested)
        assert len(edges_of(ax).get_segments()) == 2
        assert ax.get_title() == "2 edges at q ≤ 0.05, adjusted for motion"
        (image,) = plotting.plot_matrix(tested).images
        np.testing.assert_array_equal(np.asarray(image.get_array().filled(0.0)), TRUTH)
        *_, after = plotting.plot_before_after(tested, tested, truth=TRUTH).axes[:3]
        assert "2 edges at q ≤ 0.05: 2 true, 0 false" in after.get_title()

    def test_candidates_where_nothing_was_declared(self, undeclared: GraphResult) -> None:
        assert undeclared.n_edges == 0
        ax = plotting.plot_network(undeclared)
        assert "no edge at q ≤ 0.05; dotted: strongest candidates" in ax.get_title()
        lines = edges_of(ax)
        assert len(lines.get_segments()) == CANDIDATES
        assert all(dashes is not None for _, dashes in lines.get_linestyles())
        assert len(plotting.plot_matrix(undeclared).patches) == 2 * CANDIDATES

    def test_forest_shows_intervals_strongest_on_top(self, tested: GraphResult) -> None:
        ax = plotting.plot_forest(tested)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["fear – sleep", "pain – mood"]
        (bars,) = [child for child in ax.collections if isinstance(child, LineCollection)]
        tests = tested.edge_table
        assert tests is not None
        ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
        assert ends == [[tests.low[0], tests.high[0]], [tests.low[5], tests.high[5]]]
        assert plotting.plot_forest(tested, most=1).get_title("left").startswith("strongest 1 of 2")

    def test_forest_of_candidates(self, undeclared: GraphResult, plain: GraphResult) -> None:
        ax = plotting.plot_forest(undeclared)
        assert len(ax.get_yticks()) == CANDIDATES
        assert "hollow: strongest candidates" in ax.get_title("left")
        with pytest.raises(ValueError, match="no intervals to show"):
            plotting.plot_forest(plain)

    def test_one_edge_has_its_interval(self, tested: GraphResult) -> None:
        ax = plotting.plot_edge(tested, "pain", "mood")
        assert line_named(ax, "baseline network").get_ydata()[0] == -0.2


class TestMatrix:
    def test_shows_all_pairs_but_the_diagonal(self, plain: GraphResult) -> None:
        ax = plotting.plot_matrix(plain)
        shown = ax.images[0].get_array()
        np.testing.assert_array_equal(shown.mask, np.eye(4, dtype=bool))
        np.testing.assert_array_equal(shown.compressed(), OMEGA[~np.eye(4, dtype=bool)])
        assert [label.get_text() for label in ax.get_xticklabels()] == list(NAMES)
        assert [label.get_text() for label in ax.get_yticklabels()] == list(NAMES)

    def test_zero_is_the_middle_of_the_colours(self, plain: GraphResult) -> None:
        norm = plotting.plot_matrix(plain).images[0].norm
        assert (norm.vmin, norm.vmax) == (-0.3, 0.3)
        empty = plotting.plot_matrix(replace(plain, omega=np.eye(4))).images[0].norm
        assert (empty.vmin, empty.vmax) == (-1.0, 1.0)

    def test_many_names_are_thinned(self, plain: GraphResult) -> None:
        names = tuple(f"v{k}" for k in range(90))
        ax = plotting.plot_matrix(replace(plain, names=names, omega=symmetric(90)))
        assert [label.get_text() for label in ax.get_xticklabels()][:2] == ["v0", "v3"]
        assert len(ax.get_yticklabels()) == 30

    def test_long_names_are_cut_and_stand_upright(self, plain: GraphResult) -> None:
        long = replace(plain, names=tuple(f"{name} {'gyrus ' * 20}" for name in plain.names))
        ax = plotting.plot_matrix(long)
        labels = ax.get_xticklabels()
        assert max(len(label.get_text()) for label in labels) <= 18
        assert {label.get_rotation() for label in labels} == {90.0}
        # Warnings are errors here: the layout finds room for all of it.
        ax.figure.draw_without_rendering()


class TestBeforeAfter:
    def test_two_panels_share_the_colours(self, plain: GraphResult, full: GraphResult) -> None:
        after = replace(full, omega=0.1 * OMEGA)
        figure = plotting.plot_before_after(plain, after)
        left, right, difference, *_ = figure.axes
        bar = figure.axes[-1]
        assert left.get_title() == "Not adjusted\n3 edges"
        assert right.get_title() == "Adjusted for motion\n3 edges"
        assert bar.get_xlim() == (-0.3, 0.3)
        # The change is as strong as the network that it takes away.
        assert edges_of(difference).get_linewidths()[-1] > 4.0
        width = [max(edges_of(ax).get_linewidths()) for ax in (left, right)]
        assert width[1] < 0.5 * width[0]

    def test_truth_gets_a_panel_and_dots_what_is_false(self, plain: GraphResult) -> None:
        figure = plotting.plot_before_after(plain, plain, truth=TRUTH)
        true, before, _, bar = figure.axes
        assert true.get_title() == "Truth\n2 edges"
        assert before.get_title() == "Not adjusted\n3 edges: 1 true, 2 false"
        assert bar.get_xlim() == (-0.4, 0.4)
        dotted = [pattern[1] is not None for pattern in edges_of(before).get_linestyle()]
        # From the weakest: sleep – pain, fear – pain, fear – sleep.
        assert dotted == [True, True, False]
        legend = {text.get_text() for text in figure.legends[0].get_texts()}
        assert legend == {"edge of the truth", "false edge"}

    def test_boolean_truth_says_nothing_of_strength(self, plain: GraphResult) -> None:
        figure = plotting.plot_before_after(plain, plain, truth=TRUTH != 0.0)
        assert len(np.unique(edges_of(figure.axes[0]).get_linewidths())) == 1
        assert figure.axes[-1].get_xlim() == (-0.3, 0.3)

    def test_titles_are_inside_the_picture(self, plain: GraphResult) -> None:
        for truth in (None, TRUTH):
            figure = plotting.plot_before_after(plain, plain, truth)
            figure.canvas.draw()
            assert figure.axes[0].title.get_window_extent().y1 <= figure.bbox.height

    def test_refuses_other_variables(self, plain: GraphResult) -> None:
        other = replace(plain, names=("a", "b", "c", "d"))
        with pytest.raises(ValueError, match=r"same variables.*'fear' to 'mood'.*'a' to 'd'"):
            plotting.plot_before_after(plain, other)
        with pytest.raises(ValueError, match=r"same 4 variables.*\(3, 3\)"):
            plotting.plot_before_after(plain, plain, truth=np.eye(3))
        with pytest.raises(ValueError, match="truth must hold real numbers; got 'known'"):
            plotting.plot_before_after(plain, plain, truth="known")


class TestPath:
    def test_draws_every_pair_along_the_penalties(self, full: GraphResult) -> None:
        ax = plotting.plot_path(full)
        assert full.omega_path is not None
        drawn = {tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 3}
        rows, columns = np.triu_indices(4, 1)
        assert drawn == set(map(tuple, full.omega_path[:, rows, columns].T))
        assert ax.get_xlim() == (0.4, 0.1)
        assert ax.get_xscale() == "log"

    def test_of_many_pairs_edges_and_the_strongest_others_are_drawn(
        self, full: GraphResult, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("plaggm.plotting.penalty_curves.MOST_CURVES", 4)
        ax = plotting.plot_path(full)
        assert full.omega_path is not None
        drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 3]
        rows, columns = np.triu_indices(4, 1)
        curves = full.omega_path[:, rows, columns].T
        edge = full.partial_correlation[rows, columns] != 0.0
        others = sorted(np.abs(curves[~edge]).max(axis=1))
        assert len(drawn) == 4
        expected = {*map(tuple, curves[edge])}
        assert expected <= {*map(tuple, drawn)}
        (other,) = {*map(tuple, drawn)} - expected
        assert np.abs(other).max() == others[-1]
        assert "3 edges at the one chosen" in ax.get_title(loc="left")

    def test_marks_the_chosen_penalty_and_names_its_edges(self, full: GraphResult) -> None:
        ax = plotting.plot_path(full)
        assert list(line_named(ax, "chosen").get_xdata()) == [0.2, 0.2]
        assert texts(ax) == {"fear – sleep", "fear – pain", "sleep – pain"}
        assert "3 edges at the one chosen, 0.2" in ax.get_title(loc="left")

    def test_penalty_of_zero_has_no_logarithm(self, full: GraphResult) -> None:
        ax = plotting.plot_path(replace(full, alphas=np.array([0.4, 0.2, 0.0])))
        assert ax.get_xscale() == "linear"

    def test_single_penalty_has_no_path(self, plain: GraphResult) -> None:
        with pytest.raises(ValueError, match=r"keeps no path\. Fit PLAGGMCV"):
            plotting.plot_path(plain)

    def test_names_are_moved_apart_and_no_further(self) -> None:
        heights = np.array([0.0, 0.1, 0.2, 5.0, 5.95])
        placed = spread(heights, 1.0)
        assert np.diff(placed).min() >= 1.0 - 1e-12
        assert placed.mean() == pytest.approx(heights.mean())
        np.testing.assert_array_equal(spread(heights, 0.05), heights)
        assert len(spread(np.empty(0), 1.0)) == 0

    def test_long_names_leave_room_for_the_curves(self, full: GraphResult) -> None:
        ax = plotting.plot_path(replace(full, names=tuple(name * 40 for name in full.names)))
        ax.figure.draw_without_rendering()
        inside = ax.figure.get_window_extent()
        assert ax.texts
        assert all(text.get_window_extent().x1 <= inside.x1 + 1.0 for text in ax.texts)


class TestSelection:
    def test_shows_the_criterion_and_what_it_chose(self, full: GraphResult) -> None:
        ax = plotting.plot_selection(full)
        curve = next(line for line in ax.lines if len(line.get_xdata()) == 3)
        np.testing.assert_array_equal(curve.get_ydata(), [3.0, 1.0, 2.0])
        assert list(line_named(ax, "chosen").get_xdata()) == [0.2, 0.2]
        marker = next(line for line in ax.lines if line.get_marker() == "o")
        assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (0.2, 1.0)
        assert ax.get_ylabel() == "BIC"

    def test_counts_edges_above(self, full: GraphResult) -> None:
        (top,) = plotting.plot_selection(full).child_axes
        assert [label.get_text() for label in top.get_xticklabels()] == ["0", "3", "6"]

    def test_standard_error_of_a_cross_validation(self, fitted: PLAGGMCV) -> None:
        (band,) = plotting.plot_selection(fitted).collections
        heights = band.get_paths()[0].vertices[:, 1]
        highest = (fitted.criterion_path_ + fitted.cv_standard_error_).max()
        assert heights.max() == pytest.approx(highest)
        assert not plotting.plot_selection(
            replace(fitted.to_result(), criterion_error=None)
        ).collections

    def test_refuses_what_has_no_criterion(self, plain: GraphResult, full: GraphResult) -> None:
        with pytest.raises(ValueError, match="keeps no path"):
            plotting.plot_selection(plain)
        with pytest.raises(ValueError, match="keeps no criterion"):
            plotting.plot_selection(replace(full, criterion_path=None))


class TestEdge:
    @pytest.mark.parametrize("pair", [("fear", "pain"), (0, 2)])
    def test_strength_along_the_confounder(
        self, full: GraphResult, pair: tuple[str | int, str | int]
    ) -> None:
        ax = plotting.plot_edge(full, *pair)
        assert full.nuisance is not None
        curve = line_named(ax, "estimate")
        np.testing.assert_array_equal(curve.get_xdata(), GRID)
        np.testing.assert_allclose(curve.get_ydata(), -0.2 + full.nuisance[:, 0, 2])
        assert set(line_named(ax, "baseline").get_ydata()) == {-0.2}
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        np.testing.assert_allclose([band.x0, band.x1], [-2.0, 2.0])
        assert ax.get_xlabel() == "motion"
        assert ax.get_title(loc="left") == "fear – pain along motion"

    def test_band_ends_with_the_data(self, full: GraphResult) -> None:
        ax = plotting.plot_edge(replace(full, threshold=np.array([50.0])), "fear", "pain")
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        np.testing.assert_allclose([band.x0, band.x1], [-4.0, 5.0])

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("feer", "source='feer' is not a variable.*Did you mean 'fear'"),
            ("xyz", "There are 4, from 'fear' to 'mood'"),
            (4, "source=4 is not a variable"),
            (-1, "source=-1 is not a variable"),
            ("pain", "must differ; both are 'pain'"),
        ],
    )
    def test_refuses_what_is_no_pair(
        self, full: GraphResult, source: str | int, message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            plotting.plot_edge(full, source, "pain")

    def test_band_of_two_standard_errors(self, full: GraphResult) -> None:
        assert full.nuisance is not None
        assert not plotting.plot_edge(full, 0, 2).collections
        error = np.full_like(full.nuisance, 0.05)
        (band,) = plotting.plot_edge(replace(full, nuisance_error=error), 0, 2).collections
        heights = band.get_paths()[0].vertices[:, 1]
        strength = -0.2 + full.nuisance[:, 0, 2]
        assert heights.max() == pytest.approx(strength.max() + 0.1)
        assert heights.min() == pytest.approx(strength.min() - 0.1)

    def test_one_of_several_confounders(self, full: GraphResult) -> None:
        grid = np.array([[-4.0, 0.0], [0.0, 0.0], [5.0, 0.0], [0.0, 0.0], [0.0, 7.0]])
        two = replace(
            full,
            confounder_names=("motion", "pulse"),
            confounder_grid=grid,
            nuisance=np.arange(5.0)[:, None, None] * np.ones((4, 4)),
            threshold=np.array([2.0, 3.0]),
        )
        ax = plotting.plot_edge(two, 0, 1, confounder="pulse")
        curve = line_named(ax, "estimate")
        np.testing.assert_array_equal(curve.get_xdata(), [0.0, 7.0])
        np.testing.assert_allclose(curve.get_ydata(), [0.3 + 1.0, 0.3 + 4.0])
        assert ax.get_xlabel() == "pulse"
        with pytest.raises(ValueError, match="2 confounders; choose confounder= 'motion', 'pulse'"):
            plotting.plot_edge(two, 0, 1)
        with pytest.raises(ValueError, match="confounder='breath' is none of this result"):
            plotting.plot_edge(two, 0, 1, confounder="breath")

    def test_refuses_without_a_nuisance(self, plain: GraphResult, full: GraphResult) -> None:
        with pytest.raises(ValueError, match="fitted without confounder"):
            plotting.plot_edge(plain, "fear", "pain")
        with pytest.raises(ValueError, match="keeps no nuisance"):
            plotting.plot_edge(replace(full, confounder_grid=None, nuisance=None), "fear", "pain")


class TestRoc:
    def test_curve_and_area(self, plain: GraphResult) -> None:
        ax = plotting.plot_roc(plain, TRUTH)
        area = edge_auc(OMEGA, TRUTH)
        curve = line_named(ax, f"area {area:.2f}")
        x, y = curve.get_data()
        assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)
        assert np.trapezoid(y, x) == pytest.approx(area)
        assert ax.get_title(loc="left") == "Recovery of 2 true edges"

    def test_curves_share_axes_and_chance(self) -> None:
        ax = plotting.plot_roc(OMEGA, TRUTH, label="estimate")
        plotting.plot_roc(TRUTH, TRUTH, ax, label="truth")
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        area = edge_auc(OMEGA, TRUTH)
        assert labels == ["chance", f"estimate (area {area:.2f})", "truth (area 1.00)"]

    def test_truth_without_edges_has_no_curve(self) -> None:
        with pytest.raises(ValueError, match="must have an edge"):
            plotting.plot_roc(OMEGA, np.zeros((4, 4)))


DRAWN: dict[str, Callable[[GraphResult], Any]] = {
    "network": plotting.plot_network,
    "matrix": plotting.plot_matrix,
    "before_after": lambda result: plotting.plot_before_after(result, result, TRUTH),
    "path": plotting.plot_path,
    "selection": plotting.plot_selection,
    "edge": lambda result: plotting.plot_edge(result, 0, 1),
    "roc": lambda result: plotting.plot_roc(result, TRUTH),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_can_be_saved_without_a_warning(
    draw: Callable[[GraphResult], Any], full: GraphResult, tmp_path: Any
) -> None:
    drawn = draw(replace(full, names=tuple(f"a rather long name {k}" for k in range(4))))
    figure = drawn if hasattr(drawn, "savefig") else drawn.figure
    figure.savefig(tmp_path / "picture.png")
    assert plt.imread(tmp_path / "picture.png").std() > 0.0


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_names_are_no_formulas(
    draw: Callable[[GraphResult], Any], full: GraphResult, tmp_path: Any
) -> None:
    odd = ("$\\frac$", "a$b$", "_c", "$")
    drawn = draw(replace(full, names=odd, confounder_names=("$\\frac{$",)))
    figure = drawn if hasattr(drawn, "savefig") else drawn.figure
    figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 0


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_missing_matplotlib_is_named(
    draw: Callable[[GraphResult], Any], full: GraphResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'plaggm\[plot\]'"):
        draw(full)


@pytest.mark.parametrize("module", ["matplotlib", "plaggm.estimators"])
def test_importing_does_not_load(module: str) -> None:
    code = f"import sys, plaggm.plotting; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestModeration:
    def test_edges_that_change_are_drawn_smallest_p_value_first(
        self, full: GraphResult, moderation_tests: Any
    ) -> None:
        found = moderation_tests([[0.2, 1e-6, 0.9, 1e-4, 0.5, 0.6]])
        figure = plotting.plot_moderation(replace(full, moderation_table=found))
        drawn = [axes for axes in figure.axes if axes.get_visible()]
        titles = [axes.get_title(loc="left") for axes in drawn]
        assert [title.split(",")[0] for title in titles] == ["fear – pain", "sleep – pain"]
        assert figure.get_suptitle() == "2 of 6 pairs shown to change at q ≤ 0.05"
        plt.close(figure)

    def test_where_none_passes_the_title_says_so(
        self, full: GraphResult, moderation_tests: Any
    ) -> None:
        found = moderation_tests([[0.2, 0.3, 0.9, 0.4, 0.5, 0.6]])
        figure = plotting.plot_moderation(replace(full, moderation_table=found), most=3)
        assert "None of 6 pairs" in figure.get_suptitle()
        assert len([axes for axes in figure.axes if axes.get_visible()]) == 3
        plt.close(figure)

    def test_without_tests_it_says_how_to_get_them(self, full: GraphResult) -> None:
        with pytest.raises(ValueError, match="moderation=True"):
            plotting.plot_moderation(full)
