"""Types for the annotations of a plugin: for its arguments and its results."""

from daesolve.contact.friction.support_balance import VariantState
from daesolve.core.posing.events import Order
from daesolve.core.posing.goals import AnyGoal
from daesolve.core.posing.symbols import Auxiliaries, DifferentiableVector, Parameters, SymbolVector
from daesolve.core.results.trajectory.certificate import CertifiedEvent, RunCertificate
from daesolve.core.results.trajectory.findings import Audit, Finding, Verdict
from daesolve.core.run.integration.run_options import RunOptions
from daesolve.core.run.solving.solving import SolveOptions
from daesolve.core.system.consistent_state import ConsistentState
from daesolve.core.system.system import Output, System
from daesolve.plugins.bound_case import BoundCase

__all__ = [
    "AnyGoal",
    "Audit",
    "Auxiliaries",
    "BoundCase",
    "CertifiedEvent",
    "ConsistentState",
    "DifferentiableVector",
    "Finding",
    "Order",
    "Output",
    "Parameters",
    "RunCertificate",
    "RunOptions",
    "SolveOptions",
    "SymbolVector",
    "System",
    "VariantState",
    "Verdict",
]
