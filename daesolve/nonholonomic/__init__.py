"""What can be said of a mechanical system before it moves, and other systems made from it."""

from daesolve.nonholonomic.closure import NoSlipClosure, no_slip_closure
from daesolve.nonholonomic.growth import GrowthVector, growth_vector, growth_vector_report
from daesolve.nonholonomic.pfaff import (
    SubstitutableCombinations,
    substitutable_combinations,
    substitutable_report,
)
from daesolve.nonholonomic.quasi_holonomic import (
    QuasiHolonomic,
    default_coordinates,
    is_quasi_holonomic,
    quasi_holonomic_report,
)
from daesolve.nonholonomic.small_velocities import DiracModel, small_velocities
from daesolve.nonholonomic.substitution import Eliminated, eliminate

__all__ = [
    "DiracModel",
    "Eliminated",
    "GrowthVector",
    "NoSlipClosure",
    "QuasiHolonomic",
    "SubstitutableCombinations",
    "default_coordinates",
    "eliminate",
    "growth_vector",
    "growth_vector_report",
    "is_quasi_holonomic",
    "no_slip_closure",
    "quasi_holonomic_report",
    "small_velocities",
    "substitutable_combinations",
    "substitutable_report",
]
