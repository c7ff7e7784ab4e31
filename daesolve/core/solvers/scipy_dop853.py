"""SciPy's method of Dormand and Prince with steps in compiled code: apart, as both import long."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from daesolve.core.expressions.blocks import StateFunction
from daesolve.core.solvers import dop853_step

_compiled: Any = dop853_step


class CompiledDop853(DOP853):
    """SciPy's method, whose steps are taken in compiled code; their interpolant is SciPy's."""

    rtol: float
    atol: float | np.ndarray

    def __init__(
        self, rate: StateFunction, t: float, x: np.ndarray, until: float, **options: Any
    ) -> None:
        super().__init__(rate, t, x, until, **options)
        self._rate = rate
        self._tolerances = self.rtol, np.array(np.broadcast_to(self.atol, self.y.shape), float)

    def _step_impl(self) -> tuple[bool, str | None]:
        x = self.y.copy()
        self.K[0] = self.f
        ends, taken, self.h_abs, rates = _compiled.take_step(
            _compiled.VERSION, *self._rate.program, self._rate.places, self._tolerances,
            self.t, x, self.h_abs, self.t_bound, self.max_step, self.K,
        )  # fmt: skip
        self.nfev += rates
        self._rate.calls += rates
        if not taken:
            return False, self.TOO_SMALL_STEP
        self.h_previous, self.y_old = taken, self.y
        self.t, self.y, self.f = ends, x, self.K[-1].copy()
        return True, None
