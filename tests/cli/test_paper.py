"""The paper's estimator from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm import PLAGGMCV
from plaggm.cli.fit import fit
from plaggm.cli.fitting import fit_adjusted, with_stability
from plaggm.cli.messages import InputError
from plaggm.cli.samples import Samples
from plaggm.cli.setting_options import as_in_paper, with_options
from plaggm.cli.settings import FitSettings
from plaggm.data.norm_index import norm_index
from plaggm.simulate import simulate_paper

THRESHOLD = 200.0


@pytest.fixture(scope="module")
def samples() -> Samples:
    data = simulate_paper(4, n=200, seed=3, even=True, threshold=THRESHOLD)
    x = pd.DataFrame(data.x, columns=list("abcd"))
    noise = np.random.default_rng(0).normal(size=len(x))
    return Samples(x, pd.DataFrame({"g": data.confounder, "noise": noise}))


def one_confounder(samples: Samples) -> Samples:
    return Samples(samples.x, samples.confounder[["g"]])


def paper(**options: object) -> FitSettings:
    return with_options(as_in_paper(FitSettings(jobs=1), options), options)


class TestPaper:
    def test_it_is_the_printed_estimator(self, samples: Samples) -> None:
        alone = one_confounder(samples)
        found = fit_adjusted(alone, paper(threshold=(THRESHOLD,), standardize="no"))
        printed = PLAGGMCV(
            smoother="kernel",
            indicator="soft",
            variance="unit",
            threshold=THRESHOLD,
            edges="penalty",
            random_state=0,
        ).fit(alone.x, confounder=alone.confounder)
        np.testing.assert_array_equal(found.omega_, printed.omega_)
        assert (found.form, found.cv, found.criterion) == ("lemma", 10, "cv")

    def test_single_options_reach_the_estimator(self, samples: Samples) -> None:
        settings = FitSettings(
            smoother="kernel",
            indicator="hard",
            form="supplement",
            kernel="epanechnikov",
            bandwidth=(300.0,),
            ridge=0.01,
            variance="conditional",
            threshold=(THRESHOLD,),
            criterion="bic",
            stability=0,
        )
        found = fit_adjusted(one_confounder(samples), settings)
        given = found.get_params()
        for name in ("indicator", "form", "kernel", "ridge", "variance"):
            assert given[name] == getattr(settings, name)
        assert given["bandwidth"] == 300.0

    def test_halves_are_fitted_by_the_same_estimator(self, samples: Samples) -> None:
        settings = paper(threshold=(THRESHOLD,), criterion="bic", stability=2)
        alone = one_confounder(samples)
        model = fit_adjusted(alone, settings)
        result = with_stability(model, alone, settings)
        assert result.stability is not None
        spline = FitSettings(threshold=(THRESHOLD,), criterion="bic", stability=2, jobs=1)
        other = with_stability(fit_adjusted(alone, spline), alone, spline)
        assert not np.array_equal(result.stability, other.stability)

    def test_several_confounders_enter_by_their_norm(self, samples: Samples) -> None:
        found = fit_adjusted(samples, paper(threshold=(THRESHOLD, 1.0), ridge=0.01))
        index, threshold = norm_index(samples.confounder, [THRESHOLD, 1.0])
        assert threshold == 1.0
        assert found.confounder_names_ == ("norm of g, noise",)
        by_hand = PLAGGMCV(
            smoother="kernel",
            indicator="soft",
            variance="unit",
            threshold=1.0,
            standardize=True,
            ridge=0.01,
            edges="penalty",
            random_state=0,
        ).fit(samples.x, confounder=index)
        np.testing.assert_array_equal(found.omega_, by_hand.omega_)

    @pytest.mark.parametrize("given", [{"smoother": "spline"}, {"variance": "function"}])
    def test_what_contradicts_it_is_refused(self, given: dict[str, str]) -> None:
        with pytest.raises(InputError, match="--paper means"):
            as_in_paper(FitSettings(), given)

    def test_what_the_paper_leaves_open_is_free(self) -> None:
        settings = paper(indicator="ramp", bandwidth=(2.0,), criterion="aic")
        assert (settings.indicator, settings.bandwidth, settings.criterion) == (
            "ramp",
            (2.0,),
            "aic",
        )
        assert settings.smoother == "kernel"

    def test_it_needs_a_confounder(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        result = CliRunner().invoke(fit, [str(tmp_path / "t.csv"), "--paper"])
        assert result.exit_code == 2
        assert "--confounder" in result.output
