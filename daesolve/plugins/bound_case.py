"""A case of a problem with every value chosen, ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from daesolve.core.equations.consistency import Start, check_named, start_value
from daesolve.core.equations.consistent_start import start_with_modes
from daesolve.core.equations.kept_outputs import met_by
from daesolve.core.formulations import Formulation
from daesolve.core.results.displayable import Displayable
from daesolve.core.results.storage import located
from daesolve.core.results.trajectory.results import Continuable
from daesolve.core.results.trajectory.trajectory import Trajectory, remember_latest
from daesolve.core.run.integration.run_options import (
    Initial,
    RunOptions,
    arguments_of,
    by_name,
    check_options,
    with_values,
)
from daesolve.core.run.integration.sampling import At
from daesolve.core.run.solving.solving import SolveOptions, solve
from daesolve.core.run.solving.stored_runs import Destination, split_derived
from daesolve.core.solvers import Solver
from daesolve.core.system.system import System
from daesolve.errors import (
    Named,
    OutOfRangeError,
    PluginError,
    UnknownNameError,
    suggest_names,
    unknown_name,
)
from daesolve.plugins.described_case import identity_of, source_of
from daesolve.plugins.exported_case import ExportableCase
from daesolve.plugins.family import Answer, Case, Family, StartRule, Structure, Values
from daesolve.plugins.foreign import called, numbers_by_name
from daesolve.plugins.orbiting_case import OrbitingCase
from daesolve.plugins.ruled_starts import ruled_start
from daesolve.plugins.varied_case import VariedCase

if TYPE_CHECKING:  # what few runs need is imported where it is used
    from daesolve.export.fmu import Exported
    from daesolve.export.named import StartRule as FollowedStart
    from daesolve.verification.comparison import Comparison, Reference
    from daesolve.verification.comparison import Progress as ComparisonProgress
    from daesolve.verification.reference_motion import Progress as ReferenceProgress
    from daesolve.verification.reference_run import ReferenceRun

USUAL = {"impact": "newton", "impact_order": None, "on_gain": "refuse"}
"""The options of impacts of a case that sets none."""


@dataclass(frozen=True, eq=False)
class BoundCase(ExportableCase, OrbitingCase, VariedCase, Displayable):
    """A case of a problem with every value chosen: `.solve(...)` runs it.

    Parameters
    ----------
    problem, case, model
        The problem, its case, and the name of the model.
    structure, parameters
        Values that replace the problem's defaults.
    start
        Start values by the case's own names, which replace those of the case.
    initial
        Values of states to keep.
    """

    problem: Family
    case: Case
    model: str
    structure: Structure
    parameters: Values
    start: Values
    initial: Values

    def __post_init__(self) -> None:
        suggest_names(self, structure="structure", parameters="changed parameter")
        suggest_names(self, start="start value", initial="state")

    def __repr__(self) -> str:
        chosen = {**self.structure, **self.parameters, **self.start, **self.initial}
        more = "".join(f", {name}={value!r}" for name, value in chosen.items())
        return f"BoundCase({self.problem.name!r}, {self.case.name!r}, model={self.model!r}{more})"

    @property
    def full_structure(self) -> dict[str, Any]:
        """The structure, the defaults included."""
        return Named(self.problem.default_structure() | dict(self.structure), "structure")

    @property
    def system(self) -> System:
        """The system, posed."""
        return self.problem.system(self.model, self.full_structure)

    @property
    def full_parameters(self) -> dict[str, float]:
        """Every parameter's value."""
        dynamics = self.system.dynamics
        known = [name for name in dynamics.posed_ranges if name not in dynamics.inputs.unset]
        posed = {name: dynamics.values[name] for name in known}
        return Named(posed | dict(self.parameters), "parameter")

    @property
    def values(self) -> dict[str, float]:
        """The value of every parameter, and the values that the problem derives from them.

        Raises
        ------
        OutOfRangeError
            A value is given that follows from the others.
        """
        derived = self.derived
        for name in self.parameters:
            if name in derived:
                raise OutOfRangeError(
                    f"{name!r} follows from the other values here: it cannot be set to "
                    f"{self.parameters[name]!r}"
                )
        return Named(self.full_parameters | derived, "parameter")

    @cached_property
    def derived(self) -> dict[str, float]:
        """The values that the problem derives from the others."""
        return Named(self._follows("derived values", self.problem.derived), "derived value")

    @property
    def full_start(self) -> dict[str, float]:
        """The start values by the case's own names."""
        return Named({**self.case.start, **self.start}, "start value")

    def changed(self, overrides: Mapping[str, Any]) -> Self:
        """Return the case with other parameters and structure.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            A name is unknown, or a value is not possible.
        """
        overrides = check_named("parameters", overrides)
        structural = {
            name: self.problem.check_structure(name, value)
            for name, value in overrides.items()
            if name in self.problem.structure
        }
        shaped = replace(self, structure={**self.structure, **structural})
        numbers = {name: value for name, value in overrides.items() if name not in structural}
        system = shaped.system
        known = system.dynamics.posed_ranges
        for name in numbers:
            if name not in known:
                raise shaped._no_parameter(name, [*known, *self.problem.structure])
        checked = {
            name: system.owner_of(name).check(name, value) for name, value in numbers.items()
        }
        return replace(shaped, parameters={**self.parameters, **checked})

    def _no_parameter(self, name: str, known: list[str]) -> UnknownNameError:
        """Return the error for a name that no parameter carries; start values go elsewhere."""
        states, own = self.system.dynamics.labels.states, self.problem.start_names(self.structure)
        if name in states or name in own:
            return UnknownNameError(
                f"{name!r} is a start value, not a parameter: give it as initial={{{name!r}: ...}} "
                f"to solve, or as --initial {name}=... on the command line"
            )
        if owners := self.problem.models_with(name, self.full_structure):
            have = f"model{'s' * (len(owners) > 1)} {' and '.join(map(repr, owners))}"
            return UnknownNameError(
                f"the model {self.model!r} has no parameter {name!r}: it belongs to the {have}"
            )
        return unknown_name("parameter", name, [n for n in known if n not in self.derived])

    def starting(self, values: Mapping[str, float]) -> Self:
        """Return the case with other start values, by its own names or by those of states.

        Raises
        ------
        UnknownNameError
            Neither the case nor the system has such a name.
        """
        own = dict(self.start)
        states = dict(self.initial)
        known = self.system.dynamics.labels.states
        rule = self.problem.start_rule(self.model) is not None
        open_names = self.problem.start_names(self.full_structure)
        for name, value in check_named("initial", values).items():
            if rule and name in open_names:
                own[name] = start_value(name, value)
            elif name in known:
                states[name] = start_value(name, value)
            else:
                names = dict.fromkeys([*known, *open_names])
                raise unknown_name("start value", name, list(names))
        return replace(self, start=own, initial=states)

    def solve(
        self,
        until: float | None = None,
        initial: Initial | None = None,
        **options: Unpack[SolveOptions],
    ) -> Trajectory:
        """Run the case; see `daesolve.solve`.

        Parameters
        ----------
        until
            The end, s; None takes the case's horizon.
        initial
            Start values by the case's own names or by those of states; or a run, from whose end
            this one begins, or a point of one.
        **options
            As in `daesolve.solve`; by default the case's own.
        """
        check_options("solve", options, more=tuple(SolveOptions.__annotations__))
        case = with_values(self, by_name(initial), options)
        if isinstance(initial, Continuable):
            case = replace(case, start={}, initial={})
        store = options.get("store")
        if store is not None and not isinstance(store, Destination):
            source = source_of(case.problem, case.model, case.full_structure)
            known = case.identity(), source, tuple(case.derived)
            options["store"] = Destination(located(store), *known)
        run = solve(case.system, **arguments_of(case, until, initial, options))
        return case.of_problem(run) if store is None else case._with_sources(run)

    def of_problem(self, run: Trajectory) -> Trajectory:
        """Return a run of the case's system with the problem's data about it."""
        described = split_derived(run.description, tuple(self.derived))
        return self._with_sources(replace(run, description=described))

    def _with_sources(self, run: Trajectory) -> Trajectory:
        return remember_latest(replace(run, sources=tuple(self.problem.sources), origin=self))

    def solve_options(self, until: float | None, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `daesolve.solve` for the case: its own, and other options.

        Parameters in the options are those that the case already has.
        """
        guess, initial = self.guess()
        chosen = {n: v for n, v in options.items() if v is not None and n != "parameters"}
        # An input that is given replaces its default value.
        inputs = self._inputs() | dict(check_named("inputs", chosen.pop("inputs", None)))
        driven = {*inputs} - {*self.parameters}
        return {
            "until": self.case.until if until is None else until,
            "initial": initial,
            "guess": guess,
            "parameters": {name: self.values[name] for name in self.values if name not in driven},
            "at": self.case.times or None if until is None else None,
            "inputs": inputs,
            "default_rate": self.case.rate,
            "start_time": self.case.start_time,
            "redundant": self.case.redundant,
            "rank_loss": self.case.rank_loss,
            **self._impacts(chosen.get("impact")),
            "scales": self._follows("scales", self.problem.scales),
            **chosen,
        }

    def _inputs(self) -> dict[str, Any]:
        """Return the inputs of the case, except those that were replaced by a number."""
        own = self.case.inputs
        acting = own(self.system) if callable(own) else own
        return {name: given for name, given in acting.items() if name not in self.parameters}

    def _impacts(self, law: str | None = None) -> dict[str, Any]:
        """Return what the case asks of impacts; its order is that of its own law."""
        case = self.case
        order = case.impact_order if law in (None, case.impact) else None
        return {"impact": case.impact, "impact_order": order, "on_gain": case.on_gain}

    def compare(
        self,
        formulations: Sequence[Formulation | str] | None = None,
        solvers: Sequence[Solver | str] | None = None,
        until: float | None = None,
        initial: Initial | None = None,
        *,
        tolerances: Sequence[float] | None = None,
        reference: Reference = None,
        progress: ComparisonProgress | None = None,
        **options: Unpack[RunOptions],
    ) -> Comparison:
        """Compare formulations and solvers; see `daesolve.compare`."""
        from daesolve.verification.comparison import compare

        case = with_values(self, by_name(initial), options)
        return compare(
            case.system,
            formulations,
            solvers,
            tolerances=tolerances,
            reference=reference,
            progress=progress,
            **arguments_of(case, until, initial, options),
        )

    def reference_run(
        self,
        until: float | None = None,
        initial: Initial | None = None,
        *,
        tolerance: float | None = None,
        progress: ReferenceProgress | None = None,
        **options: Unpack[RunOptions],
    ) -> ReferenceRun:
        """Run the case in quadruple precision; see `daesolve.analysis.reference_run`."""
        from daesolve.verification.reference_run import TOLERANCE, reference_run

        case = with_values(self, by_name(initial), options)
        chosen = arguments_of(case, until, initial, options)
        chosen["tolerance"] = TOLERANCE if tolerance is None else tolerance
        return reference_run(case.system, progress=progress, **chosen)

    def to_fmu(self, path: str | Path, **options: Any) -> Exported:
        """Write the case as an FMI 3.0 unit; see `daesolve.export.fmu.to_fmu`."""
        from daesolve.export.fmu import to_fmu

        check_options("to_fmu", options, more=("initial", "horizon", "tolerance"))
        case = with_values(self, options.pop("initial", None), options)
        settled, rule = case.settled
        return to_fmu(case, path, settled=settled, rule=rule, **options)

    @property
    def settled(self) -> tuple[frozenset[str], FollowedStart | None]:
        """The parameters from which the start follows by code alone, and its rule otherwise."""
        given = self.full_start, self.full_parameters, self.problem.meaning(self.full_structure)
        read, rule = ruled_start(self.problem.start_rule(self.model), self.problem.derived, given)
        return read | {*self.derived}, rule

    def with_values(self, values: Mapping[str, float]) -> BoundCase:
        """Return the case with other parameters and start values, given only by their names.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            A name is unknown, or a value is not possible.
        """
        known = self.system.dynamics.posed_ranges
        starts = {name: value for name, value in values.items() if name not in known}
        return self.changed({n: v for n, v in values.items() if n in known}).starting(starts)

    def analyse(
        self, name: str, of: Sequence[str] = (), until: float | None = None, at: At = None
    ) -> Answer:
        """Compute something about the case besides its motion.

        Parameters
        ----------
        name
            One of the problem's `analyses`, or of those in `analyses.ANALYSES`, which every
            problem has.
        of
            The parameters and start values by which "sensitivity" differentiates, or the
            coordinates that "quasi-holonomic" eliminates.
        until, at
            The horizon of "sensitivity", and its samples if not the end alone, as in `solve`.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            The analysis is unknown, or does not use names, a horizon or sample times.
        PosingError
            An analysis of the problem does not return an `Answer`.
        """
        from daesolve.plugins.analyses import Subject, answer_of

        def subject() -> Subject:
            times = self.case.start_time, lambda: self.consistent_start().state
            return Subject(self.system, self.values, *times, partial(self.sensitivity, at=at))

        return answer_of(self.problem.analyses, self, subject, name, of, until, at)

    def consistent_start(self) -> Start:
        """Return the consistent state in which the case starts.

        Raises
        ------
        InconsistentStateError
            No consistent state agrees with the start values.
        """
        (guess, initial), dynamics = self.guess(), self.system.dynamics
        values = {**dynamics.values, **self.values}
        return start_with_modes(dynamics, values, initial, guess=guess, time=self.case.start_time)[
            0
        ]

    def guess(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the guess of the states, and which of them to keep.

        The start of a case without a rule belongs to its own parameters and structure, with which
        it is kept. With others it is only a guess for the nearest consistent state.

        Raises
        ------
        OutOfRangeError
            A start value is not a finite number.
        """
        start = self.full_start
        rule = self.problem.start_rule(self.model)
        if rule is None:
            kept = {**self.start, **self.initial}
            own = {} if self._changed() else dict(self.case.start)
            return {**start, **self.initial}, {**own, **kept}
        for name, value in start.items():
            start_value(name, value)
        guess, time = self._follows("the start", rule), self.case.start_time
        met = met_by(self.system.dynamics, self.start, guess, self.values, time)
        return guess, {**met, **self.initial}  # where a loop must be closed, others move

    def _changed(self) -> dict[str, Any]:
        """Return the parameters and the structure that are other than those of the case."""
        usual = {**self.case.structure, **self.case.parameters}
        chosen = {**self.structure, **self.parameters}.items()
        return {name: value for name, value in chosen if usual.get(name) != value}

    def _follows(self, what: str, rule: StartRule | None) -> dict[str, float]:
        """Apply a rule of (start values, parameters, structure) for something."""
        if rule is None:
            return {}
        structure = self.problem.meaning(self.full_structure)
        named = f"the rule for {what} of the problem {self.problem.name!r}"
        try:
            found = called(named, rule, self.full_start, self.full_parameters, structure)
            return numbers_by_name(named, found)
        except PluginError as error:
            if not isinstance(error.__cause__, OverflowError):
                raise
            raise OutOfRangeError(
                f"the start values and parameters of the case {self.case.name!r} lead to an "
                "overflow: one of them is too large"
            ) from error

    def identity(self) -> dict[str, Any]:
        """Return the identity of this run for the report, and the units of its parameters."""
        own = self.problem, self.case, self.model
        return identity_of(*own, self.full_structure, self.system, self._asked())

    def _asked(self) -> dict[str, Any]:
        """Return what was changed of the case, and what the case itself asks for."""
        own = {"redundant": self.case.redundant, "rank_loss": self.case.rank_loss}
        own |= {n: value for n, value in self._impacts().items() if value != USUAL[n]}
        return {"set": self._changed(), "initial": {**self.start, **self.initial}, "usual": own}
