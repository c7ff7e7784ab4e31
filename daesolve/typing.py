"""Types for the annotations of a plugin: for its arguments and its results."""

from daesolve.friction.support_balance import VariantState
from daesolve.integration.run_options import RunOptions
from daesolve.plugins.bound_case import BoundCase
from daesolve.posing.events import Order
from daesolve.posing.goals import AnyGoal
from daesolve.posing.symbols import Auxiliaries, DifferentiableVector, Parameters, SymbolVector
from daesolve.solving.solving import SolveOptions
from daesolve.system.consistent_state import ConsistentState
from daesolve.system.system import Output, System
from daesolve.trajectory.findings import Audit, Finding, Verdict

__all__ = [
    "AnyGoal",
    "Audit",
    "Auxiliaries",
    "BoundCase",
    "ConsistentState",
    "DifferentiableVector",
    "Finding",
    "Order",
    "Output",
    "Parameters",
    "RunOptions",
    "SolveOptions",
    "SymbolVector",
    "System",
    "VariantState",
    "Verdict",
]
