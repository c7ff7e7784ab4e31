"""Systems whose constraints are solved for rates by hand, and whether these may be substituted.

The verdicts are those of A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem
and the dynamics of wheeled vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766, and of the
same calculation by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.symbols import DifferentiableVector
from daesolve.core.posing.value_names import ValueKind
from tests.systems import quaternion_rates


@dataclass(frozen=True, eq=False)
class Solved:
    """A system, and y' = g by the names of y, in its symbols."""

    system: ds.MechanicalSystem
    g: Mapping[str, ca.SX]

    @property
    def eliminated(self) -> list[str]:
        return list(self.g)

    def substituted(self) -> ds.MechanicalSystem:
        """The system with g put into its kinetic energy, and nothing else done."""
        given = self.system
        rows = [i for i, name in enumerate(given.coordinates.names) if name not in self.g]
        rates = [given.coordinates.names.index(name) for name in self.g]
        old = given.coordinates.dot.vector[rates]
        v, quasi = given.velocities, given.velocities is not None
        if quasi:
            old = ca.SX(given.kinematics)[rates]
        new = ca.vertcat(*self.g.values())
        gone = {symbol.name() for symbol in ca.vertsplit(old)}
        return ds.MechanicalSystem(
            given.coordinates.part([given.coordinates.names[i] for i in rows]),
            given.parameters,
            kinetic=ca.substitute(given.kinetic, old, new),
            potential=given.potential,
            goals=[g for g in given.goals if not g.name.startswith("solved")],
            velocities=v.part([name for name in v.names if name not in gone]) if quasi else None,
            kinematics=ca.SX(given.kinematics)[rows] if quasi else None,
        )


@dataclass(frozen=True)
class Row:
    """A row of the table: what is true of a system."""

    name: str
    pose: Callable[[], Solved]
    holds: bool
    each: tuple[bool, ...]


# -- a wheel with a fork: m, J about the contact, mass centre R_n n + R_tau tau ------------------

MASS, INERTIA, SPIN, RADIUS, NORMAL, AHEAD = 1.3, 0.9, 0.2, 0.4, 0.25, 0.6


def _unicycle_energy(v_n: ca.SX, v_tau: ca.SX, omega: ca.SX, spin: ca.SX) -> ca.SX:
    moment = NORMAL * v_tau - AHEAD * v_n
    return (
        MASS * (v_n**2 + v_tau**2) / 2
        + MASS * omega * moment
        + INERTIA * omega**2 / 2
        + SPIN * spin**2 / 2
    )


def unicycle(*, skate: bool = True, potential: bool = False) -> Solved:
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    v_n = ca.cos(q.psi) * q.dot.x + ca.sin(q.psi) * q.dot.y
    v_tau = -ca.sin(q.psi) * q.dot.x + ca.cos(q.psi) * q.dot.y
    goals = [ds.Nonholonomic("solved", v_tau + RADIUS * q.dot.phi)]
    if skate:
        goals.append(ds.Nonholonomic("skate", v_n))
    system = ds.MechanicalSystem(
        q,
        kinetic=_unicycle_energy(v_n, v_tau, q.dot.psi, q.dot.phi),
        potential=(ca.sin(q.x) + q.y**2 / 2 + ca.cos(q.psi + q.x)) * potential,
        goals=goals,
    )
    return Solved(system, {"phi": -v_tau / RADIUS})


def unicycle_in_quasi_velocities() -> Solved:
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    v = ds.velocities(v_n="m/s", v_tau="m/s", omega="rad/s", spin="rad/s")
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    system = ds.MechanicalSystem(
        q,
        kinetic=_unicycle_energy(v.v_n, v.v_tau, v.omega, v.spin),
        velocities=v,
        kinematics=ca.vertcat(c * v.v_n - s * v.v_tau, s * v.v_n + c * v.v_tau, v.omega, v.spin),
        goals=[
            ds.Nonholonomic("skate", v.v_n),
            ds.Nonholonomic("solved", v.v_tau + RADIUS * v.spin),
        ],
    )
    return Solved(system, {"phi": -v.v_tau / RADIUS})


