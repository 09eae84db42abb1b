"""The plan of the recovery experiment: designs, methods and numbers of seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plaggm.parameter_types import LossName
from plaggm.simulate.confounding import PAPER_THRESHOLD

# First of the seeds that are reported; nothing was settled on these data sets.
FIRST_SEED = 2000
# Kernel estimators converge slowly at the smallest penalties; their gap is in the table.
KERNEL_SWEEPS = 200


@dataclass(frozen=True, slots=True)
class Design:
    """A reading of the paper's simulation.

    Attributes
    ----------
    name, title : str
    meaning : str
        Description in a sentence.
    simulation : dict
        Arguments of :func:`plaggm.simulate.simulate_paper`.
    threshold : float
        The true g*, which entrants that are told it use.
    """

    name: str
    title: str
    meaning: str
    simulation: Mapping[str, Any] = field(default_factory=dict)
    threshold: float = PAPER_THRESHOLD


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method with its settings.

    Attributes
    ----------
    name, title : str
    method : str
        Key of :data:`plaggm.comparison.METHODS`.
    loss : {"pseudo", "glasso"}
    knows_threshold : bool
        Whether it is told the true g*; otherwise it settles g* itself, or needs none.
    seconds : float
        Usual time at p = 20 and n = 800 with ten folds.
    growth : float
        Power of p by which the time grows.
    """

    name: str
    title: str
    method: str
    loss: LossName = "pseudo"
    knows_threshold: bool = False
    seconds: float = 0.2
    growth: float = 2.0

    def usual_seconds(self, p: int, n: int) -> float:
        """Usual time of a fit, for the progress bar."""
        return self.seconds * (p / 20.0) ** self.growth * n / 800.0


DESIGNS = {
    design.name: design
    for design in (
        Design(
            "odd",
            "f odd, corrected",
            "f as in the supplement with its joints corrected: R averages to zero over the samples.",
        ),
        Design(
            "printed",
            "f as printed",
            "f evaluated exactly as the supplement prints it, with its jumps.",
            {"printed": True},
        ),
        Design(
            "even",
            "f even",
            "f(|g|) instead of f(g): the average of R over the samples is not zero.",
            {"even": True},
        ),
        Design(
            "even-wide",
            "f even, g* = 100",
            "f(|g|), and a quarter of the samples unconfounded instead of a fortieth.",
            {"even": True, "threshold": 100.0},
            100.0,
        ),
        Design(
            "even-large",
            "f even, n = 4000",
            "f(|g|) with five times as many samples on the same range of g.",
            {"even": True, "n": 4000},
        ),
        Design(
            "even-strong",
            "f even and strong, g* = 100, n = 4000",
            "f(|g|) that levels off, a quarter of the samples unconfounded, five times as many samples, "
            "and R nearly four times as strong as Ω0 (spectral radii 0.75 and 0.2).",
            {
                "even": True,
                "n": 4000,
                "threshold": 100.0,
                "shape": "saturating",
                "target_radius": 0.2,
                "nuisance_radius": 0.75,
            },
            100.0,
        ),
        Design(
            "definite",
            "W positive definite",
            'Precision matrices I − Ω0 + f(|g|) W with W positive definite, a "dense precision matrix" as '
            "the paper calls it, which need no scaling. Ω0 has spectral radius 0.9.",
            {"even": True, "nuisance": "definite", "target_radius": 0.9},
        ),
    )
}

