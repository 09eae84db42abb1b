"""PLA-GGM with one nuisance for all subjects, estimated for each subject from the others.

A nuisance that is learnt from a person's own volumes, too, takes some of that person's network with it, and
the more the more the person moves: edges look less related to motion than they are. Here the nuisance of a
subject comes from the others. All volumes are summed once; what some subjects add to the sums is
subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from plaggm.array_types import Array, Index
from plaggm.core.grams.node_grams import GramMatrices
from plaggm.core.lasso.path import lambda_max, solve_path
from plaggm.core.numerics.threads import available_threads
from plaggm.data import Confounder
from plaggm.estimators import PLAGGM
from plaggm.estimators.columns import Columns
from plaggm.estimators.problem import FitProblem
from plaggm.estimators.rows import RowLabels, memory_rows
from plaggm.estimators.spec import fit_spec
from plaggm.estimators.spline_model import SplineModel
from plaggm.estimators.walk import make_problem
from plaggm.fmri.levels import Levels, confounder_sizes, learn_levels
from plaggm.fmri.motion_roles import motion_roles
from plaggm.fmri.row_regressions import Rows
from plaggm.fmri.scan_filter import ScanFilter, learn_scan_filter
from plaggm.fmri.subjects import Subject
from plaggm.selection import information_criterion

# Penalties among which BIC chooses the pooled network that the shared nuisance belongs to.
PILOT_ALPHAS, PILOT_RATIO = 20, 0.02
PILOT_TOL, PILOT_SWEEPS = 1e-5, 500
# Parts of the subjects, for each of which R comes from the others.
CROSS_FOLDS = 10


@dataclass(frozen=True, slots=True)
class SharedNuisance:
    r"""PLA-GGM with one nuisance for all subjects.

    Person s has :math:`\Omega_s(g) = \Omega_{0s} + R(g)`. A scan of 150 volumes cannot tell R(g) from
    the person's own network, but all scans together can: R, the variance function and the conditional
    variances are learnt from all rows, and each person's :math:`\Omega_{0s}` is then estimated from
    :math:`y_j - M_j`, :math:`M_{ij} = \sum_k R_{jk}(g_i) z_{ik}`, rows weighted by the inverse variance.
    With the estimator's ``temporal`` all this is done to levelled series that one filter has whitened.

    Attributes
    ----------
    estimator : PLAGGM
        Its threshold, smoother and penalty of the nuisance are used.
    confounder_names : tuple of str
    name : str
    """

    estimator: PLAGGM
    confounder_names: tuple[str, ...]
    name: str = "pla"

    def learn(self, subjects: Sequence[Subject]) -> CrossFitted:
        """See :class:`plaggm.fmri.treatments.Treatment`."""
        return self.pool(subjects).learn(np.arange(len(subjects)))

    def pool(self, subjects: Sequence[Subject]) -> PooledVolumes:
        """Sum the volumes of all subjects, from which some can be subtracted."""
        g = np.concatenate([subject.confounder for subject in subjects])
        roles = motion_roles(self.confounder_names, g, self.estimator.threshold)
        levels = learn_levels(subjects, confounder_sizes(subjects), roles.positions)
        series = [levels.levelled(subject) for subject in subjects]
        runs = [subject.unbroken for subject in subjects]
        scan_filter = learn_scan_filter(self.estimator.temporal, series, runs)
        x = np.concatenate(
            [scan_filter.apply(one, own) for one, own in zip(series, runs, strict=True)]
        )
        estimator = roles.settled(self.estimator, x, g, available_threads())
        data = without_nuisance(estimator, x, roles.confounder(g), available_threads())
        assert isinstance(data.model, SplineModel)
        owner = np.repeat(np.arange(len(subjects)), [len(subject.x) for subject in subjects])
        names = tuple(subject.name for subject in subjects)
        return PooledVolumes(names, owner, data, data.model, levels, scan_filter)


@dataclass(frozen=True, slots=True)
class PooledVolumes:
    """Sums over the volumes of some subjects, with the design and units of all subjects.

    Levels, filter, thresholds, variances, units and the penalty of R are a few quantities of all subjects;
    R itself has hundreds of coefficients for each function of the confounders, and comes from the subjects
    that it may be learnt from.

    Attributes
    ----------
    names : tuple of str
        Names of the subjects.
    owner : ndarray of int of shape (n,)
        Number of every volume's subject.
    data : FitProblem
    model : SplineModel
    levels : Levels
    scan_filter : ScanFilter
    known : dict
        R that was learnt already, by the numbers of the subjects left out.
    """

    names: tuple[str, ...] = field(repr=False)
    owner: Index = field(repr=False)
    data: FitProblem = field(repr=False)
    model: SplineModel = field(repr=False)
    levels: Levels = field(repr=False)
    scan_filter: ScanFilter = field(repr=False)
    known: dict[tuple[int, ...], LearntNuisance] = field(default_factory=dict, repr=False)

    def learn(self, train: Index, parts: Sequence[Index] | None = None) -> CrossFitted:
        """R of some subjects, for each of them from the others alone.

        For anybody else it is that of all of them.

        Parameters
        ----------
        train : ndarray of int
            Numbers of the subjects.
        parts : sequence of ndarray of int, optional
            Division of them; R of a part comes from the other parts. With the test sets of a
            cross-validation R without two of them serves two folds, and is learnt once.
        """
        others = np.setdiff1d(np.arange(len(self.names)), train)
        if parts is None:
            folds = min(CROSS_FOLDS, len(train))
            parts = [train[k::folds] for k in range(folds)] if folds > 1 else []
        return CrossFitted(
            self.learnt(others),
            tuple(self.learnt(np.concatenate([others, part])) for part in parts),
            {self.names[k]: number for number, part in enumerate(parts) for k in part},
        )

    def learnt(self, left_out: Index) -> LearntNuisance:
        """R of all subjects but some, given by their numbers."""
        key = tuple(sorted(int(k) for k in left_out))
        if key not in self.known:
            self.known[key] = self._learnt(np.array(key, dtype=np.intp))
        return self.known[key]

    def _learnt(self, left_out: Index) -> LearntNuisance:
        data = self.data
        model = self.model
        if len(left_out):
            model = model.without(np.flatnonzero(np.isin(self.owner, left_out)))
        curve = model.curve(pilot_network(model.node_grams.rescaled(data.sigma)), data.sigma)
        return LearntNuisance(
            data.units.location,
            data.units.scale * data.sigma,
            curve,
            model.variance_function.log_variance,
            self.levels,
            self.scan_filter,
            float(model.node_grams.smoother_trace.mean()) / (len(self.names) - len(left_out)),
        )


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """R for every subject, estimated from other subjects.

    Attributes
    ----------
    everybody : LearntNuisance
        That of all subjects it was learnt from, for those who are not among them.
    parts : tuple of LearntNuisance
        Each without some of them.
    part_of : dict of str to int
        Which one serves a subject, by name.
    """

    everybody: LearntNuisance
    parts: tuple[LearntNuisance, ...]
    part_of: dict[str, int] = field(repr=False)

    def problem(self, subject: Subject) -> Rows:
        """See :class:`plaggm.fmri.treatments.Learnt`."""
        part = self.part_of.get(subject.name)
        return (self.everybody if part is None else self.parts[part]).problem(subject)


@dataclass(frozen=True, slots=True)
class LearntNuisance:
    """R(g) of some subjects together.

    Attributes
    ----------
    location, scale : ndarray of shape (p,)
        Location and scale of the regions.
    curve : callable
        Function of confounders (k, m) that gives R (k, p, p) in these units, shifts of the mean on the
        diagonal.
    log_variance : callable
        Function of confounders that gives the logarithm of the factor on all variances: shape (k,).
    levels : Levels
        Levels that every subject's series are brought to.
    scan_filter : ScanFilter
        Filter of the levelled series.
    spent : float
        Degrees of freedom of R, for each subject.
    """

    location: Array = field(repr=False)
    scale: Array = field(repr=False)
    curve: Callable[[Array], Array]
    log_variance: Callable[[Array], Array]
    levels: Levels = field(repr=False)
    scan_filter: ScanFilter = field(repr=False)
    spent: float

    def problem(self, subject: Subject) -> Rows:
        """See :class:`plaggm.fmri.treatments.Learnt`."""
        series = self.scan_filter.apply(self.levels.levelled(subject), subject.unbroken)
        u = (series - self.location) / self.scale
        nuisance = self.curve(subject.confounder)
        shift = np.einsum("ijj->ij", nuisance)
        explained = np.einsum("ijk,ik->ij", nuisance, u) - shift * u + shift
        weights = np.exp(-self.log_variance(subject.confounder))
        worth = float(np.minimum(weights, 1.0).sum()) - self.spent - subject.spent
        b = np.column_stack([u, np.ones(len(u))])
        return Rows(b, u - explained, weights / weights.mean(), worth)


def without_nuisance(
    estimator: PLAGGM, x: Array, confounder: Confounder, n_threads: int
) -> FitProblem:
    """The lasso problem of some volumes (n, p) after an estimator has removed their nuisance."""
    spec = replace(fit_spec(estimator), n_threads=n_threads)
    columns = Columns(PLAGGM, tuple(map(str, range(x.shape[1]))), None)
    return make_problem(spec, memory_rows(spec, x, RowLabels(len(x), columns, confounder, None)))


def pilot_network(node_grams: GramMatrices) -> Array:
    """The pooled network at the penalty that BIC chooses: shape (p, p)."""
    largest = lambda_max(node_grams) or 1.0
    grid = np.geomspace(largest, PILOT_RATIO * largest, PILOT_ALPHAS)
    path = solve_path(node_grams, grid, tol=PILOT_TOL, max_iter=PILOT_SWEEPS)
    scores = information_criterion(node_grams, path.omega, "bic", known_variance=False)
    return np.asarray(path.omega[int(np.argmin(scores))], dtype=np.float64)
