"""Small motions, sensitivities, sections, exponents, periodic motions, quadruple precision."""

from typing import TYPE_CHECKING, Any

from daesolve.analysis.computed_torque import computed_torque
from daesolve.analysis.disturbance import Disturbance, disturbance
from daesolve.analysis.exponents import LyapunovExponent, lyapunov_exponent, many_exponents
from daesolve.analysis.gradients import (
    Gradient,
    HessianProduct,
    Objective,
    gradient,
    hessian_product,
)
from daesolve.analysis.identification import (
    Experiment,
    ExperimentFit,
    Identification,
    NullDirection,
    Profile,
)
from daesolve.analysis.invariant_measure import InvariantMeasure, invariant_measure
from daesolve.analysis.inverse_dynamics import InverseDynamics
from daesolve.analysis.linearization import linearize
from daesolve.analysis.reducing_multiplier import ReducingMultiplier, reducing_multiplier
from daesolve.analysis.root_locus import RootLocus, root_locus
from daesolve.analysis.sample_derivatives import SampleDerivatives
from daesolve.analysis.sections import Section, many_sections, section_of, sections
from daesolve.analysis.sensitivity import Sensitivity, sensitivity
from daesolve.verification.enclosure.periodic_proof import PeriodicProof, prove_periodic
from daesolve.verification.reference_run import ReferenceRun, reference_run

if TYPE_CHECKING:
    from daesolve.analysis.optimal_control import Optimum
    from daesolve.analysis.orbits import (
        Branch,
        CircleMap,
        DirectionalRates,
        PeriodicOrbit,
        Reflect,
        Relabel,
        RotationNumber,
        Shift,
        SpecialPoint,
        StabilityMap,
        Tongue,
        circle_map,
        continue_orbit,
        periodic_orbit,
        stability_map,
    )

__all__ = [
    "Branch",
    "CircleMap",
    "DirectionalRates",
    "Disturbance",
    "Experiment",
    "ExperimentFit",
    "Gradient",
    "HessianProduct",
    "Identification",
    "InvariantMeasure",
    "InverseDynamics",
    "LyapunovExponent",
    "NullDirection",
    "Objective",
    "Optimum",
    "PeriodicOrbit",
    "PeriodicProof",
    "Profile",
    "ReducingMultiplier",
    "ReferenceRun",
    "Reflect",
    "Relabel",
    "RootLocus",
    "RotationNumber",
    "SampleDerivatives",
    "Section",
    "Sensitivity",
    "Shift",
    "SpecialPoint",
    "StabilityMap",
    "Tongue",
    "circle_map",
    "computed_torque",
    "continue_orbit",
    "disturbance",
    "gradient",
    "hessian_product",
    "invariant_measure",
    "linearize",
    "lyapunov_exponent",
    "many_exponents",
    "many_sections",
    "periodic_orbit",
    "prove_periodic",
    "reducing_multiplier",
    "reference_run",
    "root_locus",
    "section_of",
    "sections",
    "sensitivity",
    "stability_map",
]


def __getattr__(name: str) -> Any:
    """Import the tools for periodic and optimal motions at their first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from daesolve.analysis import optimal_control, orbits  # long to import

    return getattr(optimal_control if name == "Optimum" else orbits, name)