ENTRANTS = {
    entrant.name: entrant
    for entrant in (
        Entrant("spline", "PLA-GGM, spline (default)", "spline", seconds=0.4),
        Entrant(
            "spline-known", "PLA-GGM, spline, g* known", "spline", knows_threshold=True, seconds=0.4
        ),
        Entrant(
            "literal",
            "PLA-GGM, the paper's estimator, g* known",
            "paper",
            knows_threshold=True,
            seconds=3.0,
            growth=2.5,
        ),
        Entrant(
            "literal-auto", "PLA-GGM, the paper's estimator and rule for g*", "paper", seconds=2.0
        ),
        Entrant(
            "ramp",
            "PLA-GGM, kernel with ramp, g* known",
            "kernel",
            knows_threshold=True,
            seconds=1.0,
        ),
        Entrant("ggm", "GGM, clean samples, g* known", "ggm", knows_threshold=True),
        Entrant("ggm-auto", "GGM, clean samples, g* automatic", "ggm"),
        Entrant("con", "CON-GGM", "con-ggm"),
        Entrant("lr", "LR-GGM", "lr-ggm"),
        Entrant("tv", "TV-GGM, kernel at 0", "tv-ggm"),
        Entrant("tv-average", "TV-GGM, kernel averaged", "tv-ggm-average", seconds=2.0),
        Entrant("pooled", "GGM, all samples", "pooled"),
        Entrant(
            "ggm-glasso", "GGM, clean samples, graphical lasso", "ggm", "glasso", True, 4.0, 2.5
        ),
        Entrant(
            "con-glasso", "CON-GGM, graphical lasso", "con-ggm", "glasso", seconds=1.0, growth=2.5
        ),
        Entrant(
            "lr-glasso", "LR-GGM, graphical lasso", "lr-ggm", "glasso", seconds=1.0, growth=2.5
        ),
        Entrant(
            "tv-glasso",
            "TV-GGM, kernel at 0, graphical lasso",
            "tv-ggm",
            "glasso",
            seconds=2.0,
            growth=2.5,
        ),
        Entrant(
            "tv-fused", "TV-GGM, fused bins", "tv-ggm-fused", "glasso", seconds=1.5, growth=2.5
        ),
    )
}
PSEUDO = tuple(name for name, entrant in ENTRANTS.items() if entrant.loss == "pseudo")
GLASSO = tuple(name for name, entrant in ENTRANTS.items() if entrant.loss == "glasso")


@dataclass(frozen=True, slots=True)
class Cell:
    """One fit: a design, a size, a seed and an entrant."""

    design: str
    p: int
    seed: int
    entrant: str

    @property
    def name(self) -> str:
        """Name of the file that keeps the cell."""
        return f"{self.design}-p{self.p:03d}-s{self.seed:02d}-{self.entrant}"

    def usual_seconds(self) -> float:
        """Usual duration, for the progress bar."""
        n = int(DESIGNS[self.design].simulation.get("n", 800))
        return ENTRANTS[self.entrant].usual_seconds(self.p, n)


@dataclass(frozen=True, slots=True)
class Block:
    """Cells with the same entrants: designs, and for each p how many seeds."""

    designs: tuple[str, ...]
    seeds: Mapping[int, int]
    entrants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A run of the experiment.

    Attributes
    ----------
    name : str
    blocks : tuple of Block
    folds, penalties : int
        Number of folds of the cross-validation, and of penalties on glmnet's grid.
    glasso_penalties : int
        Number of penalties of the graphical lasso, from the largest down to a fiftieth of it.
    """

    name: str
    blocks: tuple[Block, ...]
    folds: int = 10
    penalties: int = 100
    glasso_penalties: int = 30


# All of them but those that are slow where p or n is large.
USUAL = tuple(name for name in PSEUDO if name != "tv-average")

FULL = Plan(
    "full",
    (
        Block(("odd", "even", "definite"), {10: 10, 20: 10, 50: 5, 100: 3}, USUAL),
        Block(("printed", "even-wide"), {10: 5, 20: 5}, USUAL),
        Block(("even-large", "even-strong"), {10: 5, 20: 5, 50: 3}, USUAL),
        Block(("odd", "even"), {10: 5, 20: 5, 50: 3}, ("tv-average",)),
        Block(("odd", "even"), {10: 5, 20: 5, 50: 3}, GLASSO),
        Block(("odd", "even"), {100: 2}, tuple(name for name in GLASSO if name != "tv-fused")),
    ),
)
QUICK = Plan(
    "quick",
    (Block(("odd", "even"), {10: 2, 20: 2}, PSEUDO),),
    folds=5,
    penalties=30,
)


def cells_of(
    plan: Plan,
    *,
    sizes: tuple[int, ...] = (),
    entrants: tuple[str, ...] = (),
    designs: tuple[str, ...] = (),
) -> list[Cell]:
    """The cells of a plan by seed, then by p, cheap ones first: an early end leaves all sizes.

    Parameters
    ----------
    plan : Plan
    sizes : tuple of int
        Keep these p only; all if empty.
    entrants : tuple of str
        Keep these only; all if empty.
    designs : tuple of str
        Keep these only; all if empty.

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> len(cells_of(QUICK, sizes=(10,), entrants=("spline", "con")))
    8
    """
    cells = {
        Cell(design, p, seed, entrant)
        for block in plan.blocks
        for design in block.designs
        for p, count in block.seeds.items()
        for seed in range(FIRST_SEED, FIRST_SEED + count)
        for entrant in block.entrants
        if (not sizes or p in sizes)
        and (not entrants or entrant in entrants)
        and (not designs or design in designs)
    }
    return sorted(cells, key=lambda cell: (cell.seed, cell.p, cell.usual_seconds(), cell.name))
