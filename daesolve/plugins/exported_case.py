"""Exports of a case: its system, with its own values and start."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from daesolve.core.formulations import Feedback
from daesolve.core.formulations.laws import Law
from daesolve.core.preparation.examination import initial_state
from daesolve.core.preparation.request import checked
from daesolve.core.run.integration.run_options import requested_by
from daesolve.errors import OutOfRangeError, is_number


class ExportableCase:
    """The exports of a case."""

    def to_python(
        self, path: str | Path, *, rate: float = 0.0, laws: Mapping[str, Law] | None = None
    ) -> Path:
        """Write the system as a Python module, with the values and the start of the case.

        Inputs stay inputs, whatever drives them in the case; a number in the case is their default.
        Goals that the case drops because they follow from others are left out.

        Parameters
        ----------
        path
            Of the module, such as "plant.py".
        rate
            In 1/s. With a rate, constraints attract the motion.
        laws
            Laws of single constraints instead of the rate, as `Feedback(laws=...)` takes them.

        Returns
        -------
        pathlib.Path
            The path that was written.

        Raises
        ------
        DaesolveError
            As in `MechanicalSystem.to_python`, or if the case has no consistent start.
        """
        from daesolve.export import exporting

        system, further = self._exported(rate, laws)
        return exporting.to_python(system, path, **further)

    def to_c(
        self, path: str | Path, *, rate: float = 0.0, laws: Mapping[str, Law] | None = None
    ) -> Path:
        """Write the system as C, with the values and the start of the case; see `to_python`.

        Parameters
        ----------
        path
            Of the directory, such as "plant".
        rate
            In 1/s. With a rate, constraints attract the motion.
        laws
            Laws of single constraints instead of the rate, as `Feedback(laws=...)` takes them.

        Returns
        -------
        pathlib.Path
            The path that was written.

        Raises
        ------
        DaesolveError
            As in `MechanicalSystem.to_c`, or if the case has no consistent start.
        """
        from daesolve.export import exporting

        system, further = self._exported(rate, laws)
        return exporting.to_c(system, path, **further)

    def written(
        self,
        language: Literal["python", "c"],
        *,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
    ) -> str:
        """Return the system as text: the module of `to_python`, or the source of `to_c`.

        Parameters
        ----------
        language
            "python" or "c".
        rate
            In 1/s. With a rate, constraints attract the motion.
        laws
            Laws of single constraints instead of the rate, as `Feedback(laws=...)` takes them.

        Raises
        ------
        OutOfRangeError
            The language is unknown.
        """
        from daesolve.export import exporting
        from daesolve.export.c_source import source
        from daesolve.export.python_module import python_module

        writers = {"python": python_module, "c": source}
        if language not in writers:
            raise OutOfRangeError(f"the language is {language!r}, but must be 'python' or 'c'")
        case: Any = self
        system, further = self._exported(rate, laws)
        return writers[language](
            exporting.plant(system, case.problem.name, **further), version("daesolve")
        )

    def to_latex(
        self,
        path: str | Path | None = None,
        *,
        reduced: bool = False,
        document: bool = True,
        rate: float = 0.0,
        laws: Mapping[str, Law] | None = None,
        reactions: bool = False,
    ) -> str:
        """Return the equations as LaTeX, in the mode in which the case starts.

        Parameters
        ----------
        path, reduced, document, rate, laws, reactions
            As in `MechanicalSystem.to_latex`.

        Raises
        ------
        DaesolveError
            As in `MechanicalSystem.to_latex`.
        """
        from daesolve.export.latex_document import to_latex

        case: Any = self
        system = case.system
        values = {n: v for n, v in case.values.items() if n in system.dynamics.ranges}
        values |= self._mode()
        return to_latex(
            system,
            path,
            reduced=reduced,
            document=document,
            values=values,
            title=case.problem.title,
            rate=rate,
            laws=laws,
            reactions=reactions,
        )

    def _mode(self) -> dict[str, float]:
        """Return the discrete values with which a run of the case begins, by name."""
        case: Any = self
        request, _ = requested_by(case, None, {})
        driven, request = checked(case.system, request)
        found = initial_state(driven.dynamics, Feedback(), request).values
        return {name: found[name] for name in case.system.dynamics.discrete if name in found}

    def _exported(self, rate: float, laws: Mapping[str, Law] | None) -> tuple[Any, dict[str, Any]]:
        """Return the system of the case, and the further arguments of its exports."""
        case: Any = self
        system = case.system
        labels, state = system.dynamics.labels, case.consistent_start().state
        known = system.dynamics.ranges
        values = {name: value for name, value in case.values.items() if name in known}
        values |= {n: float(v) for n, v in case._inputs().items() if is_number(v)}
        # Without switches the state decides which branch applies.
        switches = system.dynamics.switches
        values |= {n: value for n, value in self._mode().items() if n not in switches}
        further: dict[str, Any] = {
            "start": dict(zip(labels.states, state.tolist(), strict=True)),
            "values": values,
            "rate": rate,
            "laws": laws,
            "time": case.case.start_time,
        }
        if case.case.redundant == "drop":
            from daesolve.export import exporting

            surplus = exporting.plant(system, "plant", **further).equations.surplus
            system = system.without(surplus) if surplus else system
        return system, further
