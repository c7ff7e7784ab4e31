"""Eigenvalues over a parameter: followed, and critical where closed forms have them critical."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.analysis.root_locus import root_locus
from daesolve.errors import NotStationaryError, OutOfRangeError, PosingError, UnknownNameError


def oscillators():
    """x'' = -x - damping x' + push y, y'' = -(1 + tune) y - damping y' - push x."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(tune=3.0, damping=0.0, push=0.0)
    force = {
        "x": -p.damping * q.dot.x + p.push * q.y,
        "y": -p.damping * q.dot.y - p.push * q.x,
    }
    kinetic = ca.sumsqr(q.dot.vector) / 2
    potential = (q.x**2 + (1 + p.tune) * q.y**2) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, force=force)


def hoop():
    """A bead on a turning hoop, its angle measured from below."""
    q = ds.coordinates(angle=ds.ANGLE)
    p = ds.parameters(turning=5.0, gravity=9.81)
    kinetic = (q.dot.angle**2 + (p.turning * ca.sin(q.angle)) ** 2) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=-p.gravity * ca.cos(q.angle))


@pytest.mark.slow
def test_the_bicycle_is_stable_between_its_published_weave_and_capsize_speeds():
    bicycle = ds.problem("bicycle").case().system
    locus = root_locus(bicycle, {"speed": [3.0, 4.0, 5.0, 5.5, 7.0]}, {"lean": 0.0, "steer": 0.0})
    weave, capsize = locus.critical
    assert weave.value == pytest.approx(4.292382536341, abs=1e-11)
    assert capsize.value == pytest.approx(6.024262015388, abs=1e-11)
    assert not weave.lost
    assert capsize.lost
    assert weave.frequency == pytest.approx(3.435033848661, abs=1e-10)
    assert capsize.frequency == 0.0
    assert "stability is gained at speed = 4.292382536, swinging at 3.43503 rad/s" in str(locus)


def test_eigenvalues_keep_their_column_where_they_cross():
    tuning = np.linspace(-0.9, 1.0, 16)  # the second frequency passes that of the first
    locus = root_locus(oscillators(), {"tune": tuning})
    frequencies = np.sort(np.imag(locus.eigenvalues[0]))
    order = np.argsort(np.imag(locus.eigenvalues[0]))
    columns = np.imag(locus.eigenvalues[:, order])
    assert frequencies == pytest.approx([-1, -(0.1**0.5), 0.1**0.5, 1])
    assert columns[:, 3] == pytest.approx(np.ones(16), abs=1e-12)
    assert columns[:, 2] == pytest.approx(np.sqrt(1 + tuning), abs=1e-12)
    assert locus.critical == ()
    assert "no critical value: small motions do not grow" in str(locus)


@pytest.mark.slow
@settings(derandomize=True, max_examples=6, deadline=None)
@given(
    damping=st.floats(0.05, 0.5),
    tune=st.floats(0.5, 4.0),
    below=st.floats(0.1, 0.9),
    falling=st.booleans(),
)
def test_stability_is_lost_where_routh_and_hurwitz_say(damping, tune, below, falling):
    """With a, b = 1, 1 + tune: 4 damping^2 (a + b)/2 + (a - b)^2 = 4 push^2."""
    expected = np.sqrt(damping**2 * (2 + tune) / 2 + tune**2 / 4)
    values = [below * expected, 1.7 * expected][:: -1 if falling else 1]
    numbers = {"damping": damping, "tune": tune}
    (critical,) = root_locus(oscillators(), {"push": values}, parameters=numbers).critical
    assert critical.value == pytest.approx(expected, rel=1e-11)
    assert critical.frequency == pytest.approx(np.sqrt(1 + tune / 2), rel=1e-11)
    assert critical.lost


@pytest.mark.slow
def test_flutter_without_damping_begins_where_frequencies_meet():
    (critical,) = root_locus(oscillators(), {"push": [0.5, 1.0, 2.0, 3.0]}).critical
    # Eigenvalues that meet are known to the square root of rounding.
    assert critical.value == pytest.approx(1.5, rel=1e-8)
    assert critical.lost


def test_the_state_may_follow_from_the_value():
    def raised(turning):
        return {"angle": float(np.arccos(9.81 / turning**2))}

    locus = root_locus(hoop(), {"turning": [4.0, 5.0, 7.0]}, state_rule=raised)
    swinging = [turning * np.sin(raised(turning)["angle"]) for turning in (4.0, 5.0, 7.0)]
    assert np.max(np.imag(locus.eigenvalues), axis=1) == pytest.approx(swinging, rel=1e-12)


@pytest.mark.slow
def test_hanging_straight_down_is_lost_where_the_hoop_turns_too_fast():
    (critical,) = root_locus(hoop(), {"turning": [2.0, 4.0]}).critical
    assert critical.value == pytest.approx(9.81**0.5, rel=1e-8)
    assert critical.frequency == pytest.approx(0.0, abs=1e-5)


def test_a_state_that_is_not_stationary_is_refused_with_the_value():
    with pytest.raises(NotStationaryError, match=r"^at turning = 4: "):
        root_locus(hoop(), {"turning": [4.0, 5.0]}, {"angle": 0.5})


@pytest.mark.parametrize(
    ("over", "error", "said"),
    [
        ({}, PosingError, "one parameter or state"),
        ({"tune": [1.0, 2.0], "push": [1.0, 2.0]}, PosingError, "one parameter or state"),
        ({"tun": [1.0, 2.0]}, UnknownNameError, "did you mean 'tune'"),
        ({"tune": [1.0]}, OutOfRangeError, "at least two finite numbers"),
        ({"tune": 1.0}, OutOfRangeError, "at least two finite numbers"),
        ({"tune": [1.0, np.nan]}, OutOfRangeError, "at least two finite numbers"),
        ({"tune": [1.0, 3.0, 2.0]}, OutOfRangeError, "rise or always fall"),
        ({"tune": ["a", "b"]}, OutOfRangeError, "must be numbers"),
    ],
)
def test_what_cannot_be_varied_is_refused(over, error, said):
    with pytest.raises(error, match=said):
        root_locus(oscillators(), over)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"state": [1.0]}, OutOfRangeError, "state must be a mapping"),
        ({"parameters": "tune"}, OutOfRangeError, "parameters must be a mapping"),
        ({"state_rule": {"x": 0.0}}, PosingError, "state_rule must be a function of 'tune'"),
        ({"state_rule": lambda tune: tune}, OutOfRangeError, "what state_rule returns must be"),
    ],
)
def test_states_and_rules_that_are_none_are_refused(given, error, said):
    with pytest.raises(error, match=said):
        root_locus(oscillators(), {"tune": [1.0, 2.0]}, **given)


def test_what_is_no_system_is_refused():
    with pytest.raises(PosingError, match="not Problem; a problem's case"):
        root_locus(ds.problem("wheelset"), {"speed": [1.0, 2.0]})


def test_a_system_in_which_nothing_can_be_critical_is_refused():
    q, p = ds.coordinates(x="m"), ds.parameters(mass=1.0)
    force = {"x": -0.0 * q.x}
    free = ds.MechanicalSystem(q, p, kinetic=p.mass * q.dot.x**2 / 2, force=force)
    with pytest.raises(PosingError, match="no eigenvalue differs from zero for any mass"):
        root_locus(free, {"mass": [1.0, 2.0]}, coordinates=("x",))
