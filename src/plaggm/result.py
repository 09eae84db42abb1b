"""The result of a fit, which is saved as JSON and arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from plaggm.array_types import Array, Mask
from plaggm.atomic_files import MOST_CSV_ROWS, write_csv, write_table
from plaggm.centrality_table import centrality_frame
from plaggm.edge_table import EdgeTable, edge_frame, square
from plaggm.exports import Network, export_network, igraph_from, networkx_from
from plaggm.moderation_table import USUAL_RATE, ModerationTable
from plaggm.network_matrices import partial_correlations, precision_matrix
from plaggm.nuisance_table import DIGITS, nuisance_frame
from plaggm.result_content import replaced_result, write_content, write_single_file
from plaggm.result_summary import summary_text

if TYPE_CHECKING:
    import igraph
    import networkx


@dataclass(frozen=True, slots=True)
class GraphResult:
    """A fitted network with everything needed to interpret, draw or repeat it.

    The model holds for z = (x - location) / scale.

    Attributes
    ----------
    names : tuple of str
        Names of the p variables.
    omega : ndarray of shape (p, p)
        Baseline network off the diagonal, intercepts on it.
    location, scale : ndarray of shape (p,)
        Mean and unit of every variable, in the units of the data.
    alpha : float
        Penalty of the edges.
    confounder_names : tuple of str
        Empty for a fit without confounder.
    references : dict
        Reference of every confounder, by its name: "zero", "average", a value or the name of a level. Empty
        if the reference of every confounder is zero.
    levels : dict
        Names of the levels of every factor among the confounders; its values are their numbers.
    threshold, bandwidth : ndarray of shape (m,), optional
        Values in the confounder's units; NaN for a confounder without threshold.
    confounder_grid : ndarray of shape (k, m), optional
        Confounder values of the nuisance: one confounder after the other takes its observed values while
        the others are zero, or NaN if R is not zero at zero.
    nuisance, nuisance_error : ndarray of shape (k, p, p), optional
        R at these values, shifts of the intercepts on the diagonal; and its pointwise standard errors.
    confounder_sample : ndarray of shape (s, m), optional
        Observed values of each confounder at evenly spaced ranks, which show its distribution.
    alphas : ndarray of shape (n_alphas,), optional
        Penalties of the path, decreasing.
    omega_path : ndarray of shape (n_alphas, p, p), optional
        Networks along the path.
    criterion_path, criterion_error : ndarray of shape (n_alphas,), optional
        Criterion that chose the penalty, smaller is better; for cross-validation also its standard error.
    stability : ndarray of shape (p, p), optional
        Share of the resamples in which each pair is an edge.
    edge_table : EdgeTable, optional
        Tests of all pairs.
    moderation_table : ModerationTable, optional
        Tests of which pairs change with which confounder, if they were requested.
    settings : dict
        Parameters of the estimator. With tests and ``settings["edges"] == "fdr"`` the edges are those with
        a q-value of at most ``settings["fdr"]``; else those of omega.
    diagnostics, versions : dict
        Diagnostics of the fit; versions of plaggm and the libraries that it uses.

    Examples
    --------
    >>> from plaggm import PLAGGM
    >>> result = PLAGGM(0.1).fit(np.random.default_rng(0).standard_normal((99, 3))).to_result()
    >>> result.names, result.inference().shape
    (('x0', 'x1', 'x2'), (3, 9))
    """

    names: tuple[str, ...]
    omega: Array
    location: Array
    scale: Array
    alpha: float
    confounder_names: tuple[str, ...] = ()
    references: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    threshold: Array | None = None
    bandwidth: Array | None = None
    confounder_grid: Array | None = None
    nuisance: Array | None = None
    nuisance_error: Array | None = None
    confounder_sample: Array | None = None
    alphas: Array | None = None
    omega_path: Array | None = None
    criterion_path: Array | None = None
    criterion_error: Array | None = None
    stability: Array | None = None
    edge_table: EdgeTable | None = None
    moderation_table: ModerationTable | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """One line without the arrays."""
        adjusted = f"adjusted for {', '.join(self.confounder_names)}"
        return (
            f"GraphResult({len(self.names)} variables, {self.n_edges} edges, alpha={self.alpha:.4g}, "
            f"{adjusted if self.confounder_names else 'not adjusted'})"
        )

    @property
    def deciding_tests(self) -> EdgeTable | None:
        """The tests that declare the edges; None if the penalty does."""
        settings = self.settings if isinstance(self.settings, dict) else {}
        return self.edge_table if settings.get("edges") == "fdr" else None

    @property
    def fdr(self) -> float | None:
        """False discovery rate at which the edges are declared; None if the penalty declares them."""
        return None if self.deciding_tests is None else float(self.settings["fdr"])

    @property
    def gaussian(self) -> bool:
        """Whether all variables are Gaussian."""
        settings = self.settings if isinstance(self.settings, dict) else {}
        family = settings.get("family", "gaussian")
        given = family.values() if isinstance(family, dict) else (family,)
        return all(one == "gaussian" for one in given)

    @property
    def network(self) -> Array:
        """Partial correlations of the edges, zero elsewhere and on the diagonal: shape (p, p).

        Unpenalised estimates if tests declare the edges, else the entries of omega.
        """
        if self.deciding_tests is None:
            return self.partial_correlation - np.eye(len(self.names))
        return self.deciding_tests.network(self.settings["fdr"])

    @property
    def adjacency(self) -> Mask:
        """Which pairs are edges: shape (p, p)."""
        return self.network != 0.0

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(np.triu(self.network, 1)))

    @property
    def partial_correlation(self) -> Array:
        """Partial correlations of omega, between -1 and 1, one on the diagonal: shape (p, p)."""
        return partial_correlations(self.omega)

    @property
    def precision(self) -> Array:
        """Precision matrix of omega in the units of the data: shape (p, p)."""
        return precision_matrix(self.omega, self.scale)

    def matrix(self) -> pd.DataFrame:
        """The network with the variables' names on both sides and ones on the diagonal."""
        values = self.network + np.eye(len(self.names))
        return pd.DataFrame(values, index=self.names, columns=self.names)

    def edges(self) -> pd.DataFrame:
        """The edges, strongest first.

        Returns
        -------
        DataFrame
            Table with the columns source, target, partial_correlation, weight (the same number, under the
            name that graph libraries and exports use) and precision (entry of the precision matrix in the
            units of the data). Variables that are not Gaussian have coefficient in its place, the
            coefficient in the natural parameter: between two binary variables the log odds ratio. If tests
            declare the edges, the table also has the columns of :meth:`inference`, and if available
            stability.
        """
        return edge_frame(
            self.names,
            self.network,
            self.scale,
            self.deciding_tests,
            self.stability,
            gaussian=self.gaussian,
        )

    def inference(self) -> pd.DataFrame:
        """The tests of all pairs, one row for each.

        Returns
        -------
        DataFrame
            Table with the columns source, target, estimate, standard_error, low and high (95 % interval),
            z, p_value, q_value and, if available, change_p_value and change_q_value (of no difference
            between the estimates without and with adjustment).
        """
        if self.edge_table is None:
            raise ValueError(
                "This result holds no tests of its edges. Fit the model again with this version of plaggm "
                "to have them."
            )
        return self.edge_table.frame(self.names)

    def moderation(self) -> pd.DataFrame:
        """Tests of which pairs change with which confounder; see :meth:`plaggm.PLAGGM.moderation`.

        Returns
        -------
        DataFrame
            Table with the columns source, target, confounder, statistic, degrees_of_freedom, p_value,
            q_value, largest_change and largest_at.
        """
        if self.moderation_table is None:
            raise ValueError(
                "This result holds no tests of which edges change with a confounder. Ask for them with "
                "to_result(moderation=True) of a model that was fitted with one."
            )
        return self.moderation_table.frame(self.names, self.confounder_names, self.levels)

    def centrality(self, groups: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Centrality of every variable in the network, the strongest first, with 95 % intervals.

        Strength is the sum of a variable's absolute partial correlations, expected influence the sum with
        their signs. If tests declare the edges, both are posterior means over all pairs, under a prior
        learnt from all of them, which are not biased by false or missed edges. Otherwise they are sums over
        the edges.

        Parameters
        ----------
        groups : mapping of str, optional
            Group of every variable by its name (a trait, a sector), for bridge centralities: those of edges
            between groups.

        Returns
        -------
        DataFrame
            Table with the columns variable, group (with ``groups``), degree, strength, expected_influence,
            and bridge_strength and bridge_expected_influence (with ``groups``); if tests declare the edges,
            intervals are in columns that end in ``_low`` and ``_high``.

        Notes
        -----
        Standard errors of the pairs are those of :meth:`inference`; the covariances of a variable's partial
        correlations follow from the network. See ``docs/pictures.md`` for the calibration.
        """
        return centrality_frame(self.names, self.network, self.deciding_tests, groups)

    def nuisance_table(self, *, short: bool = False) -> pd.DataFrame:
        """The nuisance R of every pair along each confounder, one row for each value and pair.

        Parameters
        ----------
        short : bool
            Whether to list at most 50,000 rows as in ``nuisance.csv``, preferably of declared and changing
            pairs.

        Returns
        -------
        DataFrame
            Table with the columns confounder, value (the level of a factor), source, target, nuisance and,
            if available, standard_error; without rows if the result has no nuisance.
        """
        first = self.network[np.triu_indices(len(self.names), 1)] != 0.0
        if self.moderation_table is not None:
            first |= (self.moderation_table.q_value <= (self.fdr or USUAL_RATE)).any(axis=0)
        return nuisance_frame(
            self.names,
            self.confounder_names,
            self.levels,
            self.confounder_grid,
            self.nuisance,
            self.nuisance_error,
            first if short else None,
        )

    def to_networkx(self) -> networkx.Graph:
        """A networkx graph of all variables, with the partial correlations of the edges as weights.

        Edges also have the attributes estimate and q_value if tests declare them, and stability if the
        result has it.
        """
        return networkx_from(self._exported())

    def to_igraph(self) -> igraph.Graph:
        """An igraph graph with the attributes name, weight and those of :meth:`to_networkx`."""
        return igraph_from(self._exported())

    def export(
        self, path: str | os.PathLike[str], *, coordinates: ArrayLike | None = None
    ) -> tuple[Path, ...]:
        """Write the network for another program, chosen by the file extension.

        ``.graphml`` for igraph, networkx and Cytoscape, ``.gexf`` for Gephi, ``.node`` or ``.edge`` for
        BrainNet Viewer, which needs both files.

        Parameters
        ----------
        path : str or path
        coordinates : array of shape (p, 3), optional
            Places of the variables in millimetres, for BrainNet Viewer; a circle without them.

        Returns
        -------
        tuple of Path
            The files written.
        """
        return export_network(self._exported(), Path(path), coordinates)

    def _exported(self) -> Network:
        attributes = {}
        tests = self.deciding_tests
        if tests is not None:
            attributes = {"estimate": square(tests.estimate), "q_value": square(tests.q_value)}
        if self.stability is not None:
            attributes["stability"] = self.stability
        return Network(self.names, self.network, attributes)

    def summary(self) -> str:
        """A short description."""
        return summary_text(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the result to a folder, or to one file if the name ends in ``.npz``.

        A folder holds what :func:`plaggm.read_result` reads, ``result.json`` (names, settings, versions,
        diagnostics), ``arrays.npz`` and ``path.npz`` (if there is a path), and the same for other
        programs: ``edges.csv``, ``pairs.csv`` (tests of all pairs, if available), ``moderation.csv`` (tests
        of which pairs change, if available), ``centrality.csv``, ``matrix.csv``, ``nuisance.csv`` (with a
        confounder; if there are many pairs, of some) and ``network.graphml``. With more than a million
        pairs tables are Parquet, and there is no ``matrix.csv``. Writing is atomic. Spreadsheets do not
        execute text of the CSV files.

        Parameters
        ----------
        path : str or path
        overwrite : bool
            Whether an existing result may be replaced.

        Returns
        -------
        Path
        """
        path = Path(path)
        with replaced_result(path, overwrite=overwrite) as new:
            if path.suffix == ".npz":
                with new.open("wb") as file:
                    self.write_archive(file)
            else:
                new.mkdir()
                self.write_files(new)
        return path

    def write_files(self, folder: Path) -> None:
        """Write the files of a result into a folder that exists; :meth:`save` does so safely."""
        write_content(self, folder)
        write_table(folder, "edges", self.edges())
        if self.edge_table is not None:
            write_table(folder, "pairs", self.inference())
        if self.moderation_table is not None:
            write_table(folder, "moderation", self.moderation())
        write_table(folder, "centrality", self.centrality())
        if len(self.names) * (len(self.names) - 1) // 2 <= MOST_CSV_ROWS:
            write_csv(folder / "matrix.csv", self.matrix())
        if self.nuisance is not None:
            write_table(folder, "nuisance", self.nuisance_table(short=True), float_format=DIGITS)
        self.export(folder / "network.graphml")

    def write_archive(self, file: BinaryIO) -> None:
        """Write the result as one ``.npz`` archive into an open file; :meth:`save` does so safely."""
        write_single_file(self, file)
