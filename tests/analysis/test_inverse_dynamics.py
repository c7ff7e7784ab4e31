"""Drives along a prescribed motion: in closed form, by power, and put back into a forward run."""

from __future__ import annotations

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    ContradictoryGoalsError,
    FreedomLeftError,
    OutOfRangeError,
    PosingError,
    UnknownNameError,
    UnreachableMotionError,
    UnsupportedError,
)
from daesolve.multibody import GROUND, Actuator, Body, Mechanism, Prismatic, Spherical, Universal

EPSILON = float(np.finfo(float).eps)


def slider_crank():
    """A crank of 1 kg and 0.2 m, a massless-ended rod of 2 kg and 0.5 m, a slider of 3 kg."""
    q = ds.coordinates(crank=ds.ANGLE, rod=ds.ANGLE, x="m")
    u = ds.inputs(torque="N m", load=(0.0, "N"))
    pin = 0.2 * ca.vertcat(ca.cos(q.crank), ca.sin(q.crank))
    wrist = pin + 0.5 * ca.vertcat(ca.cos(q.rod), ca.sin(q.rod))
    kinetic, potential = 3.0 * q.dot.x**2 / 2, ca.SX(0)
    for mass, length, centre, rate in (
        (1.0, 0.2, pin / 2, q.dot.crank),
        (2.0, 0.5, (pin + wrist) / 2, q.dot.rod),
    ):
        speed = ca.jacobian(centre, q.vector) @ q.dot.vector
        kinetic += mass * (ca.sumsqr(speed) + length**2 / 12 * rate**2) / 2
        potential += mass * 9.81 * centre[1]
    return ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        potential=potential,
        goals=[ds.Holonomic("wrist_x", wrist[0] - q.x), ds.Holonomic("wrist_y", wrist[1])],
        force={"crank": u.torque, "x": -u.load},
        outputs={"height": (pin[1], "m")},
        inputs=u,
    )


OUTSIDE = {"crank": 0.4, "rod": -0.2, "x": 0.7}


def put_back(system, found, **options):
    """Return by how much a forward run with the drives misses the motion at its end."""
    first = {name: float(values[0]) for name, values in found.states.items()}
    run = ds.solve(
        system,
        float(found.times[-1]),
        first,
        inputs=found.tables(),
        at=[found.times[-1]],
        **options,
    )
    assert run.outcome is ds.Outcome.COMPLETED
    return max(abs(run.end_state[name] - values[-1]) for name, values in found.states.items())


@pytest.mark.slow
def test_the_torque_of_a_slider_crank_is_what_its_energy_takes():
    turning = 3.0
    found = ds.inverse_dynamics(
        slider_crank(), {"crank": 0.4 + turning * ds.time}, 2.0, guess=OUTSIDE, at=ds.every(0.01),
        inputs={"load": 5.0},
    )  # fmt: skip
    angle = 0.4 + turning * found.times
    # The energy as a function of the angle, whose slope is the torque at a constant rate.
    x = ca.SX.sym("x")
    sine = 0.2 / 0.5 * ca.sin(x)
    rod = -ca.asin(sine)
    place = 0.2 * ca.cos(x) + 0.5 * ca.cos(rod)
    centre = ca.vertcat(0.2 * ca.cos(x) + 0.25 * ca.cos(rod), 0.1 * ca.sin(x))
    energy = (
        (1.0 * 0.2**2 / 3 + 3.0 * ca.jacobian(place, x) ** 2) / 2
        + 2.0 * (ca.sumsqr(ca.jacobian(centre, x)) + 0.5**2 / 12 * ca.jacobian(rod, x) ** 2) / 2
    ) * turning**2 + 9.81 * (0.1 * ca.sin(x) + 2.0 * centre[1])
    work = ca.Function("torque", [x], [ca.jacobian(energy, x) + 5.0 * ca.jacobian(place, x)])
    truth = np.asarray(work(angle.reshape(1, -1))).ravel()
    # Positions are met to 1e-15, forces are some 10 N m.
    assert np.abs(found["torque"] - truth).max() < 1e-12
    assert np.abs(found.outputs["height"] - 0.2 * np.sin(angle)).max() < 1e-15
    assert found.undetermined == ()


