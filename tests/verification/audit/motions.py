"""Right motions of many kinds, each solved once."""

from functools import cache

import casadi as ca

import daesolve as ds
from tests.sliding_bodies import DISC, block
from tests.systems import pendulum as rod_pendulum


def certified(run):
    return run.auditor.certificate(run)


@cache
def swinging():
    return ds.solve(rod_pendulum(), 3.0, {"x": 0.6})


def clock():
    q, count = ds.coordinates(x="m"), ds.discrete(ticks=0.0, push=1.0)
    then = ds.Reset({"ticks": count.ticks + 1, "push": -count.push})
    tick = ds.Event("tick", ca.sin(4.0 * ds.time), ds.RISING, then)
    force = {"x": count.push}
    kinetic = q.dot.x**2 / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, force=force, discrete=count, events=[tick])


@cache
def ticking():
    return ds.solve(clock(), 9.0, {"x": 0.0}, start_time=-0.1)


@cache
def ticking_at_once():
    return ds.solve(clock(), 2.0, {"x": 0.0})


@cache
def bouncing():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, restitution=0.6, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor])
    return ds.solve(system, 3.0, {"y": 1.0, "x_dot": 1.0})


@cache
def skidding():
    """A body that bounces on a rough floor and a smooth wall."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.2, restitution=0.5, closed=False)
    wall = ds.Contact("wall", 1 - q.x, restitution=0.5, closed=False)
    kinetic = (3.0 * q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor, wall])
    return ds.solve(system, 0.8, {"y": 1.0, "x_dot": 2.0})


@cache
def sliding():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    push = {"x": 2.0 * ca.sin(3.0 * ds.time)}
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor], force=push
    )
    return ds.solve(system, 1.0, {"y": 0.0, "x_dot": 1.5})


@cache
def shoved():
    """A body that slides into a wall which leans over it, so that the floor is struck as well."""
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.2)
    wall = ds.Contact("wall", 1.0 - q.x - 0.3 * q.y, restitution=0.5, closed=False)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[floor, wall])
    return ds.solve(system, 1.0, {"y": 0.0, "x_dot": 3.0})


@cache
def pushed():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    push = ds.table("push", [0.0, 1.0, 2.0, 3.0], [0.0, 2.0, -1.0, 1.0])
    return ds.solve(system, 3.0, {"x": 0.0}, inputs={"push": push})


@cache
def turning():
    """A heavy top in body rates: Hamel's equations."""
    q = ds.coordinates(psi=ds.ANGLE, theta=ds.ANGLE, phi=ds.ANGLE)
    w = ds.velocities(w1="rad/s", w2="rad/s", w3="rad/s")
    sine, cosine = ca.sin(q.phi), ca.cos(q.phi)
    kinematics = ca.vertcat(
        (w.w1 * sine + w.w2 * cosine) / ca.sin(q.theta),
        w.w1 * cosine - w.w2 * sine,
        w.w3 - (w.w1 * sine + w.w2 * cosine) / ca.tan(q.theta),
    )
    kinetic = (2.0 * w.w1**2 + 1.5 * w.w2**2 + w.w3**2) / 2
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=4.0 * ca.cos(q.theta), velocities=w, kinematics=kinematics
    )
    return ds.solve(system, 2.0, {"theta": 0.7, "w3": 6.0, "w1": 0.2})


@cache
def backwards():
    q = ds.coordinates(x="m")
    events = [ds.Event("up", q.x, ds.RISING), ds.Event("down", q.x, ds.FALLING)]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, events=events)
    return ds.solve(system, -10.0, {"x": 1.0})


@cache
def late():
    """A rolling disc whose short steps are few ticks of the clock, by a coarse solver."""
    q = ds.coordinates(x="m", turn="rad")
    rolling = ds.Nonholonomic("rolling", q.dot.x - q.dot.turn)
    kinetic = (3.0 * q.dot.x**2 + q.dot.turn**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=2.0 * q.x, goals=[rolling])
    start = {"x": 1.0, "turn": 0.0, "x_dot": 0.0}
    return ds.solve(system, 1e6 + 1.0, start, start_time=1e6, solver=ds.Lsoda())


