"""Settings that all compared methods share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from plaggm.estimators.spec import all_gaussian
from plaggm.parameter_types import (
    Alphas,
    Criterion,
    EdgeRule,
    FamilyChoice,
    Folds,
    LossName,
    ReferenceChoice,
    Temporal,
    Threshold,
    Variance,
)
from plaggm.wording import shown


@dataclass(frozen=True, slots=True)
class Choices:
    """Settings that all methods share.

    Attributes
    ----------
    threshold : "auto", float or array of shape (m,)
        g*, for methods with a threshold.
    reference : "auto", "zero", "average", number, level or mapping of these by confounder
        Reference of the confounders; see :class:`plaggm.PLAGGM`. Methods that cannot estimate such a
        network fail with the reason. LR-GGM and CON-GGM have one network for all values.
    categorical : str, sequence of str or None
        Confounders whose numbers are codes of levels.
    loss : {"pseudo", "glasso"}
        Loss of the related methods. With ``"pseudo"`` all methods except the fused one differ only in their
        treatment of the confounder.
    criterion : {"cv", "aic", "bic", "ebic", "refit", "stars"}
        Criterion that chooses the penalties.
    edges : {"fdr", "penalty"}
        Whether pairs are declared as edges by tests, for methods that have tests, or by the penalty.
    fdr : float
        False discovery rate of declared edges; only with ``edges="fdr"``.
    alphas : int or array
        Number of penalties, or the penalties themselves, decreasing.
    cv : int or splitter
        Folds of the cross-validation.
    unit_variance : bool
        Whether the data have unit conditional variances, as assumed by the paper's estimator and simulated
        by ``simulate_paper``. Otherwise columns are standardised for this estimator.
    variance : {"function", "conditional", "unit"}
        Conditional variances of PLA-GGM by the spline and by the kernel; those of the paper's are one.
    family : {"gaussian", "binomial", "poisson"} or dict
        Distribution of each variable given the others, see :class:`plaggm.PLAGGM`. Methods for Gaussian
        variables fail with the reason if there are others.
    smoothing : mapping
        ``indicator``, ``form``, ``kernel``, ``bandwidth`` and ``ridge`` of the method ``kernel``, see
        :class:`plaggm.PLAGGM`; those of the paper's estimator are fixed.
    max_iter : int, optional
        Largest number of sweeps of the kernel estimators, whose smallest penalties can be slow.
    temporal : {None, "ar"} or int
        Filter of rows that are time series, see :class:`plaggm.PLAGGM`; None treats rows as independent.
    seed : int
        Seed of the folds.
    n_jobs : int, optional
        Number of parallel fits; by default one.

    Examples
    --------
    >>> Choices(threshold=0.5, criterion="bic").fdr
    0.05
    """

    threshold: Threshold = "auto"
    reference: ReferenceChoice = "auto"
    categorical: str | Sequence[str] | None = None
    loss: LossName = "pseudo"
    criterion: Criterion = "cv"
    edges: EdgeRule = "fdr"
    fdr: float = 0.05
    alphas: Alphas = 100
    cv: Folds = 10
    unit_variance: bool = False
    variance: Variance = "function"
    family: FamilyChoice = "gaussian"
    smoothing: Mapping[str, Any] = field(default_factory=dict)
    max_iter: int | None = None
    temporal: Temporal | None = None
    seed: int = 0
    n_jobs: int | None = None

    @property
    def gaussian(self) -> bool:
        """Whether all variables are Gaussian."""
        return all_gaussian(self.family)

    def target(self) -> Literal["zero", "average"]:
        """The parameter ``target`` of TV-GGM; raises ValueError for other references."""
        asked = self.reference.values() if isinstance(self.reference, Mapping) else [self.reference]
        kinds = set(asked)
        if kinds <= {"zero", "auto"}:
            return "zero"
        if kinds == {"average"}:
            return "average"
        raise ValueError(
            "TV-GGM estimates the network at zero or on average; the reference is "
            f"{self.reference_words()}."
        )

    def need_amounts(self, name: str) -> None:
        """Raise unless the network refers to samples below a threshold."""
        if self.target() != "zero":
            raise ValueError(
                f"{name} compares with samples below a threshold, and the reference is "
                f"{self.reference_words()}, not zero."
            )

    def reference_words(self) -> str:
        """Description of the reference of each confounder.

        Examples
        --------
        >>> Choices(reference={"age": "average", "site": "B"}).reference_words()
        'average for age, B for site'
        """
        if not isinstance(self.reference, Mapping):
            return shown(self.reference)
        return ", ".join(f"{value} for {name}" for name, value in self.reference.items())

    def selection(self) -> dict[str, Any]:
        """Parameters of all estimators."""
        folds = {"cv": self.cv} if self.criterion == "cv" else {}
        return dict(
            criterion=self.criterion,
            alphas=self.alphas,
            temporal=self.temporal,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            **folds,
        )

    def declared(self) -> dict[str, Any]:
        """Parameters of PLA-GGM that declare the edges."""
        return {"edges": self.edges, **({"fdr": self.fdr} if self.edges == "fdr" else {})}
