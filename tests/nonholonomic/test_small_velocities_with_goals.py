"""Small velocities beside goals: reactions, normal loads by releasing constraints, and orders.

A body drives along a hilly road by the creep of its wheel, whose force is proportional to the load
that the road carries. By hand the road's reaction is an unknown beside the accelerations.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.errors import NoSlowManifoldError, PosingError
from daesolve.nonholonomic import small_velocities

HILL, MASS, INERTIA, RADIUS, COUPLING, FRICTION, TORQUE, GRAVITY = (
    0.3, 1.3, 0.4, 0.5, 0.2, 0.3, 0.8, 9.81,
)  # fmt: skip


def begun(eps: float) -> dict[str, float]:
    """Return a start with a slip as small as eps, of which the slow one is a tenth."""
    return {"x": 0.2, "y": HILL * math.sin(0.2), "turn": 2.0, "slip": 5 * eps, "lift": 0.0}


def road() -> ds.MechanicalSystem:
    """Pose it in quasi-velocities; the coupling y' phi' lets the load depend on accelerations."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    w = ds.velocities(slip="m/s", turn="rad/s", lift="m/s")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE))
    slope = HILL * ca.cos(q.x)
    length = ca.sqrt(1 + slope**2)
    along = (w.slip + RADIUS * w.turn) / length
    rise = slope * along + w.lift
    goal = ds.Holonomic("road", q.y - HILL * ca.sin(q.x), unit="N")
    load = goal.reaction * length
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(MASS * (along**2 + rise**2) + INERTIA * w.turn**2) / 2 + COUPLING * rise * w.turn,
        potential=MASS * GRAVITY * q.y,
        velocities=w,
        kinematics=ca.vertcat(along, rise, w.turn),
        goals=[goal],
        force={"slip": -FRICTION * load * w.slip / p.eps, "turn": TORQUE},
        outputs={"load": (load, "N")},
    )


def by_hand(x: float, moving: float, turning: float, friction: float, force: float) -> np.ndarray:
    """Return x'', y'', phi'' and the reaction, with the force of creep as its own unknown, or not.

    The force on the slip L x' - r phi' is -friction L N slip / eps, where `friction` is that factor
    of the reaction N; or else it is `force`.
    """
    slope, bend = HILL * math.cos(x), -HILL * math.sin(x)
    length = math.sqrt(1 + slope**2)
    matrix = np.array(
        [
            [MASS, 0.0, 0.0, slope - length * friction],
            [0.0, MASS, COUPLING, -1.0],
            [0.0, COUPLING, INERTIA, RADIUS * friction],
            [slope, -1.0, 0.0, 0.0],
        ]
    )
    right = [length * force, -MASS * GRAVITY, TORQUE - RADIUS * force, -bend * moving**2]
    return np.linalg.solve(matrix, right)