@cache
def through_zero():
    """A point that is driven, so that every term of its constraint passes through zero."""
    q = ds.coordinates(x="m", y="m")
    driven = ds.Holonomic("driven", q.y - 0.5 * ca.sin(4.0 * ds.time))
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=10.0 * q.y, goals=[driven])
    return ds.solve(system, 1.07, {"x": 1.0, "x_dot": 0.0}, solver=ds.Cvodes())


@cache
def at_zero():
    """A cart that leans on a wall at zero, so that its gap has no term but rounding."""
    q = ds.coordinates(x="m", phi="rad")
    wall = ds.Contact("wall", q.x)
    speeds = q.dot.x + ca.cos(q.phi) * q.dot.phi, ca.sin(q.phi) * q.dot.phi
    kinetic = (q.dot.x**2 + speeds[0] ** 2 + speeds[1] ** 2) / 2
    potential = 10.0 * (q.x + 0.4) ** 2 - 9.0 * ca.cos(q.phi)
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, goals=[wall])
    return ds.solve(system, 1.0, {"phi": 2.0}, guess={"x": 0.0})


@cache
def long_steps():
    """A free point, which one step of Taylor's method carries through many ticks of a clock."""
    q = ds.coordinates(x="m")
    tick = ds.Event("tick", ca.sin(10 * ca.pi * ds.time), ds.RISING)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, events=[tick])
    return ds.solve(system, 1.0, {"x": 0.0, "x_dot": -1.0})


@cache
def kicked():
    """An oscillator that gets a kick and a count where it rises through zero."""
    q, count = ds.coordinates(x="m"), ds.discrete(kicks=0.0)
    kick = ds.Reset({"x_dot": q.dot.x + 0.3, "kicks": count.kicks + 1})
    events = [ds.Event("kick", q.x, ds.RISING, kick), ds.Event("top", q.dot.x, ds.FALLING)]
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, discrete=count, events=events
    )
    return ds.solve(system, 20.0, {"x": 1.0})


@cache
def struck():
    """A pendulum whose bob strikes a wall: a constraint that is imposed at an instant."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    strike = ds.Reset(impose=[ds.Holonomic("wall", q.x + 0.3)], restitution=0.8)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        potential=9.81 * q.y,
        goals=[rod],
        events=[ds.Event("strike", q.x + 0.3, ds.FALLING, strike)],
    )
    return ds.solve(system, 2.0, {"x": 0.6}, guess={"y": -0.8})


@cache
def gliding():
    """A sleigh whose blade does not slip sideways, and the work of its drag."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    blade = ds.Nonholonomic("blade", ca.cos(q.phi) * q.dot.y - ca.sin(q.phi) * q.dot.x)
    kinetic = (2.0 * (q.dot.x**2 + q.dot.y**2) + 0.5 * q.dot.phi**2) / 2
    work, drag = ds.states(work="J"), -0.1 * (q.dot.x**2 + q.dot.y**2)
    system = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        force={"x": -0.1 * q.dot.x, "y": -0.1 * q.dot.y},
        goals=[blade],
        quadratures=work,
        integrands={"work": drag},
        meters={"friction_work": (drag, "J")},
    )
    return ds.solve(system, 2.0, {"x_dot": 1.0, "phi_dot": 2.0})


@cache
def sampled():
    """A cart that a controller holds by its samples."""
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u)
    law = ds.sampled("controller", 0.1, -4.0 * q.x - 2.0 * q.dot.x)
    return ds.solve(system, 3.0, {"x": 1.0}, inputs={"push": law})


@cache
def spinning():
    """A body by Newton and Euler's equations, with gyroscopic moments."""
    q = ds.coordinates(a="rad", b="rad", c="rad")
    w = ds.velocities(w1="rad/s", w2="rad/s", w3="rad/s")
    moments = ca.DM([1.0, 2.0, 3.0])
    turning_rate = w.vector
    system = ds.MechanicalSystem(
        q,
        mass_matrix=ca.diag(ca.SX(moments)),
        gyroscopic=-ca.cross(turning_rate, ca.SX(moments) * turning_rate),
        velocities=w,
        kinematics=turning_rate,
    )
    return ds.solve(system, 3.0, {"w1": 0.01, "w2": 2.0})


