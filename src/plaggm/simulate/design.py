"""Graph, nuisance and confounder of simulations of one table."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plaggm.arguments import check_count

from .confounding import (
    CONFOUNDERS,
    SHAPES,
    Nuisance,
    build_nuisance,
    definite_nuisance,
    draw_confounder,
)
from .graphs import (
    GRAPHS,
    NUISANCES,
    draw_nuisance,
    draw_precision,
    draw_support,
    draw_weights,
    scale_factor,
)
from .validate import (
    SeedLike,
    check_choice,
    check_confounder,
    check_flag,
    check_radii,
    check_range,
    check_threshold,
    random_streams,
)

# Kind of positive definite W, which needs no scaling.
DEFINITE = "definite"


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Network, nuisance and confounder of a simulation.

    Attributes
    ----------
    omega : ndarray of shape (p, p)
        Ω0, scaled to its spectral radius.
    nuisance : Nuisance
    confounder : ndarray of shape (n,) or (n, m)
        Confounders as returned to the user.
    columns : ndarray of shape (n, m)
        Confounders with one column for each.
    thresholds : ndarray of shape (m,)
    noise : Generator
        Random generator of the variables.
    settings : dict
        All arguments, and the factors of Ω0 and W.
    """

    omega: np.ndarray
    nuisance: Nuisance
    confounder: np.ndarray
    columns: np.ndarray
    thresholds: np.ndarray
    noise: np.random.Generator
    settings: dict[str, Any]

    @property
    def threshold(self) -> float | np.ndarray:
        """The threshold g*: a number for one confounder, an array for several."""
        return float(self.thresholds[0]) if self.confounder.ndim == 1 else self.thresholds


def draw_design(
    p: int,
    n: int,
    *,
    seed: SeedLike,
    even: bool,
    printed: bool,
    threshold: float | ArrayLike,
    density: float,
    graph: str,
    shape: str,
    nuisance: str,
    nuisance_density: float | None,
    confounder: str | ArrayLike,
    target_radius: float,
    nuisance_radius: float,
    mean_shift: float,
    variance_inflation: float,
) -> Design:
    """Draw graph, nuisance and confounder; see :func:`plaggm.simulate.simulate_paper` for the arguments."""
    check_count("p", p, 2)
    check_range("density", density, 0.0, 1.0, high_open=False)
    check_choice("graph", graph, GRAPHS)
    check_choice("shape", shape, SHAPES)
    check_choice("nuisance", nuisance, (*NUISANCES, DEFINITE))
    check_nuisance_density(nuisance_density, nuisance)
    if nuisance == DEFINITE:
        check_radii(target_radius=target_radius)
    else:
        check_radii(target_radius=target_radius, nuisance_radius=nuisance_radius)
    check_range("mean_shift", mean_shift, 0.0)
    check_range("variance_inflation", variance_inflation, 0.0)
    check_flag("even", even)
    check_flag("printed", printed)
    check_printed(printed, shape)

    graph_rng, nuisance_rng, confounder_rng, noise_rng = random_streams(seed, 4)
    if isinstance(confounder, str):
        check_count("n", n, 1)
        check_choice("confounder", confounder, CONFOUNDERS)
        g = draw_confounder(confounder, n, confounder_rng)
    else:
        g = check_confounder(confounder, (1, 2))
    columns = g.reshape(len(g), -1)
    n, m = columns.shape
    thresholds = check_threshold(threshold, m)

    weights = draw_weights(draw_support(graph, p, density, graph_rng), graph_rng)
    omega_scale = float(scale_factor(target_radius, weights))
    share = density if nuisance_density is None else nuisance_density
    effect: Nuisance
    if nuisance == DEFINITE:
        nuisance_scale = np.ones(m)
        effect = definite_nuisance(
            np.stack([draw_precision(p, nuisance_rng) for _ in range(m)]),
            omega_scale * weights,
            columns,
            shape=shape,
            threshold=thresholds,
            direction=mean_shift * nuisance_rng.standard_normal((m, p)),
            inflation=float(variance_inflation),
        )
    else:
        effect, nuisance_scale = build_nuisance(
            np.stack([draw_nuisance(nuisance, p, share, nuisance_rng) for _ in range(m)]),
            columns,
            shape=shape,
            threshold=thresholds,
            even=even,
            printed=printed,
            radius=nuisance_radius,
            direction=mean_shift * nuisance_rng.standard_normal((m, p)),
            inflation=float(variance_inflation),
        )
    settings: dict[str, Any] = {
        "p": p,
        "n": n,
        "seed": int(seed) if isinstance(seed, Integral) else None,
        "threshold": thresholds.tolist(),
        "even": even,
        "printed": printed,
        "density": density,
        "graph": graph,
        "shape": shape,
        "nuisance": nuisance,
        **({"nuisance_density": share} if nuisance == "sparse" else {}),
        "confounder": confounder if isinstance(confounder, str) else "given",
        "target_radius": target_radius,
        "nuisance_radius": nuisance_radius,
        "mean_shift": mean_shift,
        "variance_inflation": variance_inflation,
        "omega_scale": omega_scale,
        "nuisance_scale": nuisance_scale.tolist(),
    }
    return Design(omega_scale * weights, effect, g, columns, thresholds, noise_rng, settings)


def check_printed(printed: bool, shape: str) -> None:
    """Raise if the printed form is requested of a function that is not the paper's."""
    if printed and shape != "paper":
        raise ValueError(f"printed=True needs shape='paper'; got shape={shape!r}.")


def check_nuisance_density(share: float | None, nuisance: str) -> None:
    """Raise if a share of changing pairs is impossible, or given for a W that is not sparse."""
    if share is None:
        return
    if nuisance != "sparse":
        raise ValueError(f"nuisance_density needs nuisance='sparse'; got nuisance={nuisance!r}.")
    check_range("nuisance_density", share, 0.0, 1.0, high_open=False)
