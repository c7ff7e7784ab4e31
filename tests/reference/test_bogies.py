"""The stored motions of the vehicle on bogies, against three bodies in absolute coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .bogies import (
    COORDINATES,
    PASSED,
    REGULAR,
    REGULAR_TIMES,
    VELOCITIES,
    absolute_motion,
    integrate,
    near_miss,
    reduced_motion,
    table,
)

STATES = (*COORDINATES, *VELOCITIES)


def _start(given: dict[str, float]) -> dict[str, float]:
    states = reduced_motion(given, [0.0])
    return {name: float(states[name][0]) for name in STATES}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("motion", "given", "times"),
    [
        ("regular", REGULAR, REGULAR_TIMES),
        pytest.param("0.01", near_miss(0.01), PASSED[:1], marks=pytest.mark.slow),
    ],
)
def test_the_reduction_is_the_motion_of_three_bodies(
    motion: str, given: dict[str, float], times: Any
) -> None:
    """Their steps are bounded by 1e-13, and a second-order error of them grows a little."""
    bodies = absolute_motion(_start(given), times)
    for name in STATES:
        expected = table()[motion][name][: len(times)]
        assert np.max(np.abs(bodies.states[name] - expected)) < 1e-11, name


@pytest.mark.slow
def test_stored_motions_are_those_of_quadruple_precision() -> None:
    for motion, series in integrate().items():
        for name, values in series.items():
            assert np.array_equal(values, table()[motion][name]), (motion, name)