def turntable(speed: ca.SX | float, *, skate: bool) -> Solved:
    """A unicycle on a floor that turns about the origin at a rate of time."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    x_dot, y_dot = q.dot.x + speed * q.y, q.dot.y - speed * q.x
    rolling = c * x_dot + s * y_dot
    goals = [ds.Nonholonomic("solved", rolling - 0.4 * q.dot.phi)]
    if skate:
        goals.append(ds.Nonholonomic("skate", c * y_dot - s * x_dot))
    kinetic = (q.dot.x**2 + q.dot.y**2 + 0.5 * q.dot.psi**2 + 0.7 * q.dot.phi**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, goals=goals)
    return Solved(system, {"phi": rolling / 0.4})


# -- a skate, a particle -------------------------------------------------------------------------


def sleigh() -> Solved:
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE)
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    x_dot, y_dot = q.dot.x - 0.4 * s * q.dot.psi, q.dot.y + 0.4 * c * q.dot.psi
    system = ds.MechanicalSystem(
        q,
        kinetic=(x_dot**2 + y_dot**2) / 2 + 0.15 * q.dot.psi**2,
        goals=[ds.Nonholonomic("solved", c * q.dot.y - s * q.dot.x)],
    )
    return Solved(system, {"y": s / c * q.dot.x})


def wheel_across(*, ahead: float = 0.0) -> Solved:
    """A sleigh with a passive wheel across its skate, or so far ahead of it."""
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, phi=ds.ANGLE)
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    side, along = c * q.dot.y - s * q.dot.x, c * q.dot.x + s * q.dot.y
    rate = (side + ahead * q.dot.psi) / RADIUS
    system = ds.MechanicalSystem(
        q,
        kinetic=_unicycle_energy(side, along, q.dot.psi, q.dot.phi),
        goals=[ds.Nonholonomic("skate", side), ds.Nonholonomic("solved", q.dot.phi - rate)],
    )
    return Solved(system, {"phi": rate})


Rate = Callable[[DifferentiableVector], ca.SX]


def particle(g: Rate, *rest: Rate) -> Solved:
    """A unit mass in space whose y' = g, and whose other velocities obey what is given."""
    q = ds.coordinates(x="m", y="m", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        goals=[
            ds.Nonholonomic("solved", q.dot.y - g(q)),
            *[ds.Nonholonomic(f"rest_{k}", residual(q)) for k, residual in enumerate(rest)],
        ],
    )
    return Solved(system, {"y": g(q)})


# -- discs ---------------------------------------------------------------------------------------


def vertical_disc(*, ahead: float | None = 0.0, names: tuple[str, ...] = ("x", "y")) -> Solved:
    """A disc whose mass centre is ahead of its contact, by a parameter that is zero if None."""
    p = ds.parameters(ahead=(0.0, "m"))
    ahead = p.ahead if ahead is None else ahead
    q = ds.coordinates(x="m", y="m", theta=ds.ANGLE, phi=ds.ANGLE)
    c, s = ca.cos(q.theta), ca.sin(q.theta)
    x_dot, y_dot = q.dot.x - ahead * s * q.dot.theta, q.dot.y + ahead * c * q.dot.theta
    slips = {"x": q.dot.x - 0.7 * c * q.dot.phi, "y": q.dot.y - 0.7 * s * q.dot.phi}
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=0.6 * (x_dot**2 + y_dot**2) + 0.2 * q.dot.theta**2 + 0.3 * q.dot.phi**2,
        goals=[
            ds.Nonholonomic(f"{'solved' if name in names else 'rolling'}_{name}", slip)
            for name, slip in slips.items()
        ],
    )
    found = {"x": 0.7 * c * q.dot.phi, "y": 0.7 * s * q.dot.phi}
    return Solved(system, {name: found[name] for name in names})


