"""Types for the annotations of a plugin: of what it is handed, and of what it hands back."""

from daesolve.events import Order
from daesolve.goals import AnyGoal
from daesolve.problem import BoundCase
from daesolve.supports.balance import VariantState
from daesolve.symbols import Auxiliaries, DifferentiableVector, Parameters, SymbolVector
from daesolve.system import Output, System

__all__ = [
    "AnyGoal",
    "Auxiliaries",
    "BoundCase",
    "DifferentiableVector",
    "Order",
    "Output",
    "Parameters",
    "SymbolVector",
    "System",
    "VariantState",
]
