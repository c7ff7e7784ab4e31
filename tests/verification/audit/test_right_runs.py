"""No audit objects to the cases of the problems that come with daesolve."""

import math

import casadi as ca
import pytest

import daesolve as ds

FOUND, _ = ds.problems()
CASES = [(problem, case) for problem in FOUND for case in problem.cases]
SECONDS = 3.0
"""How much of each case is run, s: it shows each kind of event of most."""


@pytest.mark.slow
@pytest.mark.long_rows("omni-wheel-dropped")
@pytest.mark.long_beyond(8)
@pytest.mark.parametrize(
    ("problem", "case"), [pytest.param(p, c, id=f"{p.name}-{c.name}") for p, c in CASES]
)
def test_the_beginning_of_a_case_holds(problem, case):
    bound = problem.case(case.name)
    begin = bound.case.start_time
    until = min(bound.case.until, begin + SECONDS)
    try:
        run = bound.solve(until)
    except ds.errors.VariantError as error:
        # What some cases show is that no motion may begin, or go on, as posed.
        run = error.run
        if run is None:
            return
    found = run.audit()
    assert found.holds, str(found)
    assert found.findings


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_touching_bodies_that_nothing_presses_together_do_not_pull(law):
    """Three blocks strike one after the other and coast in contact: their pushes are rounding."""
    q = ds.coordinates(a="m", b="m", c="m")
    contacts = [ds.Contact("ab", q.b - q.a, closed=False), ds.Contact("bc", q.c - q.b)]
    kinetic = (q.dot.a**2 + 2 * q.dot.b**2 + q.dot.c**2 / 2) / 2
    system = ds.MechanicalSystem(q, kinetic=kinetic, goals=contacts)
    run = ds.solve(system, 3.0, {"a": -0.5, "a_dot": 1.0}, impact=law, verify=True)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.audit().holds
    # All momentum, of a mass of one, moves a mass of three and a half.
    for name in ("a_dot", "b_dot", "c_dot"):
        assert run.end_state[name] == pytest.approx(1 / 3.5, rel=1e-14)


def test_a_guard_that_a_closed_contact_keeps_at_zero_passes_nowhere():
    """A pendulum is pulled against a wall, so its speed towards it is nothing but rounding."""
    q = ds.coordinates(x="m", y="m", z="m")
    wall = ds.Contact("wall", 0.69414 - q.x)
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + q.dot.z**2,
        potential=20.0 * q.y - 40.0 * q.x + 9.0 * q.z**2,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.9043999999999996), wall],
        events=[ds.Event("leaves", q.dot.x)],
    )
    run = ds.solve(system, 3.0, {"z": 1.0, "z_dot": 0.3}, guess={"x": 0.69414, "y": -1.19})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert not run.events
    assert run.audit().holds, str(run.audit())


def test_a_contact_that_stays_closed_takes_no_part_in_an_impact_that_does_not_press_it():
    """A spring pulls a body along a floor until a wall throws it back.

    Its force along the floor vanishes where x = y, around which x oscillates.
    """
    q = ds.coordinates(x="m", y="m")
    wall = ds.Reset(impose=[ds.Holonomic("wall", 0.787 - q.x)], restitution=1.0)
    system = ds.MechanicalSystem(
        q,
        kinetic=2.55 * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=2.55 * 9.81 * q.y + 53.5 * (q.y - q.x) ** 2 / 2,
        goals=[ds.Contact("floor", q.y - 1.44, restitution=0.5)],
        events=[ds.Event("strikes", 0.787 - q.x, ds.FALLING, wall)],
    )
    start = {"x": 0.23, "x_dot": -0.199}
    run = ds.solve(system, 0.5, start, guess={"y": 1.44, "y_dot": 0.796})
    assert [event.name for event in run.events] == ["strikes"]
    rate = math.sqrt(53.5 / 2.55)
    far, ahead = math.hypot(1.21, 0.199 / rate), math.atan2(0.199 / rate, 1.21)
    assert run.events[0].time == pytest.approx((math.acos(0.653 / far) + ahead) / rate)
    assert run.audit().holds, str(run.audit())


