"""Rounding of contacts that rub decides nothing, and what is left out for it leaves no error."""

import math

import casadi as ca
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import daesolve as ds
from tests.rubbing import block, standing, times_of


@pytest.mark.slow
@pytest.mark.slow_rows("-1.0")
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_feet_that_have_stuck_again_slide_off_to_the_other_side_as_one_contact_does(way):
    feet = block(0.5, 0.1, 0.3, force=lambda q: {"x": 4.0 * way * ca.sin(ds.time)})
    two = ds.solve(feet, 10.0, standing(0.1))
    q = ds.coordinates(x="m", y="m")
    single = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        force={"x": 4.0 * way * ca.sin(ds.time)},
        goals=[ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3)],
    )
    one = ds.solve(single, 10.0, {"x": 0.0, "x_dot": 0.0, "y": 0.0})
    assert two.outcome is ds.Outcome.COMPLETED
    for event in ("slips", "sticks"):
        expected = times_of(one, f"floor_{event}")
        assert len(expected) >= 2
        for foot in ("rear", "front"):
            assert times_of(two, f"{foot}_{event}") == pytest.approx(expected, abs=1e-12)
    assert two.end_state["x"] == pytest.approx(one.end_state["x"], abs=1e-13)


@pytest.mark.slow
def test_a_heavy_block_that_waits_on_two_feet_keeps_its_rate():
    q = ds.coordinates(x="m", y="m", theta="rad")
    feet = []
    for name, side in (("rear", -0.5), ("front", 0.4)):
        place = q.x + side * ca.cos(q.theta) + 0.07 * ca.sin(q.theta)
        gap = q.y + side * ca.sin(q.theta) - 0.07 * ca.cos(q.theta)
        slip = ca.jacobian(place, q.vector) @ q.dot.vector
        feet.append(ds.Contact(name, gap, slip=slip, friction=0.3))
    heavy = ds.MechanicalSystem(
        q,
        kinetic=766.0 * (q.dot.x**2 + q.dot.y**2 + 0.4 * q.dot.theta**2) / 2,
        potential=766.0 * 9.81 * q.y,
        force={"x": 766.0 * 3.9 * ca.sin(ds.time)},
        goals=feet,
    )
    run = ds.solve(heavy, 1.0, standing(0.07), max_evaluations=100_000)
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.description["rates"]["rear"] == 10.0
    assert times_of(run, "rear_slips") == pytest.approx([math.asin(0.3 * 9.81 / 3.9)], rel=1e-12)


@pytest.mark.long_beyond(4)
@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("True-0.001", "True-1.0", "True-1e-06", "False-1.0", "True-1e-09")
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("space", [False, True])
def test_bounces_that_are_left_out_rub_as_much_as_the_contact_that_stays(size, space):
    q = ds.coordinates(**dict.fromkeys("xyz" if space else "xz", "m"))
    slip = (q.dot.x, q.dot.y) if space else q.dot.x
    floor = ds.Contact("floor", q.z, slip=slip, friction=0.1, restitution=0.7, closed=False)
    ball = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=9.81 * size * q.z,
        goals=[floor],
    )
    names = [*q.names, *[f"{name}_dot" for name in q.names]]
    start = dict.fromkeys(names, 0.0) | {"z": size}
    along = {"x": 0.6, "y": 0.8} if space else {"x": 1.0}
    start |= {f"{name}_dot": 3.0 * part * size for name, part in along.items()}
    run = ds.solve(ball, 5.0, start)
    # Every bounce, in units of the size: until 0.7^n is no more than rounding.
    speed, up = 3.0, math.sqrt(2.0 * 9.81)
    at, time = 3.0 * up / 9.81, up / 9.81
    for _ in range(120):
        speed, up = speed - 0.1 * 1.7 * up, 0.7 * up
        at, time = at + speed * 2.0 * up / 9.81, time + 2.0 * up / 9.81
    at, time = at + speed**2 / (2.0 * 0.1 * 9.81), time + speed / (0.1 * 9.81)
    assert run.events[-1].name == "rest"
    # Both ways the ball is back on the floor in the end, so that the impulses of the floor have the
    # same sum and the same sum over time, and friction with them: only rounding is left.
    assert run.events[-1].time == pytest.approx(time, rel=1e-12)
    for name, part in along.items():
        assert run.end_state[name] == pytest.approx(part * at * size, rel=1e-12)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("True-0.0001", "True-0.001", "True-1e-05")
@pytest.mark.parametrize("width", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("space", [False, True])
def test_a_short_push_sets_a_contact_in_motion(space, width):
    """The push passes the limit within a time in which bodies do not move by their own size."""
    q = ds.coordinates(**dict.fromkeys("xyz" if space else "xz", "m"))
    slip = (q.dot.x, q.dot.y) if space else q.dot.x
    limit, at = 0.3 * 9.81, 1.234567
    push = 5.0 * limit / (1.0 + ((ds.time - at) / width) ** 2)
    block = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=9.81 * q.z,
        goals=[ds.Contact("floor", q.z, slip=slip, friction=0.3)],
        force={"x": ca.if_else(ca.fabs(ds.time - at) < 30.0 * width, push, 0.0)},
    )
    names = [*q.names, *[f"{name}_dot" for name in q.names]]
    run = ds.solve(block, 3.0, dict.fromkeys(names, 0.0))
    # It slides from where the push is the limit, 1 + s^2 = 5, in units of its width.
    assert times_of(run, "floor_slips") == pytest.approx([at - 2.0 * width], abs=1e-13)
    (stops,) = (times_of(run, "floor_sticks") - at) / width

    def gained(s):
        return 5.0 * (math.atan(s) + math.atan(2.0)) - (s + 2.0)

    # The time has rounding of 2e-16 s, which is 2e-11 of the shortest width.
    assert gained(stops) == pytest.approx(0.0, abs=1e-7)
    way = 5.0 * (stops * math.atan(stops) - math.log1p(stops**2) / 2)
    way -= 5.0 * (2.0 * math.atan(2.0) - math.log(5.0) / 2)
    way += (5.0 * math.atan(2.0) - 2.0) * (stops + 2.0) - (stops**2 - 4.0) / 2
    assert run.end_state["x"] == pytest.approx(limit * width**2 * way, rel=1e-8)


