"""Every option of every command with values that nobody expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from fuzz.areas.text_tables import sound_lines
from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.values import choice

# No shell can pass a zero byte.
VALUES = (
    *("0", "1", "2", "-1", "-0.5", "0.5", "nan", "inf", "-inf", "1e308", "1e-320", "1e400", "1,2"),
    *("nan,1", "0x10", "１", "true", "None", "x", "auto", "g", "v0", "v*", "*", "[", "g,v0", ","),
    *("cv", "site", "t.csv", "absent.csv", ".", "..", "/", "-", "--", "--help", "$HOME", "~"),
    *("<b>", "=1", "/dev/null", "/proc/self/mem", "/root/x", "taken", "taken/file.txt", "t.csv/x"),
    *("", " ", "a\nb", "ü😀", "9" * 400, "x" * 300),
)
# Where a sound command would take minutes, it is pointed at a file instead of a folder.
REFUSED = "--output taken/file.txt"
SOUND = {
    "fit": "fit t.csv --confounder g --exclude site --stability 0 --criterion bic --jobs 1 --output out",
    "check": "check t.csv --confounder g",
    "compare": "compare t.csv --confounder g --exclude site --methods lr-ggm,pooled --quick --resamples 0 "
    "--output out",
    "simulate paper": "simulate paper --variables 3 --samples 40 --output out",
    "simulate study": "simulate study --variables 3 --subjects 2 --times 20 --output out",
    "report": "report result",
    "demo": f"demo {REFUSED}",
    "study": "study t.csv --group site --confounder fd --output out --jobs 1",
    "reproduce recovery": f"reproduce recovery --quick {REFUSED}",
    "reproduce rates": f"reproduce rates --quick {REFUSED}",
    "reproduce connectivity": f"reproduce connectivity --quick {REFUSED}",
    "reproduce diagnosis": f"reproduce diagnosis --quick {REFUSED}",
    "completion": "completion bash",
}
OFTEN = ("fit", "fit", "fit", "compare", "simulate paper", "simulate study", "report", "study")
# Addresses, which are waited for, and what is drawn by itself.
LEFT_OUT = ("--scheduler", "--output", "--help")
# Repetitions, whose number a user may well choose to be large.
COUNTS = (
    *("--stability", "--resamples", "--variables", "--samples", "--subjects", "--times"),
    *("--confounders", "--permutations", "--repeats", "--label-permutations", "--jobs"),
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A command with one or two odd options."""
    rows = [",".join(row) for row in sound_lines(rng, 40)]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    (folder / "taken").mkdir()
    (folder / "taken" / "file.txt").write_text("mine")
    name = choice(rng, (*SOUND, *OFTEN))
    arguments = SOUND[name].split()
    if name == "report":
        _write_result(folder / "result", rng)
    options = _options(name)
    for _ in range(int(rng.integers(1, 3))):
        if not options:
            break
        option = choice(rng, options)
        arguments.append(option.opts[0])
        if not option.is_flag:
            arguments.append(_value(rng, option))
    if rng.random() < 0.1:
        arguments[1:2] = [choice(rng, VALUES)]
    if rng.random() < 0.1 and name not in ("demo",) and "reproduce" not in name:
        arguments += ["--output", choice(rng, VALUES)] if name != "report" else []
    return command_case(arguments, check=result_check(folder / "out"), quoted=(str(folder),))


def _value(rng: np.random.Generator, option: Any) -> str:
    if isinstance(option.type, click.Choice) and rng.random() < 0.6:
        return str(choice(rng, option.type.choices))
    while True:
        value = choice(rng, VALUES)
        if option.opts[0] not in COUNTS or len(value) < 4 or not value.isdecimal():
            return value


def _options(name: str) -> list[Any]:
    from plaggm.cli.group import commands

    command: Any = commands
    for word in name.split():
        command = command.get_command(click.Context(command), word)
    return [
        option
        for option in command.params
        if isinstance(option, click.Option) and option.opts[0] not in LEFT_OUT
    ]


def _write_result(folder: Path, rng: np.random.Generator) -> None:
    from fuzz.areas.estimators import sound_model

    sound_model(rng)[0].to_result().save(folder)
