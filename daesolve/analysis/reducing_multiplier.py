"""Chaplygin's reducing multiplier: a change of time that makes reduced equations Hamiltonian.

Suppose that constraints leave two velocities and that the equations of two coordinates r (the
shape) contain no others. These equations have an invariant measure N(r) dr dp, with the momenta p
of the reduced energy, if and only if they are Lagrange's equations in the time tau with d tau =
N(r) dt. In (r, r') with

    r'' = F(r, r'),   div F = theta(r) . r',   T* = r' . G(r) r' / 2,

    grad ln N = -theta - grad ln det G,

and N exists if and only if theta is closed.

S. A. Chaplygin, On the theory of motion of nonholonomic systems. The reducing-multiplier theorem,
Mat. Sb. 28 (1911) 303-314 (in English: Regular and Chaotic Dynamics 13 (2008) 369-376).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import casadi as ca
import numpy as np

from daesolve.analysis.constrained_flow import ConstrainedFlow, constrained_flow
from daesolve.analysis.logarithmic_gradient import LogarithmicGradient, evidence_of
from daesolve.core.expressions.identities import vanishes
from daesolve.core.expressions.linear import solve_small
from daesolve.core.system.system import System
from daesolve.errors import DegenerateStartError, OutOfRangeError, check_names

ROUNDING = 1e-9
"""The value that counts as zero, relative to its terms."""


@dataclass(frozen=True, eq=False)
class ReducingMultiplier(LogarithmicGradient):
    """Whether a reducing multiplier exists, and its gradient.

    Parameters
    ----------
    exists
        Whether it exists.
    evidence
        "proved", "proved at these parameters", "sampled" or "refuted".
    said
        The finding in a sentence.
    shape
        The two coordinates.
    curl
        How far theta is from closed at random places, relative to its terms.
    """

    exists: bool
    evidence: str
    said: str
    shape: tuple[str, str]
    curl: float
    _gradient: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)
    _called = "multiplier", "coordinate of the shape"

    def __str__(self) -> str:
        """Return the verdict and its scope."""
        return f"{self.said} [{self.evidence}]"

    @property
    def _variables(self) -> tuple[str, str]:
        return self.shape


def reducing_multiplier(
    system: System, shape: Sequence[str], *, parameters: Mapping[str, float] | None = None
) -> ReducingMultiplier:
    """Find Chaplygin's reducing multiplier of a system with two degrees of freedom.

    Parameters
    ----------
    system
        A mechanical system whose ideal constraints leave two velocities.
    shape
        Two coordinates whose equations do not contain the others.
    parameters
        Values that override the defaults.

    Raises
    ------
    OutOfRangeError
        There are not two of each, or the equations of the shape contain other coordinates.
    DegenerateStartError
        The shape does not determine the velocities.
    UnknownNameError, PosingError
        A name is unknown, or the system is unsuitable.

    Examples
    --------
    A particle with the constraint z' = y x' has N = 1 / sqrt(1 + y^2):

    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="", z="m")
    >>> energy = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    >>> rail = ds.Nonholonomic("rail", q.dot.z - q.y * q.dot.x)
    >>> system = ds.MechanicalSystem(q, kinetic=energy, goals=[rail])
    >>> found = reducing_multiplier(system, ["x", "y"])
    >>> found.exists, round(found.ratio({"y": 1.0}, {}), 12)
    (True, 0.707106781187)
    """
    flow = constrained_flow(system, parameters)
    labels = flow.pfaff.dynamics.labels.states
    names = [labels[int(k)] for k in flow.pfaff.places]
    check_names("coordinate", shape, names)
    if len(set(shape)) != 2 or flow.velocities.numel() != 2:
        raise OutOfRangeError(
            f"a reducing multiplier needs two coordinates for two velocities, but {len(set(shape))}"
            f" were named for {flow.velocities.numel()}"
        )
    places = [names.index(name) for name in shape]
    rates, inertia, force = _reduced(flow, places)
    others = [k for k in range(len(names)) if k not in places]
    if others:
        for what, value in (("energy", ca.vec(inertia)), ("forces", force)):
            _check_free(flow, what, value, [(names[k], flow.positions[k]) for k in others])
    theta = ca.jacobian(ca.trace(ca.jacobian(force, rates)), rates)
    return _verdict(flow, (shape[0], shape[1]), places, (rates, inertia, theta))


def _reduced(flow: ConstrainedFlow, places: list[int]) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return symbols r', the mass matrix G(r) and r'' = F."""
    carried = flow.fields[places, :]
    sizes = np.abs(np.linalg.det(flow.sampled(carried)))
    if not np.median(sizes) > ROUNDING:
        raise DegenerateStartError(
            "the rates of the two coordinates do not determine the velocities that the "
            "constraints leave: choose others"
        )
    rates = ca.SX.sym("r_dot", 2)  # pyright: ignore[reportArgumentType]
    back = solve_small(carried, ca.SX.eye(2))
    moving = ca.densify(back @ rates)
    moved = carried @ flow.velocities
    bent = ca.jtimes(moved, flow.positions, flow.fields @ flow.velocities)
    force = ca.substitute(bent + carried @ flow.acceleration, flow.velocities, moving)
    return rates, back.T @ flow.mass @ back, force


def _check_free(
    flow: ConstrainedFlow, what: str, value: ca.SX, others: Sequence[tuple[str, ca.SX]]
) -> None:
    """Refuse equations of the shape that contain other coordinates."""
    for name, coordinate in others:
        slopes = ca.jacobian(value, coordinate)
        if vanishes(slopes, flow.known):
            continue
        rates = [s for s in ca.symvar(slopes) if s.name().startswith("r_dot")]
        still = ca.SX.ones(len(rates), 1)
        at_one = ca.substitute(slopes, ca.vertcat(*rates), still) if rates else slopes
        if np.max(np.abs(flow.sampled(at_one)), initial=0.0) > ROUNDING:
            raise OutOfRangeError(
                f"the {what} of the shape contain {name!r}: a reducing multiplier needs "
                "equations that contain only two coordinates"
            )


def _verdict(
    flow: ConstrainedFlow,
    shape: tuple[str, str],
    places: list[int],
    parts: tuple[ca.SX, ca.SX, ca.SX],
) -> ReducingMultiplier:
    rates, inertia, theta = parts
    still = ca.SX.zeros(2)
    if not vanishes(ca.jacobian(theta, rates), flow.known):
        return ReducingMultiplier(
            False, "refuted", "the divergence is not linear in the velocities", shape, 1.0
        )
    theta = ca.substitute(theta, rates, still)
    r = ca.vertcat(*[flow.positions[k] for k in places])
    slopes = ca.jacobian(theta.T, r)
    curl = slopes[0, 1] - slopes[1, 0]
    sizes = np.max(np.abs(flow.sampled(slopes)), initial=0.0)
    apart = float(np.max(np.abs(flow.sampled(curl)))) / (float(sizes) or 1.0)
    if apart > ROUNDING:
        said = "the divergence is not a gradient: there is no reducing multiplier"
        return ReducingMultiplier(False, "refuted", said, shape, apart)
    evidence = evidence_of(partial(vanishes, curl), flow.known)
    gradient = -theta - ca.jacobian(ca.log(ca.fabs(ca.det(inertia))), r)
    function, base = flow.function(gradient), flow.states[0]

    def slope(place: np.ndarray) -> np.ndarray:
        x = np.zeros_like(base)
        x[flow.pfaff.places[places]] = place
        return function(x, np.zeros(2))[0]

    said = "with d tau = N dt the reduced equations are Lagrange's"
    return ReducingMultiplier(True, evidence, said, shape, apart, slope)
