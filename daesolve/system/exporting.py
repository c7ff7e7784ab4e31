"""What systems write for use elsewhere: functions with names, a module of Python, C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.export.c_language import RESERVED
from daesolve.export.c_project import c_project
from daesolve.export.named import NamedFunction
from daesolve.export.plant import Plant
from daesolve.export.python_module import python_module
from daesolve.export.quantities import Equations
from daesolve.export.words import distinct, plain
from daesolve.export.writing import python_path, write
from daesolve.formulations.laws import Law
from daesolve.storage.files import located
from daesolve.system.latex_document import Printable

if TYPE_CHECKING:
    from daesolve.fmu import Exported


class Exportable(Printable):
    """What a system has for use elsewhere."""

    def _units(self) -> dict[str, str]:
        """Return the units of everything in p."""
        system: Any = self
        posed = system.posed
        found: dict[str, str] = {}
        for own in (posed.parameters, posed.inputs, posed.discrete):
            found |= dict(zip(own.names, own.units, strict=True))
        return found

    def function(
        self,
        quantity: str,
        around: Mapping[str, float] | None = None,
        *,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
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
        laws
            Laws of single constraints instead of the rate, as `Feedback(laws=...)` takes them.

        Returns
        -------
        NamedFunction
            x in the order of `function.inputs["x"].names`; p holds parameters, discrete values
            and inputs as `function.inputs["p"].names` says. The reactions are eliminated, and
            piecewise expressions are as they were posed.

        Raises
        ------
        UnknownNameError
            There is no such quantity.
        UnsupportedError
            The system has none: a control system has no masses.
        OutOfRangeError
            A state has no value in `around`, or the rate is negative.
        RedundantConstraintsError
            Goals follow from others, so that the reactions are not determined.
        """
        system = self._unswitched()
        return Equations(
            system.dynamics, self._units(), around, rate, laws=dict(laws or {})
        ).function(quantity)

    def _unswitched(self) -> Any:
        """Return the system as it was posed, for where nobody finds the instants of switches.

        Piecewise expressions say there by the state what holds.
        """
        system: Any = self
        return replace(system, switches=False) if system.dynamics.switches else system

    def plant(
        self,
        name: str,
        start: Mapping[str, float] | None = None,
        *,
        values: Mapping[str, float] | None = None,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
        time: float = 0.0,
    ) -> Plant:
        """Return what `to_python` and `to_c` write; see there."""
        system = self._unswitched()
        equations = Equations(
            system.dynamics, self._units(), start, rate, dict(values or {}), dict(laws or {})
        )
        return Plant(plain(name), equations, start, time)

    def to_python(
        self,
        path: str | Path,
        start: Mapping[str, float] | None = None,
        *,
        values: Mapping[str, float] | None = None,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
        time: float = 0.0,
    ) -> Path:
        """Write the equations as a module of Python that needs NumPy alone.

        It has a function for each quantity that `function` knows, `rhs(t, x, p)` and the rest;
        the states, the values with defaults and units; tables; events with guards and resets.
        Piecewise expressions are as they were posed.

        Parameters
        ----------
        path
            Of the module, such as "plant.py".
        start
            A consistent state by name: START of the module. A random one, where none is given.
        values
            Of parameters, inputs and discrete values, instead of their defaults.
        rate
            In 1/s: with it, constraints attract the motion; see `function`.
        laws
            Laws of single constraints instead of the rate; see `function`.
        time
            Of the start, in s.

        Returns
        -------
        pathlib.Path
            Where it is.

        Raises
        ------
        OutOfRangeError
            The path is no name of a module, the start has no value of a state, or the rate is
            negative.
        UnknownNameError
            A value is of nothing that the system has.
        UnsupportedError
            Python lacks an operation.
        OutputExistsError, StorageError
            What is there was not written by an export, or it cannot be written.
        """
        target = python_path(path)
        plant = self.plant(target.stem, start, values=values, rate=rate, laws=laws, time=time)
        (written,) = write({target: python_module(plant, version("daesolve"))})
        return written

    def to_c(
        self,
        path: str | Path,
        start: Mapping[str, float] | None = None,
        *,
        values: Mapping[str, float] | None = None,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
        time: float = 0.0,
    ) -> Path:
        """Write the equations as C99 that allocates nothing and has no state of its own.

        The directory has a header with the names of all entries, the source, an example that
        integrates, a test that compares with the numbers of daesolve, a Makefile and a README.

        Parameters
        ----------
        path
            Of the directory, such as "plant", which gives the functions their names.
        start, values, rate, laws, time
            As in `to_python`.

        Returns
        -------
        pathlib.Path
            Where it is.

        Raises
        ------
        OutOfRangeError, UnknownNameError, UnsupportedError, OutputExistsError, StorageError
            As in `to_python`.
        """
        target = located(path)
        (name,) = distinct([target.name], RESERVED | {"test"})
        plant = self.plant(name, start, values=values, rate=rate, laws=laws, time=time)
        files = c_project(plant, version("daesolve"))
        write({target / file: text for file, text in files.items()})
        return target

    def to_fmu(
        self,
        path: str | Path,
        initial: Mapping[str, float] | None = None,
        *,
        horizon: float | None = None,
        tolerance: float | None = None,
        **options: Any,
    ) -> Exported:
        """Write the system as a unit of FMI 3.0, which runs without Python in the importing tool.

        Parameters
        ----------
        path
            Of the file, such as "plant.fmu".
        initial, horizon, tolerance, **options
            As in `daesolve.fmu.to_fmu`.

        Returns
        -------
        Exported
            What was written.

        Raises
        ------
        UnsupportedError, MissingBackendError, DaesolveError
            As in `daesolve.fmu.to_fmu`.
        """
        from daesolve.fmu import to_fmu

        system: Any = self
        return to_fmu(system, path, initial, horizon=horizon, tolerance=tolerance, **options)
