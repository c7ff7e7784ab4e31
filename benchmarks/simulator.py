"""What a step from Python costs, compared with MuJoCo's `mj_step`.

A force changes at each step and is held over it. The error is that of the final state, against the
same steps by dop853 at a tolerance of 1e-13. MuJoCo divides each step into smaller and smaller
steps of its Runge-Kutta method; its loops are soft, and as hard as possible here. daesolve monitors
each step as in a run, and records nothing. Seconds are wall-clock seconds, the shortest of the
repeats.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

import daesolve as ds
from daesolve.multibody import Actuator, Mechanism, Prismatic

from .common.attempts import untyped
from .common.conditions import as_json, conditions
from .common.options import add_json, add_repeats, options
from .common.tables import aligned
from .common.timing import least, wall_seconds
from .stewart import platform
from .stewart.daesolve import SEEN, mechanism

GRAVITY = 9.81
PARTS = (1, 2, 5, 10, 20, 50)
"""Steps of MuJoCo within one step."""
FORCE = 200.0
"""N, on the platform's first leg if the input is one."""
SPAN = 1.0
"""s"""
ENOUGH = 20.0
"""s; repeats stop after this time."""
LEAST = 2e-15
"""kg m^2; MuJoCo requires more than 1e-15."""


@dataclass(frozen=True, eq=False)
class Task:
    """A system to step through.

    Parameters
    ----------
    name
        As the table shows it.
    make
        Solver's name or None -> a simulator at the start.
    push
        The input's name.
    seen
        The compared states.
    text, start, angles
        MuJoCo's model for a step in s, its start, and its positions and speeds -> `seen`.
    """

    name: str
    make: Callable[[ds.Solver | None], ds.Simulator]
    push: str
    seen: tuple[str, ...]
    text: Callable[[float], str]
    start: np.ndarray
    angles: Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Measurement:
    """A task, a step in s, the program with its setting, microseconds a step, and the error."""

    task: str
    step: float
    package: str
    microseconds: float
    error: float


def pushes(step: float) -> np.ndarray:
    """Return the inputs of all steps."""
    return 0.3 * np.sin(3.0 * step * np.arange(round(SPAN / step)))


def _cart_pole(solver: ds.Solver | None) -> ds.Simulator:
    import casadi as ca

    q, u = ds.coordinates(x="m", angle=ds.ANGLE), ds.inputs(push=(0.0, "N"))
    bob = ca.vertcat(q.x + 0.5 * ca.sin(q.angle), -0.5 * ca.cos(q.angle))
    speed = ca.jacobian(bob, q.vector) @ q.dot.vector
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2 + 0.3 * ca.sumsqr(speed) / 2,
        potential=0.3 * GRAVITY * bob[1],
        force={"x": u.push},
        inputs=u,
    )
    return ds.Simulator(system, {"x": 0.0, "angle": 0.4}, solver=solver, record=False)


def _five_bar(solver: ds.Solver | None) -> ds.Simulator:
    case = ds.problem("five-bar").case("falls")
    return ds.Simulator(case, {"tip_y": -0.5}, solver=solver, record=False)


def _platform(solver: ds.Solver | None) -> ds.Simulator:
    whole = mechanism()
    slide = next(part for part in whole.parts if isinstance(part, Prismatic))
    u = ds.inputs(push=(0.0, "N"))
    parts = [*whole.parts, Actuator("leg", slide, force=FORCE * u.push)]
    posed = Mechanism(whole.bodies, parts, gravity=(0, 0, -GRAVITY))
    start = {name: float(value) for name, value in posed.start.items()}
    return ds.Simulator(posed.system(inputs=u), guess=start, solver=solver, record=False)


def _options(step: float, down: str = "y") -> str:
    gravity = f"0 -{GRAVITY} 0" if down == "y" else f"0 0 -{GRAVITY}"
    return (
        f'<option gravity="{gravity}" timestep="{step!r}" integrator="RK4" solver="Newton" '
        'tolerance="1e-15" iterations="100"><flag contact="disable"/></option>'
    )


