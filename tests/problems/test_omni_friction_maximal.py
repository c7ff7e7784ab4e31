"""The sliding omni vehicle as rigid bodies, against the model in independent velocities."""

import functools
import math
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from daesolve_problems.omni_friction import starting
from daesolve_problems.omni_friction.maximal import bodies, maximal
from daesolve_problems.omni_friction.placing import places
from daesolve_problems.omni_friction.reduced import reduced
from daesolve_problems.omni_wheels import numbered

import daesolve as ds
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import constraint_rank, friction_on_redundant

OFF_CENTRE = {"platform_centre_x": 0.03, "platform_centre_y": -0.02}


@functools.cache
def vehicle(wheels: int = 3, compliant: bool = False) -> ds.MechanicalSystem:
    return maximal(wheels, 4, compliant)


def drawn(
    rng: np.random.Generator, wheels: int = 3, last: int = 4
) -> tuple[dict[str, float], dict[str, float]]:
    """Return a state of the reduced model and its discrete values: on a roller up to the last."""
    state = {name: float(rng.normal()) for name in ("x", "y", "theta", "x_dot", "y_dot", "omega")}
    values: dict[str, float] = {}
    for i in range(1, wheels + 1):
        contact, ahead = int(rng.integers(1, last + 1)), rng.uniform(-math.pi / 4, math.pi / 4)
        state[f"chi_{i}"] = ahead - math.pi / 2 * (contact - 1)
        state[f"chi_dot_{i}"] = 20.0 * rng.normal()
        state |= {f"spin_{i}_{j}": 100.0 * rng.normal() for j in range(1, 5)}
        values |= {f"contact_{i}": float(contact), f"saturated_{i}": float(rng.integers(2))}
    return state, values


