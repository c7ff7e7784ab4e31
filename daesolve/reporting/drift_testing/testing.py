"""The fixture of a test: it runs motions, judges and records them, and fails the test."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations import Feedback, Formulation, Projected
from daesolve.core.preparation.naming import formulation_of
from daesolve.core.results.trajectory.results import Outcome, Verification
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.core.run.solving.solving import solve
from daesolve.core.system.system import ControlSystem, MechanicalSystem, System
from daesolve.errors import DaesolveError, UnsupportedError, unknown_name
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.registry import Problem
from daesolve.reporting.document import drift_document, history_document, plain
from daesolve.reporting.drift_testing.baseline import (
    Baseline,
    DriftError,
    Limits,
    check_carried,
    check_limits,
    exceeds,
    limits_of,
    relative_differences,
    worse,
)
from daesolve.reporting.drift_testing.drift_report import failure

Driven = bool | Iterable[str]


@dataclass(frozen=True, eq=False)
class DriftSubject:
    """What is run.

    Parameters
    ----------
    dynamics
        Its equations.
    identity
        `problem`, `case`, `model` and `structure`; empty for a system.
    rank_loss
        "stop" or "pass".
    until
        The default horizon, s; None if there is none.
    solve
        (until, **options) -> the run.
    command
        What runs it from a shell, without horizon and rates; empty where that cannot be.
    """

    dynamics: Dynamics
    identity: Mapping[str, Any]
    rank_loss: str
    until: float | None
    solve: Callable[..., Trajectory]
    command: tuple[str, ...]


def subject(of: str | Problem | BoundCase | System, options: Mapping[str, Any]) -> DriftSubject:
    """Return the subject of a drift test.

    Parameters
    ----------
    of
        A case, a problem or its name (its first case), or a system.
    options
        Those of the run; what has no word in a shell leaves it without a command.

    Raises
    ------
    DriftError
        It cannot be run.
    """
    if isinstance(of, MechanicalSystem | ControlSystem):
        return DriftSubject(
            dynamics=of.dynamics,
            identity={},
            rank_loss=options.get("rank_loss", "stop"),
            until=None,
            solve=partial(solve, of),
            command=(),
        )
    name = of if isinstance(of, str) else None
    whole = registry.problem(of) if isinstance(of, str) else of
    case = whole.case() if isinstance(whole, Problem) else whole
    if not isinstance(case, BoundCase):
        raise DriftError(
            f"drift runs a case of a problem, a problem, its name or a system, not {of!r}"
        )
    case = case.starting(options.get("initial") or {})
    return DriftSubject(
        dynamics=case.system.dynamics,
        identity=case.identity(),
        rank_loss=options.get("rank_loss", case.case.rank_loss),
        until=case.case.until,
        solve=case.solve,
        command=() if set(options) - {"initial"} else _command(case, name),
    )


def _command(case: BoundCase, name: str | None) -> tuple[str, ...]:
    """Return the words that run a case of an installed problem, or of one that was named."""
    if name is None:
        name = case.problem.name
        try:
            installed = registry.problem(name)
        except DaesolveError:
            return ()
        if installed is not case.problem:
            return ()
    own = {**case.case.structure, **case.case.parameters}
    chosen = {**case.structure, **case.parameters}
    changed = {key: value for key, value in chosen.items() if own.get(key) != value}
    if not all(isinstance(value, bool | int | float | str) for value in changed.values()):
        return ()
    usual = case.case.model or next(iter(case.problem.models))
    model = [] if case.model == usual else ["--model", case.model]
    sets = [word for key, value in changed.items() for word in ("--set", f"{key}={_word(value)}")]
    starts = {**case.start, **case.initial}
    initial = [word for key, value in starts.items() for word in ("--initial", f"{key}={value!r}")]
    return ("daesolve", "run", name, "--case", case.case.name, *model, *sets, *initial)


def _word(value: bool | int | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def measuring(subject: DriftSubject, driven: Driven) -> Formulation | None:
    """Return the formulation that the library would choose, with invariants only measured.

    Parameters
    ----------
    subject
        What is run.
    driven
        True for all invariants, or the names of those to drive nonetheless.

    Returns
    -------
    Formulation or None
        None if no invariant is switched off.

    Raises
    ------
    DriftError, UnknownNameError, UnsupportedError
        `driven` is neither a truth value nor names of invariants that can be driven.
    """
    rows = {row.name: row for row in subject.dynamics.invariants}
    if driven is True:
        return None
    if isinstance(driven, str) or not isinstance(driven, Iterable | bool):
        raise DriftError(
            f"driven is {driven!r}, but must be True, False or names of invariants, such as "
            "['energy']"
        )
    names = [] if driven is False else list(driven)
    for name in names:
        if name not in rows:
            raise unknown_name("invariant", name, rows)
        if not (rows[name].drive or rows[name].by_relation):
            raise UnsupportedError(
                f"the invariant {name!r} cannot be driven here, because it is posed with "
                "drive=False"
            )
    off = {name: None for name in rows if name not in names}
    if not off:
        return None
    feedback = Feedback(rates=off)
    passes = subject.rank_loss == "pass"
    projects = passes and subject.dynamics.position_count and subject.dynamics.rows
    return Projected(feedback) if projects else feedback


def command(
    subject: DriftSubject, formulation: Formulation | None, until: float | None, *, verify: bool
) -> str:
    """Return what runs the same from a shell; empty where that cannot be."""
    if not subject.command:
        return ""
    off = [] if formulation is None else list(formulation.single_rates)
    chosen = [] if formulation is None or not formulation.projects else [formulation.title]
    words = [
        *subject.command,
        *([] if until is None else ["--until", f"{until:.15g}"]),
        *(word for name in chosen for word in ("--formulation", name)),
        *(word for name in off for word in ("--rate", f"{name}=off")),
        *(["--verify"] if verify else []),
    ]
    return shlex.join(words)


@dataclass(eq=False)
class DriftTest:
    """The fixture `drift` of one test.

    Parameters
    ----------
    test
        The name of the test.
    fail
        Called with a message if the test fails; it must raise.
    baseline
        What was measured earlier; None if nothing is compared.
    entries
        What was measured, for each run in plain types.
    """

    test: str
    fail: Callable[[str], NoReturn] = field(repr=False)
    baseline: Baseline | None = field(default=None, repr=False)
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)

    def __call__(
        self,
        of: str | Problem | BoundCase | System,
        until: float | None = None,
        *,
        limits: Limits | None = None,
        accuracy: float | None = None,
        driven: Driven = False,
        formulation: Formulation | str | None = None,
        **options: Any,
    ) -> Trajectory:
        """Run a motion with invariants measured but not driven, and hold its drift to limits.

        Parameters
        ----------
        of
            A case of a problem, a problem or its name (then its first case), or a system.
        until
            The end, s; None takes the case's horizon.
        limits
            The largest |residual| over its scale that is allowed at any accepted step, by the
            name of the goal; it holds for the goal's hidden constraints too (`contact_dot`), unless
            they have their own limit. None only measures.
        accuracy
            How far the states of a repeated run may differ, relative to the largest value among
            the states of a unit, for angles at least 1 rad; None does not repeat.
        driven
            Names of invariants to drive nonetheless, or True for all.
        formulation
            A formulation or its name, instead of the library's choice; it decides what is driven.
        **options
            As in `daesolve.solve`; for a case start values by its own names too.

        Returns
        -------
        Trajectory
            The run, for further assertions.
        """
        __tracebackhide__ = True
        asked: Limits = {} if limits is None else limits
        run, message = None, ""
        try:
            run, entry = self._measure(of, until, asked, accuracy, driven, formulation, options)
            self.entries.append(entry)
            message = failure(entry) if entry["verdict"] == "exceeded" else ""
        except DaesolveError as error:
            message = f"{type(error).__name__}: {error}"
        if run is None or message:
            self.fail(message)
        return run

    def _measure(
        self,
        of: str | Problem | BoundCase | System,
        until: float | None,
        limits: Limits,
        accuracy: float | None,
        driven: Driven,
        formulation: Formulation | str | None,
        options: Mapping[str, Any],
    ) -> tuple[Trajectory, dict[str, Any]]:
        what = subject(of, options)
        if until is None and what.until is None:
            raise DriftError("a system has no horizon: give until, in s")
        if formulation is not None and driven is not False:
            raise DriftError(
                "the rates of a formulation already determine what is driven: give either "
                "a formulation or driven"
            )
        check_limits(what.dynamics, limits, accuracy)
        options = _verified(options, accuracy)
        chosen = measuring(what, driven) if formulation is None else formulation_of(formulation)
        with reported_otherwise():
            run = what.solve(until, formulation=chosen, **options)
        if run.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        check_carried(limits, list(run.drift))
        line = (
            command(what, chosen, until, verify=accuracy is not None) if formulation is None else ""
        )
        entry = {
            "test": self.test,
            "number": len(self.entries) + 1,
            **_request(what, run),
            "limits": limits,
            "accuracy": accuracy,
            **_findings(run, limits_of(what.dynamics, limits)),
            "repeat": [f"pytest {shlex.quote(self.test)}", *([line] if line else [])],
        }
        return run, plain(self._judged(entry))

    def _judged(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Add what exceeds what, and the verdict: "held", "exceeded", or "measured" alone."""
        before = None if self.baseline is None else self.baseline.get((self.test, entry["number"]))
        drift, verification = entry["drift"], entry["verification"]
        repeats = entry["accuracy"] is not None
        limits: dict[str, Any] = {n: e["limit"] for n, e in drift.items() if e["limit"] is not None}
        states: dict[str, float] = verification["relative"] if repeats and verification else {}
        exceeded: dict[str, list[str]] = {
            "limits": [
                n for n, limit in limits.items() if exceeds(drift[n]["max_relative"], limit)
            ],
            "accuracy": [name for name, size in states.items() if exceeds(size, entry["accuracy"])],
            "baseline": worse(drift, before or {}),
        }
        good = Outcome(entry["outcome"]).good
        held = "held" if limits or repeats or before else "measured"
        return {
            **entry,
            "exceeded": exceeded,
            "verdict": "exceeded" if not good or any(exceeded.values()) else held,
            "baseline": None
            if self.baseline is None
            else {
                "before": before,
                "missing": [name for name in drift if name not in (before or {})],
            },
        }


