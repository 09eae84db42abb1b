from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm import tables
from plaggm.tables import ROW_LABELS, TableError, line_of_row, read_table

FRAME = pd.DataFrame({"price, €": [1.5, -2.0, 3e-7], "Ω": [1.0, 2.0, 4.0], "id": ["a", "b", "c"]})

WRITERS: dict[str, Callable[[Path], Any]] = {
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda path: FRAME.to_parquet(path),
    ".feather": lambda path: FRAME.to_feather(path),
    ".xlsx": lambda path: FRAME.to_excel(path, index=False),
}


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class TestFormats:
    @pytest.mark.parametrize("ending", WRITERS)
    def test_the_same_table_from_each(self, tmp_path: Path, ending: str) -> None:
        WRITERS[ending](tmp_path / f"table{ending}")
        frame = read_table(tmp_path / f"table{ending}")
        pd.testing.assert_frame_equal(frame, FRAME, check_dtype=False)

    def test_endings_in_capitals(self, tmp_path: Path) -> None:
        assert list(read_table(written(tmp_path, "a,b\n1,2\n", "TABLE.CSV"))) == ["a", "b"]

    @pytest.mark.parametrize(
        "text",
        [
            "a;b\n1;2.5\n3;4\n",
            "a\tb\n1\t2.5\n3\t4\n",
            "\ufeffa,b\r\n1,2.5\r\n3,4\r\n",
            "\n a , b \n1, 2.5\n\n3, 4\n\n",
            'a;b\n"1";2,5\n3;4,0\n',
        ],
        ids=["semicolon", "tab", "BOM and CRLF", "blanks", "decimal comma"],
    )
    def test_dialects(self, tmp_path: Path, text: str) -> None:
        frame = read_table(written(tmp_path, text))
        assert list(frame) == ["a", "b"]
        assert frame.to_numpy(dtype=float).tolist() == [[1.0, 2.5], [3.0, 4.0]]

    def test_row_labels_of_pandas_and_r(self, tmp_path: Path) -> None:
        FRAME.to_csv(tmp_path / "table.csv")
        assert list(read_table(tmp_path / "table.csv")) == [ROW_LABELS, *FRAME]
        FRAME.to_excel(tmp_path / "table.xlsx")
        assert list(read_table(tmp_path / "table.xlsx")) == [ROW_LABELS, *FRAME]

    def test_a_named_index_is_a_column(self, tmp_path: Path) -> None:
        FRAME.set_index("id").to_parquet(tmp_path / "table.parquet")
        assert list(read_table(tmp_path / "table.parquet")) == ["id", "price, €", "Ω"]

    def test_rows_are_counted_anew(self, tmp_path: Path) -> None:
        FRAME.set_index(pd.Index([7, 7, 9])).to_parquet(tmp_path / "table.parquet")
        frame = read_table(tmp_path / "table.parquet")
        assert list(frame) == list(FRAME)
        assert frame.index.tolist() == [0, 1, 2]

    def test_a_sheet(self, tmp_path: Path) -> None:
        path = tmp_path / "book.xlsx"
        with pd.ExcelWriter(path) as book:
            FRAME.to_excel(book, sheet_name="one", index=False)
            FRAME[["Ω"]].to_excel(book, sheet_name="two", index=False)
        assert list(read_table(path, sheet="two")) == ["Ω"]
        assert list(read_table(path)) == list(FRAME)
        with pytest.raises(TableError, match="no sheet 'three'; it has 'one', 'two'"):
            read_table(path, sheet="three")
        with pytest.raises(TableError, match="no Excel file"):
            read_table(written(tmp_path, "a,b\n1,2\n"), sheet="one")

    def test_numpy(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.arange(6.0).reshape(3, 2))
        assert list(read_table(tmp_path / "x.npy")) == ["x0", "x1"]
        np.save(tmp_path / "s.npy", np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]))
        assert list(read_table(tmp_path / "s.npy")) == ["a", "b"]
        np.savez(tmp_path / "x.npz", roi=np.ones((3, 2)), motion=np.arange(3.0))
        frame = read_table(tmp_path / "x.npz")
        assert list(frame) == ["roi0", "roi1", "motion"]
        assert frame["motion"].tolist() == [0.0, 1.0, 2.0]


