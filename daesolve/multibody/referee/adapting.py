"""Adapts MuJoCo's model to what daesolve runs, with equalities as hard as MuJoCo allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daesolve.multibody.model_files.left_out import LeftOut
from daesolve.multibody.referee.engine import engine

DAMPED = 1.0
STIFFEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""MuJoCo limits the impedance to 0.9999."""
SHORTEST = 2.0
"""The time constant of an equality in steps: MuJoCo's documentation advises no less."""


def switch_off(model: Any, left_out: Sequence[LeftOut]) -> None:
    """Switch off in MuJoCo what daesolve leaves out, so that both run the same.

    Parameters
    ----------
    model
        MuJoCo's; it is changed.
    left_out
        What daesolve's mechanism leaves out.
    """
    flags = engine().mjtDisableBit
    model.opt.disableflags |= (
        int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CLAMPCTRL)
    )
    model.opt.density = model.opt.viscosity = 0.0
    model.actuator_forcelimited[:] = False
    model.jnt_actfrclimited[:] = False
    for numbers in (model.tendon_stiffness, model.tendon_damping, model.tendon_frictionloss,
                    model.tendon_armature):  # fmt: skip
        numbers[:] = 0.0
    gone = {entry.kind: set(entry.names) for entry in left_out}
    idle = gone.get("actuators of other kinds", set[str]())
    for number in range(int(model.nactuator)):
        if (model.actuator(number).name or f"number {number}") in idle:
            model.actuator_gainprm[number], model.actuator_biasprm[number] = 0.0, 0.0
    open_ = gone.get("equalities of tendons and flexes", set[str]())
    for number in range(int(model.neq)):
        if (model.equality(number).name or f"number {number}") in open_:
            model.eq_active0[number] = False


def harden(model: Any, step: float) -> None:
    """Make all equalities of a model as hard as its step allows.

    Parameters
    ----------
    model
        MuJoCo's; it is changed.
    step
        s
    """
    model.eq_solref[:, 0], model.eq_solref[:, 1] = SHORTEST * step, DAMPED
    model.eq_solimp[:] = STIFFEST
    model.opt.solver = engine().mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 1e-15, 100
