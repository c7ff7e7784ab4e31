import numpy as np
import pytest
from scipy.integrate import solve_ivp

from daesolve.contact.friction.coming_to_rest import RestStatus, come_to_rest
from daesolve.contact.friction.scaled_time import SlidingMotion
from daesolve.errors import BranchLost, NoValidVariant, OutOfRangeError
from tests.reference import sliding_body
from tests.systems import EPSILON

NOTHING = np.empty(0)


def no_guards(_time, _state, _values):
    return NOTHING


def no_switch(_time, _state, _values, _guard):
    raise AssertionError("there is no guard")


def motion(rate, velocities=slice(2, 4), metric=None, guards=no_guards, switch=no_switch, **rest):
    count = velocities.stop - velocities.start
    metric = np.eye(count) if metric is None else metric
    return SlidingMotion(rate, guards, switch, velocities, metric, **rest)


def dragged(deceleration, push=0.0):
    """A point in the plane under Coulomb friction, pushed along its first axis."""

    def rate(_time, x, _values):
        return np.array([*x[2:], push, 0.0]) - deceleration * np.array(
            [0.0, 0.0, *(x[2:] / np.hypot(*x[2:]))]
        )

    return motion(rate)


def test_a_point_stops_where_and_when_coulomb_friction_says():
    start, drag = np.array([0.0, 0.0, 0.3, -0.4]), 1.7
    rest = come_to_rest(dragged(drag), 5.0, start, NOTHING)
    assert rest.status is RestStatus.AT_REST
    assert rest.settled
    assert abs(rest.time - 5.0 - 0.5 / drag) < 4 * EPSILON * rest.time
    np.testing.assert_allclose(rest.state[:2], 0.25 / drag * np.array([0.3, -0.4]), rtol=1e-12)
    np.testing.assert_array_equal(rest.state[2:], 0.0)
    np.testing.assert_allclose(rest.direction, (0.6, -0.8), rtol=1e-12)
    assert rest.deceleration == pytest.approx(drag, rel=1e-12)


def test_states_are_given_at_asked_times_up_to_the_stop_itself():
    start, drag = np.array([0.0, 0.0, 0.3, -0.4]), 1.7
    stop = 0.5 / drag
    times = np.array([0.0, 0.1 * stop, 0.77 * stop, (1.0 - 1e-9) * stop, 1.0])
    rest = come_to_rest(dragged(drag), 0.0, start, NOTHING, times=times)
    assert len(rest.samples) == 4
    left = 1.0 - times[:4, None] / stop
    np.testing.assert_allclose(rest.samples[:, 2:], left * start[2:], rtol=1e-12, atol=1e-14)
    travelled = (1.0 - left**2) * stop / 2.0 * start[2:]
    np.testing.assert_allclose(rest.samples[:, :2], travelled, rtol=1e-12, atol=1e-14)


def disc(metric):
    """A uniform disc of unit mass and radius that slides and turns on its face."""

    def rate(_time, x, _values):
        speed, spin = np.hypot(x[2], x[3]), x[4]
        force, moment = sliding_body.resistance(speed, spin, 1.0)
        return np.array([x[2], x[3], *(-force * x[2:4] / speed), -2.0 * moment * np.sign(spin)])

    return motion(rate, slice(2, 5), metric)


def test_a_disc_stops_sliding_and_turning_at_once_in_its_known_ratio():
    # Z. Farkas, G. Bartels, T. Unger, D. E. Wolf, Frictional coupling between sliding and spinning
    # motion, 2003: whatever its start, in the end its speed is 0.653 times that of its rim.
    for spin in (0.2, -5.0):
        start = np.array([0.0, 0.0, 0.6, 0.8, spin])
        rest = come_to_rest(disc(np.diag([1.0, 1.0, 0.5])), 0.0, start, NOTHING)
        assert rest.status is RestStatus.AT_REST
        ratio = np.hypot(*rest.direction[:2]) / abs(rest.direction[2])
        assert ratio == pytest.approx(0.653, abs=5e-4)
        np.testing.assert_array_equal(rest.state[2:], 0.0)


