"""Rows that come in chunks: lists, files, streams of ``partial_fit`` and merged streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.areas.estimators import fitted_findings
from fuzz.areas.text_tables import odd_text
from fuzz.case import Case
from fuzz.confounders import odd_confounder
from fuzz.tables import odd_table, rows_of, sound_table
from fuzz.values import choice, mutated, named, odd_value


def draw(rng: np.random.Generator, folder: Path) -> Case:
    """A fit from chunks or a stream."""
    return choice(rng, (_given, _given, _file, _file, _stream, _stream, _merge))(rng, folder)


def _model(rng: np.random.Generator) -> Any:
    from plaggm import PLAGGM, PLAGGMCV

    settings: dict[str, Any] = {"n_jobs": 1}
    if rng.random() < 0.3:
        settings["variance"] = choice(rng, ("conditional", "unit", "function"))
    if rng.random() < 0.3:
        settings["threshold"] = choice(rng, (0.3, 1.0, 0.0))
    if rng.random() < 0.1:
        settings["smoother"] = "kernel"
    if rng.random() < 0.5:
        return PLAGGM(0.05, **settings)
    return PLAGGMCV(alphas=5, criterion=choice(rng, ("cv", "bic", "stars")), **settings)


def _piece(rng: np.random.Generator, p: int = 4) -> tuple[Any, Any, str]:
    """Some rows with their confounder, sound or not."""
    n = int(choice(rng, (0, 1, 2, 10, 30)))
    if rng.random() < 0.7:
        return sound_table(rng, n, p), rng.standard_normal(n), f"{n} sound rows"
    x, said = odd_table(rng)
    g, about = odd_confounder(rng, rows_of(x))
    return x, g, f"({said}; confounder {about})"


def _given(rng: np.random.Generator, folder: Path) -> Case:
    model = _model(rng)
    pieces = [(sound_table(rng, 40), rng.standard_normal(40), "40 sound rows")]
    pieces += [_piece(rng) for _ in range(int(rng.integers(0, 3)))]
    said = ", ".join(words for *_, words in pieces)
    kind = choice(rng, ("pairs", "pairs", "frames", "threes", "bare", "odd"))
    options: dict[str, Any] = {}
    chunks: list[Any] = [(x, g) for x, g, _ in pieces]
    if kind == "threes":
        chunks = [(x, g, np.arange(rows_of(x)) % 3) for x, g, _ in pieces]
    elif kind == "bare":
        chunks = [x for x, *_ in pieces]
    elif kind == "odd":
        chunks = [*chunks, odd_value(rng)]
    elif kind == "frames":
        chunks = [_framed(x, g) for x, g, _ in pieces]
        options = {"confounder": choice(rng, ("g", ["g"], "absent", odd_value(rng)))}
        if rng.random() < 0.3:
            options["variables"] = choice(rng, (["a", "b"], ["a"], ["a", "g"], odd_value(rng)))
        if rng.random() < 0.3:
            options["groups"] = choice(rng, ("a", "absent", odd_value(rng)))
    if rng.random() < 0.1:
        options["chunk_rows"] = odd_value(rng)
    order = rng.permutation(len(chunks)).tolist()
    chunks = [chunks[at] for at in order]
    words = ", ".join(f"{name}={named(value)}" for name, value in options.items())
    return Case(
        f"{model!r}.fit_chunks({kind}: {said}; order {order}; {words})",
        lambda: model.fit_chunks(chunks, **options),
        fitted_findings,
        quoted=(*options.values(), *(chunks[-1:] if kind == "odd" else [])),
    )


def _framed(x: Any, g: Any) -> Any:
    try:
        frame = pd.DataFrame(np.asarray(x, dtype=object)).infer_objects()
        frame.columns = list("abcdefghijk")[: frame.shape[1]]
        frame["g"] = g
    except (ValueError, TypeError, IndexError):
        return x
    return frame


def _file(rng: np.random.Generator, folder: Path) -> Case:
    model = _model(rng)
    kind = choice(rng, ("csv", "csv", "parquet", "folder"))
    frame = _framed(sound_table(rng, 50), rng.standard_normal(50))
    said = "sound"
    if kind == "csv":
        path = folder / choice(rng, ("t.csv", "t.tsv", "t.csv.gz", "t.xyz", "t.csv.zip"))
        data, said = odd_text(rng, "," if ".csv" in path.name else "\t")
        path.write_bytes(data)
    else:
        path = folder / "t.parquet"
        if rng.random() < 0.3:
            frame.iloc[3, 1] = choice(rng, (np.nan, np.inf, 1e300))
            said = "a bad cell"
        frame.to_parquet(path)
        if rng.random() < 0.5:
            path.write_bytes(mutated(path.read_bytes(), rng))
            said = "mutated"
        if kind == "folder":
            (folder / "parts").mkdir()
            path.rename(folder / "parts" / "1.parquet")
            path = folder / "parts"
            if rng.random() < 0.7:
                other = frame.iloc[:, int(rng.integers(0, 2)) :]
                other.to_parquet(path / "2.parquet")
                said += " and another"
    options: dict[str, Any] = {
        "confounder": choice(rng, ("g", "g", "g", None, ["g", "a"], "absent"))
    }
    if rng.random() < 0.2:
        options["groups"] = choice(rng, ("a", "b", "absent"))
    if rng.random() < 0.5:
        options["chunk_rows"] = choice(rng, (1, 7, 20, odd_value(rng)))
    target = choice(rng, (path, str(path), path, "nowhere.csv", "", "\x00.csv", "x" * 300 + ".csv"))
    words = ", ".join(f"{name}={named(value)}" for name, value in options.items())
    return Case(
        f"{model!r}.fit_chunks({named(target)} ({kind}, {said}), {words})",
        lambda: model.fit_chunks(target, **options),
        fitted_findings,
        quoted=(*options.values(), target),
    )


def _stream(rng: np.random.Generator, folder: Path) -> Case:
    model = _model(rng)
    pieces = [(sound_table(rng, 40), rng.uniform(-2.0, 2.0, 40), "40 sound rows")]
    pieces += [_piece(rng) for _ in range(int(rng.integers(0, 3)))]
    said = ", ".join(words for *_, words in pieces)
    grouped, refit = bool(rng.random() < 0.2), bool(rng.random() < 0.7)
    design = choice(rng, (None, None, "own", odd_value(rng)))
    order = rng.permutation(len(pieces)).tolist()

    def call() -> Any:
        given = design
        if design is not None and isinstance(design, str) and design == "own":
            spread = np.random.default_rng(0).standard_normal(200) * 2.0
            given = model.make_design(spread, n_features=4, confounder_range=(-9.0, 9.0))
        for number, at in enumerate(order):
            x, g, _ = pieces[at]
            groups = np.arange(rows_of(x)) % 3 if grouped else None
            last = number == len(order) - 1
            model.partial_fit(x, confounder=g, groups=groups, design=given, refit=refit or last)
            given = None
        return model

    return Case(
        f"{model!r}.partial_fit({said}; order {order}; design {named(design)}; "
        f"refit {refit}; groups {grouped})",
        call,
        fitted_findings,
        quoted=(design,),
    )


def _merge(rng: np.random.Generator, folder: Path) -> Case:
    first, second = _model(rng), choice(rng, (_model(rng), _model(rng), odd_value(rng)))
    pieces = [_piece(rng) if rng.random() < 0.3 else None for _ in range(2)]
    shared = bool(rng.random() < 0.8)

    def call() -> Any:
        spread = np.random.default_rng(0).standard_normal(200) * 2.0
        design = None
        for model, piece in zip((first, second), pieces, strict=True):
            if not hasattr(model, "partial_fit"):
                continue
            x, g = (
                (sound_table(np.random.default_rng(1), 40), spread[:40])
                if piece is None
                else piece[:2]
            )
            if design is None or not shared:
                design = model.make_design(spread, n_features=4, confounder_range=(-9.0, 9.0))
            model.partial_fit(x, confounder=g, design=design, refit=False)
        return first.merge(second)

    said = ", ".join("40 sound rows" if piece is None else piece[2] for piece in pieces)
    return Case(
        f"{first!r}.merge({named(second)}); rows {said}; same design {shared}",
        call,
        fitted_findings,
        quoted=(second,),
    )
