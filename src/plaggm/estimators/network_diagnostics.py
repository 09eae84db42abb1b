"""Diagnostics of a fit for its result."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from plaggm.core.confounding.grouped_confounders import constant_within
from plaggm.core.confounding.rows import UntestableError
from plaggm.core.families.covariances import dispersions
from plaggm.estimators.family_model import FamilyModel
from plaggm.estimators.fitted_network import FittedNetwork
from plaggm.estimators.outlying_rows import outlying_sample
from plaggm.estimators.row_warnings import resembling_neighbours


def network_diagnostics(network: FittedNetwork) -> dict[str, object]:
    """Diagnostics by name, with the test of R = 0 if it is possible."""
    problem = network.problem
    names, rows, preparation = problem.columns.names, problem.rows, problem.preparation
    found: dict[str, object] = dict(problem.model.diagnostics)
    if preparation.winsor is not None:
        found |= preparation.winsor.diagnostics(names)
    if preparation.margins is not None:
        found |= preparation.margins.diagnostics(names)
    found |= _overdispersion(network)
    if problem.missing is not None:
        found |= problem.missing.diagnostics()
    if problem.completion is not None and network.information is not None:
        found |= problem.completion.diagnostics(network.information, problem.n)
    if preparation.serial is not None:
        found |= preparation.serial.diagnostics()
        groups = None if rows is None else rows.labels.given_groups()
        if groups is not None:
            # Standard errors come from leaving out groups, not blocks of rows.
            del found["n_blocks"], found["block_rows"]
            found["jackknife_groups"] = int(groups.max()) + 1
    elif rows is not None:
        alike = resembling_neighbours(rows)
        if alike is not None:
            found["dependent_variable"], found["dependent_lag1_correlation"] = alike
    found |= _group_diagnostics(network)
    if network.adjusted and rows is not None:
        with suppress(UntestableError):
            test = network.confounding
            found |= {"confounding_p_value": test.p_value, "confounding_method": test.method}
    leading = _leading_sample(network)
    if leading is not None:
        row, column = leading
        used = None if rows is None else rows.labels.used
        if used is not None:
            # Rows are numbered as in the table that was given, before some were left out.
            row = int(used.index[row])
        found |= {"leading_row": row, "leading_variable": names[column]}
    if network.spec.penalties.criterion != "given":
        found["largest_dual_gap"] = float(network.path.gaps.max())
    return found


def _overdispersion(network: FittedNetwork) -> dict[str, object]:
    """Largest dispersion of a count given the other variables, relative to a Poisson variable."""
    model = network.problem.model
    counts = model.columns.of("poisson") if isinstance(model, FamilyModel) else ()
    if not isinstance(model, FamilyModel) or not len(counts):
        return {}
    eta = model.rows.predictors(model.nuisance_coefficients(network.omega))
    found = dispersions(model.rows, eta)
    most = int(counts[np.argmax(found[counts])])
    return {
        "overdispersion": float(found[most]),
        "most_overdispersed": network.problem.columns.names[most],
    }


def _group_diagnostics(network: FittedNetwork) -> dict[str, object]:
    """Confounders that are constant within groups, and the number of groups."""
    rows = network.problem.rows
    groups = None if rows is None else rows.labels.given_groups()
    if rows is None or groups is None or not network.adjusted:
        return {}
    whole = constant_within(rows.confounder, groups)
    names = [name for name, one in zip(network.problem.confounder_names, whole, strict=True) if one]
    if not names or int(groups.max()) + 1 == len(groups):
        return {}
    return {"group_confounders": names, "confounder_groups": int(groups.max()) + 1}


def _leading_sample(network: FittedNetwork) -> tuple[int, int] | None:
    """Most influential row in the correlations, and its most extreme variable; None without outliers."""
    rows = network.problem.rows
    if rows is None:
        return None
    try:
        found = network.confounding if network.adjusted else None
        if found is not None and found.leading_row is not None:
            assert found.leading_column is not None
            return found.leading_row, found.leading_column
        away = network.deviations(rows.confounder) if network.adjusted else None
        return outlying_sample(rows.table()[:, :-1], away, network.edge_table.dispersion > 1.0)
    except ValueError:
        # The rows, or the pairs, cannot be tested; the result has the reason.
        return None