def test_work_of_a_force_that_is_switched_off_may_be_what_a_solver_leaves_of_it():
    """Kicks end the steps of a pendulum, at which the work of nothing jumps by errors of steps."""
    q, d = ds.coordinates(x="m", y="m"), ds.discrete(on=0.0)
    kick = ds.Reset({"x_dot": q.dot.x / 2 - 0.1}, impose=["rod"])
    system = ds.MechanicalSystem(
        q,
        kinetic=1.3 * (q.dot.x**2 + q.dot.y**2),
        potential=26.0 * q.y,
        force={"x": 2.78 * d.on},
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 3.1329)],
        discrete=d,
        events=[ds.Event("kicks", q.dot.x, ds.RISING, kick)],
    )
    start, guess = {"x": -0.123, "x_dot": -0.95}, {"y": -1.9, "y_dot": -0.6}
    run = ds.solve(system, 0.67, start, guess=guess, solver="cvodes")
    assert len(run.events) > 2
    assert run.audit().holds, str(run.audit())


def test_balances_of_what_a_push_has_left_at_rest_are_rounding():
    """A body strikes a stop, and the foot of a pulse, down to 1e-30 N, presses it there."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=0.3 * q.dot.x**2,
        force={"x": 3.17 * ca.exp(-(((ds.time - 0.367) / 0.05) ** 2))},
        goals=[ds.Contact("stop", -0.85 - q.x, restitution=0.3)],
    )
    run = ds.solve(system, 1.1, guess={"x": -0.85, "x_dot": -0.73}, solver="dop853")
    assert run.end_state["x"] == pytest.approx(-0.85, rel=1e-9)
    assert run.audit().holds, str(run.audit())


def test_slips_of_what_two_constraints_hold_are_rounding():
    """A disc rolls 0.3 m per rad, and along a path with 1 m per rad at first: it stands still."""
    q = ds.coordinates(x="m", turn="rad")
    path = ds.Nonholonomic("path", q.dot.x - ca.cos(q.turn) * q.dot.turn)
    system = ds.MechanicalSystem(
        q,
        kinetic=2.32 * q.dot.x**2 / 2 + 0.1044 * q.dot.turn**2 / 2,
        potential=7.03 * q.x,
        force={"turn": 3.23},
        goals=[ds.Nonholonomic("rolls", q.dot.x - 0.3 * q.dot.turn), path],
        events=[ds.Event("ticks", ca.sin(10 * math.pi * ds.time), ds.EITHER)],
    )
    run = ds.solve(system, 3.0, {"x": 0.0157, "turn": 0.0}, guess={"x_dot": -0.982})
    assert [run.end_state["x"], run.end_state["turn"]] == pytest.approx([0.0157, 0.0], abs=1e-12)
    assert run.audit().holds, str(run.audit())


@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_what_rests_at_the_origin_under_a_growing_load_is_off_by_its_rounding_alone(solver):
    """A point in a groove: positions, velocities and works are nothing but rounding."""
    q = ds.coordinates(x="m", y="m")
    lean = 1.0
    rough = math.sin(lean) * q.x + math.cos(lean) * q.y
    slip = math.cos(lean) * q.dot.x - math.sin(lean) * q.dot.y
    point = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=10.0 * q.y,
        goals=[
            ds.Contact("rough", rough, slip=slip, friction=0.1),
            ds.Contact("smooth", math.cos(lean) * q.y - math.sin(lean) * q.x),
        ],
        force={"x": -3.974 * ds.time},
    )
    run = ds.solve(point, 3.0, {"x": 0.0, "y": 0.0}, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.audit().holds, str(run.audit())
    # Three seconds of accelerations that are the rounding of those which loads would give.
    rounding = 2.0**-53 * math.hypot(10.0, 3.974 * 3.0) * 3.0**2
    assert math.hypot(run["x"][-1], run["y"][-1]) <= rounding


def test_bounces_that_a_heavy_load_ends_are_left_out_with_its_work():
    """A wheel pressed onto a floor by 100 kN comes to rest in the corner with a steep wall.

    The bounces that are left out are lower than 1e-12 m, so the load of 300 kg begins them with up
    to sqrt(2 1e-12 m 1e5 N / 300 kg) = 2.6e-5 m/s, far more than beside the impact with 0.1 m/s.
    """
    q = ds.coordinates(x="m", z="m")
    steep = (0.02 - q.x) * math.sin(1.2) + q.z * math.cos(1.2)
    wheel = ds.MechanicalSystem(
        q,
        kinetic=150 * (q.dot.x**2 + q.dot.z**2),
        force={"x": 1e3, "z": -1e5},
        goals=[ds.Contact("floor", q.z), ds.Contact("wall", steep, closed=False)],
    )
    run = ds.solve(wheel, 0.3, {"x": 0.0, "x_dot": 0.1})
    assert run.end_state["x"] == pytest.approx(0.02, abs=1e-9)
    assert run.audit().holds, str(run.audit())