class TestRefusals:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty"),
            ("\n \n", "is empty"),
            ("a,b\n", "no rows below its names"),
            ("a,b\n1,2\n3\n", r"Line 3 of .* has 1 values where the first line has 2 names"),
            ("a,b\n1,2,9\n3,4\n", "Line 2 of .* has 3 values"),
            ("a,b\n1,2\n3,4,5\n", "Line 3 of .* has 3 values"),
            ('a,"b\nc"\n"1\n",2\n3,4,5\n', "Line 5 of .* has 3 values"),
            ("a,b\n\n1,2\n3\n", "Line 4 of .* has 1 values"),
            ('a,b\n1,"2\n', "cannot be read as a table"),
            ("a,b,a,b,c\n1,2,3,4,5\n", "repeated column names: 'a', 'b'"),
            ("a,,b\n1,2,3\n", "columns without a name: number 2"),
            ("1,2\n3,4\n", "holds numbers where the names"),
            (b"a,b\n1,2\n\xe9,2\n", "not UTF-8 text: line 3 holds the byte 0xe9"),
            ("a,b\n1,2\n".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
            (b"a,b\n1,\x00\n", "binary data, not a text table"),
            (b"PAR1....", "looks like a Parquet file"),
            (b"PK\x03\x04....", "looks like an Excel"),
        ],
    )
    def test_text(self, tmp_path: Path, content: str | bytes, message: str) -> None:
        with pytest.raises(TableError, match=message):
            read_table(written(tmp_path, content))

    def test_missing_values_are_no_short_rows(self, tmp_path: Path) -> None:
        frame = read_table(written(tmp_path, "a,b\n1,\n,2\n"))
        assert frame.isna().to_numpy().tolist() == [[False, True], [True, False]]

    @pytest.mark.parametrize("ending", [".parquet", ".feather", ".xlsx", ".npy", ".npz"])
    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"text"])
    def test_damaged_files(self, tmp_path: Path, ending: str, content: bytes) -> None:
        path = written(tmp_path, content, f"table{ending}")
        with pytest.raises(TableError, match=r"is empty|cannot be read as an? ") as caught:
            read_table(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_python_objects_are_never_loaded(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.array([{}], dtype=object))
        with pytest.raises(TableError, match="Python objects, which are never loaded"):
            read_table(tmp_path / "x.npy")

    def test_arrays_that_make_no_table(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "x.npz", a=np.ones((3, 2)), b=np.ones(4))
        with pytest.raises(
            TableError, match=r"one row for each sample; it holds a \(3, 2\), b \(4,\)"
        ):
            read_table(tmp_path / "x.npz")
        np.save(tmp_path / "x.npy", np.ones((2, 2, 2)))
        with pytest.raises(TableError, match=r"x \(2, 2, 2\)"):
            read_table(tmp_path / "x.npy")

    def test_no_such_file(self, tmp_path: Path) -> None:
        written(tmp_path, "a,b\n1,2\n", "prices.csv")
        with pytest.raises(TableError, match=r"There is no file .*Did you mean .*prices\.csv\?"):
            read_table(tmp_path / "price.csv")
        with pytest.raises(TableError, match="There is no file"):
            read_table(tmp_path / "nowhere" / "price.csv")
        with pytest.raises(TableError, match="is a folder"):
            read_table(tmp_path)
        with pytest.raises(TableError, match=r"no known format; use one of \.csv"):
            read_table(tmp_path / "prices.sav")

    def test_duplicate_names_in_other_formats(self, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pyarrow.table([[1.0], [2.0]], names=["a", "a"])
        parquet.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(TableError, match="repeated column names: 'a'"):
            read_table(tmp_path / "x.parquet")

    @pytest.mark.parametrize(
        ("ending", "package"), [(".xlsx", "openpyxl"), (".parquet", "pyarrow")]
    )
    def test_missing_reader(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str
    ) -> None:
        WRITERS[ending](tmp_path / f"table{ending}")
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(TableError, match=rf"needs {package}: pip install 'plaggm\[cli\]'"):
            read_table(tmp_path / f"table{ending}")


class TestLines:
    def test_of_text_and_sheets(self, tmp_path: Path) -> None:
        path = written(tmp_path, 'a,b\n\n1,2\n"3\n",4\n5,6\n')
        assert [line_of_row(path, row) for row in range(4)] == [3, 4, 6, None]
        assert line_of_row(Path("book.xlsx"), 0) == 2
        assert line_of_row(Path("x.parquet"), 0) is None

    def test_every_ending_has_a_reader(self) -> None:
        assert set(WRITERS) <= set(tables._READERS)