@pytest.mark.long
@pytest.mark.parametrize("motion", ["crank", "x"])
def test_the_torque_put_back_into_a_run_turns_the_crank_as_prescribed(motion):
    system = slider_crank()
    asked = {"crank": "0.8 + 0.4 * sin(t)", "x": "0.6 + 0.05 * sin(t)"}[motion]
    found = ds.inverse_dynamics(
        system, {motion: asked}, 1.5, guess=OUTSIDE, at=ds.every(0.002), inputs={"load": 2.0}
    )
    assert put_back(system, found, parameters={"load": 2.0}) < 1e-10


@pytest.mark.long
def test_the_torques_put_back_into_a_five_bar_linkage_move_it_as_prescribed():
    case = ds.problem("five-bar").case("falls")
    motion = {"left": "2.3 + 0.1 * sin(t)", "right": "0.9 + 0.15 * sin(1.3 * t)"}
    found = ds.inverse_dynamics(case, motion, 1.0, at=ds.every(0.002))
    assert {*found.drives} == {"motor_left", "motor_right"}
    assert put_back(case.system, found) < 1e-10
    # The tip may be prescribed as well as the cranks, and leads to the same torques.
    tips = [ca.SX(case.system.outputs[name][0]) for name in ("tip_x", "tip_y")]
    nodes = found.times[::10]
    paths = [ds.table(n, found.times, found[n], kind="cubic") for n in ("tip_x", "tip_y")]
    by_tip = ds.inverse_dynamics(
        case, {"a": (tips[0], paths[0]), "b": (tips[1], paths[1])}, 1.0, at=nodes
    )
    # The second derivative of a spline is right to h^2 = 4e-6 of it, of some 1 rad/s^2 times 0.3
    # kg m^2; at its last node it goes on as a constant.
    inside = slice(None, -1)
    assert np.abs(by_tip["motor_left"] - found["motor_left"][::10])[inside].max() < 1e-5


def stewart():
    """A plate on six legs, each a tube and a rod that a motor pushes."""
    u = ds.inputs(**{f"leg_{k}": "N" for k in range(6)})
    plate = Body("plate", 20.0, (0.9, 1.1, 1.9), position=(0.0, 0.0, 1.0))
    bodies, parts, quantities = [plate], [], []
    for k in range(6):
        pair, side = divmod(k, 2)
        foot_angle = math.radians(120 * pair + (15 if side else -15))
        head_angle = math.radians(120 * pair + (45 if side else -45))
        foot = np.array([math.cos(foot_angle), math.sin(foot_angle), 0.0])
        on_plate = 0.6 * np.array([math.cos(head_angle), math.sin(head_angle), 0.0])
        along = np.array([0.0, 0.0, 1.0]) + on_plate - foot
        length = float(np.linalg.norm(along))
        along /= length
        turn = _turned(along)
        tube = Body(
            f"tube_{k}", 2.0, (0.06, 0.06, 0.002), position=tuple(foot + 0.3 * along), rotation=turn
        )
        rod = Body(f"rod_{k}", 1.0, (0.03, 0.03, 5e-4),
                   position=tuple(foot + (length - 0.35) * along), rotation=turn)  # fmt: skip
        slide = Prismatic(f"slide_{k}", tube.frame(), rod.frame(), axis=2)
        bodies += [tube, rod]
        parts += [
            Universal(f"foot_{k}", GROUND.frame(tuple(foot)), tube.frame((0, 0, -0.3))),
            slide,
            Spherical(f"head_{k}", rod.point(0, 0, 0.35), plate.point(*on_plate)),
            Actuator(f"push_{k}", slide, force=u[f"leg_{k}"]),
        ]
        quantities.append(slide)
    mechanism = Mechanism(bodies, parts, gravity=(0, 0, -9.81))
    return mechanism, mechanism.system(inputs=u), quantities


def _turned(along):
    """Return the quaternion that turns the third axis into a direction, the second level."""
    from scipy.spatial.transform import Rotation

    second = np.cross(along, [1.0, 0.0, 0.0])
    second /= np.linalg.norm(second)
    axes = np.column_stack([np.cross(second, along), second, along])
    return tuple(Rotation.from_matrix(axes).as_quat(scalar_first=True))


