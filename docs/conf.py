"""How Sphinx builds the documentation site: ``make docs``. Every warning is an error there."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import site_pages  # noqa: E402

import stickslip  # noqa: E402

project = "stickslip"
author = "The stickslip contributors"
project_copyright = f"2026, {author}"
version = release = stickslip.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_build", "images"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
# files of the repository that pages point to are not part of the site: site_pages.py makes them links to it
suppress_warnings = ["myst.header", "toc.not_included"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_preserve_defaults = True
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "stickslip"
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars: dict[str, list[str]] = {"index": [], "glossary": []}
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]


def setup(app: object) -> None:
    """Pages that are made of the package itself, and links to files of the repository."""
    site_pages.install(app, HERE)
