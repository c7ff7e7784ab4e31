"""Bushings, and springs behind dampers: closed forms, other assemblies, momentum, Exudyn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import DegenerateStartError, OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.elements import Bushing, SpringDamperSeries
from daesolve.multibody.joints import Prismatic, Revolute
from daesolve.multibody.loads import SpringDamper, TorsionDamper, TorsionSpring
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND, quaternion

from .placing import accelerations, matrix

MOMENTS = (0.2, 0.3, 0.4)


def moved(parts, bodies, until=1.0, solver=None, **further):
    mechanism = Mechanism(bodies, parts, **further)
    return ds.solve(mechanism.system(), until=until, guess=mechanism.start, solver=solver)


def swung(times, mass, damping, stiffness, start):
    """m x'' + c x' + k x = 0, from rest."""
    rate = damping / (2 * mass)
    frequency = math.sqrt(stiffness / mass - rate**2)
    phase = frequency * times
    return start * np.exp(-rate * times) * (np.cos(phase) + rate / frequency * np.sin(phase))


# -- bushings -------------------------------------------------------------------------------------


def test_a_bushing_swings_a_body_along_each_axis_of_the_ground_in_closed_form():
    stiffness, damping = (30.0, 50.0, 80.0, 0.0, 0.0, 0.0), (1.0, 0.0, 3.0, 0.0, 0.0, 0.0)
    place = np.array([0.1, -0.2, 0.3])
    body = Body("b", 2.0, MOMENTS, position=place)
    run = moved([Bushing("rubber", GROUND.frame(), body.frame(), stiffness, damping)], [body])
    for k, letter in enumerate("xyz"):
        expected = swung(run.times, 2.0, damping[k], stiffness[k], place[k])
        # A tolerance of 1e-16 a step and rounding of a state of size one, over some tens of steps.
        assert run[f"b_{letter}"] == pytest.approx(expected, abs=1e-13)
        force = -stiffness[k] * run[f"b_{letter}"] - damping[k] * run[f"b_{letter}_dot"]
        assert run[f"rubber_force_{k + 1}"] == pytest.approx(force, abs=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_about_one_axis_alone_a_bushing_is_a_torsion_spring_and_a_damper(axis):
    """Through a wide angle, from where both are turned: the angle is I a'' + c a' + k a = 0."""
    stiffness, damping = np.zeros(6), np.zeros(6)
    stiffness[3 + axis], damping[3 + axis] = 6.0, 0.3
    direction = np.eye(3)[axis]
    body = Body("b", 2.0, MOMENTS, rotation=quaternion(direction, 1.2))
    axes = matrix(quaternion((1.0, 2.0, -1.0), 0.0))
    bushing = Bushing("rubber", GROUND.frame(axes=axes), body.frame(), stiffness, damping)
    mechanism = Mechanism([body], [bushing])
    system = mechanism.system(outputs={"angle": bushing.displacement[3 + axis]})
    run = ds.solve(system, 1.0, guess=mechanism.start)
    expected = swung(run.times, MOMENTS[axis], 0.3, 6.0, 1.2)
    assert run["angle"] == pytest.approx(expected, abs=1e-12)
    assert run["rubber_torque_" + str(axis + 1)] == pytest.approx(
        -6.0 * run["angle"] - 0.3 * run[f"b_w{axis + 1}"], abs=1e-11
    )


def two_in_space():
    first = Body("one", 1.3, MOMENTS, angular_velocity=(0.3, -0.2, 0.4))
    turned = quaternion((1.0, -2.0, 0.5), 0.6)
    second = Body(
        "two", 0.7, (0.1, 0.15, 0.12), position=(0.5, 0.2, -0.1), rotation=turned,
        velocity=(0.4, -0.3, 0.2), angular_velocity=(-0.5, 0.8, 0.2),
    )  # fmt: skip
    frames = (
        first.frame((0.2, 0.1, 0.0), matrix(quaternion((1, 1, 0), 0.4))),
        second.frame((-0.2, 0.0, 0.1), matrix(quaternion((0, 1, 2), -0.3))),
    )
    return (first, second), frames


@pytest.mark.slow
def test_a_bushing_between_free_bodies_keeps_momentum_moment_of_momentum_and_energy():
    """What it does to one body it does to the other at the same place, and its springs store."""
    bodies, frames = two_in_space()
    stiffness, damping = (20.0, 30.0, 45.0, 3.0, 4.0, 2.0), (0.2, 0.1, 0.4, 0.05, 0.02, 0.03)
    run = moved(
        [Bushing("rubber", *frames, stiffness, damping)], bodies, until=2.0, solver=ds.Dop853()
    )
    masses, moments = (1.3, 0.7), (np.array(MOMENTS), np.array((0.1, 0.15, 0.12)))
    momentum, spin = [], []
    for k in (0, -1):
        linear, angular = np.zeros(3), np.zeros(3)
        for name, mass, own in zip(("one", "two"), masses, moments, strict=True):
            place = np.array([run[f"{name}_{c}"][k] for c in "xyz"])
            speed = np.array([run[f"{name}_{c}_dot"][k] for c in "xyz"])
            turned = matrix([run[f"{name}_q{c}"][k] for c in range(4)])
            rate = np.array([run[f"{name}_w{c}"][k] for c in (1, 2, 3)])
            linear += mass * speed
            angular += mass * np.cross(place, speed) + turned @ (own * rate)
        momentum.append(linear)
        spin.append(angular)
    # Of dop853 at 1e-11, over 2 s.
    np.testing.assert_allclose(momentum[1], momentum[0], atol=1e-10)
    np.testing.assert_allclose(spin[1], spin[0], atol=1e-10)
    assert run["rubber_damping_work"][-1] < -1e-2
    stored = run["energy"][-1] - run["energy"][0]
    assert run["rubber_damping_work"][-1] == pytest.approx(stored, abs=1e-10)


@pytest.mark.slow
def test_the_forces_and_torques_that_a_bushing_shows_are_those_that_move_its_body():
    """Newton and Euler at the second body's mass centre, through wide angles."""
    bodies, (first, _) = two_in_space()
    frames = first, bodies[1].frame((-0.2, 0.0, 0.1), matrix(quaternion((0, 1, 2), -1.3)))
    stiffness, damping = (20.0, 30.0, 45.0, 3.0, 4.0, 2.0), (0.2, 0.1, 0.4, 0.05, 0.02, 0.03)
    mechanism = Mechanism(bodies, [Bushing("rubber", *frames, stiffness, damping)])
    found, _ = accelerations(mechanism)
    run = ds.solve(mechanism.system(), 1e-3, guess=mechanism.start, at=[0.0])
    shown = [[run[f"rubber_{what}_{k}"][0] for k in (1, 2, 3)] for what in ("force", "torque")]
    start = mechanism.start
    turns = [matrix([start[f"{name}_q{k}"] for k in range(4)]) for name in ("one", "two")]
    axes = turns[0] @ matrix(quaternion((1, 1, 0), 0.4))
    force, torque = axes @ shown[0], axes @ shown[1]
    pushed = [found[f"two_{letter}_dot"] for letter in "xyz"]
    np.testing.assert_allclose(0.7 * np.array(pushed), force, atol=1e-12)
    rate = np.array([start[f"two_w{k}"] for k in (1, 2, 3)])
    turning = np.array([found[f"two_w{k}"] for k in (1, 2, 3)])
    moments = np.array((0.1, 0.15, 0.12))
    about = torque + np.cross(turns[1] @ (-0.2, 0.0, 0.1), force)
    euler = moments * turning + np.cross(rate, moments * rate)
    np.testing.assert_allclose(turns[1] @ euler, about, atol=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("axis", [0, 2])
def test_a_bushing_that_is_free_about_an_axis_bears_a_rotor_through_many_turns(axis):
    stiffness = [1e3, 1e3, 1e3, 50.0, 50.0, 50.0]
    stiffness[3 + axis] = 0.0
    rotor = Body("rotor", 1.0, (0.3, 0.3, 0.3), angular_velocity=tuple(20.0 * np.eye(3)[axis]))
    bearing = Bushing("bearing", GROUND.frame(), rotor.frame(), stiffness)
    run = moved([bearing], [rotor], until=2.0)
    assert run.end_time == 2.0
    assert run[f"rotor_w{axis + 1}"] == pytest.approx(20.0, abs=1e-12)


@pytest.mark.slow
def test_a_bushing_in_the_plane_is_springs_along_a_slider_and_in_a_hinge():
    """Held by a slider it is a spring along it, on a hinge one about it."""
    values, damping = (40.0, 25.0, 6.0), (1.0, 2.0, 0.3)
    for kind in ("slider", "hinge"):
        runs = []
        for own in ("bushing", "springs"):
            body = PlanarBody("b", 1.5, 0.4, position=(0.2, 0.0))
            frames = (
                GROUND.frame((0.0, 0.0)),
                body.frame((0.0, 0.0) if kind == "slider" else (-0.2, 0.0)),
            )
            held = (Prismatic if kind == "slider" else Revolute)("j", *frames)
            if kind == "hinge":
                body = PlanarBody(
                    "b", 1.5, 0.4, position=(0.2 * math.cos(2.0), 0.2 * math.sin(2.0)), angle=2.0
                )
                frames = frames[0], body.frame((-0.2, 0.0))
                held = Revolute("j", *frames)
            if own == "bushing":
                parts = [held, Bushing("rubber", *frames, values, damping)]
            elif kind == "hinge":
                parts = [held, TorsionSpring("k", held, 6.0), TorsionDamper("c", held, 0.3)]
            else:
                far = GROUND.point(-5.0, 0.0), body.point(0.0, 0.0)
                parts = [held, SpringDamper("k", *far, 40.0, 1.0, 5.0)]
            runs.append(moved(parts, [body]))
        for state in ("b_x", "b_angle", "b_x_dot"):
            assert runs[0][state] == pytest.approx(runs[1][state], abs=1e-12)


@pytest.mark.slow
def test_a_bushing_moves_two_bodies_as_exudyn_does_at_steps_that_converge():
    """About one axis its angles are ours. Its error falls with the square of its step."""
    exudyn = pytest.importorskip("exudyn")
    stiffness, damping = (20.0, 30.0, 45.0, 3.0, 4.0, 2.0), (0.2, 0.1, 0.4, 0.05, 0.02, 0.03)
    body = Body(
        "b", 0.7, (0.1, 0.15, 0.12), position=(0.6, 0.1, 0.0),
        rotation=quaternion((0, 0, 1), 0.8), angular_velocity=(0, 0, 1.0),
    )  # fmt: skip
    bushing = Bushing(
        "rubber", GROUND.frame((0.1, 0.2, 0.0)), body.frame((-0.3, 0.1, 0.0)), stiffness, damping
    )
    mechanism = Mechanism([body], [bushing])
    run = ds.solve(mechanism.system(), 1.0, guess=mechanism.start, solver=ds.Dop853(1e-12))
    own = np.array([run[f"b_{c}"][-1] for c in "xyz"])
    errors = [
        np.abs(_by_exudyn(exudyn, stiffness, damping, steps) - own).max() for steps in (500, 1000)
    ]
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def _by_exudyn(exudyn, stiffness, damping, steps):
    from exudyn.itemInterface import (
        MarkerBodyRigid,
        ObjectConnectorRigidBodySpringDamper,
        ObjectGround,
    )
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    container = exudyn.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(ObjectGround())
    cosine, sine = math.cos(0.8), math.sin(0.8)
    body = system.CreateRigidBody(
        referencePosition=[0.6, 0.1, 0.0],
        referenceRotationMatrix=[[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]],
        initialAngularVelocity=[0, 0, 1.0],
        inertia=RigidBodyInertia(mass=0.7, inertiaTensor=np.diag([0.1, 0.15, 0.12])),
    )
    markers = [
        system.AddMarker(MarkerBodyRigid(bodyNumber=ground, localPosition=[0.1, 0.2, 0.0])),
        system.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=[-0.3, 0.1, 0.0])),
    ]
    system.AddObject(
        ObjectConnectorRigidBodySpringDamper(
            markerNumbers=markers, stiffness=np.diag(stiffness), damping=np.diag(damping)
        )
    )
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = 1.0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.relativeTolerance = 1e-12
    settings.solution.file.write = False
    settings.timeIntegration.verboseMode = 0
    system.SolveDynamic(settings)
    return np.array(system.GetObjectOutputBody(body, exudyn.OutputVariableType.Position))


