"""Referees a model file: one start, four runs, one verdict."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.findings import Audit
from daesolve.errors import OutOfRangeError, check_names, is_number
from daesolve.multibody.model_files import FileMechanism, FileStart, read
from daesolve.multibody.model_files.contacts import ContactKind
from daesolve.multibody.referee.barriers import Barriers
from daesolve.multibody.referee.engine import (
    CommonStart,
    Gauge,
    closed,
    compiled_with,
    harden,
    heard,
    switch_off,
)
from daesolve.multibody.referee.mujoco_run import MujocoMotion, meters, stepped
from daesolve.multibody.referee.own_run import OwnRun, own_run
from daesolve.multibody.referee.verdict import Divergence, RefereeVerdict, Side, divergence, side
from daesolve.verification.audit import audit_samples

UNMOVED = "default"
SAMPLES = 400
MOST_WARNINGS = 3
MOST_AUDITED = 2000
"""Steps of MuJoCo that are audited."""
APART = 1e-3
"""The distance at which motions count as apart, m."""


@dataclass(frozen=True, eq=False)
class RefereeReport:
    """A refereed file.

    Parameters
    ----------
    verdict
        The result.
    mechanism
        The file as it was read.
    own, others
        The runs by daesolve and by MuJoCo.
    start, counts
        Where they began, and the samples in MuJoCo's longest steps.
    hard
        Whether MuJoCo's equalities were made as hard as its steps allow.
    """

    verdict: RefereeVerdict
    mechanism: FileMechanism
    own: OwnRun
    others: tuple[MujocoMotion, ...]
    start: CommonStart
    counts: np.ndarray
    hard: bool = False

    def audit(self, run: int = 0, *, tolerance: float = 1e-6) -> Audit:
        """Hold MuJoCo's motion against the mechanism that daesolve poses from the file.

        MuJoCo runs once more, and is looked at after each of its steps, the first ones if there are
        many. How far its rows gape, how far its rates are from its speeds, and what of its momenta
        no reaction explains is due to its steps, its soft equalities and its dry friction. For
        daesolve's own run see `own.trajectory.audit()`.

        Parameters
        ----------
        run
            Which of `others`, the one with the longest step by default.
        tolerance
            The relative defect that its motion is allowed.

        Raises
        ------
        OutOfRangeError
            There is no such run.
        """
        if not isinstance(run, int) or not 0 <= run < len(self.others):
            raise OutOfRangeError(
                f"the run is {run!r}, but must be a whole number from 0 to {len(self.others) - 1}"
            )
        parts = round(self.others[0].step / self.others[run].step)
        steps = min(int(self.counts[-1]) * parts, MOST_AUDITED)
        longest, each = self.others[0].step, np.arange(steps + 1)
        with heard():
            model = _model(self.mechanism)
            if self.hard:
                harden(model, longest / parts)
            again = stepped(model, self.start, each.tolist(), longest / parts)
        return audit_joints(self.mechanism, self.start, again, tolerance)


def audit_joints(
    mechanism: FileMechanism, start: CommonStart, run: MujocoMotion, tolerance: float = 1e-6
) -> Audit:
    """Hold a motion of the joints of a model file against its mechanism.

    Parameters
    ----------
    mechanism
        As it was read.
    start
        Where the motion began.
    run
        The motion.
    tolerance
        The relative defect that it is allowed.
    """
    rows = [mechanism.start_from(*at) for at in zip(*run.joints, strict=True)]
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for body in mechanism.bodies:
        # Of the two quaternions of one orientation, the one that is nearer to the sample before.
        names = [name for name in body.coordinates.names if name in table][3:]
        turned = np.array([table[name] for name in names])
        signs = np.where(np.sum(turned[:, 1:] * turned[:, :-1], axis=0) < 0.0, -1.0, 1.0)
        for name in names:
            table[name] = table[name] * np.cumprod(np.append(1.0, signs))
    values = mechanism.values_at(start.qpos, start.qvel)
    numbers = {**mechanism.discrete_values_with(values), **start.inputs}
    system = mechanism.system()
    table["t"] = run.motion.times
    return audit_samples(system, table, parameters=numbers, tolerance=tolerance)


def refereed(
    file: Path | str,
    until: float,
    *,
    case: str | None = None,
    initial: Mapping[str, float] | None = None,
    step: float | None = None,
    tolerance: float = APART,
    hard: bool = False,
    halvings: int = 2,
    samples: int = SAMPLES,
    contacts: ContactKind = "rigid",
) -> RefereeReport:
    """Run a model file with daesolve and MuJoCo from the same start, and compare.

    Parameters
    ----------
    file
        In MJCF or URDF.
    until
        The horizon, s; it is rounded to steps of MuJoCo.
    case
        A keyframe of the file, or "default" for its pose with nothing moved; without one the first
        keyframe, or that pose if there is none.
    initial
        Start values of joints, by name; loops are then closed.
    step
        MuJoCo's longest step, s; without one that of the file.
    tolerance
        The distance of a body at which the motions count as apart, m; a tenth of it is looked for
        as well.
    hard
        Whether MuJoCo's equalities, contacts and limits are made as hard as its steps allow.
    halvings
        How often MuJoCo's step is halved, with one run each.
    samples
        The largest number of samples, evenly spaced.
    contacts
        How geoms touch in daesolve, "rigid", "compliant" or "none"; MuJoCo's contacts are its own
        soft ones, or switched off, too.

    Raises
    ------
    DaesolveError
        The file cannot be read, a value is invalid, the loops of the start cannot be closed, or
        daesolve cannot run it.
    """
    _check({"the horizon": until, "the step": step, "the tolerance": tolerance},
           {"number of halvings": (halvings, 0), "number of samples": (samples, 1)})  # fmt: skip
    begun = time.perf_counter()
    mechanism = read(file, contacts=contacts)
    reading = time.perf_counter() - begun
    with heard() as said:
        model = _model(mechanism)
        gauge = Gauge(model)
        start = _start(mechanism, gauge, case, initial or {})
        longest = float(model.opt.timestep) if step is None else float(step)
        steps = max(1, round(until / longest))
        counts = np.unique(np.linspace(0, steps, min(samples, steps) + 1).round().astype(int))
        gauge.look(start.qpos, start.qvel)
        rows = gauge.rows
        own = own_run(mechanism, gauge, rows, start, counts * longest, Barriers.of(mechanism))
        parts = [2**power for power in range(halvings + 1)]
        others = [_stepped(mechanism, start, counts, longest, n, hard=hard) for n in parts]
    own = replace(own, preparation={"reading": reading, **own.preparation})
    cautions = [f"MuJoCo warns: {words.rstrip('.')}" for words in dict.fromkeys(said)]
    verdict = _verdict(mechanism, gauge, start, own, others, until, tolerance)
    verdict = replace(verdict, contacts=contacts)
    verdict = replace(verdict, notes=(*verdict.notes, *cautions[:MOST_WARNINGS]))
    return RefereeReport(verdict, mechanism, own, tuple(others), start, counts, hard)


def hardened(report: RefereeReport) -> tuple[Side, Divergence]:
    """Run MuJoCo again with its longest step, its equalities as hard as that allows.

    Parameters
    ----------
    report
        What the same file gave with its own.
    """
    step, own = report.others[0].step, report.own.motion
    with heard():
        again = _stepped(report.mechanism, report.start, report.counts, step, 1, hard=True)
        gauge = Gauge(_model(report.mechanism))
    gauge.look(report.start.qpos, report.start.qvel)
    return (
        side("MuJoCo", again.integrator, step, again.motion, gauge.rows, own.kinetic),
        divergence(own, again.motion, step),
    )


def _stepped(
    mechanism: FileMechanism,
    start: CommonStart,
    counts: np.ndarray,
    longest: float,
    parts: int,
    *,
    hard: bool,
) -> MujocoMotion:
    model = _model(mechanism)
    if hard:
        harden(model, longest / parts)
    at = (counts * parts).tolist()
    return stepped(model, start, at, longest / parts, Barriers.of(mechanism))


def _check(numbers: Mapping[str, float | None], counts: Mapping[str, tuple[int, int]]) -> None:
    for what, value in numbers.items():
        if value is not None and not (is_number(value) and value > 0.0):
            raise OutOfRangeError(f"{what} is {value!r}, but must be a number > 0")
    for what, (count, least) in counts.items():
        if not (is_number(count) and count >= least and count == int(count)):
            raise OutOfRangeError(f"the {what} is {count!r}, but must be a whole number >= {least}")


def _model(mechanism: FileMechanism) -> Any:
    """Return MuJoCo's model of a file, without what daesolve leaves out."""
    with warnings.catch_warnings():
        # That words of the file are deprecated has nothing to do with the motion.
        warnings.simplefilter("ignore", UserWarning)
        model = compiled_with(mechanism.path, mechanism.touching.pairs)
    switch_off(model, mechanism.left_out)
    return model


