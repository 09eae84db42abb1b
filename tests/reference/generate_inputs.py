"""Write the small, deterministic inputs of the R reference problems.

Every problem has one CSV of data (``data/<name>.csv``: columns z1..zp and
g1..gm, six decimals) and one row in ``data/settings.csv``. Nothing here uses
the package: only NumPy and the standard library.

The samples follow the model: given g, ``z ~ N(P(g)^{-1} diag(Omega(g)), P(g)^{-1})``
with ``P(g) = I - offdiag(Omega(g))`` and ``Omega(g) = Omega0 + f(g) W``, where
``f(g) = 0`` near g = 0 (below the threshold; for the soft indicator, below 0.3 of it).
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"

# h and threshold: one value for each confounder, in the units of g.
# g_decimals < 6 makes repeated values of g.
PROBLEMS = [
    dict(name="a_gaussian_soft_lemma", seed=101, p=5, n=80, kernel="gaussian",
         indicator="soft", form="lemma", h=[0.5], threshold=[1.2]),
    dict(name="b_epanechnikov_ramp_supplement", seed=102, p=8, n=150, kernel="epanechnikov",
         indicator="ramp", form="supplement", h=[0.9], threshold=[0.3]),
    dict(name="c_no_confounder", seed=103, p=10, n=200, kernel="none",
         indicator="none", form="none", h=[], threshold=[]),
    dict(name="d_two_confounders", seed=104, p=6, n=120, kernel="gaussian",
         indicator="soft", form="lemma", h=[0.8, 1.2], threshold=[1.5, 2.25]),
    dict(name="e_triangular_hard_supplement", seed=105, p=5, n=90, kernel="triangular",
         indicator="hard", form="supplement", h=[0.8], threshold=[0.35]),
    dict(name="f_biweight_soft_supplement_ties", seed=106, p=6, n=100, kernel="biweight",
         indicator="soft", form="supplement", h=[0.9], threshold=[1.0], g_decimals=2),
    dict(name="g_uniform_ramp_lemma", seed=107, p=5, n=100, kernel="uniform",
         indicator="ramp", form="lemma", h=[0.75], threshold=[0.25]),
]  # fmt: skip

DIAG0, DIAG_W = 0.6, 0.5
RADIUS0, RADIUS_W = 0.55, 0.35


def _symmetric(rng, p, density, radius):
    """Hollow symmetric matrix with the given spectral radius."""
    a = rng.uniform(0.5, 1.0, (p, p)) * rng.choice([-1.0, 1.0], (p, p))
    a *= rng.uniform(size=(p, p)) < density
    a = np.triu(a, 1)
    a = a + a.T
    return a * (radius / np.max(np.abs(np.linalg.eigvalsh(a))))


def make(problem):
    """Return (Z, g), both rounded to what the CSV holds."""
    rng = np.random.default_rng(problem["seed"])
    p, n = problem["p"], problem["n"]
    threshold = np.array(problem["threshold"], dtype=float)
    m = threshold.size
    omega0 = _symmetric(rng, p, 0.4, RADIUS0)
    w = _symmetric(rng, p, 1.0, RADIUS_W)
    intercept0 = DIAG0 * rng.uniform(-1.0, 1.0, p)
    intercept_w = DIAG_W * rng.uniform(-1.0, 1.0, p)
    if m:
        g = rng.uniform(-1.0, 1.0, (n, m))
        if problem["indicator"] == "soft":
            # more mass near 0, where the soft indicator is below 1
            g = np.sign(g) * np.abs(g) ** 1.5
        if m == 2:
            g[:, 1] *= 1.5
        g = np.round(g, problem.get("g_decimals", 6))
        ratio = np.sqrt(np.sum((g / threshold) ** 2, axis=1))
        # the soft indicator is already near 1 well below its threshold
        start = 0.3 if problem["indicator"] == "soft" else 1.0
        f = np.clip((ratio - start) / (ratio.max() - start), 0.0, 1.0)
    else:
        g = np.empty((n, 0))
        f = np.zeros(n)
    z = np.empty((n, p))
    noise = rng.standard_normal((n, p))
    for i in range(n):
        chol = np.linalg.cholesky(np.eye(p) - omega0 - f[i] * w)
        mean = np.linalg.solve(chol, intercept0 + f[i] * intercept_w)
        z[i] = np.linalg.solve(chol.T, mean + noise[i])
    return np.round(z, 6), g


def _check(problem, g):
    """No pair may sit on an edge where one rounding error decides."""
    if problem["kernel"] == "uniform":
        d = np.abs(g[:, None, 0] - g[None, :, 0]) / problem["h"][0]
        assert np.min(np.abs(d - 1.0)) > 1e-8
    if problem["indicator"] == "hard":
        ratio = np.abs(g[:, 0]) / problem["threshold"][0]
        assert np.min(np.abs(ratio - 1.0)) > 1e-8


def main():
    DATA.mkdir(exist_ok=True)
    with open(DATA / "settings.csv", "w", newline="") as handle:
        out = csv.writer(handle, lineterminator="\n")
        out.writerow(["name", "p", "n", "m", "kernel", "indicator", "form", "h", "threshold"])
        for problem in PROBLEMS:
            out.writerow(
                [problem["name"], problem["p"], problem["n"], len(problem["h"])]
                + [problem[key] for key in ("kernel", "indicator", "form")]
                + [";".join(map(repr, problem[key])) or "none" for key in ("h", "threshold")]
            )
    for problem in PROBLEMS:
        z, g = make(problem)
        _check(problem, g)
        header = [f"z{j + 1}" for j in range(z.shape[1])]
        header += [f"g{k + 1}" for k in range(g.shape[1])]
        np.savetxt(
            DATA / f"{problem['name']}.csv",
            np.hstack([z, g]),
            fmt="%.6f",
            delimiter=",",
            header=",".join(header),
            comments="",
        )


if __name__ == "__main__":
    main()
