"""Tests of which edges of a fitted problem change with a confounder."""

from __future__ import annotations

import numpy as np

from plaggm.array_types import Array
from plaggm.core.inference.missing_information import RetainedInformation, effective_statistics
from plaggm.core.inference.moderation_tests import moderation_tests
from plaggm.core.inference.score_tests import ModerationTests
from plaggm.estimators.edge_inference import groups_and_blocks
from plaggm.estimators.family_model import FamilyModel, Splines
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.spline_model import SplineModel
from plaggm.moderation_table import ModerationTable


def tested_moderation(
    problem: FitProblem,
    omega: Array,
    points: Array,
    information: RetainedInformation | None,
) -> ModerationTable:
    """Test for each pair and each confounder whether the pair changes with it.

    Rows of one group are treated as dependent.

    Parameters
    ----------
    problem : FitProblem
    omega : ndarray of shape (p, p)
        The fitted network.
    points : ndarray of shape (k, m)
        Values of every confounder at which the largest change is searched.
    information : RetainedInformation or None
        Retained information where cells are missing.

    Raises
    ------
    ValueError
        Without confounder, for the kernel smoother, and with too few rows.
    """
    model = problem.model
    if not problem.confounder_names:
        raise ValueError(
            "The model was fitted without confounder, so no edge can be tested for changing with one."
        )
    if isinstance(model, FamilyModel):
        tests = model.moderation_tests(problem.group_numbers())
    elif isinstance(model, SplineModel):
        tests = _spline_tests(problem, model, information)
    else:
        raise ValueError(
            "smoother='kernel' has no test of which edges change with the confounder: its local estimates "
            "have no joint covariance. Fit with smoother='spline'."
        )
    m, pairs = len(problem.confounder_names), tests.p_value.shape[1]
    columns: dict[str, Array] = {}
    # Confounders without a function in the model are not tested.
    for name, untested in (
        ("statistic", 0.0),
        ("degrees_of_freedom", 0.0),
        ("p_value", 1.0),
        ("q_value", 1.0),
    ):
        columns[name] = np.full((m, pairs), untested)
        columns[name][tests.confounders] = getattr(tests, name)
    change, place = _largest_changes(model, omega, problem.sigma, points)
    return ModerationTable(**columns, largest_change=change, largest_at=place)


def _spline_tests(
    problem: FitProblem, model: SplineModel, information: RetainedInformation | None
) -> ModerationTests:
    """Tests of Gaussian variables, from sums over rows."""
    total, basis = model.profiler.total, model.profiler.basis
    groups, blocks = groups_and_blocks(problem, model, information)
    if information is not None:
        if groups:
            raise ValueError(
                "Rows with missing cells (missing='em') that come in groups have no test of which edges "
                "change with the confounder: scores of expected sums vary too little between groups. Use "
                "missing='drop', or fit without groups."
            )
        total = effective_statistics(total, information.typical / information.factor)
        return moderation_tests(total, basis, seen=information.seen, share=information.typical)
    return moderation_tests(total, basis, groups=groups, blocks=blocks)


def _largest_changes(
    model: Splines, omega: Array, sigma: Array, points: Array
) -> tuple[Array, Array]:
    """Largest R of every pair along each confounder alone, and its place: shape (m, P) each."""
    curve = model.curve(omega, sigma)
    phi, owners = curve.basis.evaluate(points), curve.basis.confounders
    j, k = np.triu_indices(len(omega), 1)
    gamma = curve.coefficients[:, j, k]
    changes, places = [], []
    for column in range(points.shape[1]):
        own = owners == column
        along = phi[:, own] @ gamma[own]
        largest = np.argmax(np.abs(along), axis=0)
        changes.append(along[largest, np.arange(len(j))])
        places.append(points[largest, column])
    return np.array(changes), np.array(places)
