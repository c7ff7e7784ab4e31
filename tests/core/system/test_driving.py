"""Inputs: numbers, expressions, tables and sampled laws in place of their symbols."""

import casadi as ca
import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError, ResetError, UnknownNameError
from daesolve.multibody import GROUND, Mechanism, Motor, PlanarBody, Revolute

A, B = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([[0.0], [1.0]])
PERIOD, COUNT = 0.01, 1000


def cart():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N", drag=(0.0, "N"))
    force = {"x": u.push + u.drag}
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2, force=force, inputs=u), q


def plant(law=None, **options):
    """A linear plant x'' = -2 x - 0.3 x' + push, and its sampled law."""
    x, u = ds.states(pos="m", vel="m/s"), ds.inputs(push="N")
    p = ds.parameters(gain=2.0, integral_gain=0.5)
    rate = {"pos": x.vel, "vel": -2 * x.pos - 0.3 * x.vel + u.push}
    system = ds.ControlSystem(x, rate, p, inputs=u)
    law = ds.sampled("loop", PERIOD, law or integral, states={"sum": 0.0}, **options)
    return system, law


def integral(seen):
    value = -seen.gain * seen.pos - 0.5 * seen["vel"] - seen.integral_gain * seen.sum
    return value, {"sum": seen.sum + PERIOD * seen.pos}


def exact(delay=0.0, limits=(-np.inf, np.inf), before=0.0):
    """The state after all samples, by exact discretisation (matrix exponentials)."""

    def step(span):
        whole = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, 3))]]) * span)
        return whole[:2, :2], whole[:2, 2]

    late, rest = divmod(round(delay / PERIOD, 9), 1.0)
    queue = [before] * (int(late) + 1)
    (first, pushed), (last, pushed_last) = step(rest * PERIOD), step((1 - rest) * PERIOD)
    x, total = np.array([1.0, 0.0]), 0.0
    for _ in range(COUNT):
        value = np.clip(-2.0 * x[0] - 0.5 * x[1] - 0.5 * total, *limits)
        total += PERIOD * x[0]
        queue = [*queue, value]
        x = first @ x + pushed * queue[0]
        x = last @ x + pushed_last * queue[1]
        queue = queue[1:]
    return x


@pytest.mark.parametrize("given", [3 * ds.time, "3 * t", "t + 2*t"])
def test_an_input_is_an_expression_of_time_in_symbols_or_in_words(given):
    system, _ = cart()
    run = ds.solve(system, 2.0, inputs={"push": given})
    assert abs(run.end_state["x"] - 2.0) < 1e-14  # 3 t^3 / 6 / 2 kg
    assert np.array_equal(run["push"], 3 * run.times)
    assert run.units["push"] == "N"


def test_a_number_is_a_value_of_the_same_equations_and_a_column_of_the_result():
    system, _ = cart()
    first = ds.solve(system, 1.0, inputs={"push": 4.0})
    assert abs(first.end_state["x_dot"] - 2.0) < 1e-14
    assert set(first["push"]) == {4.0}
    assert set(first["drag"]) == {0.0}
    other = ds.solve(system, 1.0, inputs={"push": 8.0, "drag": -4.0})
    assert abs(other.end_state["x_dot"] - 2.0) < 1e-14
    assert other.description["parameters"]["push"] == 8.0


def test_inputs_may_depend_on_states_and_on_each_other():
    system, q = cart()
    run = ds.solve(system, 1.0, {"x": 1.0}, inputs={"push": -8 * q.x, "drag": "-push / 2 - 0"})
    assert abs(run.end_state["x"] - np.cos(np.sqrt(2.0))) < 1e-14
    with pytest.raises(PosingError, match="are defined in terms of each other"):
        ds.solve(system, 1.0, inputs={"push": "drag", "drag": "push"})


