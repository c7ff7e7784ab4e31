"""A model file before the referee: one start, four runs, one verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.errors import OutOfRangeError, is_number, unknown_name
from daesolve.multibody.model_files import FileMechanism, read
from daesolve.multibody.model_files.child import compiled
from daesolve.referee.engine import Gauge, Start, closed, engine
from daesolve.referee.hardness import harden
from daesolve.referee.mujoco_run import Stepped, meters, stepped
from daesolve.referee.own_run import OwnRun, own_run
from daesolve.referee.verdict import Verdict, divergence, side

SAMPLES = 400
APART = 1e-3
"""Of the extent of the model, the distance at which motions count as apart."""


@dataclass(frozen=True, eq=False)
class Refereed:
    """A file before the referee.

    Parameters
    ----------
    verdict
        What came of it.
    mechanism
        The file as it was read.
    own, others
        The runs by daesolve and by MuJoCo.
    """

    verdict: Verdict
    mechanism: FileMechanism
    own: OwnRun
    others: tuple[Stepped, ...]


def refereed(
    file: Path | str,
    until: float,
    *,
    case: str | None = None,
    initial: Mapping[str, float] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    hard: bool = False,
    halvings: int = 2,
    samples: int = SAMPLES,
) -> Refereed:
    """Run a model file by daesolve and by MuJoCo from one start, and compare.

    Parameters
    ----------
    file
        In MJCF or URDF.
    until
        The horizon, s; it is rounded to steps of MuJoCo.
    case
        A keyframe of the file; without one its first, or its default pose.
    initial
        Start values of joints, by name; loops are then closed.
    step
        MuJoCo's longest step, s; without one that of the file.
    tolerance
        The distance of a body at which the motions count as apart, m; without one a thousandth of
        the extent of the model.
    hard
        Whether MuJoCo's equalities are as hard as its steps allow, in place of those of the file.
    halvings
        How often MuJoCo's step is halved, a run each.
    samples
        How many there are at most, evenly spaced.

    Raises
    ------
    DaesolveError
        The file cannot be read, a value is none, the loops of the start cannot be closed, or
        daesolve cannot run it.
    """
    numbers = {"the horizon": until, "the step": step, "the tolerance": tolerance}
    for what, value in numbers.items():
        if value is not None and not (is_number(value) and value > 0.0):
            raise OutOfRangeError(f"{what} is {value!r}, but must be a number > 0")
    begun = time.perf_counter()
    mechanism = read(file)
    reading = time.perf_counter() - begun
    model = compiled(Path(file))
    switch_off(model)
    gauge = Gauge(model)
    start = _start(mechanism, gauge, case, initial or {})
    longest = float(model.opt.timestep) if step is None else float(step)
    steps = max(1, round(until / longest))
    counts = np.unique(np.linspace(0, steps, min(samples, steps) + 1).round().astype(int))
    gauge.look(start.qpos, start.qvel)
    rows = gauge.rows
    own = own_run(mechanism, gauge, rows, start, counts * longest)
    others: list[Stepped] = []
    for parts in (2**power for power in range(halvings + 1)):
        again = compiled(Path(file))
        switch_off(again)
        if hard:
            harden(again, longest / parts)
        others.append(stepped(again, start, (counts * parts).tolist(), longest / parts))
    own = _with_reading(own, reading)
    verdict = _verdict(mechanism, gauge, start, own, others, until, tolerance)
    return Refereed(verdict, mechanism, own, tuple(others))


def switch_off(model: Any) -> None:
    """Switch off in MuJoCo what daesolve leaves out: contacts between geoms, and limits."""
    flags = engine().mjtDisableBit
    model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)


def _start(
    mechanism: FileMechanism, gauge: Gauge, case: str | None, initial: Mapping[str, float]
) -> Start:
    starts = mechanism.starts
    name = next(iter(starts)) if case is None else case
    if name not in starts:
        raise unknown_name("keyframe", name, starts)
    known = mechanism.start_values()
    for given in initial:
        if given not in known:
            raise unknown_name("start value of a joint", given, known)
    model = gauge.model
    qpos, qvel = np.array(model.qpos0), np.zeros(int(model.nv))
    for freedom in mechanism.freedoms.values():
        freedom.put({**starts[name], **initial}, qpos, qvel)
    return closed(gauge, qpos, qvel)


def _with_reading(own: OwnRun, reading: float) -> OwnRun:
    return OwnRun(own.motion, own.trajectory, own.goals, {"reading": reading, **own.preparation})


def _verdict(
    mechanism: FileMechanism,
    gauge: Gauge,
    start: Start,
    own: OwnRun,
    others: list[Stepped],
    until: float,
    tolerance: float | None,
) -> Verdict:
    model, rows = gauge.model, gauge.rows
    apart = APART * float(model.stat.extent) if tolerance is None else tolerance
    kinetic = own.motion.kinetic
    solver = str(own.trajectory.description.get("solver", ""))
    return Verdict(
        name=mechanism.title,
        until=until,
        tolerance=apart,
        bodies=len(gauge.roots),
        joints=int(model.nv),
        loops=sum(len(row.rows) for row in rows),
        own=side("daesolve", solver, None, own.motion, rows, kinetic),
        others=tuple(
            side("MuJoCo", one.integrator, one.step, one.motion, rows, kinetic) for one in others
        ),
        divergences=tuple(divergence(own.motion, one.motion, one.step, apart) for one in others),
        conserved=not meters(model),
        start_moved=start.moved,
        goals=own.goals,
        preparation=own.preparation,
        notes=tuple(str(note) for note in own.trajectory.description.get("notes", ())),
    )