def _cart_pole_text(step: float) -> str:
    return (
        f"<mujoco>{_options(step)}<worldbody><body>"
        '<joint name="push" type="slide" axis="1 0 0"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{LEAST} {LEAST} {LEAST}"/>'
        '<body><joint type="hinge" axis="0 0 1"/>'
        f'<inertial pos="0 -0.5 0" mass="0.3" diaginertia="{LEAST} {LEAST} {LEAST}"/>'
        '</body></body></worldbody><actuator><motor joint="push"/></actuator></mujoco>'
    )


def _five_bar_text(step: float) -> str:
    bars: list[str] = []
    for side, foot in (("left", -0.15), ("right", 0.15)):
        crank, rod = 0.8 * 0.25**2 / 12, 0.5 * 0.4**2 / 12
        bars.append(
            f'<body pos="{foot} 0 0"><joint name="{side}" type="hinge" axis="0 0 1"/>'
            f'<inertial pos="0.125 0 0" mass="0.8" diaginertia="{LEAST} {crank} {crank}"/>'
            '<body pos="0.25 0 0"><joint type="hinge" axis="0 0 1"/>'
            f'<inertial pos="0.2 0 0" mass="0.5" diaginertia="{LEAST} {rod} {rod}"/>'
            f'<site name="{side}_end" pos="0.4 0 0"/></body></body>'
        )
    return (
        f"<mujoco>{_options(step)}<worldbody>{''.join(bars)}</worldbody><equality>"
        f'<connect site1="left_end" site2="right_end" solref="{2 * step} 1" '
        'solimp="0.9999 0.9999 0.001 0.5 2"/></equality>'
        '<actuator><motor joint="left"/></actuator></mujoco>'
    )


def _platform_text(step: float) -> str:
    def words(*numbers: float) -> str:
        return " ".join(repr(float(number)) for number in numbers)

    legs: list[str] = []
    tied: list[str] = []
    sites: list[str] = []
    for k, leg in enumerate(platform.LEGS):
        turned = Rotation.from_matrix(leg.axes).as_quat(scalar_first=True)
        legs.append(
            f'<body pos="{words(*leg.foot)}" quat="{words(*turned)}">'
            f'<joint type="hinge" axis="{words(*leg.axes[0])}"/>'
            '<joint type="hinge" axis="0 1 0"/>'
            f'<inertial pos="0 0 {platform.TUBE_CENTRE}" mass="{platform.TUBE_MASS}" '
            f'diaginertia="{words(*platform.TUBE_INERTIA)}"/>'
            f'<body pos="0 0 {leg.length!r}"><joint name="slide_{k}" type="slide" axis="0 0 1" '
            f'stiffness="{platform.STIFFNESS}" damping="{platform.DAMPING}" '
            f'springref="{leg.natural - leg.length!r}"/>'
            f'<inertial pos="0 0 {-platform.ROD_CENTRE}" mass="{platform.ROD_MASS}" '
            f'diaginertia="{words(*platform.ROD_INERTIA)}"/><site name="rod_{k}"/></body></body>'
        )
        sites.append(f'<site name="head_{k}" pos="{words(*leg.head_in_plate)}"/>')
        tied.append(
            f'<connect site1="rod_{k}" site2="head_{k}" solref="{2 * step} 1" '
            'solimp="0.9999 0.9999 0.001 0.5 2"/>'
        )
    return (
        f'<mujoco><compiler autolimits="true"/>{_options(step, "z")}<worldbody>'
        f'<body pos="{words(*platform.PLATE_CENTRE)}"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{platform.PLATE_MASS}" '
        f'diaginertia="{words(*platform.PLATE_INERTIA)}"/>{"".join(sites)}</body>'
        f"{''.join(legs)}</worldbody><equality>{''.join(tied)}</equality>"
        f'<actuator><motor joint="slide_0" gear="{FORCE}"/></actuator></mujoco>'
    )