REFUSED = {
    "missing": ({}, OutOfRangeError, "the input 'push' is not given"),
    "unknown": ({"pusch": 1.0}, UnknownNameError, "did you mean 'push'"),
    "words": ({"push": "2 *"}, PosingError, "which is not an expression"),
    "a name": ({"push": "2 * z"}, UnknownNameError, "unknown name in the input 'push' 'z'"),
    "code": ({"push": "__import__('os')"}, UnknownNameError, "unknown function"),
    "attributes": ({"push": "t.real"}, PosingError, "but may contain only numbers, names"),
    "a power": ({"push": "2 * t^2"}, PosingError, r"; write a power as x\*\*2"),
    "no number": ({"push": np.nan}, OutOfRangeError, "must be a finite number"),
    "a list": ({"push": [1.0]}, OutOfRangeError, "must be a finite number, an expression"),
    "a column": ({"push": ca.SX.zeros(2)}, PosingError, "scalar expression"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_no_input_can_be_is_refused_in_a_sentence(fault):
    given, kind, words = REFUSED[fault]
    system, _ = cart()
    with pytest.raises(kind, match=words):
        ds.solve(system, 1.0, inputs=given)


def test_inputs_are_declared_by_units_and_defaults():
    with pytest.raises(PosingError, match=r"must be a unit, or \(default, unit\)"):
        ds.inputs(push=3.0)
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="inputs are declared by inputs"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2, inputs=ds.parameters(push=1.0))
    with pytest.raises(PosingError, match="used twice: as input"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2, inputs=ds.inputs(x="m"))


def test_a_constraint_follows_an_input_of_time_with_its_rates():
    """A pendulum whose pivot is driven: its constraint has the pivot's speed and acceleration."""
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(pivot="m")
    ends = []
    for pivot, further in ((u.pivot, {"inputs": u}), (0.3 * ca.sin(2 * ds.time), {})):
        rod = ds.Holonomic("rod", (q.x - pivot) ** 2 + q.y**2 - 1)
        kinetic = (q.dot.x**2 + q.dot.y**2) / 2
        system = ds.MechanicalSystem(q, kinetic=kinetic, potential=9 * q.y, goals=[rod], **further)
        given = {"inputs": {"pivot": "0.3 * sin(2 * t)"}} if further else {}
        ends.append(ds.solve(system, 3.0, {"x": 0.6}, guess={"y": -0.8}, **given).end_state)
    assert abs(ends[0]["x"] - ends[1]["x"]) < 1e-12


def test_a_motor_of_a_mechanism_takes_an_input():
    u, p = ds.inputs(torque="N m"), ds.parameters(length=(1.0, "m"))
    rod = PlanarBody("rod", 1.0, 1 / 12, position=(p.length / 2, 0))
    pin = Revolute("pin", GROUND.frame((0, 0)), rod.frame((-p.length / 2, 0)))
    soft = ds.table("soft", [-3.0, 0.0, 3.0], [6.0, 0.0, -6.0])
    parts = [pin, Motor("motor", pin, torque=u.torque), Motor("spring", pin, soft(pin.angle))]
    mechanism = Mechanism([rod], parts, p)
    run = ds.solve(mechanism.system(inputs=u), 2.0, inputs={"torque": "0.5 + 0 * t"})
    swing = 0.25 * (1 - np.cos(np.sqrt(6.0) * run.times))  # inertia 1/3, stiffness 2
    assert np.max(np.abs(run["rod_angle"] - swing)) < 1e-12
    assert np.array_equal(run["motor_torque"], run["torque"])


@pytest.mark.long_rows("0.0-dop853", "0.003-dop853", "0.01-dop853", "0.025-dop853")
@pytest.mark.slow_rows("0.003-taylor", "0.025-taylor", "0.01-taylor")
@pytest.mark.parametrize("solver", ["taylor", "dop853"])
@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.025])
def test_a_sampled_law_is_an_exact_discretisation_after_a_thousand_samples(delay, solver):
    system, law = plant(delay=delay)
    end = COUNT * PERIOD
    run = ds.solve(system, end, {"pos": 1.0}, inputs={"push": law}, at=[end], solver=solver)
    assert np.max(np.abs([run.end_state[n] for n in ("pos", "vel")] - exact(delay))) < 1e-13
    assert run.events == ()


def test_limits_bound_what_a_law_gives():
    system, law = plant(limits=(-1.1, 0.4))
    end = COUNT * PERIOD
    run = ds.solve(system, end, {"pos": 1.0}, inputs={"push": law})
    found = [run.end_state[name] for name in ("pos", "vel")]
    assert np.max(np.abs(found - exact(limits=(-1.1, 0.4)))) < 1e-13
    assert (run["push"].min(), run["push"].max()) == (-1.1, 0.4)


