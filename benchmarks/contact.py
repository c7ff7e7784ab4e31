"""What contacts with friction cost, and how bodies come to rest compared with MuJoCo.

The first table shows processor microseconds for 1 to 24 contacts. Single calls: one decision on
coupled contacts at rest in the plane, one in space, one for a body on so many feet, whose loads are
not determined, and one impact by Newton's and by Poisson's law in the plane. Whole runs: one
instant at which blocks on a shaking table stick or slip, and one at which balls that fall side by
side strike the floor together. The latter two include the integration between the instants.

The second table follows a block that is thrown on a level plane, tips, and rocks to rest. It shows
the error of the resting position, against digits on which two programs agree, and the processor
seconds of a run after its preparation. MuJoCo's contacts are as hard as its documentation allows,
with elliptic cones. The ratio compares each setting with daesolve's cheapest setting whose error
is no larger. Without MuJoCo, its rows are left out: `pip install -e ".[benchmarks]"` adds it.

The third table shows the same for a box in space that is thrown, spins, lands on corners, an edge
and a face, and slides to rest. The reference for its resting position comes from event-driven
integration by another solver, which shares no steps with the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.contact.decisions import Contacts, collide, decide
from daesolve.contact.friction import moreau
from daesolve.multibody import Body, Mechanism, corners, feet

from .common.attempts import untyped
from .common.conditions import as_json, conditions
from .common.options import add_json, add_repeats, add_update, options, whole
from .common.tables import aligned, markdown, update
from .common.timing import in_turn, processor_seconds

COUNTS = (1, 2, 4, 8, 16, 24)
MOST_IN_RUNS = 8
"""The number of contacts up to which whole runs are measured."""
MARK, PAGE = "contact", "docs/benchmarks/contacts.md"
REST, UNTIL = 0.031718329657, 1.7
"""The block's resting position, m, and the horizon, s."""
HALF_WIDTH, HEIGHT, FRICTION, SPEED = 0.1, 0.2, 0.7, 1.0
BOX, ROUGH, THROWN, SPIN = 0.1, 0.4, (1.0, 0.5, 0.0), (3.0, -2.0, 5.0)
"""The box: half an edge, m; friction; initial m/s and rad/s, 0.5 m above the floor."""
STEPS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5)
PEER_STEPS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
FRICTION_LEFT = 1e4
"""MuJoCo's `impratio`, the hardness of friction over that of the normal force; limits creep."""
ENOUGH = 3.0
"""s; repeats stop after this time."""


@dataclass(frozen=True)
class Cost:
    """Processor microseconds for a number of contacts.

    Parameters
    ----------
    contacts
        Their number.
    decision, spatial, feet, newton, poisson
        Each for one call.
    switch, impact
        Each for one instant in a run; None for many contacts.
    """

    contacts: int
    decision: float
    spatial: float
    feet: float
    newton: float
    poisson: float
    switch: float | None
    impact: float | None


@dataclass(frozen=True)
class Rest:
    """How a body came to rest.

    Parameters
    ----------
    body
        Which: "block" or "box".
    method, setting
        The program's method and its setting.
    error
        Error of the position, m.
    seconds
        Processor seconds.
    """

    body: str
    method: str
    setting: str
    error: float
    seconds: float


def each(run: Callable[[], object], times: int) -> float:
    """Return the processor microseconds of one call, averaged over `times` calls."""
    run()
    spent, _ = processor_seconds(lambda: [run() for _ in range(times)])
    return 1e6 * spent / times


def calls(count: int, times: int) -> tuple[float, ...]:
    """Return the microseconds of three decisions and of two impacts for contacts at rest."""
    random = np.random.default_rng(count)
    rows = random.normal(size=(2 * count, 2 * count + 2))
    contacts = Contacts(rows @ rows.T, np.full(count, 0.3))
    free = random.normal(size=2 * count) - np.repeat([1.0, 0.0], count)
    rows = random.normal(size=(3 * count, 3 * count + 2))
    spatial = Contacts(rows @ rows.T, np.full(count, 0.3), directions=2)
    freely = random.normal(size=3 * count) - np.repeat([1.0, 0.0], [count, 2 * count])
    feet, loads = standing(count)
    return (
        each(lambda: decide(contacts, free), times),
        each(lambda: decide(spatial, freely), times),
        each(lambda: decide(feet, loads), times),
        each(lambda: collide(contacts, free, "newton", 0.5, on_gain="report"), times),
        each(lambda: collide(contacts, free, "poisson", 0.5, on_gain="report"), times),
    )


