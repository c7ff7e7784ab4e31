"""Systems that units are made of, and how FMPy drives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import fmpy
import numpy as np
from fmpy.fmi3 import FMU3Slave

import daesolve as ds

STEPPED, EXCHANGED = "CoSimulation", "ModelExchange"


def pendulum(
    wall: float = 0.0, restitution: float = 0.8, *, contact: bool = True
) -> ds.MechanicalSystem:
    """Pose a pendulum in cartesian coordinates that strikes a wall."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(
        mass=(1.0, "kg"),
        length=(1.0, "m"),
        gravity=(9.81, "m/s^2"),
        wall=(wall, "m"),
        restitution=(restitution, "", ds.Interval(0.0, 1.0)),
    )
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    gap = q.x - p.wall
    goals: list[Any] = [rod]
    events: list[Any] = []
    if contact:
        goals.append(ds.Contact("stop", gap, restitution=p.restitution, closed=False))
    else:
        blow = ds.Reset(impose=[ds.Holonomic("stop", gap)], restitution=p.restitution)
        events.append(ds.Event("strike", gap, ds.FALLING, blow))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=goals,
        events=events,
    )


def cart_pole() -> ds.MechanicalSystem:
    """Pose a cart with a pole, pushed by an input and turned by another."""
    q, u = ds.coordinates(x="m", angle=ds.ANGLE), ds.inputs(push="N", torque="N m")
    p = ds.parameters(mass=(0.3, "kg"), length=(0.5, "m"))
    bob = ca.vertcat(q.x + p.length * ca.sin(q.angle), -p.length * ca.cos(q.angle))
    speed = ca.jacobian(bob, q.vector) @ q.dot.vector
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2 + p.mass * ca.sumsqr(speed) / 2,
        potential=9.81 * p.mass * bob[1],
        force={"x": u.push, "angle": u.torque},
        inputs=u,
    )


class Log:
    """The messages of a unit."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, environment: object, status: int, category: bytes, message: bytes) -> None:
        self.lines.append(message.decode())

    def named(self, word: str) -> list[str]:
        """Return the lines with a word in them."""
        return [line for line in self.lines if word in line]


def driven(
    path: Path, kind: str, times: np.ndarray, parts: int = 1, **options: Any
) -> Mapping[str, np.ndarray]:
    """Let FMPy simulate a unit; return what it shows at even times.

    Parameters
    ----------
    path, kind
        The unit, and by which of its interfaces.
    times
        (k,) s.
    parts
        Into how many outputs each interval is divided: CVode takes 500 steps at most for each.
    """
    interval = (times[-1] - times[0]) / (len(times) - 1) / parts
    found = fmpy.simulate_fmu(
        str(path),
        fmi_type=kind,
        start_time=float(times[0]),
        stop_time=float(times[-1]),
        output_interval=interval,
        relative_tolerance=1e-14,
        record_events=False,
        **options,
    )
    return {name: np.asarray(found[name])[::parts] for name in found.dtype.names}


def apart(
    shown: Mapping[str, np.ndarray], run: ds.Trajectory, names: Sequence[str] | None = None
) -> float:
    """Return how far a unit and a run are apart, relative to the largest value, at least one."""
    listed = [name for name in shown if name != "time"] if names is None else names
    worst = 0.0
    for name in listed:
        own = np.asarray(run[name])
        assert len(own) == len(shown[name])
        size = max(1.0, float(np.max(np.abs(own))))
        worst = max(worst, float(np.max(np.abs(own - shown[name]))) / size)
    return worst


def opened(
    path: Path, kind: Any = FMU3Slave, log: Any = None, **options: bool
) -> tuple[Any, dict[str, int]]:
    """Return an instance of a unit, and the references of its variables."""
    about = fmpy.read_model_description(str(path))
    interface = about.coSimulation if kind is FMU3Slave else about.modelExchange
    unit = kind(
        guid=about.instantiationToken,
        unzipDirectory=fmpy.extract(str(path)),
        modelIdentifier=interface.modelIdentifier,
        instanceName="one",
    )
    unit.instantiate(**({} if log is None else {"logMessage": log}), **options)
    return unit, {v.name: v.valueReference for v in about.modelVariables}


def begun(unit: Any, start: float = 0.0, **options: Any) -> None:
    """Initialize an instance."""
    unit.enterInitializationMode(startTime=start, **options)
    unit.exitInitializationMode()


def listed(
    path: Path, until: float, step: float, *, start: float = 0.0, shows: bool = False
) -> tuple[list[tuple[str, float]], float, dict[str, float]]:
    """Return the events of a unit in Co-Simulation, its end, and what it shows there.

    Parameters
    ----------
    path, until, step, start
        The unit, the end, the step of communication, and the start, s.
    shows
        Whether events are handled in event mode, which steps return to early.
    """
    log = Log()
    modes = {"eventModeUsed": shows, "earlyReturnAllowed": shows}
    unit, variables = opened(path, log=log, loggingOn=True, **modes)
    begun(unit, start, tolerance=1e-13, stopTime=until)
    if shows:
        unit.updateDiscreteStates()
        unit.enterStepMode()
    time, ends, number = start, False, 0
    while time < until and not ends:
        number += time >= start + number * step
        goal = min(until, start + number * step)
        happens, ends, _, time = unit.doStep(time, goal - time)
        if happens:
            unit.enterEventMode()
            ends |= unit.updateDiscreteStates()[1]
            unit.enterStepMode()
    shown = dict(zip(variables, unit.getFloat64([*variables.values()]), strict=True))
    unit.freeInstance()
    lines = [line.removesuffix(" s").split(" at t = ") for line in log.lines]
    events = [(line[0], float(line[1])) for line in lines if len(line) == 2 and " " not in line[0]]
    return sorted(events, key=lambda event: event[::-1]), time, shown
