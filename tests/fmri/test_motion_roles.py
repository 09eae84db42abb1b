"""Six motion parameters beside displacement: positions of the head, not amounts of motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plaggm import PLAGGM
from plaggm.data import Confounder
from plaggm.estimators.design import nuisance_basis
from plaggm.fmri import fit_group, pooled_networks
from plaggm.fmri.confounds import FD, SIX
from plaggm.fmri.contaminated import ContaminatedStudy, contaminate, simulated_series
from plaggm.fmri.motion_roles import motion_roles
from plaggm.fmri.semisynthetic import simulated_motion
from plaggm.fmri.shared_nuisance import SharedNuisance, without_nuisance
from plaggm.fmri.treatments import make_treatment
from plaggm.reproduce.benchmark_motion import by_treatment

SEVEN = (*SIX, FD)
ESTIMATOR = PLAGGM(reference="zero", temporal="ar", n_jobs=1)


@pytest.fixture(scope="module")
def study() -> ContaminatedStudy:
    motion = simulated_motion(12, seed=3)
    return contaminate(simulated_series(24, 150, 12, 3), motion, seed=3)


def test_what_is_a_position():
    values = np.random.default_rng(0).gamma(1.0, size=(20, 7))
    assert motion_roles(SEVEN, values, "auto").positions == tuple(range(6))
    # Given thresholds speak of amounts, as do parameters that are all there is.
    assert motion_roles(SEVEN, values, np.full(7, 0.1)).positions == ()
    assert motion_roles(SIX, values[:, :6], "auto").positions == ()
    assert motion_roles(("csf", FD), values[:, :2], "auto").positions == ()
    values[:, 2] = 0.0
    assert motion_roles(SEVEN, values, "auto").positions == (0, 1, 3, 4, 5)


def test_threshold_is_that_of_displacement_alone(study):
    people = study.moved.subjects
    x = np.concatenate([s.x for s in people])
    values = np.concatenate([s.confounder for s in people])
    roles = motion_roles(SEVEN, values, "auto")
    alone = without_nuisance(ESTIMATOR, x, Confounder(values[:, 6:], (FD,)), 1).model.design
    settled = roles.settled(ESTIMATOR, x, values, 1)
    np.testing.assert_array_equal(settled.threshold[6:], alone.threshold)
    assert np.isnan(settled.threshold[:6]).all()
    assert ESTIMATOR.threshold == "auto"


def test_nuisance_is_linear_in_positions(study):
    design = SharedNuisance(ESTIMATOR, SEVEN).pool(study.moved.subjects).model.design
    sizes = [np.sum(design.basis.confounders == column) for column in range(7)]
    assert sizes[:6] == [1] * 6
    assert sizes[6] >= 3
    values = np.concatenate([s.confounder for s in study.moved.subjects])
    functions = design.basis.evaluate(values)[:, :6]
    np.testing.assert_allclose(functions.mean(axis=0), 0.0, atol=1e-12)
    for function, position in zip(functions.T, values[:, :6].T, strict=True):
        assert abs(np.corrcoef(function, position)[0, 1]) > 1.0 - 1e-12


def test_limits_leave_functions_to_other_confounders():
    values = np.random.default_rng(1).gamma(1.0, size=(60_000, 9))
    names = tuple("abcdefghi")
    limits = np.full(9, 0.1)
    free = nuisance_basis(Confounder(values, names), limits, len(values), 11)
    assert [np.sum(free.confounders == k) for k in range(9)] == [3] * 9
    limited = Confounder(values, names, most_functions=(1,) * 6 + (0,) * 3)
    found = nuisance_basis(limited, limits, len(values), 11)
    assert [np.sum(found.confounders == k) for k in range(9)] == [1] * 6 + [6] * 3


def test_seven_parameters_are_as_good_as_displacement(study):
    """With seven amounts and a common level of their thresholds the agreement was .034 lower."""
    clean = by_treatment("raw", (FD,))(study.clean).whole

    def agreement(method, names):
        found = by_treatment(method, names)(study.moved).whole
        return np.mean([np.corrcoef(a, b)[0, 1] for a, b in zip(found, clean, strict=True)])

    one, seven = agreement("pla", (FD,)), agreement("pla", SEVEN)
    assert agreement("raw", (FD,)) + 0.02 < one
    assert seven > one - 0.005


def test_pooled_networks(monkeypatch):
    """Groups' networks take positions as what they are, unless thresholds are given."""
    motion = simulated_motion(5, seed=3, volumes=60)
    data = contaminate(simulated_series(10, 60, 4, 3), motion, seed=3).moved

    class Asked(Exception):
        pass

    def fit(model, *args, **kwargs):
        raise Asked(model)

    def fit_network(spec, rows):
        raise Asked((spec.threshold, rows.labels.confounder))

    monkeypatch.setattr(pooled_networks.PLAGGMCV, "fit", fit)
    monkeypatch.setattr(pooled_networks, "fit_network", fit_network)
    choice = dict(criterion="bic", scrub=0.5, label="all")
    models = {}
    for method, threshold in (("pla", "auto"), ("pla", np.full(7, 1.0)), ("paper", "auto")):
        estimator = PLAGGM(reference="zero", threshold=threshold, n_jobs=1)
        with pytest.raises(Asked) as asked:
            fit_group(method, data, data.subjects, estimator=estimator, **choice)
        models[method, len(threshold)] = asked.value.args[0]
    threshold, found = models["pla", 4]
    assert np.isnan(threshold[:6]).all()
    assert threshold[6] > 0.0
    assert found.names == SEVEN
    assert [one.kind for one in found.references] == ["average"] * 6 + ["zero"]
    assert found.most_functions == (1,) * 6 + (0,)
    assert models["pla", 7].reference == models["paper", 4].reference == "zero"
    np.testing.assert_array_equal(models["pla", 7].threshold, np.full(7, 1.0))


def test_single_scans():
    motion = simulated_motion(5, seed=3, volumes=60)
    first = contaminate(simulated_series(10, 60, 4, 3), motion, seed=3).moved.subjects[0]
    own = make_treatment("pla-own", PLAGGM(reference="zero", n_jobs=1), SEVEN)
    # A parameter that does not vary has no function that could be laid over its range.
    still = replace(first, confounder=first.confounder * ([1] * 2 + [0] * 4 + [1]))
    for subject in (first, still):
        problem = own.problem(subject)
        assert np.isfinite(problem.effective)
        assert np.all(np.isfinite(problem.grams().node(0)))
