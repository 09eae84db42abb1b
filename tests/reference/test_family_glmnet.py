"""Networks of binary variables and of counts against frozen values from glmnet: see README.md."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plaggm import PLAGGMCV

HERE = Path(__file__).resolve().parent
REFERENCE = json.loads((HERE / "family_reference.json").read_text())["problems"]

# glmnet's own optimality conditions hold to about 1e-8; coefficients are of order one.
COEFFICIENTS = 1e-5
TIGHT = 1e-10


@pytest.fixture(params=REFERENCE)
def problem(request):
    return REFERENCE[request.param], np.loadtxt(
        HERE / "data" / f"{request.param}.csv", delimiter=",", skiprows=1
    )


def test_both_families_are_covered():
    families = [problem["family"] for problem in REFERENCE.values()]
    assert len(families) >= 3
    assert set(families) == {"binomial", "poisson"}


def test_the_path_is_that_of_glmnet(problem):
    reference, x = problem
    model = PLAGGMCV(
        family=reference["family"],
        alphas=reference["lambda"],
        criterion="bic",
        edges="penalty",
        tol=TIGHT,
    ).fit(x)
    # In natural units; the diagonal holds intercepts of centred columns and is not compared.
    natural = model.omega_path_ / np.outer(model.scale_, model.scale_)
    for found, known in zip(natural, np.array(reference["omega"]), strict=True):
        np.fill_diagonal(found, 0.0)
        np.fill_diagonal(known, 0.0)
        np.testing.assert_allclose(found, known, atol=COEFFICIENTS)
    assert model.dual_gaps_.max() <= TIGHT


def test_intercepts_are_those_of_glmnet(problem):
    reference, x = problem
    alphas = reference["lambda"]
    model = PLAGGMCV(family=reference["family"], alphas=alphas, criterion="bic", tol=TIGHT).fit(x)
    for omega, known in zip(model.omega_path_, np.array(reference["omega"]), strict=True):
        natural = omega / np.outer(model.scale_, model.scale_)
        intercept = np.diagonal(omega) / model.scale_
        np.fill_diagonal(natural, 0.0)
        uncentred = intercept - natural @ model.location_
        np.testing.assert_allclose(uncentred, np.diagonal(known), atol=10 * COEFFICIENTS)


def test_the_grid_starts_at_the_smallest_penalty_without_edges(problem):
    reference, x = problem
    model = PLAGGMCV(family=reference["family"], alphas=5, criterion="bic", tol=TIGHT).fit(x)
    assert model.alphas_[0] == pytest.approx(reference["lambda_max"], rel=1e-7)
