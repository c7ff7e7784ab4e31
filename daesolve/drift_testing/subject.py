"""What is run: a case of a problem, or a system, with its invariants measured and not driven."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from daesolve.drift_testing.limits import DriftError
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import DaesolveError, UnsupportedError, unknown_name
from daesolve.formulations import Feedback, Formulation, Projected
from daesolve.plugins import registry
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.registry import Problem
from daesolve.solving.solving import solve
from daesolve.system.system import ControlSystem, MechanicalSystem, System
from daesolve.trajectory.trajectory import Trajectory

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
        The horizon where none is asked for, s; None where there is none.
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
    """Return what is to be run.

    Parameters
    ----------
    of
        A case, a problem or its name (its first case), or a system.
    options
        Those of the run; what has no word in a shell leaves it without a command.

    Raises
    ------
    DriftError
        It is nothing that can be run.
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
    """Return the formulation that the library would choose, with invariants measured alone.

    Parameters
    ----------
    subject
        What is run.
    driven
        True for all invariants, or the names of those that are to be driven none the less.

    Returns
    -------
    Formulation or None
        None where nothing is switched off.

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
            f"driven is {driven!r}, but must be True, False or names of invariants: ['energy']"
        )
    names = [] if driven is False else list(driven)
    for name in names:
        if name not in rows:
            raise unknown_name("invariant", name, rows)
        if not (rows[name].drive or rows[name].by_relation):
            raise UnsupportedError(
                f"the invariant {name!r} cannot be driven here, for it is posed with drive=False"
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
