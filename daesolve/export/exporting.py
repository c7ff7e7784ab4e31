"""Exports of a system: functions with named entries, a Python module, C.

Each public function is a method of systems; see `daesolve.core.features`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.formulations.laws import Law
from daesolve.core.results.storage.files import located
from daesolve.core.system.system import System, unswitched
from daesolve.errors import InconsistentStateError, OutOfRangeError
from daesolve.export.c_language import RESERVED
from daesolve.export.c_project import c_project
from daesolve.export.named import NamedFunction
from daesolve.export.plant import Plant
from daesolve.export.python_module import python_module
from daesolve.export.quantities import Equations
from daesolve.export.words import distinct, plain
from daesolve.export.writing import python_path, write

if TYPE_CHECKING:
    from daesolve.export.fmu import Exported


def function(
    system: System,
    quantity: str,
    around: Mapping[str, float] | None = None,
    *,
    rate: float = 0.0,
    laws: Mapping[str, Law] | None = None,
) -> NamedFunction:
    """Return a quantity as a CasADi function of (t, x, p) with named entries.

    Parameters
    ----------
    quantity
        "accelerations" (v'), "reactions" (u, and those that are recovered), "rhs" (x'),
        "residuals" (each constraint, hidden constraint and implicit equation, as posed),
        "outputs", "guards"; and of a mechanical system "mass_matrix" (M), "forces" (h),
        "influence" (B), "jacobian" (J), "bias" (b) and "energy" (kinetic, potential, total),
        which make up M v' = h + B u and J v' + b = 0.
    around
        A consistent state by name, near which the elimination is checked. By default random
        consistent states are used. The defaults of discrete values are those with which a run
        would begin there; without it, contacts with friction have no default for sliding and
        sticking, and their values must be given.
    rate
        In 1/s. With a rate, the motion is attracted to the constraints, as with `Feedback`;
        without one, an integrated motion drifts off them. Goals measured from their value at
        the start are unaffected.
    laws
        Laws of single constraints instead of the rate, as in `Feedback(laws=...)`.

    Returns
    -------
    NamedFunction
        x is in the order of `function.inputs["x"].names`; p holds parameters, discrete values
        and inputs in the order of `function.inputs["p"].names`. The reactions are eliminated.
        Piecewise expressions stay as posed.

    Raises
    ------
    UnknownNameError
        There is no such quantity.
    UnsupportedError
        The system does not have the quantity: a control system has no masses.
    OutOfRangeError
        A state has no value in `around`, or the rate is negative.
    RedundantConstraintsError
        Goals follow from others, so the reactions are not determined.
    """
    system = unswitched(system)
    mode: dict[str, float] = {}
    if around is not None:
        # A state of other values than the defaults is in no mode of theirs.
        with suppress(InconsistentStateError):
            mode = _mode(system.dynamics, around, {}, 0.0)
    return Equations(
        system.dynamics, _units_of(system), around, rate, mode, dict(laws or {})
    ).function(quantity)


def plant(
    system: System,
    name: str,
    start: Mapping[str, float] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    rate: float = 0.0,
    laws: Mapping[str, Law] | None = None,
    time: float = 0.0,
) -> Plant:
    """Return the content of `to_python` and `to_c`; see there."""
    system = unswitched(system)
    given = dict(values or {})
    if start is not None:
        given = {**_mode(system.dynamics, start, given, time), **given}
    equations = Equations(system.dynamics, _units_of(system), start, rate, given, dict(laws or {}))
    return Plant(plain(name), equations, start, time)


def to_python(
    system: System,
    path: str | Path,
    start: Mapping[str, float] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    rate: float = 0.0,
    laws: Mapping[str, Law] | None = None,
    time: float = 0.0,
) -> Path:
    """Write the equations as a Python module that needs only NumPy.

    The module has a function for each quantity of `function`, such as `rhs(t, x, p)`; the
    states; the values with defaults and units; tables; events with guards and resets. Piecewise
    expressions stay as posed.

    Parameters
    ----------
    path
        The path of the module, such as "plant.py".
    start
        A consistent state by name, which becomes START of the module; by default a random one.
        The defaults of discrete values are those with which a run would begin there: which
        contacts stick or slide, what a sampled law holds. Inputs without a value count as zero.
    values
        Parameters, inputs and discrete values that override their defaults. If a discrete value
        is among them, the others keep the defaults of the system.
    rate
        In 1/s: with it, the motion is attracted to the constraints; see `function`.
    laws
        Laws of single constraints instead of the rate; see `function`.
    time
        The time of the start, in s.

    Returns
    -------
    pathlib.Path
        The path of the module.

    Raises
    ------
    OutOfRangeError
        The path is not a module name, the start lacks a state, or the rate is negative.
    UnknownNameError
        A value has a name that the system does not have.
    InconsistentStateError
        The start violates a constraint.
    UnsupportedError
        Python lacks an operation.
    DaesolveError
        No run could begin at the start.
    OutputExistsError, StorageError
        The existing file was not written by an export, or the file cannot be written.
    """
    target = python_path(path)
    content = plant(system, target.stem, start, values=values, rate=rate, laws=laws, time=time)
    (written,) = write({target: python_module(content, version("daesolve"))})
    return written


def to_c(
    system: System,
    path: str | Path,
    start: Mapping[str, float] | None = None,
    *,
    values: Mapping[str, float] | None = None,
    rate: float = 0.0,
    laws: Mapping[str, Law] | None = None,
    time: float = 0.0,
) -> Path:
    """Write the equations as C99 code that allocates nothing and keeps no state.

    The directory contains a header with the names of all entries, the source, an example of an
    integration, a test against the numbers of daesolve, a Makefile and a README.

    Parameters
    ----------
    path
        The path of the directory, such as "plant", which also names the functions; it must not
        end with .c or .h.
    start, values, rate, laws, time
        As in `to_python`.

    Returns
    -------
    pathlib.Path
        The path of the directory.

    Raises
    ------
    OutOfRangeError, UnknownNameError, UnsupportedError, OutputExistsError, StorageError
        As in `to_python`.
    """
    target = located(path)
    if target.suffix in (".c", ".h"):
        raise OutOfRangeError(
            f"{str(path)!r} looks like a file, but the C code is several files in a directory: "
            f"write {target.stem!r}"
        )
    (name,) = distinct([target.name], RESERVED | {"test"})
    content = plant(system, name, start, values=values, rate=rate, laws=laws, time=time)
    files = c_project(content, version("daesolve"))
    write({target / file: text for file, text in files.items()})
    return target


def to_fmu(
    system: System,
    path: str | Path,
    initial: Mapping[str, float] | None = None,
    *,
    horizon: float | None = None,
    tolerance: float | None = None,
    **options: Any,
) -> Exported:
    """Write the system as an FMI 3.0 unit, which runs without Python in the importing tool.

    Parameters
    ----------
    path
        The path of the file, such as "plant.fmu".
    initial, horizon, tolerance, **options
        As in `daesolve.export.fmu.to_fmu`.

    Returns
    -------
    Exported
        A description of what was written.

    Raises
    ------
    UnsupportedError, MissingBackendError, DaesolveError
        As in `daesolve.export.fmu.to_fmu`.
    """
    from daesolve.export.fmu import to_fmu

    return to_fmu(system, path, initial, horizon=horizon, tolerance=tolerance, **options)


def _units_of(system: System) -> dict[str, str]:
    """Return the units of all entries of p."""
    found: dict[str, str] = {}
    for own in (system.parameters, system.inputs, system.posed.discrete):
        found |= dict(zip(own.names, own.units, strict=True))
    return found


def _mode(
    dynamics: Dynamics, start: Mapping[str, float], given: Mapping[str, float], time: float
) -> dict[str, float]:
    """Return the discrete values with which a run would begin; none if some are given."""
    from daesolve.core.preparation.examination import mode_at

    whole = {*dynamics.labels.states} <= {*start}
    return (
        mode_at(dynamics, start, given, time)
        if whole and not given.keys() & {*dynamics.discrete}
        else {}
    )