def followed(eps: float, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and the reaction of the stiff motion, by SciPy, at some times."""

    def solved(s):
        length = math.hypot(1.0, HILL * math.cos(s[0]))
        slip = length * s[2] - RADIUS * s[3]
        return by_hand(s[0], s[2], s[3], -FRICTION * length * slip / eps, 0.0)

    def rates(_, s):
        a = solved(s)
        return [s[2], s[3], a[0], a[2]]

    start = begun(eps)
    first = math.hypot(1.0, HILL * math.cos(start["x"]))
    moving = (start["slip"] + RADIUS * start["turn"]) / first
    run = scipy.integrate.solve_ivp(
        rates, (0.0, at[-1]), [start["x"], 0.0, moving, start["turn"]],
        method="Radau", rtol=1e-11, atol=1e-13, t_eval=at,
    )  # fmt: skip
    return run.y[0], np.array([solved(s)[3] for s in run.y.T])


@pytest.fixture(scope="module")
def model():
    return small_velocities(road(), ["slip"])


@pytest.mark.slow
def test_the_stiff_motion_tends_to_the_reduced_ones_with_its_reaction(model):
    """Errors of order 0 and of the refinement against SciPy, in x and in the normal load."""
    sizes, at = (0.01, 0.005, 0.0025, 0.00125), np.linspace(0.6, 3.0, 9)
    errors = np.zeros((len(sizes), 4))
    for row, eps in enumerate(sizes):
        x, push = followed(eps, at)
        for order, system in enumerate((model.system, model.refined)):
            start = model.start(begun(eps), {"eps": eps}, order=order)
            run = ds.solve(system, 3.0, start, parameters={"eps": eps}, at=at)
            errors[row, order] = np.max(np.abs(run["x"] - x))
            errors[row, 2 + order] = np.max(np.abs(run["road_reaction"] - push))
            assert np.max(np.abs(run["y"] - HILL * np.sin(run["x"]))) < 1e-14
    slopes = np.log2(errors[-2] / errors[-1])
    # Slips are as small as eps, so x is off by eps times as much as the load; the next order still
    # bends these slopes by a quarter at most.
    assert slopes == pytest.approx([2.0, 3.0, 1.0, 2.0], abs=0.25), errors


def test_order_zero_is_the_limit_in_which_creep_is_a_reaction(model):
    """With the slip and its rate left out, creep is one more unknown: T, beside N.

    Then the slip is -eps T / (friction N). At a size of eps order 0 differs by its square.
    """
    x, turning = 0.4, 1.7
    slope, bend = HILL * math.cos(x), -HILL * math.sin(x)
    length = math.hypot(1.0, slope)
    moving = RADIUS * turning / length
    # L x'' + L' x' = r phi'', with L' = slope bend x' / L.
    row = np.array([length, 0.0, -RADIUS])
    off = slope * bend * moving**2 / length
    free, per = (by_hand(x, moving, turning, 0.0, force) for force in (0.0, 1.0))
    creep = -(row @ free[:3] + off) / (row @ (per - free)[:3])
    push = (free + creep * (per - free))[3] * length
    state = {"x": x, "y": HILL * math.sin(x), "turn": turning}
    off_by = []
    for eps in (1e-2, 1e-3, 1e-4):
        found = model.start(state, {"eps": eps})["slip"]
        off_by.append(abs(found + eps * creep / (FRICTION * push)) / eps)
    assert off_by[1] / off_by[0] == pytest.approx(0.1, rel=0.1)
    assert off_by[2] / off_by[1] == pytest.approx(0.1, rel=0.1)


def tied(eliminated: bool) -> ds.MechanicalSystem:
    """Pose a wheelset with a third mass z that a goal, which moves, ties to both coordinates."""
    names = ("y", "psi") if eliminated else ("y", "psi", "z")
    q = ds.coordinates(**dict.fromkeys(names, "m"))
    w = ds.velocities(**{f"v_{name}": "m/s" for name in names})
    eps = 0.01
    place = q.y**2 / 4 + q.y / 2 - 0.3 * q.psi + 0.2 * ca.sin(ds.time)
    rate = (q.y / 2 + 0.5) * w.v_y - 0.3 * w.v_psi + 0.2 * ca.cos(ds.time)
    third = rate if eliminated else w.v_z
    force = {"v_y": 0.8 - 2 * (w.v_y - q.psi), "v_psi": -0.6 * (w.v_psi + q.y)}
    push = 0.1 - 0.4 * third
    if eliminated:
        force["v_y"] += (q.y / 2 + 0.5) * push
        force["v_psi"] += -0.3 * push
    else:
        force["v_z"] = push
    return ds.MechanicalSystem(
        q,
        kinetic=eps / 2 * (w.v_y**2 + 0.3 * w.v_psi**2 + 0.7 * third**2),
        velocities=w,
        kinematics=w.vector,
        force=force,
        goals=[] if eliminated else [ds.Holonomic("tie", q.z - place)],
    )


def test_goals_that_are_solved_by_hand_give_the_same_reduced_systems():
    start = {"y": 0.4, "psi": -0.2, "v_y": 0.3, "v_psi": 0.1}
    place = 0.4**2 / 4 + 0.2 + 0.06
    rate = 0.7 * 0.3 - 0.03 + 0.2
    models = [
        small_velocities(tied(True), ["v_y", "v_psi"]),
        small_velocities(tied(False), ["v_y", "v_psi"]),
    ]
    for order in (0, 1):
        runs = []
        for model, more in zip(models, ({}, {"z": place, "v_z": rate}), strict=True):
            first = model.start(model.on_slow_manifold({**start, **more}), order=order)
            system = (model.system, model.refined)[order]
            runs.append(ds.solve(system, 1.0, first, at=[0.0, 0.4, 1.0]))
        for name in ("y", "psi", "v_y", "v_psi"):
            assert runs[1][name] == pytest.approx(runs[0][name], abs=1e-11)


def test_a_rolling_goal_on_velocities_is_carried_over_with_its_reaction():
    """A slow cart pulls a trailer: its blade is a goal, and creep holds its wheel."""
    q = ds.coordinates(x="m", y="m", phi="rad")
    c, s = ca.cos(q.phi), ca.sin(q.phi)
    blade = ds.Nonholonomic("blade", q.dot.y * c - q.dot.x * s, unit="N")
    ahead, eps = q.dot.x * c + q.dot.y * s, 0.001
    creep = 1.0 - ahead
    system = ds.MechanicalSystem(
        q,
        kinetic=eps / 2 * (q.dot.x**2 + q.dot.y**2) + 0.4 * q.dot.phi**2 / 2,
        goals=[blade],
        force={"x": creep * c, "y": creep * s, "phi": 0.3},
    )
    model = small_velocities(system, ["x_dot"], dependent=["y_dot"])
    start = {"phi": 0.2, "phi_dot": 0.5, "x_dot": 0.9 * math.cos(0.2), "y_dot": 0.9 * math.sin(0.2)}
    full = ds.solve(system, 1.0, start, at=[0.5, 1.0])
    errors = []
    for order, reduced in enumerate((model.system, model.refined)):
        run = ds.solve(reduced, 1.0, model.start(start, order=order), at=[0.5, 1.0])
        errors.append(max(np.max(np.abs(run[name] - full[name])) for name in ("x", "y")))
        # The speed is 1, so the blade holds eps phi'.
        assert run["blade"] == pytest.approx(eps * full["phi_dot"], rel=10 * eps)
    assert errors[0] < 0.5 * eps
    assert errors[1] < 5 * eps**2


def test_forces_that_a_control_chooses_to_keep_a_goal_have_the_same_orders():
    """Two forces, tied by a relation, keep z on a path that moves, and push on the small velocity.

    They are unknowns that no gradient directs, and change with all accelerations.
    """
    q, u = ds.coordinates(x="m", y="m", z="m"), ds.reactions(push="N", pull="N")
    p, v = ds.parameters(eps=(0.01, "", ds.POSITIVE)), q.dot
    mass = 1.2 * v.x**2 + 0.8 * v.y**2 + 0.6 * v.z**2 + 0.4 * v.x * v.z + 0.3 * v.y * v.z
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=mass / 2,
        force={
            "x": 0.4 * u.pull - q.x,
            "y": -v.y / p.eps + 0.5 * u.push + ca.cos(2 * ds.time),
            "z": u.push,
        },
        goals=[
            ds.Holonomic("path", q.z - 0.5 * ca.sin(ds.time) - 0.3 * q.x, ideal=False),
            ds.Relation("tie", u.pull - 0.7 * u.push),
        ],
        reactions=u,
    )
    model = small_velocities(system, ["y_dot"])
    sizes, at = (0.01, 0.005), np.linspace(0.5, 3.0, 6)
    errors = []
    for eps in sizes:
        start = {"x": 0.2, "x_dot": 0.1, "y_dot": 2 * eps, "z": 0.06, "z_dot": 0.53}
        value = {"eps": eps}
        full = ds.solve(system, 3.0, start, parameters=value, at=at)
        for order, reduced in enumerate((model.system, model.refined)):
            first = model.start(start, value, order=order)
            run = ds.solve(reduced, 3.0, first, parameters=value, at=at)
            errors += [np.max(np.abs(run[name] - full[name])) for name in ("x", "y_dot", "push")]
    # y' is as small as eps itself.
    orders = np.log2(np.array(errors[:6]) / errors[6:])
    assert orders == pytest.approx([1.0, 2.0, 1.0, 2.0, 3.0, 2.0], abs=0.1)


def test_a_run_ends_where_goals_no_longer_determine_their_velocities():
    """A light bead is drawn along a ring through the place where y' does not follow from x'."""
    q = ds.coordinates(x="m", y="m")
    ring = ds.Holonomic("ring", q.x**2 + q.y**2 - 1)
    drawn = {"x": -0.5 * q.y - q.dot.x, "y": 0.5 * q.x - q.dot.y}
    bead = ds.MechanicalSystem(
        q, kinetic=0.001 * (q.dot.x**2 + q.dot.y**2), goals=[ring], force=drawn
    )
    model = small_velocities(bead, ["x_dot"], dependent=["y_dot"])
    run = ds.solve(model.system, 9.0, model.start({"x": 0.0, "y": -1.0}))
    assert run.outcome.value == "degenerate"
    assert "choose other velocities by dependent=" in run.message
    # It goes round by 0.5 rad/s; order 0 leaves out an inertia of 0.002, which grows towards there.
    assert run.end_time == pytest.approx(math.pi, abs=0.02)


def test_a_load_that_creep_takes_away_leaves_no_slow_motion():
    """A body of 0.7 on a wheel of 1.3 shares an inertia of 0.3 with its rise: N = 9.8 + 0.3 x''.

    The body has x'' (0.7 + 0.3 s) = push - 9.8 s for s = slip / eps, and the wheel 1.3 z'' = N s.
    To roll with x'' = z'' = push / 2 it needs s = 1.3 x'' / N. For a push of 1 this is 0.065; for
    -60 the effective mass 0.7 + 0.3 s is negative there (Painleve).
    """
    q = ds.coordinates(x="m", z="m", h="m")
    w = ds.velocities(slip="m/s", turn="m/s", lift="m/s")
    p = ds.parameters(eps=1e-3, push=1.0)
    floor, along = ds.Holonomic("floor", q.h), w.slip + w.turn
    kinetic = (0.7 * along**2 + 1.3 * w.turn**2 + w.lift**2) / 2 + 0.3 * along * w.lift
    creep = -floor.reaction * w.slip / p.eps
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        potential=9.8 * q.h,
        velocities=w,
        kinematics=ca.vertcat(along, w.turn, w.lift),
        goals=[floor],
        force={"slip": p.push + creep, "turn": p.push},
    )
    model = small_velocities(system, ["slip"])
    found = model.start({"turn": 1.0})["slip"] / 1e-3
    assert found == pytest.approx(1.3 * 0.5 / (9.8 + 0.3 * 0.5), rel=1e-12)
    with pytest.raises(NoSlowManifoldError, match="grows"):
        model.start({"turn": 1.0}, {"push": -60.0})


def refusal(goal=None, **changes) -> str:
    q = ds.coordinates(x="m", y="m")
    given = {"goals": [goal(q)] if goal else [], **{k: v(q) for k, v in changes.items()}}
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 + q.dot.y**2, force={"x": -q.dot.x}, **given)
    with pytest.raises(PosingError) as raised:
        small_velocities(system, ["x_dot"])
    return str(raised.value)


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        (lambda q: ds.Contact("floor", q.y), "'floor' is released at times"),
        (
            lambda q: ds.Nonholonomic("speed", q.dot.x + q.dot.y, from_start=True),
            "'speed' is measured from its value at the start",
        ),
        (
            lambda q: ds.Nonholonomic("bound", q.dot.x**2 / 9 + q.dot.y),
            "'bound' is not linear in the velocities",
        ),
        (lambda q: ds.Invariant("swing", q.dot.y), "'swing' is conserved and has no reaction"),
        (lambda q: ds.Holonomic("wall", q.x), "name fewer small velocities"),
    ],
)
def test_goals_without_a_slow_motion_of_their_own_are_refused(goal, told):
    assert told in refusal(goal)


def test_goals_that_depend_on_each_other_are_refused():
    told = refusal(
        goals=lambda q: [ds.Holonomic("one", q.y - 1), ds.Holonomic("other", 2 * q.y - 2)]
    )
    assert "'one', 'other' depend on each other" in told