def tasks() -> dict[str, Task]:
    """Return all tasks by name."""
    angles = ("left", "left_rod", "right", "right_rod")
    state = _five_bar(None).state
    first, knee, second, other = (state[name] for name in angles)
    return {
        "cart-pole": Task(
            "cart-pole",
            _cart_pole,
            "push",
            ("x", "angle", "x_dot", "angle_dot"),
            _cart_pole_text,
            np.array([0.0, 0.4]),
            lambda q, v: np.concatenate([q, v]),
        ),
        "five-bar": Task(
            "five-bar",
            _five_bar,
            "motor_left",
            ("left", "right", "left_dot", "right_dot"),
            _five_bar_text,
            np.array([first, knee - first, second, other - second]),
            lambda q, v: np.array([q[0], q[2], v[0], v[2]]),
        ),
        "stewart": Task(
            "stewart",
            _platform,
            "push",
            SEEN,
            _platform_text,
            np.array([*platform.PLATE_CENTRE, 1.0, *np.zeros(3 + 18)]),
            lambda q, v: np.concatenate([q[:3], v[:6]]),
        ),
    }


def _stepped(
    task: Task, step: float, solver: ds.Solver | None, repeats: int
) -> tuple[float, np.ndarray]:
    sim, given = task.make(solver), pushes(step).tolist()
    sim.step(step, **{task.push: given[0]})

    def run() -> None:
        sim.reset()
        for push in given:
            sim.step(step, **{task.push: push})

    again = lambda: wall_seconds(run)[0]  # noqa: E731
    seconds = least(again(), again, repeats, ENOUGH)
    return seconds / len(given) * 1e6, np.array([sim.state[name] for name in task.seen])


def _by_mujoco(task: Task, step: float, parts: int, repeats: int) -> tuple[float, np.ndarray]:
    mujoco = untyped("mujoco")
    model = mujoco.MjModel.from_xml_string(task.text(step / parts))
    data, given = mujoco.MjData(model), pushes(step).tolist()

    def run() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = task.start
        for push in given:
            data.ctrl[0] = push
            for _ in range(parts):
                mujoco.mj_step(model, data)

    again = lambda: wall_seconds(run)[0]  # noqa: E731
    seconds = least(again(), again, repeats, ENOUGH)
    found = task.angles(np.array(data.qpos), np.array(data.qvel))
    return seconds / len(given) * 1e6, found


def measured(task: Task, step: float, repeats: int) -> list[Measurement]:
    """Return the cost and the error of a task's steps."""
    truth = _stepped(task, step, ds.Dop853(rtol=1e-13, atol=1e-14), 1)[1]
    scale = max(1.0, float(np.abs(truth).max()))

    def row(package: str, found: tuple[float, np.ndarray]) -> Measurement:
        error = float(np.abs(found[1] - truth).max()) / scale
        return Measurement(task.name, step, package, found[0], error)

    rows = [row("daesolve", _stepped(task, step, None, repeats))]
    for parts in PARTS:
        found = _by_mujoco(task, step, parts, repeats)
        rows.append(row(f"MuJoCo, {parts} mj_step", found))
    return rows


def table(found: list[Measurement]) -> str:
    """Return all measurements."""
    rows = [
        [
            one.task,
            f"{one.step * 1e3:g}",
            one.package,
            f"{one.microseconds:.0f}",
            f"{one.error:.0e}",
        ]
        for one in found
    ]
    return aligned(["system", "step, ms", "by", "us a step", "error after 1 s"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.simulator", __doc__)
    names = ["cart-pole", "five-bar", "stewart"]
    parser.add_argument("--case", choices=names, action="append", help="repeatable (all)")
    add_repeats(parser, 3, "runs of each")
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions("mujoco")
    chosen = [task for name, task in tasks().items() if not given.case or name in given.case]
    found = [
        row
        for task in chosen
        for step in (0.001, 0.01)
        for row in measured(task, step, given.repeats)
    ]
    print(f"{known}\n\n{table(found)}")
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
