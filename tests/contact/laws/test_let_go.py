"""Kicks: resets and inputs that move what a contact or dry friction holds."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds

G, MU, AT, AFTER = 9.81, 0.4, 1.0, 0.02
EXACT = 1e-12


def kicked(directions: int, first: float, kick: tuple[float, ...], e: float = 0.0) -> ds.Trajectory:
    """Return the run of a point of 1 kg on a floor, z up, to which a reset adds velocities."""
    names = [*["x", "y"][:directions], "z"]
    q = ds.coordinates(**dict.fromkeys(names, "m"))
    speeds = [getattr(q.dot, name) for name in names]
    slip = {"slip": speeds[:-1], "friction": MU} if directions else {}
    floor = ds.Contact("floor", q.z, restitution=e, **slip)
    changes = {f"{n}_dot": v + dv for n, v, dv in zip(names, speeds, kick, strict=True) if dv}
    system = ds.MechanicalSystem(
        q,
        kinetic=sum(v**2 for v in speeds) / 2,
        potential=G * q.z,
        goals=[floor],
        events=[ds.Event("kick", ds.time - AT, ds.RISING, ds.Reset(changes))],
    )
    start = dict.fromkeys([*names, *(f"{n}_dot" for n in names)], 0.0)
    if directions:
        start["x_dot"] = first
    return ds.solve(system, AT + AFTER, initial=start)


def expected(first: float, kick: tuple[float, ...], e: float) -> tuple[np.ndarray, float]:
    """Return slip and z_dot at the end, by Coulomb's and Newton's laws."""
    slip, up = np.array(kick[:-1]), kick[-1]
    if slip.size:
        slip[0] += max(first - MU * G * AT, 0.0)
    speed = float(np.linalg.norm(slip))
    if up > 0.0:
        return slip, up - G * AFTER
    rest = MU * -(1.0 + e) * up
    rest += 0.0 if e else MU * G * AFTER
    return slip * (1.0 - rest / speed) if speed else slip, -e * up - (G * AFTER if e else 0.0)


@pytest.mark.parametrize(
    ("directions", "first", "kick", "e"),
    [
        (0, 0.0, (0.3,), 0.5),
        (0, 0.0, (-0.6,), 0.5),
        (0, 0.0, (-0.3,), 0.0),
        (1, 0.0, (0.5, 0.0), 0.0),
        (1, 0.0, (0.0, 0.3), 0.0),
        (1, 0.0, (-0.5, 0.3), 0.0),
        (1, 0.0, (0.5, -0.3), 0.0),
        (1, 5.0, (-9.0, -0.3), 0.0),
        (1, 0.0, (0.5, -0.4), 0.6),
        (2, 0.0, (0.3, 0.4, 0.0), 0.0),
        (2, 0.0, (0.0, 0.0, 0.3), 0.0),
        (2, 5.0, (-0.3, 0.4, 0.3), 0.0),
        (2, 0.0, (0.3, 0.4, -0.5), 0.0),
    ],
)  # fmt: skip
def test_a_kick_lifts_slides_or_strikes_a_body_that_rests_on_a_contact(
    directions: int, first: float, kick: tuple[float, ...], e: float
) -> None:
    run = kicked(directions, first, kick, e)
    assert run.outcome.value == "completed"
    slip, up = expected(first, kick, e)
    end = [run.end_state[f"{n}_dot"] for n in ["x", "y"][:directions]]
    np.testing.assert_allclose(end, slip, rtol=0.0, atol=EXACT)
    assert run.end_state["z_dot"] == pytest.approx(up, abs=EXACT)
    names = [event.name for event in run.events if event.time == AT]
    assert kick[-1] <= 0.0 or "floor_lost" in names
    assert ("floor_closed" in names) == (kick[-1] < 0.0)
    assert not run.audit().contradictions


def test_a_contact_opens_where_a_reset_lifts_its_body() -> None:
    q = ds.coordinates(z="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.z**2 / 2,
        potential=G * q.z,
        goals=[ds.Contact("floor", q.z)],
        events=[ds.Event("lift", ds.time - AT, ds.RISING, ds.Reset({"z": q.z + 2.0}))],
    )
    run = ds.solve(system, AT + 0.5, initial={"z": 0.0, "z_dot": 0.0})
    assert [event.name for event in run.events] == ["lift", "floor_lost"]
    assert run.end_state["z"] == pytest.approx(2.0 - G / 8, abs=EXACT)


def belted(speed: ca.SX, part: float, **rest: Any) -> ds.MechanicalSystem:
    """Return a block of 1 kg on a belt: a contact has a part of the friction, a law the rest.

    Without a part the law is that of a constraint.
    """
    q = ds.coordinates(x="m", y="m")
    energies = {"kinetic": (q.dot.x**2 + q.dot.y**2) / 2, "potential": G * q.y}
    rough = {"slip": q.dot.x - speed, "friction": part * MU}
    name = "ground" if part < 1.0 else "belt"
    floor = ds.Contact(name, q.y, **rough) if part else ds.Holonomic("floor", q.y)
    if part == 1.0:
        return ds.MechanicalSystem(q, **energies, goals=[floor], **rest)
    load = ca.SX((1.0 - part) * G) if part else floor.reaction
    rubs = ds.multibody.Coulomb(MU).act("belt", q.dot.x - speed, load)
    discrete = [rubs.discrete, *([rest.pop("discrete")] if "discrete" in rest else [])]
    return ds.MechanicalSystem(
        q,
        **energies,
        goals=[floor, *rubs.goals],
        force={"x": rubs.force},
        discrete=discrete,
        events=[*rest.pop("events", ()), *rubs.events],
        **rest,
    )


@pytest.mark.parametrize("part", [1.0, 0.3, 0.0], ids=["contact", "both", "law"])
@pytest.mark.parametrize("by", ["reset", "if_else", "steps", "sampled", "Simulator"])
def test_a_belt_that_jumps_drags_what_sticks_to_it(by: str, part: float) -> None:
    start = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    d, u = ds.discrete(v=0.0), ds.inputs(v="m/s")
    if by == "reset":
        events = [ds.Event("faster", ds.time - AT, ds.RISING, ds.Reset({"v": 0.5}))]
        system, inputs = belted(d.v, part, discrete=d, events=events), {}
    elif by == "if_else":
        system, inputs = belted(ca.if_else(ds.time < AT, 0.0, 0.5), part), {}
    else:
        laws = {
            "steps": ds.table("v", [0.0, AT, 9.0], [0.0, 0.5, 0.5], "steps"),
            "sampled": ds.sampled("v", period=AT, law=ca.if_else(ds.time < AT / 2, 0.0, 0.5)),
        }
        system, inputs = belted(u.v, part, inputs=u), {"v": laws.get(by, 0.0)}
    if by == "Simulator":
        stepped = ds.Simulator(system, start, inputs=inputs)
        stepped.step(AT)
        stepped.step(0.3, v=0.5)
        run = stepped.trajectory()
    else:
        run = ds.solve(system, AT + 0.3, initial=start, inputs=inputs)
    named = {event.name: event.time for event in run.events}
    assert named["belt_slips"] == AT
    assert named["belt_sticks"] == pytest.approx(AT + 0.5 / (MU * G), abs=EXACT)
    assert run.end_state["x_dot"] == pytest.approx(0.5, abs=EXACT)
    assert not part or not run.audit().contradictions


@pytest.mark.parametrize(
    ("first", "kick"), [(0.0, (0.5,)), (5.0, (-9.0,)), (0.0, (0.3, 0.4)), (5.0, (-9.0, 0.0))]
)
def test_coulombs_law_lets_go_of_what_is_kicked(first: float, kick: tuple[float, ...]) -> None:
    names = ["x", "y"][: len(kick)]
    q = ds.coordinates(**dict.fromkeys([*names, "z"], "m"))
    speeds = [getattr(q.dot, name) for name in names]
    floor = ds.Holonomic("floor", q.z)
    rubs = ds.multibody.Coulomb(MU).act("pad", ca.vertcat(*speeds), floor.reaction)
    changes = {f"{n}_dot": v + dv for n, v, dv in zip(names, speeds, kick, strict=True)}
    system = ds.MechanicalSystem(
        q,
        kinetic=(ca.sumsqr(ca.vertcat(*speeds)) + q.dot.z**2) / 2,
        potential=G * q.z,
        force=dict(zip(names, ca.vertsplit(rubs.force), strict=True)),
        goals=[floor, *rubs.goals],
        discrete=rubs.discrete,
        events=[ds.Event("kick", ds.time - AT, ds.RISING, ds.Reset(changes)), *rubs.events],
    )
    start = dict.fromkeys([*names, "z", *(f"{n}_dot" for n in [*names, "z"])], 0.0)
    run = ds.solve(system, AT + AFTER, initial=start | {"x_dot": first})
    slip, _ = expected(first, (*kick, 0.0), 0.0)
    end = [run.end_state[f"{n}_dot"] for n in names]
    np.testing.assert_allclose(end, slip, rtol=0.0, atol=EXACT)
    assert not run.audit().contradictions


@pytest.mark.parametrize("mu", [0.0, MU])
@pytest.mark.parametrize("given", [{"z": 1.0}, {"z_dot": 1.0}, {"z_dot": -1.0}])
def test_a_contact_of_a_stepped_motion_opens_where_the_state_that_is_set_leaves_it(
    given: dict[str, float], mu: float
) -> None:
    q = ds.coordinates(x="m", z="m")
    slip = {"slip": q.dot.x, "friction": mu} if mu else {}
    floor = ds.Contact("floor", q.z, restitution=0.5, **slip)
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.z**2) / 2, potential=G * q.z, goals=[floor]
    )
    run = ds.Simulator(system, dict.fromkeys(["x", "z", "x_dot", "z_dot"], 0.0))
    run.step(0.1)
    run.set_state(given)
    values = run.step(AFTER)
    speed = given.get("z_dot", 0.0)
    speed = -0.5 * speed if speed < 0.0 else speed
    height = given.get("z", 0.0) + speed * AFTER - G * AFTER**2 / 2
    assert values["z"] == pytest.approx(height, abs=EXACT)
    assert values["z_dot"] == pytest.approx(speed - G * AFTER, abs=EXACT)
