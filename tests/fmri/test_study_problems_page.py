"""Problems on the page of a study."""

from __future__ import annotations

from plaggm.fmri.problems import WHOLE_STUDY, Problems
from plaggm.report.sections import SHOWN_ROWS
from plaggm.report.study import MOST_NAMED, problem_table


def texts(problems: Problems) -> list[list[str]]:
    return [[cell.text for cell in row] for row in problem_table(problems).rows]


def test_what_the_page_refers_to_is_on_it():
    """Problems of the whole study are noted last, after those of any number of subjects."""
    problems = Problems()
    for k in range(30):
        problems.add(f"sub-{k}", f"sub-{k}.tsv", f"has {k} rows.")
    for why in ("There is no diagnosis.", "The groups are not compared."):
        problems.add(WHOLE_STUDY, None, why)
    rows = texts(problems)
    assert [row[2] for row in rows[:2]] == [
        "There is no diagnosis.",
        "The groups are not compared.",
    ]
    assert len(rows) == SHOWN_ROWS + 2
    assert rows[2] == ["sub-0", "sub-0.tsv", "has 0 rows."]


def test_subjects_with_one_problem_share_a_row():
    problems = Problems()
    for k in range(11):
        problems.add(f"sub-{k}", None, "kernel: too few volumes. Left out of this method.")
    ((names, told),) = texts(problems)
    assert told == "kernel: too few volumes. Left out of this method."
    assert names.startswith("sub-0, sub-1, ")
    assert names.endswith(f"and {11 - MOST_NAMED} more")
