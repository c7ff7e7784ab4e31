"""Dependent constraints and invariants that are none are refused by name; no freedom is fine."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import (
    DegenerateStartError,
    PosingError,
    RedundantConstraintsError,
)
from tests.systems import EPSILON, chain, chain_state, four_bar_state, four_bar_windows

# IFToMM benchmark A02: reduced to one angle, Taylor series in 28 digits: x, y, x', y' of B_0.
A02_TWO_WINDOWS_AT_1_S = (
    -0.19502030194943509364, -0.9807992056621738326, -6.6766780368811580662, 1.3275783251604872139,
)  # fmt: skip
A02_TWO_WINDOWS_AT_10_S = (
    0.32845811154081537865, 0.94451853817860096216, 1.4230514702069441233, -0.49486884548704295899,
)  # fmt: skip
NAMES = ("x_0", "y_0", "x_dot_0", "y_dot_0")


def point(goals, **more):
    q = ds.coordinates(x="m", y="m", z="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2,
        potential=9.81 * q.z,
        goals=goals(q),
        **more,
    )


def test_constraints_that_depend_on_each_other_are_named_and_so_is_what_to_drop():
    system = point(
        lambda q: [
            ds.Holonomic("table", q.z),
            ds.Holonomic("groove", q.x - q.z),
            ds.Holonomic("spare", q.x),
        ]
    )
    with pytest.raises(
        RedundantConstraintsError, match=r"'table', 'groove', 'spare'.*leave out 'spare'"
    ):
        ds.solve(system, until=1.0, initial={"x": 0, "y": 0, "z": 0, "y_dot": 1.0})


def test_an_innocent_constraint_is_not_accused():
    system = point(
        lambda q: [
            ds.Holonomic("innocent", q.x),
            ds.Holonomic("table", q.z),
            ds.Holonomic("again", 2 * q.z),
        ]
    )
    with pytest.raises(RedundantConstraintsError) as caught:
        ds.solve(system, until=1.0, initial={"x": 0, "y": 0, "z": 0, "y_dot": 1.0})
    assert "innocent" not in str(caught.value)


def test_dropping_keeps_the_motion_and_the_other_reactions():
    system = point(lambda q: [ds.Holonomic("table", q.z), ds.Holonomic("again", q.z)])
    run = ds.solve(
        system, until=1.0, initial={"x": 0, "y": 0, "z": 0, "y_dot": 1.0, "x_dot": 0},
        redundant="drop",
    )  # fmt: skip
    assert run["y"][-1] == pytest.approx(1.0, rel=1e-14)
    assert run.reactions["table"] == pytest.approx(9.81, rel=1e-14)
    assert "again" not in run.reactions
    assert any("dropped as redundant: again" in note for note in run.description["notes"])


def test_dropping_a_goal_whose_rate_was_given_is_no_fault():
    system = point(lambda q: [ds.Holonomic("table", q.z), ds.Holonomic("again", q.z)])
    run = ds.solve(
        system, until=1.0, initial={"x": 0, "y": 0, "z": 0, "y_dot": 1.0}, redundant="drop",
        formulation=ds.Feedback(rates={"again": 5.0}),
    )  # fmt: skip
    assert run.outcome is ds.Outcome.COMPLETED


@pytest.mark.parametrize("option", [{"redundant": "minimum_norm"}, {"rank_loss": "ignore"}])
def test_a_misspelt_option_is_refused(option):
    system = point(lambda q: [ds.Holonomic("table", q.z)])
    with pytest.raises(ds.DaesolveError, match=next(iter(option))):
        ds.solve(system, until=1.0, initial={"x": 0, "y": 0, "z": 0}, **option)


def test_a_system_without_freedom_goes_where_its_constraints_lead_it():
    path = ca.vertcat(ca.sin(ds.time), ca.cos(ds.time), ds.time**2)
    system = point(lambda q: [
        ds.Holonomic(f"along_{n}", q[n] - path[k]) for k, n in enumerate("xyz")
    ])  # fmt: skip
    run = ds.solve(system, until=1.0)
    # Two roundings of numbers of order one, and what the solver's steps leave of them.
    assert abs(run["x"][-1] - np.sin(1.0)) < 1e-15
    assert abs(run["y_dot"][-1] + np.sin(1.0)) < 1e-14
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_driven_invariant_that_is_none_is_refused():
    system = point(lambda q: [ds.Invariant("momentum", q.dot.z, drive=True)])
    with pytest.raises(PosingError, match=r"'momentum'.*not conserved.*drive=False"):
        ds.solve(system, until=1.0, initial={"z_dot": 1.0})


def test_an_invariant_that_reactions_change_is_refused():
    """The momentum along y is kept by the free point, not by the point on a circle."""
    circle = [ds.Holonomic("circle", ds.time)]
    q = ds.coordinates(x="m", y="m")
    circle = [ds.Holonomic("circle", q.x**2 + q.y**2 - 1)]
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        goals=[*circle, ds.Invariant("push", q.dot.x, drive=True)],
    )
    with pytest.raises(PosingError, match="'push'"):
        ds.solve(system, until=1.0, initial={"x": 1.0, "y": 0.0, "y_dot": 1.0})


def test_a_start_in_a_singular_position_is_refused_and_passed_on_request():
    """The crank and coupler of one window, all flat."""
    flat = {
        "x_0": 1.0, "y_0": 0.0, "x_1": 2.0, "y_1": 0.0, "x_dot_0": 0.0, "y_dot_0": 1.0,
        "x_dot_1": 0.0, "y_dot_1": 1.0,
    }  # fmt: skip
    with pytest.raises(DegenerateStartError, match=r"'crank_0', 'crank_1', 'coupler_1'.*rank_loss"):
        ds.solve(four_bar_windows(1), until=1.0, initial=flat)


# -- passing positions of lower rank -------------------------------------------------------------


@pytest.mark.slow
def test_a_parallelogram_that_must_not_pass_its_singular_position_stops_there():
    """Never a finite wrong answer without a word: stop is the default."""
    run = ds.solve(four_bar_windows(1), until=10.0, initial=four_bar_state(1))
    assert run.outcome is ds.Outcome.DEGENERATE
    assert any(goal in run.message for goal in ("crank_0", "crank_1", "coupler_1"))
    assert "rank_loss" in run.message
    # the bars are horizontal first after 0.708 s; nothing after that may be handed out as data
    assert "t = 0.708" in run.message
    assert run.end_time < 0.75
    assert run.times[-1] < 0.75


def passing(windows, until, **rest):
    return ds.solve(
        four_bar_windows(windows),
        until=until,
        initial=four_bar_state(windows),
        formulation=ds.Feedback(rate=50.0, rates={"energy": 10.0}),
        rank_loss="pass",
        **rest,
    )


@pytest.mark.slow
def test_the_double_four_bar_linkage_passes_its_singular_positions():
    run = passing(2, 10.0, at=[1.0, 10.0])
    assert run.outcome is ds.Outcome.COMPLETED
    for index, right in enumerate((A02_TWO_WINDOWS_AT_1_S, A02_TWO_WINDOWS_AT_10_S)):
        found = np.array([run[name][index] for name in NAMES])
        # docs: "end error 7e-12 (N = 2)"; coordinates may differ, so ten times of that
        assert np.max(np.abs(found - right)) <= 7e-11
    # beside a singular position the shift, 1e-9, amplifies rounding; energy comes back at its rate
    assert run.drift["energy"].max_relative <= 1e-10
    assert run.drift["energy"].final_relative <= 1e-13
    assert max(run.drift[f"crank_{k}"].max_relative for k in range(3)) <= 1e-11


@pytest.mark.long
def test_forty_windows_pass_as_well():
    run = passing(40, 10.0, at=[10.0])
    inertia, weight = 41 / 3 + 40, 41 / 2 + 40
    angle, turn = reduced_linkage(inertia, weight, 10.0)
    found = np.array([run[name][0] for name in NAMES])
    right = [math.cos(angle), math.sin(angle), -turn * math.sin(angle), turn * math.cos(angle)]
    assert np.max(np.abs(found - right)) <= 1e-10


def reduced_linkage(inertia, weight, until):
    """theta'' = -(V g / I) cos theta from upright, theta' = -1, in quadruple precision."""
    import heyoka as hy

    angle, turn = hy.make_vars("angle", "turn")
    strength = hy.expression(hy.real128(weight) / hy.real128(inertia) * hy.real128(9.81))
    integrator = hy.taylor_adaptive(
        [(angle, turn), (turn, -strength * hy.cos(angle))],
        [hy.real128(math.pi / 2), hy.real128(-1)],
        fp_type=hy.real128,
        compact_mode=True,
    )
    integrator.propagate_until(hy.real128(until))
    return tuple(integrator.state.astype(float))


def test_a_hanging_chain_in_maximal_coordinates_has_no_false_redundancy():
    run = ds.solve(chain(3), until=0.5, initial=chain_state([0.3, 0.0, -0.4]))
    assert run.outcome is ds.Outcome.COMPLETED
    # the potential's terms reach 3 * 9.81 * 2.5 J and are rounded one by one
    assert run.drift["energy"].max_abs <= 4 * EPSILON * 3 * 9.81 * 2.5


def test_the_norm_of_a_quaternion_counts_as_conserved():
    """Its terms cancel to rounding at every state: that must not be compared with itself."""
    from daesolve.core.equations.conservation import relative_powers
    from tests.systems import free_body

    dynamics = free_body().dynamics
    row = next(row for row in dynamics.invariants if row.name == "norm")
    generator = np.random.default_rng(9)
    samples = []
    for _ in range(6):
        x = generator.normal(size=7)
        x[:4] /= np.linalg.norm(x[:4])
        samples.append((0.0, x))
    values = dynamics.value_vector({"reference_norm": 1.0})
    assert relative_powers(dynamics, [row], samples, values) <= 1e-12
