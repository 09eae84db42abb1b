from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from plaggm import metrics

Score = Callable[[np.ndarray, np.ndarray], float]


def symmetric(pairs: Sequence[float], diagonal: float = 9.0) -> np.ndarray:
    """The symmetric matrix with these entries j < k, row by row, and a diagonal that is no edge."""
    p = round((1 + math.sqrt(1 + 8 * len(pairs))) / 2)
    matrix = np.full((p, p), 0.0)
    matrix[np.triu_indices(p, k=1)] = pairs
    return matrix + matrix.T + diagonal * np.eye(p)


# Four variables, six pairs, three edges; the estimate finds two of them and one that is not there.
TRUTH = symmetric([0.5, -0.3, 0.2, 0.0, 0.0, 0.0], diagonal=0.0)
ESTIMATE = symmetric([0.4, 0.1, 0.0, -0.2, 0.0, 0.0])


class TestRankings:
    def test_auc_by_hand(self) -> None:
        # Sizes of edges .4 .1 0, of others .2 0 0. Pairs won: 3 + (0 + 1 + 1) + (0 + 1/2 + 1/2).
        assert metrics.edge_auc(ESTIMATE, TRUTH) == pytest.approx(6 / 9)

    def test_auc_ignores_sign_scale_and_diagonal(self) -> None:
        expected = metrics.edge_auc(ESTIMATE, TRUTH)
        assert metrics.edge_auc(-7.0 * ESTIMATE, TRUTH) == expected
        assert metrics.edge_auc(ESTIMATE - 20 * np.eye(4), TRUTH) == expected
        assert metrics.edge_auc(ESTIMATE, (TRUTH != 0) | np.eye(4, dtype=bool)) == expected

    def test_auc_is_the_probability_of_ranking_an_edge_first(self) -> None:
        rng = np.random.default_rng(0)
        score = symmetric(rng.normal(size=45).round(1))
        truth = symmetric((rng.random(45) < 0.3).astype(float))
        upper = np.triu_indices(10, k=1)
        size, edge = np.abs(score[upper]), truth[upper] != 0
        gap = size[edge][:, None] - size[~edge]
        assert metrics.edge_auc(score, truth) == pytest.approx(
            np.mean((gap > 0) + 0.5 * (gap == 0))
        )

    def test_roc_curve_encloses_the_auc(self) -> None:
        curve = metrics.roc_curve_edges(ESTIMATE, TRUTH)
        assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
        np.testing.assert_allclose(curve.thresholds[1:], [0.4, 0.2, 0.1, 0.0])
        np.testing.assert_allclose(curve.tpr, [0, 1 / 3, 1 / 3, 2 / 3, 1])
        np.testing.assert_allclose(curve.fpr, [0, 0, 1 / 3, 1 / 3, 1])
        area = np.trapezoid(curve.tpr, curve.fpr)
        assert area == pytest.approx(metrics.edge_auc(ESTIMATE, TRUTH))

    def test_average_precision_by_hand(self) -> None:
        # Ranks: edge (precision 1), other, edge (2/3), then three tied at the end (3/6).
        expected = (1 + 2 / 3 + 1 / 2) / 3
        assert metrics.average_precision(ESTIMATE, TRUTH) == pytest.approx(expected)
        curve = metrics.precision_recall_curve_edges(ESTIMATE, TRUTH)
        np.testing.assert_allclose(curve.precision, [1 / 2, 2 / 3, 1 / 2, 1, 1])
        np.testing.assert_allclose(curve.recall, [1, 2 / 3, 1 / 3, 1 / 3, 0])

    @pytest.mark.parametrize("pairs", [[0, 0, 0], [1, 1, 1]])
    def test_nothing_to_rank(self, pairs: list[int]) -> None:
        truth, score = symmetric(pairs), symmetric([0.1, 0.2, 0.3])
        assert math.isnan(metrics.edge_auc(score, truth))
        assert math.isnan(metrics.path_auc([score], truth))
        assert math.isnan(metrics.best_path_auc([score], truth))
        with pytest.raises(ValueError, match="of its 3 pairs are edges"):
            metrics.roc_curve_edges(score, truth)
        with pytest.raises(ValueError, match="an edge and a pair without one"):
            metrics.precision_recall_curve_edges(score, truth)


