"""Frozen outputs of small fits by every estimator and every way of passing rows.

`test_frozen_fits.py` compares the package with the numbers stored in `frozen_fits.npz`: a change that is
not meant to change results must pass it. Where a result is meant to change, run this script again and say
in the changelog what moved::

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python tests/reference/generate_frozen_fits.py [names of cases]

With names only these cases are replaced.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plaggm import PLAGGM, PLAGGMCV, confounding_test, threshold_sensitivity
from plaggm.related import GGM, LRGGM, TVGGM, ConGGM

FILE = Path(__file__).resolve().with_name("frozen_fits.npz")
P, N, TRAIN = 6, 440, 360
THRESHOLD = 0.6
NAMES = list("abcdef")
# A tolerance at which the path's last digits do not depend on the processor's order of sums.
TOL = 1e-12
# The confounders are amounts with a sign: zero is without harm.
AMOUNT = {"reference": "zero"}
# Parameters that keep the paths short.
SHORT = {"alphas": 12, "cv": 4, "tol": TOL}

Numbers = dict[str, Any]


def symmetric(rng: np.random.Generator, density: float, radius: float) -> np.ndarray:
    """Hollow symmetric matrix with a given spectral radius."""
    upper = np.triu(rng.uniform(0.5, 1.0, (P, P)) * rng.choice([-1.0, 1.0], (P, P)), 1)
    upper *= rng.uniform(size=(P, P)) < density
    full = upper + upper.T
    return full * (radius / np.abs(np.linalg.eigvalsh(full)).max())


def samples(confounders: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a model whose network, means and variances change beyond the threshold."""
    rng = np.random.default_rng(20 + confounders)
    g = rng.gamma(1.5, 0.6, (N, confounders)) * rng.choice([-1.0, 1.0], (N, confounders))
    omega, change = symmetric(rng, 0.5, 0.5), symmetric(rng, 1.0, 0.4)
    beyond = np.clip(np.abs(g) - THRESHOLD, 0.0, 2.0).sum(axis=1) / (2.0 * confounders)
    precision = np.eye(P) - omega - beyond[:, None, None] * change
    noise = rng.standard_normal((N, P))
    x = np.linalg.solve(np.linalg.cholesky(precision).swapaxes(1, 2), noise[:, :, None])[:, :, 0]
    x = x * np.exp(0.3 * beyond)[:, None] + 0.5 * beyond[:, None]
    return x * [1.0, 5.0, 0.1, 1.0, 1.0, 2.0] + 3.0, g


X, G = samples()
X2, G2 = samples(2)
SUBJECT = np.arange(TRAIN) % 12
HALVES = [(X[:150], G[:150]), (X[150:TRAIN], G[150:TRAIN])]


def network(model: Any) -> Numbers:
    """Numbers that every fitted estimator has."""
    kept = {}
    for name in (
        *("omega_", "location_", "scale_", "alpha_", "threshold_", "bandwidth_", "tau_"),
        *("nuisance_df_", "criterion_path_", "cv_standard_error_", "edge_stability_", "alphas_"),
    ):
        value = getattr(model, name, None)
        if value is not None:
            kept[name] = value
    return kept


def along(model: Any, points: np.ndarray, *, errors: bool) -> Numbers:
    """The nuisance and the network at some confounder values, with standard errors of the spline."""
    if not errors:
        return {"nuisance": model.nuisance(points)}
    nuisance, spread = model.nuisance(points, return_std=True)
    _, total_spread = model.omega_at(points, return_std=True)
    return {"nuisance": nuisance, "nuisance_error": spread, "omega_error": total_spread}


def one_confounder(
    make: Callable[..., Any], fit: dict[str, Any] | None = None, **settings: Any
) -> Numbers:
    """A fit of the first rows, its nuisance and its score on the others."""
    spline = settings.get("smoother", "spline") == "spline"
    model = make(**AMOUNT, **settings).fit(X[:TRAIN], confounder=G[:TRAIN], **(fit or {}))
    score = model.score(X[TRAIN:], confounder=G[TRAIN:])
    points = np.array([-1.5, 0.2, 0.9])
    return {**network(model), **along(model, points, errors=spline), "score": score}


