"""Whether friction holds a body at rest, and up to which load: for sliding, and for any rest.

A body can rest if reactions N_k >= 0 and tractions within their cones balance the load. The largest
such load is the optimum of a convex programme, whose multipliers are velocities v that may leave
the guides. In the motion with these velocities each loaded support k recedes from its guide as it
slips,

    w_k . v = 0,   w_k = n_k + f_k tau_k(v),

and the tractions oppose the slips of v. In true sliding they oppose the slips of velocities that
the guides allow. Both agree if all loaded supports lie at one height, because lifting then adds the
same slip to all. Otherwise a body may slide under loads under which it could also rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer
from daesolve.contact.complementarity.horizontal import Variant
from daesolve.contact.following import root
from daesolve.contact.friction.direction_flow import (
    Attractor,
    BranchFollower,
    RestingBody,
    Supported,
    attraction,
    attractor_from,
    starts,
)
from daesolve.contact.friction.variants import VariantProblem, variant_problem
from daesolve.core.system.consistent_state import parameter_values
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import OutOfRangeError, VariantError, is_number

SAME_GROWTH = 1e-8
"""The growth, relative to accelerations, that counts as zero at a limit."""
LIMIT_ERROR = 1e-12
"""The accuracy of a limit, as a fraction of the search interval."""


@dataclass(frozen=True, eq=False)
class Stiction:
    """Whether a body at rest stays at rest.

    Parameters
    ----------
    sticks
        Whether it stays at rest.
    growth
        g: along the direction v' = g u, in units of u per second. Negative if no sliding can begin.
    direction
        u by the names of the velocities: the direction in which the body begins to slide, or would
        begin under a larger load; of length one in the metric of the mass matrix, u . M u = 1.
    answer
        The loaded supports and their reactions in sliding.
    certain
        Whether the verdict is the same for all starts of the flow of directions.
    notes
        Sentences on anything unusual.
    """

    sticks: bool
    growth: float
    direction: Mapping[str, float]
    answer: VariantAnswer
    certain: bool
    notes: tuple[str, ...] = field(default=())

    @property
    def variant(self) -> Variant:
        """The loaded support of each pair in sliding."""
        return self.answer.variant

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        sure = "" if self.certain else " (not certain)"
        if self.sticks:
            verdict = f"friction holds the body at rest{sure}"
        else:
            verdict = f"the body begins to slide from rest{sure}"
        return "; ".join([f"{verdict}, supports {self.variant}", *self.notes])

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class StictionLimit:
    """The value of a parameter at which friction ceases to hold a body.

    Parameters
    ----------
    value
        The value beyond which rest is not possible.
    slides_from
        The value from which the body can begin to slide. It differs from `value` only if the loaded
        supports do not lie at one height: in between, a body at rest may stay at rest, and a moving
        body keeps sliding.
    direction
        The direction in which it begins to slide, by the names of the velocities; of length one in
        the metric of the mass matrix.
    answer
        The loaded supports and their reactions in sliding.
    certain
        Whether no direction was found in which the body could slide before this limit.
    """

    value: float
    slides_from: float
    direction: Mapping[str, float]
    answer: VariantAnswer
    certain: bool

    @property
    def variant(self) -> Variant:
        """The loaded support of each pair in sliding."""
        return self.answer.variant


def stiction(
    system: MechanicalSystem,
    state: Mapping[str, float] | np.ndarray,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Stiction:
    """Return whether friction holds a body at rest.

    Parameters
    ----------
    system
        A system with pairs of supports.
    state
        The state by name, or (nx,); at rest.
    parameters
        Values that override the defaults.
    time
        s

    Raises
    ------
    OutOfRangeError
        The body moves.
    NoFreedomError
        The body cannot move.
    VariantError
        For no direction of sliding does a choice of loaded supports exist.
    """
    problem = variant_problem(system, parameters)
    return stiction_at(problem, problem.state(state, time), time)


def stiction_at(problem: VariantProblem, state: np.ndarray, time: float) -> Stiction:
    """Decide whether friction holds a body at rest; see `stiction`.

    Parameters
    ----------
    problem
        The equations of the supports.
    state
        (nx,)
    time
        s
    """
    _check_rest(problem, state, time)
    body = resting_body(problem, state, time, problem.numbers)
    found = attraction(body)
    strongest = found.strongest
    notes = [f"from some starts: {failure}" for failure in found.failures[:1]]
    names = problem.velocity_names
    direction = dict(zip(names, strongest.direction.tolist(), strict=True))

    def verdict(*notes: str, sticks: bool, certain: bool) -> Stiction:
        return Stiction(sticks, strongest.growth, direction, strongest.answer, certain, notes)

    left = _left(problem, strongest.answer)
    if left:
        return verdict(f"it leaves its support {left}", *notes, sticks=False, certain=True)
    settled = all(attractor.settled for attractor in found.attractors)
    if strongest.growth <= 0.0:
        return verdict(*notes, sticks=True, certain=settled and not found.failures)
    try:
        yields = attractor_from(YieldingBody(body), strongest.direction)
    except VariantError as failure:
        return verdict(f"whether it can rest: {failure}", *notes, sticks=False, certain=False)
    if yields.growth > 0.0:
        return verdict(*notes, sticks=False, certain=strongest.settled and yields.settled)
    both = "it could also slide: its loaded supports do not lie at one height"
    return verdict(both, *notes, sticks=True, certain=yields.settled)


def stiction_limit(
    system: MechanicalSystem,
    state: Mapping[str, float] | np.ndarray,
    parameter: str,
    between: tuple[float, float],
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> StictionLimit:
    """Return the value of a parameter at which friction ceases to hold a body.

    Parameters
    ----------
    system, state, parameters, time
        As in `stiction`.
    parameter
        The name of the parameter, such as a load component or a friction coefficient.
    between
        Two values; at one of them the body stays at rest, at the other it slides.

    Raises
    ------
    OutOfRangeError
        The verdict is the same at both values.
    UnknownNameError
        There is no such parameter.
    """
    problem = variant_problem(system, parameters)
    x = problem.state(state, time)
    _check_rest(problem, x, time)

    def body(value: float) -> RestingBody:
        values = parameter_values(problem.dynamics, {**(parameters or {}), parameter: value})
        return resting_body(problem, x, time, problem.dynamics.value_vector(values))

    held, moved = _sides(body, between, parameter)
    start = attraction(body(moved)).strongest
    slides_from, sliding = _zero(body, start, (held, moved))
    value = slides_from
    yielding = attractor_from(YieldingBody(body(slides_from)), sliding.direction)
    if yielding.growth < -SAME_GROWTH * body(slides_from).size:
        value, yielding = _zero(lambda v: YieldingBody(body(v)), start, (slides_from, moved))
    others = attraction(body(slides_from), [sliding.direction])
    first = others.strongest.growth <= SAME_GROWTH * body(slides_from).size
    return StictionLimit(
        value,
        slides_from,
        dict(zip(problem.velocity_names, sliding.direction.tolist(), strict=True)),
        sliding.answer,
        certain=sliding.settled and yielding.settled and first,
    )


def _sides(
    body: Callable[[float], RestingBody], between: tuple[float, float], parameter: str
) -> tuple[float, float]:
    """Return the value at which the body is held, and the value at which it slides."""
    if len(between) != 2 or not all(map(is_number, between)) or between[0] == between[1]:
        raise OutOfRangeError(f"between must be two different numbers, not {between!r}")
    growths = [attractor_from(one, starts(one)[0]).growth for one in map(body, between)]
    if (growths[0] > 0.0) == (growths[1] > 0.0):
        growths = [attraction(body(value)).strongest.growth for value in between]
    if (growths[0] > 0.0) == (growths[1] > 0.0):
        what = "slides" if growths[0] > 0.0 else "stays at rest"
        raise OutOfRangeError(
            f"the body {what} at {parameter} = {between[0]:g} and {between[1]:g}: give one "
            "value that holds it and one that does not"
        )
    low, high = float(between[0]), float(between[1])
    return (high, low) if growths[0] > 0.0 else (low, high)


def _zero(
    body: Callable[[float], RestingBody], start: Attractor, between: tuple[float, float]
) -> tuple[float, Attractor]:
    """Return the zero of the growth along the continuation of a direction, and the direction."""
    here = start

    def growth(value: float) -> float:
        nonlocal here
        here = attractor_from(body(value), here.direction)
        return here.growth

    error = LIMIT_ERROR * abs(between[1] - between[0])
    # Start from the sliding side, where the direction is known.
    value = root(growth, between[1], between[0], error)
    return value, attractor_from(body(value), here.direction)


def resting_body(
    problem: VariantProblem, state: np.ndarray, time: float, numbers: np.ndarray
) -> RestingBody:
    """Return a body at rest from its equations.

    Parameters
    ----------
    problem, state, time
        As in `stiction_at`.
    numbers
        p
    """
    numbers = problem.slips.braked(numbers, at_rest=True)
    parts = problem.dynamics.matrices(time, state, numbers)
    guided = np.array([row.reaction is None for row in problem.dynamics.rows])
    rows = parts["jacobian"]
    return RestingBody(
        problem.in_place(state, time, numbers),
        parts["mass"],
        rows[guided],
        rows[~guided],
    )


def _check_rest(problem: VariantProblem, state: np.ndarray, time: float) -> None:
    if problem.sliding(state, time):
        raise OutOfRangeError("stiction needs a state at rest, but the body moves")


def _left(problem: VariantProblem, answer: VariantAnswer) -> str:
    """Return the name of a support that opens."""
    for pair, reaction in zip(problem.guides.pairs, answer.reactions, strict=True):
        if pair.kind == "unilateral" and reaction < 0.0:
            return pair.name
    return ""


SAME = 1e-13
"""The change of a unit velocity below which the slips are consistent with the lifting."""
MOST_ROUNDS = 100


class YieldingBody(RestingBody):
    """The same body, with slips of velocities that the guides would have to yield to.

    The growth in its directions is positive if rest is not possible, and its zero as a function of
    a load is the optimum of the convex programme.

    Parameters
    ----------
    body
        The body at rest.
    """

    def __init__(self, body: RestingBody) -> None:
        self.at, self.mass = self._yielding, body.mass
        self.basis, self.lifting = body.basis, body.lifting
        self._body, self._branch = body, BranchFollower()
        self._lift = np.zeros(self.lifting.shape[1])

    def _yielding(self, velocities: np.ndarray) -> Supported:
        velocities = velocities / np.sqrt(velocities @ self.mass @ velocities)
        for _ in range(MOST_ROUNDS):
            here = self._body.at(velocities + self.lifting @ self._lift)
            answer = self._branch.answer(here.complementarity)
            loaded = np.where(answer.signs > 0, here.second, here.first).T @ self.mass
            before = self._lift
            self._lift = -np.linalg.solve(loaded @ self.lifting, loaded @ velocities)
            if np.linalg.norm(self._lift - before) <= SAME:
                return here
        raise VariantError(
            "no velocities were found with which the loaded supports leave their guides while "
            "they slip: friction is too large for the height over the base"
        )
