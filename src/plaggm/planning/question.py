"""Assumptions for planning a study, and data simulated under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.arguments import check_count
from plaggm.array_types import Array
from plaggm.core.numerics.threads import single_threaded_blas
from plaggm.simulate import Nuisance, Response, Simulated
from plaggm.simulate.graphs import draw_support, draw_weights
from plaggm.simulate.sampling import sample_rows
from plaggm.simulate.validate import check_choice, check_range
from plaggm.wording import shown

# Typical change of an affected partial correlation where the confounder is largest.
STRENGTHS = {"none": 0.0, "weak": 0.05, "moderate": 0.1, "strong": 0.15}
THRESHOLDS = ("auto", "known")
# Default mean numbers of edges and of affected pairs of a variable.
NEIGHBOURS, AFFECTED_PAIRS = 3.0, 6.0
# Largest default shares of edges and of affected pairs, for few variables.
MOST_DENSITY, MOST_AFFECTED = 0.3, 0.6
# Sizes of edges are spread evenly from two thirds to four thirds of the mean: `draw_weights` over its mean.
MEAN_WEIGHT = 0.75
SMALLEST_EDGE, LARGEST_EDGE = 2.0 / 3.0, 4.0 / 3.0
# The confounder in units of g* is uniform on [0, 1] or on [1, LARGEST].
LARGEST = 4.0
# Largest eigenvalue of Ω(g), so that precision matrices are not nearly singular.
LARGEST_EIGENVALUE = 0.95
# Number of networks that are drawn to check whether they are possible.
TRIED = 25


@dataclass(frozen=True, slots=True)
class Question:
    """Assumptions behind a plan.

    Attributes
    ----------
    p : int
        Variables.
    clean : float in (0, 1]
        Share of the samples without confounding.
    strength : float
        Mean absolute change of an affected partial correlation where the confounder is largest.
    affected : float in [0, 1]
        Share of the pairs that the confounder affects.
    edge : float
        Mean absolute partial correlation of the edges; they range from two thirds to four thirds of it.
    density : float in (0, 1]
        Share of the pairs that are edges.
    fdr : float
        False discovery rate at which edges are declared.
    threshold : {"auto", "known"}
        Whether the fit chooses the threshold of the confounder, or is given the true one.
    """

    p: int
    clean: float
    strength: float
    affected: float
    edge: float
    density: float
    fdr: float
    threshold: str


def ask(
    p: int,
    *,
    clean: float,
    strength: float | str,
    affected: float | None,
    edge: float,
    density: float | None,
    fdr: float,
    threshold: str,
) -> Question:
    """The assumptions of a plan, checked and complete; see :func:`plaggm.plan_study`."""
    check_count("p", p, 3)
    check_range("clean", clean, 0.0, 1.0, low_open=True, high_open=False)
    check_range("edge", edge, 0.0, 1.0, low_open=True)
    check_range("fdr", fdr, 0.0, 1.0, low_open=True)
    check_choice("threshold", threshold, THRESHOLDS)
    if density is None:
        density = min(MOST_DENSITY, NEIGHBOURS / (p - 1))
    if affected is None:
        affected = min(MOST_AFFECTED, AFFECTED_PAIRS / (p - 1))
    check_range("density", density, 0.0, 1.0, low_open=True, high_open=False)
    check_range("affected", affected, 0.0, 1.0, high_open=False)
    return Question(
        int(p),
        float(clean),
        strength_of(strength),
        float(affected),
        float(edge),
        float(density),
        float(fdr),
        threshold,
    )


def strength_of(given: float | str) -> float:
    """The strength of confounding as a number, from a word or a number.

    Examples
    --------
    >>> strength_of("weak"), strength_of(0.08)
    (0.05, 0.08)
    """
    if isinstance(given, str):
        if given not in STRENGTHS:
            words = ", ".join(map(repr, STRENGTHS))
            raise ValueError(f"strength must be one of {words} or a number; got {shown(given)}.")
        return STRENGTHS[given]
    check_range("strength", given, 0.0, 1.0)
    return float(given)


def draw_study(question: Question, n: int, seed: np.random.SeedSequence) -> Simulated:
    r"""Draw n samples that follow the assumptions; the first k rows are a study of k samples.

    Ω0 is an Erdős–Rényi network, :math:`R(g) = f(g) W` with W on Erdős–Rényi pairs of its own, and f rises
    from zero at g\* = 1 to one at g = 4, levelling off. Networks that are not positive definite are drawn
    again.

    Parameters
    ----------
    question : Question
    n : int
        Samples.
    seed : SeedSequence
    """
    networks, confounders, noise = (np.random.default_rng(one) for one in seed.spawn(3))
    omega, weights = draw_networks(question, networks)
    inside = confounders.random(n) < question.clean
    position = confounders.random(n)
    confounder = np.where(inside, position, 1.0 + (LARGEST - 1.0) * position)
    top = np.array([LARGEST])
    response = Response.over(
        top[:, None], shape="saturating", threshold=np.ones(1), even=True, printed=False
    )
    nuisance = Nuisance(weights[None] / response.peak, response, np.zeros((1, question.p)), 0.0)
    return Simulated(
        x=sample_rows(lambda rows: omega + nuisance(confounder[rows]), n, question.p, noise),
        confounder=confounder,
        omega=omega,
        support=omega != 0.0,
        threshold=1.0,
        nuisance=nuisance,
        settings={},
    )


@single_threaded_blas()
def check_possible(question: Question, seed: int) -> None:
    """Raise unless at least half of the networks under the assumptions are positive definite.

    Otherwise those that are positive definite would have fewer edges than assumed.

    Raises
    ------
    ValueError
        With the sizes of edges that would be possible.
    """
    rng = np.random.default_rng(seed)
    largest = [_largest_eigenvalue(*_draw_pair(question, rng)) for _ in range(TRIED)]
    middle = float(np.median(largest))
    if middle == 0.0:
        raise ValueError(
            f"density={question.density:g} leaves {question.p} variables without edges; raise it."
        )
    if middle <= LARGEST_EIGENVALUE:
        return
    factor = LARGEST_EIGENVALUE / middle
    told = f", strength={question.strength:g}" if question.strength else ""
    instead = f" and strength={factor * question.strength:.2g}" if question.strength else ""
    raise ValueError(
        f"Most networks of {question.p} variables with edge={question.edge:g} at density="
        f"{question.density:.3g}{told} are impossible: correlations would exceed one. Possible would be "
        f"edge={factor * question.edge:.2g}{instead}, or a lower density or share of affected pairs."
    )


@single_threaded_blas()
def draw_networks(question: Question, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw Ω0 with at least one edge, and W, so that Ω0 + f W is possible for f in [0, 1]."""
    while True:
        omega, weights = _draw_pair(question, rng)
        if np.any(omega) and _largest_eigenvalue(omega, weights) <= LARGEST_EIGENVALUE:
            return omega, weights


def _draw_pair(question: Question, rng: np.random.Generator) -> tuple[Array, Array]:
    return (
        _draw_matrix(question.p, question.density, question.edge, rng),
        _draw_matrix(question.p, question.affected, question.strength, rng),
    )


def _largest_eigenvalue(omega: Array, weights: Array) -> float:
    """Largest eigenvalue of Ω0 + f W over f in [0, 1], in which it is convex; zero without edges."""
    if not np.any(omega):
        return 0.0
    return float(np.linalg.eigvalsh(np.stack([omega, omega + weights])).max())


def _draw_matrix(p: int, share: float, size: float, rng: np.random.Generator) -> Array:
    """Symmetric matrix with a share of non-zero pairs of random sign and given mean size."""
    return draw_weights(draw_support("erdos-renyi", p, share, rng), rng) * (size / MEAN_WEIGHT)