def standing(count: int) -> tuple[Contacts, np.ndarray]:
    """Return a body on feet in a ring that a push would slide, and the rates without reactions."""
    angles = 0.1 + 2.0 * np.pi * np.arange(count) / count
    x, y, z = 0.1 * np.cos(angles), 0.1 * np.sin(angles), -0.1
    none, one = np.zeros(count), np.ones(count)
    normal = np.column_stack([none, none, one, y, -x, none])
    tangent = np.stack(
        [
            np.column_stack([one, none, none, none, z * one, -y]),
            np.column_stack([none, one, none, -z * one, none, x]),
        ],
        axis=1,
    ).reshape(2 * count, 6)
    mass = np.diag([1.0, 1.0, 1.0, 0.02, 0.02, 0.02])
    contacts = Contacts.of_rows(mass, normal, tangent, 0.4)
    push = np.array([1.0, 0.5, -9.81, 0.0, 0.0, 0.0])
    return contacts, np.vstack([normal, tangent]) @ push


def shaken(count: int) -> ds.MechanicalSystem:
    """Pose blocks with different friction on a shaking table."""
    q = ds.coordinates(**{f"{axis}_{k}": "m" for k in range(count) for axis in "xy"})
    table = 0.3 * ca.sin(20.0 * ds.time)
    feet = [
        ds.Contact(f"foot_{k}", q[f"y_{k}"], slip=q.dot[f"x_{k}"] - table, friction=0.3 + 0.01 * k)
        for k in range(count)
    ]
    weight = 9.81 * ca.sum1(ca.vertcat(*[q[f"y_{k}"] for k in range(count)]))
    return ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=weight, goals=feet)


def falling(count: int) -> ds.MechanicalSystem:
    """Pose balls that fall side by side."""
    q = ds.coordinates(**{f"{axis}_{k}": "m" for k in range(count) for axis in "xy"})
    floors = [
        ds.Contact(
            f"ball_{k}", q[f"y_{k}"], slip=q.dot[f"x_{k}"], friction=0.3, restitution=0.95,
            closed=False,
        )
        for k in range(count)
    ]  # fmt: skip
    weight = 9.81 * ca.sum1(ca.vertcat(*[q[f"y_{k}"] for k in range(count)]))
    return ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=weight, goals=floors
    )


def instant(system: ds.MechanicalSystem, start: dict[str, float], repeats: int) -> float:
    """Return the processor microseconds per instant of a run, the least of several."""

    def run() -> ds.Trajectory:
        return ds.solve(system, 4.0, start, at=[4.0])

    instants = len({event.time for event in run().events})
    spent = in_turn({"run": lambda: processor_seconds(run)[0]}, repeats)["run"]
    return 1e6 * min(spent) / instants


def cost(count: int, times: int, repeats: int) -> Cost:
    """Measure this number of contacts."""
    places = [f"{axis}_{k}" for k in range(count) for axis in "xy"]
    still = dict.fromkeys([*places, *(name.replace("_", "_dot_") for name in places)], 0.0)
    thrown = still | {f"y_{k}": 1.0 for k in range(count)}
    thrown |= {f"x_dot_{k}": 1.0 for k in range(count)}
    found = calls(count, times)
    if count > MOST_IN_RUNS:
        return Cost(count, *found, switch=None, impact=None)
    return Cost(
        count,
        *found,
        switch=instant(shaken(count), still, repeats),
        impact=instant(falling(count), thrown, repeats),
    )


# -- a block that comes to rest -------------------------------------------------------------------


