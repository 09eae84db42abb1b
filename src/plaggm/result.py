"""The result of a fit, and its folder or file on disk. Never pickle."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from plaggm.atomic_files import write_csv
from plaggm.exports import Network, export_network, igraph_from
from plaggm.publishing import staged
from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words
from plaggm.result_archive import (
    FORMAT,
    FORMAT_VERSION,
    PATH_RULES,
    RULES,
    check_values,
    is_result,
    read_arrays,
    read_metadata,
)

if TYPE_CHECKING:
    import igraph
    import networkx

Array = NDArray[np.float64]

# The nuisance's table is long, and its last digits are noise.
NUISANCE_DIGITS = "%.8g"


@dataclass(frozen=True, slots=True)
class GraphResult:
    """A fitted network with everything needed to read, redraw or repeat it.

    The model holds for z = (x - location) / scale.

    Attributes
    ----------
    names : tuple of str
        Of the p variables.
    omega : ndarray of shape (p, p)
        Target network off the diagonal, intercepts on it.
    location, scale : ndarray of shape (p,)
    alpha : float
    confounder_names : tuple of str
        Empty for a fit without confounder.
    threshold, bandwidth : ndarray of shape (m,), optional
        In the confounder's units.
    confounder_grid : ndarray of shape (k, m), optional
        Confounder values at which the nuisance is kept: one confounder after the other moves over its
        observed values while the others are zero.
    nuisance : ndarray of shape (k, p, p), optional
    nuisance_error : ndarray of shape (k, p, p), optional
        Pointwise standard errors of the nuisance.
    confounder_sample : ndarray of shape (s, m), optional
        Observed values of each confounder at evenly spaced ranks, for a picture of its distribution.
    alphas : ndarray of shape (n_alphas,), optional
    omega_path : ndarray of shape (n_alphas, p, p), optional
    criterion_path : ndarray of shape (n_alphas,), optional
        What the penalty was chosen by; smaller is better.
    criterion_error : ndarray of shape (n_alphas,), optional
        Its standard error; for cross-validation only.
    stability : ndarray of shape (p, p), optional
        Share of the resamples in which each pair is an edge.
    settings : dict
        Parameters of the estimator.
    diagnostics : dict
        Numbers on the health of the fit.
    versions : dict
        Of plaggm and the libraries below it.
    """

    names: tuple[str, ...]
    omega: Array
    location: Array
    scale: Array
    alpha: float
    confounder_names: tuple[str, ...] = ()
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
    settings: dict[str, Any] = field(default_factory=dict)
    diagnostics: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """One line: the arrays would fill pages."""
        edges = int(np.count_nonzero(np.triu(self.adjacency, 1)))
        adjusted = f"adjusted for {', '.join(self.confounder_names)}"
        return (
            f"GraphResult({len(self.names)} variables, {edges} edges, alpha={self.alpha:.4g}, "
            f"{adjusted if self.confounder_names else 'not adjusted'})"
        )

    @property
    def partial_correlation(self) -> Array:
        """Partial correlations, between -1 and 1, one on the diagonal: shape (p, p)."""
        return partial_correlations(self.omega)

    @property
    def precision(self) -> Array:
        """Precision matrix in the units of the data: shape (p, p)."""
        return precision_matrix(self.omega, self.scale)

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """Which pairs are edges: shape (p, p)."""
        return adjacency_matrix(self.omega)

    def matrix(self) -> pd.DataFrame:
        """Partial correlations with the variables' names on both sides."""
        return pd.DataFrame(self.partial_correlation, index=self.names, columns=self.names)

    def edges(self) -> pd.DataFrame:
        """The edges, strongest first.

        Returns
        -------
        DataFrame
            With the columns source, target, partial_correlation, weight (the same in the units of the
            data: minus the entry of the precision matrix) and, where the result has it, stability.
        """
        return edge_table(self.names, self.omega, self.scale, self.stability)

    def nuisance_table(self) -> pd.DataFrame:
        """The nuisance R of every pair along each confounder, one row for each value and pair.

        Returns
        -------
        DataFrame
            With the columns confounder, value, source, target, nuisance and, where the result has it,
            standard_error; without rows if the result keeps no nuisance.
        """
        j, k = np.triu_indices(len(self.names), 1)
        names = np.array(self.names, dtype=object)
        columns = ["confounder", "value", "source", "target", "nuisance"]
        if self.nuisance_error is not None:
            columns.append("standard_error")
        if self.confounder_grid is None or self.nuisance is None:
            return pd.DataFrame(columns=columns)
        parts = []
        for column, name in enumerate(self.confounder_names):
            rows = grid_rows(self.confounder_grid, column)
            part = {
                "confounder": np.full(len(rows) * len(j), name, dtype=object),
                "value": np.repeat(self.confounder_grid[rows, column], len(j)),
                "source": np.tile(names[j], len(rows)),
                "target": np.tile(names[k], len(rows)),
                "nuisance": self.nuisance[rows][:, j, k].ravel(),
            }
            if self.nuisance_error is not None:
                part["standard_error"] = self.nuisance_error[rows][:, j, k].ravel()
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def to_networkx(self) -> networkx.Graph:
        """A networkx graph with all variables as nodes and the partial correlation as weight."""
        return graph_from(self.names, self.partial_correlation)

    def to_igraph(self) -> igraph.Graph:
        """An igraph graph with the attributes name, weight and, where known, stability."""
        return igraph_from(self.names, self.partial_correlation, self.stability)

    def export(
        self, path: str | os.PathLike[str], *, coordinates: ArrayLike | None = None
    ) -> tuple[Path, ...]:
        """Write the network for another program, chosen by the ending of the name.

        ``.graphml`` for igraph, networkx and Cytoscape, ``.gexf`` for Gephi, ``.node`` or ``.edge`` for
        BrainNet Viewer, which wants both files.

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
        network = Network(self.names, self.partial_correlation, self.stability)
        return export_network(network, Path(path), coordinates)

    def summary(self) -> str:
        """A few lines in words."""
        p = len(self.names)
        edges = int(np.count_nonzero(np.triu(self.adjacency, 1)))
        lines = [
            f"{edges} edges between {p} variables ({edges / (p * (p - 1) / 2):.0%} of all pairs), "
            f"alpha = {self.alpha:.4g}."
        ]
        if self.confounder_names and self.threshold is not None:
            limits = ", ".join(
                f"|{name}| <= {limit:.4g}"
                for name, limit in zip(self.confounder_names, self.threshold, strict=True)
            )
            lines.append(f"Taken as free of confounding: {limits}.")
        elif self.confounder_names:
            lines.append(f"Adjusted for {', '.join(self.confounder_names)}.")
        else:
            lines.append("No confounder was taken into account.")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the result to a folder, or to one file if the name ends in ``.npz``.

        A folder holds what :func:`read_result` reads, ``result.json`` (names, settings, versions,
        diagnostics), ``arrays.npz`` and ``path.npz`` (if there is a path), and the same for other
        programs: ``edges.csv``, ``matrix.csv``, ``nuisance.csv`` (if there is a confounder) and
        ``network.graphml``. It appears whole or not at all. In the CSV files, text that a spreadsheet
        would take for a formula (with ``=``, ``+``, ``-`` or ``@`` first) has an apostrophe in front.

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

        def check() -> None:
            if path.exists() and not overwrite:
                raise FileExistsError(f"{path} exists; choose another name or pass overwrite=True.")

        with staged(path, check=check) as new:
            if path.exists() and not is_result(path):
                raise FileExistsError(
                    f"{path} exists and is not a plaggm result; it is left alone."
                )
            if path.suffix == ".npz":
                with new.open("wb") as file:
                    self.write_archive(file)
            else:
                new.mkdir()
                self.write_files(new)
        return path

    def write_files(self, folder: Path) -> None:
        """Write the files of a result into a folder that exists; :meth:`save` does so safely."""
        arrays = self._arrays()
        path = {name: arrays.pop(name) for name in PATH_RULES if name in arrays}
        (folder / "result.json").write_text(self._metadata(), encoding="utf-8")
        np.savez_compressed(folder / "arrays.npz", **arrays)
        if path:
            np.savez_compressed(folder / "path.npz", **path)
        write_csv(folder / "edges.csv", self.edges(), index=False)
        write_csv(folder / "matrix.csv", self.matrix())
        if self.nuisance is not None:
            write_csv(
                folder / "nuisance.csv",
                self.nuisance_table(),
                index=False,
                float_format=NUISANCE_DIGITS,
            )
        self.export(folder / "network.graphml")

    def write_archive(self, file: BinaryIO) -> None:
        """Write the result as one ``.npz`` archive into an open file; :meth:`save` does so safely."""
        text = np.frombuffer(self._metadata().encode(), dtype=np.uint8)
        np.savez_compressed(file, metadata=text, **self._arrays())

    def _arrays(self) -> dict[str, Any]:
        arrays = {name: value for name in RULES if (value := getattr(self, name)) is not None}
        # What could not be read again is not written.
        check_values(arrays)
        return arrays

    def _metadata(self) -> str:
        return json.dumps(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "names": list(self.names),
                "confounder_names": list(self.confounder_names),
                "alpha": self.alpha,
                "arrays": list(self._arrays()),
                "settings": self.settings,
                "diagnostics": self.diagnostics,
                "versions": self.versions,
            },
            indent=2,
        )


def read_result(path: str | os.PathLike[str]) -> GraphResult:
    """Read what :meth:`GraphResult.save` wrote, from a folder or an ``.npz`` file.

    Nothing in the file is executed, and arrays are loaded only if their shapes and sizes agree with the
    names. Values that a fit cannot give, such as a missing strength or a negative scale, are refused.
    """
    path = Path(path)
    try:
        if problem := path_problem(path):
            raise UnreadableFile(problem)
        if not path.exists():
            raise FileNotFoundError(f"There is no result at {path}.")
        metadata = read_metadata(path)
        writer = str(_entry(metadata, "versions", dict, "a table").get("plaggm"))
        newer = _entry(metadata, "format_version", int, "a number") > FORMAT_VERSION
        result = None if newer else _assemble(metadata, path)
    except Exception as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            raise
        # Damage shows itself in any reader below: zip, zlib, NumPy's header, JSON, Unicode.
        raise ValueError(
            f"{path} is not a readable plaggm result ({reason_in_words(error)}). Expected a folder with "
            "result.json and arrays.npz, or an .npz file, written by result.save()."
        ) from error
    if result is None:
        raise ValueError(
            f"{path} was written by a newer plaggm ({writer}); update plaggm to read it."
        )
    return result


def _assemble(metadata: dict[str, Any], path: Path) -> GraphResult:
    names = _names(metadata, "names")
    confounders = _names(metadata, "confounder_names")
    listed = _names(metadata, "arrays")
    if "omega" not in listed:
        raise UnreadableFile("its metadata list no array omega")
    alpha = _entry(metadata, "alpha", (int, float), "a number")
    if not 0.0 <= alpha < float("inf"):
        raise UnreadableFile("alpha in its metadata is no finite number of zero or more")
    wanted = {name: rule for name, rule in RULES.items() if name in listed}
    arrays = read_arrays(path, wanted, {"p": len(names), "m": len(confounders)})
    return GraphResult(
        names=tuple(names),
        alpha=float(alpha),
        confounder_names=tuple(confounders),
        settings=_entry(metadata, "settings", dict, "a table"),
        diagnostics=_entry(metadata, "diagnostics", dict, "a table"),
        versions=_entry(metadata, "versions", dict, "a table"),
        **arrays,
    )


def _entry(metadata: dict[str, Any], key: str, kind: type | tuple[type, ...], words: str) -> Any:
    value = metadata.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UnreadableFile(f"{key} in its metadata is missing or not {words}")
    return value


def _names(metadata: dict[str, Any], key: str) -> list[str]:
    names = _entry(metadata, key, list, "a list")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise UnreadableFile(f"{key} in its metadata is not a list of different names")
    return names


def grid_rows(grid: Array, column: int) -> NDArray[np.intp]:
    """Rows of a confounder grid (k, m) on which one confounder moves, in increasing order.

    Of rows with the same value one is kept.

    Examples
    --------
    >>> grid_rows(np.array([[-1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 5.0]]), 1)
    array([1, 4])
    """
    rows = np.flatnonzero(~np.delete(grid, column, axis=1).any(axis=1))
    return rows[np.unique(grid[rows, column], return_index=True)[1]]


def plain_settings(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them; functions by their name."""
    return {name: _plain(value) for name, value in params.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return getattr(value, "__qualname__", repr(value))


def library_versions() -> dict[str, str]:
    """Versions of plaggm and of what its numbers depend on."""
    packages = ("plaggm", "numpy", "scipy", "numba", "scikit-learn", "pandas")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def adjacency_matrix(omega: Array) -> NDArray[np.bool_]:
    """Non-zero pairs of omega."""
    adjacency = omega != 0.0
    np.fill_diagonal(adjacency, False)
    return adjacency


def partial_correlations(omega: Array) -> Array:
    """Off-diagonal of omega, held between -1 and 1, with ones on the diagonal.

    With unit conditional variances the off-diagonal of Omega is the partial correlation. The
    pseudo-likelihood does not keep it within its bounds where variables determine each other.
    """
    out = np.clip(omega, -1.0, 1.0)
    np.fill_diagonal(out, 1.0)
    return out


def precision_matrix(omega: Array, scale: Array) -> Array:
    """Precision matrix in data units, from the partial correlations and the conditional deviations."""
    out = -partial_correlations(omega)
    np.fill_diagonal(out, 1.0)
    return out / np.outer(scale, scale)


def edge_table(
    names: tuple[str, ...], omega: Array, scale: Array, stability: Array | None = None
) -> pd.DataFrame:
    """The edges of a network, strongest first; see :meth:`GraphResult.edges`."""
    j, k = np.nonzero(np.triu(adjacency_matrix(omega), 1))
    order = np.argsort(-np.abs(omega[j, k]), kind="stable")
    j, k = j[order], k[order]
    columns: dict[str, Any] = {
        "source": [names[a] for a in j],
        "target": [names[b] for b in k],
        "partial_correlation": partial_correlations(omega)[j, k],
        "weight": -precision_matrix(omega, scale)[j, k],
    }
    if stability is not None:
        columns["stability"] = stability[j, k]
    return pd.DataFrame(columns)


def graph_from(names: tuple[str, ...], weights: Array) -> networkx.Graph:
    """A networkx graph of the non-zero pairs of a matrix; needs the ``plot`` extra."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError("to_networkx needs networkx: pip install 'plaggm[plot]'") from error
    graph = networkx.Graph()
    graph.add_nodes_from(names)
    for j, k in zip(*np.nonzero(np.triu(weights, 1)), strict=True):
        graph.add_edge(names[j], names[k], weight=float(weights[j, k]))
    return graph
