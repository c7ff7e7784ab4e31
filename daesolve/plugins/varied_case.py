"""Derivatives of the motion of a case by its parameters and start values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from daesolve.core.preparation.naming import made_by_name
from daesolve.core.run.integration.run_options import (
    RunOptions,
    check_options,
    requested_by,
    with_values,
)
from daesolve.errors import OutOfRangeError

if TYPE_CHECKING:
    from daesolve.analysis.gradients import Gradient, Objective
    from daesolve.analysis.sensitivity import Sensitivity, Varied
    from daesolve.core.preparation.request import Request


class VariedCase:
    """The derivatives of a case."""

    def sensitivity(
        self,
        by: Sequence[str],
        until: float | None = None,
        initial: Mapping[str, float] | None = None,
        **options: Unpack[RunOptions],
    ) -> Sensitivity:
        """Differentiate the motion; see `daesolve.analysis.sensitivity`.

        Parameters
        ----------
        by
            Names of parameters, of start values by the case's own names, and of states that the
            case keeps.
        until, initial, **options
            As in `solve`.
        """
        from daesolve.analysis.sensitivity import sensitivity_of

        check_options("sensitivity", options)
        return sensitivity_of(*self.varied(by, until, initial, options))

    def gradient(
        self,
        objective: Objective,
        by: Sequence[str],
        until: float | None = None,
        initial: Mapping[str, float] | None = None,
        **options: Unpack[RunOptions],
    ) -> Gradient:
        """Differentiate an objective by many numbers; see `daesolve.analysis.gradient`.

        Parameters
        ----------
        objective
            What is differentiated.
        by, until, initial, **options
            As in `sensitivity`.
        """
        from daesolve.analysis.gradients import gradient

        return gradient(self, objective, until, initial, by=by, **options)

    def varied(
        self,
        by: Sequence[str],
        until: float | None,
        initial: Mapping[str, float] | None,
        options: RunOptions,
        /,
    ) -> Varied:
        """Return the system, the request for some of the numbers, all of them, and the samples.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            A name is unknown, missing, or follows from other values.
        """
        from daesolve.analysis.sensitivity import nothing_to_differentiate_by

        # It is a BoundCase, whose module imports this one.
        case: Any = with_values(cast("Any", self), initial, options)
        if not by:
            names = [name for name in case.full_parameters if name not in case.derived]
            raise nothing_to_differentiate_by([*names, *case.full_start, *case.initial])
        made: dict[str, Any] = made_by_name(options)

        def request(values: Mapping[str, float]) -> Request:
            return requested_by(case.with_values(values), until, made)[0]

        at = requested_by(case, until, made)[1]
        return case.system, request, _nominal(case, by), at


def _nominal(case: Any, by: Sequence[str]) -> dict[str, float]:
    """Return the values of the variables of differentiation."""
    from daesolve.analysis.sensitivity import nominal_values

    derived = case.derived
    for name in by:
        if name in derived:
            raise OutOfRangeError(
                f"{name!r} follows from the other values: set it to differentiate by it"
            )
    starts = {**case.full_start, **case.initial}
    own = case.problem.start_names(case.full_structure)
    open_names = [*case.system.dynamics.labels.states, *own]
    return nominal_values(by, case.full_parameters, starts, open_names)
