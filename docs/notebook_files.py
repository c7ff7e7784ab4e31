"""Writes each tutorial as a notebook next to its page, from the cells executed for the page.

A notebook has no site around it, so links to other pages become words and pictures are embedded.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from jupyter_cache import get_cache
from sphinx.application import Sphinx

FOLDER = "tutorial/"
"""Pages offered as notebooks if they have cells."""
EXECUTED = "jupyter_execute"
"""Where MyST-NB writes the executed cells of pages, next to the site."""
INSTALL = (
    "*A page of the documentation of daesolve, as a notebook. To run it: "
    "`pip install daesolve daesolve-problems`.*"
)
LINK = '<p class="notebook"><a href="{}.ipynb" download>Download this page as a notebook</a></p>'
HEADING = "</h1>"
LINKED = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
DIRECTIVE = re.compile(r"^(?:`{3,}|:{3,})\{|\{\w[\w:-]*\}`", re.MULTILINE)


class PageError(RuntimeError):
    """A page cannot become a notebook; the message says why."""


def is_notebook(app: Sphinx, page: str) -> bool:
    """Return whether a page is offered as a notebook."""
    return page.startswith(FOLDER) and "kernelspec" in app.env.metadata.get(page, {})


def link_notebook(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Offer the notebook below the title of its page."""
    if tree is None or not is_notebook(app, page):
        return
    before, title, rest = context["body"].partition(HEADING)
    if not title:
        raise PageError(f"{page} has no title, below which its notebook is offered")
    context["body"] = before + title + LINK.format(Path(page).name) + rest


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks next to their pages.

    Raises
    ------
    PageError
        A page has something that a notebook cannot show.
    """
    if error is not None or app.builder.format != "html":
        return
    for page in filter(lambda name: is_notebook(app, name), app.env.metadata):
        executed = Path(app.outdir).parent / EXECUTED / f"{page}.ipynb"
        notebook = _with_outputs(app, nbformat.read(executed, as_version=4))
        source = Path(app.env.doc2path(page))
        target = Path(app.outdir) / f"{page}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(alone(notebook, source), target)


def _with_outputs(app: Sphinx, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a page's cells with their outputs; MyST-NB does not write those from its cache."""
    if any(cell.get("outputs") for cell in notebook.cells):
        return notebook
    return get_cache(app.config.nb_execution_cache_path).merge_match_into_notebook(notebook)[1]


def alone(notebook: nbformat.NotebookNode, source: Path) -> nbformat.NotebookNode:
    """Return the notebook of a page as a self-contained file.

    Parameters
    ----------
    notebook
        The page's cells, executed.
    source
        The page; its pictures lie next to it.

    Raises
    ------
    PageError
        A cell contains a directive or a role, which a notebook cannot show.
    """
    cells = [nbformat.v4.new_markdown_cell(INSTALL, id="install")]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if (found := DIRECTIVE.search(cell.source)) is not None:
                raise PageError(f"{source.name}: a notebook cannot show {found[0]!r}")
            cell.source = LINKED.sub(lambda link: _shown(link, source), cell.source)
        tags = cell.metadata.get("tags", [])
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    _, whole = nbformat.validator.normalize(whole, strip_invalid_metadata=True)
    return whole


def _shown(link: re.Match[str], source: Path) -> str:
    """Return an absolute link, a picture with its data, or plain words."""
    picture, words, target = link.groups()
    if re.match(r"https?:", target):
        return link[0]
    if not picture:
        return f"*{words}*"
    file = (source.parent / target).resolve()
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return f"![{words}](data:{kind};base64,{b64encode(file.read_bytes()).decode()})"