def _verified(options: Mapping[str, Any], accuracy: float | None) -> dict[str, Any]:
    verify = options.get("verify", accuracy is not None)
    if accuracy is not None and verify is False:
        raise DriftError("accuracy needs a repeated run: leave out verify=False")
    return {**options, "verify": verify}


def _request(what: DriftSubject, run: Trajectory) -> dict[str, Any]:
    """Return what was run."""
    description = run.description
    names = ("problem", "case", "model", "structure")
    return {
        **{name: what.identity.get(name) for name in names},
        **{
            name: description[name]
            for name in ("parameters", "formulation", "solver", "rates", "tolerances")
        },
        "start_time": description["start_time"],
        "until": description["until"],
    }


def _findings(run: Trajectory, limits: Mapping[str, float]) -> dict[str, Any]:
    """Return how it ended, and every residual with its limit."""
    return {
        "outcome": run.outcome.value,
        "message": run.message,
        "end_time": run.end_time,
        "drift": {
            name: {"limit": limits.get(name), **drift_document(entry)}
            for name, entry in run.drift.items()
        },
        "drift_history": {name: history_document(entry) for name, entry in run.drift.items()},
        "verification": _verification(run, run.verification),
        "statistics": vars(run.statistics),
        "notes": run.description["notes"],
    }


def _verification(run: Trajectory, found: Verification | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "against": found.against,
        "difference": found.difference,
        "relative": relative_differences(run, found.difference),
        "lyapunov_time": found.lyapunov_time,
        "growth": found.growth,
    }
