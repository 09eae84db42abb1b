"""Estimates of the memory that a fit needs, so that it can be refused beforehand.

With the kernel smoother, and with few variables, there are several copies of p Gram matrices of (p + 1)^2
numbers. With many variables those of the spline are factored, and the lasso needs some p x p matrices and
the blocks of its working pairs. How the numbers of copies were checked is in docs/decisions.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from plaggm.core.lasso.path import MANY_VARIABLES
from plaggm.core.lasso.sparse_lasso import BLOCK_BYTES as LASSO_BLOCK_BYTES
from plaggm.core.profile.kernel import BLOCK_BYTES
from plaggm.core.profile.spline import FACTORED_FROM
from plaggm.core.variance.conditional import PILOT_ALPHAS
from plaggm.memory import GIGABYTES, available_memory, in_bytes

DOUBLE = 8
# Copies of all node Grams: at the peak of a fit; while folds or subsamples are fitted; at the peak of each
# fold (with held-out rows) and subsample (without).
FIT, KEPT, FOLD, SUBSAMPLE = 4, 2, 6, 3
# Copies of all networks of a path while residuals are computed, and while paths are averaged.
RESIDUALS, STACKED = 4, 2
# Matrices of p^2 numbers of the lasso of many variables, in addition to the blocks of its pairs.
LASSO = 14
# Copies of the rows, of the spline's system and of the statistics of all bins.
ROWS, SYSTEMS, BINS = 3, 6, 3
# Matrices of shape (M q, q) of a weighted node, in addition to its inverse.
WEIGHTED = 2


class InsufficientMemoryError(ValueError, MemoryError):
    """A fit needs more memory than is available; the message names alternatives."""


@dataclass(frozen=True, slots=True)
class PathSize:
    """Number of penalties and of the fits that choose among them.

    Attributes
    ----------
    alphas : int
        Penalties.
    splits : int
        Folds or subsamples.
    jobs : int
        Folds or subsamples that run in parallel in this process.
    held_out : bool
        Whether they have held-out rows.
    networks : int
        Networks that are estimated at every penalty.
    """

    alphas: int = 1
    splits: int = 0
    jobs: int = 1
    held_out: bool = True
    networks: int = 1


@dataclass(frozen=True, slots=True)
class FitSize:
    """Sizes of a fit.

    Attributes
    ----------
    n, p : int
        Numbers of rows in memory and of variables.
    confounded : bool
        Whether node Grams differ between nodes.
    path : PathSize
    functions : int
        Functions of the spline.
    bins : int
        Bins of the confounder with separate statistics.
    subsets : int
        Folds or groups with separate statistics.
    threads : int
        Thresholds that are tried in parallel.
    kernel : bool
        Whether the nuisance is removed by the kernel smoother.
    formed : bool
        Whether all node Grams are formed for any number of variables.
    spare : int
        Additional copies of all node Grams while others are tried.
    weighted : bool
        Whether every node has separate weights, as for variables that are not Gaussian.
    """

    n: int
    p: int
    confounded: bool
    path: PathSize = PathSize()
    functions: int = 0
    bins: int = 1
    subsets: int = 0
    threads: int = 1
    kernel: bool = False
    formed: bool = False
    spare: int = 0
    weighted: bool = False

    @property
    def factored(self) -> bool:
        """Whether node Grams are never formed."""
        return not self.formed and self.p >= (FACTORED_FROM if self.confounded else MANY_VARIABLES)

    def peak_bytes(self) -> int:
        """Peak memory of the fit in bytes.

        Examples
        --------
        >>> from plaggm.memory import in_bytes
        >>> in_bytes(FitSize(n=500, p=800, confounded=True, functions=2).peak_bytes())
        '1.7 GB'
        """
        p, q, size, path = self.p, self.p + 1, self.functions, self.path
        grams = DOUBLE * q * q * (p if self.confounded else 1)
        lasso = 0
        if self.factored:
            grams = DOUBLE * (q * q + 2 * p * (1 + size) * q)
            lasso = DOUBLE * LASSO * p * p + min(LASSO_BLOCK_BYTES, DOUBLE // 2 * p**3)
        steps = DOUBLE * max(path.alphas, PILOT_ALPHAS) * p * q
        networks = steps * (STACKED * path.networks if path.networks > 1 else 1)
        statistics = DOUBLE * (1 + size + size * (size + 1) // 2) * q * (q + 1) // 2
        system = SYSTEMS * DOUBLE * ((1 + size) * q) ** 2 if size else 0
        rows = ROWS * DOUBLE * self.n * q
        block = min(DOUBLE * self.n * p * q, BLOCK_BYTES) if self.kernel else 0
        before = self.threads * (BINS * self.bins * statistics + system)
        residuals = steps if self.factored else RESIDUALS * steps
        fit = max(FIT * grams + networks + lasso, grams + residuals, KEPT * grams + block)
        jobs = min(path.jobs, path.splits)
        # Folds of many variables are judged one penalty at a time.
        stored = 0 if self.factored and path.held_out else steps
        one = max(
            (FOLD if path.held_out else SUBSAMPLE) * grams + lasso + stored,
            KEPT * grams + max(residuals, block),
        )
        folds = KEPT * grams + networks + jobs * one if jobs else 0
        always = rows + system + self.subsets * statistics + self.spare * grams
        if self.weighted:
            inverses = DOUBLE * size * q * (size + WEIGHTED) * q
            products = DOUBLE * (1 + size) * q * (self.n + path.alphas * p)
            always += p * (statistics + inverses) + products
        return always + max(before, fit, folds)


def check_fit_memory(size: FitSize) -> None:
    """Raise if a fit needs more memory than is available."""
    free = available_memory()
    need = size.peak_bytes()
    if free is None or need <= free:
        return
    ways = []
    for path, words in (
        (replace(size.path, jobs=1), "with n_jobs=1"),
        (replace(size.path, splits=0), "with criterion='ebic'"),
    ):
        less = replace(size, path=path).peak_bytes()
        if less < need and less <= free:
            ways.append(f"{words} it would take {in_bytes(less)}")
    if size.kernel:
        spline = replace(size, kernel=False, formed=False, spare=0).peak_bytes()
        ways.append(f"with smoother='spline' it would take {in_bytes(spline)}")
    low, high = 1, size.p
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if replace(size, p=middle).peak_bytes() <= free else (low, middle)
        )
    ways.append(f"about {low} variables would fit as it is")
    raise InsufficientMemoryError(
        f"A fit of {size.p} variables takes about {in_bytes(need)} of memory, and {in_bytes(free)} are "
        f"free: {', and '.join(ways)}. Where there is more than that, say so by the environment variable "
        f"{GIGABYTES} (in gigabytes)."
    )
