"""Small motions, sensitivities, sections, exponents, and runs in quadruple precision."""

from daesolve.analysis.computed_torque import computed_torque
from daesolve.analysis.disturbance import Disturbance, disturbance
from daesolve.analysis.exponents import LyapunovExponent, lyapunov_exponent, many_exponents
from daesolve.analysis.inverse_dynamics import InverseDynamics
from daesolve.analysis.linearization import linearize
from daesolve.analysis.root_locus import RootLocus, root_locus
from daesolve.analysis.sections import Section, many_sections, section_of, sections
from daesolve.analysis.sensitivity import Sensitivity, sensitivity
from daesolve.verification.reference_run import ReferenceRun, reference_run

__all__ = [
    "Disturbance",
    "InverseDynamics",
    "LyapunovExponent",
    "ReferenceRun",
    "RootLocus",
    "Section",
    "Sensitivity",
    "computed_torque",
    "disturbance",
    "linearize",
    "lyapunov_exponent",
    "many_exponents",
    "many_sections",
    "reference_run",
    "root_locus",
    "section_of",
    "sections",
    "sensitivity",
]
