"""Write the small, deterministic inputs of the R reference problems of other families.

Every problem has one CSV of data (``data/<name>.csv``: columns x1..xp). Nothing here uses the package: only
NumPy. Rows are drawn by Gibbs sampling from the nodes' conditional distributions.
"""

from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent / "data"

PROBLEMS = [
    dict(name="binomial_balanced", seed=201, p=6, n=200, family="binomial", intercept=0.0, size=0.9),
    dict(name="binomial_rare", seed=202, p=8, n=500, family="binomial", intercept=-2.6, size=1.2),
    dict(name="poisson_small", seed=203, p=6, n=200, family="poisson", intercept=0.1, size=0.18),
    dict(name="poisson_large", seed=204, p=5, n=150, family="poisson", intercept=1.8, size=0.06),
]  # fmt: skip
ROUNDS = 60


def make(problem):
    """Rows of one problem: integers of shape (n, p)."""
    rng = np.random.default_rng(problem["seed"])
    p, n = problem["p"], problem["n"]
    omega = np.triu(rng.uniform(size=(p, p)) < 0.45, 1) * rng.choice([-1.0, 1.0], (p, p))
    omega = problem["size"] * (omega + omega.T)
    intercept = problem["intercept"] + rng.uniform(-0.4, 0.4, p)
    x = np.zeros((n, p))
    for _ in range(ROUNDS):
        for j in range(p):
            eta = intercept[j] + np.log1p(x) / np.log(2.0) @ omega[:, j]
            if problem["family"] == "binomial":
                x[:, j] = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-eta))
            else:
                x[:, j] = rng.poisson(np.exp(np.minimum(eta, 3.0)))
    return x.astype(int)


def main():
    for problem in PROBLEMS:
        header = ",".join(f"x{j + 1}" for j in range(problem["p"]))
        np.savetxt(
            DATA / f"{problem['name']}.csv",
            make(problem),
            fmt="%d",
            delimiter=",",
            header=header,
            comments="",
        )


if __name__ == "__main__":
    main()
