"""What tests of commands share."""

from __future__ import annotations

from functools import partial

import pytest

from plaggm.cli import folder
from plaggm.core.rearranged_test import calibrated_test
from plaggm.estimators import fitted_network


@pytest.fixture
def all_permutations() -> None:
    """For tests that read the p-value of an effect of the confounder, or repeat another process's files."""


@pytest.fixture(autouse=True)
def few_permutations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """19 permutations instead of 199 in the test for such an effect: half the time of a small fit."""
    if "all_permutations" not in request.fixturenames:
        few = partial(calibrated_test, count=19)
        monkeypatch.setattr(fitted_network, "calibrated_test", few)


@pytest.fixture(autouse=True)
def pictures_where_marked(
    painted_where_marked: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures take most of the time of a small fit: commands in this process draw them where marked."""
    if request.node.get_closest_marker("pictures") is None:
        monkeypatch.setattr(folder, "draw_figures", lambda *_: None)