def held_still():
    """A body that two relations hold, so that its velocities are nothing but rounding."""
    q = ds.coordinates(x="m", y="m")
    relations = [
        ds.Nonholonomic("first", q.dot.x - (1.0 + 0.5 * q.y) * q.dot.y),
        ds.Nonholonomic("second", q.dot.x - q.dot.y),
    ]
    kinetic = 3.0 * (q.dot.x**2 + q.dot.y**2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=30.0 * q.y, goals=relations)
    return ds.solve(system, 1.0, {"x": -1.0, "y": 1.0}, guess={"x_dot": 1.0, "y_dot": 1.0})


def kicked_at_rest():
    """A pendulum kicked where it turns round, which its steps pass again to rounding."""
    q = ds.coordinates(x="m", y="m", cart="m")
    rod = ds.Holonomic("rod", q.x**2 + (q.y - 3.0) ** 2 - 2.4)
    reset = ds.Reset({"cart_dot": -0.8 * q.dot.cart}, impose=["rod"])
    kick = ds.Event("kick", q.dot.y, ds.RISING, reset)
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.cart**2) / 2
    system = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod], events=[kick]
    )
    guess = {"x": 0.57, "y": 1.55, "y_dot": 0.4}
    return ds.solve(system, 2.0, {"x_dot": -1.1}, guess=guess, solver=ds.Dop853())


def braked():
    """A body whose velocity dies out, so that less of it is left than its solver looks at."""
    q = ds.coordinates(x="m")
    brake = {"x": -5.0 * ca.tanh(5.0 * q.dot.x)}
    system = ds.MechanicalSystem(q, kinetic=1.7 * q.dot.x**2 / 2, force=brake)
    return ds.solve(system, 3.0, {"x": 1.0, "x_dot": -0.6}, solver=ds.Dop853())


def between_walls():
    """Two bodies, each with a wall that only its own event imposes."""
    q = ds.coordinates(x="m", y="m")

    def hit(name, gap):
        wall = ds.Reset(impose=[ds.Holonomic(f"{name}_wall", gap)], restitution=0.9)
        return ds.Event(name, gap, ds.FALLING, wall)

    events = [hit("first", q.x), hit("second", q.y)]
    system = ds.MechanicalSystem(q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, events=events)
    return ds.solve(system, 2.0, {"x": 0.5, "y": 1.0, "x_dot": -1.0, "y_dot": -0.9})


@cache
def late_clock():
    """A clock that stands at zero where a run starts late, so that its sign there is rounding."""
    q, on = ds.coordinates(phi="rad"), ds.discrete(on=0.0)
    wall = ds.Contact("wall", q.phi + 0.0462, restitution=0.0)
    kink = 30.0 * ca.fmax(ca.fabs(q.phi - 0.895) - 0.2, 0.0) ** 2
    clock = ca.sin(1.1428571428571428 * 2.0 * ca.pi * (ds.time - 1e6))
    system = ds.MechanicalSystem(
        q,
        kinetic=0.9381 * q.dot.phi**2 / 2,
        potential=kink - 14.09 * ca.cos(q.phi),
        force={"phi": -1.1 * on.on},
        goals=[wall],
        discrete=on,
        events=[ds.Event("switch", clock, ds.EITHER, ds.Reset({"on": 1.0 - on.on}))],
    )
    start = {"phi": -0.0462, "phi_dot": 1.07}
    return ds.solve(system, 1e6 + 1.75, guess=start, start_time=1e6)


