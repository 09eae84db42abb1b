"""The page ``report.html``: one file that opens from disk and needs no network.

It needs jinja2, which the ``cli`` extra brings.
"""

from plaggm.report.page import folder_page, render_report, write_report
from plaggm.report.truth import TRUTH_FILE, Truth, read_truth

__all__ = ["TRUTH_FILE", "Truth", "folder_page", "read_truth", "render_report", "write_report"]
