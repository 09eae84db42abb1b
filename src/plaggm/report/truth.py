"""The true network of simulated data, stored with a result for display on the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plaggm.array_types import Array
from plaggm.atomic_files import write_file
from plaggm.read_errors import UnreadableFile, path_problem, reason_in_words

TRUTH_FILE = "truth.json"
FORMAT = "plaggm-truth"
# Decimals of stored numbers.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Truth:
    """The true network and nuisance of a simulation.

    Attributes
    ----------
    names : tuple of str
        Names of the p variables.
    omega : ndarray of shape (p, p)
        The true Ω0; its diagonal is not used.
    confounder_grid : ndarray of shape (k, m), optional
        Confounder values at which the true nuisance is stored.
    nuisance : ndarray of shape (k, p, p), optional
        The true R(g) at these values.

    Examples
    --------
    >>> truth = Truth(("a", "b"), np.array([[0.0, 0.3], [0.3, 0.0]]))
    >>> int(np.count_nonzero(truth.omega))
    2
    """

    names: tuple[str, ...]
    omega: Array
    confounder_grid: Array | None = None
    nuisance: Array | None = None

    def __post_init__(self) -> None:
        p = len(self.names)
        if self.omega.shape != (p, p):
            raise ValueError(f"{p} names but a matrix of shape {self.omega.shape}")
        if (self.confounder_grid is None) != (self.nuisance is None):
            raise ValueError("confounder_grid and nuisance come together")
        if self.confounder_grid is not None and self.nuisance is not None:
            k = len(self.confounder_grid)
            if self.confounder_grid.ndim != 2 or self.nuisance.shape != (k, p, p):
                raise ValueError(
                    f"a nuisance of shape {self.nuisance.shape} on a grid of shape "
                    f"{self.confounder_grid.shape}"
                )
        for array in (self.omega, self.confounder_grid, self.nuisance):
            if array is not None and not np.isfinite(array).all():
                raise ValueError("it holds numbers that are not finite")

    def save(self, folder: Path) -> Path:
        """Write ``truth.json`` into a folder.

        Parameters
        ----------
        folder : Path
            Folder to write into.

        Returns
        -------
        Path
            Path of the file.
        """
        content: dict[str, Any] = {
            "format": FORMAT,
            "names": list(self.names),
            "omega": np.round(self.omega, DIGITS).tolist(),
        }
        if self.confounder_grid is not None and self.nuisance is not None:
            content["confounder_grid"] = self.confounder_grid.tolist()
            content["nuisance"] = np.round(self.nuisance, DIGITS).tolist()
        return write_file(folder / TRUTH_FILE, json.dumps(content))


def read_truth(path: Path, names: Sequence[str]) -> Truth:
    """Read a file that :meth:`Truth.save` wrote.

    Parameters
    ----------
    path : Path
        Path of the file.
    names : sequence of str
        Expected names of the variables, in this order.

    Returns
    -------
    Truth

    Examples
    --------
    >>> import tempfile
    >>> truth = Truth(("a", "b"), np.array([[0.0, 0.3], [0.3, 0.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_truth(truth.save(Path(folder)), ("a", "b")).names
    ('a', 'b')
    """
    try:
        if problem := path_problem(path):
            raise UnreadableFile(problem)
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise UnreadableFile(f"it does not name the format {FORMAT!r}")
        named = content.get("names")
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise UnreadableFile("its names are missing or no list of text")
        arrays = {
            key: _array(content[key], key)
            for key in ("omega", "confounder_grid", "nuisance")
            if content.get(key) is not None
        }
        if "omega" not in arrays:
            raise UnreadableFile("it has no omega")
        try:
            truth = Truth(names=tuple(named), **arrays)
        except ValueError as error:
            raise UnreadableFile(str(error)) from error
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a readable truth ({reason_in_words(error)}). Expected a JSON file "
            f"with format {FORMAT!r}, names and omega; without the file the page is made from the "
            "result alone."
        ) from error
    if truth.names != tuple(names):
        raise ValueError(
            f"{path} has other variables than the result in the same folder. Remove it, or put the "
            "truth of these data there."
        )
    return truth


def _array(values: Any, name: str) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise UnreadableFile(f"{name} in it is not a table of numbers") from error
