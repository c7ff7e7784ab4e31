"""Exports a system as an FMI 3.0 unit, for Model Exchange and Co-Simulation."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

import casadi as ca

from daesolve.core.formulations import Feedback
from daesolve.core.preparation.lately import prepare_once
from daesolve.core.preparation.preparing import Prepared
from daesolve.core.results.storage.files import located
from daesolve.core.results.trajectory.results import Continuable
from daesolve.core.run.integration.run_options import (
    RunOptions,
    Source,
    check_options,
    requested_of,
)
from daesolve.core.system.system import System
from daesolve.errors import InconsistentStateError, MissingPackageError, OutOfRangeError, is_number
from daesolve.export.fmu.admission import check_exportable, check_functions
from daesolve.export.fmu.building import (
    archive,
    compiled,
    equations,
    platform_tuple,
    sources,
    suffix,
    token_of,
)
from daesolve.export.fmu.description import build_description, model_description
from daesolve.export.fmu.functions import UnitFunctions
from daesolve.export.fmu.guards import watched_guards
from daesolve.export.fmu.tables import Sheet, sizes, tables
from daesolve.export.fmu.variables import FIXED, INPUT, SETTLED, TUNABLE, variables_of
from daesolve.export.named import StartRule

PARAMETERS = (FIXED, TUNABLE, SETTLED)
"""Kinds of values that are parameters."""
HORIZON = 10.0
"""s, about how long a motion is followed by default."""
TOLERANCE = 1e-12
"""Relative tolerance of a step, if the importing tool sets none."""
REFUSED = {
    "at": "the importing tool chooses the sample times",
    "max_evaluations": "the importing tool decides how long it runs",
    "solver": (
        "a Co-Simulation unit contains its own solver, and for Model Exchange the importing "
        "tool provides one"
    ),
    "rtol": "give tolerance, from 1e-15 on",
    "atol": "give tolerance, from 1e-15 on",
}


@dataclass(frozen=True)
class Exported:
    """A unit that has been written.

    Parameters
    ----------
    path
        The file.
    states, parameters, inputs, outputs, indicators
        How many of each it has.
    notes
        Automatic choices, in words.
    """

    path: Path
    states: int
    parameters: int
    inputs: int
    outputs: int
    indicators: int
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Unit:
    """A system as C sources.

    Parameters
    ----------
    prepared
        The run from which it takes its equations.
    sheet
        Its data.
    texts
        Its source files by name; "unit.c" includes the rest.
    """

    prepared: Prepared
    sheet: Sheet
    texts: Mapping[str, str]


def to_fmu(
    source: Source,
    path: str | Path,
    initial: Mapping[str, float] | None = None,
    *,
    horizon: float | None = None,
    tolerance: float | None = None,
    settled: Collection[str] = (),
    rule: StartRule | None = None,
    **options: Unpack[RunOptions],
) -> Exported:
    """Write a system as an FMI 3.0 unit, which runs without Python in the importing tool.

    The equations become C code, which is compiled here and included in the unit beside the library.
    Reactions are eliminated by feedback, so that constraints attract the motion whichever solver
    integrates it. A unit has both interfaces. For Model Exchange the importing tool integrates, and
    finds events by indicators; for Co-Simulation the unit integrates by Dormand and Prince's method
    of order 8, and finds events to rounding.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    path
        The file to write, "model.fmu".
    initial
        Start values to keep, as in `solve`; the others become consistent with them.
    horizon
        About how long the motion will be followed, s: the end of the unit's default experiment.
        None means the case's horizon, or 10 s.
    tolerance
        Of a step, relative to the size of each state, if the importing tool sets none. None means
        1e-12.
    settled
        The names of parameters from which the start follows by your own rule, which is not in the
        unit: the unit refuses to set them.
    rule
        Such a rule as expressions, which the unit evaluates when one of their parameters is set.
    **options
        Those of `solve`, except the solver and the samples. Inputs that are numbers or left out are
        inputs of the unit; an expression, a table or a sampled law acts inside it.

    Returns
    -------
    Exported
        What has been written.

    Raises
    ------
    UnsupportedError
        A part cannot be computed in C alone, such as contacts that decide by complementarity, or
        laws in Python; the message names it.
    MissingBackendError
        There is no C compiler here.
    DaesolveError
        As in `solve`, if no run can start.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m")
    >>> spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    >>> with TemporaryDirectory() as directory:
    ...     unit = ds.fmu.to_fmu(spring, Path(directory, "spring.fmu"), {"x": 1.0})
    >>> unit.states, unit.indicators
    (2, 0)
    """
    unit = unit_of(
        source, initial, horizon=horizon, tolerance=tolerance, settled=settled, rule=rule, **options
    )
    prepared, sheet, texts = unit.prepared, unit.sheet, unit.texts
    variables = sheet.variables
    target = located(path)
    identifier = identifier_of(target.stem)
    library = compiled(texts, identifier)
    entries = {
        "modelDescription.xml": model_description(
            sheet, identifier, target.stem, _words(prepared), prepared.until
        ),
        f"binaries/{platform_tuple()}/{identifier}{suffix()}": library,
        "sources/buildDescription.xml": build_description(identifier),
        **{f"sources/{name}": text.encode() for name, text in texts.items()},
    }
    archive(target, entries)
    kinds = [value.kind for value in variables.values]
    return Exported(
        target,
        len(variables.states),
        sum(kind in PARAMETERS for kind in kinds),
        kinds.count(INPUT),
        len(variables.shown),
        len(variables.indicators),
        prepared.notes,
    )


def unit_of(
    source: Source,
    initial: Mapping[str, float] | None = None,
    *,
    horizon: float | None = None,
    tolerance: float | None = None,
    settled: Collection[str] = (),
    rule: StartRule | None = None,
    **options: Unpack[RunOptions],
) -> Unit:
    """Return the C sources of a unit; the arguments and errors are those of `to_fmu`."""
    check_options("to_fmu", options, REFUSED, ("horizon", "tolerance"))
    tolerance = TOLERANCE if tolerance is None else tolerance
    if not (is_number(tolerance) and 0.0 < tolerance < 1.0):
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must lie between 0 and 1")
    return unit_of_prepared(_prepared(source, initial, horizon, options), tolerance, settled, rule)


def unit_of_prepared(
    prepared: Prepared,
    tolerance: float = TOLERANCE,
    settled: Collection[str] = (),
    rule: StartRule | None = None,
) -> Unit:
    """Return the C sources of the unit of a prepared run; see `to_fmu`."""
    check_exportable(prepared)
    functions = UnitFunctions(prepared, rule)
    guards = watched_guards(prepared)
    check_functions(functions, guards)
    variables = variables_of(functions, guards, settled)
    sheet = Sheet(functions, guards, variables, "", tolerance)
    written = functions.all()
    texts = sources(_generated(sheet, written))
    sheet = replace(sheet, token=token_of(texts))
    return Unit(prepared, sheet, texts | _generated(sheet, written))


def _prepared(
    source: Source,
    initial: Mapping[str, float] | None,
    horizon: float | None,
    options: RunOptions,
) -> Prepared:
    """Prepare a run from which the unit takes its equations, its start and all that is chosen."""
    if isinstance(initial, Continuable):
        raise OutOfRangeError(
            "initial is a run, but a unit begins anew: give the state and the time of the run, "
            "initial=dict(run.end_state) and start_time=run.end_time"
        )
    if horizon is not None and not (is_number(horizon) and horizon > 0):
        raise OutOfRangeError(f"the horizon is {horizon!r}, but must be a number > 0")
    until: float | None = None
    if isinstance(source, System):
        begin = options.get("start_time") or 0.0
        until = begin + (HORIZON if horizon is None else horizon)
    system, request, _ = requested_of(source, until, initial, options)
    if horizon is not None:
        request = replace(request, until=(request.start_time or 0.0) + horizon)
    formulation = Feedback() if request.formulation is None else request.formulation
    request = replace(request, formulation=formulation)
    # Inputs that are not given are zero until the tool sets them.
    unset = sorted(system.inputs.unset - {*request.inputs} - {*request.parameters})
    request = replace(request, inputs={**request.inputs, **dict.fromkeys(unset, 0.0)})
    try:
        prepared = prepare_once(system, request)
        if prepared.assumed and isinstance(formulation, Feedback):
            # A run watches at every step what is conserved without a proof; a unit does not.
            rates = {**formulation.rates, **dict.fromkeys(prepared.assumed)}
            undriven = replace(formulation, rates=rates)
            prepared = prepare_once(system, replace(request, formulation=undriven))
        return prepared
    except InconsistentStateError as error:
        if not unset:
            raise
        names = ", ".join(map(repr, unset))
        raise InconsistentStateError(
            f"{error}. Inputs that are not given, here {names}, are zero at the start of a unit: "
            "give them defaults, ds.inputs(NAME=(value, unit))"
        ) from None


def _generated(sheet: Sheet, functions: list[ca.Function]) -> dict[str, str]:
    return {
        "model.h": sizes(sheet, functions),
        "tables.h": tables(sheet),
        "equations.c": equations(functions),
    }


def identifier_of(name: str) -> str:
    """Return a name valid in C: other characters become underscores."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    return found if found and not found[0].isdigit() else f"_{found}"


def _words(prepared: Prepared) -> str:
    goals = [row.name for row in prepared.dynamics.rows]
    listed = f", constraints {', '.join(goals)}" if goals else ""
    return f"A constrained mechanical system by daesolve{listed}"


def findings(path: str | Path) -> tuple[str, ...]:
    """Return the findings of FMPy's check of a unit; empty if it conforms to the standard.

    Parameters
    ----------
    path
        Of the unit.

    Raises
    ------
    OutOfRangeError
        There is no such file.
    MissingPackageError
        FMPy is not installed; the message says how to install it.
    """
    if not Path(path).is_file():
        raise OutOfRangeError(f"the file {path} does not exist")
    try:
        validation: Any = import_module("fmpy.validation")
    except ImportError:
        raise MissingPackageError("fmpy", "fmi") from None
    return tuple(map(str, validation.validate_fmu(str(path))))
