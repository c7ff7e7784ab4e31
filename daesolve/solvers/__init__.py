"""Backends that integrate a problem, one file each."""

from daesolve.solvers.assimulo import AssimuloCvode
from daesolve.solvers.assimulo_dae import AssimuloIda, AssimuloOdassl, AssimuloRadau5
from daesolve.solvers.base import Compilation, Solver
from daesolve.solvers.cvodes import Cvodes
from daesolve.solvers.idas import Idas
from daesolve.solvers.radau import RadauIIA
from daesolve.solvers.scipy import Dop853, Lsoda
from daesolve.solvers.segment import EventHit, Observer, SegmentEnd, State, Status, StepError
from daesolve.solvers.stepping import Pace, Step, Stepper
from daesolve.solvers.sundae import SundaeCvode, SundaeIda
from daesolve.solvers.taylor import Taylor

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