def test_what_acts_before_a_delay_is_over_is_what_was_said():
    system, law = plant(delay=0.02, before=-1.5)
    end = COUNT * PERIOD
    run = ds.solve(system, end, {"pos": 1.0}, inputs={"push": law})
    found = [run.end_state[name] for name in ("pos", "vel")]
    assert np.max(np.abs(found - exact(0.02, before=-1.5))) < 1e-13
    assert run["push"][0] == -1.5


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_a_law_that_branches_in_python_is_called_with_numbers(delay):
    seen = []

    def branching(values):
        seen.append(values.t)
        value, following = integral(values)
        return (value if value < 10.0 else 10.0), following

    system, law = plant(branching, delay=delay, traced=False)
    end = COUNT * PERIOD
    run = ds.solve(system, end, {"pos": 1.0}, inputs={"push": law})
    found = [run.end_state[name] for name in ("pos", "vel")]
    assert np.max(np.abs(found - exact(delay))) < 1e-13
    # A short run before it calls it as well, at the same times but for rounding.
    moments = sorted({round(moment, 9) for moment in seen})
    assert np.allclose(moments, PERIOD * np.arange(len(moments)))


def test_a_law_in_python_that_gives_no_number_is_named():
    system, law = plant(lambda seen: (np.nan, {"sum": 0.0}), traced=False)
    with pytest.raises(ResetError, match="the sampled law 'loop' returned nan"):
        ds.solve(system, 1.0, inputs={"push": law})


def test_a_law_in_python_that_fails_later_ends_the_run_with_what_it_raised():
    def law(seen):
        return 1.0 / (0.0 if seen.t > 0.495 else 1.0), {"sum": 0.0}

    system, sampled = plant(law, traced=False)
    run = ds.solve(system, 1.0, inputs={"push": sampled})
    assert run.outcome is ds.Outcome.FAILED
    assert "the sampled law 'loop' raised ZeroDivisionError" in run.message
    assert abs(run.end_time - 0.5) < 1e-12
    system, sampled = plant(law)
    with pytest.raises(PosingError, match="cannot be traced: its function raised"):
        ds.solve(system, 1.0, inputs={"push": sampled})


def test_limits_do_not_hide_what_is_no_number():
    def law(seen):
        return ca.sqrt(0.495 - seen.t), {"sum": 0.0}

    system, sampled = plant(law, limits=(-1, 1))
    run = ds.solve(system, 1.0, inputs={"push": sampled})
    assert run.outcome is ds.Outcome.FAILED
    assert "the reset of 'loop_tick' at t = 0.5 s does not lead to a finite state" in run.message


def test_an_input_is_said_once():
    system, _ = cart()
    for given in (2.0, "t", ds.table("pull", [0, 1], [0, 1])):
        with pytest.raises(
            OutOfRangeError, match=r"'push' is given twice, as the parameter value 1\.0 and in"
        ):
            ds.solve(system, 1.0, parameters={"push": 1.0}, inputs={"push": given})
    assert ds.solve(system, 1.0, parameters={"push": 4.0}).end_state["x_dot"] == 2.0


def test_a_consistent_state_has_the_reactions_of_its_inputs():
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    wall = ds.Holonomic("wall", q.x)
    system = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, goals=[wall], force={"x": u.push}, inputs=u
    )
    for push in (3.0, "2 + t", ds.table("pull", [0.0, 2.0], [2.0, 4.0])):
        found = ds.consistent_state(system, inputs={"push": push}, time=1.0)
        assert abs(found.reactions["wall"] + 3.0) < 1e-14
    with pytest.raises(OutOfRangeError, match="the input 'push' is not given"):
        ds.consistent_state(system)


LAWS = {
    "a period": (("loop", 0.0, 1.0), OutOfRangeError, "the period of the sampled law 'loop'"),
    "a delay": (("loop", 1.0, 1.0, -1.0), OutOfRangeError, "must be >= 0 s"),
    "a name": (("my loop", 1.0, 1.0), PosingError, "must be a word"),
    "limits": (
        ("loop", 1.0, 1.0, 0.0, {}, (2, 1)),
        OutOfRangeError,
        "the first must be the lower one",
    ),
    "a state": (("loop", 1.0, 1.0, 0.0, {"held": 0.0}), PosingError, "that name is reserved"),
}


