"""What a plugin offers: a problem, whose cases are bound to their values and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Family


@dataclass(frozen=True, eq=False)
class Problem(Family):
    """A family of systems with its cases.

    Parameters
    ----------
    name
        Lower case with hyphens.
    title
        A line for the list.
    models
        Name -> function of the structure that poses the system; the first is the default.
    cases
        At least one; the first is the default.
    sources
        Papers and books.
    structure
        Choices that rebuild the equations, with their defaults: a bool, an int or a `Choice`.
    start
        (start values, parameters, structure) -> guess of the states, or such a rule for each
        model that has one of its own. Without it, start values are states, and are kept as they
        are.
    start_values
        structure -> the names of start values besides those that its cases use.
    scales
        (start values, parameters, structure) -> scale of goals by name, such as the energy scale.
    derived
        (start values, parameters, structure) -> parameters and discrete values that follow from
        the others, where they are not given.
    analyses
        Name -> what is computed for a case besides its motion.
    figures
        Name -> function of a run's document that draws a figure of the problem's own.
    measures
        Name -> what is computed of every member of a sweep.
    drawing
        Function of a run's document that tells what the bodies look like.
    path
        The file that defines it; None where an installed plugin does.

    Raises
    ------
    PosingError
        There is no model or no case, or two cases have one name.

    Examples
    --------
    >>> import daesolve as ds
    >>> def oscillator():
    ...     q, p = ds.coordinates(x="m"), ds.parameters(stiffness=(4.0, "N/m"))
    ...     return ds.MechanicalSystem(
    ...         q, p, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2
    ...     )
    >>> problem = ds.Problem(
    ...     name="oscillator",
    ...     title="A mass on a spring",
    ...     models={"cartesian": oscillator},
    ...     cases=[ds.Case("release", until=10.0, start={"x": 1.0})],
    ... )
    >>> run = problem.case("release", stiffness=9.0).solve(until=1.0)
    >>> round(run.end_state["x"], 6)  # cos 3
    -0.989992
    """

    def __repr__(self) -> str:
        models, cases = list(self.models), [case.name for case in self.cases]
        return f"Problem({self.name!r}, {self.title!r}, models={models}, cases={cases})"

    def case(
        self, name: str | None = None, *, model: str | None = None, **overrides: Any
    ) -> BoundCase:
        """Return a case, ready to run, some of its parameters or structure changed.

        Parameters
        ----------
        name
            The case; None takes the first.
        model
            In place of the case's.
        **overrides
            Parameters and structure by name.

        Raises
        ------
        UnknownNameError, OutOfRangeError
            A name that nothing carries, or a value that cannot be.
        """
        chosen = self.find_case(name)
        model = self.find_model(chosen.model if model is None else model)
        bound = BoundCase(self, chosen, model, {}, {}, {}, {})
        return bound.changed({**chosen.structure, **chosen.parameters, **overrides})
