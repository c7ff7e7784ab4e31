"""No audit objects to the cases of the problems that come with daesolve."""

import pytest

import daesolve as ds

FOUND, _ = ds.problems()
CASES = [(problem, case) for problem in FOUND for case in problem.cases]
SECONDS = 3.0
"""How much of each case is run, s: it shows each kind of event of most."""


@pytest.mark.slow
@pytest.mark.long_rows("omni-wheel-dropped")
@pytest.mark.long_beyond(24)
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
