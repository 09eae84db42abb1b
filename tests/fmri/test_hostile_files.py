"""Damaged and hostile files of a study: refused in words about the file, and never loaded first."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pytest

from plaggm import read_errors
from plaggm.fmri import Problems, StudyError
from plaggm.fmri.atlas import load_atlas
from plaggm.fmri.confounds import ConfoundsError, read_confounds
from plaggm.fmri.images import open_image
from plaggm.fmri.label_tables import read_label_table
from plaggm.fmri.participants import participants_from_frame, read_participants_table
from plaggm.fmri.scans import ScanError, open_scan, read_series
from plaggm.fmri.semisynthetic import measured_motion
from plaggm.fmri.subjects import StudyData, Subject
from plaggm.read_errors import UnreadableFile

PYTHON = re.compile(r"Error\b|Exception|object has no|Errno|<class|literal|tokeniz|codec")


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def claiming(shape: tuple[int, ...]) -> bytes:
    return npy(np.zeros((2, 2))).replace(b"'shape': (2, 2), }", f"'shape': {shape}, }}".encode())


WHOLE = b"a\tb\n" + b"1\t2\n" * 400
SERIES: dict[str, tuple[str, bytes, str]] = {
    "absurd shape": ("x.npy", claiming((2**50, 9)), "should have the shape"),
    "objects": ("x.npy", npy(np.array([[{}]], dtype=object)), "Python objects, which are never"),
    "three axes": ("x.npy", npy(np.zeros((2, 2, 2))), r"volumes in rows; it holds float64 of sh"),
    "text array": ("x.npy", npy(np.array([["a"]])), r"volumes in rows; it holds <U1"),
    "two arrays": ("x.npy", npz(a=np.zeros((2, 2)), b=np.zeros(3)), r"shape \(2, 2\) and float64"),
    "no array": ("x.npy", b"a\tb\n", "it is not a NumPy array"),
    "long row": ("x.tsv", b"a\tb\n1\t2\n1\t2\t3\n", r"\(line 3 has 3 values where the first line"),
    "long first row": ("x.tsv", b"a\tb\n1\t2\t3\n1\t2\t3\n", r"line 2 has 3 values"),
    "repeated names": ("x.tsv", b"a\ta\n1\t2\n", "it has repeated column names: 'a'"),
    "open quote": ("x.csv", b'a,b\n1,"2\n', "a quote in line 2 is never closed"),
    "long field": ("x.csv", b"a,b\n1," + b"x" * 140_000 + b"\n2\n", "more than 131,072 characters"),
    "UTF-16": ("x.tsv", "a\tb\n1\t2\n".encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
    "Latin-1": ("x.tsv", b"a\t\xe9\n1\t2\n", "not UTF-8 text: line 1 holds the byte 0xe9"),
    "zero byte": ("x.tsv", b"a\tb\n1\t\x00\n", "it holds binary data"),
    "cut off": ("x.tsv.gz", gzip.compress(WHOLE)[:-20], "it ends too early"),
    "no gzip": ("x.tsv.gz", WHOLE, "its compressed content is damaged"),
    "broken gzip": (
        "x.tsv.gz",
        gzip.compress(WHOLE)[:12] + b"\xff" * 8 + gzip.compress(WHOLE)[20:],
        "its compressed content is damaged",
    ),
    "unknown ending": ("x.sav", WHOLE, "its name does not end in .tsv, .csv, .txt"),
    "zero byte in the name": ("a\0.tsv", b"", "its name holds a zero byte"),
    "endless name": ("a" * 5000 + ".npy", b"", "too long"),
}


@pytest.mark.parametrize("case", SERIES)
def test_series_and_confounds(tmp_path: Path, case: str) -> None:
    name, content, words = SERIES[case]
    path = tmp_path / name
    if content:
        path.write_bytes(content)
    with pytest.raises(ScanError, match=words) as caught:
        read_series(path)
    assert not PYTHON.search(str(caught.value))
    assert str(path) not in str(caught.value)
    if ".npy" not in name:
        with pytest.raises(ConfoundsError, match=words):
            read_confounds(path)


def test_compressed_tables_are_judged_while_they_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(WHOLE))
    assert read_series(tmp_path / "x.tsv.gz")[0].shape == (400, 2)
    monkeypatch.setattr(read_errors, "available_memory", lambda: 2 * len(WHOLE))
    with pytest.raises(ScanError, match=r"needs 4.8 kB of memory, and 3.2 kB are free"):
        read_series(tmp_path / "x.tsv.gz")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("s1\tg\t" + "a" * 5000 + ".tsv\tc.tsv", "names the file 'aaa.*too long. Left out"),
        ("s1\tg\tx.tsv\tc.tsv\tmore", "line 2 has 5 values where the first line has 4 names"),
    ],
)
def test_participants(tmp_path: Path, row: str, words: str) -> None:
    path = tmp_path / "people.tsv"
    path.write_text(f"subject\tgroup\ttimeseries\tconfounds\n{row}\n")
    problems = Problems()
    try:
        participants_from_frame(read_participants_table(path), path, "group", problems)
        message = str(problems)
    except StudyError as error:
        message = str(error)
    assert re.search(words, message)
    assert not PYTHON.search(message)


def image_bytes(shape: tuple[int, ...], claimed: tuple[int, ...] | None = None) -> bytes:
    import nibabel

    image = nibabel.Nifti1Image(np.zeros(shape, np.uint8), np.eye(4))
    content = bytearray(image.to_bytes())
    if claimed is not None:
        # The header holds the number of axes and their lengths in sixteen bits each.
        dims = np.array([len(claimed), *claimed, *[1] * (7 - len(claimed))], dtype="<i2")
        content[40:56] = dims.tobytes()
    return bytes(content)


class TestImages:
    @pytest.mark.parametrize("name", ["x.nii", "x.nii.gz"])
    def test_absurd_shapes(self, tmp_path: Path, name: str) -> None:
        content = image_bytes((4, 4, 4, 5), (32000, 32000, 32000, 9))
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        with pytest.raises(ScanError, match=r"shape \(32000, .*for which the file is too small"):
            open_scan(path)

    def test_shapes_without_voxels(self, tmp_path: Path) -> None:
        (tmp_path / "x.nii").write_bytes(image_bytes((4, 4, 4, 5), (4, 4, 0, 5)))
        with pytest.raises(ScanError, match=r"says that it has the shape|damaged"):
            open_scan(tmp_path / "x.nii")

    def test_what_does_not_fit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "x.nii").write_bytes(image_bytes((4, 4, 4, 5)))
        assert open_image(tmp_path / "x.nii").shape == (4, 4, 4, 5)
        monkeypatch.setattr(read_errors, "available_memory", lambda: 2000)
        with pytest.raises(ScanError, match=r"an image of the shape .* needs 2.6 kB of memory"):
            open_scan(tmp_path / "x.nii")

    @pytest.mark.parametrize("content", [b"not an image", b"", b"\x1f\x8b\x08broken"])
    def test_no_images(self, tmp_path: Path, content: bytes) -> None:
        for name in ("x.nii", "x.nii.gz", "x.mgz"):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(ScanError, match="cannot be read") as caught:
                open_scan(tmp_path / name)
            assert not PYTHON.search(str(caught.value))

    @pytest.mark.parametrize("name", ["a\0.nii", "a" * 5000 + ".nii", "nowhere.nii"])
    def test_names(self, tmp_path: Path, name: str) -> None:
        with pytest.raises((UnreadableFile, FileNotFoundError)):
            open_image(tmp_path / name)


class TestAtlases:
    def refused(self, path: Path) -> str:
        with pytest.raises(StudyError) as caught:
            load_atlas(str(path), None, 5.0, Problems(), images=True)
        assert not PYTHON.search(str(caught.value))
        return str(caught.value)

    @pytest.mark.parametrize("label", ["one", "1.5", "n/a", "1" * 400, "inf"])
    def test_labels_that_are_no_labels(self, tmp_path: Path, label: str) -> None:
        (tmp_path / "l.csv").write_text(f"label,name\n1,a\n{label},b\n")
        with pytest.raises(StudyError, match="as label, which is not a whole number") as caught:
            read_label_table(tmp_path / "l.csv")
        assert not PYTHON.search(str(caught.value))

    @pytest.mark.parametrize("value", ["left", "", "1e999"])
    def test_coordinates_that_are_no_numbers(self, tmp_path: Path, value: str) -> None:
        (tmp_path / "c.csv").write_text(f"name,x,y,z\na,1,2,3\nb,{value},2,3\n")
        assert "values that are not numbers" in self.refused(tmp_path / "c.csv")

    @pytest.mark.parametrize("values", [np.arange(6000) + 0.0, np.full(6000, 0.5)])
    def test_images_that_are_no_labels(self, tmp_path: Path, values: np.ndarray) -> None:
        import nibabel

        image = nibabel.Nifti1Image(values.reshape(20, 30, 10).astype(np.float32), np.eye(4))
        image.to_filename(tmp_path / "a.nii.gz")
        assert "a labels image has whole numbers" in self.refused(tmp_path / "a.nii.gz")

    def test_images_with_other_axes(self, tmp_path: Path) -> None:
        (tmp_path / "a.nii").write_bytes(image_bytes((4, 4, 4, 5)))
        assert "must be one 3-D labels image and has 4 axes" in self.refused(tmp_path / "a.nii")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"text", "is not an .npz archive"),
        (npz(motion=np.zeros((2, 3, 1))), "it has no array 'column'"),
        (
            npz(motion=np.zeros((2, 3)), column=np.array(["fd"]), subject=np.array(["a", "b"])),
            r"its shape is \(2, 3\) for 2 subjects and 1 columns",
        ),
    ],
)
def test_measured_motion(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "m.npz").write_bytes(content)
    with pytest.raises(StudyError, match=words):
        measured_motion(tmp_path / "m.npz")


def test_columns_of_participants_do_not_replace_ours() -> None:
    further = {"volumes": "many", "group": "other", "age": "30"}
    subject = Subject("s1", "control", np.zeros((5, 2)), np.zeros((5, 1)), further=further)
    table = StudyData((subject,), None, ("fd",)).to_frame()
    assert table["volumes"].tolist() == [5]
    assert table["group"].tolist() == ["control"]
    assert table["participants: volumes"].tolist() == ["many"]
    assert table["age"].tolist() == ["30"]