class TestPaths:
    # Rates: (0, 0), (0, 1/3), (1/3, 1/3), (1/3, 2/3), and one edge lost again at (2/3, 1/3).
    PATH = np.stack(
        [
            symmetric([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            symmetric([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]),
            symmetric([0.1, 0.0, 0.0, 0.8, 0.0, 0.0]),
            symmetric([0.2, 0.1, 0.0, 0.9, 0.0, 0.0]),
            symmetric([0.0, 0.1, 0.0, 0.9, 0.8, 0.0]),
        ]
    )

    def test_rates(self) -> None:
        fpr, tpr = metrics.path_rates(self.PATH, TRUTH)
        np.testing.assert_allclose(fpr, [0, 0, 1 / 3, 1 / 3, 2 / 3])
        np.testing.assert_allclose(tpr, [0, 1 / 3, 1 / 3, 2 / 3, 1 / 3])

    def test_path_auc_by_hand_in_any_order(self) -> None:
        # Trapezoids on [0, 1/3], [1/3, 2/3], [2/3, 1], the dip at 2/3 kept.
        expected = (1 / 3) * ((1 / 3 + 1 / 3) + (2 / 3 + 1 / 3) + (1 / 3 + 1)) / 2
        assert metrics.path_auc(self.PATH, TRUTH) == pytest.approx(expected)
        assert metrics.path_auc(self.PATH[[3, 0, 4, 1, 2]], TRUTH) == pytest.approx(expected)

    def test_path_auc_reads_supports_only(self) -> None:
        assert metrics.path_auc(np.sign(self.PATH), TRUTH) == metrics.path_auc(self.PATH, TRUTH)

    def test_an_empty_path_is_chance(self) -> None:
        assert metrics.path_auc(np.zeros((3, 4, 4)), TRUTH) == 0.5

    def test_best_path_auc(self) -> None:
        each = [metrics.edge_auc(omega, TRUTH) for omega in self.PATH]
        assert metrics.best_path_auc(self.PATH, TRUTH) == max(each)
        assert max(each) == pytest.approx(2 / 3)

    @pytest.mark.parametrize("shape", [(4, 4), (0, 4, 4), (2, 4, 3)])
    def test_bad_path(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="omega_path"):
            metrics.path_auc(np.zeros(shape), TRUTH)


class TestGraphs:
    def test_values_by_hand(self) -> None:
        # 2 found, 1 false, 1 missed, 2 rightly absent.
        assert metrics.precision_recall(ESTIMATE, TRUTH) == pytest.approx((2 / 3, 2 / 3))
        assert metrics.f1(ESTIMATE, TRUTH) == pytest.approx(2 / 3)
        assert metrics.mcc(ESTIMATE, TRUTH) == pytest.approx((2 * 2 - 1 * 1) / 9)
        assert metrics.hamming(ESTIMATE, TRUTH) == 2.0
        # Of 0.5, -0.3, 0.2 only the first is estimated with its sign.
        assert metrics.sign_accuracy(ESTIMATE, TRUTH) == pytest.approx(1 / 3)

    def test_errors_of_values_by_hand(self) -> None:
        # Errors -.1, .4, -.2, -.2, 0, 0; the diagonal of 9 does not count.
        expected = math.sqrt(2 * (0.01 + 0.16 + 0.04 + 0.04))
        assert metrics.frobenius_error(ESTIMATE, TRUTH) == pytest.approx(expected)
        assert metrics.sup_error(ESTIMATE, TRUTH) == pytest.approx(0.4)

    def test_perfect_recovery(self) -> None:
        assert metrics.recovery_report(TRUTH, TRUTH) == {
            "n_edges": 3.0,
            "n_true_edges": 3.0,
            "auc": 1.0,
            "average_precision": 1.0,
            "precision": 1.0,
            "recall": 1.0,
            "f1": 1.0,
            "mcc": 1.0,
            "hamming": 0.0,
            "sign_accuracy": 1.0,
            "frobenius_error": 0.0,
            "sup_error": 0.0,
        }

    def test_report_without_values(self) -> None:
        report = metrics.recovery_report(ESTIMATE, TRUTH != 0)
        assert "sup_error" not in report
        assert report["hamming"] == 2.0
        assert all(type(value) is float for value in report.values())

    def test_empty_estimate_is_scored_without_warning(self) -> None:
        report = metrics.recovery_report(np.zeros((4, 4)), TRUTH)
        assert (report["precision"], report["recall"], report["f1"], report["mcc"]) == (0, 0, 0, 0)
        assert (report["auc"], report["hamming"], report["sup_error"]) == (0.5, 3.0, 0.5)

    def test_empty_truth_is_scored_without_warning(self) -> None:
        report = metrics.recovery_report(ESTIMATE, np.zeros((4, 4)))
        assert (report["recall"], report["mcc"], report["hamming"]) == (0.0, 0.0, 3.0)
        assert all(math.isnan(report[k]) for k in ("auc", "average_precision", "sign_accuracy"))

    @pytest.mark.parametrize(
        "score",
        [
            metrics.edge_auc, metrics.average_precision, metrics.f1, metrics.mcc, metrics.hamming,
            metrics.frobenius_error, metrics.sup_error, metrics.sign_accuracy,
        ],
    )  # fmt: skip
    def test_bad_matrices(self, score: Score) -> None:
        with pytest.raises(ValueError, match=r"square matrix.*\(3, 2\)"):
            score(np.zeros((3, 2)), TRUTH)
        with pytest.raises(ValueError, match="same"):
            score(np.zeros((3, 3)), TRUTH)
        broken = ESTIMATE.copy()
        broken[0, 1] = np.nan
        with pytest.raises(ValueError, match="1 pairs are NaN"):
            score(broken, TRUTH)

    @pytest.mark.parametrize("value", ["text", None, {}, 1j, [[1.0], [1.0, 2.0]], 10**400])
    def test_what_is_no_matrix_of_numbers(self, value: object) -> None:
        with pytest.raises(ValueError, match=r"omega must (hold real numbers|be a square matrix)"):
            metrics.f1(value, TRUTH)
        with pytest.raises(ValueError, match=r"omega_path must (hold real numbers|have shape)"):
            metrics.path_auc(value, TRUTH)

    def test_errors_whose_squares_leave_the_range_of_floats(self) -> None:
        far = 1e200 * np.eye(4)[::-1]
        assert metrics.frobenius_error(far, TRUTH) == pytest.approx(2e200)
        assert metrics.frobenius_error(1e-200 * far / 1e200, np.zeros((4, 4))) == pytest.approx(
            2e-200
        )
        assert metrics.sup_error(1.5e308 * np.eye(4)[::-1], -1.5e308 * np.eye(4)[::-1]) == np.inf
