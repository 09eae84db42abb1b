"""What a fitted model and its result are asked, with arguments that nobody expects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import impossible
from fuzz.areas.estimators import sound_model
from fuzz.case import Case
from fuzz.confounders import odd_confounder
from fuzz.tables import odd_table, rows_of, sound_table
from fuzz.values import TEXTS, choice, named, odd_value

PLACES = (
    *("out", "out.npz", "a/b/c", "", ".", "..", "/", "\x00", "x" * 300, "taken", "taken.txt", "ü"),
    *("/proc/x", "out.graphml", "out.gexf", "out.node", "out.edge", "out.xyz", "a/out.gexf"),
    *("taken/x.txt/y",),
)


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A call of one method."""
    settings = choice(rng, ({}, {}, {"smoother": "kernel"}, {"threshold": 0.3}))
    model, x, g = sound_model(rng, **settings)
    return choice(rng, _METHODS)(rng, folder, model, x, g)


def _finite(name: str) -> Callable[[Any], Any]:
    def check(found: Any) -> Any:
        for part in found if isinstance(found, tuple) else (found,):
            yield from impossible.not_finite(part, name)

    return check


def _points(rng: np.random.Generator) -> Any:
    if rng.random() < 0.5:
        return odd_value(rng)
    return choice(
        rng, (0.0, 3.0, 1e300, [0.1, 0.2], np.zeros((3, 1)), np.zeros((3, 2)), np.zeros((0, 1)))
    )


def _nuisance(rng, folder, model, x, g):
    points, std = _points(rng), choice(rng, (False, True, True, "x"))
    name = choice(rng, ("nuisance", "omega_at"))
    return Case(
        f"{model!r}.{name}({named(points)}, return_std={std!r})",
        lambda: getattr(model, name)(points, return_std=std),
        _finite(name),
        quoted=(points,),
    )


def _sample(rng, folder, model, x, g):
    n, points, seed = odd_value(rng), choice(rng, (None, 0.5, _points(rng))), odd_value(rng)
    if isinstance(n, int | np.integer) and n > 10_000:
        n = 5
    return Case(
        f"{model!r}.sample({named(n)}, confounder={named(points)}, random_state={named(seed)})",
        lambda: model.sample(n, confounder=points, random_state=seed),
        _finite("sample"),
        quoted=(n, points, seed),
    )


def _score(rng, folder, model, x, g):
    table, said = (x, "as fitted") if rng.random() < 0.4 else odd_table(rng)
    n = rows_of(table)
    values, about = (g, "as fitted") if rng.random() < 0.3 else odd_confounder(rng, n)
    weight = choice(
        rng, (None, None, np.ones(n), np.zeros(n), -np.ones(n), "x", [np.nan] * n, [1e308] * n)
    )
    return Case(
        f"{model!r}.score(X {said}; confounder {about}; sample_weight {named(weight)})",
        lambda: model.score(table, confounder=values, sample_weight=weight),
        _finite("score"),
        quoted=(weight,),
    )


def _bootstrap(rng, folder, model, x, g):
    groups = choice(rng, (None, np.arange(60) // 6, np.arange(60) // 30, np.arange(60)))
    model.fit(x, confounder=g, groups=groups)
    times, seed = odd_value(rng), odd_value(rng)
    if isinstance(times, int) and times > 100:
        times = 5

    def check(found: Any) -> Any:
        yield from impossible.in_stability(model.edge_stability_)

    return Case(
        f"{model!r}.bootstrap({named(times)}, random_state={named(seed)})",
        lambda: model.bootstrap(times, random_state=seed),
        check,
        quoted=(times, seed),
    )


def _save(rng, folder, model, x, g):
    from plaggm import read_result

    (folder / "taken").mkdir()
    (folder / "taken" / "x.txt").write_text("mine")
    (folder / "taken.txt").write_text("mine")
    place, overwrite = choice(rng, PLACES), bool(rng.random() < 0.3)
    if place == "/":
        overwrite = False
    result = model.to_result()
    if rng.random() < 0.5:
        coordinates = choice(rng, (None, None, odd_value(rng), np.zeros((4, 3))))
        return Case(
            f"result.export({place!r}, coordinates={named(coordinates)})",
            lambda: result.export(place, coordinates=coordinates),
            quoted=(place, coordinates),
        )
    names = ("names", "omega", "location", "scale", "alpha", "threshold", "nuisance")
    return Case(
        f"result.save({place!r}, overwrite={overwrite})",
        lambda: read_result(result.save(place, overwrite=overwrite)),
        lambda again: impossible.differences(result, again, names),
        quoted=(place,),
    )


def _design(rng, folder, model, x, g):
    values, said = odd_confounder(rng, 40)
    given = {"n_features": choice(rng, (4, 4, odd_value(rng)))}
    if rng.random() < 0.5:
        given["n_samples"] = odd_value(rng)
    if rng.random() < 0.5:
        given["confounder_range"] = choice(
            rng, ((-9, 9), (9, -9), (0.0,), "x", (np.nan, 1.0), odd_value(rng), ([-9], [9]))
        )
    words = ", ".join(f"{name}={named(value)}" for name, value in given.items())
    return Case(
        f"{model!r}.make_design(confounder {said}, {words})",
        lambda: model.make_design(values, **given),
        quoted=tuple(given.values()),
    )


def _names(rng, folder, model, x, g):
    """Odd names of variables and confounders, saved, read again and exported."""
    import pandas as pd

    from plaggm import PLAGGM, read_result

    names = [choice(rng, TEXTS) for _ in range(4)]
    frame = pd.DataFrame(sound_table(rng), columns=names)
    series = pd.Series(g, name=choice(rng, TEXTS))

    def call() -> Any:
        result = PLAGGM(0.05, n_jobs=1).fit(frame, confounder=series).to_result()
        result.export("x.graphml")
        result.export("x.gexf")
        result.export("x.node")
        return result, read_result(result.save("out"))

    return Case(
        f"fit, export, save and read with names {names!r} and confounder {series.name!r}",
        call,
        lambda pair: impossible.differences(*pair, ("names", "confounder_names", "omega")),
        quoted=(*names, series.name),
    )


_METHODS = (
    _nuisance,
    _nuisance,
    _sample,
    _score,
    _score,
    _bootstrap,
    _save,
    _save,
    _design,
    _names,
)