def rests(repeats: int, *, short: bool) -> list[Rest]:
    """Bring a block to rest by event-driven integration, by Moreau's steps, and by MuJoCo."""
    case = ds.problem("block").case("tips")
    guess, initial = case.guess()
    start, system = {**guess, **initial}, case.system
    assert isinstance(system, ds.MechanicalSystem)
    runs: dict[tuple[str, str], Callable[[], float]] = {
        ("daesolve, events", solver): lambda solver=solver: float(
            case.solve(until=UNTIL, at=[UNTIL], solver=solver)["x"][-1]
        )
        for solver in ("taylor", "dop853")
    }
    for step in STEPS[:1] if short else STEPS:
        runs["daesolve, Moreau", f"step {step:g}"] = lambda step=step: float(
            moreau(system, start, UNTIL, step, case.values)["x"][-1]
        )
    peer = _installed("mujoco")
    if peer is not None:
        for step in PEER_STEPS[:1] if short else PEER_STEPS:
            for method in ("implicitfast", "RK4"):
                runs[f"MuJoCo, {method}", f"step {step:g}"] = _thrown(peer, method, step)
    return [_rest("block", *name, run, np.array([REST]), repeats) for name, run in runs.items()]


def _rest(
    body: str, method: str, setting: str, run: Callable[[], Any], known: np.ndarray, repeats: int
) -> Rest:
    place = np.atleast_1d(run())
    measured: list[float] = []
    while len(measured) < repeats and sum(measured) < ENOUGH:
        measured.append(processor_seconds(run)[0])
    return Rest(body, method, setting, float(np.max(np.abs(place - known))), min(measured))


def _installed(name: str) -> Any:
    try:
        return untyped(name)
    except ImportError:
        return None


def thrown_box() -> Mechanism:
    """Return the box over its floor; its eight corners are contacts."""
    inertia = (2 * BOX) ** 2 / 6
    box = Body(
        "box", 1.0, (inertia,) * 3, position=(0, 0, 0.5), velocity=THROWN, angular_velocity=SPIN
    )
    floor = feet("corner", corners(box, (2 * BOX,) * 3), friction=ROUGH, closed=False)
    return Mechanism([box], list(floor), gravity=(0, 0, -9.81))


def boxes(repeats: int, *, short: bool) -> list[Rest]:
    """Bring a box in space to rest by event-driven integration, Moreau's steps, and MuJoCo."""
    mechanism = thrown_box()
    system, start, until = mechanism.system(), mechanism.start, 1.0
    springs: dict[str, Any] = {"guess": start, "redundant": "minimum-norm", "at": [until]}

    def place(states: Any) -> np.ndarray:
        return np.array([states[f"box_{axis}"][-1] for axis in "xyz"])

    by_events = {
        solver: lambda solver=solver: place(ds.solve(system, until, solver=solver, **springs))
        for solver in ("taylor", "dop853")
    }
    known = {"taylor": by_events["dop853"](), "dop853": by_events["taylor"]()}
    found = [
        _rest("box", "daesolve, events", solver, run, known[solver], repeats)
        for solver, run in by_events.items()
    ]
    truth = known["dop853"]
    for step in STEPS[:1] if short else STEPS[:3]:
        stepped = lambda step=step: place(moreau(system, start, until, step))  # noqa: E731
        found.append(_rest("box", "daesolve, Moreau", f"step {step:g}", stepped, truth, repeats))
    peer = _installed("mujoco")
    for step in () if peer is None else PEER_STEPS[:1] if short else PEER_STEPS:
        for method in ("implicitfast", "RK4"):
            run = _thrown_in_space(peer, method, step, until)
            found.append(_rest("box", f"MuJoCo, {method}", f"step {step:g}", run, truth, repeats))
    return found


def _thrown_in_space(
    mujoco: Any, integrator: str, step: float, until: float
) -> Callable[[], np.ndarray]:
    body = f'''<body pos="0 0 0.5"><freejoint/>
        <geom type="box" size="{BOX} {BOX} {BOX}" mass="1" {hard(ROUGH, step)}/></body>'''
    model = mujoco.MjModel.from_xml_string(model_text(integrator, step, ROUGH, body))
    data = mujoco.MjData(model)

    def run() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        data.qvel[:3], data.qvel[3:] = THROWN, SPIN
        mujoco.mj_step(model, data, round(until / step))
        return np.array(data.qpos[:3])

    return run


def hard(friction: float, step: float) -> str:
    """Return a geometry's attributes for contacts as hard as MuJoCo's documentation allows."""
    return f'friction="{friction} 0 0" solref="{2 * step} 1" solimp="0.9999 0.9999 0.001 0.5 2"'


