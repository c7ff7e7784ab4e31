"""Whether a model with small velocities holds at a state, against motions of the full system.

The share of a large velocity's inertia that is left out does not become smaller with the slip: for
u = x' - b z' the full acceleration of z is F b/(J + b^2 m), and Dirac's F b/J.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.nonholonomic import small_velocities

from .small_systems import gyroscope, wheelset


@dataclass(frozen=True)
class Case:
    """A system, its small velocities, a start, and what is to be compared after a second."""

    system: ds.MechanicalSystem
    small: tuple[str, ...]
    start: Mapping[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ("z",)


def creep(
    mass=0.174, inertia=1.135, stiffness=1e4, column=1.0, drag=0.0, small=("x_dot",), **start
):
    """A body pushed along x on a wheel of the rate z', with creep by u = x' - column z'."""
    q = ds.coordinates(x="m", z="m")
    slip = q.dot.x - column * q.dot.z
    system = ds.MechanicalSystem(
        q,
        kinetic=(mass * q.dot.x**2 + inertia * q.dot.z**2) / 2,
        force={
            "x": 1.0 - stiffness * slip - drag * q.dot.x,
            "z": column * stiffness * slip - drag * q.dot.z + 0.3,
        },
    )
    return Case(system, small, start)


def creep_by_its_slip():
    """The same in the slip's own coordinate, x = s + z: what rolls has the inertia of both."""
    q = ds.coordinates(s="m", z="m")
    slip = q.dot.s
    system = ds.MechanicalSystem(
        q,
        kinetic=(0.174 * (slip + q.dot.z) ** 2 + 1.135 * q.dot.z**2) / 2,
        force={"s": 1.0 - 1e4 * slip, "z": 1.3},
    )
    return Case(system, ("s_dot",))


def creep_in_two_directions(mass):
    """The same in a plane: each of two rollers drives one direction, one with some of the other."""
    q = ds.coordinates(x="m", y="m", z="m", w="m")
    v = q.dot
    along, across = v.x - v.z - 0.2 * v.w, v.y - 0.8 * v.w
    f, g = 1e5 * along, 3e5 * across
    system = ds.MechanicalSystem(
        q,
        kinetic=(mass * (v.x**2 + v.y**2 + 0.3 * v.x * v.y) + v.z**2 + 0.6 * v.w**2) / 2,
        force={"x": 1.0 - f, "y": 0.7 - g, "z": f, "w": 0.2 * f + 0.8 * g},
    )
    return Case(system, ("x_dot", "y_dot"), names=("z", "w"))


def bead(share):
    """On a rod that stiff friction keeps turning: what is left out drives the bead outwards."""
    q = ds.coordinates(phi="rad", z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.z**2 + share * q.z**2 * q.dot.phi**2) / 2,
        potential=q.z**2 / 2,
        force={"phi": -1e4 * (q.dot.phi - 1.0)},
    )
    return Case(system, ("phi_dot",), {"z": 1.0, "phi_dot": 1.0})


def shaken(rate):
    """Friction, and a force that changes as fast as it holds, or slower."""
    q = ds.coordinates(z="m")
    force = {"z": ca.cos(rate * ds.time) - q.dot.z}
    return Case(ds.MechanicalSystem(q, kinetic=0.005 * q.dot.z**2, force=force), ("z_dot",))


HOLDS = {
    "a light body": lambda: creep(mass=0.01),
    "a column as small as the slip": lambda: creep(mass=1.0, column=0.01),
    "the slip is named": creep_by_its_slip,
    "both held by friction": lambda: creep(drag=2e3, small=("x_dot", "z_dot")),
    "two directions, a light body": lambda: creep_in_two_directions(0.01),
    "a light bead": lambda: bead(1e-3),
    "shaken slowly": lambda: shaken(1.0),
}
FAILS = {
    "one direction": creep,
    "one direction, stiffer": lambda: creep(stiffness=1e7),
    "one direction, another column": lambda: creep(mass=0.5, column=0.4),
    "two directions": lambda: creep_in_two_directions(0.3),
    "both named, held together": lambda: creep(drag=0.5, small=("x_dot", "z_dot")),
    "a heavy bead": lambda: bead(0.5),
}


SIMILAR = (
    "two directions, a light body",
    "a column as small as the slip",
    "one direction, stiffer",
    "one direction, another column",
)
"""Cases that another one stands for when time is short."""


def named(cases):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SIMILAR)) for name in cases]


def distance(case):
    """How far Dirac's model is from the full system after a second, relative to the way."""
    model = small_velocities(case.system, case.small)
    full = ds.solve(case.system, 1.0, case.start, at=[1.0])
    run = ds.solve(model.system, 1.0, model.start(case.start), at=[1.0])
    before = [case.start.get(name, 0.0) for name in case.names]
    found, other = (np.array([one[name][-1] for name in case.names]) for one in (full, run))
    return np.max(np.abs(found - other)) / np.max(np.abs(found - before))


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("both held by friction")
@pytest.mark.parametrize("name", named(HOLDS))
def test_where_the_model_is_said_to_hold_it_is_near(name):
    case = HOLDS[name]()
    found = small_velocities(case.system, case.small).validity(case.start)
    assert found.holds, str(found)
    assert not found.failures
    assert str(found).startswith("at this state the reduced model holds")
    assert distance(case) < 0.05


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("name", named(FAILS))
def test_where_it_is_far_it_is_not_said_to_hold(name):
    case = FAILS[name]()
    found = small_velocities(case.system, case.small).validity(case.start)
    assert not found
    assert found.kind == "strong"
    assert "does not hold" in str(found)
    assert f"objections to the model: {found.failures[0]}" in str(found)
    assert distance(case) > 0.05


