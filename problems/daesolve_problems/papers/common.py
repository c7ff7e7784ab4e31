"""Helpers of the papers: the document of a run for the figures of its problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import daesolve as ds
from daesolve.typing import BoundCase

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def document_of(case: BoundCase, run: ds.Trajectory) -> dict[str, Any]:
    """Return the document of a run, with its beginning where its samples are sparse."""
    from daesolve.reporting import document, with_opening  # which import Matplotlib

    return with_opening(document(run, case.identity()), run)


def figure(case: BoundCase, run: ds.Trajectory, name: str) -> Figure:
    """Draw a figure of the problem's own of a run."""
    return case.problem.figures[name](document_of(case, run))


def percent(share: float, digits: int = 3) -> str:
    """Return a share as words."""
    return f"{100.0 * share:.{digits}g} %"
