"""A symmetric network with the gradients of all pairs: the state of solvers for many variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plaggm.array_types import Array
from plaggm.core.grams.factored_grams import LowRankGrams
from plaggm.core.grams.unexplained_energy import unexplained_energy
from plaggm.core.numerics.coordinate_steps import duality_gap


@dataclass(frozen=True, slots=True)
class PairProblem:
    """Quantities shared by all steps of a path; see `plaggm.core.lasso.pair_descent`.

    Attributes
    ----------
    centred : LowRankGrams
        Node Grams with the intercepts minimised out.
    curvature : ndarray of shape (p, p)
        Curvature of every pair; symmetric.
    response : ndarray of shape (p, p)
        Products of node j's response with its columns, in row j.
    floor : float
        Sum of the unexplained energies of all responses.
    null : float
        Part of the loss of the empty network that networks can explain.
    """

    centred: LowRankGrams
    curvature: Array
    response: Array
    floor: float
    null: float

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.response)


def pair_problem(centred: LowRankGrams) -> PairProblem:
    """Compute the quantities shared by all steps of a path."""
    diagonals = centred.diagonals()
    floor = float(np.sum(unexplained_energy(centred)))
    null = 0.5 * (float(np.trace(diagonals)) - floor)
    return PairProblem(centred, diagonals + diagonals.T, centred.responses(), floor, null)


@dataclass(slots=True)
class PairState:
    """A network and the gradients of all nodes at it.

    Attributes
    ----------
    omega : ndarray of shape (p, p)
        Symmetric with zero diagonal.
    gradient : ndarray of shape (p, p)
        Row j is node j's; its own entry is minus the product of response and residual.
    """

    omega: Array
    gradient: Array

    @classmethod
    def empty(cls, problem: PairProblem) -> PairState:
        """The empty network."""
        return cls(np.zeros_like(problem.response), -problem.response)

    @classmethod
    def of(cls, problem: PairProblem, omega: Array) -> PairState:
        """The state of a given network, whose diagonal is not read."""
        network = omega.copy()
        np.fill_diagonal(network, 0.0)
        state = cls(network, np.empty_like(network))
        state.refresh(problem)
        return state

    def copy(self) -> PairState:
        """A copy."""
        return PairState(self.omega.copy(), self.gradient.copy())

    def pair_gradient(self) -> Array:
        """Gradients of all pairs, zero on the diagonal: shape (p, p)."""
        slopes = self.gradient + self.gradient.T
        np.fill_diagonal(slopes, 0.0)
        return slopes

    def steepest(self) -> float:
        """Largest absolute gradient of a pair."""
        return float(np.abs(self.pair_gradient()).max(initial=0.0))

    def on_line(self, before: PairState, ratio: float) -> PairState:
        """The point on the line from an earlier state through this one; gradients are affine."""
        return PairState(
            self.omega + ratio * (self.omega - before.omega),
            self.gradient + ratio * (self.gradient - before.gradient),
        )

    def objective(self, level: float) -> float:
        """The objective of the lasso, from the network and its gradients."""
        loss = 0.5 * (np.vdot(self.omega, self.gradient) - np.trace(self.gradient))
        return float(loss + 0.5 * level * np.abs(self.omega).sum())

    def gap(self, problem: PairProblem, level: float) -> float:
        """Duality gap at a penalty."""
        slopes = self.pair_gradient()
        if level == 0.0:
            # Only zero is dual feasible: the sum of the gains of exact steps of all pairs instead.
            curved = problem.curvature > 0.0
            return 0.25 * float(np.sum(slopes[curved] ** 2 / problem.curvature[curved]))
        own = -float(np.trace(self.gradient)) - problem.floor
        energy = own + float(np.vdot(self.omega, self.gradient))
        penalty = 0.5 * level * float(np.abs(self.omega).sum())
        return duality_gap(own, energy, penalty, float(np.abs(slopes).max(initial=0.0)), level)

    def refresh(self, problem: PairProblem) -> None:
        """Recompute the gradients from the network."""
        signed = self.omega.copy()
        np.fill_diagonal(signed, -1.0)
        self.gradient = problem.centred.products(signed)
