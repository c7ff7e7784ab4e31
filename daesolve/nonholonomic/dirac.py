"""Dirac's equations of a system whose small velocities carry no kinetic energy in the limit.

With L = v.A v/2 + b.v - V, large velocities v1 and small ones v2, and S = A22 - A21 A11^-1 A12,
the Lagrangian without the energy of the small velocities, L0 = L - v2.S v2/2, is singular. Its
momenta fulfil the primary constraints Phi = p2 - b2 - A21 A11^-1 (p1 - b1) = 0, and

    H = H0(t, q, p1) + Phi.S^-1 Phi/2,    lambda = S^-1 Phi = v2

holds for the full system. Its motion therefore obeys

    q' = dH0/dp + Phi_p^T lambda,    p' = -dH0/dq - Phi_q^T lambda + (lambda.S lambda)_q/2 + Q,
    (S lambda)' = R + Phi_p (lambda.S lambda)_q/2,

exactly, where R(t, q, p1, lambda) is the rate of Phi along Dirac's equations, the case S = 0. Posed
as control systems, these equations and their refinement keep R = 0 along the motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.expressions.linear import is_zero, solve_definite, solve_small
from daesolve.core.posing.events import RISING, Event, Stop
from daesolve.core.posing.goals import Goal
from daesolve.core.posing.inputs import Drive
from daesolve.core.posing.rewriting import Rewriting, substitution
from daesolve.core.posing.symbols import SymbolVector, velocity_name
from daesolve.core.system.system import ControlSystem, MechanicalSystem, Output, unswitched
from daesolve.errors import PosingError


@dataclass(frozen=True, eq=False)
class DiracEquations:
    """Dirac's equations and the terms they neglect, as expressions of (t, x, lambda, p).

    Parameters
    ----------
    t, slow, multipliers, p
        Symbols: time, x = (positions, p1), lambda, and the numbers in `Dynamics.p`.
    velocities
        v of the full system.
    constraints
        Phi, an expression of (t, q, p1, p2).
    inertia
        S, (m, m) for m small velocities.
    balance
        R, (m, 1).
    solvability
        M = dR/dlambda.
    rate
        x' by Dirac's equations.
    neglected
        The terms neglected in x': (lambda.S lambda)_q1/2 in p1', zero elsewhere.
    drift
        R_x x' + R_t: while R = 0 is kept, M lambda' + drift = 0.
    carried
        Further terms due to the inertia of the small velocities, besides S lambda', (m, 1): S'
        lambda, and Phi_p (lambda.S lambda)_q/2 with the opposite sign. To the second order the
        small velocities of the slow motion are lambda + M^-1 (S lambda' + carried), with lambda
        where R = 0.
    """

    t: ca.SX
    slow: ca.SX
    multipliers: ca.SX
    p: ca.SX
    velocities: ca.SX
    constraints: ca.SX
    inertia: ca.SX
    balance: ca.SX
    solvability: ca.SX
    rate: ca.SX
    neglected: ca.SX
    drift: ca.SX
    carried: ca.SX

    def arguments(self) -> list[ca.SX]:
        """Return the symbols that everything except `constraints` depends on."""
        return [self.t, self.slow, self.multipliers, self.p]

    @cached_property
    def changing(self) -> ca.SX:
        """The rate of lambda while R = 0 is kept."""
        return -solve_small(self.solvability, self.drift)

    def lengthening(self, changing: ca.SX) -> ca.SX:
        """Return T' along the slow motion, T = |S^1/2 M^-1 S^1/2| the time of the fast motion, s.

        As long as T' is much smaller than 1, fast motions end, or complete many turns, before they
        slow down. Where M becomes singular on the way, T' passes 1 first.

        Parameters
        ----------
        changing
            lambda', (m, 1).
        """
        inverse = solve_small(self.solvability, ca.SX.eye(self.multipliers.numel()))
        square = ca.dot(self.inertia @ inverse @ self.inertia, inverse)
        return ca.jtimes(
            ca.sqrt(square),
            ca.vertcat(self.t, self.slow, self.multipliers),
            ca.vertcat(1, self.rate, changing),
        )


def dirac_equations(
    system: MechanicalSystem,
    small: Sequence[int],
    slow: ca.SX,
    multipliers: ca.SX,
    constrained: ca.SX,
) -> DiracEquations:
    """Derive Dirac's equations.

    Parameters
    ----------
    system
        A system without constraints, posed by its kinetic energy.
    small
        The indices of the m small velocities.
    slow, multipliers
        The symbols of x = (positions, p1) and of lambda.
    constrained
        The symbols of the momenta p2.
    """
    dynamics = system.dynamics
    t, count = dynamics.t, dynamics.position_count
    large = [index for index in range(len(system.v)) if index not in small]
    in_parts = _in_coordinates if system.velocities is None else _in_quasi_velocities
    parts = in_parts(system, large, small, slow[count:, 0], multipliers, constrained)
    names = [*parts]
    written = ca.substitute([*parts.values()], [dynamics.x[:count]], [slow[:count]])
    own = dict(zip(names, written, strict=True))
    balance, rate = own["balance"], own["rate"]

    def following(expression: ca.SX) -> ca.SX:
        return ca.jtimes(expression, slow, rate) + ca.jtimes(expression, t, ca.SX(1))

    return DiracEquations(
        t=t,
        slow=slow,
        multipliers=multipliers,
        p=dynamics.p,
        velocities=own["velocities"],
        constraints=own["constraints"],
        inertia=own["inertia"],
        balance=balance,
        solvability=ca.jacobian(balance, multipliers),
        rate=rate,
        neglected=ca.vertcat(ca.SX.zeros(count), own["neglected"]),
        drift=following(balance),
        carried=own["carried"] + following(own["moving"]),
    )


@dataclass(frozen=True, eq=False)
class _Split:
    """Large and small velocities, of momenta p = A v + b: the first follow from p1 and lambda.

    Parameters
    ----------
    ties
        A21 A11^-1.
    inertia
        S.
    own, freed
        p1 - b1, and A11^-1 (p1 - b1).
    velocities, constraints
        All velocities, and Phi.
    """

    ties: ca.SX
    inertia: ca.SX
    own: ca.SX
    freed: ca.SX
    velocities: ca.SX
    constraints: ca.SX

    @staticmethod
    def of(
        mass: ca.SX,
        linear: ca.SX,
        places: tuple[Sequence[int], Sequence[int]],
        momenta: tuple[ca.SX, ca.SX],
        multipliers: ca.SX,
    ) -> _Split:
        """Split a mass matrix and the momenta at rest, b, by the places of both kinds."""
        large, small = places
        heavy, mixed = _block(mass, large, large), _block(mass, large, small)
        ties = solve_definite(heavy, mixed).T if large else mixed.T
        own = momenta[0] - _block(linear, large, [0])
        freed = solve_definite(heavy, own) if large else own
        moving = ca.vertcat(freed - ties.T @ multipliers, multipliers)
        return _Split(
            ties,
            _block(mass, small, small) - ties @ mixed,
            own,
            freed,
            _arranged(moving, [*large, *small]),
            momenta[1] - _block(linear, small, [0]) - ties @ own,
        )

    @property
    def parts(self) -> dict[str, ca.SX]:
        """Those of `DiracEquations` that it has."""
        return {name: getattr(self, name) for name in ("velocities", "constraints", "inertia")}


def _in_coordinates(
    system: MechanicalSystem,
    large: Sequence[int],
    small: Sequence[int],
    p1: ca.SX,
    multipliers: ca.SX,
    p2: ca.SX,
) -> dict[str, ca.SX]:
    """Return the parts of `DiracEquations` by name, in the symbols of the system's positions.

    Here `carried` lacks the rate of `moving`.
    """
    dynamics = system.dynamics
    assert dynamics.kinetic is not None
    q, v, kinetic = dynamics.x[: dynamics.coordinate_count], dynamics.velocities, dynamics.kinetic
    rest = ca.SX.zeros(v.numel())
    at_rest, linear = ca.substitute([kinetic, ca.gradient(kinetic, v)], [v], [rest])
    split = _Split.of(dynamics.mass, linear, (large, small), (p1, p2), multipliers)
    ties, velocities, constraints = split.ties, split.velocities, split.constraints
    hamiltonian = ca.dot(split.own, split.freed) / 2 - at_rest
    moved = ca.jtimes(constraints, q, velocities) + ca.jtimes(constraints, dynamics.t, ca.SX(1))
    driven = (
        _forces(system, velocities)
        - ca.gradient(hamiltonian, q)
        - ca.jtimes(constraints, q, multipliers, True)
    )
    driven_large = _block(driven, large, [0])
    rates = ca.substitute(dynamics.position_rates, v, velocities)
    steep = ca.gradient(ca.dot(multipliers, split.inertia @ multipliers) / 2, q)
    steep_large = _block(steep, large, [0])
    return {
        **split.parts,
        "balance": moved + _block(driven, small, [0]) - ties @ driven_large,
        "rate": ca.vertcat(rates, driven_large),
        "neglected": steep_large,
        "carried": ties @ steep_large - _block(steep, small, [0]),
        "moving": split.inertia @ multipliers,
    }


def _in_quasi_velocities(
    system: MechanicalSystem,
    large: Sequence[int],
    small: Sequence[int],
    p1: ca.SX,
    multipliers: ca.SX,
    p2: ca.SX,
) -> dict[str, ca.SX]:
    """Return the same parts in quasi-velocities, by Hamel's equations A v' = h.

    With n = (-A21 A11^-1, 1), n A = (0, S), so S lambda' = n h exactly, and R = n h. Besides the
    rate of Phi along Dirac's equations, R contains the forces due to S lambda and finite
    velocities. They are as small as S lambda', which order 0 neglects; but during the fast motion
    they change the large momenta by as much as the refinement does.
    """
    dynamics = system.dynamics
    kinetic = dynamics.kinetic
    assert kinetic is not None
    q, v = dynamics.x[: dynamics.position_count], dynamics.velocities
    momenta = ca.gradient(kinetic, v)
    linear = ca.substitute(momenta, v, ca.SX.zeros(v.numel()))
    split = _Split.of(dynamics.mass, linear, (large, small), (p1, p2), multipliers)
    # p1 = dT/dv1 also changes with its coefficients.
    along = ca.jtimes(momenta, ca.vertcat(q, dynamics.t), ca.vertcat(dynamics.position_rates, 1))
    force, along, rates = ca.substitute(
        [dynamics.force, along, dynamics.position_rates], [v], [split.velocities]
    )
    pushed = _block(force, large, [0])
    return {
        **split.parts,
        "balance": _block(force, small, [0]) - split.ties @ pushed,
        "rate": ca.vertcat(rates, pushed + _block(along, large, [0])),
        "neglected": ca.SX.zeros(len(large)),
        "carried": ca.SX.zeros(len(small)),
        "moving": ca.SX.zeros(len(small)),
    }


def _block(matrix: ca.SX, rows: Sequence[int], columns: Sequence[int]) -> ca.SX:
    """Return some rows and columns, in the right shape even if there are none of them."""
    if not rows:
        return ca.SX(0, len(columns))
    return ca.SX(matrix[list(rows), list(columns)])


def _arranged(column: ca.SX, order: Sequence[int]) -> ca.SX:
    """Place entries given in one order at their indices."""
    arranged = ca.SX(*column.shape)
    for place, index in enumerate(order):
        arranged[index] = column[place]
    return arranged


def _forces(system: MechanicalSystem, velocities: ca.SX) -> ca.SX:
    """Return Q - dV/dq at given velocities: all forces on the system except inertial ones."""
    bare: Dynamics = replace(system, kinetic=0.0, events=(), outputs={}).dynamics
    return ca.substitute(bare.force, bare.velocities, velocities)


LOST = "slow_manifold_lost"
"""The event that ends a run where fast and slow motions can no longer be distinguished."""
NOTHING_SLOW = (
    "the fast motion becomes so slow that the small velocities are no longer determined by the "
    "forces; end earlier, or integrate the full system"
)


def moved_names(system: MechanicalSystem) -> tuple[str, ...]:
    """Return the names that momenta and balances refer to: coordinates or quasi-velocities."""
    return system.coordinates.names if system.velocities is None else system.v.names


def leading_system(
    full: MechanicalSystem, equations: DiracEquations, states: SymbolVector, small: Sequence[int]
) -> ControlSystem:
    """Pose Dirac's equations: x' = g(x, lambda), R(x, lambda) = 0.

    Parameters
    ----------
    full
        The original system.
    equations
        The equations, in the symbols of the states.
    states
        x = (positions, p1) and the small velocities.
    small
        The indices of the small velocities among all.

    Raises
    ------
    PosingError
        A table has steps.
    """
    names = [moved_names(full)[index] for index in small]
    goals = [
        Goal(f"balance_{name}", equations.balance[index], ideal=False, at_start=True)
        for index, name in enumerate(names)
    ]
    _check_tables(full, 1, "order 0 needs small velocities without jumps")
    e = equations
    return _posed(full, states, e.rate, e.velocities, goals, e.lengthening(e.changing))


def added_names(small: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the refinement's further states: lambda0 and lambda0'."""
    leading = [f"{name}_leading" for name in small]
    return (*leading, *[velocity_name(name) for name in leading])


def refined_system(
    full: MechanicalSystem, equations: DiracEquations, states: SymbolVector, small: Sequence[int]
) -> ControlSystem:
    """Pose the refinement: x' = g(x, lambda1) + neglected terms, with goals for lambda1.

    The goals are R = 0 for lambda0, M lambda0' + drift = 0, and M (lambda1 - lambda0) = S lambda0'
    + carried. With lambda0 and lambda0' as states, nothing must be solved explicitly; where M is
    singular the goals lose their grip.

    Parameters
    ----------
    full, equations, states, small
        As in `leading_system`. The small velocities become lambda1; lambda0 and lambda0' are added
        to the states under their `added_names`.

    Raises
    ------
    PosingError
        A table has steps or kinks.
    """
    _check_tables(full, 2, "the refinement needs the rates of small velocities")
    e, count = equations, len(small)
    units = states.units[-count:]
    both = SymbolVector(
        states.names + added_names(states.names[-count:]),
        states.units + units + tuple(f"{unit}/s" for unit in units),
        "state",
    )
    moving, leading, changing = ca.vertsplit(both.vector[len(both) - 3 * count :], count)

    def written(expression: ca.SX, multipliers: ca.SX) -> ca.SX:
        own = ca.vertcat(both.vector[: e.slow.numel()], multipliers)
        return ca.substitute(expression, ca.vertcat(e.slow, e.multipliers), own)

    solvability, inertia = written(e.solvability, leading), written(e.inertia, leading)
    residuals = {
        "balance": written(e.balance, leading),
        "drift": solvability @ changing + written(e.drift, leading),
        "lag": solvability @ (moving - leading) - inertia @ changing - written(e.carried, leading),
    }
    goals = [
        Goal(f"{kind}_{moved_names(full)[index]}", residual[place], ideal=False, at_start=True)
        for kind, residual in residuals.items()
        for place, index in enumerate(small)
    ]
    rate = written(e.rate + e.neglected, moving)
    lengthening = written(e.lengthening(changing), leading)
    return _posed(full, both, rate, written(e.velocities, moving), goals, lengthening)


def _check_tables(full: MechanicalSystem, degree: int, why: str) -> None:
    """Refuse tables that are not smooth enough.

    Raises
    ------
    PosingError
        A table has pieces of too low a degree.
    """
    for drive in full.drives:
        if drive.lookup is not None and min(axis.degree for axis in drive.lookup.axes) < degree:
            raise PosingError(
                f"{why}, and the table {drive.name!r} has {'kinks' if degree > 1 else 'steps'}: "
                f"make it {'cubic' if degree > 1 else 'linear or cubic'}"
            )


def _posed(
    full: MechanicalSystem,
    states: SymbolVector,
    rate: ca.SX,
    velocities: ca.SX,
    goals: Sequence[Goal],
    lengthening: ca.SX,
) -> ControlSystem:
    """Pose a control system whose last states, the small velocities, follow from the goals.

    Parameters
    ----------
    rate
        The rates of the states other than the small velocities.
    velocities
        The velocities of the full system.
    lengthening
        T' as in `DiracEquations`: a run ends where it reaches 1.
    """
    dynamics = unswitched(full).dynamics
    count = dynamics.position_count
    moving = states.names[rate.numel() :]
    units = tuple(f"{unit}/s" for unit in states.units[rate.numel() :])
    controls = SymbolVector(tuple(f"{name}_rate" for name in moving), units, "reaction")

    def written(expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, dynamics.x, ca.vertcat(states.vector[:count], velocities))

    labels = dynamics.labels
    outputs: dict[str, Output] = {
        name: (velocities[index], unit)
        for index, (name, unit) in enumerate(zip(full.v.names, full.v.units, strict=True))
        if name not in states
    }
    outputs |= {
        name: (written(expression), unit)
        for (name, expression), unit in zip(
            dynamics.outputs.items(), labels.output_units, strict=True
        )
    }
    # The parts added by tables were rewritten with their arguments, resets included.
    own = Rewriting(substitution(dynamics.x, ca.vertcat(states.vector[:count], velocities)))
    drives: tuple[Drive, ...] = own(tuple(full.drives))
    nodes = {event.name: event for drive in drives for event in drive.events}
    events = [
        nodes.get(event.name, replace(event, guard=written(event.guards)))
        for event in dynamics.events
    ]
    if not is_zero(lengthening):
        events.append(Event(LOST, lengthening**2 - 1, RISING, Stop(NOTHING_SLOW)))
    return ControlSystem(
        states,
        ca.vertcat(rate, controls.vector),
        parameters=full.parameters,
        controls=controls,
        goals=goals,
        discrete=full.discrete,
        events=events,
        outputs=outputs,
        switches=full.switches,
        drives=drives,
    )
