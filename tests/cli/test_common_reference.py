"""Networks of several levels refer to the same: one threshold, or one reference."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plaggm.cli.common_reference import common_reference
from plaggm.cli.samples import Samples
from plaggm.cli.settings import FitSettings


def samples(confounder: dict[str, object], seed: int = 0) -> Samples:
    frame = pd.DataFrame(confounder)
    x = np.random.default_rng(seed).standard_normal((len(frame), 3))
    return Samples(pd.DataFrame(x, columns=list("abc")), frame)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_an_amount_has_one_threshold(rng: np.random.Generator) -> None:
    parts = [(str(k), samples({"motion": rng.gamma(1.0, 1.0 + k, 300)}, k)) for k in range(2)]
    settings, notes = common_reference(parts, FitSettings(confounder=("motion",)))
    assert notes == ()
    assert settings.reference == ("motion=zero",)
    (limit,) = settings.threshold
    assert 0.0 < limit < 3.0
    # A threshold that was asked for stays.
    asked = FitSettings(confounder=("motion",), threshold=(0.7,))
    assert common_reference(parts, asked).settings.threshold == (0.7,)


def test_a_level_beyond_the_threshold_is_told(rng: np.random.Generator) -> None:
    still = samples({"motion": rng.gamma(1.0, 1.0, 400)})
    wild = samples({"motion": 20.0 + rng.gamma(1.0, 1.0, 60)}, 1)
    settings, notes = common_reference(
        [("still", still), ("wild", wild)], FitSettings(confounder=("motion",))
    )
    assert settings.threshold == "auto"
    assert "Level wild has 0 of 60 samples" in notes[0]


def test_a_threshold_is_found_without_a_complete_row(rng: np.random.Generator) -> None:
    levels = [(str(k), samples({"motion": rng.gamma(1.0, 1.0, 100)}, k)) for k in range(2)]
    for _, one in levels:
        for k, name in enumerate(one.x):
            one.x.loc[one.x.index % 3 == k, name] = np.nan
        assert one.x.isna().any(axis=1).all()
    asked = FitSettings(confounder=("motion",), missing="em")
    settings, _ = common_reference(levels, asked)
    assert settings.reference == ("motion=zero",)
    assert settings.threshold != "auto"


def test_levels_that_are_alike_keep_their_averages(rng: np.random.Generator) -> None:
    parts = [(str(k), samples({"age": rng.normal(50.0, 10.0, 300)}, k)) for k in range(2)]
    settings, notes = common_reference(parts, FitSettings(confounder=("age",)))
    assert (settings.reference, notes) == (("age=average",), ())


def test_levels_that_are_unlike_refer_to_one_value(rng: np.random.Generator) -> None:
    parts = [(str(k), samples({"age": rng.normal(45.0 + 8.0 * k, 10.0, 300)}, k)) for k in range(2)]
    settings, notes = common_reference(parts, FitSettings(confounder=("age",)))
    name, value = settings.reference[0].split("=")
    assert name == "age"
    assert 46.0 < float(value) < 52.0
    assert "The levels are unlike in age" in notes[0]


def test_levels_that_do_not_meet_are_told(rng: np.random.Generator) -> None:
    parts = [(str(k), samples({"age": rng.normal(20.0 + 40.0 * k, 3.0, 200)}, k)) for k in range(2)]
    settings, notes = common_reference(parts, FitSettings(confounder=("age",)))
    assert settings.reference == ("age=average",)
    assert "hardly overlap in age" in notes[0]


def test_unlike_shares_of_a_factor_are_told(rng: np.random.Generator) -> None:
    shares = ([0.9, 0.1], [0.2, 0.8])
    parts = [
        (str(k), samples({"site": rng.choice(["n", "s"], 200, p=p).astype(object)}, k))
        for k, p in enumerate(shares)
    ]
    settings, notes = common_reference(parts, FitSettings(confounder=("site",)))
    assert settings.reference == ("site=average",)
    assert "unlike shares of site" in notes[0]


def test_what_was_asked_for_stays(rng: np.random.Generator) -> None:
    parts = [(str(k), samples({"age": rng.normal(20.0 + 40.0 * k, 3.0, 200)})) for k in range(2)]
    asked = FitSettings(confounder=("age",), reference=("average",))
    assert common_reference(parts, asked) == (asked, ())
    plain = FitSettings()
    nothing = [(level, Samples(part.x, part.confounder[[]])) for level, part in parts]
    assert common_reference(nothing, plain) == (plain, ())