def two_confounders(make: Callable[..., Any], **settings: Any) -> Numbers:
    """The same with two confounders."""
    spline = settings.get("smoother", "spline") == "spline"
    model = make(**AMOUNT, **settings).fit(X2[:TRAIN], confounder=G2[:TRAIN])
    score = model.score(X2[TRAIN:], confounder=G2[TRAIN:])
    points = np.array([[1.0, -0.9], [0.1, 0.2]])
    return {**network(model), **along(model, points, errors=spline), "score": score}


def no_confounder(make: Callable[..., Any], **settings: Any) -> Numbers:
    """A fit without confounder."""
    model = make(**settings).fit(X[:TRAIN])
    return {**network(model), "score": model.score(X[TRAIN:])}


def related(make: Callable[..., Any], **settings: Any) -> Numbers:
    """A related method."""
    model = make(**settings).fit(X[:TRAIN], confounder=G[:TRAIN])
    return {**network(model), "score": model.score(X[TRAIN:], confounder=G[TRAIN:])}


def bootstrap() -> Numbers:
    """Groups that are drawn again."""
    model = PLAGGMCV(**AMOUNT, **SHORT)
    model.fit(X[:TRAIN], confounder=G[:TRAIN], groups=SUBJECT)
    drawn = model.bootstrap(12)
    kept = {"frequency": drawn.frequency, "mean": drawn.mean, "error": drawn.standard_error}
    return {**network(model), **kept}


def sample() -> Numbers:
    """Samples of a fitted model."""
    model = PLAGGM(0.05, threshold=THRESHOLD).fit(X, confounder=G)
    drawn = model.sample(3, confounder=[0.1, 1.2], random_state=0)
    return {"at": drawn, "network": model.sample(3, random_state=1)}


def chunks(make: Callable[..., Any], **settings: Any) -> Numbers:
    """Rows in two chunks."""
    return network(make(**AMOUNT, **settings).fit_chunks(HALVES))


def chunks_of_groups() -> Numbers:
    """Chunks whose rows belong to groups, two confounders that inflate the variance."""
    rows = [(X2[part], G2[part], SUBJECT[part]) for part in (slice(0, 200), slice(200, TRAIN))]
    model = PLAGGMCV(threshold=THRESHOLD, **SHORT).fit_chunks(rows)
    return {**network(model), "frequency": model.bootstrap(5).frequency}


def stream(make: Callable[..., Any], groups: bool = False, **settings: Any) -> Numbers:
    """Rows in three calls of partial_fit, under a design of all confounders."""
    model = make(**AMOUNT, **settings)
    design = model.make_design(G[:TRAIN], n_features=P)
    for first in (0, 120, 240):
        rows = slice(first, first + 120)
        chosen = {"groups": SUBJECT[rows]} if groups else {}
        model.partial_fit(X[rows], confounder=G[rows], design=design, refit=first == 240, **chosen)
    return {**network(model), "nuisance": model.nuisance([1.2])}


def merged() -> Numbers:
    """Two models that have summed half of the rows each."""
    one, two = (PLAGGMCV(**AMOUNT, **SHORT) for _ in range(2))
    design = one.make_design(G[:TRAIN], n_features=P)
    one.partial_fit(X[:100], confounder=G[:100], design=design, refit=False)
    two.partial_fit(X[100:TRAIN], confounder=G[100:TRAIN], design=design, refit=False)
    return network(one.merge(two))


def dask_rows(streamed: bool, **settings: Any) -> Numbers:
    """Rows in three partitions, summed by Dask in this thread."""
    import dask
    import dask.dataframe as dd

    from plaggm.distributed import fit_dask, sample_design

    frame = pd.DataFrame(X[:TRAIN], columns=NAMES).assign(motion=G[:TRAIN, 0], subject=SUBJECT)
    with dask.config.set(scheduler="synchronous"):
        spread = dd.from_pandas(frame, npartitions=3)
        model = PLAGGMCV(**AMOUNT, **SHORT, **settings)
        where = {"confounder": "motion", "groups": "subject"}
        design = sample_design(model, spread, **where) if streamed else None
        return network(fit_dask(model, spread, design=design, **where))


