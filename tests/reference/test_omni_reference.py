"""The stored motions of the vehicle with omni-wheels, against quadratures and other equations."""

from __future__ import annotations

import math
import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from benchmarks.omni_rolling.run import built, by_hand

from .omni_reference import (
    CASES,
    ROLLERS,
    N,
    Sample,
    body_states,
    remaining_energy,
    rolled,
    speed,
    spin,
    stored_motion,
    straight,
    switches,
    vehicle,
)

if TYPE_CHECKING:
    from pathlib import Path

ONE_FREEDOM: Final = {"spin": spin, "straight": straight}
ROUNDING: Final = 2.0**-52
each_case = pytest.mark.parametrize("case", CASES)
each_quadrature = pytest.mark.parametrize("case", ONE_FREEDOM)


@pytest.fixture(scope="module")
def program(tmp_path_factory: Any) -> Path:
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("there is no GCC, whose library of quadruple precision the program needs")
    return built(tmp_path_factory.mktemp("compact"))


@each_case
def test_stored_numbers_are_right_to_the_last_digit_they_have(case: str) -> None:
    assert stored_motion(case).difference < ROUNDING / 2


@pytest.mark.slow_rows("spin")
@each_quadrature
def test_stored_motion_is_the_quadrature(case: str) -> None:
    for time, sample in stored_motion(case).samples.items():
        exact = body_states(case, time)
        found = sample.state | {"energy": sample.energy}
        for name, value in exact.items():
            # both are rounded to double
            assert found[name] == pytest.approx(value, rel=2 * ROUNDING, abs=1e-20), (time, name)


@each_quadrature
def test_stored_switches_are_those_of_the_quadrature(case: str) -> None:
    stored = stored_motion(case)
    times = switches(ONE_FREEDOM[case](), CASES[case])
    assert len(times) == stored.event_count
    first = [float(time) for time in times[:5]]
    assert stored.first_event_times == pytest.approx(first, rel=2 * ROUNDING, abs=0)
    for time, sample in stored.samples.items():
        assert sample.events == sum(instant <= time for instant in times)


def test_a_spinning_vehicle_loses_speed_at_every_switch_but_the_second() -> None:
    before, second, third = (
        float(rolled(spin(), float(time)).energy)
        for time in [sum(switches(spin(), 8)[k : k + 2]) / 2 for k in range(3)]
    )
    # its new roller turns as the old one but for B / G = 1e-4: a loss of relative order
    # (b^2 / G) (1e-4)^2 / 4
    assert 0 < 1 - second / before < 1e-14
    assert 1 - third / second > 1e-4


def test_a_vehicle_going_straight_loses_nothing_after_all_rollers_have_touched() -> None:
    car, stored = vehicle(), stored_motion("straight")
    start = float(straight().inertia(0) * car.R**2 / 2)
    left = float(remaining_energy())
    assert left == pytest.approx(0.960655295924533, abs=5e-16)
    # each turn of the wheels leaves B b^2 / m < 1e-2 of what is still to be lost; here are 16
    assert stored.samples[60].energy / start == pytest.approx(left, rel=4 * ROUNDING)
    assert float(rolled(straight(), 1000).energy) / start == pytest.approx(left, rel=2 * ROUNDING)


def test_stored_twist_agrees_with_what_was_found_before() -> None:
    stored = stored_motion("twist")
    end = stored.samples[1000]
    assert stored.event_count == stored.wheel_switches == 1618
    assert end.energy == pytest.approx(0.00237873828959, abs=5e-15)
    assert end.state["nu_3"] == pytest.approx(1.0847487397431, abs=1e-13)
    assert end.state["x"] == pytest.approx(0.0648286760, abs=1e-10)
    assert end.state["y"] == pytest.approx(2.9096340919, abs=1e-10)
    assert speed(stored.samples[300].state) == pytest.approx(1.39e-3, abs=5e-6)
    assert stored.max_nu_3 == pytest.approx(1.134730264, abs=1e-7)  # that one was sampled
    assert stored.max_nu_3_time == pytest.approx(144.78, abs=5e-3)
    # rounding cannot change which wheel switches when
    assert stored.shortest_time_between_events > 1e-3
    assert stored.nearest_turning > 1e-4


@each_case
def test_stored_energy_never_grows(case: str) -> None:
    stored = stored_motion(case)
    assert stored.energy_drift < 1e-25
    assert stored.largest_relative_gain < 1e-25
    energies = [sample.energy for sample in stored.samples.values()]
    assert np.all(np.diff(energies) <= 2 * ROUNDING * energies[0])


def chi_dot(state: dict[str, float], i: int) -> float:
    """Rate of the angle of a wheel that does not slip along its own direction."""
    car, angle = vehicle(), 2 * math.pi * i / N
    along = -math.sin(angle) * state["nu_1"] + math.cos(angle) * state["nu_2"]
    turning = state["nu_3"] / float(car.velocity_scale)
    return float(car.R / car.l) * -(along + turning)


def kinetic(sample: Sample) -> float:
    """Kinetic energy from the velocities of all the bodies, J."""
    car, state = vehicle(), sample.state
    turning = state["nu_3"] / float(car.velocity_scale)
    twice = float(car.M) * (float(car.R) * speed(state)) ** 2 + float(car.I_S) * turning**2
    for i in range(N):
        twice += float(car.J) * chi_dot(state, i) ** 2
        for j in range(ROLLERS):
            angle = state[f"chi_{i + 1}"] + 2 * float(car.border) * (j + 1 - sample.contacts[i])
            spin_rate = state[f"phi_dot_{i + 1}_{j + 1}"]
            twice += float(car.B) * spin_rate * (spin_rate + 2 * turning * math.sin(angle))
    return twice / 2


@each_case
def test_stored_rollers_in_contact_do_not_slip_and_make_up_the_energy(case: str) -> None:
    car = vehicle()
    for sample in stored_motion(case).samples.values():
        state = sample.state
        for i in range(N):
            angle = 2 * math.pi * i / N
            across = math.cos(angle) * state["nu_1"] + math.sin(angle) * state["nu_2"]
            rolling = state[f"phi_dot_{i + 1}_{sample.contacts[i]}"]
            arm = float(car.arm(state[f"chi_{i + 1}"]))
            # rounding of chi, 1e-16 of an arm of 7 mm or more, at up to 20 rad/s
            assert arm * rolling == pytest.approx(float(car.R) * across, rel=1e-14, abs=1e-17)
        assert kinetic(sample) == pytest.approx(sample.energy, rel=1e-14)


@pytest.mark.slow_rows("spin")
@each_case
def test_compact_equations_integrated_otherwise_reach_the_stored_states(
    case: str, program: Path
) -> None:
    stored = stored_motion(case)
    # 500 steps of 3e-14 m/s or rad/s; an angle that turns by v / l with it is off by 2e-9 in 10 s,
    # energy and times by a tenth of that
    off = 2e-9
    for time in (1, 10):
        found = by_hand(program, case, "3e-14", time, repeats=1)
        expected = stored.samples[time]
        assert found["switches"] == expected.events
        assert found["energy"] == pytest.approx(expected.energy, rel=off)
        for name, value in found["state"].items():
            assert value == pytest.approx(expected.state[name], rel=0, abs=off), (time, name)
        shown = stored.first_event_times[: expected.events]
        assert found["first_events"] == pytest.approx(shown, rel=off)
