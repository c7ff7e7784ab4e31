"""Systems to be exported that no problem has: inputs and tables, switches, a law in Python."""

import casadi as ca
import numpy as np

import daesolve as ds


def driven() -> ds.MechanicalSystem:
    """Return a slider in a slot, pushed by an input, tables of time and place, over two arguments.

    One table is periodic, and one is read at the value of another.
    """
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(2.0, "kg"), stiffness=(30.0, "N/m"))
    u = ds.inputs(push="N", brake=(0.25, "N s/m"))
    nodes = np.linspace(-2.0, 3.0, 11)
    pull = ds.table("pull", nodes, np.cos(nodes), kind="cubic")
    wave = ds.table("wave", [0.0, 0.5, 1.25, 2.0], [1.0, 3.0, -1.0, 1.0], kind="periodic cubic")
    steps = ds.table("steps", [-1.0, 0.0, 1.0], [1.0, 2.0, 4.0], kind="steps")
    slope = ds.table2("slope", [-1, 0, 2], [-2, 0, 1], [[0, 1, 3], [2, 2, 5], [1, 4, 4]])
    force = {
        "x": u.push - u.brake * q.dot.x + pull(q.x) + wave(ds.time),
        "y": -p.stiffness * q.y + steps(pull(ds.time)) + slope(q.x, q.y),
    }
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        goals=[ds.Holonomic("slot", q.y - ca.sin(q.x))],
        force=force,
        inputs=u,
        events=[
            ds.Event("strike", q.x - 2, ds.RISING, ds.Reset({"x_dot": -q.dot.x}, impose=["slot"]))
        ],
        outputs={"twice": (2 * q.x, "m")},
    )


def switched() -> ds.MechanicalSystem:
    """Return a point with piecewise forces, of whose branches one has no value at times."""
    q = ds.coordinates(x="m")
    p = ds.parameters(lambda_=(2.0, "N"), W1=(0.5, "N s/m"))
    away = ca.if_else(q.x > 0, ca.sqrt(q.x) / q.x, -1.0)
    drag = p.W1 * ca.fabs(q.dot.x) * q.dot.x + ca.sign(q.dot.x)
    lamp = ds.discrete(lit=0.0)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        potential=ca.fmax(q.x, 0.3) ** 2,
        force={"x": p.lambda_ * away - drag},
        discrete=lamp,
        events=[ds.Event("turns", q.dot.x, ds.FALLING, ds.Reset({"lit": 1 - lamp.lit}))],
    )


def quaternion() -> ds.MechanicalSystem:
    """Return a heavy top in quasi-velocities and unit quaternions."""
    q = ds.coordinates(q0="", q1="", q2="", q3="")
    w = ds.velocities(wx="rad/s", wy="rad/s", wz="rad/s")
    rates = (
        ca.vertcat(
            -q.q1 * w.wx - q.q2 * w.wy - q.q3 * w.wz,
            q.q0 * w.wx + q.q2 * w.wz - q.q3 * w.wy,
            q.q0 * w.wy - q.q1 * w.wz + q.q3 * w.wx,
            q.q0 * w.wz + q.q1 * w.wy - q.q2 * w.wx,
        )
        / 2
    )
    length = ds.Invariant(
        "length", q.q0**2 + q.q1**2 + q.q2**2 + q.q3**2, on="positions", reference=1.0
    )
    return ds.MechanicalSystem(
        q,
        kinetic=(w.wx**2 + w.wy**2 + 0.5 * w.wz**2) / 2,
        potential=3.0 * (q.q0**2 - q.q1**2 - q.q2**2 + q.q3**2),
        velocities=w,
        kinematics=rates,
        goals=[length],
    )


def controlled() -> ds.ControlSystem:
    """Return a cart that follows a sine."""
    x, u = ds.states(position="m", speed="m/s"), ds.reactions(force="N")
    p = ds.parameters(mass=(2.0, "kg"))
    return ds.ControlSystem(
        x,
        {"position": x.speed, "speed": u.force / p.mass},
        parameters=p,
        controls=u,
        goals=[ds.Goal("track", x.position - ca.sin(ds.time))],
    )
