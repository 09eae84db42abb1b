"""Types of the parameters that estimators and related methods take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Index

Fold: TypeAlias = tuple[Index, Index]


class Splitter(Protocol):
    """A splitter of scikit-learn, or an object with the same interface."""

    def split(
        self, X: object, y: object = None, groups: object = None
    ) -> Iterator[tuple[Index, Index]]:
        """Training and test rows of each fold."""
        ...


Folds: TypeAlias = int | Splitter | Iterable[Fold]
Seed: TypeAlias = int | np.random.RandomState | None
Smoother: TypeAlias = Literal["spline", "kernel"]
Threshold: TypeAlias = Literal["auto"] | float | ArrayLike
# "auto", "zero", "average", a level or a value; or these by confounder.
ReferenceChoice: TypeAlias = str | float | Mapping[str, str | float]
Tau: TypeAlias = Literal["focused", "reml"] | float
IndicatorChoice: TypeAlias = Literal["ramp", "soft", "hard"] | Callable[[Array], Array]
FormChoice: TypeAlias = Literal["auto", "lemma", "supplement"]
Bandwidth: TypeAlias = Literal["auto", "cv"] | float | ArrayLike
Variance: TypeAlias = Literal["function", "conditional", "unit"]
Standardize: TypeAlias = bool | Literal["auto"]
Alphas: TypeAlias = int | ArrayLike
Criterion: TypeAlias = Literal["cv", "aic", "bic", "ebic", "refit", "stars"]
LossName: TypeAlias = Literal["glasso", "pseudo"]
Subsample: TypeAlias = Literal["auto"] | float
Temporal: TypeAlias = Literal["ar"] | int
Missing: TypeAlias = Literal["refuse", "drop", "em"]
Robust: TypeAlias = Literal["winsor"]
MarginChoice: TypeAlias = Literal["gaussian", "rank"]
FamilyName: TypeAlias = Literal["gaussian", "binomial", "poisson"]
# One family for all variables, or families by variable.
FamilyChoice: TypeAlias = FamilyName | Mapping[str, FamilyName]
EdgeRule: TypeAlias = Literal["fdr", "penalty"]
