"""Laws of dry friction that hold one slip, beside one law under the sum of their limits."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import RedundantConstraintsError
from daesolve.multibody.friction_laws import Coulomb

GRAVITY = 9.81


def sliding(push, *laws):
    """1 kg under a push, and laws of friction: each with its load, and its slip over x'."""
    q = ds.coordinates(x="m")
    acting = [
        law.act(f"rub{k}", ratio * q.dot.x, ca.SX(load))
        for k, (law, load, ratio) in enumerate(laws)
    ]
    forces = [part.force * ratio for part, (_, _, ratio) in zip(acting, laws, strict=True)]
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        force={"x": push + sum(forces, ca.SX(0))},
        goals=[goal for part in acting for goal in part.goals],
        discrete=[part.discrete for part in acting],
        events=[event for part in acting for event in part.events],
    )


@pytest.mark.parametrize("speed", [0.0, 2.0])
@pytest.mark.parametrize("ratio", [1, -1, 2])
def test_laws_that_hold_one_slip_act_as_one_under_the_sum_of_their_limits(ratio, speed):
    push = 6.0 * ca.sin(ds.time)
    two = sliding(push, (Coulomb(0.1, 0.2), 10.0, 1), (Coulomb(0.1, 0.15), 20.0, ratio))
    one = sliding(push, (Coulomb(1.0 + 2.0 * abs(ratio), 2.0 + 3.0 * abs(ratio)), 1.0, 1))
    at = np.linspace(0.0, 10.0, 6)
    runs = [ds.solve(system, 10.0, {"x_dot": speed}, at=at) for system in (two, one)]
    assert [event.time for event in runs[0].events[::2]] == pytest.approx(
        [event.time for event in runs[1].events], abs=1e-12
    )
    np.testing.assert_allclose(runs[0]["x"], runs[1]["x"], rtol=0.0, atol=1e-12)
    assert runs[0].audit().holds


def test_laws_that_hold_one_slip_bear_it_in_proportion_to_their_limits():
    """Two newtons, under limits of one and three."""
    held = sliding(ca.SX(2.0), (Coulomb(0.1), 10.0, 1), (Coulomb(0.1), 30.0, 1))
    run = ds.solve(held, 1.0, {"x_dot": 0.0}, at=[0.5])
    assert run.outcome is ds.Outcome.COMPLETED
    assert not run.events
    assert run["rub0_stick_1"][0] == pytest.approx(-0.5, abs=1e-12)
    assert run["rub1_stick_1"][0] == pytest.approx(-1.5, abs=1e-12)


def test_two_feet_with_friction_of_their_own_slide_where_all_they_bear_is_reached():
    """A block whose feet bear 7/12 and 5/12 of 9.81 N, with friction 0.2 and 0.4."""
    q, loads = ds.coordinates(x="m", y="m", phi="rad"), []
    for name, arm in (("left", -0.5), ("right", 0.7)):
        loads.append(ds.Holonomic(name, q.y + arm * ca.sin(q.phi)))
    rubs = [
        Coulomb(mu).act(f"rub{k}", q.dot.x, load.reaction)
        for k, (mu, load) in enumerate(zip((0.2, 0.4), loads, strict=True))
    ]
    block = ds.MechanicalSystem(
        q,
        kinetic=(ca.sumsqr(q.dot.vector[:2]) + 0.2 * q.dot.phi**2) / 2,
        potential=GRAVITY * q.y,
        goals=[*loads, *(goal for rub in rubs for goal in rub.goals)],
        force={"x": ds.time + rubs[0].force + rubs[1].force},
        discrete=[rub.discrete for rub in rubs],
        events=[event for rub in rubs for event in rub.events],
    )
    run = ds.solve(block, 4.0, {"x_dot": 0.0})
    borne = (0.2 * 7.0 + 0.4 * 5.0) / 12.0 * GRAVITY
    assert [(event.name, event.time) for event in run.events] == [
        ("rub0_slips", pytest.approx(borne, abs=1e-9)),
        ("rub1_slips", pytest.approx(borne, abs=1e-9)),
    ]
    assert run.end_state["x"] == pytest.approx((4.0 - borne) ** 3 / 6.0, abs=1e-9)


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=lambda solver: solver.name)
def test_laws_in_a_plane_that_hold_one_slip_stop_at_one_instant(solver):
    """The guards of both are steep: an instant is known to some spacings of numbers."""
    q = ds.coordinates(x="m", y="m")
    push = ca.vertcat(4.0 * ca.sin(ds.time), 3.0 * ca.cos(ds.time))

    def pushed(*pairs):
        rubs = [
            Coulomb(mu).act(f"rub{k}", q.dot.vector, ca.SX(load))
            for k, (mu, load) in enumerate(pairs)
        ]
        return ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector) / 2,
            force=push + sum((rub.force for rub in rubs), ca.SX.zeros(2, 1)),
            goals=[goal for rub in rubs for goal in rub.goals],
            discrete=[rub.discrete for rub in rubs],
            events=[event for rub in rubs for event in rub.events],
        )

    start, at = {"x_dot": 1.0, "y_dot": 0.5}, np.linspace(0.0, 10.0, 6)
    two = ds.solve(pushed((0.1, 10.0), (0.13, 20.0)), 10.0, start, at=at, solver=solver)
    one = ds.solve(pushed((0.1, 36.0)), 10.0, start, at=at, solver=solver)
    assert len(two.events) == 2 * len(one.events)
    np.testing.assert_allclose(two["x"], one["x"], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(two["y"], one["y"], rtol=0.0, atol=1e-9)


def test_start_values_of_the_laws_say_whether_the_slip_is_held():
    """Two newtons, under limits of one and two: the body stays, whoever says that it sticks."""
    held = sliding(ca.SX(2.0), (Coulomb(0.1), 10.0, 1), (Coulomb(0.1), 20.0, 1))
    known = {f"{what}_rub{k}": 1.0 for what in ("sticks", "sense") for k in range(2)}
    for left_out in (set[str](), {"sticks_rub1"}, {"sense_rub0", "sense_rub1"}):
        values = {name: value for name, value in known.items() if name not in left_out}
        run = ds.solve(held, 1.0, {"x_dot": 0.0}, parameters=values)
        assert run.outcome is ds.Outcome.COMPLETED
        assert not run.events
        assert run.end_state["x"] == 0.0
        assert run.audit().holds


@pytest.mark.parametrize("second", [[1, 0], [1, 2]], ids=["one component", "other ratios"])
def test_laws_that_share_a_part_of_a_slip_in_a_plane_are_not_taken_for_one(second):
    q = ds.coordinates(x="m", y="m")
    slips = [q.dot.vector, ca.vertcat(*[c * q.dot.vector[k] for k, c in enumerate(second) if c])]
    rubs = [Coulomb(0.1).act(f"rub{k}", slip, ca.SX(10.0)) for k, slip in enumerate(slips)]
    force = sum(
        (ca.jtimes(s, q.dot.vector, r.force, True) for s, r in zip(slips, rubs, strict=True)),
        ca.SX.zeros(2, 1),
    )
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force=force,
        goals=[goal for rub in rubs for goal in rub.goals],
        discrete=[rub.discrete for rub in rubs],
        events=[event for rub in rubs for event in rub.events],
    )
    with pytest.raises(RedundantConstraintsError, match="depend on each other"):
        ds.solve(system, 1.0, {"x_dot": 0.0, "y_dot": 0.0})
