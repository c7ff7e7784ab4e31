"""Laws of dry friction and contacts that hold one slip, beside one law under all their limits."""

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.posing.brakes import brakes_of
from daesolve.multibody.friction_laws import Coulomb

GRAVITY = 9.81
PUSH = 5.0 * ca.sin(ds.time)
PULSING = ca.fmax(5.0 * ca.sin(3.0 * ds.time), 0.0)


class Rub(NamedTuple):
    """Dry friction: mu, mu_s, its load ("floor" bears the weight), its slip over x', its belt."""

    slides: float
    sticks: float
    load: ca.SX | float | str
    ratio: float = 1.0
    belt: ca.SX | float = 0.0


def block(floor: Rub | None, rubs: Sequence[Rub], *, smooth: bool = False) -> ds.MechanicalSystem:
    """Return a block of 1 kg on a floor that rubs or not, with brakes, under a push."""
    q = ds.coordinates(x="m", y="m")
    ground = ds.Contact("ground", q.y) if smooth else ds.Holonomic("ground", q.y)
    if floor is not None:
        slip = floor.ratio * q.dot.x - floor.belt
        ground = ds.Contact(
            "ground", q.y, slip=slip, friction=floor.slides, static_friction=floor.sticks
        )
    acting = [
        Coulomb(rub.slides, rub.sticks).act(
            f"rub{k}",
            rub.ratio * q.dot.x - rub.belt,
            ground.reaction if isinstance(rub.load, str) else ca.SX(rub.load),
        )
        for k, rub in enumerate(rubs)
    ]
    along = [rub.ratio * one.force for rub, one in zip(rubs, acting, strict=True)]
    return ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=GRAVITY * q.y,
        force={"x": PUSH + sum(along, ca.SX(0))},
        goals=[ground, *(goal for one in acting for goal in one.goals)],
        discrete=[one.discrete for one in acting],
        events=[event for one in acting for event in one.events],
        meters={f"lost{k}": (one.power, "J") for k, one in enumerate(acting)},
    )


def moved(system: ds.MechanicalSystem, solver: ds.solvers.Solver | None = None) -> ds.Trajectory:
    at = np.linspace(0.0, 14.0, 141)
    start = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    options = {} if solver is None else {"solver": solver}
    return ds.solve(system, 14.0, start, at=at, **options)


def assert_alike(one: ds.Trajectory, other: ds.Trajectory) -> None:
    """Hold two motions and the instants of their events against each other."""
    assert one.outcome is other.outcome is ds.Outcome.COMPLETED
    times = [{round(e.time, 9) for e in run.events if e.name != "rest"} for run in (one, other)]
    assert times[0] == times[1]
    assert len(times[0]) > 2
    for name in ("x", "x_dot"):
        np.testing.assert_allclose(one[name], other[name], rtol=0.0, atol=1e-12)
    assert not one.audit().contradictions