def sensitivity() -> Numbers:
    """The table of thresholds."""
    chosen = PLAGGM(0.05, threshold=THRESHOLD)
    table = threshold_sensitivity(X, G, thresholds=[0.3, 1.2], estimator=chosen)
    return {str(name): table[name].to_numpy(dtype=np.float64) for name in table.columns}


def test_of_no_confounding() -> Numbers:
    """The test on tables and on a model."""
    found = confounding_test(X, G, threshold=THRESHOLD)
    own = PLAGGM(0.05, **AMOUNT).fit(X2, confounder=G2).confounding_test()
    return {
        name: [test.statistic, test.p_value, *np.ravel(test.degrees_of_freedom)]
        for name, test in (("tables", found), ("model", own))
    }


def study() -> Numbers:
    """Networks of subjects and groups, and what differs between the groups."""
    from plaggm.fmri import Problems, compare_groups
    from plaggm.fmri.semisynthetic import semisynthetic_study, simulated_motion
    from plaggm.fmri.study_networks import fit_networks
    from plaggm.resume import Store

    motion = simulated_motion(4, seed=0, volumes=70)
    data = semisynthetic_study(motion, difference=0.5, seed=3, per_group=4, regions=6)[0]
    with tempfile.TemporaryDirectory() as folder:
        people, groups = fit_networks(
            ("pla", "lr", "scrub", "raw", "pla-own"),
            data,
            estimator=PLAGGM(n_jobs=1),
            criterion="bic",
            subject_criterion="aic",
            scrub=5.0,
            settings={},
            store=Store(Path(folder)),
            problems=Problems(),
            n_jobs=1,
        )
    kept = {f"{method}_subjects": found.values for method, found in people.items()}
    kept |= {f"{method}_{group}": found.omega for (method, group), found in groups.items()}
    values = people["pla"].values
    found = compare_groups(values, data.membership, data.groups, 6, permutations=60)
    return {**kept, "statistic": found.statistic, "p_family": found.p_family, "p_fdr": found.p_fdr}


