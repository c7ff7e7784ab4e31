"""Whether a motion preserves a volume: a density rho > 0 with div(rho f) = 0.

With u = ln rho this is f . grad u = -div f. For constraints that are ideal and linear in the
velocities, in positions q and independent velocities w,

    q' = X w,   div f = theta(q) . w,

if no friction acts. Then u(q) must have the derivatives X_j u = -theta_j along the fields that the
constraints leave. Brackets of these fields decide whether such a function of the positions exists,
and give its gradient. If the body can rest at every place (all forces vanish at rest), this decides
about every smooth density: to first order in small w only u(q, 0) remains of u(q, w), and it obeys
the same equation.

For any other field f(x), `daesolve.analysis.measure_of_fields` tries a family of candidates; rest
points with div f != 0 exclude every smooth density.

Sources: V. V. Kozlov, On the theory of integration of the equations of nonholonomic mechanics,
Advances in Mechanics 8 (1985) 85-107; F. Cantrijn, J. Cortes, M. de Leon, D. Martin de Diego, On
the geometry of generalized Chaplygin systems, Math. Proc. Camb. Phil. Soc. 132 (2002) 323-351;
Yu. N. Fedorov, L. C. Garcia-Naranjo, J. C. Marrero, Unimodularity and preservation of volumes in
nonholonomic mechanics, J. Nonlinear Sci. 25 (2015) 203-246.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
import scipy

from daesolve.analysis.bracket_equations import BracketEquations, bracket_equations
from daesolve.analysis.constrained_flow import ConstrainedFlow, constrained_flow
from daesolve.analysis.logarithmic_gradient import LogarithmicGradient, evidence_of
from daesolve.analysis.measure_of_fields import measure_of_field
from daesolve.core.expressions.identities import vanishes
from daesolve.core.system.system import MechanicalSystem, System

ROUNDING = 1e-11
"""The part of a divergence that counts as zero, relative to its terms."""
SHRINKS = 1e-6
"""The least deviation of a product of multipliers from one, or of a sum of eigenvalues from
zero, that counts."""
EVERY = "smooth positive densities"
Numbers = Sequence[complex] | np.ndarray | None
WINDING = 1e-7
"""The accepted change of ln rho after a whole turn of an angle."""


@dataclass(frozen=True, eq=False)
class InvariantMeasure(LogarithmicGradient):
    """Whether a motion preserves a volume.

    Parameters
    ----------
    exists
        True if there is a density; False if none of the family is one; None if this test does not
        decide.
    evidence
        "proved", "proved at these parameters", "sampled" or "refuted".
    family
        The densities that were tested.
    none_at_all
        Whether every smooth positive density is excluded.
    said
        The finding in a sentence.
    variables
        The variables of the volume: positions and velocities.
    residual
        The contradiction between the conditions at random states, relative to their terms.
    positions
        The variables of ln rho; none if there is no density.
    """

    exists: bool | None
    evidence: str
    family: str
    none_at_all: bool
    said: str
    variables: tuple[str, ...]
    residual: float
    positions: tuple[str, ...] = ()
    _gradient: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)
    _bound: bool = field(default=False, repr=False)
    _called = "density", "variable of the density"

    def __str__(self) -> str:
        """Return the verdict and its scope."""
        return f"{self.said} [{self.evidence}; {self.family}]"

    @property
    def _variables(self) -> tuple[str, ...]:
        return self.positions


def invariant_measure(
    system: System,
    *,
    parameters: Mapping[str, float] | None = None,
    velocities: Sequence[str] | None = None,
    candidates: Sequence[ca.SX] | None = None,
    at: Mapping[str, float] | None = None,
    multipliers: Sequence[complex] | np.ndarray | None = None,
    eigenvalues: Sequence[complex] | np.ndarray | None = None,
) -> InvariantMeasure:
    """Determine whether a motion preserves a volume, and its density.

    Parameters
    ----------
    system
        A mechanical system with ideal constraints, or a control system whose states have their own
        rates (reduced equations).
    parameters
        Values that override the defaults.
    velocities
        For a mechanical system: the names of the independent velocities that define the volume.
        None chooses some for which the constraints can be solved.
    candidates
        For a control system: expressions of its states of which rho or ln rho may be a combination.
        None uses the states, their logarithms, products of two, sines and cosines.
    at
        A state, needed if there are invariants on positions: for example a quaternion of length 1.
    multipliers
        The multipliers of a periodic motion of the system (`PeriodicOrbit.multipliers`), in all but
        trivial directions: in a period, a volume changes by their product.
    eigenvalues
        The eigenvalues of a steady motion (`linearize`), in all but trivial directions: a volume
        changes at the rate of their sum.

    Raises
    ------
    PosingError
        The system is neither of these, or is switched, driven or directed.
    UnknownNameError, OutOfRangeError, DegenerateStartError
        A name is unknown, or the velocities cannot be independent.

    Examples
    --------
    A particle with the constraint z' = y x' preserves the volume of (x, y, z, x', y') with sqrt(1 +
    y^2):

    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="", z="m")
    >>> energy = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    >>> rail = ds.Nonholonomic("rail", q.dot.z - q.y * q.dot.x)
    >>> found = invariant_measure(
    ...     ds.MechanicalSystem(q, kinetic=energy, goals=[rail]), velocities=["x_dot", "y_dot"]
    ... )
    >>> found.exists, round(found.ratio({"y": 1.0}, {}), 12)
    (True, 1.414213562373)
    """
    if not isinstance(system, MechanicalSystem):
        measure = InvariantMeasure(**measure_of_field(system, parameters, candidates))
    else:
        flow = constrained_flow(system, parameters, velocities, at)
        names = flow.pfaff.dynamics.labels.states
        measure = _verdict(flow, tuple(names[int(k)] for k in flow.pfaff.places))
    shrunk = _shrunk(multipliers, eigenvalues)
    if shrunk and not measure.none_at_all:
        return replace(
            measure, exists=False, evidence="refuted", family=EVERY, none_at_all=True, said=shrunk
        )
    return measure


def _shrunk(multipliers: Numbers, eigenvalues: Numbers) -> str:
    """Return the effect of a periodic or steady motion on volumes, if it has one."""
    if multipliers is not None and len(multipliers):
        product = complex(np.prod(np.asarray(multipliers)))
        if abs(abs(product) - 1.0) > SHRINKS:
            return f"in a period of the motion volumes change by the factor {abs(product):.6g}"
    if eigenvalues is not None and len(eigenvalues):
        total = complex(np.sum(np.asarray(eigenvalues))).real
        if abs(total) > SHRINKS * float(np.sum(np.abs(eigenvalues))):
            return f"along the steady motion volumes change at the rate {total:.6g} 1/s"
    return ""


def _verdict(flow: ConstrainedFlow, places: tuple[str, ...]) -> InvariantMeasure:
    divergence = flow.divergence
    slopes = flow.at_rest(ca.jacobian(divergence, flow.velocities))
    still, resting = flow.at_rest(divergence), _rests(flow)
    variables, family = (*places, *flow.names), "functions of the positions"
    terms = _terms(flow)

    def no(said: str, residual: float, every: bool) -> InvariantMeasure:
        return InvariantMeasure(False, "refuted", family, every, said, variables, residual)

    damped = float(np.max(np.abs(flow.sampled(still)), initial=0.0)) / terms
    if damped > ROUNDING:
        what = "the divergence is not zero at rest: something damps or feeds the motion"
        return no(what, damped, resting)
    bent = ca.jacobian(ca.jacobian(divergence, flow.velocities), flow.velocities)
    if np.max(np.abs(flow.sampled(bent)), initial=0.0) > ROUNDING * terms:
        return no("the divergence is not linear in the velocities", 1.0, False)
    flat = np.max(np.abs(flow.sampled(slopes)), initial=0.0) <= ROUNDING * terms
    if flat:
        slopes = ca.SX.zeros(*slopes.shape)
    equations = bracket_equations(flow.positions, flow.fields, -slopes, flow.sampled)
    if not equations.consistent:
        what = "no function of the positions has the derivatives that ln rho would need"
        return no(what, equations.residual, resting)
    return _settle_measure(flow, places, equations, flat=flat, resting=resting)


def _settle_measure(
    flow: ConstrainedFlow,
    places: tuple[str, ...],
    equations: BracketEquations,
    *,
    flat: bool,
    resting: bool,
) -> InvariantMeasure:
    """Return the measure from the equations if it is periodic in whole turns."""
    function = flow.function(equations.gradient)
    indices, base = flow.pfaff.places, flow.states[0]

    def gradient(place: np.ndarray) -> np.ndarray:
        x = np.zeros_like(base)
        x[indices] = place
        return function(x, np.zeros(flow.velocities.numel()))[0]

    said = "the volume itself is preserved, rho = 1" if flat else "a density preserves the volume"
    exists: bool | None = True
    evidence = _evidence(flow, equations, flat=flat)
    if not equations.complete:
        exists, said = (
            None,
            f"brackets of {equations.depth} fields do not contradict it, but longer ones might",
        )
    turn = _winding(flow, equations)
    if exists and turn:
        exists, said = False, f"ln rho grows with every turn of {turn}: it is not single-valued"
        evidence = "refuted"
    return InvariantMeasure(
        exists,
        evidence,
        "functions of the positions",
        exists is False and resting,
        said,
        (*places, *flow.names),
        equations.residual,
        places if exists else (),
        gradient if exists else None,
        equations.fields.shape[1] < len(places),
    )


def _evidence(flow: ConstrainedFlow, equations: BracketEquations, *, flat: bool) -> str:
    """Return the scope of a positive verdict: identities, or sample states."""
    if any(row.on == "positions" for row in flow.pfaff.dynamics.invariants):
        return "sampled"  # Away from unit quaternions the equations differ.
    own = [ca.SX(ca.jacobian(flow.divergence, flow.velocities))] if flat else []

    def proved(known: Mapping[int, float] | None) -> bool:
        return all(vanishes(part, known) for part in own) and equations.proved(known)

    return evidence_of(proved, flow.known)


def _rests(flow: ConstrainedFlow) -> bool:
    """Return whether the body can rest in every position."""
    still = flow.at_rest(flow.acceleration)
    return bool(np.max(np.abs(flow.sampled(still)), initial=0.0) < ROUNDING)


def _terms(flow: ConstrainedFlow) -> float:
    """Return the size of the terms of the divergence, per unit of velocity."""
    parts = ca.vertcat(
        ca.vec(ca.jacobian(ca.vec(flow.fields), flow.positions)),
        ca.vec(ca.jacobian(flow.acceleration, flow.velocities)),
    )
    return float(np.median(np.max(np.abs(flow.sampled(parts)), axis=(1, 2), initial=0.0))) or 1.0


def _winding(flow: ConstrainedFlow, equations: BracketEquations) -> str:
    """Return an angle whose whole turn changes ln rho.

    The kinetic energy is used as the measure, because the solution of the constraints may be
    singular on the way.
    """
    dynamics, mass = flow.pfaff.dynamics, flow.mass
    size = 0.0 if not mass.numel() else ca.log(ca.det(mass)) / 2
    function = flow.function(equations.gradient - ca.jacobian(size, flow.positions))
    frame = flow.function(equations.fields)
    still = np.zeros(flow.velocities.numel())
    for column, index in enumerate(flow.pfaff.places):
        x = flow.states[0].copy()
        reached = np.linalg.matrix_rank(
            np.column_stack([frame(x, still), np.eye(len(flow.pfaff.places))[column]])
        )
        if int(index) not in dynamics.labels.angles or reached > equations.fields.shape[1]:
            continue

        def slope(angle: float, x: np.ndarray = x, at: int = int(index), k: int = column) -> float:
            x[at] = angle
            return float(function(x, still)[0, k])

        begin = float(x[index])
        total, error = scipy.integrate.quad(slope, begin, begin + 2 * np.pi, limit=400)
        if abs(total) > WINDING + 10.0 * error:
            return dynamics.labels.states[int(index)]
    return ""
