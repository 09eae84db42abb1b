from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plaggm import GraphResult, resume
from plaggm.resume import KEY_LENGTH, Store, digest, file_name, versioned_key

NETWORK = GraphResult(("a", "b"), 0.1 * np.ones((2, 2)), np.zeros(2), np.ones(2), 0.5)


@dataclass(frozen=True)
class Way:
    """A way to put something into a store and to get it back."""

    put: Callable[[Store, str, str, float], None]
    get: Callable[[Store, str, str], Any]


WAYS = {
    "arrays": Way(
        lambda store, name, key, value: store.put("kind", name, key, x=np.full(3, value)),
        lambda store, name, key: (found := store.get("kind", name, key)) and float(found["x"][1]),
    ),
    "network": Way(
        lambda store, name, key, value: store.put_result(
            "kind", name, key, GraphResult(("a",), np.ones((1, 1)), np.zeros(1), np.ones(1), value)
        ),
        lambda store, name, key: (found := store.get_result("kind", name, key)) and found.alpha,
    ),
    "record": Way(
        lambda store, name, key, value: store.put_record("kind", name, key, {"value": value}),
        lambda store, name, key: (found := store.get_record("kind", name, key)) and found["value"],
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("name", ["sub-01", "a/b", "..", "", "long" * 50])
def test_what_is_finished_comes_back(tmp_path: Path, way: Way, name: str) -> None:
    store = Store(tmp_path / "store")
    one, two = digest("one"), digest("two")
    assert way.get(store, name, one) is None
    way.put(store, name, one, 0.5)
    way.put(store, f"{name}-other", one, 1.5)
    assert way.get(store, name, one) == 0.5
    # Another key replaces it; another name does not.
    way.put(store, name, two, 2.5)
    assert way.get(store, name, one) is None
    assert way.get(store, name, two) == 2.5
    assert way.get(store, f"{name}-other", one) == 1.5
    assert len(list((tmp_path / "store" / "kind").iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"null", b"[1]", b"{"])
def test_damage_counts_as_absent(tmp_path: Path, way: Way, damage: bytes) -> None:
    store = Store(tmp_path)
    way.put(store, "name", "key", 0.5)
    (path,) = (tmp_path / "kind").iterdir()
    path.write_bytes(damage)
    assert way.get(store, "name", "key") is None
    way.put(store, "name", "key", 0.5)
    assert way.get(store, "name", "key") == 0.5


def test_a_failed_write_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    store = Store(tmp_path)
    store.put("kind", "name", "old", x=np.ones(2))
    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="No space"):
        store.put("kind", "name", "new", x=np.zeros(2))
    assert store.get("kind", "name", "old") is not None
    assert len(list((tmp_path / "kind").iterdir())) == 1


def test_leftovers_of_a_killed_run_go(tmp_path: Path) -> None:
    (tmp_path / "kind").mkdir()
    (tmp_path / "kind" / ".name-key.npz.0123abcd.plaggm").write_text("half")
    Store(tmp_path)
    assert list((tmp_path / "kind").iterdir()) == []


def test_records_can_be_read_by_people(tmp_path: Path) -> None:
    Store(tmp_path).put_record("cells", "odd", digest(1), {"auc": 0.5})
    (path,) = (tmp_path / "cells").iterdir()
    assert path.name == f"odd-{digest(1)[:KEY_LENGTH]}.json"
    assert json.loads(path.read_text()) == {"auc": 0.5}


def test_uncompressed(tmp_path: Path) -> None:
    store = Store(tmp_path, compress=False)
    store.put("kind", "name", "key", x=np.zeros(10_000))
    (path,) = (tmp_path / "kind").iterdir()
    assert path.stat().st_size > 80_000
    assert not np.any(store.get("kind", "name", "key")["x"])


def test_key_changes_with_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = versioned_key("a", 1)
    assert versioned_key("a", 1) == before != versioned_key("a", 2)
    monkeypatch.setattr(resume, "library_versions", lambda: {"plaggm": "999"})
    assert versioned_key("a", 1) != before


class TestDigest:
    @dataclass
    class Design:
        knots: np.ndarray
        names: tuple[str, ...] = ()

    DIFFERENT = (
        np.arange(3),
        np.arange(3.0),
        np.arange(3.0)[:, None],
        np.array(["a", None], dtype=object),
        [0, 1, 2],
        [[0, 1], 2],
        [0, [1, 2]],
        {"a": 1},
        {"a": np.array([1])},
        {"b": 1},
        "a",
        b"a",
        1,
        1.0,
        True,
        None,
        "None",
        Design(np.zeros(2000)),
        # Printing an array of this size leaves out its middle.
        Design(np.eye(1, 2000, 1000)[0]),
        # Printing shows eight digits.
        Design(np.full(2, 1 / 3)),
        Design(np.full(2, 1 / 3 + 1e-12)),
        Design(np.full(2, 1 / 3), ("a",)),
    )

    def test_differs_wherever_the_parts_do(self) -> None:
        found = [digest(part) for part in self.DIFFERENT]
        assert len(set(found)) == len(found)

    def test_equal_parts_have_equal_digests(self) -> None:
        assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
        assert digest({"b", "a"}) == digest({"a", "b"})
        assert digest((1, "x")) == digest([1, "x"])
        assert digest(np.arange(6).reshape(2, 3).T) == digest(
            np.ascontiguousarray(np.arange(6).reshape(2, 3).T)
        )


def test_names_of_files_differ() -> None:
    names = ["a/b", "a_b", "a b", "A B", "é", "", "x" * 60, "x" * 61, "x" * 62]
    assert len({file_name(name).casefold() for name in names}) == len(names)