def test_the_metric_does_not_change_the_motion():
    start = np.array([0.0, 0.0, 0.6, 0.8, -5.0])
    one, other = (
        come_to_rest(disc(np.diag(metric)), 0.0, start, NOTHING)
        for metric in ([1.0, 1.0, 0.5], [2.0, 1.0, 30.0])
    )
    assert one.time == pytest.approx(other.time, rel=1e-12)
    np.testing.assert_allclose(one.state, other.state, rtol=1e-12)


def test_a_body_that_is_pushed_harder_than_friction_goes_on():
    rest = come_to_rest(dragged(1.0, push=1.5), 0.0, np.array([0.0, 0.0, -0.1, 0.2]), NOTHING)
    assert rest.status is RestStatus.SPEEDS_UP
    assert rest.deceleration < 0.0
    assert np.hypot(*rest.state[2:]) > np.hypot(0.1, 0.2)
    np.testing.assert_array_equal(rest.state, rest.limit)


def test_the_motion_ends_at_the_end_of_the_time():
    start = np.array([0.0, 0.0, 0.3, 0.4])
    rest = come_to_rest(dragged(1.0), 0.0, start, NOTHING, until=0.25, times=[0.1, 0.25])
    assert rest.status is RestStatus.REACHED
    assert rest.time == pytest.approx(0.25, rel=2 * EPSILON)
    np.testing.assert_allclose(rest.state[2:], start[2:] / 2, rtol=1e-13)
    np.testing.assert_array_equal(rest.samples[-1], rest.state)


@pytest.mark.slow
def test_a_direction_that_turns_for_ever_is_distinguished_from_one_with_a_limit():
    # v' = -v/|v| and as much across stops after |v|, while the direction turns by ln|v|.
    def rate(_time, x, _values):
        along = x[2:] / np.hypot(*x[2:])
        return np.array([*x[2:], -along[0] - along[1], along[0] - along[1]])

    rest = come_to_rest(motion(rate), 0.0, np.array([0.0, 0.0, 1.0, 0.0]), NOTHING)
    assert rest.status is RestStatus.AT_REST
    assert not rest.settled
    assert rest.time == pytest.approx(1.0, rel=1e-12)


def stepping(after):
    """Friction that halves at x = 0.1, by a guard; `after` makes the switch."""

    def rate(_time, x, values):
        return np.array([x[1], -values[0]])

    return motion(
        rate,
        slice(1, 2),
        guards=lambda _t, x, values: np.array([1.0, (0.1 - x[0]) * (values[0] - 1.0)]),
        switch=after,
    )


def test_a_switch_is_found_to_rounding():
    found = stepping(lambda _t, _x, _values, _guard: np.array([1.0]))
    rest = come_to_rest(found, 0.0, np.array([0.0, 1.0]), np.array([2.0]))
    at = (1.0 - np.sqrt(0.6)) / 2.0
    assert [switch.guard for switch in rest.switches] == [1]
    assert rest.switches[0].time == pytest.approx(at, rel=1e-13)
    assert rest.time == pytest.approx(at + np.sqrt(0.6), rel=1e-13)
    assert [piece.values.tolist() for piece in rest.pieces] == [[2.0], [1.0]]
    assert rest.pieces[0].steps.times[-1] == rest.switches[0].time
    times = np.concatenate([piece.steps.times for piece in rest.pieces])
    assert np.all(np.diff(times) > 0.0)


def test_where_no_switch_is_possible_the_motion_ends_with_the_reason():
    lost = NoValidVariant("no supports agree")

    def refuse(_time, _state, _values, _guard):
        raise lost

    rest = come_to_rest(stepping(refuse), 0.0, np.array([0.0, 1.0]), np.array([2.0]))
    assert rest.status is RestStatus.LOST
    assert rest.error is lost
    assert rest.state[0] == pytest.approx(0.1, rel=1e-12)
    assert rest.message == "no supports agree"


def test_a_switch_that_leads_back_at_once_is_a_lost_branch():
    found = stepping(lambda _t, _x, values, _guard: values)
    rest = come_to_rest(found, 0.0, np.array([0.0, 1.0]), np.array([2.0]))
    assert rest.status is RestStatus.LOST
    assert isinstance(rest.error, BranchLost)


