"""What a problem knows of its reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from daesolve.errors import PluginError
from daesolve.plugins import registry
from daesolve.reporting.document import Document
from daesolve.reporting.html import FigureRule
from daesolve.reporting.scene import DrawingRule


class Rules(Protocol):
    """The part of a problem that reports use; see `daesolve.Problem`."""

    @property
    def figures(self) -> Mapping[str, FigureRule]:
        """Figures of its own, by title."""
        ...

    @property
    def drawing(self) -> DrawingRule | None:
        """What its bodies look like."""
        ...


def problem_of(run: Document) -> Rules | None:
    """Return the problem of a run, by its path or its name; None where its plugin is gone."""
    try:
        return registry.problem(run.get("path") or run["problem"] or "")
    except (PluginError, LookupError):
        return None