KERNEL = {"smoother": "kernel", "threshold": THRESHOLD}
PAPER = {"smoother": "kernel", "indicator": "soft", "variance": "unit", "form": "lemma"}
CASES: dict[str, Callable[[], Numbers]] = {
    "spline": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL),
    "spline_given_threshold": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, threshold=THRESHOLD),
    "spline_reml": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, tau="reml"),
    "spline_tau": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, tau=0.3),
    "spline_conditional": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, variance="conditional"),
    "spline_unit": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, variance="unit", standardize=True),
    "spline_raw": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, standardize=False),
    "spline_and": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, symmetry="and"),
    "spline_or": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, symmetry="or"),
    "spline_two": lambda: two_confounders(PLAGGM, alpha=0.05, tol=TOL),
    "spline_two_reml": lambda: two_confounders(PLAGGM, alpha=0.05, tol=TOL, tau="reml", threshold=0.5),
    "pooled": lambda: no_confounder(PLAGGM, alpha=0.05, tol=TOL),
    "pooled_unit": lambda: no_confounder(PLAGGM, alpha=0.05, tol=TOL, variance="unit"),
    "kernel": lambda: one_confounder(PLAGGM, alpha=0.05, tol=TOL, smoother="kernel"),
    "kernel_paper": lambda: one_confounder(PLAGGM, alpha=0.02, standardize=True, **PAPER),
    "kernel_hard": lambda: one_confounder(
        PLAGGM, alpha=0.05, tol=TOL, indicator="hard", kernel="epanechnikov", bandwidth=4.0, **KERNEL
    ),
    "kernel_ridge": lambda: one_confounder(
        PLAGGM, alpha=0.05, tol=TOL, ridge=0.01, variance="conditional", symmetry="or", **KERNEL
    ),
    "kernel_two": lambda: two_confounders(PLAGGM, alpha=0.05, tol=TOL, bandwidth=[2.0, 2.5], **KERNEL),
    "cv": lambda: one_confounder(PLAGGMCV, **SHORT),
    "cv_one_se": lambda: one_confounder(PLAGGMCV, one_se=True, tau="reml", **SHORT),
    "cv_groups": lambda: one_confounder(PLAGGMCV, fit={"groups": SUBJECT}, **SHORT),
    "cv_conditional": lambda: one_confounder(PLAGGMCV, variance="conditional", **SHORT),
    "cv_and": lambda: one_confounder(PLAGGMCV, symmetry="and", **SHORT),
    "cv_two": lambda: two_confounders(PLAGGMCV, **SHORT),
    "cv_pooled": lambda: no_confounder(PLAGGMCV, **SHORT),
    "cv_kernel": lambda: one_confounder(PLAGGMCV, **KERNEL, **SHORT),
    "cv_kernel_bandwidth": lambda: one_confounder(PLAGGMCV, bandwidth="cv", **KERNEL, **SHORT),
    "aic": lambda: one_confounder(PLAGGMCV, criterion="aic", alphas=12, tol=TOL),
    "bic": lambda: one_confounder(PLAGGMCV, criterion="bic", alphas=[0.3, 0.1, 0.03], tol=TOL),
    "ebic": lambda: one_confounder(PLAGGMCV, criterion="ebic", alphas=12, tol=TOL, ebic_gamma=0.8),
    "ebic_unit": lambda: no_confounder(PLAGGMCV, criterion="ebic", alphas=12, tol=TOL, variance="unit"),
    "stars": lambda: one_confounder(PLAGGMCV, criterion="stars", alphas=12, tol=TOL, n_subsamples=6),
    "stars_kernel": lambda: one_confounder(
        PLAGGMCV, criterion="stars", alphas=8, tol=TOL, n_subsamples=4, subsample=0.6, **KERNEL
    ),
    "bootstrap": bootstrap,
    "sample": sample,
    "chunks": lambda: chunks(PLAGGM, alpha=0.05, tol=TOL),
    "chunks_cv": lambda: chunks(PLAGGMCV, **SHORT),
    "chunks_groups": chunks_of_groups,
    "stream": lambda: stream(PLAGGM, alpha=0.05, tol=TOL),
    "stream_cv": lambda: stream(PLAGGMCV, variance="conditional", **SHORT),
    "stream_groups": lambda: stream(PLAGGMCV, groups=True, **SHORT),
    "merged": merged,
    "dask": lambda: dask_rows(False),
    "dask_conditional": lambda: dask_rows(False, variance="conditional", tau="reml"),
    "dask_design": lambda: dask_rows(True),
    "ggm_glasso": lambda: related(GGM, threshold=1.0, **SHORT),
    "ggm_pseudo": lambda: related(GGM, loss="pseudo", criterion="stars", n_subsamples=5, alphas=8, tol=TOL),
    "con_ggm_glasso": lambda: related(ConGGM, criterion="ebic", alphas=8, tol=TOL),
    "con_ggm_pseudo": lambda: related(ConGGM, loss="pseudo", **SHORT),
    "lr_ggm_glasso": lambda: related(LRGGM, regressors="squares", **SHORT),
    "lr_ggm_pseudo": lambda: related(LRGGM, loss="pseudo", criterion="bic", alphas=8, tol=TOL),
    "tv_ggm_glasso": lambda: related(TVGGM, target="average", n_points=4, alpha=0.1, tol=TOL),
    "tv_ggm_pseudo": lambda: related(TVGGM, loss="pseudo", local="linear", **SHORT),
    "threshold_sensitivity": sensitivity,
    "confounding_test": test_of_no_confounding,
    "study": study,
}  # fmt: skip


def run(names: list[str]) -> dict[str, np.ndarray]:
    """Numbers of some cases, each named by the case and what it is."""
    return {
        f"{name}/{what}": np.asarray(value, dtype=np.float64)
        for name in names
        for what, value in CASES[name]().items()
    }


def main(names: list[str]) -> None:
    """Write the numbers of some cases, or of all, beside those of the others."""
    known: dict[str, np.ndarray] = {}
    if names and FILE.exists():
        with np.load(FILE) as stored:
            known = {key: stored[key] for key in stored.files if key.split("/")[0] not in names}
    np.savez_compressed(FILE, **known, **run(names or list(CASES)))


if __name__ == "__main__":
    main(sys.argv[1:])
