"""What is integrated along the motion, and reactions that are no unknowns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError, UnknownNameError

DAMPING = 0.1
"""N s/m"""


def damped(**more):
    """A pendulum of 1 kg on a rod of 1 m in a viscous medium, with the work that it does there."""
    q = ds.coordinates(x="m", y="m")
    square = q.dot.x**2 + q.dot.y**2
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1, unit="N/m")
    work = ds.states(work="J")
    more = {"quadratures": work, "integrands": {"work": -DAMPING * square}} | more
    return ds.MechanicalSystem(
        q,
        kinetic=square / 2,
        potential=9.81 * q.y,
        goals=[rod, ds.Invariant("balance", square / 2 + 9.81 * q.y - work.work, drive=False)],
        force={"x": -DAMPING * q.dot.x, "y": -DAMPING * q.dot.y},
        outputs={"loss": square / 2 + 9.81 * q.y},
        recovered={"tension": (-2 * rod.reaction, "N")},
        **more,
    )


@pytest.mark.default_rows(2)
@pytest.mark.parametrize(
    "formulation", [ds.Feedback(rate=5.0), ds.NullSpace(), ds.Projected(), ds.Index1(5.0)]
)
def test_energy_less_the_work_of_the_medium_is_conserved_in_every_formulation(formulation):
    run = ds.solve(damped(), until=3.0, initial={"x": 1.0}, formulation=formulation)
    assert run["work"][-1] < -1.0
    # Twice the tolerance of the solvers for equations with multipliers, over about 10 J.
    assert np.max(np.abs(run["loss"] - run["work"])) < 1e-6
    assert run.drift["balance"].max_relative < 1e-7


def test_quadratures_are_states_between_the_coordinates_and_the_velocities():
    dynamics = damped().dynamics
    assert dynamics.labels.states == ("x", "y", "work", "x_dot", "y_dot")
    assert (dynamics.position_count, dynamics.coordinate_count) == (3, 2)


def test_a_start_value_of_a_quadrature_is_kept_while_coordinates_are_made_consistent():
    state = ds.consistent_state(damped(), {"x": 0.9, "y": 0.1, "work": 7.0}).state
    assert state["work"] == 7.0
    assert math.hypot(state["x"], state["y"]) == pytest.approx(1.0, abs=1e-15)


def test_recovered_reactions_stand_beside_the_multipliers():
    run = ds.solve(damped(), until=1.0, initial={"x": 1.0})
    assert list(run.reactions) == ["rod", "tension"]
    np.testing.assert_array_equal(run.reactions["tension"], -2 * run.reactions["rod"])
    assert run.units["tension"] == "N"
    assert run.at(0.5)["tension"] == -2 * run.at(0.5)["rod"]
    start = ds.consistent_state(damped(), {"x": 1.0, "y_dot": 2.0}).reactions
    # A mass of 1 kg at 2 m/s on a circle of 1 m, its weight across the rod.
    assert start["tension"] == pytest.approx(4.0, abs=1e-13)


def test_an_angle_among_the_quadratures_is_wrapped_and_shown_whole():
    q = ds.coordinates(x="m")
    wheel = ds.states(turned=ds.ANGLE)
    rolling = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, quadratures=wheel, integrands=[q.dot.x / 0.1]
    )
    run = ds.solve(rolling, until=1e4, initial={"x_dot": 1.0})
    assert run["turned"][-1] == pytest.approx(1e5, rel=1e-14)


def test_a_quadrature_without_a_rate_is_refused():
    with pytest.raises(PosingError, match="'work' has no rate"):
        damped(integrands={})
    with pytest.raises(UnknownNameError, match="'wok'"):
        damped(integrands={"wok": 1.0, "work": 0.0})


def test_a_constraint_or_an_energy_on_a_quadrature_is_refused():
    q = ds.coordinates(x="m", y="m")
    path = ds.states(path="m")
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    given = {"quadratures": path, "integrands": [q.dot.x]}
    rope = ds.Holonomic("rope", q.y - path.path)
    with pytest.raises(PosingError, match="'rope' contains a quadrature"):
        ds.MechanicalSystem(q, kinetic=kinetic, goals=[rope], **given)
    with pytest.raises(PosingError, match="potential must depend only on coordinates"):
        ds.MechanicalSystem(q, kinetic=kinetic, potential=path.path, **given)


def test_a_name_of_a_recovered_reaction_is_used_once():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="used twice"):
        ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, recovered={"x": 1.0})


def test_a_part_of_a_vector_has_the_same_symbols_and_their_rates():
    q = ds.coordinates(x="m", turn=ds.ANGLE, y="m")
    part = q.part(["y", "turn"])
    assert part.names == ("y", "turn")
    assert part.angles == {"turn"}
    assert part.rates.names == ("y_dot", "turn_dot")
    assert part.y.element_hash() == q.y.element_hash()
    assert part.dot.turn.element_hash() == q.dot.turn.element_hash()
    with pytest.raises(UnknownNameError, match="'z'"):
        q.part(["z"])


def test_a_reaction_is_no_rate_of_a_quadrature():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    impulse = ds.states(impulse="N s")
    with pytest.raises(PosingError, match="'impulse' contains a reaction"):
        ds.MechanicalSystem(
            q, kinetic=kinetic, goals=[rod], quadratures=impulse, integrands=[rod.reaction]
        )