def model_text(integrator: str, step: float, friction: float, body: str) -> str:
    """Return a body on a floor in MuJoCo's own XML."""
    return (
        f'<mujoco><option gravity="0 0 -9.81" timestep="{step}" integrator="{integrator}" '
        f'cone="elliptic" impratio="{FRICTION_LEFT}" solver="Newton" tolerance="1e-15" '
        f'iterations="100"/><worldbody><geom type="plane" size="5 5 1" {hard(friction, step)}/>'
        f"{body}</worldbody></mujoco>"
    )


def _thrown(mujoco: Any, integrator: str, step: float) -> Callable[[], float]:
    """Throw the block: in a plane, by two slides and a hinge."""
    body = (
        f'<body pos="0 0 {HEIGHT}"><joint type="slide" axis="1 0 0"/>'
        '<joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>'
        f'<geom type="box" size="{HALF_WIDTH} 0.05 {HEIGHT}" mass="1" {hard(FRICTION, step)}/>'
        "</body>"
    )
    model = mujoco.MjModel.from_xml_string(model_text(integrator, step, FRICTION, body))
    data = mujoco.MjData(model)
    count = round(UNTIL / step)

    def run() -> float:
        mujoco.mj_resetData(model, data)
        data.qvel[0] = SPEED
        mujoco.mj_step(model, data, count)
        return float(data.qpos[0])

    return run


# -- tables ---------------------------------------------------------------------------------------


def cost_rows(found: list[Cost]) -> list[list[str]]:
    """Return the first table."""
    return [
        [
            str(one.contacts),
            *(f"{us:.0f}" for us in (one.decision, one.spatial, one.feet)),
            *(f"{us:.0f}" for us in (one.newton, one.poisson)),
            *("" if us is None else f"{us:.0f}" for us in (one.switch, one.impact)),
        ]
        for one in found
    ]


def rest_rows(found: list[Rest]) -> list[list[str]]:
    """Return the second table, with the ratio to daesolve's cheapest setting of equal accuracy."""
    own = [one for one in found if one.method.startswith("daesolve")]
    rows: list[list[str]] = []
    for one in found:
        as_exact = [other.seconds for other in own if other.error <= one.error]
        ratio = f"{one.seconds / min(as_exact):.2g}" if as_exact else "none as exact"
        rows.append([one.method, one.setting, f"{one.error:.1e}", f"{one.seconds:.4f}", ratio])
    return rows


COSTS = [
    "contacts",
    "decision, us",
    "in space, us",
    "on feet, us",
    "newton, us",
    "poisson, us",
    "a switch, us",
    "an impact, us",
]
RESTS = ["method", "setting", "error, m", "s", "s / daesolve"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.contact", __doc__)
    help_text = f"number of contacts; repeatable ({', '.join(map(str, COUNTS))})"
    parser.add_argument("--contacts", type=whole, action="append", metavar="N", help=help_text)
    parser.add_argument(
        "--calls", type=whole, default=100, metavar="N", help="calls of each decision (%(default)s)"
    )
    parser.add_argument("--short", action="store_true", help="only the coarsest steps")
    add_repeats(parser, 3, "runs of each; the shortest time counts")
    add_json(parser)
    add_update(parser, MARK, PAGE)
    return parser


def main() -> None:
    """Measure, print the results, and write the requested files."""
    given = parser().parse_args()
    known = conditions("mujoco", "scipy")
    costs = [cost(n, given.calls, given.repeats) for n in given.contacts or COUNTS]
    rested = rests(given.repeats, short=given.short)
    boxed = boxes(given.repeats, short=given.short)
    rows = [(COSTS, cost_rows(costs)), (RESTS, rest_rows(rested)), (RESTS, rest_rows(boxed))]
    print("\n\n".join([str(known), *(aligned(*one) for one in rows)]))
    if given.json:
        given.json.write_text(as_json(known, [*costs, *rested, *boxed]))
    if given.update:
        update(given.update, MARK, "\n\n".join([str(known), *(markdown(*one) for one in rows)]))


if __name__ == "__main__":
    main()