def test_rounding_of_a_constraint_does_not_grow_into_the_direction():
    """1e-15 of the acceleration across the guide would be all of the direction at the stop."""

    def rate(_time, x, _values):
        return np.array([x[2], x[3], -1.0, 1e-15])

    def project(_time, x, _values):
        return x * [1.0, 1.0, 1.0, 0.0]

    start = np.array([0.0, 0.0, 1.0, 0.0])
    kept = come_to_rest(motion(rate, project=project), 0.0, start, NOTHING)
    assert abs(kept.direction[1]) < 1e-14
    assert kept.time == pytest.approx(1.0, rel=4 * EPSILON)


def test_a_singular_friction_is_reported_in_a_sentence():
    def rate(_time, x, _values):
        return np.array([*x[2:], -1.0, np.nan if np.hypot(*x[2:]) < 0.1 else 0.0])

    rest = come_to_rest(motion(rate), 0.0, np.array([0.0, 0.0, 1.0, 0.0]), NOTHING)
    assert rest.status is RestStatus.FAILED
    assert "give it a pad" in rest.message


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"state": np.zeros(4)}, "in which the body moves"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"until": -1.0}, "not after the start"),
        ({"times": [0.2, 0.1]}, "must increase"),
    ],
)
def test_what_cannot_be_is_refused(changed, words):
    given = {"time": 0.0, "state": np.array([0.0, 0.0, 1.0, 0.0]), "values": NOTHING, **changed}
    with pytest.raises(OutOfRangeError, match=words):
        come_to_rest(dragged(1.0), **given)


# -- the body on three pairs of pads ---------------------------------------------------------------


@pytest.fixture(scope="module")
def three_pads():
    """The motion, and how it ends."""

    def switch(_time, _state, signs, guard):
        switched = signs.copy()
        switched[guard] *= -1.0
        return switched

    metric = np.diag([sliding_body.MASS, sliding_body.MASS, sliding_body.INERTIA])
    body = motion(sliding_body.rate, slice(3, 6), metric, sliding_body.guards, switch)
    start = sliding_body.START
    times = np.linspace(0.0, 0.8, 9)
    return body, come_to_rest(body, 0.0, start, sliding_body.loaded(start), times=times)


@pytest.mark.slow
def test_three_pads_switch_four_times_and_stop_together(three_pads):
    _, rest = three_pads
    assert rest.status is RestStatus.AT_REST
    assert rest.settled
    assert [switch.guard + 1 for switch in rest.switches] == [1, 3, 3, 2]
    assert rest.time == pytest.approx(sliding_body.STOP, rel=sliding_body.PASSING)
    distances = sliding_body.pad_distances(rest.limit, rest.values)
    np.testing.assert_allclose(distances, (8.86, 14.08, 0.560), atol=6e-3)


def test_three_pads_lose_their_energy_to_friction_and_nothing_else(three_pads):
    _, rest = three_pads
    begun = sliding_body.kinetic(sliding_body.START)
    assert abs(begun + rest.state[6]) < 1e-13 * begun
    for state in rest.samples:
        assert abs(begun + state[6] - sliding_body.kinetic(state)) < 1e-13 * begun


def test_scaled_time_gives_the_motion_of_ordinary_time(three_pads):
    body, rest = three_pads
    first = rest.switches[0]

    def load(_time, state):
        return sliding_body.guards(0.0, state, signs)[0]

    load.terminal = True
    signs = sliding_body.loaded(sliding_body.START)
    ordinary = solve_ivp(
        lambda t, x: body.rate(t, x, signs),
        (0.0, 0.1),
        sliding_body.START,
        "DOP853",
        events=load,
        rtol=1e-13,
        atol=1e-14,
        max_step=1e-3,
    )
    assert first.time == pytest.approx(ordinary.t_events[0][0], rel=1e-12)
    np.testing.assert_allclose(first.state, ordinary.y_events[0][0], rtol=1e-11, atol=1e-12)