def tilting_disc() -> Solved:
    """A disc on its contact (x, y): e_1 its heading, theta its tilt, phi its own rotation.

    Its axis is a = cos(theta) e_2 + sin(theta) e_3, its centre R u above the contact with
    u = -sin(theta) e_2 + cos(theta) e_3. It turns at psi' e_3 + theta' e_1 + phi' a; the point in
    contact rests if (x', y') = R phi' e_1.
    """
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, theta=ds.ANGLE, phi=ds.ANGLE)
    radius, mass, across, axial = 0.5, 1.1, 0.07, 0.14
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    tilt_c, tilt_s = ca.cos(q.theta), ca.sin(q.theta)
    along = c * q.dot.x + s * q.dot.y + radius * tilt_s * q.dot.psi
    sideways = -s * q.dot.x + c * q.dot.y - radius * tilt_c * q.dot.theta
    upwards = -radius * tilt_s * q.dot.theta
    system = ds.MechanicalSystem(
        q,
        kinetic=mass * (along**2 + sideways**2 + upwards**2) / 2
        + across * (q.dot.theta**2 + (q.dot.psi * tilt_c) ** 2) / 2
        + axial * (q.dot.phi + q.dot.psi * tilt_s) ** 2 / 2,
        potential=mass * 9.81 * radius * tilt_c,
        goals=[
            ds.Nonholonomic("solved_x", q.dot.x - radius * c * q.dot.phi),
            ds.Nonholonomic("solved_y", q.dot.y - radius * s * q.dot.phi),
        ],
    )
    return Solved(system, {"x": radius * c * q.dot.phi, "y": radius * s * q.dot.phi})


# -- balls, in the angular velocity of the body --------------------------------------------------


def ball(inertia: tuple[float, float, float], *, rubber: bool) -> Solved:
    q = ds.coordinates(w="", i="", j="", k="", x="m", y="m")
    v = ds.velocities(wx="rad/s", wy="rad/s", wz="rad/s", x_dot="m/s", y_dot="m/s")
    body = ca.vertcat(v.wx, v.wy, v.wz)
    own, axis = q.w, ca.vertcat(q.i, q.j, q.k)
    turned = body + 2 * own * ca.cross(axis, body) + 2 * ca.cross(axis, ca.cross(axis, body))
    radius = 0.8
    goals = [
        ds.Invariant("norm", q.w**2 + q.i**2 + q.j**2 + q.k**2, drive=True, on="positions"),
        ds.Nonholonomic("solved_x", v.x_dot - radius * turned[1]),
        ds.Nonholonomic("solved_y", v.y_dot + radius * turned[0]),
    ]
    if rubber:
        goals.append(ds.Nonholonomic("no_spin", turned[2]))
    system = ds.MechanicalSystem(
        q,
        kinetic=0.9 * (v.x_dot**2 + v.y_dot**2) / 2 + ca.dot(ca.DM(inertia), body**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(quaternion_rates(q, v), v.x_dot, v.y_dot),
        goals=goals,
    )
    return Solved(system, {"x": radius * turned[1], "y": -radius * turned[0]})


# -- vehicles in the plane, in velocities of their own axes --------------------------------------


def mecanum(wheel_inertia: float) -> Solved:
    """Four wheels with rollers at 45 degrees at the corners of a rectangle."""
    names = [f"phi_{k}" for k in range(4)]
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, **dict.fromkeys(names, ds.ANGLE))
    v = ds.velocities(
        v_1="m/s", v_2="m/s", omega="rad/s", **{f"phi_dot_{k}": "rad/s" for k in range(4)}
    )
    signs = [(-1.0, -1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)]
    g = [(v.v_1 + a * v.v_2 + b * 0.7 * v.omega) / 0.15 for a, b in signs]
    spins = [v[f"phi_dot_{k}"] for k in range(4)]
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    system = ds.MechanicalSystem(
        q,
        kinetic=2.1 * (v.v_1**2 + v.v_2**2) / 2
        + 0.3 * v.omega**2 / 2
        + sum((wheel_inertia * spin**2 / 2 for spin in spins), ca.SX(0)),
        velocities=v,
        kinematics=ca.vertcat(c * v.v_1 - s * v.v_2, s * v.v_1 + c * v.v_2, v.omega, *spins),
        goals=[
            ds.Nonholonomic(f"solved_{k}", spin - rate)
            for k, (spin, rate) in enumerate(zip(spins, g, strict=True))
        ],
    )
    return Solved(system, dict(zip(names, g, strict=True)))


@dataclass(frozen=True)
class Pair:
    """A wheel pair: where its pivot is, its mass, and where in its axes masses and axle are."""

    pivot: tuple[float, float]
    mass: float
    inertia: float
    centre: tuple[float, float]
    axle: tuple[float, float]
    radius: float
    half_track: float
    wheel_inertia: float
    spring: float = 0.0


CART = (
    Pair((0.1, 0.9), 0.7, 0.25, (0.05, -0.12), (0.03, -0.2), 0.3, 0.4, 0.05, 1.5),
    Pair((-0.15, -0.8), 0.9, 0.3, (-0.04, 0.1), (0.02, 0.15), 0.25, 0.35, 0.04, 0.8),
)


def _plane_energy(mass, inertia, centre, velocity, turning):
    moment = centre[0] * velocity[1] - centre[1] * velocity[0]
    return (
        mass * (velocity[0] ** 2 + velocity[1] ** 2) / 2
        + mass * turning * moment
        + inertia * turning**2 / 2
    )


def vehicle(pairs=CART, *, skates: bool = True, halves: bool = False) -> Solved:
    """A frame on wheel pairs that turn about pivots.

    Parameters
    ----------
    pairs
        The wheel pairs.
    skates
        Whether wheels cannot slip along their axles.
    halves
        Whether the angles of a pair's wheels are phi +- chi, chi being tied to the pair's heading.
    """
    count = len(pairs)
    wheels = [(k, i) for k in range(count) for i in (1, 2)]
    turns = {(k, i): f"{('phi', 'chi')[i - 1]}_{k}" if halves else f"phi_{k}_{i}"
             for k, i in wheels}  # fmt: skip
    rates = {key: name.replace("_", "_dot_", 1) for key, name in turns.items()}
    thetas = [f"theta_{k}" for k in range(count)]
    q = ds.coordinates(x="m", y="m", psi=ds.ANGLE, **dict.fromkeys(thetas, "rad"),
                       **dict.fromkeys(turns.values(), ds.ANGLE))  # fmt: skip
    v = ds.velocities(v_1="m/s", v_2="m/s", psi_dot="rad/s",
                      **{f"theta_dot_{k}": "rad/s" for k in range(count)},
                      **dict.fromkeys(rates.values(), "rad/s"))  # fmt: skip
    kinetic = _plane_energy(3.0, 1.7, (0.2, -0.1), (v.v_1, v.v_2), v.psi_dot)
    potential = ca.SX(0)
    goals, g = [], {}
    for k, pair in enumerate(pairs):
        c, s = ca.cos(q[f"theta_{k}"]), ca.sin(q[f"theta_{k}"])
        first, second = v.v_1 - v.psi_dot * pair.pivot[1], v.v_2 + v.psi_dot * pair.pivot[0]
        along, across = c * first + s * second, c * second - s * first
        omega = v.psi_dot + v[f"theta_dot_{k}"]
        kinetic += _plane_energy(pair.mass, pair.inertia, pair.centre, (along, across), omega)
        potential += pair.spring * q[f"theta_{k}"] ** 2 / 2
        if skates:
            goals.append(ds.Nonholonomic(f"skate_{k}", along - omega * pair.axle[1]))
        one, two = v[rates[k, 1]], v[rates[k, 2]]
        spins = (one + two, one - two) if halves else (one, two)
        kinetic += pair.wheel_inertia * (spins[0] ** 2 + spins[1] ** 2) / 2
        middle = across + omega * pair.axle[0]
        if halves:
            heading = q.psi + q[f"theta_{k}"]
            rolling = pair.radius * q[turns[k, 2]] + pair.half_track * heading
            goals.append(ds.Nonholonomic(f"solved_{k}_1", middle + pair.radius * one))
            goals.append(ds.Holonomic(f"solved_{k}_2", rolling))
            g[turns[k, 1]] = -middle / pair.radius
            g[turns[k, 2]] = -pair.half_track * omega / pair.radius
            continue
        for i, spin in enumerate(spins, start=1):
            slip = middle + (pair.half_track, -pair.half_track)[i - 1] * omega
            goals.append(ds.Nonholonomic(f"solved_{k}_{i}", slip + pair.radius * spin))
            g[turns[k, i]] = -slip / pair.radius
    c, s = ca.cos(q.psi), ca.sin(q.psi)
    system = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        potential=potential,
        velocities=v,
        kinematics=ca.vertcat(c * v.v_1 - s * v.v_2, s * v.v_1 + c * v.v_2, v.vector[2:]),
        goals=goals,
    )
    return Solved(system, g)


TABLE = (
    Row("unicycle", unicycle, True, (True,)),
    Row("unicycle, quasi-velocities", unicycle_in_quasi_velocities, True, (True,)),
    Row("unicycle in a potential", lambda: unicycle(potential=True), True, (True,)),
    Row("unicycle that skids", lambda: unicycle(skate=False), False, (False,)),
    Row("sleigh, a wheel across its skate", wheel_across, True, (False,)),
    Row("sleigh, a wheel across, ahead", lambda: wheel_across(ahead=0.3), False, (False,)),
    Row("sleigh, its skate", sleigh, False, (False,)),
    Row("y' = x z'", lambda: particle(lambda q: q.x * q.dot.z), False, (False,)),
    Row(
        "y' = (x^2 z)'",
        lambda: particle(lambda q: 2 * q.x * q.z * q.dot.x + q.x**2 * q.dot.z),
        True,
        (True,),
    ),
    Row("upright disc", vertical_disc, True, (False, False)),
    Row("upright disc, x alone", lambda: vertical_disc(names=("x",)), False, (False,)),
    Row("upright disc, heavy in front", lambda: vertical_disc(ahead=0.3), False, (False, False)),
    Row("tilting disc", tilting_disc, False, (False, False)),
    Row("ball", lambda: ball((0.2, 0.2, 0.2), rubber=False), False, (False, False)),
    Row("rubber ball", lambda: ball((0.2, 0.2, 0.2), rubber=True), True, (True, True)),
    Row("rubber Chaplygin ball", lambda: ball((0.2, 0.3, 0.4), rubber=True), True, (True, True)),
    Row("mecanum", lambda: mecanum(0.04), False, (False,) * 4),
    Row("mecanum, massless wheels", lambda: mecanum(0.0), True, (False,) * 4),
    Row("cart", vehicle, True, (True,) * 4),
    Row("cart, phi and chi", lambda: vehicle(halves=True), True, (True,) * 4),
    Row("cart that skids", lambda: vehicle(skates=False), False, (False,) * 4),
)


# -- states --------------------------------------------------------------------------------------


def random_states(dynamics: Dynamics, count: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Random consistent states, with p; quaternions are unit ones."""
    held = {
        ValueKind.REFERENCE.name_of(row.name): 1.0
        for row in dynamics.invariants
        if row.on == "positions"
    }
    p = dynamics.value_vector(held)
    return [(t, x, p) for t, x in sample_states(dynamics, p, count=count, at_rest=0)]


def same_state(full: Dynamics, smaller: Dynamics, x: np.ndarray) -> np.ndarray:
    """The states of a smaller system from those of the full one, by name."""
    return x[[full.labels.states.index(name) for name in smaller.labels.states]]
