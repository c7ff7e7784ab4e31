"""Guards that constraints keep at zero all the time: rounding alone moves what they measure."""

import casadi as ca
import pytest

import daesolve as ds


def held_twice(*, rubs: bool, resets: bool) -> ds.MechanicalSystem:
    """A body that two constraints hold where x = 1.11 y on a circle, beside one that oscillates."""
    q, d = ds.coordinates(x="m", y="m", z="m"), ds.discrete(count=0.0)
    goals = [ds.Holonomic("rod", q.x**2 + q.y**2 - 1.8496), ds.Holonomic("slot", q.x - 1.11 * q.y)]
    law = ds.multibody.Coulomb(0.2, 0.3).act("rubs", q.dot.x, ca.SX(9.0))
    then = [ds.Reset({"count": d.count + 1.0})] if resets else []
    return ds.MechanicalSystem(
        q,
        kinetic=0.4 * (q.dot.x**2 + q.dot.y**2) + q.dot.z**2 / 2,
        potential=8.0 * q.y + 5.0 * q.z**2,
        force={"x": law.force} if rubs else {},
        goals=[*goals, *(law.goals if rubs else [])],
        events=[
            ds.Event("moves", q.dot.x - 0.3 * q.dot.y, ds.EITHER, *then),
            *(law.events if rubs else []),
        ],
        discrete=[d, *([law.discrete] if rubs else [])],
    )


@pytest.mark.parametrize(
    ("solver", "rubs"),
    [("taylor", False), ("dop853", False), ("lsoda", False), ("taylor", True), ("dop853", True)],
)
@pytest.mark.parametrize("resets", [False, True], ids=["recorded", "resets"])
def test_nothing_happens_to_a_body_that_cannot_move(rubs: bool, resets: bool, solver: str) -> None:
    system = held_twice(rubs=rubs, resets=resets)
    guess = {"x": 1.0, "y": 0.9}
    run = ds.solve(system, 3.0, {"z": 0.3, "z_dot": 0.0}, guess=guess, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert not run.events
    y = (1.8496 / (1.0 + 1.11**2)) ** 0.5
    held = [run.end_state[name] for name in ("x", "y", "x_dot", "y_dot")]
    assert held == pytest.approx([1.11 * y, y, 0.0, 0.0], abs=1e-9)
    assert run.audit().holds
