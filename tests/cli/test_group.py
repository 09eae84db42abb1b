from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from plaggm import __version__
from plaggm.cli.group import COMMANDS, commands

# Loading Python on a busy machine, in seconds.
PATIENCE = 300
PROGRAM = Path(sys.executable).with_name("plaggm")
HEAVY = ("numpy", "pandas", "numba", "sklearn", "matplotlib")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example(name: str) -> None:
    result = CliRunner().invoke(commands, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert f"plaggm {name}" in result.output.partition("\n")[2]


def test_list_of_commands() -> None:
    text = CliRunner().invoke(commands, ["--help"]).output
    for name, entry in COMMANDS.items():
        assert name in text
        assert entry.summary.split()[0] in text
    assert CliRunner().invoke(commands, ["nope"]).exit_code == 2


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom plaggm.cli.group import commands\n"
        "assert CliRunner().invoke(commands, ['--help']).exit_code == 0\n"
        "assert CliRunner().invoke(commands, ['fit', '--help']).exit_code == 0\n"
        f"sys.exit(', '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["plaggm", "plaggm.cli"])
def test_modules_run_as_the_command(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"plaggm {__version__}\n"), done.stderr


def test_interrupt_may_say_more(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def work() -> None:
        raise KeyboardInterrupt("Run it again to go on.")

    monkeypatch.setattr(type(commands), "get_command", lambda *_: work)
    result = CliRunner().invoke(commands, ["work"])
    assert result.exit_code == 130
    assert result.stderr == "Interrupted. Run it again to go on.\n"


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_script(self, shell: str) -> None:
        result = CliRunner().invoke(commands, ["completion", shell])
        assert result.exit_code == 0, result.output
        assert "_PLAGGM_COMPLETE" in result.output

    def complete(self, words: str, folder: Path) -> list[str]:
        """What bash would offer for the last word."""
        parts = words.split(" ")
        done = subprocess.run(
            [PROGRAM],
            env={
                "_PLAGGM_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(parts) - 1),
            },
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return [line.partition(",")[2] for line in done.stdout.split()]

    def test_commands_options_and_columns(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("wheat,motion_x,motion_y\n1,2,3\n")
        assert "fit" in self.complete("plaggm f", tmp_path)
        assert self.complete("plaggm fit --crit", tmp_path) == ["--criterion"]
        assert self.complete("plaggm fit --criterion eb", tmp_path) == ["ebic"]
        offered = self.complete("plaggm fit x.csv --confounder mo", tmp_path)
        assert offered == ["motion_x", "motion_y"]
        assert self.complete("plaggm fit nowhere.csv --confounder mo", tmp_path) == []

    def in_shell(self, *command: str, folder: Path) -> list[str]:
        """Lines that a shell prints that has plaggm on its path."""
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        (folder / "x.csv").write_text("wheat,motion_x,dvars odd\n1,2,3\n")
        path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            env={**os.environ, "PATH": path, "HOME": str(folder)},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    @pytest.mark.parametrize(("typed", "offered"), [("dv", r"dvars\ odd"), ('"dv', "dvars odd")])
    def test_bash_quotes_names(self, typed: str, offered: str, tmp_path: Path) -> None:
        code = (
            'eval "$(plaggm completion bash)"; COMP_CWORD=4; '
            f"COMP_WORDS=(plaggm fit x.csv --confounder '{typed}'); "
            "_plaggm_quoted_completion plaggm; printf '%s\\n' \"${COMPREPLY[@]}\"; complete -p plaggm"
        )
        reply, how = self.in_shell("bash", "--norc", "-c", code, folder=tmp_path)
        assert reply == offered
        assert "_plaggm_quoted_completion" in how

    def test_zsh_without_its_completion_system(self, tmp_path: Path) -> None:
        code = 'eval "$(plaggm completion zsh)"; print $_comps[plaggm]'
        assert self.in_shell("zsh", "-f", "-c", code, folder=tmp_path) == ["_plaggm_completion"]

    def test_fish(self, tmp_path: Path) -> None:
        code = 'plaggm completion fish | source; complete -C "plaggm fit x.csv --confounder mo"'
        lines = self.in_shell("fish", "--no-config", "-c", code, folder=tmp_path)
        assert [line.strip() for line in lines] == ["motion_x"]
