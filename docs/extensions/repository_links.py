"""Links between files of the repository, as they have to be on the site.

Markdown files are read in the repository too, where ``../ARCHITECTURE.md`` and ``docs/scale.md`` lead
somewhere. On the site the former is the page ``architecture`` and the latter is beside it.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
# The pages that include a file of the repository's root.
INCLUDING = {page.removesuffix(".md"): file for file, page in PAGES.items()}


def rewritten(text: str) -> str:
    """Text in which links to files in the root lead to their pages."""
    for file, page in PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(file)}(#[\w-]*)?\)", rf"]({page}\1)", text)
    return re.sub(r"\]\(docs/", "](", text)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Rewrite the links of one page; those that include a file become that file."""
    if page in INCLUDING:
        source[0] = (app.srcdir.parent / INCLUDING[page]).read_text(encoding="utf-8")
        app.env.note_dependency(str(app.srcdir.parent / INCLUDING[page]))
    if app.env.doc2path(page).suffix == ".md":
        source[0] = rewritten(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
