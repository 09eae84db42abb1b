"""Configuration of the documentation site: ``make docs``."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
os.environ.setdefault("MPLBACKEND", "Agg")

import plaggm  # noqa: E402

project = "plaggm"
author = "The plaggm developers"
copyright = author
version = release = plaggm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_reference",
    "command_reference",
    "mathml",
    "repository_links",
]
exclude_patterns = ["generated/backreferences", "auto_examples/sg_execution_times.rst"]
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["plaggm.css"]
html_theme = "furo"
html_title = "plaggm"
html_show_sourcelink = False
html_copy_source = False
# Prose is at home in quotes as they were typed; commands must be copied as they stand.
smartquotes = False

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("plaggm",),
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib",),
}
# An example that warns shows its reader the warning; nothing else may.
warnings.filterwarnings("ignore", category=DeprecationWarning, module="sphinx.*")
