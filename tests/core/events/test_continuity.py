"""Velocities go on across a switch only where energies and momenta do."""

import casadi as ca
import pytest

import daesolve as ds

# Taylor's method and event location at rounding; others at their own tolerances, 1e-10 a step.
SOLVERS = {"taylor": 1e-13, "dop853": 1e-8, "cvodes": 1e-7, "radau": 1e-7}


def in_plane(kinetic, **more):
    q = ds.coordinates(x="m", y="m")
    whole = (q.dot.x**2 + q.dot.y**2) / 2 + kinetic(q, q.x > 1.0)
    system = ds.MechanicalSystem(q, kinetic=whole, **{k: make(q) for k, make in more.items()})
    return ds.solve(system, 3.0, {"x_dot": 1.0})


def on_a_line(kinetic, until=4.0, **more):
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=kinetic(q), force={"x": -1.0})
    return ds.solve(system, until, {"x_dot": 1.0}, **more)


def refused(run, what, time):
    assert run.outcome is ds.Outcome.FAILED
    assert f"{what} jumps" in run.message
    assert run.end_time == pytest.approx(time, abs=1e-13)


@pytest.mark.parametrize(
    "kinetic",
    [
        lambda q, beyond: q.dot.y * ca.if_else(beyond, 0.5, 0.0),
        lambda q, beyond: q.dot.x * q.dot.y * ca.if_else(beyond, 0.5, 0.0),
    ],
    ids=["linear", "quadratic"],
)
def test_a_momentum_that_jumps_is_no_finite_force(kinetic):
    """The momentum of y is conserved, so that its velocity would jump at t = 1; T does not."""
    refused(in_plane(kinetic), "the momentum dT/dv of 'y_dot'", 1.0)


def test_a_momentum_that_jumps_with_the_velocity_holds_a_body_with_a_sentence():
    """The momentum v + sign v falls from 1 to -1 from t = 1 to t = 3, while the body rests."""
    run = on_a_line(lambda q: q.dot.x**2 / 2 + ca.fabs(q.dot.x))
    refused(run, "the momentum dT/dv of 'x_dot'", 1.0)


def test_the_reaction_of_a_constraint_takes_the_momentum_along_its_gradient():
    run = in_plane(
        lambda q, beyond: q.dot.x * q.dot.y * ca.if_else(beyond, 0.5, 0.0),
        goals=lambda q: [ds.Holonomic("rail", q.y)],
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_state["x"] == pytest.approx(3.0, abs=1e-13)


def heavier(q, beyond):
    return q.dot.x**2 / 2 * ca.if_else(beyond, 1.0, 0.0)


BESIDE = {
    "an energy of the user's": {
        "goals": lambda q: [ds.Invariant("energy", (q.dot.x**2 + q.dot.y**2) / 2)]
    },
    "a kink of a constraint": {
        "goals": lambda q: [ds.Holonomic("road", q.y - ca.fmax(q.x - 1.0, 0.0))]
    },
    "an event that changes a value alone": {
        "events": lambda q: [ds.Event("mark", q.x - 1.0, ds.RISING, ds.Reset({"passed": 1.0}))],
        "discrete": lambda q: ds.discrete(passed=0.0),
    },
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_mass_that_jumps_is_refused_whatever_happens_beside_it(name):
    refused(in_plane(heavier, **BESIDE[name]), "the kinetic energy", 1.0)


def test_an_event_at_the_switch_may_say_what_the_impact_does():
    """A momentum of 1 moves twice the mass at half the speed: 1 + 2 / 2 after 3 s."""
    run = in_plane(
        heavier,
        events=lambda q: [ds.Event("hit", q.x - 1.0, ds.RISING, ds.Reset({"x_dot": q.dot.x / 2}))],
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_state["x"] == pytest.approx(2.0, abs=1e-13)


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("solver", SOLVERS)
def test_an_energy_that_vanishes_at_its_switch_is_continuous_there(solver):
    """Mass 2 forwards, 1 backwards: v = 1 - t/2 to 2 s, then -(t - 2). Found at v = 1e-17, T is
    all rounding."""
    run = on_a_line(lambda q: q.dot.x**2 / 2 + ca.fmax(q.dot.x, 0.0) ** 2 / 2, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.end_state["x_dot"] == pytest.approx(-2.0, abs=SOLVERS[solver])
    assert run.end_state["x"] == pytest.approx(-1.0, abs=SOLVERS[solver])


def test_a_mass_that_grows_from_a_place_on_goes_on():
    """T = (1 + max(x - 1/3, 0)) v^2 / 2 is conserved: w = 1 + x - 1/3 has w' = w^(-1/2)."""
    q = ds.coordinates(x="m")
    mass = 1.0 + ca.fmax(q.x - 1.0 / 3.0, 0.0)
    run = ds.solve(ds.MechanicalSystem(q, kinetic=mass * q.dot.x**2 / 2), 3.0, {"x_dot": 1.0})
    late = 3.0 - 1.0 / 3.0
    w = (1.0 + 1.5 * late) ** (2.0 / 3.0)
    assert run.end_state["x"] == pytest.approx(w - 2.0 / 3.0, abs=1e-12)
