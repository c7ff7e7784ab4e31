"""What a notebook shows."""

from __future__ import annotations

from daesolve.core.features import added

NOTEBOOKS = "HTML for notebooks"
"""The point at which features add functions from things to HTML, or to None for a kind unknown."""


class Displayable:
    """Something that a notebook shows as HTML when it is the last line of a cell."""

    def _repr_html_(self) -> str | None:
        found = (write(self) for write in added(NOTEBOOKS))
        return next((html for html in found if html is not None), None)
