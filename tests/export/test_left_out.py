"""What is not exported is said, in a sentence; what decides in Python stays a value."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.system.driving import driven
from tests.export.modules import loaded


def cart() -> ds.MechanicalSystem:
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    return ds.MechanicalSystem(q, kinetic=2.0 * q.dot.x**2 / 2, force={"x": u.push}, inputs=u)


def test_a_sampled_law_of_expressions_is_a_tick_with_a_reset(tmp_path):
    law = ds.sampled("brake", period=0.1, law=lambda seen: -3.0 * seen.x_dot)
    system, _ = driven(cart(), {"push": law})
    module = loaded(system.to_python(tmp_path / "plant.py", {"x": 0.0, "x_dot": 2.0}))
    assert module.EVENTS["brake_tick"] == ("rising", (0,), "reset")
    state, values = module.state(), module.values()
    assert module.guards(0.05, state, values)[0] == pytest.approx(-0.05, abs=1e-16)
    after, held = module.reset_brake_tick(0.1, state, values)
    assert np.array_equal(after, state)
    assert module.rhs(0.1, after, held)[1] == -3.0 * 2.0 / 2.0


def test_a_sampled_law_in_python_is_named(tmp_path):
    def law(seen):
        return -1.0 if seen.x_dot > 1 else 0.0

    sampled = ds.sampled("brake", period=0.1, law=law, traced=False)
    system, _ = driven(cart(), {"push": sampled})
    module = loaded(system.to_python(tmp_path / "plant.py", {"x": 0.0, "x_dot": 2.0}))
    assert "sampled law brake is a Python function" in " ".join(module.__doc__.split())
    values = module.values(brake_held=-1.0)
    assert module.rhs(0.0, {}, values)[1] == -0.5


@pytest.mark.slow
def test_contacts_stay_as_the_values_say(tmp_path):
    case = ds.problem("block").case()
    said = " ".join(loaded(case.to_python(tmp_path / "block.py")).__doc__.split())
    assert "Values say which contacts are closed, stick or slide" in said
    plant = case.system.plant("block", values={})
    decided = {event.name for event in plant.events if "decides" in event.does}
    assert decided
    assert not decided & {*plant.resets}
    directory = case.to_c(tmp_path / "block")
    for file in ("block.h", "block.c", "README.md"):
        text = " ".join((directory / file).read_text().split())
        assert "the rules by which daesolve changes them are not exported" in text


def block():
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(friction=(0.5, ""), pull=(0.0, "N"))
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=p.friction)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(
        q, p, kinetic=kinetic, potential=9.81 * q.y - p.pull * q.x, goals=[floor]
    )


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    ("speed", "pull", "rate"),
    [(1.0, 0.0, -4.905), (-1.0, 0.0, 4.905), (0.0, 3.0, 0.0), (0.0, 6.0, 6.0 - 4.905)],
)
def test_contacts_rub_from_the_start_as_in_a_run(tmp_path, speed, pull, rate):
    start = {"x": 0.0, "y": 0.0, "x_dot": speed, "y_dot": 0.0}
    path = block().to_python(tmp_path / "plant.py", start, values={"pull": pull})
    module = loaded(path)
    assert module.rhs(0.0, module.state())[2] == pytest.approx(rate, abs=1e-14)


def test_a_function_does_not_take_contacts_for_smooth(tmp_path):
    """Closed contacts that neither slide nor stick would have no friction, without a word."""
    start = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0}
    with pytest.raises(ds.errors.OutOfRangeError, match="slides_floor"):
        block().function("accelerations").at(start)
    given = block().function("accelerations").at(start, {"slides_floor": -1.0, "sticks_floor": 0.0})
    assert given["x_dot'"] == pytest.approx(4.905, abs=1e-14)
    decided = block().function("accelerations", around=start).at(start)
    assert decided["x_dot'"] == pytest.approx(-4.905, abs=1e-14)
    module = loaded(block().to_python(tmp_path / "plant.py"))
    with pytest.raises(ValueError, match="'slides_floor' is not given"):
        module.rhs(0.0, start)


@pytest.mark.slow_rows("slider-crank-clearance", "woodpecker")
@pytest.mark.parametrize("name", ["woodpecker", "slider-crank-clearance", "drawer"])
def test_a_case_is_exported_in_the_mode_in_which_it_begins(tmp_path, name):
    """The rates of the module are those of a step of the run."""
    case = ds.problem(name).case()
    module = loaded(case.to_python(tmp_path / "plant.py"))
    step = 1e-6
    run = case.solve(until=step, at=[0.0, step])
    moved = [np.diff(run[state])[0] / step for state in module.STATES]
    rates = module.rhs(0.0, module.state())
    # The second rates, times half a step, are below 1e-3 of the first here.
    assert rates == pytest.approx(moved, abs=1e-3 * np.max(np.abs(rates)))


def test_a_sampled_law_has_taken_its_first_sample(tmp_path):
    law = ds.sampled("brake", period=0.1, law=lambda seen: -3.0 * seen.x_dot)
    system, _ = driven(cart(), {"push": law})
    start = {"x": 0.0, "x_dot": 2.0}
    module = loaded(system.to_python(tmp_path / "plant.py", start, time=10.0))
    assert module.VALUES["brake_held"] == -6.0
    assert module.guards(10.05, module.state())[0] == pytest.approx(-0.05, abs=1e-14)


@pytest.mark.parametrize("off", [{"y": 1.0}, {"y_dot": 2.0}])
def test_a_start_that_violates_a_constraint_is_refused(tmp_path, off):
    start = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 0.0, **off}
    with pytest.raises(ds.errors.InconsistentStateError, match="'floor'"):
        block().to_python(tmp_path / "plant.py", start)


def test_beyond_a_table_that_refuses_nothing_is_a_number(tmp_path):
    q = ds.coordinates(x="m")
    spring = ds.table("spring", [-1.0, 0.0, 2.0], [-3.0, 0.0, 2.0], outside="refuse")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": -spring(q.x)})
    module = loaded(system.to_python(tmp_path / "plant.py"))
    assert module.rhs(0.0, [2.0, 0.0])[1] == -2.0
    assert np.isnan(module.rhs(0.0, [2.1, 0.0])[1])
    assert np.isnan(module.rhs(0.0, [np.nan, 0.0])[1])


def test_a_pole_has_the_value_of_c(tmp_path):
    """Where Python would raise: a zero denominator, a root of a negative number."""
    import casadi as ca

    q = ds.coordinates(x="m", y="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        outputs={"pole": (1 / q.x, ""), "root": (ca.sqrt(q.y), ""), "sum": (q.x + q.y, "")},
    )
    module = loaded(system.to_python(tmp_path / "plant.py"))
    found = module.outputs(0.0, [0.0, -1.0, 0.0, 0.0])
    assert found[0] == np.inf
    assert np.isnan(found[1])
    assert found[2] == -1.0


@pytest.mark.parametrize("path", ["plant", "my plant.py", "1.py"])
def test_a_path_that_no_module_can_have_is_refused(path):
    with pytest.raises(ds.errors.OutOfRangeError, match=r"plant\.py"):
        cart().to_python(path)


def test_states_and_values_that_there_are_not_are_refused(tmp_path):
    with pytest.raises(ds.errors.OutOfRangeError, match="'x_dot'"):
        cart().to_python(tmp_path / "plant.py", {"x": 0.0})
    with pytest.raises(ds.errors.UnknownNameError, match="pusch"):
        cart().to_c(tmp_path / "plant", values={"pusch": 1.0})
    module = loaded(cart().to_python(tmp_path / "plant.py"))
    with pytest.raises(ValueError, match="'push' is not given"):
        module.rhs(0.0, {})
    with pytest.raises(ValueError, match="no value 'pusch'"):
        module.rhs(0.0, {}, {"pusch": 1.0})
    with pytest.raises(ValueError, match="3 numbers"):
        module.rhs(0.0, [1.0, 2.0, 3.0], [1.0])
