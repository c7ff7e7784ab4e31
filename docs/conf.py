"""The Sphinx configuration: `sphinx-build -W --keep-going docs docs/_build/html`."""

import sys
from hashlib import sha256
from html import escape
from importlib import metadata
from pathlib import Path
from re import sub
from textwrap import shorten
from typing import Any

import daesolve_problems
from docutils import nodes
from sphinx.application import Sphinx

import daesolve

DOCS = Path(__file__).parent
DESCRIPTION = 200
"""Length of a page's description in characters."""
sys.path.insert(0, str(DOCS))  # the build's own modules

project = "daesolve"
author = "the authors of daesolve"
copyright = "2026, the authors of daesolve"  # noqa: A001  the name that Sphinx reads
release = version = metadata.version("daesolve")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A page is executed again after changes to its cells, the library or the problems.
_sources = [
    source.read_bytes()
    for package in (daesolve, daesolve_problems)
    for kind in ("*.py", "*.jinja")
    for source in sorted(Path(str(package.__file__)).parent.rglob(kind))
]
_digest = sha256(b"".join(_sources)).hexdigest()
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "cells" / _digest[:16])
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

default_role = "py:obj"  # a name in backticks links to its documentation
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "daesolve"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["daesolve.css"]
# One file contains all of MathJax (`tools/mathjax/fetch`); its menu would fetch voices elsewhere.
mathjax_path = "mathjax/tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}}
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _marked_up(
    _app: Sphinx, _kind: str, _name: str, _of: object, _options: object, lines: list[str]
) -> None:
    """Escape plain text of docstrings that reStructuredText would read as markup: |x|, `Body`s."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[number] = sub(r"`(?=\w)(?<=\w`)", r"`\\ ", line.replace("|", r"\|"))


def _described(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Describe a page to search engines by the beginning of its first paragraph."""
    first = next((node for node in tree.findall(nodes.paragraph)), None) if tree else None
    if first is not None:
        words = shorten(first.astext(), DESCRIPTION, placeholder=" ...")
        context["metatags"] += f'\n<meta name="description" content="{escape(words)}">'


def _with_mathematics(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Typeset formulas in the output of cells too; Sphinx only looks for formulas in the text."""
    if 'class="math' in context.get("body", ""):
        context["has_maths_elements"] = True  # since Sphinx 8.2
        app.env.get_domain("math").data["has_equations"][page] = True


def setup(app: Sphinx) -> None:
    """Connect the handlers for docstrings and pages, and write the gallery before pages are read.

    When tests build only a part of the site, it has no gallery.
    """
    app.connect("html-page-context", _described)
    app.connect("html-page-context", _with_mathematics, priority=400)  # before MathJax's handler
    app.connect("autodoc-process-docstring", _marked_up, priority=400)  # before napoleon's 500
    from notebook_files import link_notebook, write_notebooks
    from offline import warn_of_outside

    app.connect("html-page-context", link_notebook)
    app.connect("build-finished", write_notebooks)
    app.connect("build-finished", warn_of_outside, priority=900)
    if (Path(app.srcdir) / "gallery").is_dir():
        from gallery_pages import write_pages

        app.connect("builder-inited", write_pages)
