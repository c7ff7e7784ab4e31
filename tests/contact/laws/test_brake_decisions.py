"""Laws of dry friction beside contacts: a valve on its stem, beside hand-written event code."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.friction_laws import Coulomb
from tests.reference import valve as reference

LOAD = 20.0
SLIDES, STICKS = reference.SLIDES / LOAD, reference.STICKS / LOAD


def valve(form: str, restitution: float) -> ds.MechanicalSystem:
    """Return the valve of `tests/reference/valve.py`, with the friction of its stem as posed."""
    q = ds.coordinates(x="m", y="m")
    seat = ds.Contact("seat", q.x, restitution=restitution, closed=False)
    stop = ds.Contact("stop", reference.TOP - q.x, restitution=restitution, closed=False)
    rough = {"rough": 1.0, "half": 0.5}.get(form, 0.0)
    guide = ds.Holonomic("guide", q.y)
    if rough:
        slides, sticks = rough * SLIDES, rough * STICKS
        guide = ds.Contact("guide", q.y, slip=q.dot.x, friction=slides, static_friction=sticks)
    law = Coulomb(SLIDES, STICKS)
    loads = {
        "given": {"stem": ca.SX(LOAD)},
        "reaction": {"stem": guide.reaction},
        "two": {"stem": ca.SX(0.3 * LOAD), "packing": ca.SX(0.7 * LOAD)},
        "half": {"stem": ca.SX(0.5 * LOAD)},
    }
    rubs = [law.act(name, q.dot.x, load) for name, load in loads.get(form, {}).items()]
    pressure = reference.PUSH + reference.PULSE * ca.sin(reference.OMEGA * ds.time)
    return ds.MechanicalSystem(
        q,
        kinetic=reference.MASS * ca.sumsqr(q.dot.vector) / 2,
        potential=reference.STIFFNESS * q.x**2 / 2,
        force={"x": pressure + sum((rub.force for rub in rubs), ca.SX(0)), "y": -LOAD},
        goals=[seat, stop, guide, *(goal for rub in rubs for goal in rub.goals)],
        discrete=[rub.discrete for rub in rubs],
        events=[event for rub in rubs for event in rub.events],
    )


def stroked(form: str, restitution: float, until: float, **options) -> ds.Trajectory:
    start = {"x": reference.START, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    at = np.linspace(0.0, until, 401)
    return ds.solve(valve(form, restitution), until, start, at=at, **options)


def instants(run: ds.Trajectory) -> np.ndarray:
    """Return when anything happens, without the end of bounces that are left out."""
    ends = ("accumulated", "rest")
    return np.unique([event.time for event in run.events if event.name not in ends])


@pytest.mark.slow
@pytest.mark.long_rows("0.3")
@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_a_valve_with_dry_friction_on_its_stem_makes_a_hundred_strokes(restitution):
    """Bounces below 1e-12 m are left out: they begin slower than 1e-4 m/s, and last 1e-6 s."""
    truth, run = reference.motion(restitution, 10.0), stroked("given", restitution, 10.0)
    assert run.outcome is ds.Outcome.COMPLETED
    assert len(truth.impacts) >= 100
    struck = np.array([time for time, _ in truth.impacts])
    known, own = np.sort([*struck, *truth.switchings]), instants(run)
    near = np.clip(np.searchsorted(known, own), 1, len(known) - 1)
    apart = np.minimum(np.abs(known[near] - own), np.abs(known[near - 1] - own))
    assert np.max(apart) < 1e-9
    hard = np.array([time for time, speed in truth.impacts if speed > 1e-4])
    meant = [t for t in truth.switchings if np.min(np.abs(struck - t)) > 1e-6]
    for times in (hard, meant):
        assert max(np.min(np.abs(own - t)) for t in times) < 1e-9
    states = np.array([truth.state(t) for t in run.times])
    np.testing.assert_allclose(run["x"], states[:, 0], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(run["x_dot"], states[:, 1], rtol=0.0, atol=1e-9)
    assert not run.audit().contradictions


@pytest.mark.slow
@pytest.mark.parametrize("form", ["reaction", "rough", "two", "half"])
def test_however_the_friction_of_the_stem_is_posed_the_valve_moves_alike(form):
    runs = [stroked(one, 0.0, 0.6) for one in ("given", form)]
    assert instants(runs[1]) == pytest.approx(instants(runs[0]), abs=1e-12)
    for name in ("x", "x_dot"):
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=0.0, atol=1e-12)
    assert not runs[1].audit().contradictions
    said = [note for note in runs[1].notes if "share their load" in note]
    assert len({note.split(" s on, ")[1] for note in said}) == len(said) == 2


@pytest.mark.slow
@pytest.mark.parametrize("solver", [ds.Dop853(), ds.RadauIIA()], ids=lambda solver: solver.name)
def test_the_valve_moves_alike_with_every_solver(solver):
    truth = reference.motion(0.0, 0.6)
    run = stroked("two", 0.0, 0.6, solver=solver, verify=solver.name == "dop853")
    assert run.outcome is ds.Outcome.COMPLETED
    assert len(instants(run)) == len({*(t for t, _ in truth.impacts), *truth.switchings})
    states = np.array([truth.state(t) for t in run.times])
    np.testing.assert_allclose(run["x"], states[:, 0], rtol=0.0, atol=1e-9)
    assert not run.audit().contradictions


def shaken(seed: int, *, apart: bool) -> ds.Trajectory:
    """Return a random block on a floor, between walls, with brakes on the ground and on a belt.

    The brakes are posed apart, with slips that are multiples, or as one law for each slip.
    """
    draw = np.random.default_rng(seed)
    q = ds.coordinates(x="m", y="m")
    mu, more, restitution = draw.choice([0.0, 0.1, 0.2]), draw.choice([1.0, 1.3]), 0.4
    stiffness, belt, start = draw.choice([0.0, 30.0]), draw.choice([0.2, -0.1]), draw.choice([0, 1])
    rough = {"slip": q.dot.x, "friction": mu, "static_friction": more * mu} if mu else {}
    goals = [ds.Contact("floor", q.y, **rough)]
    if draw.random() < 0.7:
        goals.append(ds.Contact("wall", 0.3 - q.x, restitution=restitution, closed=False))
    push = draw.uniform(2.0, 9.0) * ca.sin(draw.uniform(0.7, 3.0) * ds.time) + draw.uniform(-2, 2)
    brakes = [
        (
            draw.choice([0.1, 0.3]),
            draw.choice([1.0, 1.2]),
            draw.uniform(1.0, 6.0) * (1.0 + draw.integers(2) * ca.sin(2.0 * ds.time)),
            draw.choice([1.0, -1.0, 2.0]),
            belt * draw.integers(2),
        )
        for _ in range(draw.integers(2, 5))
    ]
    posed = [(mu, rise * mu, load, ratio, at) for mu, rise, load, ratio, at in brakes]
    if not apart:
        posed = []
        for at in {own[-1] for own in brakes}:
            parts = [own for own in brakes if own[-1] == at]
            slides = sum(mu * load * abs(ratio) for mu, _, load, ratio, _ in parts)
            sticks = sum(mu * rise * load * abs(ratio) for mu, rise, load, ratio, _ in parts)
            posed.append((1.0, sticks / slides, slides, 1.0, at))
    rubs = [
        Coulomb(mu, static).act(f"brake{k}", ratio * (q.dot.x - at), ca.SX(load))
        for k, (mu, static, load, ratio, at) in enumerate(posed)
    ]
    along = [ratio * rub.force for rub, (_, _, _, ratio, _) in zip(rubs, posed, strict=True)]
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=stiffness * q.x**2 / 2 + 10.0 * q.y,
        force={"x": push + sum(along, ca.SX(0))},
        goals=[*goals, *(goal for rub in rubs for goal in rub.goals)],
        discrete=[rub.discrete for rub in rubs],
        events=[event for rub in rubs for event in rub.events],
    )
    first = {"x": 0.0, "y": 0.0, "x_dot": 0.5 * float(start), "y_dot": 0.0}
    return ds.solve(system, 5.0, first, at=np.linspace(0.0, 5.0, 51))


@pytest.mark.slow
def test_brakes_that_are_posed_apart_move_random_blocks_as_one_law_for_each_slip_does():
    """They are decided from other numbers of contacts, through other families of reactions.

    Instants are known to spacings of numbers; where bounces follow each other they add up.
    """
    for seed in range(12):
        runs = [shaken(seed, apart=apart) for apart in (True, False)]
        assert [run.outcome for run in runs] == [ds.Outcome.COMPLETED] * 2, seed
        for name in ("x", "x_dot"):
            np.testing.assert_allclose(
                runs[0][name], runs[1][name], rtol=0.0, atol=1e-10, err_msg=str(seed)
            )
        assert not runs[0].audit().contradictions, seed