@pytest.mark.long
def test_the_forces_of_a_stewart_platform_put_back_move_its_plate_as_prescribed():
    mechanism, system, _slides = stewart()
    t = ds.time
    motion = {
        "plate_x": 0.05 * ca.sin(2 * t), "plate_y": 0.04 * ca.sin(3 * t),
        "plate_z": 1.0 + 0.06 * ca.sin(2.5 * t), "plate_q1": 0.05 * ca.sin(t),
        "plate_q2": 0.04 * ca.sin(2 * t), "plate_q3": 0.05 * ca.sin(1.5 * t),
    }  # fmt: skip
    found = ds.inverse_dynamics(system, motion, 0.6, guess=mechanism.start, at=ds.every(0.002))
    assert found.undetermined == ()
    assert np.abs(found["plate_x"] - 0.05 * np.sin(2 * found.times)).max() < 1e-14
    # Six forces on six legs: at rest in the middle they would carry the weight.
    weight = 9.81 * (20 + 6 * (2 + 1))
    assert weight / 10 < sum(found.drives[f"leg_{k}"][0] for k in range(6)) < weight * 2
    assert put_back(system, found) < 1e-10


def test_without_inputs_a_force_along_each_quantity_drives_the_motion():
    system = replace(slider_crank())
    options = {"guess": OUTSIDE, "at": [0.0, 0.5, 1.0]}
    motion = {"crank": 0.4 + ds.time**2}
    by_input = ds.inverse_dynamics(system, motion, 1.0, inputs={"load": 0.0}, **options)
    own = ds.inverse_dynamics(system, motion, 1.0, inputs={"load": 0.0, "torque": 0.0}, **options)
    assert [*own.drives] == ["crank"]
    assert np.abs(own["crank"] - by_input["torque"]).max() < 1e-13


def test_more_drives_than_freedoms_share_and_are_named():
    found = ds.inverse_dynamics(
        slider_crank(), {"crank": 0.4 + 0.1 * ds.time}, 1.0, guess=OUTSIDE, at=[0.0, 1.0],
        inputs={"load": 0.0},
    )  # fmt: skip
    both = ds.inverse_dynamics(
        slider_crank(), {"crank": 0.4 + 0.1 * ds.time}, 1.0, guess=OUTSIDE, at=[0.0, 1.0]
    )
    assert "torque" in both.undetermined
    assert "load" in both.undetermined
    assert abs(both["torque"][0]) < abs(found["torque"][0])


def test_a_wheel_that_rolls_is_driven_along_a_path_of_speeds():
    q, u = ds.coordinates(x="m", y="m", heading="rad"), ds.inputs(drive="N", steer="N m")
    along = ca.vertcat(ca.cos(q.heading), ca.sin(q.heading))
    across = -q.dot.x * ca.sin(q.heading) + q.dot.y * ca.cos(q.heading)
    skate = ds.MechanicalSystem(
        q,
        kinetic=(2.0 * (q.dot.x**2 + q.dot.y**2) + 0.5 * q.dot.heading**2) / 2,
        goals=[ds.Nonholonomic("edge", across)],
        force={"x": u.drive * along[0], "y": u.drive * along[1], "heading": u.steer},
        inputs=u,
    )
    motion = {"x": ca.sin(ds.time), "heading": 0.5 * ds.time}
    found = ds.inverse_dynamics(skate, motion, 1.0, at=ds.every(0.1))
    # y' = x' tan h, and the force along the edge is m (x'' cos h + y'' sin h) = m v'
    t = found.times
    speed = np.cos(t) / np.cos(t / 2)
    rate = (-np.sin(t) * np.cos(t / 2) + np.cos(t) * np.sin(t / 2) / 2) / np.cos(t / 2) ** 2
    assert np.abs(found["y_dot"] - speed * np.sin(t / 2)).max() < 1e-13
    assert np.abs(found["drive"] - 2.0 * rate).max() < 1e-12
    assert np.abs(found["steer"]).max() < 1e-12


@pytest.mark.parametrize(
    ("motion", "inputs", "error", "words"),
    [
        ({}, {}, PosingError, "nothing is prescribed"),
        ({"crnk": 0.0}, {}, UnknownNameError, "'crank'"),
        ({"crank": "sin(s)"}, {}, UnknownNameError, "'s'"),
        ({"x": 5.0}, {}, ContradictoryGoalsError, "x"),
        ({"crank": 0.4}, {"pull": 1.0}, UnknownNameError, "'pull'"),
    ],
)
def test_motions_that_cannot_be_are_refused(motion, inputs, error, words):
    with pytest.raises(error, match=words):
        ds.inverse_dynamics(slider_crank(), motion, 1.0, guess=OUTSIDE, inputs=inputs)