PUSHES = {
    "bell": lambda s: ca.exp(-(s**2)),
    "resonance": lambda s: 1.0 / (1.0 + s**2),
    "soliton": lambda s: 1.0 / ca.cosh(s) ** 2,
}
"""Smooth pushes of the height one at s = 0."""


def pushed_block(shape, space):
    """A block that rests on a floor and is pushed along x for an instant."""
    q = ds.coordinates(**dict.fromkeys("xyz" if space else "xz", "m"))
    given = ds.parameters(size=1.0, at=0.0, width=1.0)
    slip = (q.dot.x, q.dot.y) if space else q.dot.x
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=9.81 * q.z,
        goals=[ds.Contact("floor", q.z, slip=slip, friction=0.3)],
        parameters=given,
        force={"x": given.size * PUSHES[shape]((ds.time - given.at) / given.width)},
    )


def pushed_along(shape, ratio):
    """Return when it begins and ends to slide, and how far: in widths, and limits by width^2."""
    s = ca.SX.sym("s")
    height = ca.Function("height", [s], [PUSHES[shape](s)])

    def left(at):
        return ratio * float(height(at)) - 1.0

    begin = brentq(left, -60.0, 0.0, xtol=1e-15)
    stops = {"atol": 1e-18, "rtol": 1e-12, "max_step": min(0.05, -begin / 10.0)}
    run = solve_ivp(lambda at, y: [left(at), y[0]], (begin, -begin), [0.0, 0.0], **stops)

    def ended(_, y):
        return y[0]

    ended.terminal = True
    far = -begin + 10.0 * (run.y[0, -1] + 1.0)
    rest = solve_ivp(
        lambda at, y: [left(at), y[0]], (-begin, far), run.y[:, -1], events=ended, **stops
    )
    return begin, rest.t[-1], rest.y[1, -1]


@pytest.mark.long_beyond(4)
@pytest.mark.slow
@pytest.mark.default_rows(15)
@pytest.mark.slow_rows(
    "False-taylor-resonance-1e-06-5.0",
    "False-taylor-soliton-0.0001-1.05",
    "False-taylor-soliton-0.0001-5.0",
    "True-dop853-bell-0.0001-1.05",
    "True-dop853-bell-0.0001-5.0",
    "True-dop853-bell-1e-06-1.05",
    "True-dop853-bell-1e-06-5.0",
    "True-dop853-resonance-0.0001-1.05",
    "True-dop853-resonance-0.0001-5.0",
    "True-dop853-resonance-1e-06-1.05",
    "True-dop853-resonance-1e-06-5.0",
    "True-dop853-soliton-0.0001-1.05",
    "True-dop853-soliton-0.0001-5.0",
    "True-dop853-soliton-1e-06-1.05",
    "True-dop853-soliton-1e-06-5.0",
    "True-taylor-bell-0.0001-1.05",
    "True-taylor-bell-0.0001-5.0",
    "True-taylor-bell-1e-06-1.05",
    "True-taylor-resonance-0.0001-1.05",
    "True-taylor-resonance-0.0001-5.0",
    "True-taylor-resonance-1e-06-5.0",
    "True-taylor-soliton-0.0001-1.05",
    "True-taylor-soliton-0.0001-5.0",
    "True-taylor-soliton-1e-06-1.05",
    "True-taylor-soliton-1e-06-5.0",
)
@pytest.mark.parametrize("ratio", [1.05, 5.0])
@pytest.mark.parametrize("width", [1e-4, 1e-6])
@pytest.mark.parametrize("shape", PUSHES)
@pytest.mark.parametrize(
    ("space", "solver"),
    [
        (True, "taylor"),
        (True, "dop853"),
        (False, "taylor"),
        pytest.param(False, "dop853", marks=pytest.mark.slow),
        pytest.param(True, "radau", marks=pytest.mark.slow),
        pytest.param(True, "lsoda", marks=pytest.mark.slow),
    ],
)
def test_a_smooth_push_is_seen_however_short_it_is(space, solver, shape, width, ratio):
    """Nothing moves before it: no rate shows it, and it is over when the next step begins."""
    at, limit = 1.2345678, 0.3 * 9.81
    given = {"size": ratio * limit, "at": at, "width": width}
    start = dict.fromkeys("xyz" if space else "xz", 0.0)
    run = ds.solve(pushed_block(shape, space), 2.0, start, parameters=given, solver=solver)
    begin, end, way = pushed_along(shape, ratio)
    # Times have rounding of 2e-16 s, 2e-10 of the shortest width; dop853 has errors of 1e-9.
    assert times_of(run, "floor_slips") == pytest.approx([at + width * begin], abs=1e-5 * width)
    assert times_of(run, "floor_sticks") == pytest.approx([at + width * end], abs=1e-4 * width)
    assert run.end_state["x"] == pytest.approx(way * limit * width**2, rel=1e-3)
