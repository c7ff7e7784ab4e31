"""The ground truth of wheeled vehicles is checked: closed form's constants, energy, no slip."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from . import cart, unicycle

PAIRS = {
    1: (0.1, 0.9, 0.7, 0.25, 0.05, -0.12, 0.03, -0.2, 0.3, 0.4, 0.05, 1.5),
    2: (-0.15, -0.8, 0.9, 0.3, -0.04, 0.1, 0.02, 0.15, 0.25, 0.35, 0.04, 0.8),
}
NAMES = (
    "pivot_x", "pivot_y", "pair_mass", "pair_inertia", "pair_centre_n", "pair_centre_tau",
    "axle_centre_n", "axle_centre_tau", "wheel_radius", "half_track", "wheel_inertia", "spring",
)  # fmt: skip
NUMBERS = {
    "frame_mass": 3.0, "frame_inertia": 1.7, "frame_centre_x": 0.2, "frame_centre_y": -0.1,
    "torque_1_1": 0.3, "torque_1_2": 0.1, "torque_2_1": -0.2, "torque_2_2": 0.25,
}  # fmt: skip
for number, values in PAIRS.items():
    NUMBERS |= {f"{name}_{number}": value for name, value in zip(NAMES, values, strict=True)}
START = dict.fromkeys(cart.STATES, 0.0) | {
    "psi": 0.3, "theta_1": 0.2, "theta_2": -0.35, "theta_dot_1": -0.4, "theta_dot_2": 0.5,
    "v_1": -0.0118205065295264, "v_2": -1.2, "psi_dot": -0.498326147854497,
}  # fmt: skip


def test_the_unicycle_has_the_constants_that_were_computed_before() -> None:
    with mpmath.workdps(unicycle.DIGITS):
        found = unicycle.constants(-0.9, 0.7, unicycle.Unicycle())
    assert float(found.speed) == pytest.approx(0.9068367775826423, rel=1e-15)
    assert float(found.rate) == pytest.approx(0.8238416674219243, rel=1e-15)
    assert float(found.middle) == pytest.approx(1.750215544652113, rel=1e-15)
    assert unicycle.total_turn() == pytest.approx(5.9595757915679, rel=1e-14)
    sleigh = unicycle.Unicycle(wheel_inertia=0.0)
    assert unicycle.total_turn(sleigh) == pytest.approx(4.1553020922, rel=1e-10)


def test_the_unicycle_keeps_its_energy() -> None:
    vehicle = unicycle.Unicycle()
    found = unicycle.unicycle_states([0.0, 1.0, 3.0, 10.0])
    v, w = found["v_tau"], found["omega"]
    twice = vehicle.mass * (v**2 + 2 * vehicle.centre_normal * v * w)
    twice += vehicle.inertia_about_contact * w**2
    twice += vehicle.wheel_inertia * (v / vehicle.wheel_radius) ** 2
    assert np.ptp(twice) < 1e-15 * twice[0] * 4


@pytest.mark.slow
def test_the_cart_gains_what_its_torques_do_and_never_slips() -> None:
    """In world axes: every wheel's contact stands still, every body keeps its own energy."""
    found = cart.cart_states(START, np.linspace(0.0, 2.0, 5).tolist(), NUMBERS)
    model = cart.Cart(NUMBERS)
    balance, slips = [], []
    for index in range(5):
        state = np.array([found[name][index] for name in cart.STATES])
        rates = dict(zip(cart.STATES, model.at(state).rates, strict=True))
        values = {name: found[name][index] for name in cart.STATES}
        energy, slip = _energy_and_slips(values, rates)
        work = sum(NUMBERS[name.replace("phi", "torque")] * values[name] for name in cart.TURNS)
        balance.append(energy - work)
        slips += slip
    assert np.ptp(balance) < 1e-12 * abs(balance[0])
    assert np.max(np.abs(slips)) < 1e-13


def _energy_and_slips(at: dict[str, float], rates: dict[str, float]) -> tuple[float, list[float]]:
    """Give T + V, and the velocities of the contacts, by complex numbers in world axes."""

    def moving(arms: list[tuple[complex, float, float]]) -> complex:
        """The velocity of a chain of arms, each with its angle and its rate of turn."""
        start = rates["x"] + 1j * rates["y"]
        return start + sum(1j * rate * arm * np.exp(1j * angle) for arm, angle, rate in arms)

    def vector(first: str, second: str) -> complex:
        return complex(NUMBERS[first], NUMBERS[second])

    def body(mass: float, inertia: float, arm: complex, velocity: complex, turn: float) -> float:
        central = inertia - mass * abs(arm) ** 2
        return (mass * abs(velocity) ** 2 + central * turn**2) / 2

    psi, w = at["psi"], rates["psi"]
    centre = vector("frame_centre_x", "frame_centre_y")
    velocity = moving([(centre, psi, w)])
    energy = body(NUMBERS["frame_mass"], NUMBERS["frame_inertia"], centre, velocity, w)
    slips: list[float] = []
    for k in (1, 2):
        pivot = (vector(f"pivot_x_{k}", f"pivot_y_{k}"), psi, w)
        angle, turn = psi + at[f"theta_{k}"], w + rates[f"theta_{k}"]
        centre = vector(f"pair_centre_n_{k}", f"pair_centre_tau_{k}")
        velocity = moving([pivot, (centre, angle, turn)])
        mass, inertia = NUMBERS[f"pair_mass_{k}"], NUMBERS[f"pair_inertia_{k}"]
        energy += body(mass, inertia, centre, velocity, turn)
        energy += NUMBERS[f"spring_{k}"] * at[f"theta_{k}"] ** 2 / 2
        axle = vector(f"axle_centre_n_{k}", f"axle_centre_tau_{k}")
        for i, side in ((1, 1.0), (2, -1.0)):
            spin = rates[f"phi_{k}_{i}"]
            energy += NUMBERS[f"wheel_inertia_{k}"] * spin**2 / 2
            arm = axle + side * NUMBERS[f"half_track_{k}"]
            contact = moving([pivot, (arm, angle, turn)]) * np.exp(-1j * angle)
            contact += 1j * NUMBERS[f"wheel_radius_{k}"] * spin
            slips += [contact.real, contact.imag]
    return energy, slips
