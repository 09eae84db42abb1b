"""Sources of chunks: files, folders and iterables."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plaggm.chunks import Chunk, RowChunks, as_chunks


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(25, 3)), columns=["a", "b", "c"])
    frame.insert(1, "motion", rng.gamma(1.0, size=25))
    frame["subject"] = [f"s{k // 5}" for k in range(25)]
    return frame


def collect(source: RowChunks) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    chunks = list(source.rows())
    return (
        pd.concat([chunk.x for chunk in chunks], ignore_index=True),
        pd.concat([chunk.confounder for chunk in chunks], ignore_index=True),
        np.concatenate([np.asarray(chunk.groups) for chunk in chunks]),
    )


def assert_reads(source: RowChunks, table: pd.DataFrame) -> None:
    """Twice the same, and the labels without the variables."""
    for _ in range(2):
        x, confounder, groups = collect(source)
        pd.testing.assert_frame_equal(x, table[["a", "b", "c"]])
        pd.testing.assert_frame_equal(confounder, table[["motion"]])
        assert list(groups) == list(table["subject"])
    labels = list(source.labels())
    assert sum(part.n for part in labels) == len(table)
    assert {part.p for part in labels} == {3}
    found = np.concatenate([np.asarray(part.confounder)[:, 0] for part in labels])
    np.testing.assert_allclose(found, table["motion"])


class TestFiles:
    @pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.CSV", "t.csv.gz"])
    @pytest.mark.parametrize("index", [False, True])
    def test_text(self, tmp_path: Path, table: pd.DataFrame, name: str, index: bool) -> None:
        separator = "," if "csv" in name.lower() else "\t"
        text = table.to_csv(sep=separator, index=index)
        path = tmp_path / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
        source = as_chunks(path, confounder="motion", groups="subject", chunk_rows=7)
        assert [len(chunk.x) for chunk in source.rows()] == [7, 7, 7, 4]
        assert_reads(source, table)

    def test_parquet(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pytest.importorskip("pyarrow")
        shuffled = table.set_axis(np.arange(25)[::-1])
        shuffled.to_parquet(tmp_path / "t.parquet")
        source = as_chunks(
            str(tmp_path / "t.parquet"), confounder=["motion"], groups="subject", chunk_rows=10
        )
        assert [len(chunk.x) for chunk in source.rows()] == [10, 10, 5]
        assert_reads(source, table)

    def test_folder_in_the_order_of_names(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pytest.importorskip("pyarrow")
        table[9:].to_parquet(tmp_path / "b.parquet")
        # The columns of the second file may stand in another order.
        table[:9][["subject", "c", "b", "motion", "a"]].to_parquet(tmp_path / "a.parquet")
        (tmp_path / "readme.txt").write_text("not a table")
        source = as_chunks(
            tmp_path, confounder="motion", groups="subject", variables=["a", "b", "c"]
        )
        assert_reads(source, table)

    def test_chosen_variables(self, tmp_path: Path, table: pd.DataFrame) -> None:
        table.to_csv(tmp_path / "t.csv", index=False)
        source = as_chunks(tmp_path / "t.csv", variables=["c", "a"], confounder="motion")
        chunk = next(source.rows())
        assert list(chunk.x.columns) == ["c", "a"]
        assert chunk.groups is None
        alone = as_chunks(tmp_path / "t.csv", variables=["c", "a"])
        assert [(part.n, part.p, part.confounder) for part in alone.labels()] == [(25, 2, None)]

    def test_what_is_wrong_with_a_path(self, tmp_path: Path, table: pd.DataFrame) -> None:
        path = tmp_path / "t.csv"
        table.to_csv(path, index=False)
        with pytest.raises(FileNotFoundError, match=r"no file or folder .*none\.csv"):
            as_chunks(tmp_path / "none.csv")
        with pytest.raises(
            ValueError, match=r"t\.csv has no column 'fd'. Its columns are 'a', 'mot"
        ):
            as_chunks(path, confounder="fd")
        with pytest.raises(ValueError, match="'a' is named as a variable and as confounder"):
            as_chunks(path, confounder="a", variables=["a", "b"])
        with pytest.raises(ValueError, match=r"holds no \.parquet file"):
            as_chunks(tmp_path)
        (tmp_path / "t.xlsx").write_text("")
        with pytest.raises(ValueError, match=r"neither CSV .* nor Parquet"):
            as_chunks(tmp_path / "t.xlsx")
        with pytest.raises(ValueError, match="chunk_rows must be 1 or more; got 0"):
            as_chunks(path, chunk_rows=0)
        with pytest.raises(ValueError, match="the name of a column or a list of such names"):
            as_chunks(path, confounder=np.zeros(25))

    def test_files_with_other_columns(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pytest.importorskip("pyarrow")
        table.to_parquet(tmp_path / "a.parquet")
        table.rename(columns={"b": "d"}).to_parquet(tmp_path / "b.parquet")
        with pytest.raises(
            ValueError, match=r"b\.parquet and a\.parquet .* different columns: 'b', 'd'"
        ):
            as_chunks(tmp_path, confounder="motion", groups="subject")


class TestGiven:
    def test_pairs_triples_and_frames(self, table: pd.DataFrame) -> None:
        x, g, s = table[["a", "b", "c"]], table[["motion"]], table["subject"]
        triples = [(x[:9], g[:9], s[:9]), (x[9:], g[9:], s[9:])]
        assert_reads(as_chunks(triples), table)
        frames = [table[:9], table[9:9], table[9:]]
        assert_reads(as_chunks(frames, confounder="motion", groups="subject"), table)
        pair = next(as_chunks([(x, g)]).rows())
        assert pair == Chunk(x, g, None)

    def test_a_function_makes_them_anew(self, table: pd.DataFrame) -> None:
        def make() -> Iterator[pd.DataFrame]:
            yield table[:20]
            yield table[20:]

        assert_reads(as_chunks(make, confounder="motion", groups="subject"), table)

    def test_arrays_alone(self) -> None:
        source = as_chunks([np.zeros((2, 3)), np.zeros((0, 3)), np.ones((4, 3))])
        assert [(part.n, part.p, part.confounder) for part in source.labels()] == [
            (2, 3, None),
            (4, 3, None),
        ]

    def test_what_cannot_be_chunks(self, table: pd.DataFrame) -> None:
        x = table[["a", "b", "c"]].to_numpy()
        with pytest.raises(ValueError, match="a generator can be read only once"):
            as_chunks(piece for piece in [x])
        for whole in (x, table):
            with pytest.raises(ValueError, match="Use fit for a table in memory"):
                as_chunks(whole)
        with pytest.raises(ValueError, match="a path or an iterable of chunks; got"):
            as_chunks(3)
        with pytest.raises(ValueError, match=r"Chunk 1 must be .* got 4 parts"):
            list(as_chunks([(x, x), (x, x, x, x)]).rows())
        with pytest.raises(ValueError, match="Chunk 0 holds its own confounder"):
            list(as_chunks([(x, x)], confounder="motion").rows())
        with pytest.raises(ValueError, match=r"Chunk 0 has no column names \(ndarray\)"):
            list(as_chunks([x], confounder="motion").rows())
        with pytest.raises(ValueError, match="Chunk 1 has no column 'motion'"):
            list(as_chunks([table, table[["a", "b"]]], confounder="motion").rows())
        with pytest.raises(
            ValueError, match=r"X of chunk 0 must have rows and columns; got shape \(25,\)"
        ):
            list(as_chunks([(x[:, 0], x[:, 1])]).rows())
