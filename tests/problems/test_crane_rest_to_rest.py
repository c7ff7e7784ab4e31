"""The crane's shortest motions against shooting from switch to switch, and Pontryagin's principle.

The equations are written out here once more and integrated by SciPy. Both motions are their own
mirror images in time, so half of each is enough.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from daesolve_problems.mechanisms import crane_rest_to_rest as crane
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

import daesolve as ds

MASS, LOAD, ROPE, GRAVITY = 5.0, 10.0, 2.0, 9.81


def rates(time: float, state: np.ndarray, force: float) -> np.ndarray:
    """Return the rates of x, sway and of their rates."""
    _, sway, speed, turn = state
    sine, cosine = math.sin(sway), math.cos(sway)
    pushed = force + LOAD * sine * (ROPE * turn**2 + GRAVITY * cosine)
    across = pushed / (MASS + LOAD * sine**2)
    return np.array([speed, turn, across, -(cosine * across + GRAVITY * sine) / ROPE])


def after(state: np.ndarray, force: float, time: float) -> np.ndarray:
    """Return the state a time later."""
    found = solve_ivp(rates, (0.0, time), state, "DOP853", rtol=3e-14, atol=1e-15, args=(force,))
    return found.y[:, -1]


def shortest() -> tuple[float, float]:
    """Return the lengths of the arcs + and - at whose end both bodies are in the middle."""

    def missed(lengths: np.ndarray) -> list[float]:
        state = after(after(np.zeros(4), 40.0, lengths[0]), -40.0, lengths[1])
        return [state[0] - 2.5, state[1]]

    found = fsolve(missed, [1.2, 0.3], xtol=1e-13)
    return float(found[0]), float(found[1])


def with_little_sway(most: float) -> tuple[float, float, float, float]:
    """Return the lengths of the arcs +, -, on the bound, and -."""

    def touched(lengths: np.ndarray) -> np.ndarray:
        return after(after(np.zeros(4), 40.0, lengths[0]), -40.0, lengths[1])

    def missed(lengths: np.ndarray) -> list[float]:
        state = touched(lengths)
        return [state[1] + most, state[3]]

    first, second = fsolve(missed, [0.25, 0.15], xtol=1e-13).tolist()
    x, _, speed, _ = touched(np.array([first, second]))
    pull = GRAVITY * math.tan(most)  # A load that hangs still in the trolley's frame.

    def last(stay: float) -> tuple[float, float]:
        left = np.array([x + speed * stay + pull * stay**2 / 2, -most, speed + pull * stay, 0.0])
        time = brentq(lambda t: after(left, -40.0, t)[1], 0.05, 0.6, xtol=1e-15)
        return time, after(left, -40.0, time)[0]

    stay = brentq(lambda t: last(t)[1] - 2.5, 0.5, 2.0, xtol=1e-14)
    return first, second, stay, last(stay)[0]


@pytest.mark.slow
def test_both_cases_have_the_switches_that_shooting_finds_and_end_at_rest() -> None:
    # Rounding of the integrations leaves about 1e-14 of each length, 1e-12 is a hundred of it.
    assert shortest() == pytest.approx(crane.SHORTEST, abs=1e-12)
    assert with_little_sway(0.2) == pytest.approx(crane.LITTLE, abs=1e-12)
    for name in ("shortest", "little-sway"):
        run = crane.problem.case(name).solve()
        wanted = {"x": 5.0, "sway": 0.0, "x_dot": 0.0, "sway_dot": 0.0}
        assert dict(run.end_state) == pytest.approx(wanted, abs=1e-11)
    assert np.max(np.abs(run["sway"])) == pytest.approx(0.2, abs=1e-12)


def test_the_shortest_motion_obeys_pontryagins_principle() -> None:
    # The costates follow l' = -(df/dx)^T l; F is at the bound with the sign of its coefficient in
    # l f. They are found backwards from the end so that this vanishes at both switches, and then
    # must vanish at the third, which is not used, and have the right sign everywhere between.
    first, second = crane.SHORTEST
    lengths = (first, second, second, first)
    state, states = np.zeros(4), [np.zeros(4)]
    for length, force in zip(lengths, (40.0, -40.0, 40.0, -40.0), strict=True):
        state = after(state, force, length)
        states.append(state)

    def slopes(state: np.ndarray, force: float) -> np.ndarray:
        # Complex steps have no cancellation; `rates` is written out with real functions.
        step = 1e-6
        return np.array([
            (rates(0.0, state + step * e, force) - rates(0.0, state - step * e, force)) / (2 * step)
            for e in np.eye(4)
        ]).T  # fmt: skip

    def influence(state: np.ndarray) -> np.ndarray:
        return (rates(0.0, state, 1.0) - rates(0.0, state, -1.0)) / 2.0

    def both(time: float, whole: np.ndarray, force: float) -> np.ndarray:
        """Carry the state and the matrix of four costates."""
        costates = -slopes(whole[:4], force).T @ whole[4:].reshape(4, 4)
        return np.concatenate([rates(time, whole[:4], force), costates.ravel()])

    whole, pushes = np.concatenate([np.zeros(4), np.eye(4).ravel()]), []
    rows = []
    for length, force in zip(lengths, (40.0, -40.0, 40.0, -40.0), strict=True):
        times = np.linspace(0.0, length, 50)
        found = solve_ivp(
            both, (0.0, length), whole, "DOP853", times, rtol=1e-10, atol=1e-12, args=(force,)
        )
        carried = [influence(c[:4]) @ c[4:].reshape(4, 4) for c in found.y.T]
        rows.append(np.array(carried))
        pushes.append(force)
        whole = found.y[:, -1]
    switches = np.array([row[-1] for row in rows[:-1]])
    # Of three conditions on four costates one direction is left; its sign is that of the start.
    *_, sizes, directions = np.linalg.svd(switches)
    costate = directions[-1] * np.sign(rows[0][0] @ directions[-1])
    assert sizes[-1] > 1e-3 * sizes[0]
    for row, force in zip(rows, pushes, strict=True):
        assert np.all((row @ costate)[1:-1] * force > 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lengths"), [("shortest", crane.SHORTEST), ("little-sway", crane.LITTLE)]
)
def test_optimise_finds_the_shortest_motion(name: str, lengths: tuple[float, ...]) -> None:
    found = crane.problem.case(name).analyse("optimum").values
    assert found["time"] == pytest.approx(2.0 * sum(lengths), rel=1e-10)
    assert found["digits"] >= 8
    assert found["objection"] == ""
    assert found["excesses"].get("sway", 0.0) < 1e-9


@pytest.mark.long
def test_optimise_finds_the_shortest_motion_with_another_bound_of_the_sway() -> None:
    most = 0.15
    bounds = {"force": (-40.0, 40.0), "sway": (-most, most)}
    case = crane.problem.case("shortest")
    found = ds.optimise(
        case, time=(0.5, 20.0), end=crane.END, bounds=bounds, nodes=11, verify=False
    )
    assert found.duration == pytest.approx(2.0 * sum(with_little_sway(most)), rel=1e-9)
