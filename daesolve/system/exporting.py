"""What systems write for use elsewhere: functions with names, Python, C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daesolve.equations.dynamics import Dynamics
from daesolve.export.named import NamedFunction
from daesolve.export.quantities import Equations


class Exportable:
    """What a system has for use elsewhere."""

    @property
    def _equations_of(self) -> Dynamics:
        system: Any = self
        return system.dynamics

    def _units(self) -> dict[str, str]:
        """Return the units of everything in p."""
        system: Any = self
        posed = system.posed
        found: dict[str, str] = {}
        for own in (posed.parameters, posed.inputs, posed.discrete):
            found |= dict(zip(own.names, own.units, strict=True))
        return found

    def function(
        self, quantity: str, around: Mapping[str, float] | None = None, *, rate: float = 0.0
    ) -> NamedFunction:
        """Return a quantity as a CasADi function of (t, x, p), which names its entries.

        Parameters
        ----------
        quantity
            "accelerations" (v'), "reactions" (u, and those that are recovered), "rhs" (x'),
            "residuals" (each constraint, hidden constraint and implicit equation, as posed),
            "outputs", "guards"; and of a mechanical system "mass_matrix" (M), "forces" (h),
            "influence" (B), "jacobian" (J), "bias" (b) and "energy" (kinetic, potential, total),
            which make up M v' = h + B u and J v' + b = 0.
        around
            A consistent state by name, near which the elimination is checked; without it random
            consistent states serve.
        rate
            In 1/s: with it, constraints attract the motion, as with `Feedback`. Without it, a
            motion that is integrated drifts off them. Goals that are measured from their value at
            the start are left as they are.

        Returns
        -------
        NamedFunction
            x in the order of `function.inputs["x"].names`; p holds parameters, discrete values
            and inputs as `function.inputs["p"]` names them. The reactions are eliminated.

        Raises
        ------
        UnknownNameError
            There is no such quantity.
        UnsupportedError
            The system has none: a control system has no masses.
        OutOfRangeError
            A state has no value in `around`, or the rate is negative.
        """
        return Equations(self._equations_of, self._units(), around, rate).function(quantity)
