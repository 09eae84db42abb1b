"""Age, sites, time, groups: is the network that the reference names recovered, and are its tests valid?

    python benchmarks/confounder_kinds.py --seeds 8000:8010
    python benchmarks/confounder_kinds.py --seeds 8000:8010 --only age

Every data set is one line of a file in ``build/kinds``; lines that are there are not computed again. In
every design Omega(g) = Omega0 + R(g) with sparse Omega0, and R is dense and zero on average over the
samples, or at the value that is the reference.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm import PLAGGMCV
from plaggm.core.spline.anchored_terms import anchored_spline
from plaggm.metrics import best_path_auc
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

Array = np.ndarray[Any, Any]
Draw = np.random.Generator
CACHE = Path(__file__).parent.parent / "build" / "kinds"
# Spectral radii of Omega0 and of R: together below one, so that all precision matrices are positive
# definite.
NETWORK, NUISANCE = 0.3, 0.6
DENSITY = 0.25
RATES = (0.05, 0.1)


@dataclass(frozen=True)
class Sample:
    """Data with their truth: which pairs are edges of the network that the reference names."""

    x: Array
    confounder: pd.DataFrame
    support: Array
    reference: Any = "auto"
    groups: Array | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def sparse_network(draw: Draw, p: int) -> Array:
    """A random symmetric matrix with a fifth of its pairs, of spectral radius NETWORK."""
    found = np.triu(draw.random((p, p)) < DENSITY, 1) * draw.choice([-1.0, 1.0], (p, p))
    found = (found + found.T) * 1.0
    return found * NETWORK / max(np.abs(np.linalg.eigvalsh(found)).max(), 1e-12)


def dense(draw: Draw, p: int, count: int = 1) -> Array:
    """Dense symmetric matrices of spectral radius NUISANCE: shape (count, p, p)."""
    found = draw.standard_normal((count, p, p))
    found = found + found.transpose(0, 2, 1)
    found[:, np.arange(p), np.arange(p)] = 0.0
    radius = np.abs(np.linalg.eigvalsh(found)).max(axis=1)
    return found * (NUISANCE / radius)[:, None, None]


def rows(draw: Draw, omega: Array, shift: Array, spread: Array) -> Array:
    """One row from each network (n, p, p), its mean and its standard deviation moved by the confounder."""
    root = np.linalg.cholesky(np.linalg.inv(np.eye(omega.shape[1]) - omega))
    z = np.einsum("nij,nj->ni", root, draw.standard_normal(omega.shape[:2]))
    return z * spread[:, None] + shift


def along(draw: Draw, n: int, p: int, g: Array, f: Array, **kinds: Any) -> Sample:
    """Rows whose network moves by f(g) times a dense matrix; means and variances move with g as well."""
    network = sparse_network(draw, p)
    place = (g - g.mean()) / g.std()
    omega = network + f[:, None, None] * dense(draw, p)
    shift = place[:, None] * draw.standard_normal(p) * 0.4
    x = rows(draw, omega, shift, np.exp(kinds.pop("noise", 0.1) * place))
    name = kinds.pop("name", "age")
    return Sample(x, pd.DataFrame({name: g}), network != 0.0, **kinds)


def centred(f: Array) -> Array:
    """A function with mean zero over the samples and largest size one."""
    f = f - f.mean()
    return f / np.abs(f).max()


def age(draw: Draw, n: int) -> Array:
    return draw.uniform(18.0, 80.0, n)


def age_linear(draw: Draw, n: int, p: int) -> Sample:
    g = age(draw, n)
    return along(draw, n, p, g, centred(g))


def age_u(draw: Draw, n: int, p: int) -> Sample:
    g = age(draw, n)
    return along(draw, n, p, g, centred((g - 49.0) ** 2))


def age_noise(draw: Draw, n: int, p: int) -> Sample:
    g = age(draw, n)
    return along(draw, n, p, g, 0.0 * g, noise=0.6)


def age_at_40(draw: Draw, n: int, p: int) -> Sample:
    g = age(draw, n)
    return along(draw, n, p, g, (g - 40.0) / 40.0, reference={"age": 40.0})


def trend(draw: Draw, n: int, p: int) -> Sample:
    g = np.arange(float(n))
    return along(draw, n, p, g, centred(np.tanh((g - n / 2) / (n / 8))), name="day")


def sites(draw: Draw, n: int, p: int, share: Array) -> Sample:
    network = sparse_network(draw, p)
    levels = draw.choice(len(share), n, p=share)
    own = dense(draw, p, len(share))
    counts = np.bincount(levels, minlength=len(share))
    own = own - np.tensordot(counts / n, own, axes=1)
    own *= NUISANCE / np.abs(np.linalg.eigvalsh(own)).max()
    shift = draw.standard_normal((len(share), p))[levels] * 0.5
    spread = np.exp(0.2 * draw.standard_normal(len(share)))[levels]
    x = rows(draw, network + own[levels], shift, spread)
    names = np.array([f"site {k}" for k in range(len(share))], dtype=object)
    return Sample(x, pd.DataFrame({"site": names[levels]}), network != 0.0)


def even_sites(count: int) -> Callable[[Draw, int, int], Sample]:
    return lambda draw, n, p: sites(draw, n, p, np.full(count, 1.0 / count))


def rare_sites(draw: Draw, n: int, p: int) -> Sample:
    share = 0.85 ** np.arange(30.0)
    return sites(draw, n, p, share / share.sum())


def age_sex_site(draw: Draw, n: int, p: int) -> Sample:
    network, g = sparse_network(draw, p), age(draw, n)
    sex, site = draw.integers(0, 2, n), draw.integers(0, 6, n)
    parts = centred(g)[:, None, None] * dense(draw, p) + centred(1.0 * sex)[:, None, None] * dense(
        draw, p
    )
    own = dense(draw, p, 6)
    own = own - np.tensordot(np.bincount(site, minlength=6) / n, own, axes=1)
    omega = network + (parts + own[site]) / 3.0
    shift = 0.3 * (
        centred(g)[:, None] * draw.standard_normal(p)
        + sex[:, None] * draw.standard_normal(p)
        + draw.standard_normal((6, p))[site]
    )
    x = rows(draw, omega, shift, np.ones(n))
    frame = pd.DataFrame(
        {
            "age": g,
            "sex": np.array(["f", "m"], dtype=object)[sex],
            "site": np.array(list("abcdef"), dtype=object)[site],
        }
    )
    return Sample(x, frame, network != 0.0)


def subjects(draw: Draw, n: int, p: int) -> Sample:
    """Forty people with n / 40 rows each and networks of their own; the confounder is a person's."""
    people = np.repeat(np.arange(40), n // 40)
    found = along(draw, len(people), p, age(draw, 40)[people], centred(age(draw, 40))[people] * 0.0)
    own = 0.15 * dense(draw, p, 40) / NUISANCE
    own -= own.mean(axis=0)
    g = found.confounder["age"].to_numpy()
    network = sparse_network(draw, p)
    omega = network + own[people] + 0.6 * centred(g)[:, None, None] * dense(draw, p)
    x = rows(draw, omega, draw.standard_normal((40, p))[people] * 0.3, np.ones(len(people)))
    return Sample(x, pd.DataFrame({"age": g}), network != 0.0, groups=people)


DESIGNS: dict[str, tuple[Callable[[Draw, int, int], Sample], int, int]] = {
    "age, linear": (age_linear, 500, 15),
    "age, U-shaped": (age_u, 500, 15),
    "age, variance only": (age_noise, 500, 15),
    "age at 40": (age_at_40, 500, 15),
    "time trend": (trend, 500, 15),
    "2 sites": (even_sites(2), 500, 15),
    "8 sites": (even_sites(8), 500, 15),
    "30 sites, some rare": (rare_sites, 1000, 15),
    "age, sex and site": (age_sex_site, 800, 15),
    "age of 40 subjects": (subjects, 4000, 15),
}


def numbers(sample: Sample) -> Array:
    """Splines of numbers and indicators of levels, as LR-GGM and CON-GGM are given them."""
    columns = []
    for name in sample.confounder:
        column = sample.confounder[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy()[:, None]
            columns.append(anchored_spline(values, 0, 4, 3).evaluate(values))
        else:
            columns.append(pd.get_dummies(column).to_numpy(dtype=float)[:, 1:])
    return np.hstack(columns)


def within_levels(sample: Sample) -> Array:
    """Rows centred and scaled within the levels of all factors."""
    levels = [
        name
        for name in sample.confounder
        if not pd.api.types.is_numeric_dtype(sample.confounder[name])
    ]
    frame = pd.DataFrame(sample.x)
    grouped = frame.groupby([sample.confounder[name] for name in levels])
    return ((frame - grouped.transform("mean")) / grouped.transform("std").fillna(1.0)).to_numpy()


def judge(sample: Sample, alphas: int) -> dict[str, float]:
    """Recovery of the network by every method, and whether the tests of the spline hold."""
    p = sample.x.shape[1]
    pairs = sample.support[np.triu_indices(p, 1)]
    common: dict[str, Any] = dict(alphas=alphas, cv=5)
    model = PLAGGMCV(reference=sample.reference, **common)
    model.fit(sample.x, confounder=sample.confounder, groups=sample.groups)
    tests = model.inference()
    found: dict[str, float] = {"spline": best_path_auc(model.omega_path_, sample.support)}
    p_value, q_value = tests["p_value"].to_numpy(), tests["q_value"].to_numpy()
    found["null"] = float(np.mean(p_value[~pairs] < 0.05))
    for rate in RATES:
        declared = q_value <= rate
        found[f"fdp {rate}"] = float(np.sum(declared & ~pairs) / max(declared.sum(), 1))
        found[f"power {rate}"] = float(np.mean(declared[pairs]))
    found["R"] = model.confounding_test().p_value
    fast: dict[str, Any] = dict(loss="pseudo", **common)
    rivals = {
        "pooled": (GGM(**fast), sample.x, None),
        "LR": (LRGGM(**fast), sample.x, numbers(sample)),
        "CON": (ConGGM(**fast), sample.x, sample.confounder),
    }
    if not all(map(pd.api.types.is_numeric_dtype, sample.confounder.dtypes)):
        rivals["within"] = (GGM(**fast), within_levels(sample), None)
    if isinstance(sample.reference, dict):
        value = sample.confounder.to_numpy() - next(iter(sample.reference.values()))
        rivals["TV"] = (TVGGM(**fast), sample.x, value)
    for name, (method, x, confounder) in rivals.items():
        try:
            method.fit(x, confounder=confounder)
            found[name] = best_path_auc(method.omega_path_, sample.support)
        except ValueError:
            found[name] = float("nan")
    return found


def kept(name: str, seed: int, alphas: int) -> dict[str, float]:
    """A result of the cache, or a new one."""
    path = CACHE / f"{name.replace(' ', '_')}.jsonl"
    if path.exists():
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["seed"] == seed:
                return entry["found"]
    make, n, p = DESIGNS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = judge(make(np.random.default_rng(seed), n, p), alphas)
    CACHE.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({"seed": seed, "found": found}) + "\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="8000:8010")
    parser.add_argument("--alphas", type=int, default=30)
    parser.add_argument("--only", default="", help="part of the name of a design")
    given = parser.parse_args()
    for name in DESIGNS:
        if given.only not in name:
            continue
        results = [
            kept(name, seed, given.alphas) for seed in range(*map(int, given.seeds.split(":")))
        ]
        frame = pd.DataFrame(results)
        frame["R"] = frame["R"] < 0.05
        told = " | ".join(f"{key} {value:.3f}" for key, value in frame.mean().items())
        print(f"{name} ({len(frame)}): {told}", flush=True)


if __name__ == "__main__":
    main()
