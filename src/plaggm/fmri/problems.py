"""Problems of a study's input, collected so that all can be reported and fixed at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

COLUMNS = ("subject", "file", "problem")
# Stands where a problem belongs to the whole study and not to one subject.
WHOLE_STUDY = "(study)"


class StudyError(ValueError):
    """No usable data are left; the message lists every problem.

    Examples
    --------
    >>> issubclass(StudyError, ValueError)
    True
    """


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of the input.

    Attributes
    ----------
    subject : str
        Subject that it concerns.
    file : str
        Empty where no file is to blame.
    message : str
        Description of the problem.

    Examples
    --------
    >>> Problem("sub-01", "sub-01_bold.nii.gz", "has no affine").message
    'has no affine'
    """

    subject: str
    file: str
    message: str

    def __str__(self) -> str:
        where = f" [{self.file}]" if self.file else ""
        # Names come from a table, whose quoted cells may hold line breaks.
        return " ".join(f"{self.subject}{where}: {self.message}".split())


class Problems:
    """A growing list of problems.

    Examples
    --------
    >>> problems = Problems()
    >>> problems.add("sub-01", "sub-01.tsv", "has 3 rows.")
    >>> print(problems)
    1 problem:
      sub-01 [sub-01.tsv]: has 3 rows.
    """

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, subject: str, file: str | Path | None, message: str) -> None:
        """Note a problem."""
        self._found.append(Problem(subject, "" if file is None else str(file), message))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        count = f"{len(self)} problem{'' if len(self) == 1 else 's'}"
        return "\n".join([f"{count}:", *(f"  {problem}" for problem in self)])

    def subjects(self) -> set[str]:
        """Subjects with a problem."""
        return {problem.subject for problem in self}

    def to_frame(self) -> pd.DataFrame:
        """One row for each problem: subject, file, problem."""
        rows = [(problem.subject, problem.file, problem.message) for problem in self]
        return pd.DataFrame(rows, columns=list(COLUMNS))
