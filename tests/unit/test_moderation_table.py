"""The table of changing pairs."""

from __future__ import annotations

import numpy as np
import pytest

from plaggm.moderation_table import ModerationTable


def table(m: int = 2, pairs: int = 3) -> ModerationTable:
    rng = np.random.default_rng(0)
    values = {name: rng.random((m, pairs)) for name in ModerationTable.__slots__}
    values["p_value"] = np.array([[0.03, 0.001, 0.5], [0.4, 0.5, 0.6]])
    values["q_value"] = np.array([[0.045, 0.003, 0.5], [0.6, 0.6, 0.6]])
    return ModerationTable(**values)


def test_frame_names_pairs_and_confounders() -> None:
    found = table().frame(("a", "b", "c"), ("age", "site"))
    assert list(found.columns[:3]) == ["source", "target", "confounder"]
    assert list(found["confounder"]) == ["age"] * 3 + ["site"] * 3
    assert list(found["target"]) == ["b", "c", "c"] * 2
    assert found["p_value"][1] == 0.001


def test_changing_pairs_come_by_p_value() -> None:
    assert table().changing(0, 0.05).tolist() == [1, 0]
    assert table().changing(1, 0.05).tolist() == []


def test_arrays_must_have_one_shape() -> None:
    good = table().arrays()
    with pytest.raises(ValueError, match="q_value must have shape"):
        ModerationTable(**{**good, "q_value": np.zeros((2, 4))})
