from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plaggm.evidence import LEVEL, P_VALUE, Evidence, gather


class TestEvidence:
    @pytest.mark.parametrize(
        ("network", "pairs", "adjusting", "kind"),
        [
            (0.5, 0.5, 0.5, "none"),
            (0.041, 0.006, 0.006, "none"),
            (0.039, 0.5, 0.5, "network"),
            (0.5, 0.004, 0.5, "network"),
            (0.5, 0.5, 0.004, "adjusting"),
            (0.001, 0.5, 0.001, "network"),
            (0.5, None, None, "none"),
            (0.049, None, None, "network"),
            (None, 0.5, None, "none"),
            # Adjusted estimates may be the same though the network changes: this alone tells nothing.
            (None, None, 0.5, "untested"),
            (None, None, 0.04, "adjusting"),
            (None, None, None, "untested"),
        ],
    )
    def test_kinds(self, network: Any, pairs: Any, adjusting: Any, kind: str) -> None:
        assert Evidence(network, pairs, adjusting).kind == kind

    def test_tests_share_one_level(self) -> None:
        """With independent uniform p-values something is found in at most one of twenty tables."""
        draw = np.random.default_rng(0).random((20_000, 3))
        found = [Evidence(*map(float, row)) for row in draw]
        share = np.mean([one.kind != "none" for one in found])
        assert 0.043 < share <= LEVEL + 0.003
        assert np.mean([(one.p_value or 0.0) <= LEVEL for one in found]) == share

    def test_p_value_is_at_most_one_and_unknown_without_tests(self) -> None:
        assert Evidence(0.9, 1.0, 1.0).p_value == 1.0
        assert Evidence(0.9, None, None).p_value == 0.9
        assert Evidence(None, None, None).p_value is None


class TestGather:
    def test_smallest_q_values_count(self, edge_tests: Any, moderation_tests: Any) -> None:
        estimate = np.full((3, 3), 0.2)
        tests = edge_tests(estimate, 100, pooled=estimate + np.diag([0.1], 2) + np.diag([0.1], -2))
        moderation = moderation_tests([[0.01, 0.5, 0.9], [0.3, 0.5, 0.9]])
        found = gather({P_VALUE: 0.2}, tests, moderation)
        assert found.network == 0.2
        assert found.adjusting == tests.change_q_value.min()
        # Two confounders are two chances.
        assert found.pairs == pytest.approx(2 * 0.03)

    @pytest.mark.parametrize("known", [{}, {P_VALUE: None}, {P_VALUE: "0.1"}, {P_VALUE: np.nan}])
    def test_what_is_not_there_is_not_known(self, known: dict[str, Any]) -> None:
        assert gather(known, None, None) == Evidence(None, None, None)

    def test_foreign_diagnostics(self, edge_tests: Any) -> None:
        tests = edge_tests(np.zeros((3, 3)), 50)
        assert gather(["damaged"], tests, None) == Evidence(None, None, None)  # type: ignore[arg-type]
