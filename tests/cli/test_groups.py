"""The overview of several networks: tables, page, and what a folder from elsewhere may hold."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from plaggm import GraphResult
from plaggm.cli.group import commands
from plaggm.cli.group_levels import shared_labels
from plaggm.cli.groups import read_levels, write_overview
from plaggm.cli.naming import folder_names
from plaggm.report.groups import group_page
from plaggm.report.levels import Level, compared, level_table, overview_text, pair_table

HOSTILE = "<script>alert(1)</script>"


def result_of(
    *edges: tuple[int, int, float], names: tuple[str, ...] = ("a", "b", "c")
) -> GraphResult:
    omega = np.zeros((3, 3))
    for j, k, value in edges:
        omega[j, k] = omega[k, j] = value
    diagnostics = {"n_samples": 20, "n_unconfounded": 5}
    return GraphResult(
        names, omega, np.zeros(3), np.ones(3), 0.1, ("motion",), diagnostics=diagnostics
    )


def made_up(*names: str) -> list[Level]:
    after = [result_of((0, 1, 0.4)), result_of((0, 1, -0.2), (1, 2, 0.1))]
    return [
        Level(name, folder, result_of((0, 2, 0.3)), after[place % 2])
        for place, (name, folder) in enumerate(zip(names, folder_names(names), strict=True))
    ]


def stored(folder: Path, levels: list[Level], group: str) -> Path:
    for level in levels:
        home = level.after.save(folder / "groups" / level.folder)
        level.before.save(home / "unadjusted")
    write_overview(folder, levels, group)
    return folder


@pytest.mark.parametrize(
    "group",
    ["site", "samples", "folder", "edges", "group: samples", "=1+1", "'=1+1", HOSTILE],
)
@pytest.mark.parametrize("names", [("north", "south"), ("source", "levels"), ("-1", "target")])
def test_no_name_gets_lost(tmp_path: Path, group: str, names: tuple[str, str]) -> None:
    levels = made_up(*names)
    folder = stored(tmp_path / "all", levels, group)
    found, found_group = read_levels(folder)
    assert found_group == group
    assert [level.name for _, level in found] == list(names)
    table = level_table(levels, group)
    assert table.iloc[:, 0].tolist() == list(names)
    assert table["samples"].tolist() == [20, 20]
    assert table["edges"].tolist() == [1, 2]
    assert table.columns.is_unique
    pairs = pair_table(levels)
    assert pairs.columns.is_unique
    assert pairs[["source", "target", "levels"]].to_numpy().tolist() == [
        ["a", "b", 2],
        ["b", "c", 1],
    ]
    assert pairs.iloc[:, 3:].to_numpy().tolist() == [[0.4, -0.2], [0.0, 0.1]]
    text = overview_text(levels, group, compared(levels))
    assert f"one for each level of {group}," in text
    assert "2 pairs are edges in at least one of them, 1 in all of them." in text
    assert f"\n{names[0]}: 20 samples, 75% of them confounded; 1 edge (" in text


def test_plain_names_are_heads(tmp_path: Path) -> None:
    assert list(level_table(made_up("north", "south"), "site"))[:2] == ["site", "samples"]
    assert list(pair_table(made_up("north", "south")))[2:] == ["levels", "north", "south"]


class TestPage:
    def test_text_stays_text_and_colours_need_no_attribute(self) -> None:
        levels = made_up(HOSTILE, "south")
        page = group_page(levels, HOSTILE, compared(levels))
        assert page.count("<script") == 2
        assert "<script>alert" not in page
        assert "style=" not in page.replace("--style=", "")
        assert "&lt;script&gt;alert(1)" in page
        assert "script-src 'sha256-" in page
        # The strongest edge has the strongest colour, and the sign has its own.
        shades = re.findall(r'<td class="num (\w+ shade\d)">', page)
        assert shades == ["up shade9", "down shade5", "up shade3"]

    def test_folders_are_addresses(self) -> None:
        hostile = '"><meta http-equiv="refresh" content="0;url=https:example.org"> #?%'
        (level, _) = made_up("north", "south")
        page = group_page([Level("north", hostile, level.before, level.after)], "site", None)
        assert '<meta http-equiv="refresh' not in page
        (address,) = re.findall(r'<td><a href="([^"]*)">', page)
        assert re.fullmatch(r"groups/[\w%.-]+/report\.html", address)

    def test_no_edges(self) -> None:
        nothing = [Level(name, name, result_of(), result_of()) for name in "ab"]
        assert "No pair is an edge in any of them." in group_page(
            nothing, "site", compared(nothing)
        )


class TestFoldersFromElsewhere:
    """``plaggm report`` on a folder that somebody else made."""

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return stored(Path("all"), made_up("north\nrm -rf ~", "south"), "site")

    def report(self, *arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(commands, ["report", "all", *arguments])
        return result.exit_code, result.output

    def test_an_ordinary_one(self, folder: Path) -> None:
        code, said = self.report("--export", "graphml", "--export", "brainnet")
        assert code == 0, said
        assert (folder / "groups/south/report.html").is_file()
        assert (folder / "groups/south/network.node").is_file()

    def test_nothing_is_written_through_links(self, folder: Path) -> None:
        profile = Path("profile")
        profile.write_text("mine")
        for name in (
            *("groups.csv", "edges_by_group.csv", "summary.txt", "report.html"),
            *("groups/south/report.html", "groups/south/network.graphml"),
            *("groups/south/network.node", "groups/south/network.edge"),
        ):
            place = folder / name
            text = place.read_text() if place.exists() else "mine"
            place.unlink(missing_ok=True)
            if name == "groups.csv":
                # It has to be readable, so that the rest is reached.
                Path("table").write_text(text)
                place.symlink_to(Path("table").absolute())
            else:
                place.symlink_to(profile.absolute())
        table = Path("table").read_text()
        code, said = self.report("--export", "graphml", "--export", "brainnet")
        assert code == 0, said
        assert profile.read_text() == "mine"
        assert Path("table").read_text() == table
        assert not any(path.is_symlink() for path in folder.rglob("*"))

    @pytest.mark.parametrize("linked", ["groups", "groups/south"])
    def test_results_elsewhere_are_left_alone(self, folder: Path, linked: str) -> None:
        shutil.move(folder / linked, "elsewhere")
        os.symlink(Path("elsewhere").absolute(), folder / linked)
        code, said = self.report()
        assert code == 2
        assert "is a link or leads out of" in said
        assert not list(Path("elsewhere").rglob("report.html"))

    @pytest.mark.parametrize("place", ["..", ".", "", "groups/.."])
    def test_no_table_leads_out(self, folder: Path, place: str) -> None:
        table = pd.read_csv(folder / "groups.csv")
        table.loc[1, "folder"] = place
        table.to_csv(folder / "groups.csv", index=False)
        code, said = self.report()
        assert code == 2
        assert len(said.splitlines()) == 1


class TestSharedPeople:
    """The same people before and after are no independent samples."""

    def table(self) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.standard_normal((120, 3)), columns=["a", "b", "c"])
        return frame.assign(
            visit=["before"] * 60 + ["after"] * 60, person=[f"p{k % 60}" for k in range(120)]
        )

    def test_are_told(self) -> None:
        frame = self.table()
        (note,) = shared_labels(frame, "visit", ["a", "b", "c"])
        assert note.startswith("60 of 60 values of 'person' occur in several levels of 'visit'.")
        numbers = frame.assign(person=[100 + 7 * k % 60 for k in range(120)])
        assert len(shared_labels(numbers, "visit", ["a", "b", "c"])) == 1

    def test_different_people_few_texts_and_variables_are_not(self) -> None:
        frame = self.table()
        assert shared_labels(frame.assign(person=range(120)), "visit", ["a", "b", "c"]) == ()
        towns = frame.assign(person=["york", "bath"] * 60)
        assert shared_labels(towns, "visit", ["a", "b", "c"]) == ()
        assert shared_labels(frame, "visit", ["a", "b", "c", "person"]) == ()

    def test_stand_on_the_page(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        self.table().assign(g=rng.exponential(size=120), d=rng.standard_normal(120)).to_csv(
            tmp_path / "x.csv", index=False
        )
        options = [
            "--confounder",
            "g",
            "--group-by",
            "visit",
            "--criterion",
            "bic",
            "--stability",
            "0",
        ]
        place = tmp_path / "out"
        done = CliRunner().invoke(
            commands, ["fit", str(tmp_path / "x.csv"), *options, "--output", str(place)]
        )
        assert done.exit_code == 0, done.output
        for name in ("report.html", "summary.txt"):
            text = " ".join((place / name).read_text(encoding="utf-8").split())
            assert "60 of 60 values of" in text
