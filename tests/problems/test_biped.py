"""A biped on four-bar legs against a planar model in three angles, and against statics."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.robots.biped import FILE, LOWERING, PUSH, PUSHED, problem
from scipy.integrate import solve_ivp

GRAVITY, LINK, CRANK, SOLE = 9.81, 0.22, (-0.042, -0.042), 0.05
HEEL, TOE = -0.05, 0.09
STIFFNESS, DAMPING, ARMATURE = 200.0, 6.0, 0.05
BEND, LOWERED = 0.4, 0.7
UNTIL = 0.65

pytestmark = pytest.mark.slow


@cache
def masses():
    """Return mass, centre and moment about y of the bodies of one side, by MuJoCo's compiler."""
    mujoco = pytest.importorskip("mujoco")
    file = mujoco.MjModel.from_xml_path(str(FILE))
    found = {}
    for name in ("trunk", "l_hip", "l_thigh", "l_shank", "l_crank", "l_rod", "l_foot"):
        body = file.body(name)
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, file.body_iquat[body.id])
        axes = turned.reshape(3, 3)
        moment = float((axes @ np.diag(body.inertia) @ axes.T)[1, 1])
        found[name.removeprefix("l_")] = float(body.mass[0]), np.array(body.ipos)[[0, 2]], moment
    return found


@cache
def planar():
    """Return functions of (q, q', bend, push): accelerations, and the forces on heel and toe.

    q are the angles of thighs, shanks and trunk; the feet are flat on the floor, both legs move
    alike, and the rod turns with the thigh, the crank with the shank: no loop is left to be closed.
    """
    q, v, u, bend, push = (ca.SX.sym(n, k) for n, k in (("q", 3), ("v", 3), ("u", 3), ("b", 1),
                                                        ("f", 1)))  # fmt: skip
    thigh, shank, trunk = ca.vertsplit(q)

    def at(angle, arm):
        """Return an arm (x, z) of a body that is turned from z to x."""
        c, s = ca.cos(angle), ca.sin(angle)
        return ca.vertcat(c * arm[0] + s * arm[1], -s * arm[0] + c * arm[1])

    knee = -at(shank, (0.0, -LINK))
    hip = knee - at(thigh, (0.0, -LINK))
    carried = {
        "trunk": (hip, trunk, 1),
        "hip": (hip, trunk, 2),
        "thigh": (hip, thigh, 2),
        "shank": (knee, shank, 2),
        "crank": (hip, shank, 2),
        "rod": (hip + at(shank, CRANK), thigh, 2),
        "foot": (ca.SX([0.0, 0.0]), ca.SX(0.0), 2),
    }
    kinetic, potential = ca.SX(0.0), ca.SX(0.0)
    momentum, moment, weight, torque = ca.SX.zeros(2), ca.SX(0.0), 0.0, ca.SX(0.0)
    for name, (place, angle, count) in carried.items():
        mass, centre, inertia = masses()[name]
        where = place + at(angle, centre)
        speed, rate = ca.jtimes(where, q, v), ca.jtimes(angle, q, v)
        kinetic += count * (mass * ca.sumsqr(speed) + inertia * rate**2) / 2.0
        potential += count * mass * GRAVITY * where[1]
        momentum += count * mass * speed
        moment += count * (mass * (where[1] * speed[0] - where[0] * speed[1]) + inertia * rate)
        weight += count * mass * GRAVITY
        torque += count * mass * GRAVITY * where[0]
        if name == "trunk":
            pushed = where
    turns = ca.vertcat(thigh - trunk, shank - trunk, -shank)
    rates = ca.jtimes(turns, q, v)
    kinetic += 2.0 * ARMATURE * ca.sumsqr(rates) / 2.0
    acting = STIFFNESS * (ca.vertcat(-bend, bend, -bend) - turns) - DAMPING * rates
    force = 2.0 * ca.jtimes(turns, q, acting, True) + ca.jacobian(pushed, q).T @ ca.vertcat(push, 0)
    impulse = ca.gradient(kinetic, v)
    known = force + ca.gradient(kinetic - potential, q) - ca.jtimes(impulse, q, v)
    accelerations = ca.solve(ca.jacobian(impulse, v), known)

    def changing(quantity):
        return ca.jtimes(quantity, q, v) + ca.jtimes(quantity, v, u)

    # Rotors act between bodies: they add no momentum. About the ankles, in y, a load N at x and
    # friction F have the moment - x N - SOLE F.
    load = changing(momentum[1]) + weight
    friction = changing(momentum[0]) - push
    moments = torque + push * pushed[1] - changing(moment)
    centre = (moments - SOLE * friction) / load
    toe = load / 2.0 * (centre - HEEL) / (TOE - HEEL)
    loads = ca.vertcat(load / 2.0 - toe, toe, friction / 2.0)
    own = [q, v, bend, push]
    loads = ca.substitute(loads, u, accelerations)
    return ca.Function("accelerations", own, [accelerations]), ca.Function("loads", own, [loads])


