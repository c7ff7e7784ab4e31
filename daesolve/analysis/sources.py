"""What may be run: a system with its start values, or a case of a problem that has its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

from daesolve.errors import OutOfRangeError
from daesolve.integration.sample_times import At
from daesolve.preparation.naming import made_by_name
from daesolve.preparation.request import Request
from daesolve.system.consistent_state import check_system
from daesolve.system.system import System


@runtime_checkable
class BoundProblem(Protocol):
    """A case of a problem with every value chosen, as analyses see it."""

    @property
    def system(self) -> System:
        """The system, posed."""
        ...

    def starting(self, values: Mapping[str, float], /) -> Self:
        """Return the case with other start values."""
        ...

    def solve_options(self, until: float | None, options: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the arguments of `daesolve.solve` for the case."""
        ...


Source = System | BoundProblem


def asked(
    source: Source,
    until: float | None,
    initial: Mapping[str, float] | None,
    options: Mapping[str, Any],
) -> tuple[System, Request, At]:
    """Return the system of a source, what is to be run of it, and its sample times.

    Parameters
    ----------
    source
        A system, or a case of a problem.
    until
        The end, s; None takes the horizon of a case.
    initial
        Start values to keep; of a case, by its own names too.
    options
        Those of `solve` that say what is run.

    Raises
    ------
    PosingError
        It is neither a system nor a case.
    OutOfRangeError
        A system has no horizon of its own, or there is no such option.
    UnknownNameError
        Nothing has the name of a start value.
    """
    if isinstance(source, BoundProblem):
        case = source.starting(initial or {})
        wanted: dict[str, Any] = case.solve_options(until, options)
        system = case.system
    else:
        check_system(source)
        if until is None:
            raise OutOfRangeError("until is missing: a system has no horizon of its own")
        wanted = {"until": until, "initial": initial or {}, **options}
        system = source
    at = wanted.pop("at", None)
    known = Request.__dataclass_fields__
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise OutOfRangeError(
            f"there is no option {unknown[0]!r}: there are {', '.join(sorted({*known, 'at'}))}"
        )
    given = {name: value for name, value in wanted.items() if value is not None}
    return system, Request(**made_by_name(given)), at
