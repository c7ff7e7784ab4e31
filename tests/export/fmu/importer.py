"""A tool that integrates a unit for Model Exchange: SciPy's DOP853, and indicators by bisection.

FMPy's CVode is less accurate than 1e-9 over long motions, whatever the unit.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from fmpy.fmi3 import FMU3Model

from tests.export.fmu.driving import begun, opened


@dataclass
class Exchanged:
    """A unit in continuous-time mode, with what it was asked for last."""

    unit: Any

    def __post_init__(self) -> None:
        count = int(self.unit.getNumberOfContinuousStates())
        self.states = (ctypes.c_double * count)()
        self.rates = (ctypes.c_double * count)()
        self.signs = (ctypes.c_double * int(self.unit.getNumberOfEventIndicators()))()

    def put(self, time: float, x: np.ndarray) -> None:
        """Set time and states."""
        self.unit.setTime(time)
        self.states[:] = x.tolist()
        self.unit.setContinuousStates(self.states, len(self.states))

    def here(self) -> np.ndarray:
        """Return the states."""
        self.unit.getContinuousStates(self.states, len(self.states))
        return np.array(self.states)

    def rate(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of the states."""
        self.put(time, x)
        self.unit.getContinuousStateDerivatives(self.rates, len(self.rates))
        return np.array(self.rates)

    def inside(self, time: float, x: np.ndarray) -> np.ndarray:
        """Return which indicators are above zero."""
        self.put(time, x)
        self.unit.getEventIndicators(self.signs, len(self.signs))
        return np.array(self.signs) > 0.0

    def event(self, time: float, x: np.ndarray) -> np.ndarray:
        """Let an event happen; return the states after it."""
        self.put(time, x)
        self.unit.enterEventMode()
        self.unit.updateDiscreteStates()
        self.unit.enterContinuousTimeMode()
        return self.here()


def exchanged(path: Path, until: float) -> tuple[np.ndarray, int]:
    """Integrate a unit without events of time; return its states at the end, and its events."""
    unit, _ = opened(path, FMU3Model)
    begun(unit)
    unit.updateDiscreteStates()
    unit.enterContinuousTimeMode()
    model, time, events = Exchanged(unit), 0.0, 0
    x = model.here()
    while time < until:
        steps = scipy.integrate.DOP853(model.rate, time, x, until, rtol=3e-14, atol=1e-14)
        before = model.inside(time, x)
        while steps.status == "running":
            steps.step()
            after = model.inside(steps.t, steps.y)
            if np.any(before & ~after):
                time = _passed(model, before, steps)
                x, events = model.event(time, steps.dense_output()(time)), events + 1
                break
            before, time, x = after, steps.t, steps.y
            unit.completedIntegratorStep()
    unit.freeInstance()
    return x, events


def _passed(model: Exchanged, before: np.ndarray, steps: Any) -> float:
    """Return the first number at which an indicator that was above zero is not."""
    low, high, interpolant = steps.t_old, steps.t, steps.dense_output()
    while low < (middle := 0.5 * (low + high)) < high:
        passed = bool(np.any(before & ~model.inside(middle, interpolant(middle))))
        low, high = (low, middle) if passed else (middle, high)
    return float(high)