@pytest.mark.parametrize("stiffness", [1e4, 1e8])
@pytest.mark.parametrize(("mass", "inertia", "column"), [(0.174, 1.135, 1.0), (0.5, 0.2, 0.3)])
def test_the_inertia_that_is_left_out_is_known_however_stiff_the_friction(
    stiffness, mass, inertia, column
):
    case = creep(mass=mass, inertia=inertia, column=column, stiffness=stiffness)
    found = small_velocities(case.system, case.small).validity({})
    share = column**2 * mass / inertia
    assert found.left_out == pytest.approx(share, rel=1e-9)
    assert found.columns == pytest.approx({"z_dot": np.sqrt(share)}, rel=1e-9)
    assert found.failures[0].startswith("finite velocities enter the slips (columns z_dot")


def test_the_rates_that_the_refinement_changes_are_named():
    found = small_velocities(bead(0.5).system, ("phi_dot",)).validity({"z": 1.0, "phi_dot": 1.0})
    assert found.columns == {"z_dot": 0.0}
    assert found.rates["z_dot's momentum"] > 0.25
    assert "the rate of z_dot's momentum changes" in found.failures[0]


def test_velocities_that_friction_hardly_holds_are_named():
    case = FAILS["both named, held together"]()
    model = small_velocities(case.system, case.small)
    (found,) = model.validity({}).lasting
    assert found == pytest.approx({"x_dot": 1.0, "z_dot": 1.0}, rel=1e-3)
    start = model.start({})
    assert model.validity(start)  # they are there already, and nothing moves them away


@pytest.mark.slow
def test_how_long_the_motion_goes_on_decides_where_nothing_else_is_slow():
    """A drag of 50 holds the two bodies together within 1.309/100 s, and one of 0.5 does not."""
    for drag, holds in ((50.0, True), (0.5, False)):
        case = creep(drag=drag, small=("x_dot", "z_dot"))
        model = small_velocities(case.system, case.small)
        assert bool(model.validity({}, horizon=1.0)) is holds
        assert bool(distance(case) < 0.05) is holds
    with pytest.raises(OutOfRangeError, match="horizon is 0"):
        model.validity({}, horizon=0)


@pytest.mark.slow
def test_a_force_that_changes_as_fast_as_friction_holds_is_not_followed():
    model = small_velocities(shaken(200.0).system, ("z_dot",))
    assert not model.validity({})
    for time in np.linspace(0.0, 0.03, 7):  # also where the force is zero
        assert not model.validity({}, time=float(time))
    slow = small_velocities(shaken(1.0).system, ("z_dot",))
    for time in (0.0, np.pi / 2, 2.0):
        assert slow.validity({}, time=time)


def test_known_models_hold_where_they_did():
    gyro = small_velocities(gyroscope(), ["alpha_dot", "beta_dot"])
    found = gyro.validity({"beta": 0.3, "gamma_dot": 80.0})
    assert found
    assert found.columns == {"gamma_dot": 0.0}
    assert found.left_out == 0.0
    rail = small_velocities(wheelset(), ["y_dot", "psi_dot"])
    assert rail.validity({"y": 1.0, "psi": 0.3})
    assert rail.validity({"y": 1.0, "psi": 0.3}).rates == {}


def in_a_field(*, mirror: bool):
    """Return a particle on which B(z)/eps acts, or whose inertia depends on z."""
    q, p = ds.coordinates(x="m", y="m", z="m"), ds.parameters(eps=(0.01, "", ds.POSITIVE))
    v = q.dot
    field = (1 + q.z**2) / p.eps if mirror else 1 / p.eps
    grown = 1.0 if mirror else q.z**2
    turning = field / 2 * (q.x * v.y - q.y * v.x)
    kinetic = (v.z**2 + grown * (v.x**2 + v.y**2)) / 2 + turning
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=0.1 * q.z)


@pytest.mark.slow
@pytest.mark.parametrize("mirror", [True, False])
def test_an_oscillation_that_pushes_on_average_is_against_the_model(mirror):
    # The force of a magnetic mirror, v^2/2 B'/B = 0.5, or z v^2: five times the force that is kept.
    system, start = in_a_field(mirror=mirror), {"z": 0.5, "x_dot": 1.0, "y_dot": 0.5}
    model, values = small_velocities(system, ["x_dot", "y_dot"]), {"eps": 0.005}
    full = ds.solve(system, 1.0, start, parameters=values, at=[1.0])["z"][0]
    run = ds.solve(model.system, 1.0, model.start(start, values), parameters=values, at=[1.0])
    assert abs(run["z"][0] - full) > 0.2
    found = model.validity(start, values)
    assert found.nutation["z_dot"] > 0.8
    (said,) = found.failures
    assert said.startswith("the oscillation from this start changes the rate of z_dot's momentum")
    slow = model.validity(model.on_slow_manifold(start, values), values)
    assert slow
    assert slow.nutation.get("z_dot", 0.0) < 1e-6