@pytest.mark.parametrize("fault", LAWS)
def test_what_is_no_law_is_refused_in_a_sentence(fault):
    arguments, kind, words = LAWS[fault]
    with pytest.raises(kind, match=words):
        ds.sampled(*arguments)


def test_a_law_that_gives_something_else_is_refused():
    for law, words in (
        (lambda seen: seen.pos, "must return"),
        (lambda seen: (seen.poss, {"sum": 0.0}), "did you mean 'pos'"),
        (lambda seen: (seen.pos, {"total": 0.0}), "all its next states"),
    ):
        system, sampled = plant(law)
        with pytest.raises((PosingError, UnknownNameError), match=words):
            ds.solve(system, 1.0, inputs={"push": sampled})


@pytest.mark.long
def test_the_rooms_of_a_run_hold_few_values_however_many_samples_there_are():
    """Checkpoints take the place of boundaries; any time of the run is computed from them."""
    system, law = plant()
    run = ds.solve(system, 300.0, {"pos": 1.0}, inputs={"push": law}, at=[300.0])
    held = run._evaluate.__self__.state.record  # thirty thousand samples
    assert len(held.modes) < 12_000
    assert len(held.boundaries) < 12_000
    for moment in (0.5, 123.456, 299.0):
        shorter = ds.solve(system, moment, {"pos": 1.0}, inputs={"push": law}, at=[])
        assert run.at(moment)["pos"] == shorter.end_state["pos"]


@pytest.mark.slow
def test_derivatives_go_through_samples_and_nodes():
    system, law = plant()
    options = {"until": 1.0, "initial": {"pos": 1.0, "vel": 0.0}, "inputs": {"push": law}}
    found = ds.analysis.sensitivity(system, by=["gain", "pos"], **options)

    def end(gain, position):
        run = ds.solve(system, 1.0, {"pos": position, "vel": 0.0}, inputs={"push": law},
                       parameters={"gain": gain})  # fmt: skip
        return np.array([run.end_state["pos"], run.end_state["vel"]])

    # Central differences of a motion of order one: h^2 beside rounding / h, 1e-10 at h = 1e-5.
    h = 1e-5
    by_gain = (end(2 + h, 1) - end(2 - h, 1)) / (2 * h)
    by_position = (end(2, 1 + h) - end(2, 1 - h)) / (2 * h)
    assert np.max(np.abs(found.matrix - np.array([by_gain, by_position]).T)) < 1e-9
    constant = ds.analysis.sensitivity(
        system, by=["push"], until=1.0, initial={"pos": 1.0}, inputs={"push": 2.0}
    )
    whole = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, 3))]]))
    assert np.max(np.abs(constant.matrix[:, 0] - whole[:2, 2])) < 1e-12


def test_small_motions_answer_to_inputs_as_runs_do():
    """A pendulum on a cart: B and D by hand, C by the geometry."""
    q, u = ds.coordinates(x="m", y="m", z="m"), ds.inputs(push="N", wind="N")
    rod = ds.Holonomic("rod", (q.x - q.z) ** 2 + q.y**2 - 1)
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + q.dot.z**2,
        potential=9 * q.y,
        goals=[rod],
        force={"z": u.push, "x": u.wind, "y": -u.push},
        inputs=u,
        outputs={"tension": -2 * rod.reaction, "sway": q.x - q.z},
    )
    small = ds.analysis.linearize(
        system, {"x": 0.0, "y": -1.0, "z": 0.0}, inputs={"push": 0.0, "wind": 0.0},
        coordinates=("x", "z"),
    )  # fmt: skip
    assert small.names == ("x", "z", "x_dot", "z_dot")
    assert small.inputs == ("push", "wind")
    expected = [[0, 0], [0, 0], [0, 1], [0.5, 0]]
    assert np.max(np.abs(small.input_matrix - expected)) < 1e-14
    tension, sway = small.outputs.index("tension"), small.outputs.index("sway")
    assert np.max(np.abs(small.output_matrix[sway] - [1, -1, 0, 0])) < 1e-14
    # The rod carries the weight and what pushes down.
    assert np.max(np.abs(small.feedthrough[tension] - [1, 0])) < 1e-13
    with pytest.raises(OutOfRangeError, match="the input 'push' is not given"):
        ds.analysis.linearize(system, {"x": 0.0, "y": -1.0, "z": 0.0})