@pytest.mark.slow
def test_a_bushing_that_is_turned_too_far_ends_the_run_and_one_in_the_plane_does_not():
    body = Body("b", 1.0, MOMENTS, angular_velocity=(0, 2.0, 0))
    run = moved([Bushing("r", GROUND.frame(), body.frame(), (1, 1, 1, 0, 1e-9, 0))], [body])
    assert [event.name for event in run.events] == ["r_turned"]
    # cos = 1e-3 on the way to a quarter turn, at 2 rad/s; the spring is 1e-9 of what moves it.
    assert run.end_time == pytest.approx(math.acos(1e-3) / 2, abs=1e-8)
    flat = PlanarBody("f", 1.0, 0.3, rate=20.0)
    run = moved([Bushing("r", GROUND.frame((0, 0)), flat.frame(), (1, 1, 1e-9))], [flat])
    assert run["f_angle"][-1] == pytest.approx(20.0, abs=1e-6)


# -- a spring behind a damper ---------------------------------------------------------------------


def test_a_spring_behind_a_damper_relaxes_to_a_closed_form():
    """m x'' = -T, T' = k x' - k/c T: a linear system, by its matrix exponential."""
    import scipy

    mass, stiffness, damping = 2.0, 50.0, 6.0
    body = PlanarBody("b", mass, 1.0, position=(1.3, 0.0), velocity=(0.5, 0.0))
    link = SpringDamperSeries(
        "link", GROUND.point(0, 0), body.centre, stiffness, damping, 1.0, damper=0.05
    )
    run = moved([link], [body], until=2.0)
    rates = np.array(
        [[0, 1, 0], [0, 0, -1 / mass], [0, stiffness, -stiffness / damping]]
    )  # of x, x', T
    first = np.array([1.3, 0.5, stiffness * (0.3 - 0.05)])
    last = scipy.linalg.expm(rates * 2.0) @ first
    found = [run["b_x"][-1], run["b_x_dot"][-1], run["link_tension"][-1]]
    # Rounding of the spring's force, 50 * 1e-16, and of the exponential.
    np.testing.assert_allclose(found, last, atol=1e-12)
    kept = run["energy"][-1] - run["energy"][0]
    assert run["link_work"][-1] == pytest.approx(kept, abs=1e-12)


