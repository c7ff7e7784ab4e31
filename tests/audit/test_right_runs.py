"""No audit objects to the cases of the problems that come with daesolve."""

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
