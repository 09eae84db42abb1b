"""The package against frozen values from R: see README.md beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from plaggm.core.grams.node_grams import NodeGrams, profile_intercepts
from plaggm.core.kernel.indicators import INDICATORS, evaluate_indicator
from plaggm.core.kernel.kernels import KERNELS
from plaggm.core.kernel.literal import literal_objective
from plaggm.core.kernel.moments import Rows
from plaggm.core.lasso.node_lasso import node_path
from plaggm.core.lasso.optimality import kkt_residual
from plaggm.core.lasso.path import lambda_max, solve_path
from plaggm.core.profile.kernel import kernel_smoother, profile_kernel
from plaggm.core.profile.pooled import profile_pooled

HERE = Path(__file__).resolve().parent
REFERENCE = json.loads((HERE / "glmnet_reference.json").read_text())["problems"]
NODEWISE = [name for name, problem in REFERENCE.items() if "nodewise" in problem]

# R solves by QR what we solve by normal equations: condition numbers are below 2e3.
TRANSFORM = 1e-10
# A gap of TIGHT bounds the error of a coefficient by about its square root.
COEFFICIENTS = 5e-8
OBJECTIVE = 1e-12
TIGHT = 1e-15

every_problem = pytest.mark.parametrize("problem", REFERENCE, indirect=True)


@dataclass(frozen=True)
class Problem:
    reference: dict
    node_grams: NodeGrams

    @property
    def alphas(self) -> np.ndarray:
        return np.array(self.reference["lambda"])


def load(name: str) -> Problem:
    reference = REFERENCE[name]
    settings = reference["settings"]
    table = np.loadtxt(HERE / "data" / f"{name}.csv", delimiter=",", skiprows=1)
    assert table.shape == (settings["n"], settings["p"] + settings["m"])
    b = np.column_stack([table[:, : settings["p"]], np.ones(settings["n"])])
    if settings["m"] == 0:
        return Problem(reference, profile_pooled(b))
    g = table[:, settings["p"] :]
    threshold = np.array(settings["threshold"], dtype=np.float64)
    rows = Rows(b, g, evaluate_indicator(INDICATORS[settings["indicator"]], g, threshold))
    smoother = kernel_smoother(
        rows,
        kernel=KERNELS[settings["kernel"]],
        bandwidth=np.array(settings["h"], dtype=np.float64),
        form=settings["form"],
    )
    return Problem(reference, profile_kernel(smoother))


@pytest.fixture(scope="module")
def problem(request: pytest.FixtureRequest) -> Problem:
    return load(request.param)


def test_every_kernel_indicator_and_form_is_covered() -> None:
    settings = [problem["settings"] for problem in REFERENCE.values()]
    assert {s["kernel"] for s in settings} == set(KERNELS) | {"none"}
    assert {s["indicator"] for s in settings} == set(INDICATORS) | {"none"}
    assert {s["form"] for s in settings} == {"lemma", "supplement", "none"}
    assert {s["m"] for s in settings} == {0, 1, 2}
    assert [name[0] for name in NODEWISE] == ["a", "c"]


@every_problem
def test_transform(problem: Problem) -> None:
    expected = {key: np.array(value) for key, value in problem.reference["transform"].items()}
    p = problem.node_grams.p
    grams = problem.node_grams.grams[problem.node_grams.node_index()]
    for j in range(p):
        # R keeps the transformed constant in the place of the node's own column.
        columns = np.where(np.arange(p) == j, p, np.arange(p))
        assert grams[j, j, j] == pytest.approx(expected["yty"][j], rel=TRANSFORM)
        np.testing.assert_allclose(
            grams[j, columns, j], expected["xty"][j], rtol=TRANSFORM, atol=1e-3 * TRANSFORM
        )
        np.testing.assert_allclose(
            grams[j, columns, columns], expected["xtx_diag"][j], rtol=TRANSFORM
        )


@every_problem
def test_lambda_max(problem: Problem) -> None:
    expected = problem.reference["lambda_max"]
    assert lambda_max(problem.node_grams) == pytest.approx(expected, rel=TRANSFORM)


@every_problem
def test_joint_path(problem: Problem) -> None:
    solution = solve_path(problem.node_grams, problem.alphas, tol=TIGHT)
    off = ~np.eye(problem.node_grams.p, dtype=bool)
    for omega, expected in zip(solution.omega, problem.reference["joint"], strict=True):
        reference = np.array(expected["omega"])
        np.testing.assert_allclose(omega, reference, rtol=0, atol=COEFFICIENTS)
        np.testing.assert_array_equal(omega[off] != 0.0, reference[off] != 0.0)
        assert np.count_nonzero(np.triu(omega, 1)) == expected["n_edges"]


@every_problem
def test_objective(problem: Problem) -> None:
    grams = problem.node_grams.grams[problem.node_grams.node_index()]
    solution = solve_path(problem.node_grams, problem.alphas, tol=TIGHT)
    for omega, expected in zip(solution.omega, problem.reference["joint"], strict=True):
        ours = literal_objective(grams, omega, expected["lambda"])
        assert ours == pytest.approx(expected["objective"], rel=OBJECTIVE)


@every_problem
def test_glmnets_solution_is_optimal_for_us(problem: Problem) -> None:
    # The frozen values against our optimality conditions, without our solver.
    for expected in problem.reference["joint"]:
        residual = kkt_residual(problem.node_grams, np.array(expected["omega"]), expected["lambda"])
        assert residual < COEFFICIENTS * problem.reference["lambda_max"]


@pytest.mark.parametrize("problem", NODEWISE, indirect=True)
def test_nodewise_path(problem: Problem) -> None:
    p = problem.node_grams.p
    solutions = {
        rule: solve_path(problem.node_grams, problem.alphas, symmetry=rule, tol=TIGHT)
        for rule in ("and", "or")
    }
    for step, expected in enumerate(problem.reference["nodewise"]):
        coef = np.array(expected["coef"])  # row j is node j's regression
        for rule, pick in (("and", min), ("or", max)):
            omega = solutions[rule].omega[step]
            for j in range(p):
                for k in range(j):
                    chosen = pick(coef[j, k], coef[k, j], key=abs)
                    assert omega[j, k] == pytest.approx(chosen, rel=0, abs=COEFFICIENTS)
            edges = np.count_nonzero(np.triu(omega, 1))
            assert edges == expected[f"n_edges_{rule}"]


@pytest.mark.parametrize("problem", NODEWISE, indirect=True)
def test_single_nodes(problem: Problem) -> None:
    # Before the AND or OR rule: half the penalty for each node.
    centred = profile_intercepts(problem.node_grams)
    for j in range(problem.node_grams.p):
        gram = centred.grams[centred.index[j]]
        path, _, _ = node_path(gram, j, 0.5 * problem.alphas, 0.0, TIGHT, 10_000)
        for beta, expected in zip(path, problem.reference["nodewise"], strict=True):
            reference = np.array(expected["coef"])[j]
            reference[j] = 0.0  # the intercept
            np.testing.assert_allclose(beta, reference, rtol=0, atol=COEFFICIENTS)
            np.testing.assert_array_equal(beta != 0.0, reference != 0.0)
