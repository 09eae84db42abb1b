from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config

from plaggm import PLAGGMCV, plan_study
from plaggm.planning import PowerAnalysis
from plaggm.planning.plan import check_sizes, likely_sizes
from plaggm.planning.question import ask, draw_study
from plaggm.planning.trials import NETWORKS
from plaggm.report.plan import answer_words

SMALL = dict(edge=0.3, sets=4, seed=2)


@pytest.fixture(scope="module")
def plan() -> PowerAnalysis:
    return plan_study(6, [300, 60], **SMALL)


def test_counts_are_those_of_fits_by_hand(plan: PowerAnalysis) -> None:
    """Literal twin: the default estimator on the same data, whatever chooses its penalty."""
    seed = np.random.SeedSequence(2).spawn(4)[1]
    study = draw_study(plan.question, 300, seed)
    upper = np.triu_indices(6, 1)
    for row, n in enumerate((60, 300)):
        x, g = study.x[:n], study.confounder[:n]
        models = (
            PLAGGMCV(reference="zero").fit(x, confounder=g),
            PLAGGMCV().fit(x[g <= 1.0]),
            PLAGGMCV().fit(x),
        )
        for column, model in enumerate(models):
            declared, truth = model.adjacency_[upper] != 0, study.support[upper]
            assert plan.trials[1].found[row, column] == np.sum(declared & truth)
            assert plan.trials[1].false[row, column] == np.sum(declared & ~truth)


def test_answer_asks_for_larger_numbers_where_none_reaches_the_power() -> None:
    short = plan_study(6, [30, 60], power=0.99, **SMALL)
    assert np.isinf(short.samples_for().samples)
    assert answer_words(short)[0] == (
        "More than 60 samples are needed for power 0.99, with adjustment; give larger numbers with "
        "--samples."
    )
    reached = plan_study(6, [60, 300], power=0.05, **SMALL)
    assert np.isfinite(reached.samples_for().samples)
    assert answer_words(reached)[0].endswith(" samples are needed for power 0.05, with adjustment.")


def test_table(plan: PowerAnalysis) -> None:
    table = plan.table()
    assert list(table["network"].unique()) == list(NETWORKS)
    assert list(table["samples"].unique()) == [60, 300]
    row = table[(table["network"] == "clean") & (table["samples"] == 300)].iloc[0]
    power = np.array([trial.found[1, 1] / trial.true_edges for trial in plan.trials])
    assert row["power"] == pytest.approx(power.mean())
    assert row["power_error"] == pytest.approx(power.std(ddof=1) / 2)
    wrong = np.array([t.false[1, 1] / max(1, t.false[1, 1] + t.found[1, 1]) for t in plan.trials])
    assert row["false_share"] == pytest.approx(wrong.mean())
    assert row["failed"] == 0.0
    assert plan.true_edges == np.mean([trial.true_edges for trial in plan.trials])


def test_more_samples_find_more(plan: PowerAnalysis) -> None:
    power = plan.power().mean(axis=0)
    assert power[1] > power[0] + 0.2
    needed = plan.samples_for(float(power.mean()))
    assert 60 < needed.samples < 300
    assert plan.samples_for(network="clean").power == 0.8


def test_seeds_and_processes(plan: PowerAnalysis) -> None:
    calls = []
    # Threads, since processes take long to start.
    with parallel_config("threading"):
        again = plan_study(
            6, (60, 300), **SMALL, n_jobs=2, progress=lambda done, of: calls.append((done, of))
        )
    assert again.table().equals(plan.table())
    assert calls == [(done, 4) for done in range(5)]
    other = plan_study(6, [60], edge=0.3, sets=4, seed=3)
    assert not np.array_equal(other.power(), plan.power()[:, :1])


def test_settings_repeat_the_plan(plan: PowerAnalysis) -> None:
    settings = plan.settings()
    again = plan_study(**{**settings, "n": [60], "sets": 2})
    assert again.question == plan.question
    assert settings["n"] == [60, 300]


def test_known_threshold_and_too_few_clean_samples() -> None:
    plan = plan_study(8, [40], clean=0.05, edge=0.2, threshold="known", sets=3)
    table = plan.table().set_index("network")
    assert table.loc["clean", "failed"] == 1.0
    assert table.loc["clean", "power"] == 0.0
    assert table.loc["adjusted", "failed"] == 0.0


def test_likely_sizes_grow_with_the_confounded_share() -> None:
    def sizes(clean: float) -> tuple[int, ...]:
        asked = ask(
            20,
            clean=clean,
            strength="weak",
            affected=None,
            edge=0.15,
            density=None,
            fdr=0.05,
            threshold="auto",
        )
        return likely_sizes(asked, 0.8)

    assert len(sizes(0.5)) == 6
    assert sizes(0.5)[0] == sizes(0.1)[0]
    assert sizes(0.1)[-1] == pytest.approx(5 * sizes(0.5)[-1], rel=0.1)
    assert sizes(0.001)[-1] == pytest.approx(40 * sizes(0.5)[0], rel=0.1)


class TestRefusals:
    @pytest.mark.parametrize("n", [[], "200", 5, [100, 2.5], {100}])
    def test_sizes(self, n: object) -> None:
        with pytest.raises(ValueError, match="n must be"):
            check_sizes(n)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"power": 1.5}, "power must be"),
            ({"sets": 1}, "sets must be a whole number of at least 2"),
            ({"seed": -1}, "seed must be"),
            ({"n_jobs": 0}, "n_jobs must be"),
            ({"edge": 0.9}, "Most networks of 6 variables"),
        ],
    )
    def test_arguments(self, changes: dict[str, object], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            plan_study(6, [50], **changes)  # type: ignore[arg-type]

    def test_variables(self) -> None:
        with pytest.raises(ValueError, match="p must be a whole number of at least 3; got 2"):
            plan_study(2)

    def test_network(self, plan: PowerAnalysis) -> None:
        with pytest.raises(ValueError, match="network must be one of 'adjusted', 'clean'"):
            plan.samples_for(network="best")
