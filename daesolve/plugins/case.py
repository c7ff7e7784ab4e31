"""What a problem is made of: cases, choices, what is answered and measured besides a motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daesolve.drawing import Drawing
from daesolve.errors import suggest_names
from daesolve.preparation.request import DEFAULT_RATE, RankLoss, Redundant
from daesolve.system.system import System
from daesolve.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values = Mapping[str, float]
Structure = Mapping[str, Any]
Builder = Callable[..., System]
StartRule = Callable[[Values, Values, Structure], dict[str, float]]
ScaleRule = Callable[[Values, Values, Structure], dict[str, float]]
DerivedRule = Callable[[Values, Values, Structure], dict[str, float]]
StartNames = Callable[[Structure], Sequence[str]]
FigureRule = Callable[[Mapping[str, Any]], "Figure"]
DrawingRule = Callable[[Mapping[str, Any]], Drawing]


@dataclass(frozen=True, eq=False)
class Answer:
    """What an analysis found.

    Parameters
    ----------
    values
        Numbers, words, lists and tables by name, as in JSON.
    figures
        Drawings by name.
    """

    values: Mapping[str, Any]
    figures: Mapping[str, Figure] = field(default_factory=dict[str, "Figure"])

    def __post_init__(self) -> None:
        suggest_names(self, values="value of the answer", figures="figure")


# A rule takes a `BoundCase`, which knows its problem, and so stands above both: Any says it here.
AnalysisRule = Callable[[Any], Answer]


@dataclass(frozen=True, eq=False)
class Measure:
    """A number that tells something of a whole run: how far it is from another motion.

    Parameters
    ----------
    rule
        (case, run) -> number; not a number where it has no meaning.
    unit
        Of the number.
    """

    rule: Callable[[Any, Trajectory], float]
    unit: str = ""


@dataclass(frozen=True)
class Choice:
    """A structural choice among named values; the first is the default.

    In Python a value of one's own may be given in place of a name.
    """

    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        suggest_names(self, options="option")

    @property
    def default(self) -> str:
        """The name of the first option."""
        return next(iter(self.options))


def choice(**options: object) -> Choice:
    """Offer named values for a structural choice.

    Parameters
    ----------
    **options
        The values by name; the first is the default.

    Examples
    --------
    `Problem(structure={"curve": choice(circle=circle, parabola=parabola)}, ...)`: the function of a
    model then takes `curve`, one of these two, and `problem.case(curve="parabola")` chooses.
    """
    return Choice(options)


@dataclass(frozen=True)
class Case:
    """A run by a name: model, structure, parameters, start and horizon.

    Parameters
    ----------
    name
        Lower case with hyphens.
    until
        The horizon, s.
    model
        None takes the problem's first model.
    structure, parameters
        What differs from the problem's defaults.
    start
        Start values by the problem's own names (see `Problem.start`).
    start_time
        The time of the start, s.
    rate
        The default rate of this case's goals, 1/s.
    times
        Sample times of interest, s; even samples where there are none.
    redundant
        What to do with constraints that depend on each other everywhere: "error", "drop" or
        "minimum-norm".
    rank_loss
        What to do where constraints depend on each other at isolated positions: "stop" or "pass".
    note
        What is special about it, and where it comes from.
    """

    name: str
    until: float
    model: str | None = None
    structure: Structure = field(default_factory=dict[str, Any])
    parameters: Values = field(default_factory=dict[str, float])
    start: Values = field(default_factory=dict[str, float])
    start_time: float = 0.0
    rate: float = DEFAULT_RATE
    times: tuple[float, ...] = ()
    redundant: Redundant = "error"
    rank_loss: RankLoss = "stop"
    note: str = ""

    def __post_init__(self) -> None:
        suggest_names(self, structure="structure", parameters="parameter", start="start value")
