from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from plaggm import atomic_files
from plaggm.atomic_files import (
    inert_text,
    new_file,
    original_text,
    remove_unfinished,
    write_csv,
    write_file,
    write_table,
)


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("mine")
    for kind in (os.symlink, os.link):
        place = tmp_path / "out.txt"
        kind(profile, place)
        write_file(place, "new")
        assert profile.read_text() == "mine"
        assert place.read_text() == "new"
        assert not place.is_symlink()
        place.unlink()


def test_an_error_changes_nothing(tmp_path: Path) -> None:
    place = write_file(tmp_path / "out.txt", "old")

    def fail() -> None:
        with new_file(place) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_the_mode_is_that_of_any_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    assert write_file(tmp_path / "out", b"").stat().st_mode == plain.stat().st_mode


def test_leftovers_of_the_dead_go_and_those_at_work_stay(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        (folder / ".out.txt.0123abcd.plaggm").write_text("half")
    (tmp_path / ".mine.plaggm").write_text("not of ours")
    os.symlink(tmp_path / ".mine.plaggm", tmp_path / ".link.0123abcd.plaggm")
    with new_file(tmp_path / "out.txt"):
        remove_unfinished(tmp_path)
        # The one at work, the link, and what is not of ours.
        assert len(list(tmp_path.glob(".*.plaggm"))) == 3
    assert len(os.listdir(tmp_path / "below")) == 1
    remove_unfinished(tmp_path, below=True)
    assert os.listdir(tmp_path / "below") == []
    assert (tmp_path / ".mine.plaggm").read_text() == "not of ours"
    remove_unfinished(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name", ["=cmd|' /C calc'!A0", "+1", "-x", "@SUM(A1)", "\tx", "'=x", "''=x"]
)
def test_formulas_are_inert_and_come_back(name: str, tmp_path: Path) -> None:
    assert inert_text(name) == f"'{name}"
    assert original_text(inert_text(name)) == name
    table = pd.DataFrame({name: [-1.5, 2.0], "text": [name, None]}, index=[name, "plain"])
    stored = pd.read_csv(write_csv(tmp_path / "table.csv", table), index_col=0, dtype=str)
    assert stored.columns.tolist() == [f"'{name}", "text"]
    assert stored.index.tolist() == [f"'{name}", "plain"]
    assert stored.iloc[0].tolist() == ["-1.5", f"'{name}"]
    assert stored["text"].isna().tolist() == [False, True]


@pytest.mark.parametrize("name", ["", "plain", "a=b", "'quoted'", "'", "Ω"])
def test_other_text_stays(name: str) -> None:
    assert inert_text(name) == name == original_text(name)


def test_long_tables_are_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(atomic_files, "MOST_CSV_ROWS", 3)
    table = pd.DataFrame({"source": ["=a", "b", "c"], "weight": [0.1, 0.2, 0.3]})
    assert write_table(tmp_path, "edges", table) == tmp_path / "edges.csv"
    longer = pd.concat([table, table], ignore_index=True)
    path = write_table(tmp_path, "pairs", longer, float_format="%.3g")
    assert path == tmp_path / "pairs.parquet"
    pd.testing.assert_frame_equal(pd.read_parquet(path), longer)
    monkeypatch.setattr(atomic_files, "find_spec", lambda name: None)
    assert write_table(tmp_path, "pairs", longer).suffix == ".csv"
