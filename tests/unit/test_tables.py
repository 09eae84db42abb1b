from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from plaggm import read_errors
from plaggm.tables import ROW_LABELS, TableError, line_of_row, read_table, sheets
from plaggm.tables.reading import FORMATS

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
            "a,b\r1,2.5\r3,4\r",
        ],
        ids=["semicolon", "tab", "BOM and CRLF", "blanks", "decimal comma", "CR"],
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
        with pytest.raises(TableError, match="not an Excel file"):
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
            ('a,b\n1,"2\n', "a quote in line 2 is never closed"),
            (f'a,b\n1,2\n3,"{"x" * 140_000}\n', "The row from line 3 .* more than 131,072"),
            (f"{'x' * 140_000},b\n1,2\n", "The row from line 1 .* more than 131,072"),
            ("a,b,a,b,c\n1,2,3,4,5\n", "repeated column names: 'a', 'b'"),
            ("a,,b\n1,2,3\n", r"columns without a name: number 2\. Give each a name in the header"),
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

    @pytest.mark.parametrize("ending", sorted(FORMATS))
    def test_python_is_not_quoted(self, tmp_path: Path, ending: str) -> None:
        """Whatever stands in the file, the message is about the file."""
        starts = [
            b"PAR1",
            b"ARROW1",
            b"PK\x03\x04",
            b"\x93NUMPY\x01\x00\x05\x00((((",
            b"\x1f\x8b",
            b"{}",
        ]
        for content in [start + bytes(40) + b"PAR1" for start in starts]:
            with pytest.raises(TableError) as caught:
                read_table(written(tmp_path, content, f"table{ending}"))
            assert not re.search(r"Error\b|Exception|object has no|Errno|<class", str(caught.value))

    def test_another_kind_is_named(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.ones((3, 2)))
        (tmp_path / "x.npy").rename(tmp_path / "x.parquet")
        with pytest.raises(TableError, match=r"as a Parquet file \(.*looks like a NumPy file"):
            read_table(tmp_path / "x.parquet")

    @pytest.mark.parametrize("name", ["a\0b.csv", f"{'a' * 5000}.csv"])
    def test_impossible_names(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(TableError, match=r"^Cannot read .*(zero byte|too long)"):
            read_table(tmp_path / name)

    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".xlsx"])
    def test_sizes_are_judged_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
    ) -> None:
        WRITERS[ending](tmp_path / f"table{ending}")
        monkeypatch.setattr(read_errors, "available_memory", lambda: 10)
        with pytest.raises(TableError, match=r"needs? .* of memory, and 10 bytes are free"):
            read_table(tmp_path / f"table{ending}")

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

    @pytest.mark.parametrize(
        ("array", "words"),
        [
            (np.zeros((0, 2**60), dtype="i1"), "has no rows"),
            (np.zeros((1, 100_001), dtype="i1"), "100,001 columns.* transpose it"),
            (np.zeros(3, dtype="V4"), "not a table of numbers or text"),
            (np.zeros(3, dtype=[("a", "f8", (2,))]), "not a table of numbers or text"),
            (np.zeros((3, 2), dtype=[("a", "f8")]), "not a table of numbers or text"),
        ],
        ids=["no rows", "transposed", "void", "nested", "two axes"],
    )
    def test_arrays_of_odd_shapes_and_types(
        self, tmp_path: Path, array: np.ndarray, words: str
    ) -> None:
        np.save(tmp_path / "x.npy", array)
        with pytest.raises(TableError, match=words):
            read_table(tmp_path / "x.npy")

    def test_the_other_byte_order(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [2.0, 1.0]], dtype=">f8"))
        frame = read_table(tmp_path / "x.npy")
        assert [len(rows) for _, rows in frame.groupby("x0")] == [1, 1]

    def test_no_such_file(self, tmp_path: Path) -> None:
        written(tmp_path, "a,b\n1,2\n", "prices.csv")
        with pytest.raises(TableError, match=r"There is no file .*Did you mean .*prices\.csv\?"):
            read_table(tmp_path / "price.csv")
        with pytest.raises(TableError, match="There is no file"):
            read_table(tmp_path / "nowhere" / "price.csv")
        with pytest.raises(TableError, match="is a folder"):
            read_table(tmp_path)
        with pytest.raises(TableError, match=r"no known file extension; use one of \.csv"):
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


