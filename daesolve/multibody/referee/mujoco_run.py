"""Runs a file with MuJoCo: the paths of its bodies, its energy, and the gaps of its loops."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daesolve.multibody.referee.barriers import NO_BARRIERS, Barriers, Touches, TouchLog
from daesolve.multibody.referee.engine import CommonStart, Gauge, engine

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")


@dataclass(frozen=True, eq=False)
class Motion:
    """The motion at the sample times.

    Parameters
    ----------
    times
        (n,) s.
    positions
        (n, bodies, 3) mass centres, m.
    energy
        (n,) J.
    work
        (n,) of what takes energy or gives it (dampers, friction, actuators), J.
    gaps
        (n, k) how far each part of the equalities gapes, m or rad.
    touches
        What it did at contacts and limits.
    kinetic
        The largest kinetic energy at a sample, J.
    seconds
        Of stepping alone, by the clock.
    message
        Why it ended early; empty where it did not.
    """

    times: np.ndarray
    positions: np.ndarray
    energy: np.ndarray
    work: np.ndarray
    gaps: np.ndarray
    touches: Touches
    kinetic: float
    seconds: float
    message: str = ""


@dataclass(frozen=True, eq=False)
class MujocoMotion:
    """A motion by MuJoCo, and the step that it took.

    Parameters
    ----------
    step
        s
    integrator
        As files name it.
    motion
        What was seen.
    last
        The positions of the joints at the end, (nq,).
    joints
        Positions and speeds of the joints at the samples, (n, nq) and (n, nv).
    """

    step: float
    integrator: str
    motion: Motion
    last: np.ndarray
    joints: tuple[np.ndarray, np.ndarray]


def meters(model: Any) -> bool:
    """Return whether anything but weights and springs acts, so that energy is not conserved."""
    return bool(
        model.nactuator
        or np.any(model.dof_damping)
        or np.any(model.dof_dampingpoly)
        or np.any(model.dof_frictionloss)
        or np.any(model.body_gravcomp)
        or model.opt.density
        or model.opt.viscosity
    )


def stepped(
    model: Any,
    start: CommonStart,
    counts: Sequence[int],
    step: float,
    barriers: Barriers = NO_BARRIERS,
) -> MujocoMotion:
    """Run a model by MuJoCo.

    Parameters
    ----------
    model
        MuJoCo's; its integrator and solver are used as they are.
    start
        Where it begins.
    counts
        After how many steps it is looked at; rising, from zero.
    step
        s
    barriers
        What is watched after every step.
    """
    mj = engine()
    model.opt.timestep = step
    gauge, data = Gauge(model), mj.MjData(model)
    data.qpos[:], data.qvel[:] = start.qpos, start.qvel
    data.ctrl[:] = 0.0 if start.ctrl is None else start.ctrl
    metered, log = meters(model), TouchLog(len(barriers.listed))
    singly = metered or bool(barriers.listed)
    gauge.look(data.qpos, data.qvel, data.ctrl)
    log.add(0.0, barriers.depths(gauge.data))
    rows = gauge.rows
    seen: list[tuple[float, np.ndarray, float, float, np.ndarray, float]] = []
    joints: list[tuple[np.ndarray, np.ndarray]] = []
    work, power, seconds, done, message = 0.0, gauge.power, 0.0, 0, ""
    for count in counts:
        while done < count:
            more = 1 if singly else count - done
            begin = time.perf_counter()
            mj.mj_step(model, data, more)
            seconds += time.perf_counter() - begin
            done += more
            if singly:
                gauge.look(data.qpos, data.qvel, data.ctrl)
                log.add(done * step, barriers.depths(gauge.data))
            if metered:
                before, power = power, gauge.power
                work += step * (before + power) / 2.0
        if not _goes_on(data, done):
            message = f"MuJoCo's motion broke down before {done * step:.6g} s"
            break
        gauge.look(data.qpos, data.qvel, data.ctrl)
        potential, kinetic = gauge.energies
        seen.append((done * step, gauge.positions, potential + kinetic, work, gauge.gaps(rows),
                     kinetic))  # fmt: skip
        joints.append((np.array(data.qpos), np.array(data.qvel)))
    times, centres, energy, works, gaps, kinetics = zip(*seen, strict=True)
    motion = Motion(
        np.array(times), np.array(centres), np.array(energy), np.array(works), np.array(gaps),
        log.touches, max(kinetics), seconds, message,
    )  # fmt: skip
    way = INTEGRATORS[int(model.opt.integrator)]
    positions, speeds = zip(*joints, strict=True)
    return MujocoMotion(
        step, way, motion, np.array(data.qpos), (np.array(positions), np.array(speeds))
    )


def _goes_on(data: Any, done: int) -> bool:
    """Return whether the state is finite, and MuJoCo has not reset it to its start."""
    whole = np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()
    return bool(whole and (not done or data.time > 0.0) and not _warned(data))


def _warned(data: Any) -> bool:
    kinds = engine().mjtWarning
    bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)
    return any(data.warning[int(kind)].number for kind in bad)
