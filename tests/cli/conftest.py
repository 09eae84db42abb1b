"""What tests of commands share."""

from __future__ import annotations

import pytest

from plaggm.cli import folder


@pytest.fixture
def all_permutations() -> None:
    """For tests that read the p-value of an effect of the confounder, or repeat another process's files."""


@pytest.fixture(autouse=True)
def few_permutations_elsewhere(request: pytest.FixtureRequest) -> None:
    """The test for such an effect takes half the time of a small fit."""
    if "all_permutations" not in request.fixturenames:
        request.getfixturevalue("few_permutations")


@pytest.fixture(autouse=True)
def pictures_where_marked(
    painted_where_marked: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures take most of the time of a small fit: commands in this process draw them where marked."""
    if request.node.get_closest_marker("pictures") is None:
        monkeypatch.setattr(folder, "draw_figures", lambda *_: None)