def bodies_at(
    state: Mapping[str, float], values: Mapping[str, float], dynamics: Dynamics, wheels: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and p of the maximal model in a state of the reduced one."""
    numbers = {**vehicle(wheels).parameters.defaults, **values}
    found = places(state, numbers, {"wheels": wheels, "rollers": 4})
    x = np.array([found[name] for name in dynamics.labels.states])
    known = {name: value for name, value in values.items() if name in dynamics.values}
    return x, dynamics.value_vector(known)


def motion(dynamics: Dynamics, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations and reactions by one dense system for both, scaled and refined once."""
    parts = dynamics.matrices(0.0, x, p)
    mass, influence = parts["mass"], parts["influence"]
    count, unknown = influence.shape
    jacobian, ties = parts["jacobian"].reshape(-1, count), parts["ties"].reshape(-1, unknown)
    matrix = np.block(
        [[mass, -influence], [jacobian, np.zeros((len(jacobian), unknown))],
         [np.zeros((len(ties), count)), ties]]
    )  # fmt: skip
    right = np.concatenate([parts[name].ravel() for name in ("force", "bias", "offsets")])
    right[count:] *= -1.0
    rows = 1.0 / np.abs(matrix).max(axis=1)
    columns = 1.0 / (rows[:, None] * np.abs(matrix)).max(axis=0)
    inverse = np.linalg.inv(rows[:, None] * matrix * columns)
    found = columns * (inverse @ (rows * right))
    found += columns * (inverse @ (rows * (right - matrix @ found)))
    return found[:count], found[count:]


@pytest.mark.long
def test_joints_and_contacts_leave_eighteen_freedoms() -> None:
    rng = np.random.default_rng(1)
    for system, independent in ((bodies(3, 4).freely.system(), 75), (vehicle(), 78)):
        dynamics = system.dynamics
        drawings = [bodies_at(*drawn(rng, last=1), dynamics) for _ in range(3)]
        samples = [(0.0, x) for x, _ in drawings]
        rank = constraint_rank(dynamics, samples, drawings[0][1])
        assert len(dynamics.rows) == independent
        assert (rank.at_start, rank.groups) == (independent, ())
    assert vehicle().dynamics.velocity_count - 78 == 18
    assert len(vehicle().dynamics.labels.states) == 208


@pytest.mark.long_rows("0.1-4-True")
@pytest.mark.slow
@pytest.mark.slow_rows("0.1-3-False", "0.0001-3-False")
@pytest.mark.parametrize(
    ("share", "wheels", "compliant"),
    [
        (1e-1, 3, False),
        (1e-2, 3, False),
        (1e-4, 3, False),
        pytest.param(1e-1, 4, True, marks=pytest.mark.slow),
    ],
)
def test_bodies_accelerate_as_the_reduced_equations_say(
    share: float, wheels: int, compliant: bool
) -> None:
    rng = np.random.default_rng(2)
    whole = vehicle(wheels, compliant).dynamics
    small = reduced(wheels, 4, compliant).dynamics
    rates_of = {
        "centre": ["x_dot", "y_dot"],
        "platform": ["omega"],
        "wheels": numbered("chi_dot", wheels),
        "rollers": numbered("spin", wheels, 4),
    }
    accelerations = ca.SX.sym("a", whole.velocity_count)  # pyright: ignore
    names = [name for group in rates_of.values() for name in group]
    outputs = ca.vertcat(*[whole.outputs[name] for name in names])
    rates = ca.jtimes(outputs, whole.x, ca.vertcat(whole.position_rates, accelerations))
    function = ca.Function("rates", [whole.x, whole.p, accelerations], [rates])
    rows = ca.vertcat(*[link for row in whole.rows for link in row.chain])
    residuals = ca.Function("residuals", [whole.x, whole.p], [rows])
    for _ in range(10):
        state, discrete = drawn(rng, wheels)
        values = {**discrete, **OFF_CENTRE, "roller_share": share}
        x, p = bodies_at(state, values, whole, wheels)
        assert np.max(np.abs(np.array(residuals(x, p)))) < 1e-12
        own, reactions = motion(whole, x, p)
        found = np.array(function(x, p, own)).ravel()
        expected, supports = motion(
            small,
            np.array([state[name] for name in small.labels.states]),
            small.value_vector(values),
        )
        miss = dict(zip(names, found - expected, strict=True))
        right = dict(zip(names, expected, strict=True))
        for what, group in rates_of.items():
            size = math.hypot(*[right[name] for name in group])
            assert math.hypot(*[miss[name] for name in group]) < 1e-9 * size, what
        forces = dict(zip(whole.labels.reactions, reactions, strict=True))
        loads = dict(zip(small.labels.reactions, supports, strict=True))
        for name in numbered("support", wheels):
            assert forces[name] == pytest.approx(loads[name], rel=1e-9)


@pytest.mark.slow
def test_the_states_of_the_reduced_model_are_outputs() -> None:
    state, values = drawn(np.random.default_rng(3))
    dynamics = vehicle().dynamics
    x, p = bodies_at(state, {**values, **OFF_CENTRE}, dynamics)
    outputs = ca.vertcat(*[dynamics.outputs[name] for name in state])
    function = ca.Function("outputs", [dynamics.x, dynamics.p], [outputs])
    found = dict(zip(state, np.array(function(x, p)).ravel(), strict=True))
    for name, value in state.items():
        difference = found[name] - value
        if name.startswith("chi_") and "dot" not in name:
            difference = math.remainder(difference, math.tau)
        assert abs(difference) < 1e-12, name


@pytest.mark.slow
def test_the_load_of_four_wheels_is_not_determined() -> None:
    rng = np.random.default_rng(4)
    dynamics = vehicle(4).dynamics
    drawings = [bodies_at(*drawn(rng, 4, last=1), dynamics, 4) for _ in range(3)]
    samples = [(0.0, x) for x, _ in drawings]
    rank = constraint_rank(dynamics, samples, drawings[0][1])
    assert (len(dynamics.rows), rank.at_start) == (104, 103)
    assert rank.droppable == ("support_4",)
    assert {f"support_{i}" for i in range(1, 5)} <= set(rank.redundant)
    moving = friction_on_redundant(dynamics, samples, drawings[0][1])
    assert set(numbered("support", 4)) <= set(moving)


@pytest.mark.long
@pytest.mark.parametrize(
    ("given", "until", "switches"),
    [({"v_x": 1.0}, 0.06, 1), ({"omega": 1.0}, 0.3, 1)],
    ids=["straight", "spin"],
)
def test_bodies_move_as_the_reduced_equations_say(
    given: dict[str, float], until: float, switches: int
) -> None:
    structure = {"wheels": 3, "rollers": 4, "compliant": False}
    numbers = vehicle().parameters.defaults
    values = starting.derived(given, numbers, structure)
    whole = ds.solve(
        vehicle(),
        until=until,
        initial=places(starting.start(given, numbers, structure), numbers, structure),
        parameters=values,
        at=[until],
        solver=ds.RadauIIA(rtol=1e-8, atol=1e-10),
    )
    small = ds.solve(
        reduced(3, 4, compliant=False),
        until=until,
        initial=starting.start(given, numbers, structure),
        parameters=values,
        at=[until],
        solver=ds.RadauIIA(rtol=1e-10, atol=1e-12),
    )
    for name in ("x", "y", "theta"):
        assert abs(whole[name][-1] - small[name][-1]) < 1e-9, name
    times = {e.time for e in whole.events if e.name == "roller_switch"}
    assert len({round(time, 6) for time in times}) == switches
    closure = [row.name for row in vehicle().dynamics.rows]
    closure += [name for name in whole.drift if name.endswith("_norm")]
    assert len(closure) == 78 + 16
    assert max(whole.drift[name].max_abs for name in closure) < 1e-7
    assert whole.drift["energy"].max_relative < 1e-8
