"""Sources of chunks: files, folders and iterables."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from plaggm.chunks import Chunk, RowChunks, as_chunks
from plaggm.tables import read_table


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

    @pytest.mark.parametrize(
        ("name", "delimiter", "decimal"),
        [("t.csv", ";", "."), ("t.csv", ";", ","), ("t.txt", ",", "."), ("t.tab", "\t", ",")],
    )
    def test_delimiters_as_in_whole_tables(
        self, tmp_path: Path, table: pd.DataFrame, name: str, delimiter: str, decimal: str
    ) -> None:
        path = tmp_path / name
        # A blank first line, and a name that holds other delimiters.
        named = table.rename(columns={"a": "a, b and c"})
        text = named.to_csv(sep=delimiter, decimal=decimal, index=False)
        path.write_text(f"\n{text}")
        pd.testing.assert_frame_equal(read_table(path), named)
        source = as_chunks(path, confounder="motion", groups="subject", chunk_rows=7)
        assert [len(chunk.x) for chunk in source.rows()] == [7, 7, 7, 4]
        whole = pd.concat([chunk.x for chunk in source.rows()], ignore_index=True)
        pd.testing.assert_frame_equal(whole, named[["a, b and c", "b", "c"]])

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

    def test_an_index_of_pandas_is_a_column(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pytest.importorskip("pyarrow")
        table.set_index("subject").to_parquet(tmp_path / "t.parquet")
        assert_reads(
            as_chunks(tmp_path / "t.parquet", confounder="motion", groups="subject"), table
        )

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
        for odd in (0, 2.5, "many", None, np.inf):
            with pytest.raises(ValueError, match="chunk_rows must be a whole number of at least 1"):
                as_chunks(path, chunk_rows=odd)
        for odd in ("a", 3.0, [1, 2]):
            with pytest.raises(ValueError, match="variables must be a list of column names"):
                as_chunks(path, variables=odd)
        with pytest.raises(ValueError, match="groups is the name of a column"):
            as_chunks(path, groups=["a"])
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


class TestDamage:
    """What is wrong with a file is said in words about the file, in whichever chunk it shows."""

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a,b,c\n1,2,3,4\n5,6,7,8\n", "its first row has more values than there are names"),
            ("a,b,c\n1,2,3\n5,6,7,8\n", "line 3 has 4 values, and there are 3 names"),
            ("a,b,c\n" + 9 * "1,2,3\n" + "5,6,7,8\n", "line 11 has 4 values, and there are 3"),
            ('a,b,c\n1,2,3\n1,"2,3\n', "a quote is opened in it and never closed"),
            ("a,b,b\n1,2,3\n", "repeated column names: 'b'"),
            ("a,,b\n1,2,3\n", "columns without a name: number 2"),
            (b"a,b,c\n1,\xff,3\n", "not UTF-8 text: byte 0xff"),
            ("", "is empty"),
        ],
        ids=["first", "second", "later chunk", "quote", "repeated", "unnamed", "bytes", "empty"],
    )
    @pytest.mark.parametrize("variables", [None, ["b"]])
    def test_text(
        self, tmp_path: Path, text: str | bytes, words: str, variables: list[str] | None
    ) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError, match=words) as caught:
            list(as_chunks(path, confounder="a", variables=variables, chunk_rows=2).rows())
        assert str(path) in str(caught.value)

    def test_labels_of_long_rows_are_not_shifted(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b,c\n1,2,3,4\n5,6,7,8\n")
        (labels,) = as_chunks(tmp_path / "t.csv", confounder="a").labels()
        assert labels.confounder["a"].tolist() == [1, 5]

    def test_warnings_are_left_as_they_were(self, tmp_path: Path, table: pd.DataFrame) -> None:
        table.to_csv(tmp_path / "t.csv", index=False)
        before = list(warnings.filters)
        chunks = as_chunks(tmp_path / "t.csv", chunk_rows=3).rows()
        next(chunks)
        assert list(warnings.filters) == before

    def test_cut_off_files(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pytest.importorskip("pyarrow")
        whole = gzip.compress(table.to_csv(index=False).encode())
        (tmp_path / "t.csv.gz").write_bytes(whole[:-30])
        with pytest.raises(ValueError, match=r"t.csv.gz cannot be read \(it ends too early\)"):
            list(as_chunks(tmp_path / "t.csv.gz").rows())
        table.to_parquet(tmp_path / "t.parquet")
        content = (tmp_path / "t.parquet").read_bytes()
        (tmp_path / "t.parquet").write_bytes(content[:-10])
        with pytest.raises(
            ValueError, match=r"t.parquet cannot be read \(it is damaged or of anoth"
        ):
            as_chunks(tmp_path / "t.parquet")
        (tmp_path / "t.parquet").write_bytes(content[:4] + bytes(200) + content[204:])
        with pytest.raises(
            ValueError, match=r"t.parquet cannot be read \(it is damaged or of anoth"
        ):
            list(as_chunks(tmp_path / "t.parquet").rows())

    def test_odd_notes_of_pandas(self, tmp_path: Path, table: pd.DataFrame) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        noted = pyarrow.Table.from_pandas(table).replace_schema_metadata({"pandas": "{,}"})
        parquet.write_table(noted, tmp_path / "t.parquet")
        assert_reads(
            as_chunks(tmp_path / "t.parquet", confounder="motion", groups="subject"), table
        )

    @pytest.mark.parametrize("name", ["a\0b.csv", f"{'a' * 5000}.csv"])
    def test_impossible_names(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ValueError, match=r"^Cannot read .*(zero byte|too long)"):
            as_chunks(tmp_path / name)


def test_memory_of_parquet_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def held(rows: int) -> int:
        values = np.random.default_rng(0).normal(size=(rows, 4))
        table = pyarrow.table({f"x{j}": values[:, j] for j in range(4)})
        # One group of rows, whose columns would be read whole. A dictionary has its own limit.
        path = tmp_path / f"{rows}.parquet"
        parquet.write_table(
            table, path, row_group_size=rows, data_page_size=65_536, use_dictionary=False
        )
        del table
        before = pyarrow.total_allocated_bytes()
        chunks = as_chunks(path, chunk_rows=500).rows()
        return max(pyarrow.total_allocated_bytes() - before for _ in chunks)

    assert held(200_000) < 2 * held(20_000)


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
