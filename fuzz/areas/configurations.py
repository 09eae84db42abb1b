"""Settings files in TOML, from slightly wrong to hostile."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.areas.text_tables import sound_lines
from fuzz.case import Case
from fuzz.commands import command_case, result_check
from fuzz.values import choice, mutated

# Sound settings of plaggm fit, as they are written.
SOUND = {
    "data": '"t.csv"',
    "confounder": '["g"]',
    "exclude": '["site"]',
    "criterion": '"bic"',
    "stability": "0",
    "jobs": "1",
}
OTHERS = (
    "columns",
    "group_by",
    "threshold",
    "smoother",
    "tau",
    "missing",
    "seed",
    "sheet",
    "truth",
    "ridge",
)
VALUES = (
    *("0", "1", "-1", "3", "0.5", "-0.5", "nan", "inf", "-inf", "1e308", "true", "false", '""'),
    *('"x"', '"auto"', '"g"', '["g"]', "[]", "[[]]", "{}", "{a = 1}", "[1, 2]", '["a", 1]'),
    *("1979-05-27", "07:32:00", '"kernel"', '"cv"', '"drop"', '"reml"', '"v*"', '["v0", "v1"]'),
    *('"t.csv"', '"\\u0000"', '"../t.csv"', '"/dev/null"', f'"{"x" * 400}"', "9" * 400, "1e400"),
    *("0x10", '"""a\nb"""', "['g', 'g']", '"1e400"', '"' + "9" * 400 + '"'),
    *("[" * 2000 + "]" * 2000, "[" * 200 + "]" * 200, '"0.5, 1"', "[0.5]", "[inf]", '["nan"]'),
    *("1_000", "0.0"),
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A settings file and the command that takes it."""
    rows = [",".join(row) for row in sound_lines(rng, 40)]
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    settings = dict(SOUND)
    said = []
    for _ in range(int(rng.integers(0, 3))):
        name = choice(rng, (*SOUND, *OTHERS, *OTHERS))
        settings[name] = choice(rng, VALUES)
        said.append(f"{name} = {settings[name][:40]}")
    if rng.random() < 0.1:
        del settings[choice(rng, tuple(settings))]
    if rng.random() < 0.1:
        settings[
            choice(rng, ("Data", "group-by", "colour", '""', '"a b"', "fit.x", "confounders"))
        ] = "1"
    section = choice(
        rng, ("[fit]", "[fit]", "[fit]", "[fit]", "[fit]", "[Fit]", "[[fit]]", "", "[fit.more]")
    )
    text = "\n".join([section, *(f"{name} = {value}" for name, value in settings.items())])
    text += choice(
        rng,
        ("", "\n", '\n[run]\nsha256 = "0"\n', "\n[run]\nsha256 = 3\n", "\nrun = 3\n", "\n[fit]\n"),
    )
    data = text.encode(choice(rng, ("utf-8", "utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig")))
    if rng.random() < 0.25:
        data = mutated(data, rng, int(rng.integers(1, 3)))
        said.append("mutated")
    (folder / "s.toml").write_bytes(data)
    config = choice(rng, ("s.toml",) * 12 + ("absent.toml", ".", "", "x" * 300))
    arguments = ["fit", "--config", config, "--output", "out"]
    if rng.random() < 0.2:
        arguments += choice(
            rng, (["t.csv"], ["--stability", "0"], ["--criterion", "ebic"], ["--jobs", "1"])
        )
    return command_case(
        arguments,
        f"{section} {'; '.join(said)}",
        quoted=(config,),
        check=result_check(folder / "out"),
    )
