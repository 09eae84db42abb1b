from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from plaggm import PLAGGMCV, __version__, cli, read_result
from plaggm.cli import fitting, known_network, progress
from plaggm.cli.demo import STEPS
from plaggm.cli.group import commands
from plaggm.cli.layout import ENTRIES
from plaggm.metrics import edge_auc, f1, frobenius_error

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty folder, on data small enough for a fraction of a second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(known_network, "VARIABLES", 5)
    monkeypatch.setattr(known_network, "SAMPLES", 150)
    monkeypatch.setattr(known_network, "THRESHOLD", 0.3)
    monkeypatch.setattr(known_network, "DENSITY", 0.5)
    monkeypatch.setattr(known_network, "HALVES", 3)
    monkeypatch.setattr(fitting, "PLAGGMCV", lambda **settings: PLAGGMCV(alphas=8, **settings))
    # The last test draws all pictures.
    monkeypatch.setattr(known_network, "save_figure", lambda figure, path, dpi: path.touch())
    monkeypatch.setattr(known_network, "plot_before_after", lambda *_, **__: None)
    return lambda *arguments: CliRunner().invoke(commands, ["demo", *arguments])


def everything_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def assert_refused(result: Result, *words: str) -> None:
    """Status 2 and one line on stderr with these words."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


class TestOutput:
    def test_prints_scores_and_one_conclusion(self, run: Run) -> None:
        result = run()
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
        lines = result.stdout.splitlines()
        assert lines[0].startswith("150 samples of 5 variables, 55% of them unconfounded")
        for name in ("not adjusted", "adjusted", "precision", "recall", "F1", "AUC", "error"):
            assert name in result.stdout
        assert "a false discovery rate of 5%" in result.stdout
        assert lines[-1].startswith("Adjusting for motion ")
        assert lines[-1].endswith(f"Page: {Path('plaggm-demo/report.html')}")

    def test_quiet_prints_the_conclusion_only(self, run: Run) -> None:
        loud, quiet = run("--verbose"), run("--quiet", "--force")
        assert quiet.stdout.splitlines() == loud.stdout.splitlines()[-1:]
        assert quiet.stderr == ""
        assert [line.split(" s  ")[1] for line in loud.stderr.splitlines()] == list(STEPS)

    def test_writes_what_fit_writes_and_the_truth(self, run: Run, tmp_path: Path) -> None:
        run("--output", "here/and/there")
        home = tmp_path / "here" / "and" / "there"
        written = {path.name for path in home.iterdir()}
        assert written <= {*ENTRIES, "data.csv", "scores.csv"}
        assert {"report.html", "truth.json", "unadjusted", "settings.toml", "figures"} <= written
        saved = read_result(home)
        assert saved.names == ("v1", "v2", "v3", "v4", "v5")
        assert saved.confounder_names == ("motion",)
        assert saved.stability is not None
        truth = known_network.simulate(0).omega
        scores = pd.read_csv(home / "scores.csv", index_col="fit")
        for fit, result in (
            ("adjusted", saved),
            ("not adjusted", read_result(home / "unadjusted")),
        ):
            assert scores.loc[fit, "f1"] == pytest.approx(f1(result.network, truth))
            assert scores.loc[fit, "auc"] == pytest.approx(edge_auc(result.omega, truth))
            error = frobenius_error(result.network, truth)
            assert scores.loc[fit, "frobenius_error"] == pytest.approx(error)

    def test_page_has_truth_unadjusted_and_adjusted(self, run: Run, tmp_path: Path) -> None:
        run()
        page = (tmp_path / "plaggm-demo" / "report.html").read_text(encoding="utf-8")
        assert "Truth, unadjusted and adjusted" in page
        # So few samples show nothing; the page says so.
        assert 'No sign that the network depends on <bdi class="name">motion</bdi>' in page

    def test_fit_repeats_it_from_its_folder(self, run: Run, tmp_path: Path) -> None:
        run()
        settings = str(tmp_path / "plaggm-demo" / "settings.toml")
        again = ["fit", "--config", settings, "--output", "again", "--quiet"]
        done = CliRunner().invoke(commands, again)
        assert done.exit_code == 0, done.stderr
        first, second = (read_result(tmp_path / name) for name in ("plaggm-demo", "again"))
        np.testing.assert_array_equal(first.omega, second.omega)
        np.testing.assert_array_equal(first.stability, second.stability)
        assert (tmp_path / "again" / "truth.json").exists()

    def test_seed_decides(self, run: Run, tmp_path: Path) -> None:
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            run("--output", name, "--seed", seed)
        a, b, c = (read_result(tmp_path / name).omega for name in "abc")
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)

    def test_both_fits_see_the_same_data_and_rule(self, run: Run) -> None:
        data = known_network.simulate(0)
        table = known_network.table_of(data)
        before = known_network.fit_before(table, 0)
        after = known_network.fit_after(table, 0, lambda share: None)
        assert before.confounder_names == ()
        assert after.threshold == [data.threshold]
        for name in ("edges", "fdr", "criterion", "alphas", "random_state"):
            assert before.settings[name] == after.settings[name]
        assert before.fdr == 0.05


class TestFolder:
    def test_full_folder_is_left_alone(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "plaggm-demo").mkdir()
        (tmp_path / "plaggm-demo" / "thesis.txt").write_text("mine")
        assert_refused(run(), "plaggm-demo is not empty", "--force")
        assert everything_in(tmp_path) == {"plaggm-demo/thesis.txt": b"mine"}

    def test_empty_folder_is_filled(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert run("--output", "empty").exit_code == 0
        assert (tmp_path / "empty" / "report.html").exists()
        assert not list(tmp_path.rglob(".*"))

    def test_force_replaces_its_own_files_only(self, run: Run, tmp_path: Path) -> None:
        run("--seed", "1")
        first = everything_in(tmp_path)
        (tmp_path / "plaggm-demo" / "thesis.txt").write_text("mine")
        assert run("--seed", "2", "--force").exit_code == 0
        second = everything_in(tmp_path)
        assert second.pop("plaggm-demo/thesis.txt") == b"mine"
        assert second.keys() == first.keys()
        assert second["plaggm-demo/scores.csv"] != first["plaggm-demo/scores.csv"]
        assert second["plaggm-demo/arrays.npz"] != first["plaggm-demo/arrays.npz"]

    def test_force_spares_a_folder_that_is_no_result(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "plaggm-demo" / "figures").mkdir(parents=True)
        (tmp_path / "plaggm-demo" / "figures" / "thesis.txt").write_text("mine")
        assert_refused(run("--force"), "not a plaggm result")
        assert everything_in(tmp_path) == {"plaggm-demo/figures/thesis.txt": b"mine"}

    def test_output_must_be_a_folder(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        assert_refused(run("--output", "file"), "file is a file")
        assert_refused(run("--output", "file/below"), "Cannot write to", "--output")
        assert everything_in(tmp_path) == {"file": b"mine"}

    def test_refusal_comes_before_the_work(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("mine")
        monkeypatch.setattr(known_network, "simulate", lambda seed: pytest.fail("worked first"))
        assert_refused(run("--output", "file/below"), "Cannot write to")

    def test_full_disk(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_space(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(known_network, "draw", no_space)
        assert_refused(run(), "Cannot write to plaggm-demo (No space left on device)")
        assert not list(tmp_path.iterdir())


class TestInterrupt:
    @pytest.fixture
    def interrupted(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
        """As if Ctrl-C came when all but the scores is written."""

        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        def with_interrupt(*arguments: str) -> Result:
            with monkeypatch.context() as patch:
                patch.setattr(pd.DataFrame, "to_csv", interrupt)
                return run(*arguments)

        return with_interrupt

    def test_leaves_nothing(self, interrupted: Run, tmp_path: Path) -> None:
        result = interrupted("--output", "new/folder")
        assert result.exit_code == 130
        assert result.stderr.strip() == "Interrupted."
        assert not list(tmp_path.iterdir())

    def test_leaves_the_earlier_run(self, run: Run, interrupted: Run, tmp_path: Path) -> None:
        run("--seed", "1")
        first = everything_in(tmp_path)
        assert interrupted("--force", "--seed", "2").exit_code == 130
        assert everything_in(tmp_path) == first


class TestMessages:
    @pytest.mark.parametrize("arguments", [["--sed", "1"], ["--seed", "-1"], ["--seed", "x"]])
    def test_wrong_options(self, run: Run, tmp_path: Path, arguments: list[str]) -> None:
        assert run(*arguments).exit_code == 2
        assert not list(tmp_path.iterdir())

    def test_warnings_are_lines(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        fit = known_network.fit_before

        def warn(*arguments: Any) -> Any:
            warnings.warn("The data are odd; they were used all the same.", stacklevel=1)
            return fit(*arguments)

        monkeypatch.setattr(known_network, "fit_before", warn)
        result = run()
        assert result.exit_code == 0
        expected = ["Warning: The data are odd; they were used all the same."]
        assert result.stderr.splitlines() == expected

    def test_missing_library(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("plaggm.cli.libraries.find_spec", lambda name: None)
        assert_refused(run(), "matplotlib, jinja2", "pip install 'plaggm[cli,plot]'")

    @pytest.mark.parametrize("package", ["click", "rich"])
    def test_missing_extra(
        self, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in [name for name in sys.modules if name.startswith("plaggm.cli.")]:
            monkeypatch.delitem(sys.modules, name)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(sys, "argv", ["plaggm", "demo"])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.splitlines() == [
            "The command line needs click and rich: pip install 'plaggm[cli]'"
        ]

    def test_version_and_help(self) -> None:
        assert CliRunner().invoke(commands, ["--version"]).stdout == f"plaggm {__version__}\n"
        text = CliRunner().invoke(commands, ["demo", "--help"]).stdout
        assert "Example:  plaggm demo" in text


BEFORE: dict[str, float] = dict(
    f1=0.4, frobenius_error=0.8, true_edges=6, false_edges=9, n_true_edges=7
)


class TestLesson:
    @pytest.mark.parametrize(
        ("after", "verdict", "words"),
        [
            (dict(f1=0.6, frobenius_error=0.5), "helped:", "F1 rose from 0.40 to 0.60"),
            (dict(f1=0.4, frobenius_error=0.5), "helped:", "F1 stayed at 0.40"),
            (
                dict(f1=0.3, frobenius_error=0.9),
                "did not help here:",
                "error rose from 0.80 to 0.90",
            ),
            (dict(f1=0.6, frobenius_error=0.9), "helped in part only:", "error rose"),
            (dict(f1=0.4004, true_edges=7), "made no difference:", "found rose from 6 to 7 of 7."),
        ],
    )
    def test_follows_the_numbers(self, after: dict[str, float], verdict: str, words: str) -> None:
        sentence = known_network.conclusion(BEFORE, {**BEFORE, **after})
        assert sentence.startswith(f"Adjusting for motion {verdict}")
        assert words in sentence
        assert "\n" not in sentence


class TestProgress:
    def show(self, monkeypatch: pytest.MonkeyPatch, *, terminal: bool, quiet: bool) -> str:
        screen = io.StringIO()
        monkeypatch.setattr(
            progress,
            "Console",
            lambda **_: Console(file=screen, force_terminal=terminal, width=100, color_system=None),
        )
        with progress.steps({"first": 20.0, "second": 70.0}, quiet=quiet) as begin:
            begin("first")
            begin("second")
        return screen.getvalue()

    def test_shows_step_and_time_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shown = self.show(monkeypatch, terminal=True, quiet=False)
        assert "second" in shown
        assert "0:01:30 left" in shown

    @pytest.mark.parametrize(("terminal", "quiet"), [(False, False), (True, True), (False, True)])
    def test_is_silent(self, monkeypatch: pytest.MonkeyPatch, terminal: bool, quiet: bool) -> None:
        # As before rich 14.3, whether disabled or not.
        monkeypatch.setattr(progress.Progress, "stop", lambda bar: bar.console.print())
        assert self.show(monkeypatch, terminal=terminal, quiet=quiet) == ""


@pytest.mark.pictures
def test_full_run_shows_that_adjustment_helps(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["demo", "--output", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.stderr
    # On a fresh machine matplotlib says that it looks for fonts.
    assert [line for line in done.stderr.splitlines() if "font cache" not in line] == []
    assert "Adjusting for motion helped: " in done.stdout.splitlines()[-1]
    figures = {path.name for path in (tmp_path / "demo" / "figures").iterdir()}
    assert {"truth.png", "network.svg", "before_after.png", "edge.png"} <= figures
    assert (tmp_path / "demo" / "report.html").stat().st_size > 1e5
    scores = pd.read_csv(tmp_path / "demo" / "scores.csv", index_col="fit")
    before, after = scores.loc["not adjusted"], scores.loc["adjusted"]
    assert after["f1"] > before["f1"]
    assert after["auc"] > before["auc"]
    assert after["frobenius_error"] < before["frobenius_error"]
