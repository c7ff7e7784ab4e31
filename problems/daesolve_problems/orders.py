"""How close the reduced models of a problem are to the full one, and whether they are valid.

The order is the least-squares slope of log(error) over log(parameter); an error is the largest
difference from the full model over the samples of a run, from a time on, of any state of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = "full"
"""The model that the others are compared with."""
SLOPES = (1, 2)
"""Drawn as guides."""
MARGIN = 0.2
"""Space for the labels of the guides, relative to the width of the curves."""


@dataclass(frozen=True)
class Orders:
    """Errors against a small parameter.

    Parameters
    ----------
    parameter
        The name of the small parameter.
    values
        Its values, at least two.
    errors
        Name of a curve -> its error at each value.
    """

    parameter: str
    values: tuple[float, ...]
    errors: Mapping[str, tuple[float, ...]]

    @property
    def slopes(self) -> dict[str, float]:
        """The least-squares slope of each curve in log-log."""
        return {name: slope(self.values, errors) for name, errors in self.errors.items()}

    def described(self) -> dict[str, Any]:
        """Return values, errors and slopes as in JSON."""
        return {
            self.parameter: list(self.values),
            "errors": {name: list(errors) for name, errors in self.errors.items()},
            "slopes": self.slopes,
        }

    def figure(self) -> Figure:
        """Draw the errors in log-log, with lines of slopes 1 and 2."""
        figure = new_figure(6.4, 4.8)
        axes = figure.add_subplot()
        for number, (name, errors) in enumerate(self.errors.items()):
            label = f"{name} ({self.slopes[name]:.2f})"
            # Those that come later are smaller, so that curves which agree are all seen.
            size = max(9 - 2 * number, 3)
            axes.loglog(self.values, errors, "o-", color=f"C{number}", markersize=size, label=label)
        ends = np.array([min(self.values), max(self.values)])
        highest = max(errors[self.values.index(ends[1])] for errors in self.errors.values())
        for power in SLOPES:
            guide = 1.5 * highest * (ends / ends[1]) ** power
            axes.loglog(ends, guide, "--", color="0.6", linewidth=1.0)
            axes.annotate(
                f"slope {power}",
                (ends[0], guide[0]),
                xytext=(-6, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color="0.4",
            )
        axes.set_xlim(left=ends[0] * (ends[0] / ends[1]) ** MARGIN)
        axes.set_xticks(self.values, [f"{value:g}" for value in self.values])
        axes.minorticks_off()
        axes.set_xlabel(self.parameter)
        axes.set_ylabel("largest error")
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        return figure


def slope(values: Sequence[float], errors: Sequence[float]) -> float:
    """Return the least-squares slope of log(errors) over log(values).

    Raises
    ------
    OutOfRangeError
        There are fewer than two different values, or a value or an error is not positive.
    """
    if len(set(values)) < 2 or len(values) != len(errors):
        raise OutOfRangeError("an order needs errors at two or more different values")
    if not (min(values) > 0.0 and min(errors) > 0.0):
        raise OutOfRangeError("an order needs values and errors that are positive")
    return float(np.polyfit(np.log(values), np.log(errors), 1)[0])


def largest_difference(
    run: ds.Trajectory, truth: ds.Trajectory, names: Sequence[str], since: float = -np.inf
) -> float:
    """Return the largest difference of two runs with the same samples.

    Parameters
    ----------
    run, truth
        Runs at the same times.
    names
        States or outputs that both have.
    since
        s; samples before it do not count.
    """
    later = truth.times >= since
    return max(float(np.max(np.abs(run[name] - truth[name])[later])) for name in names)


def measured_orders(
    case: BoundCase,
    models: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    parameter: str,
    values: Sequence[float],
    *,
    at: Sequence[float] | np.ndarray,
    since: Callable[[float], float] = lambda value: -np.inf,
) -> Orders:
    """Run models and the full one at each value of a small parameter, and measure the errors.

    Parameters
    ----------
    case
        The case; its model does not count.
    models
        The models to compare with the model `full`.
    groups
        Name -> states or outputs that are measured together; a curve is called "model name".
    parameter, values
        The small parameter and its values.
    at
        Sample times, s; the last is the horizon.
    since
        The value of the parameter -> the time, s, from which errors count.

    Raises
    ------
    OutOfRangeError
        A run does not reach its end.
    """
    errors: dict[str, list[float]] = {
        f"{model} {group}": [] for model in models for group in groups
    }
    for value in values:
        runs = {model: _whole(case, model, {parameter: value}, at) for model in (FULL, *models)}
        for model in models:
            for group, names in groups.items():
                error = largest_difference(runs[model], runs[FULL], names, since(value))
                errors[f"{model} {group}"].append(error)
    return Orders(parameter, tuple(values), {name: tuple(row) for name, row in errors.items()})


def of_model(case: BoundCase, model: str, changes: Mapping[str, Any] | None = None) -> BoundCase:
    """Return a case with another model of its problem, and with changes."""
    assert isinstance(case.problem, ds.Problem)
    chosen = {**case.structure, **case.parameters}
    named = case.problem.case(case.case.name, model=model, **chosen)
    return named.starting({**case.start, **case.initial}).changed(changes or {})


def judged(
    model: ds.nonholonomic.DiracModel, state: Mapping[str, float], parameters: Mapping[str, float]
) -> ds.Answer:
    """Report the fast motion at a state, and whether the reduced models are valid there.

    Parameters
    ----------
    model
        The full model, reduced.
    state, parameters
        Of the full model.
    """
    spectrum = model.fast_spectrum(state, parameters)
    found = model.validity(state, parameters)
    return ds.Answer(
        {
            "holds": found.holds,
            "said": str(found),
            "separation": found.separation,
            "correction": found.correction,
            "lengthening": found.lengthening,
            "fast_eigenvalues": {
                "real": np.real(spectrum.eigenvalues).tolist(),
                "imaginary": np.imag(spectrum.eigenvalues).tolist(),
            },
            "kinds": list(spectrum.kinds),
        }
    )


def _whole(
    case: BoundCase, model: str, changes: Mapping[str, Any], at: Sequence[float] | np.ndarray
) -> ds.Trajectory:
    run = of_model(case, model, changes).solve(float(at[-1]), at=at)
    if run.outcome is not ds.Outcome.COMPLETED:
        values = ", ".join(f"{name} = {value:g}" for name, value in changes.items())
        raise OutOfRangeError(
            f"the model {model!r} does not reach its end at {values}: {run.message}"
        )
    return run
