"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def nobody_pulls_the_plug() -> Iterator[None]:
    """Files need not reach the disk: no test survives a power cut, and waiting for disks takes minutes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield
