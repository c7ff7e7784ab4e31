"""What is proved to be conserved, and what is not though no usual state shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.conservation import enter_forces, is_proved, relative_powers

System = ds.MechanicalSystem
Function = Callable[[ca.SX], ca.SX]


def _blade(friction: Function) -> System:
    """Return a blade whose reaction is directed by the forces, as a user may write it."""
    q, u = ds.coordinates(x="m", y="m", phi=ds.ANGLE), ds.reactions(N="N")
    c, s, rub = ca.cos(q.phi), ca.sin(q.phi), friction(q.x)
    across = q.dot.y * c - q.dot.x * s
    return ds.MechanicalSystem(
        q,
        reactions=u,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.phi**2) / 2,
        potential=q.x,
        force={"x": -u.N * (s + rub * c), "y": u.N * (c - rub * s)},
        goals=[ds.Nonholonomic("blade", across, ideal=False)],
    )


def _pendulum(radius: Function) -> System:
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - radius(ds.time) ** 2)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])


def _falling(friction: float) -> System:
    """Return a body above a floor that it touches later, with friction or without."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0, closed=False)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": -friction * floor.reaction} if friction else {},
        goals=[floor],
    )


def _gear(torque: float) -> System:
    """Return two wheels whose reactions are coupled by a relation, one of them with a motor."""
    q, u = ds.coordinates(a=ds.ANGLE, b=ds.ANGLE), ds.reactions(first="N m", second="N m")
    return ds.MechanicalSystem(
        q,
        reactions=u,
        kinetic=(q.dot.a**2 + q.dot.b**2) / 2,
        potential=ca.cos(q.a),
        force={"a": u.first, "b": u.second},
        goals=[
            ds.Holonomic("teeth", q.a - 2 * q.b, ideal=False),
            ds.Relation("ratio", u.second + 2 * u.first - torque),
        ],
    )


def _charge(field: Function) -> System:
    """Return a charge in a magnetic field, which bends its path."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=ca.exp(q.x - 60) + 50 * q.y**2,
        mass_matrix=ca.SX.eye(2),
        gyroscopic={"x": field(q.x) * q.dot.y, "y": -field(q.x) * q.dot.x},
    )


def _growing_inertia(*, lagrange: bool) -> System:
    """Return a body whose inertia changes far off; a mass matrix alone lacks a force."""
    q = ds.coordinates(x="m")
    inertia = 2 + ca.tanh(q.x - 60)
    more = {} if lagrange else {"mass_matrix": ca.SX(inertia)}
    return ds.MechanicalSystem(q, kinetic=inertia * q.dot.x**2 / 2, potential=q.x**2, **more)


def _bead(*, tilted: bool) -> System:
    """Return a disc on a parabola, which touches it at an implicit parameter s."""
    q, s = ds.coordinates(x="m", y="m"), ds.implicit(s="m")
    u = ds.reactions(N="N")
    slope = 2 * s.s
    length = ca.sqrt(1 + slope**2)
    normal = (-slope / length, 1 / length)
    gap = (q.x - s.s) * normal[0] + (q.y - s.s**2) * normal[1] - 0.1
    lean = 1e-3 if tilted else 0.0
    return ds.MechanicalSystem(
        q,
        implicit=s,
        reactions=u,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": u.N * (normal[0] + lean), "y": u.N * normal[1]},
        goals=[
            ds.Holonomic("contact", gap, ideal=False),
            ds.Implicit("nearest", (q.x - s.s) + (q.y - s.s**2) * slope, s.s),
        ],
    )


def _braked_by_tension(length: float) -> System:
    """Return a pendulum with a wheel that the tension of its rod brakes."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - length**2)
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + length**2 * q.dot.phi**2) / 2,
        potential=9.81 * q.y,
        goals=[rod],
        force={"phi": 1e-4 * length**2 * rod.reaction},
    )


def _orbit(drag: float) -> System:
    """Return a planet about the sun, in metres and seconds, with drag on one side of it."""
    q = ds.coordinates(x="m", y="m")
    against = drag * (1 - ca.tanh(q.x / 2e10))
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=-1.327e20 / ca.sqrt(q.x**2 + q.y**2),
        force={"x": -against * q.dot.x, "y": -against * q.dot.y},
    )


def _far_off(x: ca.SX) -> ca.SX:
    return 0.1 * (1 + ca.tanh(x - 60))


PROVED = {
    "a pendulum": lambda: _pendulum(lambda t: ca.SX(1)),
    "a blade without friction": lambda: _blade(lambda x: ca.SX(0)),
    "a contact without friction": lambda: _falling(0.0),
    "a gear": lambda: _gear(0.0),
    "a steep field that does no work": lambda: _charge(lambda x: 1 + ca.tanh(x - 60)),
    "an inertia that changes far off": lambda: _growing_inertia(lagrange=True),
    "a contact at an implicit point": lambda: _bead(tilted=False),
    "an orbit in metres": lambda: _orbit(0.0),
}
NOT_PROVED = {
    "a rod that grows later": lambda: _pendulum(lambda t: 1 + _far_off(t)),
    "friction far off": lambda: _blade(_far_off),
    "friction of a contact that is open yet": lambda: _falling(0.3),
    "a motor in a gear": lambda: _gear(1e-6),
    "an inertia without its own force": lambda: _growing_inertia(lagrange=False),
    "a reaction that leans": lambda: _bead(tilted=True),
    "a small wheel that a reaction brakes": lambda: _braked_by_tension(1e-4),
    "drag on an orbit in metres": lambda: _orbit(1e-10),
}


def _energy_is_proved(system: System) -> bool:
    dynamics = system.dynamics
    row = next(row for row in dynamics.invariants if row.automatic)
    return is_proved(dynamics, row, dynamics.values)


@pytest.mark.parametrize("name", PROVED)
def test_an_energy_that_nothing_changes_is_proved(name: str) -> None:
    assert _energy_is_proved(PROVED[name]())


@pytest.mark.parametrize("name", NOT_PROVED)
def test_an_energy_that_something_may_change_is_not(name: str) -> None:
    assert not _energy_is_proved(NOT_PROVED[name]())


def test_numbers_of_parameters_count_and_discrete_values_do_not() -> None:
    """Friction of a coefficient that is zero in this run is none; one that a mode sets may come."""
    for made, proved in ((ds.parameters, True), (ds.discrete, False)):
        q, p = ds.coordinates(x="m", y="m"), made(mu=0.0)
        floor = ds.Contact("floor", q.y, closed=True)
        posed = {"parameters": p} if proved else {"discrete": p}
        system = ds.MechanicalSystem(
            q,
            kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
            potential=9.81 * q.y,
            force={"x": -p.mu * floor.reaction},
            goals=[floor],
            **posed,
        )
        assert _energy_is_proved(system) is proved


def test_integrals_of_control_systems_and_momenta_are_proved() -> None:
    x, u = ds.states(a="", b="", c=""), ds.reactions(turn="")
    shared = u.turn * ca.exp(x.c - 60) + u.turn
    control = ds.ControlSystem(
        x,
        {"a": shared + x.b, "b": -shared - x.b, "c": -x.c},
        controls=u,
        goals=[ds.Goal("there", x.a - 0.5), ds.Invariant("sum", x.a + x.b, drive=True)],
    )
    q = ds.coordinates(x="m", y="m")
    pair = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2 + q.dot.y**2,
        potential=ca.exp(q.x - q.y),
        goals=[
            ds.Invariant("momentum", q.dot.x + 2 * q.dot.y),
            ds.Invariant("half", q.dot.x + q.dot.y),
        ],
    )
    (row,) = control.dynamics.invariants
    assert is_proved(control.dynamics, row, control.dynamics.values)
    found = {row.name: is_proved(pair.dynamics, row, pair.dynamics.values)
             for row in pair.dynamics.invariants if not row.automatic}  # fmt: skip
    assert found == {"momentum": True, "half": False}


@pytest.mark.parametrize(
    ("shares", "names"),
    [
        (lambda x: (0.0, 0.0), ()),
        # The same friction however the load is shared: the second reaction has twice the arm.
        (lambda x: (0.2, 0.4), ()),
        (lambda x: (_far_off(x), 2 * _far_off(x)), ()),
        (lambda x: (_far_off(x), 0.0), ("floor",)),
        (lambda x: (0.2, 0.4 + _far_off(x)), ("floor", "again")),
        (lambda x: (0.2, 0.2), ("floor", "again")),
    ],
)
def test_undetermined_reactions_that_may_move_a_body_are_named(
    shares: Callable[[ca.SX], tuple[Any, Any]], names: tuple[str, ...]
) -> None:
    q = ds.coordinates(x="m", y="m")
    floor, again = ds.Holonomic("floor", q.y), ds.Holonomic("again", 2 * q.y)
    first, second = shares(q.x)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": -first * floor.reaction - second * again.reaction},
        goals=[floor, again],
    )
    dynamics = system.dynamics
    assert enter_forces(dynamics, ["floor", "again"], dynamics.values) == names


def _damped_where_x_is_positive() -> System:
    q = ds.coordinates(x="m")
    energy = (q.dot.x**2 + q.x**2) / 2
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": -q.x - q.dot.x * ca.sqrt(q.x)},
        goals=[ds.Invariant("own", energy, drive=True)],
    )


def test_samples_without_a_rate_do_not_hide_that_an_invariant_changes():
    with pytest.raises(ds.errors.PosingError, match=r"'own'.*not conserved"):
        ds.solve(_damped_where_x_is_positive(), until=0.1, initial={"x": 0.3})


def test_what_no_sample_has_a_rate_of_is_not_known_to_be_conserved():
    dynamics = _damped_where_x_is_positive().dynamics
    row = next(row for row in dynamics.invariants if row.name == "own")
    nowhere = [(0.0, np.array([-1.0, 0.5]))]
    values = dynamics.value_vector({})
    assert relative_powers(dynamics, [row], nowhere, values) == [np.inf]