FLOOR = Rub(0.1, 0.12, "floor")
WEIGHT = GRAVITY
BELT = 0.3 * ca.sin(2.0 * ds.time)
TOGETHER = {
    "brake and floor": (FLOOR, [Rub(0.2, 0.3, 5.0)]),
    "two brakes and floor": (FLOOR, [Rub(0.2, 0.3, 5.0), Rub(0.05, 0.06, 7.0)]),
    "brake on twice the slip": (FLOOR, [Rub(0.1, 0.11, 5.0, -2.0)]),
    "floor on three times the slip": (
        Rub(0.04, 0.05, "floor", 3.0),
        [Rub(0.1, 0.11, 5.0, -2.0)],
    ),
    "brake without friction": (FLOOR, [Rub(0.0, 0.0, 5.0)]),
    "floor without friction": (Rub(0.0, 0.0, "floor"), [Rub(0.2, 0.3, 5.0)]),
    "brake that lets go": (Rub(0.1, 0.1, "floor"), [Rub(0.1, 0.1, PULSING)]),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_a_floor_and_brakes_hold_a_block_as_one_law_under_the_sum_of_their_limits(case):
    floor, rubs = TOGETHER[case]
    all_of_them = [floor, *rubs]
    loads = [WEIGHT if isinstance(one.load, str) else one.load for one in all_of_them]
    each = [abs(one.ratio) * load for one, load in zip(all_of_them, loads, strict=True)]
    slides = [one.slides * load for one, load in zip(all_of_them, each, strict=True)]
    sticks = [one.sticks * load for one, load in zip(all_of_them, each, strict=True)]
    varies = isinstance(sum(slides), ca.SX)
    merged = Rub(1.0, 1.0, sum(slides)) if varies else Rub(sum(slides), sum(sticks), 1.0)
    together = block(floor, rubs)
    assert len(brakes_of(together)) == len(rubs)
    run, other = moved(together), moved(block(None, [merged]))
    assert_alike(run, other)
    if varies:
        return
    # Each loses its part of the whole: no slip, no work.
    works = ["ground_friction_work", *(f"lost{k}" for k in range(len(rubs)))]
    for name, own in zip(works, slides, strict=True):
        assert run[name][-1] == pytest.approx(own / sum(slides) * other["lost0"][-1], abs=1e-11)


def test_smooth_floors_leave_brakes_alone():
    brakes = [Rub(0.2, 0.3, 5.0), Rub(0.05, 0.06, 7.0, -2.0)]
    merged = Rub(1.7, 2.34, 1.0)
    assert_alike(moved(block(None, brakes, smooth=True)), moved(block(None, [merged])))


@pytest.mark.parametrize("belt", [0.3, BELT], ids=["steady", "swinging"])
def test_a_brake_beside_a_belt_holds_where_the_belt_does_not(belt):
    """The load of one is that of a floor, of another given, of a third that of a contact."""
    belted = Rub(0.1, 0.12, "floor", 1.0, belt)
    given, brake = Rub(0.1, 0.12, WEIGHT, 1.0, belt), Rub(0.1, 0.15, 5.0)
    runs = [
        moved(block(None, [belted, brake])),
        moved(block(None, [given, brake])),
        moved(block(belted, [brake])),
    ]
    assert_alike(runs[0], runs[1])
    assert_alike(runs[2], runs[1])


@pytest.mark.parametrize("solver", [ds.Dop853(), ds.RadauIIA()], ids=lambda solver: solver.name)
def test_other_solvers_decide_on_brakes_alike(solver):
    floor, rubs = TOGETHER["brake and floor"]
    tolerance = 1e-12 if solver.name == "dop853" else 1e-9
    one, other = moved(block(floor, rubs)), moved(block(floor, rubs), solver)
    np.testing.assert_allclose(one["x"], other["x"], rtol=0.0, atol=tolerance)
    assert not other.audit().contradictions


def geared(ratio: float | None, *, far: bool = False) -> ds.MechanicalSystem:
    """Return two bodies with a brake each, coupled by a gear, or by a rod from x to z."""
    q = ds.coordinates(x="m", z="m")
    rod = (q.z - q.x) ** 2 - 1.0 if ratio is None else q.z - ratio * q.x
    couples = ds.Holonomic("couples", rod)
    rubs = [
        Coulomb(0.2, 0.22).act("first", q.dot.x, ca.SX(5.0)),
        Coulomb(0.1, 0.15).act("second", q.dot.z, ca.SX(20.0)),
    ]
    goals = [couples, *(goal for rub in rubs for goal in rub.goals)]
    if far:
        goals.append(ds.Contact("far", 100.0 - q.x, closed=False))
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2 + q.dot.z**2,
        force=ca.vertcat(3.0 * PUSH + rubs[0].force, rubs[1].force),
        goals=goals,
        discrete=[rub.discrete for rub in rubs],
        events=[event for rub in rubs for event in rub.events],
    )


