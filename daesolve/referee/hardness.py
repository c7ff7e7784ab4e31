"""MuJoCo's equalities as hard as it allows, and switched off what daesolve does not take."""

from __future__ import annotations

from typing import Any

from daesolve.referee.engine import engine

DAMPED = 1.0
STIFFEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""MuJoCo's impedance goes to 0.9999 at most."""
SHORTEST = 2.0
"""The time constant of an equality in steps: MuJoCo's documentation advises no less."""


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
