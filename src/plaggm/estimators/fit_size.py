"""Sizes of a fit, from its parameters and labels, by which its memory is estimated beforehand."""

from __future__ import annotations

from numbers import Integral

from plaggm.core.cost.fit_memory import KEPT, FitSize, PathSize
from plaggm.core.spline.confounder_bins import EQUAL_COUNTS, EQUAL_STEPS
from plaggm.core.spline.design import SplineDesign
from plaggm.estimators.design import given_threshold, nuisance_basis, quantile_threshold
from plaggm.estimators.rows import RowLabels
from plaggm.estimators.spec import FitSpec
from plaggm.selection import PenaltySpec
from plaggm.selection.parallel import local_jobs

# Number of folds assumed for a splitter.
USUAL_FOLDS = 10


def path_size(penalties: PenaltySpec, n_jobs: int | None, networks: int = 1) -> PathSize:
    """Sizes of a path and of the choice among its penalties.

    Parameters
    ----------
    penalties : PenaltySpec
    n_jobs : int, optional
    networks : int
        Networks that are estimated at every penalty.
    """
    alphas = penalties.alphas
    splits = {
        "cv": int(penalties.cv) if isinstance(penalties.cv, Integral) else USUAL_FOLDS,
        "stars": penalties.n_subsamples,
    }.get(penalties.criterion, 0)
    return PathSize(
        alphas if isinstance(alphas, int) else len(alphas),
        splits,
        local_jobs(n_jobs),
        penalties.criterion == "cv",
        networks,
    )


def rows_size(spec: FitSpec, labels: RowLabels, *, in_memory: bool) -> FitSize:
    """Sizes of a fit to rows.

    Parameters
    ----------
    spec : FitSpec
    labels : RowLabels
    in_memory : bool
        Whether the rows are held in memory.
    """
    confounder, q = labels.confounder, labels.q
    kernel = spec.smoother == "kernel" and confounder is not None
    automatic = isinstance(spec.threshold, str)
    functions, sides, bins = 0, 0, 1
    if confounder is not None:
        if automatic:
            limits = quantile_threshold(confounder, q)
        else:
            limits = given_threshold(spec.threshold, confounder.names, confounder.all_references)
        basis = nuisance_basis(confounder, limits, labels.n, q)
        functions, sides = basis.size, len(basis.terms)
        if not kernel and spec.inflation and len(set(basis.confounders)) == 1:
            bins = sides * (EQUAL_COUNTS + EQUAL_STEPS)
    # While thresholds or bandwidths of the kernel are compared, the best fit so far is held as well.
    searched = kernel and (automatic or str(spec.kernel.bandwidth) == "cv")
    path = path_size(spec.penalties, spec.n_jobs)
    numbers = labels.group_numbers()
    return FitSize(
        labels.n if in_memory else 0,
        q - 1,
        kernel or sides > 0 or not spec.gaussian,
        path,
        functions=functions,
        bins=bins,
        threads=spec.n_threads if automatic and not kernel else 1,
        kernel=kernel,
        formed=kernel or not spec.gaussian,
        spare=KEPT if searched else 0,
        subsets=max(path.splits, 0 if numbers is None else int(numbers.max()) + 1),
        weighted=not spec.gaussian,
    )


def sums_size(spec: FitSpec, p: int, design: SplineDesign) -> FitSize:
    """Sizes of a fit to rows that are known by their sums.

    Parameters
    ----------
    spec : FitSpec
    p : int
        Variables.
    design : SplineDesign
    """
    functions = design.basis.size
    path = path_size(spec.penalties, spec.n_jobs)
    return FitSize(0, p, functions > 0, path, functions=functions, subsets=path.splits)
