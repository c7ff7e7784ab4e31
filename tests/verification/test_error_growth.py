"""The engine that measures growth, with changes whose growth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from daesolve.verification.error_growth import measured_growth, sizes_of_states


class Known:
    """Changes that grow like exp(rate t) from 0 to `until`, and by `jump` wherever they stop."""

    def __init__(self, rates, until, jump=None):
        self.rates, self.until, self.jump = np.array(rates), until, jump
        self.time = self.ahead = 0.0

    def following(self, piece):
        return min(self.time + piece, self.until) if self.time < self.until else None

    def stretched(self, ahead):
        self.ahead = ahead
        return np.exp(self.rates * (ahead - self.time))

    def renew(self):
        self.time = self.ahead
        return None if self.jump is None else np.array(self.jump)


def test_growth_adds_up_to_that_of_the_whole_motion():
    growth = measured_growth(Known([0.7, -0.3], 10.0), 0.3)
    assert growth.times[-1] == 10.0
    assert np.sum(growth.logarithms, axis=0) == pytest.approx([7.0, -3.0])
    assert len(growth.pieces) == len(growth.times) - 1 == 34


def test_what_happens_at_events_counts_too():
    growth = measured_growth(Known([0.5], 4.0, jump=[2.0]), 1.0)
    assert np.sum(growth.logarithms) == pytest.approx(2.0 + 4.0 * math.log(2.0))


def test_pieces_are_halved_until_changes_stay_small():
    """exp(40 t) exceeds 1e6 after 0.35 s: pieces of 1 s become 0.25 s, and nothing is lost."""
    growth = measured_growth(Known([40.0], 3.0), 1.0, 0.1)
    assert set(growth.pieces) == {0.25}
    assert np.sum(growth.logarithms) == pytest.approx(120.0)
    assert measured_growth(Known([40.0], 3.0), 1.0, 0.3) is None


def test_without_shorter_pieces_growth_that_is_too_fast_is_refused():
    assert measured_growth(Known([40.0], 3.0), 1.0) is None
    # so is one change that all but vanishes beside another
    assert measured_growth(Known([5.0, -20.0], 3.0), 1.0) is None
    assert measured_growth(Known([5.0, -20.0], 3.0), 0.5) is not None


@pytest.mark.parametrize("rate", [math.inf, -math.inf, math.nan])
def test_a_change_that_vanishes_or_has_no_size_is_refused(rate):
    assert measured_growth(Known([rate], 1.0), 0.5, 0.0) is None


def test_no_state_is_smaller_than_a_thousandth_and_angles_are_radians():
    assert sizes_of_states(np.array([50.0, 1e-9, 200.0]), (2,)) == pytest.approx([50.0, 0.05, 1.0])
    assert sizes_of_states(np.zeros(2), ()) == pytest.approx([1.0, 1.0])
