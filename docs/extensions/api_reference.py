"""The page of all public names, made of the modules' ``__all__``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

PAGE = Path("generated") / "api" / "index.md"

# Public modules, in the order of the page: a heading and a sentence for each.
PUBLIC = {
    "plaggm": (
        "Estimators and results",
        "What most people need. `PLAGGMCV` chooses the penalty, `PLAGGM` takes it.",
    ),
    "plaggm.plotting": (
        "Pictures",
        "All take a fitted estimator or a `GraphResult`. They need the extra `plot`.",
    ),
    "plaggm.related": (
        "Related methods",
        "The methods of the paper's Section 5, and linear covariates: same `fit`, same attributes.",
    ),
    "plaggm.comparison": ("All methods on one table", "What `plaggm compare` does."),
    "plaggm.simulate": ("Data with their truth", "What `plaggm simulate` does."),
    "plaggm.metrics": ("Scores of recovery", "For data whose true network is known."),
    "plaggm.fmri": ("Studies of scans", "What `plaggm study` does. It needs the extra `fmri`."),
    "plaggm.report": ("Pages", "What `plaggm report` does. It needs the extras `cli` and `plot`."),
    "plaggm.distributed": (
        "Clusters",
        "Rows on a Dask cluster. It needs the extra `distributed`.",
    ),
}


def public_objects(module: str) -> dict[str, Any]:
    """Classes and functions that a module makes public, by name."""
    home = import_module(module)
    found = {name: getattr(home, name) for name in home.__all__}
    return {name: thing for name, thing in found.items() if callable(thing)}


def public_constants(module: str) -> dict[str, Any]:
    """All other public names of a module, with their values."""
    home = import_module(module)
    found = {name: getattr(home, name) for name in home.__all__ if not name.startswith("__")}
    return {name: thing for name, thing in found.items() if not callable(thing)}


def shown(value: Any) -> str:
    """A constant in words: the entries of a collection, or the value itself."""
    if isinstance(value, (Mapping, tuple, list, set, frozenset)):
        return ", ".join(f"`{entry}`" for entry in value)
    return f"`{value}`"


def summary_of(module: str) -> str:
    """The section of one module in Markdown."""
    title, sentence = PUBLIC[module]
    names = sorted(public_objects(module), key=lambda name: (name[0].islower(), name.lower()))
    lines = [f"## {title}", "", f"`{module}`. {sentence}", "", "```{eval-rst}"]
    lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree:", ""]
    lines += [f"   {name}" for name in names]
    lines += ["```", ""]
    for name, value in public_constants(module).items():
        lines += [f"`{name}`", f":   {shown(value)}", ""]
    return "\n".join(lines)


def names_in_examples(folder: Path) -> set[str]:
    """Full names of everything that the gallery imports from this package."""
    found = set()
    for path in folder.glob("plot_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plaggm"):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def write_page(app: Sphinx, config: Config) -> None:
    """Write the page, and tell the pages of single names whether the gallery uses them."""
    head = """# API reference

        Every name has an example that runs as a test. Others (`plaggm.core`, `plaggm.data` and so on)
        may be used, and may change without notice.

        """
    text = inspect.cleandoc(head) + "\n\n" + "\n".join(map(summary_of, PUBLIC))
    path = Path(app.srcdir) / PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    # A file that is left alone is not read again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    # Pages of names that are no longer public.
    named = {f"{module}.{name}" for module in PUBLIC for name in public_objects(module)}
    for page in path.parent.glob("*.rst"):
        if page.stem not in named:
            page.unlink()
    examples = Path(app.srcdir).parent / "examples"
    config.autosummary_context = {"in_gallery": names_in_examples(examples)}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
