"""Artefacts of head motion, added to region series that are free of them.

The effects of motion on a scan are known in outline (Power et al. 2012, 2014; Satterthwaite et al. 2013): a
displacement changes the signal of all regions together and of neighbours alike, in the volume itself and
for some seconds after; the position of the head adds a slow part that is linear in the six parameters. None
of it is a partially linear model: covariances, not precision matrices, are added to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from plaggm.array_types import Array

# Displacement in mm up to which there is no artefact, and the fraction of one that remains a volume later.
HARMLESS, DECAY = 0.1, 0.5
# Spatial patterns, the distance in mm over which regions are alike in them, and the part of a pattern's
# variance that is a person's own.
PATTERNS, REACH, OWN = 6, 30.0, 0.2
# Mean displacement in mm from which on the linear part has its full size.
MUCH = 0.3
# Standard deviation of an artefact at 1 mm, in those of the signal: of all regions together, of the
# patterns, and of the drop in all regions; and of what is linear in the parameters.
TOGETHER, LOCAL, DROP, LINEAR = 0.42, 0.6, 0.3, 0.18


@dataclass(frozen=True, slots=True, eq=False)
class Artefacts:
    """How motion acts on the regions of a study.

    Attributes
    ----------
    patterns : ndarray of shape (1 + PATTERNS, p)
        A pattern common to all regions, then patterns of neighbours, in standard deviations at 1 mm.
    drop : ndarray of shape (p,)
        Mean shift at 1 mm.
    linear : ndarray of shape (6, p)
        Slopes on the standardised parameters.
    """

    patterns: Array = field(repr=False)
    drop: Array = field(repr=False)
    linear: Array = field(repr=False)

    def added(
        self, displacement: Array, parameters: Array | None, rng: np.random.Generator
    ) -> Array:
        """Artefacts of one scan.

        Parameters
        ----------
        displacement : ndarray of shape (n,)
            Framewise displacement in mm.
        parameters : ndarray of shape (n, 6), optional
        rng : Generator

        Returns
        -------
        ndarray of shape (n, p)
            In standard deviations of the regions' signals.
        """
        amount = after_effects(displacement)
        size = np.linalg.norm(self.patterns, axis=1, keepdims=True)
        other = rng.standard_normal(self.patterns.shape)
        other *= size / np.linalg.norm(other, axis=1, keepdims=True)
        own = np.sqrt(1.0 - OWN) * self.patterns + np.sqrt(OWN) * other
        states = rng.standard_normal((len(amount), len(own)))
        out = amount[:, None] * (states @ own + self.drop)
        if parameters is not None:
            spread = parameters.std(axis=0)
            moved = (parameters - parameters.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
            share = min(1.0, float(np.mean(displacement)) / MUCH)
            out = out + share * moved @ self.linear
        return np.asarray(out)


def draw_artefacts(p: int, coordinates: Array | None, rng: np.random.Generator) -> Artefacts:
    """Draw the effects of motion: a part common to all people and an individual part.

    Parameters
    ----------
    p : int
        Regions.
    coordinates : ndarray of shape (p, 3), optional
        Places of the regions in mm; without them all are equally far from each other.
    rng : Generator
    """
    alike = np.eye(p)
    if coordinates is not None:
        apart = np.linalg.norm(coordinates[:, None] - coordinates[None], axis=2)
        alike = np.exp(-0.5 * (apart / REACH) ** 2) + 1e-8 * np.eye(p)
    local = rng.standard_normal((PATTERNS, p)) @ np.linalg.cholesky(alike).T
    together = 1.0 + 0.3 * rng.standard_normal((1, p))
    patterns = np.vstack([TOGETHER * together, LOCAL / np.sqrt(PATTERNS) * local])
    drop = -DROP * (1.0 + 0.3 * rng.standard_normal(p))
    linear = LINEAR / np.sqrt(6.0) * rng.standard_normal((6, p)) @ np.linalg.cholesky(alike).T
    return Artefacts(patterns, drop, linear)


def after_effects(displacement: Array) -> Array:
    """Size of the artefact in every volume: its own displacement plus decaying effects of earlier ones.

    Examples
    --------
    >>> after_effects(np.array([0.0, 1.1, 0.0, 0.0]))
    array([0.  , 1.  , 0.5 , 0.25])
    """
    amount = np.maximum(displacement - HARMLESS, 0.0)
    for row in range(1, len(amount)):
        amount[row] = np.hypot(amount[row], DECAY * amount[row - 1])
    return amount
