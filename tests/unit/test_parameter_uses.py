"""Parameters that a fit would not use are refused, by the estimators and by the command line alike."""

from __future__ import annotations

import inspect
from typing import Any

import joblib
import numpy as np
import pytest

from plaggm import PLAGGM, PLAGGMCV
from plaggm.estimators.spec import fit_spec
from plaggm.parameter_uses import USES, unused_parameters
from plaggm.related import GGM, LRGGM, MRF, TVGGM, ConGGM

ESTIMATORS = (PLAGGM, PLAGGMCV, GGM, ConGGM, LRGGM, TVGGM, MRF)
X = np.random.default_rng(0).normal(size=(30, 3))
# A value that is not the default of any parameter of this name.
OTHERS: dict[str, Any] = {
    "tau": 0.5, "indicator": "hard", "form": "lemma", "kernel": "uniform", "bandwidth": 2.0,
    "ridge": 0.1, "local": "linear", "n_points": 3, "n_bins": 4, "fusion": 0.5, "symmetry": "or",
    "alphas": 7, "criterion": "bic", "cv": 3, "one_se": True, "ebic_gamma": 0.1, "n_subsamples": 5,
    "subsample": 0.5, "instability": 0.2, "fdr": 0.2, "robust": "winsor",
    "smoother": "kernel", "variance": "unit", "standardize": False, "margins": "rank", "temporal": 1,
    "regressors": "squares",
}  # fmt: skip


def defaults_of(kind: type) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}


def rules() -> list[tuple[type, str]]:
    """Every estimator with each of its parameters that is not always used."""
    return [
        (kind, name)
        for kind in ESTIMATORS
        for name, needs in USES.items()
        if name in defaults_of(kind) and any(owner in defaults_of(kind) for owner, _ in needs)
    ]


def other_values(kind: type, name: str) -> dict[str, Any]:
    """Settings under which a parameter is not used."""
    spoilt: dict[str, Any] = {}
    for owner, value in USES[name]:
        given = defaults_of(kind).get(owner, inspect.Parameter.empty)
        if given == value:
            choices = {"smoother": "kernel" if value == "spline" else "spline", "alpha": 0.1}
            choices |= {"edges": "penalty", "margins": "rank", "family": "binomial"}
            choices |= {"covariates": "none"}
            spoilt[owner] = choices.get(owner, "aic")
            if kind is TVGGM and owner == "smoother":
                spoilt[owner] = "fused"
    return spoilt


@pytest.mark.parametrize(("kind", "name"), rules(), ids=lambda one: getattr(one, "__name__", one))
def test_refused_where_unused_and_taken_where_used(kind: type, name: str) -> None:
    spoilt = other_values(kind, name)
    model = kind(**{name: OTHERS[name], **spoilt})
    with pytest.raises(ValueError, match=rf"^{name}=.* is not used with .*, only with"):
        model.fit(X)
    owner, value = next(pair for pair in USES[name] if pair[0] in defaults_of(kind))
    used = {name: OTHERS[name], owner: value}
    assert [
        one.name for one in unused_parameters({**defaults_of(kind), **used}, defaults_of(kind))
    ] == []


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_defaults_are_never_refused(kind: type) -> None:
    assert list(unused_parameters(defaults_of(kind), defaults_of(kind))) == []


def test_folds_serve_the_bandwidth_too() -> None:
    shared = dict(criterion="bic", cv=3, smoother="kernel")
    assert fit_spec(PLAGGMCV(bandwidth="cv", **shared)).penalties.cv == 3
    with pytest.raises(ValueError, match="cv=3 is not used with criterion='bic'"):
        fit_spec(PLAGGMCV(**shared))


@pytest.mark.parametrize(
    "asked", [{"cv": 3}, {"one_se": True}], ids=lambda asked: next(iter(asked))
)
def test_nothing_of_a_criterion_is_used_where_the_penalty_is_given(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is not used with alpha=0.1, only with alpha=None"):
        GGM(alpha=0.1, **asked).fit(X)


@pytest.mark.parametrize("bandwidth", [np.array([1.0, 2.0]), [1.0], 1.0])
def test_arrays_are_compared_with_defaults_that_are_none(bandwidth: Any) -> None:
    with pytest.raises(ValueError, match=r"bandwidth=.* is not used with smoother='spline'"):
        fit_spec(PLAGGM(bandwidth=bandwidth))


def test_the_seed_is_free() -> None:
    assert fit_spec(PLAGGMCV(criterion="bic", random_state=3)).penalties.random_state == 3


def test_the_command_line_refuses_the_same() -> None:
    pytest.importorskip("click")
    from click.testing import CliRunner

    from plaggm.cli.fit import fit

    asked = ["no-such-table.csv", "--confounder", "g", "--smoother", "kernel", "--tau", "reml"]
    found = CliRunner().invoke(fit, asked)
    assert found.exit_code == 2
    assert "--tau is used with --smoother spline only" in found.output


def test_one_thread_unless_joblib_says_more() -> None:
    assert fit_spec(PLAGGM()).n_threads == 1
    assert fit_spec(PLAGGM(n_jobs=3)).n_threads == 3
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert fit_spec(PLAGGM()).n_threads == 2
