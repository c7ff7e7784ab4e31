"""Backends that integrate a problem, one file each."""

from daesolve.core.solvers.assimulo import AssimuloCvode
from daesolve.core.solvers.assimulo_dae import AssimuloIda, AssimuloOdassl, AssimuloRadau5
from daesolve.core.solvers.base import Compilation, Solver
from daesolve.core.solvers.casadi import Cvodes, Idas
from daesolve.core.solvers.observers import Observer
from daesolve.core.solvers.radau import RadauIIA
from daesolve.core.solvers.scipy import Dop853, Lsoda
from daesolve.core.solvers.segment import EventHit, SegmentEnd, State, Status, StepError
from daesolve.core.solvers.stepping import Pace, Step, Stepper
from daesolve.core.solvers.sundae import SundaeCvode, SundaeIda
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
        SundaeCvode,
        SundaeIda,
        AssimuloCvode,
        AssimuloIda,
        AssimuloRadau5,
        AssimuloOdassl,
    )
}
"""Every solver by its name on the command line, in order of preference."""

__all__ = [
    "SOLVERS",
    "AssimuloCvode",
    "AssimuloIda",
    "AssimuloOdassl",
    "AssimuloRadau5",
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
    "SundaeCvode",
    "SundaeIda",
    "Taylor",
]
