"""Backends that integrate a problem, one file each."""

from daesolve.core.features import added
from daesolve.core.solvers.base import Compilation, Solver
from daesolve.core.solvers.casadi import Cvodes, Idas
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.radau import RadauIIA
from daesolve.core.solvers.scipy import Dop853, Lsoda
from daesolve.core.solvers.segment import EventHit, SegmentEnd, State, Status, StepError
from daesolve.core.solvers.stepping import Pace, Step, Stepper
from daesolve.core.solvers.taylor import Taylor

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        Taylor,
        Cvodes,
        Dop853,
        RadauIIA,
        Lsoda,
        Idas,
    )
}
"""Every solver by its name on the command line, in order of preference: first those of the core."""
# What is added here may import the names above.
SOLVERS.update({solver.name: solver for solver in added("solvers")})

__all__ = [
    "SOLVERS",
    "Compilation",
    "Cvodes",
    "Dop853",
    "EventHit",
    "Idas",
    "Lsoda",
    "Observer",
    "Pace",
    "RadauIIA",
    "SegmentEnd",
    "Solver",
    "State",
    "Status",
    "Step",
    "StepError",
    "Stepper",
    "Taylor",
]