@pytest.mark.slow
def test_a_freedom_that_is_left_and_a_force_that_cannot_act_are_reported():
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector), force={"x": u.push}, inputs=u)
    with pytest.raises(FreedomLeftError, match="x prescribe the motion except for 1 freedom"):
        ds.inverse_dynamics(system, {"x": ds.time}, 1.0)
    with pytest.raises(UnreachableMotionError, match=r"push cannot make this motion.*'y_dot'"):
        ds.inverse_dynamics(system, {"x": ds.time, "y": ds.time**2}, 1.0)
    assert ds.inverse_dynamics(system, {"x": ds.time**2, "y": ds.time}, 1.0)["push"][0] == 4.0


def test_what_is_no_force_and_what_opens_is_refused():
    q, u = ds.coordinates(x="m"), ds.inputs(mass=(1.0, "kg"), push=(1.0, "N"))
    heavy = ds.MechanicalSystem(q, kinetic=u.mass * q.dot.x**2, force={"x": u.push**2}, inputs=u)
    with pytest.raises(UnsupportedError, match="'mass' is not only a force"):
        ds.inverse_dynamics(heavy, {"x": ds.time}, 1.0)
    with pytest.raises(UnsupportedError, match="not linear in the input 'push'"):
        ds.inverse_dynamics(heavy, {"x": ds.time}, 1.0, inputs={"mass": 1.0})
    with pytest.raises(UnsupportedError, match="contacts that open"):
        ds.inverse_dynamics(
            ds.MechanicalSystem(q, kinetic=q.dot.x**2, goals=[ds.Contact("floor", q.x)]),
            {"x": ds.time}, 1.0,
        )  # fmt: skip
    with pytest.raises(UnsupportedError, match="does not accept 'solver'"):
        ds.inverse_dynamics(heavy, {"x": ds.time}, 1.0, solver="taylor")
    with pytest.raises(OutOfRangeError, match="must grow"):
        ds.inverse_dynamics(slider_crank(), {"crank": 0.4}, 1.0, guess=OUTSIDE, at=[1.0, 0.5])


# -- computed torque -------------------------------------------------------------------------------


def test_computed_torque_makes_errors_die_out_as_asked_through_a_closed_loop():
    system = slider_crank()
    q, t = system.coordinates, ds.time
    path = 0.9 + 0.3 * ca.sin(2 * t)
    rate = ca.jacobian(path, t)
    asked = ca.jacobian(rate, t) - 20 * (q.dot.crank - rate) - 100 * (q.crank - path)
    law = ds.analysis.computed_torque(system, {"crank": asked}, inputs={"load": 3.0})
    run = ds.solve(system, 1.0, {"crank": 1.0, "crank_dot": 0.6}, guess=OUTSIDE,
                   inputs={**law, "load": 3.0})  # fmt: skip
    decay = 0.1 * (1 + 10 * run.times) * np.exp(-10 * run.times)
    error = run["crank"] - 0.9 - 0.3 * np.sin(2 * run.times)
    assert np.abs(error - decay).max() < 1e-13


@pytest.mark.slow
def test_computed_torque_is_inverse_dynamics_without_errors():
    system = slider_crank()
    law = ds.analysis.computed_torque(
        system, {"crank": -0.3 * ca.sin(ds.time)}, inputs={"load": 0.0}
    )
    path = "0.9 + 0.3 * sin(t)"
    found = ds.inverse_dynamics(
        system, {"crank": path}, 1.0, guess=OUTSIDE, at=[0.0, 0.5, 1.0], inputs={"load": 0.0}
    )
    start = {name: float(values[0]) for name, values in found.states.items()}
    run = ds.solve(system, 1.0, start, inputs={**law, "load": 0.0}, at=[0.0, 0.5, 1.0])
    assert np.abs(run["torque"] - found["torque"]).max() < 1e-12


def test_as_many_inputs_as_accelerations_are_wanted():
    system = slider_crank()
    with pytest.raises(PosingError, match=r"1 accelerations \(crank\).*2 inputs \(torque, load\)"):
        ds.analysis.computed_torque(system, {"crank": 0.0})
    with pytest.raises(UnknownNameError, match="crank"):
        ds.analysis.computed_torque(system, {"crnk": 0.0}, inputs={"load": 0.0})
