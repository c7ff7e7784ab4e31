"""Backends that integrate a problem, one file each."""

from daesolve.solvers.base import (
    BufferedFunction,
    Compilation,
    EventHit,
    Observer,
    SegmentEnd,
    Solver,
    State,
    Status,
)
from daesolve.solvers.cvodes import Cvodes
from daesolve.solvers.scipy import Dop853, Lsoda, RadauIIA
from daesolve.solvers.taylor import Taylor

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (Taylor, Cvodes, Dop853, RadauIIA, Lsoda)
}
"""Every solver by its name on the command line."""

__all__ = [
    "SOLVERS",
    "BufferedFunction",
    "Compilation",
    "Cvodes",
    "Dop853",
    "EventHit",
    "Lsoda",
    "Observer",
    "RadauIIA",
    "SegmentEnd",
    "Solver",
    "State",
    "Status",
    "Taylor",
]