def test_a_spring_behind_a_damper_ends_a_run_where_its_ends_meet():
    body = PlanarBody("b", 1.0, 1.0, position=(0.5, 0.0), velocity=(-4.0, 0.0))
    link = SpringDamperSeries("l", GROUND.point(0, 0), body.centre, 1e-3, 1e-3, 0.5)
    run = moved([link], [body])
    assert [event.name for event in run.events] == ["l_met"]
    there = PlanarBody("b", 1.0, 1.0)
    link = SpringDamperSeries("l", GROUND.point(0, 0), there.centre, 1.0, 1.0, 0.5)
    with pytest.raises(DegenerateStartError, match="the ends of 'l' coincide"):
        moved([link], [there])


# -- what is refused ------------------------------------------------------------------------------

PLATE, ROUND = PlanarBody("plate", 1.0, 1.0), Body("round", 1.0, (1, 1, 2), axisymmetric=True)
BOX, FLAT, DEEP = Body("box", 1.0, (1, 1, 1)), GROUND.frame((0, 0)), GROUND.frame()
SIX, THREE = (1.0,) * 6, (1.0,) * 3


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Bushing("two words", DEEP, BOX.frame(), SIX), "must be a word"),
        (lambda: Bushing("r", DEEP, BOX.centre, SIX), "must connect two frames: use frame"),
        (lambda: Bushing("r", DEEP, PLATE.frame(), SIX), "one in space"),
        (lambda: Bushing("r", DEEP, ROUND.frame(), SIX), "axes that spin with 'round'"),
        (lambda: Bushing("r", DEEP, BOX.frame(), THREE), "stiffness of the Bushing 'r' has 6"),
        (lambda: Bushing("r", FLAT, PLATE.frame(), SIX), "stiffness of the Bushing 'r' has 3"),
        (lambda: Bushing("r", DEEP, BOX.frame(), SIX, THREE), "the damping of the Bushing 'r' has"),
        (lambda: Bushing("r", DEEP, BOX.frame(), 1.0), "has 6 coordinates"),
        (
            lambda: SpringDamperSeries("s", PLATE.centre, PLATE.point(1, 0), 1.0, 1.0, 1.0),
            "'plate' with itself",
        ),
    ],
)
def test_elements_that_have_no_meaning_are_refused(make, sentence):
    with pytest.raises(PosingError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Bushing("r", DEEP, BOX.frame(), (1, 1, 1, 1, -1, 1)), "a stiffness of the Bush"),
        (lambda: Bushing("r", FLAT, PLATE.frame(), THREE, (0, -1, 0)), "a damping of the Bushing"),
        (
            lambda: SpringDamperSeries("s", FLAT, PLATE.centre, 1.0, 0.0, 1.0),
            "damping of the SpringDamperSeries 's' is 0.0, but must be > 0",
        ),
    ],
)
def test_numbers_that_cannot_be_are_refused(make, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        make()
