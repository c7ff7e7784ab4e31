"""Where impacts accumulate: balls and blocks that rock, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from daesolve.contact.decisions import accumulation
from daesolve.errors import OutOfRangeError, PosingError
from tests.contact.decisions.bodies import GRAVITY
from tests.contact.decisions.cases import agrees, case


def bounces(height, restitution, count):
    """Return the times of bounces of a ball that is dropped, and the speeds after them."""
    fall = math.sqrt(2.0 * height / GRAVITY)
    powers = restitution ** np.arange(1, count + 1)
    waits = np.concatenate([[fall], 2.0 * fall * powers[:-1]])
    return np.cumsum(waits), GRAVITY * fall * powers


def rocking(b, h, angle, count):
    """Return the times at which a rocking block lands, and its rates after that.

    Half a swing from theta with s: theta = top (1 - s^2) takes away the singular end.
    """
    slope, reach = math.atan2(b, h), math.hypot(b, h)
    pull = GRAVITY * reach / (4.0 * reach**2 / 3.0)
    ratio = 1.0 - 1.5 * math.sin(slope) ** 2

    def swing(top):
        def slowness(s):
            # cos(slope - top) - cos(slope - theta), divided by s^2, without cancelling.
            half, middle = top * s**2 / 2.0, slope - top + top * s**2 / 2.0
            drop = 2.0 * math.sin(half) * math.sin(middle) / s**2 if s else top * math.sin(middle)
            return 2.0 * top / math.sqrt(2.0 * pull * drop)

        return quad(slowness, 0.0, 1.0, epsabs=0.0, epsrel=1e-13)[0]

    time, times, rates = swing(angle), [], []
    rate = math.sqrt(2.0 * pull * (math.cos(slope - angle) - math.cos(slope)))
    for _ in range(count):
        times.append(time)
        rate *= ratio
        rates.append(rate)
        angle = slope - math.acos(min(1.0, math.cos(slope) + rate**2 / (2.0 * pull)))
        time += 2.0 * swing(angle)
    return np.array(times), np.array(rates)


def first_accepted(times, tolerance, speeds=None):
    """Return what is accepted first, as impacts come one after the other."""
    for count in range(1, len(times) + 1):
        found = accumulation(times[:count], tolerance, None if speeds is None else speeds[:count])
        if found is not None:
            return found
    return None


def test_a_ball_comes_to_rest_at_the_time_of_zeno():
    known = case("bouncing_ball_rest")
    p, values = known["params"], known["values"]
    times, speeds = bounces(p["H"], p["e"], 15)
    assert agrees(times[-1], values["t_15"])
    found = first_accepted(times, 1e-12, speeds)
    assert found is not None
    assert found.impacts == 5
    assert agrees(found.time, values["t_rest"])
    assert found.ratio == pytest.approx(p["e"], abs=1e-12)
    closed = math.sqrt(2 * p["H"] / GRAVITY) * (1 + p["e"]) / (1 - p["e"])
    assert abs(found.time - closed) <= found.uncertainty < 1e-13
    # Without the limit bounces end early by the series of those that are cut off.
    cut = 2.0 * speeds[-1] / (GRAVITY * (1.0 - p["e"]))
    assert cut == pytest.approx(values["t_rest"]["value"] - values["t_15"]["value"], abs=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-7, 1e-9])
def test_a_rocking_block_rests_when_successive_limits_agree(tolerance):
    """Its ratios change on the way: that they look steady says little of how good a limit is."""
    known = case("housner_rest")
    p, values = known["params"], known["values"]
    times, rates = rocking(p["b"], p["h"], p["theta0"], 75)
    assert agrees(times[0], values["t_first_impact"], 12)
    assert agrees(times[9], values["t_impact_10"], 12)
    assert agrees(times[59], values["t_last_impact_program_1"])
    assert agrees(rates[0] / values["ratio_rate"]["value"], values["rate_first_impact"], 12)
    for speeds in (None, rates):
        found = first_accepted(times, tolerance, speeds)
        assert found is not None
        rest = values["t_rest"]["value"]
        # The reference is rounded to 1e-8 s.
        assert abs(found.time - rest) <= found.uncertainty + 5e-9
        assert found.uncertainty <= tolerance


def test_the_rest_of_a_rocking_block_is_that_of_the_reference():
    known = case("housner_rest")
    p, values = known["params"], known["values"]
    times, rates = rocking(p["b"], p["h"], p["theta0"], 90)
    found = first_accepted(times, 1e-10, rates)
    assert found is not None
    assert agrees(found.time, values["t_rest"])
    # The exact tail: what is left is a geometric series of half swings at small angles.
    slope, reach = math.atan2(p["b"], p["h"]), math.hypot(p["b"], p["h"])
    pull, ratio = 0.75 * GRAVITY / reach, values["ratio_rate"]["value"]
    exact = times[-1] + 2.0 * rates[-1] / (pull * math.sin(slope) * (1.0 - ratio))
    assert found.time == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("ratios", [(0.8, 0.5), (0.9, 0.3), (0.99, 0.9), (0.6, 0.59)])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-8])
def test_limits_of_ratios_that_alternate_are_as_good_as_is_said(ratios, tolerance):
    """Two feet that are not the same: each limit leads elsewhere, all of them to one end."""
    first, second = ratios
    powers = (first * second) ** np.arange(300)
    intervals = np.column_stack([powers, powers * second]).ravel()
    times = np.cumsum(intervals)
    found = first_accepted(times[np.append(np.diff(times) > 0.0, True)], tolerance)
    assert found is not None
    end = (1.0 + second) / (1.0 - first * second)
    assert abs(found.time - end) <= found.uncertainty <= tolerance


def test_impacts_that_do_not_accumulate_have_no_limit():
    times = np.arange(1.0, 20.0)
    assert accumulation(times, 1e-3) is None
    assert accumulation(np.cumsum(1.0 / np.arange(1.0, 40.0)), 1e-6) is None
    assert accumulation(times[:4], 1e3) is None
    shorter = 2.0 - 0.5 ** np.arange(10.0)
    assert accumulation(shorter, 1e-9) is not None
    assert accumulation(shorter, 1e-9, np.ones(10)) is None


def test_what_rounding_leaves_of_a_limit_is_said():
    """Far from the origin of time, intervals are known to fewer digits."""
    times, _ = bounces(1.25, 0.5, 12)
    found = accumulation(times + 1e6, 1e-13)
    assert found is not None
    assert found.uncertainty > 1e-10
    assert abs(found.time - 1e6 - 1.5144563320385) <= found.uncertainty


def test_bad_input_is_refused_by_name():
    with pytest.raises(PosingError, match="increase"):
        accumulation([1.0, 0.5, 0.7], 1e-6)
    with pytest.raises(PosingError, match="as many speeds"):
        accumulation([1.0, 2.0], 1e-6, [1.0])
    with pytest.raises(OutOfRangeError, match="positive"):
        accumulation([1.0, 2.0], 0.0)
    with pytest.raises(OutOfRangeError, match="must be positive"):
        accumulation([1.0, 2.0], 1e-6, [1.0, -1.0])