@cache
def stopping():
    """A body in space that slides to rest, where a count changes, by steps of less than 1e-12 s."""
    q, count = ds.coordinates(x="m", y="m", z="m"), ds.discrete(passes=0.0)
    slip = [q.dot.x - 0.3, q.dot.y]
    floor = ds.Contact("floor", q.z, slip=slip, friction=0.5, restitution=0.5)
    then = ds.Reset({"passes": count.passes + 1.0})
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=9.81 * q.z,
        goals=[floor],
        discrete=count,
        events=[ds.Event("turns", q.dot.y, ds.EITHER, then)],
    )
    start = {"x_dot": -0.25, "y_dot": 1.5}
    return ds.solve(system, 0.6, start, guess={"z": 0.0}, solver=ds.RadauIIA())


@cache
def leaving():
    """A cart that leaves the zero of its guard, where a less precise solver places it."""
    q, on = ds.coordinates(x="m", phi="rad"), ds.discrete(on=1.0)
    bob = (q.dot.x + 0.648 * ca.cos(q.phi) * q.dot.phi) ** 2
    bob += (0.648 * ca.sin(q.phi) * q.dot.phi) ** 2
    system = ds.MechanicalSystem(
        q,
        kinetic=0.68 * q.dot.x**2 / 2 + 1.85 * bob / 2,
        potential=-11.76 * ca.cos(q.phi),
        discrete=on,
        events=[ds.Event("passes", q.x, ds.EITHER, ds.Reset({"on": 1.0 - on.on}))],
    )
    start = {"x": 0.0, "phi": 0.384, "x_dot": -0.253}
    return ds.solve(system, 0.5, start, formulation="index-2")


@cache
def guided():
    """A block that slides along a guide without play, up an incline, and stops."""
    return ds.solve(block(), 0.3, {"x": 0.0, "x_dot": 2.0})


@cache
def held():
    """A block that friction holds in its guide until a growing load sets it free."""
    return ds.solve(block(), 0.7, {"x": 0.0}, parameters={"rate": 20.0})


@cache
def carried():
    """A block that comes to stick on a moving belt."""
    start = {"x": 0.0, "x_dot": 2.0}
    return ds.solve(block(carried=True), 0.3, start, parameters={"belt": 0.5})


@cache
def smoothed():
    """A block in a guide whose friction fades where it is slow."""
    return ds.solve(block(), 0.5, {"x": 0.0, "x_dot": 2.0}, formulation="regularised")


@cache
def lying():
    """A disc that slides and spins on a table that only pushes."""
    return ds.solve(DISC(), 0.3, {"x_dot": 1.0, "phi_dot": 5.0})


@cache
def leaning():
    """A block on one support, which only pushes, on an incline."""
    return ds.solve(lifted(), 0.3, {"x": 0.0, "x_dot": 2.0})


def lifted():
    q = ds.coordinates(x="m", y="m")
    floor = ds.friction.Support(point=(q.x, q.y), normal=(0.0, 1.0), friction=0.3)
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2,
        potential=2.0 * 9.81 * q.y,
        goals=[ds.Holonomic("floor", q.y, ideal=False)],
        pairs=[ds.friction.VariantPair("table", [floor], kind="unilateral")],
    )


@cache
def pumped():
    """A pendulum whose length is driven, with a spring that ages and an input that pushes it."""
    q, u = ds.coordinates(phi="rad"), ds.inputs(push="N m")
    length = 1.0 + 0.2 * ca.sin(5.0 * ds.time)
    speed = ca.jacobian(length, ds.time)
    system = ds.MechanicalSystem(
        q,
        kinetic=(length**2 * q.dot.phi**2 + speed**2) / 2 + 0.1 * ds.time * q.dot.phi,
        potential=-9.81 * length * ca.cos(q.phi) + ca.exp(-ds.time) * q.phi**2,
        force={"phi": u.push},
        inputs=u,
    )
    return ds.solve(system, 2.0, {"phi": 0.5}, inputs={"push": ca.cos(3.0 * ds.time)})


RIGHT = [
    late_clock,
    *(swinging, ticking, bouncing, skidding, sliding, shoved, pushed, turning, backwards, late),
    *(through_zero, at_zero, long_steps, kicked, struck, gliding, sampled, spinning),
    *(held_still, kicked_at_rest, braked, between_walls, stopping),
    *(leaving, guided, held, carried, smoothed, ticking_at_once, lying, leaning, pumped),
]