@pytest.mark.parametrize("far", [False, True], ids=["laws alone", "beside a contact"])
@pytest.mark.parametrize("ratio", [None, -2.5, 0.4])
def test_brakes_on_bodies_that_a_constraint_couples_act_as_one(ratio, far):
    gear = 1.0 if ratio is None else ratio
    q = ds.coordinates(x="m")
    slides, sticks = 1.0 + abs(gear) * 2.0, 1.1 + abs(gear) * 3.0
    law = Coulomb(slides, sticks).act("one", q.dot.x, ca.SX(1.0))
    alone = ds.MechanicalSystem(
        q,
        kinetic=(1.0 + 2.0 * gear**2) * q.dot.x**2 / 2,
        force={"x": 3.0 * PUSH + law.force},
        goals=law.goals,
        discrete=law.discrete,
        events=law.events,
    )
    at = np.linspace(0.0, 14.0, 141)
    start = {"x": 0.0, "z": 1.0 if ratio is None else 0.0, "x_dot": 0.0, "z_dot": 0.0}
    one = ds.solve(geared(ratio, far=far), 14.0, start, at=at)
    assert_alike(one, ds.solve(alone, 14.0, {"x": 0.0, "x_dot": 0.0}, at=at))


def test_a_brake_whose_friction_loads_its_guide_has_the_load_that_comes_with_it():
    """Up a ramp of slope 1/2 the load is less than down it; beside a contact it is the same."""
    runs = []
    for far in (False, True):
        q = ds.coordinates(x="m", y="m")
        ramp = ds.Holonomic("ramp", q.y - q.x / 2)
        rub = Coulomb(0.3, 0.4).act("rub", q.dot.x, ramp.reaction)
        goals = [ramp, *rub.goals, *([ds.Contact("far", 100.0 - q.x, closed=False)] * far)]
        system = ds.MechanicalSystem(
            q,
            kinetic=ca.sumsqr(q.dot.vector) / 2,
            force={"x": rub.force + 12.0 * ca.sin(ds.time), "y": -10.0},
            goals=goals,
            discrete=rub.discrete,
            events=rub.events,
        )
        assert bool(brakes_of(system)) is far
        runs.append(moved(system))
    assert_alike(runs[1], runs[0])


def test_impacts_move_a_body_that_a_brake_holds():
    """Two equal masses: the brake bears no impulse, and then takes 1 m/s in 0.5 m at 1 m/s^2."""
    q = ds.coordinates(x="m", z="m")
    rub = Coulomb(1.0).act("rub", q.dot.z, ca.SX(1.0))
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        force={"z": rub.force},
        goals=[ds.Contact("meet", q.z - q.x, restitution=1.0, closed=False), *rub.goals],
        discrete=rub.discrete,
        events=rub.events,
    )
    start = {"x": -1.0, "z": 0.0, "x_dot": 1.0, "z_dot": 0.0}
    run = ds.solve(system, 3.0, start)
    assert [(event.name, event.time) for event in run.events if event.name != "rest"] == [
        ("meet_closed", pytest.approx(1.0, abs=1e-12)),
        ("rub_slips", pytest.approx(1.0, abs=1e-12)),
        ("rub_sticks", pytest.approx(2.0, abs=1e-12)),
    ]
    assert run.end_state["z"] == pytest.approx(0.5, abs=1e-12)
    assert run.end_state["x"] == pytest.approx(0.0, abs=1e-12)
    assert not run.audit().contradictions


@pytest.mark.parametrize("along", [["x", "y"], ["x"], ["x", "turn"], ["turn"]])
def test_a_law_that_holds_the_slip_of_a_contact_in_space_is_refused(along):
    """Their limits are of one vector, of which each would bear a part that nothing tells."""
    q = ds.coordinates(x="m", y="m", z="m", turn="rad")
    ground = ds.Contact("ground", q.z, slip=(q.dot.x, q.dot.y), friction=0.3)
    slip = ca.vertcat(*[q.dot[name] for name in along])
    rub = Coulomb(0.2).act("rub", slip, ca.SX(4.0))
    posed = {
        "kinetic": ca.sumsqr(q.dot.vector) / 2,
        "potential": GRAVITY * q.z,
        "force": dict(zip(along, ca.vertsplit(rub.force), strict=True)),
        "goals": [ground, *rub.goals],
        "discrete": rub.discrete,
        "events": rub.events,
    }
    if along == ["turn"]:  # Another slip: they have nothing to do with each other.
        ds.MechanicalSystem(q, **posed)
        return
    with pytest.raises(ds.errors.UnsupportedError, match="'rub' and the contact 'ground' hold the"):
        ds.MechanicalSystem(q, **posed)