def bend_at(time):
    first, last = LOWERING
    share = np.clip((time - first) / (last - first), 0.0, 1.0)
    return BEND + (LOWERED - BEND) * (1.0 - np.cos(np.pi * share)) / 2.0


def planar_motion(times):
    """Return angles of swing, drive and ankle, loads of heel and toe, and friction: (6, times)."""
    accelerations, loads = planar()

    def rate(time, state, push):
        known = accelerations(state[:3], state[3:], bend_at(time), push)
        return np.concatenate([state[3:], np.asarray(known).ravel()])

    state, begin, found = np.array([-BEND, BEND, 0.0, 0.0, 0.0, 0.0]), 0.0, []
    for end in sorted({*LOWERING, *PUSHED, UNTIL}):
        own = times[(times > begin) & (times < end)]
        push = PUSH if PUSHED[0] <= begin < PUSHED[1] else 0.0
        run = solve_ivp(
            rate, (begin, end), state, "DOP853", [*own, end], rtol=1e-12, atol=1e-13, args=(push,)
        )
        for time, x in zip(own, run.y.T, strict=False):
            forces = np.asarray(loads(x[:3], x[3:], bend_at(time), push)).ravel()
            found.append([x[0] - x[2], x[1] - x[2], -x[1], *forces])
        state, begin = run.y[:, -1], end
    return np.array(found).T


@pytest.fixture(scope="module", name="run")
def _run():
    times = np.linspace(0.013, UNTIL - 0.001, 24)  # Not at instants at which loads jump.
    return problem.case("pushed").solve(until=UNTIL, at=times)


def test_legs_and_loads_are_those_of_a_planar_model_without_loops(run):
    assert run.outcome.value == "completed"
    swing, drive, ankle, heel, toe, friction = planar_motion(run.times)
    for leg in "lr":
        for joint, angle in (("swing", swing), ("drive", drive), ("ankle", ankle)):
            assert np.allclose(run[f"{leg}_{joint}_angle"], angle, rtol=0.0, atol=1e-9)
        # Loads follow from accelerations, with 1e-9 rad of 200 N m/rad on levers of 0.1 m.
        for end, load in (("heel", heel), ("toe", toe)):
            assert np.allclose(run[f"{leg}_{end}_floor"], load, rtol=0.0, atol=1e-5)
        rubbed = np.hypot(*[run[f"{leg}_heel_floor_friction_{k}"] for k in (1, 2)])
        assert np.allclose(rubbed, np.abs(friction), rtol=0.0, atol=1e-5)
        assert np.all(rubbed < 0.8 * run[f"{leg}_heel_floor"])


def test_it_stands_on_four_loads_while_loops_stay_closed_and_the_audit_holds(run):
    assert run.audit().holds
    loops = [entry.max_abs for name, entry in run.drift.items() if "_loop" in name]
    assert len(loops) >= 6
    assert max(loops) < 1e-12
    closings = {event.name for event in run.events if event.name.endswith(("closed", "lost"))}
    assert closings == {f"{leg}_{end}_floor_closed" for leg in "lr" for end in ("heel", "toe")}
    for leg in "lr":
        assert np.all(run[f"{leg}_heel_floor_gap"] < 1e-12)
        assert np.all(run[f"{leg}_toe_floor_gap"] < 1e-12)
