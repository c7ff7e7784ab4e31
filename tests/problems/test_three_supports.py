"""The body on three pairs of pads: the library against the moment balance, and its stop."""

import json

import numpy as np
import pytest
from daesolve_problems.three_supports import problem
from daesolve_problems.three_supports.models import PAIRS, UP
from daesolve_problems.three_supports.pads import pad_motions
from daesolve_problems.three_supports.pictures import FIGURES, drawing
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import UnknownNameError
from daesolve.multibody.drawing import Arrow, Circle, from_json
from daesolve.reporting import document, with_drawing
from tests.reference import three_supports as truth

TIMES = (0.02, 0.15, 0.22, 0.4, 0.7, 0.82)
LATE = tuple(truth.STOP - 10.0**-k for k in range(3, 8))
SAME = 3e-12
"""The reference in doubles is as exact, and the library is held to it."""


@pytest.fixture(scope="module")
def reference():
    return problem.case("reference")


@pytest.fixture(scope="module")
def run(reference):
    return reference.solve(at=[0.0, *TIMES, *LATE, 1.0])


@pytest.fixture(scope="module")
def told(run, reference):
    return document(run, reference.identity())


def times_of(run, name="support_switch"):
    return [event.time for event in run.events if event.name == name]


def check_events(run, same):
    """Four switches of the pairs 1, 3, 3, 2, and the stop."""
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert [event.name for event in run.events] == ["support_switch"] * 4 + ["at_rest"]
    pairs = [PAIRS[event.fired[0]] for event in run.events[:4]]
    assert pairs == [pair for _, pair in truth.SWITCHES]
    assert times_of(run) == pytest.approx([time for time, _ in truth.SWITCHES], abs=same)
    assert run.end_time == pytest.approx(truth.STOP, abs=same)


@pytest.mark.slow
def test_the_body_switches_four_times_and_stops(run):
    check_events(run, 1e-14)
    assert "dry friction holds it" in run.message
    for name, value in truth.END.items():
        assert run.end_state[name] == pytest.approx(value, abs=1e-14), name


def test_what_friction_took_is_the_energy(run):
    assert run.drift["energy"].max_relative < 1e-14
    first = 2.0775
    assert run["energy"][0] == pytest.approx(first, rel=1e-15)
    assert np.diff(run["friction_work"]).max() <= 0.0
    assert run["energy"] - run["friction_work"] == pytest.approx(first, rel=1e-14)


@pytest.mark.long
def test_the_motion_is_that_of_the_moment_balance(run):
    found = truth.motion(truth.Body(), times=TIMES, scaled_from=0.75)
    for k, sample in enumerate(found.samples, start=1):
        states = [run[name][k] for name in (*truth.STATES, "friction_work")]
        assert states == pytest.approx(sample, abs=10 * SAME)
    assert run["normal_1"][0] == pytest.approx(truth.Body().at(truth.START, (1, 2, 2)).reactions[0])


def test_all_pads_stop_together(run, told):
    """Towards the stop each loaded pad slides at a rate times what is left of the time."""
    late = slice(1 + len(TIMES), 1 + len(TIMES) + len(LATE))
    left = truth.STOP - run.times[late]
    for (pair, side), pad in pad_motions(told).items():
        loaded = side == (1 if pair == 2 else 2)
        assert np.all(np.isnan(pad.speed[late])) != loaded
        if loaded:
            rates = pad.speed[late] / left
            assert rates[-1] > 0.1
            assert np.abs(np.diff(rates))[1:].max() < 1e-5 * rates[-1]
            assert pad.ratio[late][-1] == pytest.approx(truth.RATIOS[pair - 1], rel=1e-6)


def test_the_velocity_centre_ends_within_one_pad(run):
    """Also of the state at rest itself, whose velocities have a direction still."""
    state = [run.end_state[name] for name in truth.STATES]
    moment = truth.Body().at([*state, 0.0], (2, 1, 2))
    assert moment.ratios == pytest.approx(truth.RATIOS, rel=1e-12)
    assert [ratio < 1.0 for ratio in moment.ratios] == [False, False, True]


@settings(derandomize=True, max_examples=8, deadline=None)
@given(
    st.tuples(st.floats(-3, 3), st.floats(-2, 2), st.floats(-2, 2), st.floats(0.5, 20)),
    st.tuples(*[st.floats(-5, 5)] * 3, *[st.floats(-1, 1)] * 3),
    st.tuples(st.floats(-0.006, 0.006), st.floats(-0.006, 0.006)),
    st.sampled_from([1.0, -1.0]),
)
def test_every_variant_has_the_reactions_of_the_moment_balance(motion, loads, products, turning):
    phi, x_dot, y_dot, spin = motion
    names = [f"{kind}_{axis}" for kind in ("force", "moment") for axis in "xyz"]
    changed = dict(zip(names, loads, strict=True))
    changed |= dict(zip(("inertia_xz", "inertia_yz"), products, strict=True))
    state = (0.1, -0.2, phi, x_dot, y_dot, turning * spin)
    compare(changed, state, truth.Body({**truth.PARAMETERS, **changed}))


