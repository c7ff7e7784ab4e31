"""Analysis of a mechanical system before it moves, and other systems derived from it."""

from daesolve.nonholonomic.closure import NoSlipClosure, no_slip_closure
from daesolve.nonholonomic.creep_limit import (
    CreepLimit,
    PrincipalSlip,
    creep_limit,
    creep_limits,
    slip_shares,
)
from daesolve.nonholonomic.growth import GrowthVector, growth_vector
from daesolve.nonholonomic.gyroscopic import (
    GyroscopicSeparation,
    SeparatedSystem,
    separate_gyroscopic,
    separate_small_velocities,
)
from daesolve.nonholonomic.pfaff import SubstitutableCombinations, substitutable_combinations
from daesolve.nonholonomic.quasi_holonomic import QuasiHolonomic, is_quasi_holonomic
from daesolve.nonholonomic.singular_lagrangian import SingularLagrangian, singular_lagrangian
from daesolve.nonholonomic.slow_slips import Slip
from daesolve.nonholonomic.small_velocities import DiracModel, small_velocities
from daesolve.nonholonomic.substitution import Eliminated, eliminate
from daesolve.nonholonomic.validity import Validity

__all__ = [
    "CreepLimit",
    "DiracModel",
    "Eliminated",
    "GrowthVector",
    "GyroscopicSeparation",
    "NoSlipClosure",
    "PrincipalSlip",
    "QuasiHolonomic",
    "SeparatedSystem",
    "SingularLagrangian",
    "Slip",
    "SubstitutableCombinations",
    "Validity",
    "creep_limit",
    "creep_limits",
    "eliminate",
    "growth_vector",
    "is_quasi_holonomic",
    "no_slip_closure",
    "separate_gyroscopic",
    "separate_small_velocities",
    "singular_lagrangian",
    "slip_shares",
    "small_velocities",
    "substitutable_combinations",
]
