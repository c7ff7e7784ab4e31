"""Solvers of other packages, scikit-sundae and Assimulo, beside those of the core."""

from daesolve.core.solvers import (
    SOLVERS,
    Compilation,
    Cvodes,
    Dop853,
    EventHit,
    Idas,
    Lsoda,
    Observer,
    Pace,
    RadauIIA,
    SegmentEnd,
    Solver,
    State,
    Status,
    Step,
    StepError,
    Stepper,
    Taylor,
)
from daesolve.solvers.assimulo import AssimuloCvode
from daesolve.solvers.assimulo_dae import AssimuloIda, AssimuloOdassl, AssimuloRadau5
from daesolve.solvers.sundae import SundaeCvode, SundaeIda

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
