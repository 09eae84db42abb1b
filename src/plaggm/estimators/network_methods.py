"""What every estimator of a network does before and after the estimate itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from plaggm.core.dependence import correlations
from plaggm.core.threads import single_threaded_blas
from plaggm.data import (
    Confounder,
    as_confounder,
    check_columns,
    check_dependence,
    check_finite,
    check_numeric_frame,
    check_partial_correlations,
    refuse_huge_integers,
    variable_names,
)
from plaggm.result import (
    GraphResult,
    adjacency_matrix,
    graph_from,
    library_versions,
    partial_correlations,
    plain_settings,
    precision_matrix,
)
from plaggm.selection.parallel import local_threads

if TYPE_CHECKING:
    import networkx
    import pandas as pd

    from plaggm.selection import Choice

Array = NDArray[np.float64]


class NetworkMethods:
    """Validation, the fitted network's attributes, and its ways out: frame, graph and result."""

    n_jobs: int | None
    verbose: int
    alpha_: float
    dual_gap_: float
    n_iter_: int
    confounder_names_: tuple[str, ...]
    threshold_: float | Array | None
    bandwidth_: float | Array | None
    _n_samples: int
    _n_unconfounded: int

    def to_networkx(self) -> networkx.Graph:
        """A networkx graph with the variables' names and partial correlations as weights."""
        check_is_fitted(self)
        return graph_from(self._names, self.partial_correlation_)

    def edges(self) -> pd.DataFrame:
        """The edges, strongest first: source, target, partial_correlation."""
        return self.to_result().edges()

    @single_threaded_blas()
    def to_result(self) -> GraphResult:
        """The fit as a :class:`plaggm.GraphResult`, which can be saved and read again."""
        check_is_fitted(self)
        grid, nuisance, error = self._nuisance_on_grid()
        return GraphResult(
            names=self._names,
            omega=self.omega_,
            location=self.location_,
            scale=self.scale_,
            alpha=self.alpha_,
            confounder_names=self.confounder_names_,
            threshold=None if self.threshold_ is None else np.atleast_1d(self.threshold_),
            bandwidth=None if self.bandwidth_ is None else np.atleast_1d(self.bandwidth_),
            confounder_grid=grid,
            nuisance=nuisance,
            nuisance_error=error,
            confounder_sample=self._confounder_sample(),
            alphas=getattr(self, "alphas_", None),
            omega_path=getattr(self, "omega_path_", None),
            criterion_path=getattr(self, "criterion_path_", None),
            criterion_error=getattr(self, "cv_standard_error_", None),
            stability=getattr(self, "edge_stability_", None),
            settings={
                "estimator": type(self).__name__,
                **plain_settings(self.get_params(deep=False)),  # type: ignore[attr-defined]
            },
            diagnostics=self._diagnostics(),
            versions=library_versions(),
        )

    def _diagnostics(self) -> dict[str, Any]:
        return {
            "n_samples": self._n_samples,
            "n_unconfounded": self._n_unconfounded,
            "dual_gap": self.dual_gap_,
            "n_iter": self.n_iter_,
        }

    def _nuisance_on_grid(self) -> tuple[Array | None, Array | None, Array | None]:
        """Confounder values, the nuisance there and its error, for estimators that have them."""
        return None, None, None

    def _confounder_sample(self) -> Array | None:
        """Observed confounders at evenly spaced ranks, for estimators that keep them."""
        return None

    def _set_network(self, omega: Array, location: Array, scale: Array) -> None:
        """Set the attributes that follow from omega and the scale it refers to."""
        self.omega_ = omega
        self.location_ = location
        self.scale_ = scale
        self.adjacency_ = adjacency_matrix(omega)
        self.partial_correlation_ = partial_correlations(omega)
        self.precision_ = precision_matrix(omega, scale)
        check_partial_correlations(omega, self._names)

    def _set_choice(self, choice: Choice) -> None:
        """Set the attributes that tell how the penalty was chosen, and remove those of earlier fits."""
        found = {
            "criterion_path_": choice.criterion,
            "cv_loss_": choice.loss,
            "cv_standard_error_": choice.standard_error,
            "edge_stability_": choice.edge_stability,
        }
        for name, value in found.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    def _threads(self) -> int:
        return local_threads(self.n_jobs)

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _validate_x(
        self, X: Any, *, reset: bool, fewest: int | None = None, first_row: int = 0
    ) -> Array:
        check_numeric_frame(X)
        try:
            x = validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_all_finite=False,
                ensure_min_samples=fewest or (3 if reset else 1),
                ensure_min_features=2 if reset else 1,
            )
        except OverflowError as error:
            refuse_huge_integers(X, "X", error)
        check_finite(x, variable_names(X, x.shape[1]), "X", first_row, of=X)
        return x

    def _validate(self, X: Any, confounder: Any) -> tuple[Array, Confounder | None]:
        """Everything that can be wrong with the data is found here."""
        x = self._validate_x(X, reset=True)
        self._names = variable_names(X, x.shape[1])
        check_columns(x, self._names)
        smooths = confounder is not None and getattr(self, "smoother", None) == "kernel"
        ridge = getattr(self, "ridge", None) if smooths else None
        check_dependence(correlations(x), len(x), self._names, ridge=ridge)
        checked = None if confounder is None else as_confounder(confounder, X, len(x))
        if checked is not None:
            self._say(f"removing the nuisance of {', '.join(checked.names)} from {len(x)} samples")
        return x, checked


def finite_score(value: float) -> float:
    """A score, unless the samples have none."""
    if not np.isfinite(value):
        raise ValueError(
            "These samples have no score: there are none with weight, or they lie so far from those of the "
            "fit that their likelihood is zero in double precision. Look at their values and units."
        )
    return float(value)


def scalar(values: Array | None) -> float | Array | None:
    """The only entry of an array of one, which is how a single confounder's value is shown."""
    if values is None:
        return None
    return float(values[0]) if len(values) == 1 else values