def compare(changed, state, body, **structure):
    case = problem.case("reference", **changed, **structure)
    found = ds.friction.variant_problem(case.system, case.values)
    answers = found.report(dict(zip(truth.STATES, state, strict=True)))["answers"]
    assert len(answers) == 8
    for answer in answers:
        moment = body.at(state, tuple(answer["variant"]))
        size = 1e-10 * max(1.0, *map(abs, moment.reactions))
        assert list(answer["reactions"].values()) == pytest.approx(moment.reactions, abs=size)
        accelerations = [answer["acceleration"][f"{name}_dot"] for name in ("x", "y", "phi")]
        assert accelerations == pytest.approx(moment.accelerations, abs=100 * size)


@pytest.mark.slow_rows("2", "1")
@pytest.mark.parametrize("exponent", [-0.5, 1, "2"])
def test_pressures_shape_the_friction(exponent):
    """Of a pad that presses unevenly, as `reduced_friction` integrates it."""

    def uneven(x):
        return tuple(float(part) for part in ds.friction.reduced_friction(x, float(exponent)))

    arithmetic = truth.DOUBLE._replace(reduced_friction=uneven)
    body = truth.Body(arithmetic=arithmetic)
    compare({}, truth.START, body, pressure_exponent=exponent)


def test_a_pressure_that_there_is_not_is_refused():
    with pytest.raises(UnknownNameError, match="pressure_exponent"):
        problem.case("reference", pressure_exponent="flat")


@pytest.mark.slow
def test_a_body_at_its_limit_load_hangs_in_the_balance(reference):
    """In the direction in which it begins to slide, friction is as large as the load."""
    place = {"x": 0.0, "y": 0.0, "phi": 0.3}
    limit = ds.friction.stiction_limit(reference.system, place, "moment_z", (0.0, 2.0))
    body = truth.Body({**truth.PARAMETERS, "moment_z": limit.slides_from})
    assert limit.value > limit.slides_from  # its loaded pads lie at two heights
    velocity = [limit.direction[f"{name}_dot"] for name in ("x", "y", "phi")]
    state = [0.0, 0.0, 0.3, *(1e-9 * part for part in velocity)]
    assert body.variants(state) == [limit.variant]
    assert body.at(state, limit.variant).accelerations == pytest.approx((0.0, 0.0, 0.0), abs=1e-8)


def test_figures_and_drawing_show_a_run(told):
    for rule in FIGURES.values():
        assert rule(told).axes
    shown = from_json(with_drawing(told, drawing)["drawing"])
    loaded = [
        shape for shape in shown.shapes if isinstance(shape, Circle) and shape.shown is not None
    ]
    assert len(loaded) == 2 * len(PAIRS)
    assert sum(isinstance(shape, Arrow) for shape in shown.shapes) == 2 * len(PAIRS)


def test_friction_opposes_the_slip_of_a_pad(told):
    for (pair, side), pad in pad_motions(told).items():
        reaction = UP[side] * np.array(told["outputs"][f"normal_{pair}"])
        rubbing = reaction > 0.0
        power = np.sum(pad.friction * pad.slip, axis=0)[rubbing]
        assert np.all(power < 0.0)
        most = {1: 0.25, 2: 0.3}[side] * reaction[rubbing]
        assert np.all(np.hypot(*pad.friction)[rubbing] <= most * (1.0 + 1e-12))


@pytest.mark.long_rows("formulation1-solver1")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "solver"),
    [
        (ds.Feedback(), ds.Dop853(rtol=1e-12, atol=1e-14)),
        (ds.Index1(), ds.solvers.SundaeIda(rtol=1e-11, atol=1e-13)),
    ],
)
def test_other_formulations_find_the_same_events(reference, formulation, solver):
    run = reference.solve(formulation=formulation, solver=solver, at=[0.5])
    check_events(run, 1e-9)
    assert run.drift["energy"].max_relative < 1e-11


@pytest.mark.slow
def test_a_tall_body_with_rough_pads_above_jams_while_it_slides():
    run = problem.case("tall-jam").solve(at=[0.5])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "jam"
    assert run.end_time == pytest.approx(0.8791379511, abs=1e-10)
    assert np.hypot(run.end_state["x_dot"], run.end_state["y_dot"]) > 0.1
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.long_rows("-0.5")
@pytest.mark.slow
@pytest.mark.parametrize("exponent", [-0.5, 2.0])
def test_bodies_with_other_pads_come_to_rest_too(exponent):
    run = problem.case("reference", pressure_exponent=exponent).solve(at=[0.5])
    assert run.events[-1].name == "at_rest"
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.long
def test_loads_are_reported_up_to_which_the_body_rests():
    answer = json.loads(asked("stiction").stdout)
    assert answer["at_rest"]
    limits = answer["limits"]
    assert limits["moment_z"]["down"]["value"] < 0.0 < limits["moment_z"]["up"]["value"]
    beyond = 1.001 * limits["force_x"]["up"]["value"]
    sliding = json.loads(asked("stiction", "--set", f"force_x={beyond}").stdout)
    assert not sliding["at_rest"]
    assert "limits" not in sliding


def asked(*arguments):
    return CliRunner().invoke(app, ["analyse", "three-supports", *arguments, "--json"])
