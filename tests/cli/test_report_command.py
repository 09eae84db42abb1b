from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from plaggm import PLAGGMCV, GraphResult
from plaggm.cli import study_run
from plaggm.cli.group import commands
from plaggm.simulate import simulate_paper

NAMES = ("<script>alert(1)</script>", "a&b", "Ω", "plain")

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def networks() -> tuple[GraphResult, GraphResult]:
    data = simulate_paper(4, n=200, seed=2, even=True, threshold=60.0)
    x = pd.DataFrame(data.x, columns=list(NAMES))
    g = pd.Series(data.confounder, name="<img src=x>")
    settings = dict(alphas=6, cv=3)
    after = PLAGGMCV(**settings, threshold=60.0).fit(x, confounder=g).to_result()
    return PLAGGMCV(**settings).fit(x).to_result(), after


@pytest.fixture
def place(
    networks: tuple[GraphResult, GraphResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A result with the unadjusted one in it, in the folder where the command is run."""
    monkeypatch.chdir(tmp_path)
    before, after = networks
    folder = after.save("result")
    before.save(folder / "unadjusted")
    return folder


@pytest.fixture
def run(place: Path) -> Run:
    return lambda *arguments: CliRunner().invoke(commands, ["report", *map(str, arguments)])


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


class TestPage:
    def test_is_made_again(self, run: Run, place: Path) -> None:
        result = run(place)
        assert result.exit_code == 0, result.output
        assert result.stdout == f"Page: {place / 'report.html'}\n"
        first = (place / "report.html").read_bytes()
        (place / "report.html").unlink()
        assert run(place).exit_code == 0
        assert (place / "report.html").read_bytes() == first

    def test_names_stay_text(self, run: Run, place: Path) -> None:
        run(place)
        page = (place / "report.html").read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "<img src" not in page
        assert "alert(1)" in page

    def test_of_groups(self, run: Run, place: Path) -> None:
        home = Path("all/groups/north")
        home.parent.mkdir(parents=True)
        shutil.copytree(place, home)
        Path("all/groups.csv").write_text("site,folder\n<b>north</b>,groups/north\n")
        assert run("all").exit_code == 0
        assert (home / "report.html").is_file()
        page = Path("all/report.html").read_text(encoding="utf-8")
        assert "<b>north" not in page
        assert 'href="groups/north/report.html"' in page

    def test_groups_cannot_point_elsewhere(self, run: Run, place: Path) -> None:
        Path("all").mkdir()
        Path("all/groups.csv").write_text("site,folder\nnorth,../result\n")
        assert "There is no result at all/groups/result" in refused(run("all"))
        Path("all/groups.csv").write_text("\x00")
        assert "groups.csv" in refused(run("all"))
        Path("all/groups.csv").write_text("site,folder\n")
        assert "lists no groups" in refused(run("all"))


class TestRefusals:
    def test_no_such_folder(self, run: Run) -> None:
        assert refused(run("nowhere")) == "Error: There is no folder nowhere."

    def test_foreign_folder(self, run: Run) -> None:
        Path("thesis").mkdir()
        Path("thesis/chapter.txt").write_text("mine")
        line = refused(run("thesis"))
        assert "thesis is not a readable plaggm result (it has no " in line
        assert [path.name for path in Path("thesis").iterdir()] == ["chapter.txt"]

    def test_folder_of_a_study(self, run: Run) -> None:
        Path("results").mkdir()
        Path("results", study_run.MARK).write_text("{}")
        assert "results is the folder of a study, whose page report.html" in refused(run("results"))
        assert not Path("results/report.html").exists()

    @pytest.mark.parametrize("name", ["result.json", "arrays.npz", "path.npz"])
    def test_damaged_folder(self, run: Run, place: Path, name: str) -> None:
        (place / name).write_bytes((place / name).read_bytes()[:40])
        assert "not a readable plaggm result" in refused(run(place))
        assert not (place / "report.html").exists()

    def test_damaged_unadjusted_result(self, run: Run, place: Path) -> None:
        (place / "unadjusted" / "result.json").write_text("{}")
        assert "unadjusted is not a readable plaggm result" in refused(run(place))

    def test_nothing_is_executed(self, run: Run, place: Path) -> None:
        marker = Path("executed").resolve()

        class Trap:
            def __reduce__(self) -> tuple[object, ...]:
                return Path.touch, (marker,)

        (place / "arrays.npz").write_bytes(pickle.dumps(Trap()))
        refused(run(place))
        assert not marker.exists()

    def test_wrong_truth(self, run: Run, place: Path) -> None:
        (place / "truth.json").write_text(json.dumps({"format": "other"}))
        assert "truth.json" in refused(run(place))

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the owner may write all")
    def test_unwritable(self, run: Run, place: Path) -> None:
        place.chmod(0o500)
        try:
            assert "Cannot write to result (Permission denied)" in refused(run(place))
        finally:
            place.chmod(0o700)


class TestExport:
    def test_formats(self, run: Run, place: Path) -> None:
        formats = ["--export", "gexf", "--export", "brainnet", "--export", "graphml"]
        result = run(place, *formats)
        assert result.exit_code == 0, result.output
        written = [line.removeprefix("Wrote ") for line in result.stdout.splitlines()[:-1]]
        names = ["network.gexf", "network.node", "network.edge", "network.graphml"]
        assert written == [str(place / name) for name in names]
        for name in names:
            assert (place / name).stat().st_size > 0

    def test_coordinates(self, run: Run, place: Path) -> None:
        table = pd.DataFrame(
            {"name": NAMES[::-1], "x": [1.0, 2.0, 3.0, 4.0], "y": 5.0, "z": [-1, -2, -3, -4]}
        )
        table.to_csv("regions.csv", index=False)
        result = run(place, "--export", "brainnet", "--coordinates", "regions.csv")
        assert result.exit_code == 0, result.output
        rows = [line.split() for line in (place / "network.node").read_text().splitlines()]
        places = np.array([row[:3] for row in rows], dtype=float)
        np.testing.assert_array_equal(places, [[4, 5, -4], [3, 5, -3], [2, 5, -2], [1, 5, -1]])

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("name,x,y\nplain,1,2\n", "no column 'z' (--coordinates)"),
            ("name,x,y,z\nplain,1,2,3\n", "no row for 3 of the 4 variables, first '<script>"),
            ("name,x,y,z\nplain,1,2,c\n", "'c' in row 1 (line 2), which is not a number"),
            (
                "name,x,y,z\n" + "".join(f'"{name}",1,2,\n' for name in NAMES),
                "no x, y or z for",
            ),
        ],
    )
    def test_wrong_coordinates(self, run: Run, place: Path, text: str, words: str) -> None:
        Path("regions.csv").write_text(text)
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        line = refused(
            run(place, "--export", "gexf", "--export", "brainnet", "--coordinates", "regions.csv")
        )
        assert words in line
        # Neither the page nor the other format was written before the mistake was seen.
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before

    def test_coordinates_of_another_format(self, run: Run, place: Path) -> None:
        line = refused(run(place, "--export", "gexf", "--coordinates", "regions.csv"))
        assert "--coordinates are for --export brainnet" in line


@pytest.mark.parametrize(
    ("file", "content"),
    [("result.json", b'{"accuracy": 0.9}'), ("arrays.npz", b"PK")],
    ids=["foreign", "cut off"],
)
def test_damaged_results(run: Run, place: Path, file: str, content: bytes) -> None:
    (place / file).write_bytes(content)
    assert "not a readable plaggm result" in refused(run(place))
    assert not (place / "report.html").exists()