def _start(
    mechanism: FileMechanism, gauge: Gauge, case: str | None, initial: Mapping[str, float]
) -> CommonStart:
    """Return the start of a keyframe, of the only one there is, or of the default pose."""
    starts = dict(mechanism.starts)
    keys = dict(zip(starts, mechanism.assembly.model.keys, strict=True))
    starts.setdefault(UNMOVED, FileStart({}, {}))
    name = next(iter(starts)) if case is None else case
    check_names("keyframe", [name], starts)
    usual = mechanism.start_values
    check_names("start value", initial, usual)
    values = {**usual, **starts[name].values, **initial}
    model = gauge.model
    qpos, qvel = np.zeros(int(model.nq)), np.zeros(int(model.nv))
    for freedom in mechanism.freedoms.values():
        freedom.put(values, qpos, qvel)
    start = closed(gauge, qpos, qvel)
    ctrl = keys[name].ctrl if name in keys else np.zeros(int(model.nu))
    return replace(start, ctrl=ctrl, inputs=starts[name].inputs)


def _verdict(
    mechanism: FileMechanism,
    gauge: Gauge,
    start: CommonStart,
    own: OwnRun,
    others: list[MujocoMotion],
    until: float,
    tolerance: float,
) -> RefereeVerdict:
    model, rows = gauge.model, gauge.rows
    kinetic = own.motion.kinetic
    solver = str(own.trajectory.description.get("solver", ""))
    return RefereeVerdict(
        name=mechanism.path.name,
        until=until,
        tolerance=tolerance,
        bodies=len(gauge.roots),
        joints=int(model.nv),
        loops=sum(len(row.rows) for row in rows),
        own=replace(
            side("daesolve", solver, None, own.motion, rows, kinetic),
            drift=own.trajectory.drift["energy"].max_relative,
        ),
        others=tuple(
            side("MuJoCo", one.integrator, one.step, one.motion, rows, kinetic) for one in others
        ),
        divergences=tuple(divergence(own.motion, one.motion, one.step) for one in others),
        conserved=not meters(model),
        start_moved=start.moved,
        goals=own.goals,
        preparation=own.preparation,
        barriers=Barriers.of(mechanism).listed,
        notes=(*map(str, mechanism.left_out), *mechanism.touching.notes),
    )
