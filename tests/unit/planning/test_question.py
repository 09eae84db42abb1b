from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plaggm.planning.question import (
    Question,
    ask,
    check_possible,
    draw_networks,
    draw_study,
    strength_of,
)


def question(**changes: object) -> Question:
    usual = dict(
        clean=0.5,
        strength="moderate",
        affected=None,
        edge=0.15,
        density=None,
        fdr=0.05,
        threshold="auto",
    )
    return ask(20, **{**usual, **changes})  # type: ignore[arg-type]


class TestDrawStudy:
    def test_follows_the_assumptions(self) -> None:
        asked = question(clean=0.3, strength=0.08, affected=0.4, edge=0.1, density=0.2)
        studies = [draw_study(asked, 400, np.random.SeedSequence(seed)) for seed in range(20)]
        upper = np.triu_indices(20, 1)
        edges = np.concatenate([study.omega[upper] for study in studies])
        # 3,800 pairs and 8,000 samples: three standard errors of each share, at most.
        assert np.mean(edges != 0.0) == pytest.approx(0.2, abs=0.02)
        sizes = np.abs(edges[edges != 0.0])
        assert sizes.mean() == pytest.approx(0.1, abs=0.004)
        assert sizes.min() >= 0.1 * 2 / 3
        assert sizes.max() <= 0.1 * 4 / 3
        largest = np.concatenate([study.nuisance([4.0])[0][upper] for study in studies])
        assert np.mean(largest != 0.0) == pytest.approx(0.4, abs=0.025)
        assert np.abs(largest[largest != 0.0]).mean() == pytest.approx(0.08, abs=0.003)
        clean = np.concatenate([study.confounder <= 1.0 for study in studies])
        assert clean.mean() == pytest.approx(0.3, abs=0.016)

    def test_rows_have_the_network_of_their_confounder(self) -> None:
        asked = question(strength="strong")
        study = draw_study(asked, 60_000, np.random.SeedSequence(5))
        assert np.abs(study.nuisance([0.2, 1.0])).max() == 0.0
        high = study.confounder > 3.5
        precision = np.linalg.inv(np.cov(study.x[high].T))
        root = np.sqrt(np.diag(precision))
        partial = -precision / np.outer(root, root)
        np.fill_diagonal(partial, 0.0)
        expected = study.omega_at(study.confounder[high]).mean(axis=0)
        # About 5,000 rows: four standard errors.
        assert np.abs(partial - expected).max() < 4 / np.sqrt(high.sum())

    def test_networks_are_possible(self) -> None:
        asked = question(edge=0.2, strength="strong")
        for seed in range(10):
            omega, weights = draw_networks(asked, np.random.default_rng(seed))
            for share in (0.0, 0.3, 1.0):
                assert np.linalg.eigvalsh(omega + share * weights)[-1] <= 0.95


class TestRefusals:
    def test_impossible_networks_name_possible_ones(self) -> None:
        asked = question(edge=0.5)
        with pytest.raises(
            ValueError, match=r"Most networks of 20 variables with edge=0.5"
        ) as told:
            check_possible(asked, 0)
        possible = float(str(told.value).split("Possible would be edge=")[1].split()[0])
        strength = float(str(told.value).split("and strength=")[1].split(",")[0])
        check_possible(replace(asked, edge=0.98 * possible, strength=strength), 0)

    def test_no_edges(self) -> None:
        with pytest.raises(ValueError, match="without edges; raise it"):
            check_possible(question(density=1e-9), 0)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"clean": 0.0}, r"clean must be a finite number in \(0, 1\]; got 0"),
            ({"edge": 1.0}, "edge must be"),
            ({"strength": "huge"}, "strength must be one of 'none', 'weak', 'moderate', 'strong'"),
            ({"strength": -0.1}, "strength must be"),
            ({"density": 2.0}, "density must be"),
            ({"affected": -1.0}, "affected must be"),
            ({"fdr": 0.0}, "fdr must be"),
            ({"threshold": 0.5}, "threshold must be one of 'auto', 'known'"),
        ],
    )
    def test_each_argument(self, changes: dict[str, object], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            question(**changes)


def test_words_are_numbers() -> None:
    assert strength_of("none") == 0.0
    assert question(strength="strong").strength == 0.15
    assert question().density == pytest.approx(3 / 19)
