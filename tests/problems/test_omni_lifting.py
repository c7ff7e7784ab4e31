"""The vehicle that may lift off: level ground against another model, flight, landing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems import omni_lifting

import daesolve as ds

VEHICLE = omni_lifting.problem


@pytest.mark.long
def test_on_level_ground_it_slides_as_the_vehicle_that_stays_level():
    """Beyond its slip velocity the friction of `omni-friction` is Coulomb's, and all wheels slide.

    That one counts rollers about the other ends of their axes, and wheels from the platform.
    """
    until = 0.004
    own = VEHICLE.case("slides").starting(
        {"yaw": 2.0, "wheel_1": 3.0, "wheel_2": -5.0, "wheel_3": 7.0}
    )
    own = own.changed({"restitution": 0.0, "platform_height": 0.0})
    run = own.solve(until=until)
    first = {name: float(values[0]) for name, values in run.states.items()}
    start = {"v_x": 1.0, "v_y": 0.3, "omega": 2.0}
    for i in (1, 2, 3):
        start[f"chi_dot_{i}"] = first[f"wheel_{i}"]
        start |= {f"spin_{i}_{j}": -first[f"spin_{i}_{j}"] for j in (1, 2, 3)}
    level = ds.problem("omni-friction").case("spin")
    sizes = {name: own.full_parameters[name] for name in SHARED}
    level = level.changed({"rollers": 3, "slip_velocity": 1e-6, **sizes}).starting(start)
    other = level.solve(until=until)
    assert not [event for event in run.events if not event.name.endswith("_edge")]
    end, wanted = run.end_state, other.end_state
    for name, of_it in {"vehicle_x": "x", "vehicle_y": "y", "vehicle_x_dot": "x_dot",
                        "vehicle_y_dot": "y_dot", "vehicle_w3": "omega"}.items():  # fmt: skip
        assert end[name] == pytest.approx(wanted[of_it], rel=1e-9, abs=1e-11)
    for i in (1, 2, 3):
        assert end[f"wheel_{i}"] == pytest.approx(wanted[f"chi_dot_{i}"], rel=1e-9)
        for j in (1, 2, 3):
            spun = -wanted[f"spin_{i}_{j}"]
            assert end[f"spin_{i}_{j}"] == pytest.approx(spun, rel=1e-9, abs=1e-9)


SHARED = (
    *("platform_mass", "platform_radius", "wheel_mass", "roller_share", "wheel_radius"),
    *("roller_end_radius", "friction", "gravity"),
)


@pytest.mark.long
def test_dropped_with_a_tilt_its_lowest_roller_strikes_first():
    case = VEHICLE.case("dropped")
    run = case.solve(until=0.12)
    first = next(event for event in run.events if event.impact)
    assert first.time == pytest.approx(math.sqrt(0.06 / case.full_parameters["gravity"]), rel=1e-12)
    gaps = np.array([run[f"roller_{i}_{j}_gap"][0] for i in (1, 2, 3) for j in (1, 2, 3)])
    names = [f"roller_{i}_{j}_closed" for i in (1, 2, 3) for j in (1, 2, 3)]
    assert first.name == names[int(np.argmin(gaps))]