def edited(source: Path, path: Path, old: bytes, new: bytes) -> Path:
    """A copy of a workbook with other text in its first sheet."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(path, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                assert old in content
                content = content.replace(old, new)
            after.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


class TestSheets:
    @pytest.fixture
    def book(self, tmp_path: Path) -> Path:
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.5], "b": [4.0, 5.0, 6.0]})
        frame.to_excel(tmp_path / "book.xlsx", index=False)
        return tmp_path / "book.xlsx"

    def test_the_same_as_pandas(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(
            {
                "whole": [1, 2, 3, 4],
                "gaps": [1.5, None, "n/a", 2],
                "empty": [None, None, None, None],
                "errors": ["#DIV/0!", 1.0, 2.0, None],
                "text": ["x", "None", "y", " "],
                "truth": [True, False, True, True],
                "days": pd.date_range("2024-01-01", periods=4),
            }
        )
        path = tmp_path / "book.xlsx"
        frame.to_excel(path, index=False)
        expected = pd.read_excel(path).drop(columns="empty")
        expected["errors"] = [np.nan, 1.0, 2.0, np.nan]
        found = read_table(edited(path, tmp_path / "copy.xlsx", b"<sheetData>", b"<sheetData>"))
        pd.testing.assert_frame_equal(found.drop(columns="empty"), expected, check_dtype=False)
        assert found["whole"].dtype == "int64"
        assert found["gaps"].dtype == "float64"

    def test_blank_rows_are_rows_unless_they_are_last(self, tmp_path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        for row in (("a", "b"), (1, 2), (None, None), (3, 4), ("", None)):
            book.active.append(row)
        book.save(tmp_path / "book.xlsx")
        found = read_table(tmp_path / "book.xlsx")
        assert found.isna().any(axis=1).tolist() == [False, True, False]

    def test_far_cells(self, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sheets, "MANY_PLACES", 10_000)
        far = edited(book, tmp_path / "far.xlsx", b'<row r="4"', b'<row r="400000"')
        with pytest.raises(
            TableError, match=r"places up to B400000, of which 8 are filled; delete"
        ):
            read_table(far)
        wide = edited(book, tmp_path / "wide.xlsx", b'r="B4"', b'r="XFD4"')
        with pytest.raises(TableError, match=r"places up to XFD4, of which 8 are filled"):
            read_table(wide)

    def test_rows_that_no_sheet_has(
        self, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sheets, "MOST_ROWS", 1000)
        endless = edited(book, tmp_path / "x.xlsx", b'<row r="4"', b'<row r="99999999999999"')
        with pytest.raises(TableError, match="a cell below row 1,000, where no sheet has one"):
            read_table(endless)

    def test_rows_that_are_too_wide(self, book: Path, tmp_path: Path) -> None:
        row = b"<row>" + b"<c><v>1</v></c>" * 16_385 + b"</row></sheetData>"
        wide = edited(book, tmp_path / "x.xlsx", b"</sheetData>", row)
        with pytest.raises(TableError, match="row 5 has 16,385 cells, and no sheet has as many"):
            read_table(wide)

    def test_a_size_that_is_not_true(self, book: Path, tmp_path: Path) -> None:
        lying = edited(book, tmp_path / "x.xlsx", b'ref="A1:B4"', b'ref="A1:XFD1048576"')
        assert read_table(lying).shape == (3, 2)

    def test_parts_that_grow_beyond_measure(
        self, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sheets, "MANY_BYTES", 100_000)
        blank = b"<sheetData>" + b" " * 1_000_000
        bomb = edited(book, tmp_path / "bomb.xlsx", b"<sheetData>", blank)
        with pytest.raises(TableError, match=r"sheet1.xml' in it would grow from .* kB to 1 MB"):
            read_table(bomb)

    @pytest.mark.parametrize("cell", [b"ZZZZZ4", b"4", b"B"])
    def test_cells_that_do_not_exist(self, book: Path, tmp_path: Path, cell: bytes) -> None:
        broken = edited(book, tmp_path / "x.xlsx", b'r="B4"', b'r="' + cell + b'"')
        with pytest.raises(TableError, match=r"damaged or of another kind|without a name"):
            read_table(broken)


class TestLines:
    def test_of_text_and_sheets(self, tmp_path: Path) -> None:
        path = written(tmp_path, 'a,b\n\n1,2\n"3\n",4\n5,6\n')
        assert [line_of_row(path, row) for row in range(4)] == [3, 4, 6, None]
        assert line_of_row(Path("book.xlsx"), 0) == 2
        assert line_of_row(Path("x.parquet"), 0) is None

    def test_every_ending_has_a_reader(self) -> None:
        assert set(WRITERS) <= set(FORMATS)
