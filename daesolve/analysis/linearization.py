"""Small motions about an equilibrium or a steady motion, in minimal coordinates.

The tangent space of the constraint manifold, C_x dx = 0 with every constraint, hidden constraint
and implicit equation in C, contains the small motions: dx = T w gives w' = T^+ f_x T w. Feedback
acts across this space, so its rates are not among the eigenvalues.

The reduction generalises Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007) 1955,
appendix A, to any system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.analysis.state_field import (
    INFLUENCE_TOLERANCE,
    MOMENTS,
    RANK_TOLERANCE,
    Field,
    FieldValues,
    check_stationary,
    cyclic_coordinates,
    kernel,
    kinks_at,
    response,
    tangent_space,
)
from daesolve.contact.posing.guides import guides_in
from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.consistent_start import start_with_modes
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.rank import constraint_rank
from daesolve.core.expressions.singular_values import shortest_solution
from daesolve.core.posing.symbols import velocity_name
from daesolve.core.preparation.request import Request, with_inputs
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System
from daesolve.errors import (
    DegenerateStartError,
    OutOfRangeError,
    PosingError,
    UnsupportedError,
    check_names,
    is_number,
    suggest_names,
)

NEARLY_BEST = 0.7
"""The first state is chosen whose independence is at least this share of the best one's."""
ROUNDING = 1e-12
"""Real parts that differ by less than this share of the largest eigenvalue count as equal."""

ZERO = 1e-7
"""Eigenvalues below this share of the largest count as zero; a double one is known to its root."""
SEEN = 1e-3
"""A component of a mode, relative to its largest one, that is named."""


@dataclass(frozen=True, eq=False)
class Linearization:
    """Small motions z about a state: z' = matrix @ z + input_matrix @ u.

    Here u are small changes of the inputs; outputs change by output_matrix @ z + feedthrough @ u.

    Parameters
    ----------
    names
        The n entries of z: states, or rates of coordinates that are not states.
    matrix
        (n, n), in SI units.
    eigenvalues
        (n,), 1/s, sorted by real part, then by imaginary part.
    modes
        States by name -> (n,): their components in the motion of each eigenvalue; the largest
        component of a mode is 1. Cyclic coordinates have none, unless they were requested. If
        coordinates that were not requested have the same eigenvalue, their components are
        least-squares values, because such a motion may grow in proportion to time.
    cyclic
        Coordinates that affect nothing except each other's rates. They are left out unless they
        were requested.
    state
        Every state by name.
    rates
        The rate of every state by name: all zero in an equilibrium, and zero except for cyclic
        coordinates in a steady motion.
    inputs, outputs
        The names of the m inputs and of the k outputs.
    input_matrix, output_matrix, feedthrough
        (n, m), (k, n) and (k, m): B, C and D next to A. C does not contain the effect of omitted
        cyclic coordinates on outputs.
    residual
        The largest rate of a state that is not cyclic, relative to the rate caused by changing the
        state by its own size.
    kinks
        The switches of piecewise expressions and the tables that have a kink or a jump at the
        state: the matrix is that of one side.
    """

    names: tuple[str, ...]
    matrix: np.ndarray
    eigenvalues: np.ndarray
    modes: Mapping[str, np.ndarray]
    cyclic: tuple[str, ...]
    state: Mapping[str, float]
    rates: Mapping[str, float]
    residual: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_matrix: np.ndarray
    output_matrix: np.ndarray
    feedthrough: np.ndarray
    kinks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        suggest_names(self, modes="state", state="state", rates="state")

    @property
    def notes(self) -> tuple[str, ...]:
        """Kinks, and where cyclic coordinates and zero eigenvalues come from, in sentences."""
        return tuple(_notes(self))

    def __str__(self) -> str:
        values = ", ".join(f"{value:.6g}" for value in self.eigenvalues)
        lines = [f"small motions of {', '.join(self.names) or 'nothing'}", f"eigenvalues: {values}"]
        return "\n".join([*lines, *self.notes])


def _notes(linearization: Linearization) -> Iterator[str]:
    if linearization.kinks:
        yield (
            "the equations have a kink or a jump at this state, by "
            f"{', '.join(linearization.kinks)}: the matrix and the eigenvalues are those of one "
            "side, and small motions across it are not linear"
        )
    omitted = [name for name in linearization.cyclic if name not in linearization.names]
    if omitted:
        them = "it is" if len(omitted) == 1 else "they are"
        rates = ", ".join(f"{name} at {linearization.rates[name]:.6g}" for name in omitted)
        yield (
            f"left out as cyclic: {', '.join(omitted)}, because {them} in no rate but those of "
            f"cyclic coordinates ({rates}); each would add an eigenvalue 0 (coordinates= asks "
            "for them)"
        )
    if asked := [name for name in linearization.cyclic if name in linearization.names]:
        yield f"eigenvalues 0 of {', '.join(asked)}, which the equations do not feel (cyclic)"
    largest = np.max(np.abs(linearization.eigenvalues), initial=0.0) or 1.0
    zeros = np.flatnonzero(np.abs(linearization.eigenvalues) <= ZERO * largest)
    others = len(zeros) - len(asked)
    if others > 0:
        shares = [
            np.abs(linearization.modes[name][zeros]).max(initial=0.0)
            for name in linearization.names
        ]
        moved = [n for n, share in zip(linearization.names, shares, strict=True) if share > SEEN]
        yield (
            f"eigenvalues 0 besides: {others}, of neighbouring equilibria or steady motions, or "
            f"of motions that drift away; they differ in {', '.join(moved)}"
        )


def linearize(
    system: System,
    state: Mapping[str, float],
    *,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    time: float = 0.0,
    coordinates: Sequence[str] = (),
    tolerance: float = 1e-8,
) -> Linearization:
    """Linearize a system about an equilibrium or a steady motion.

    Parameters
    ----------
    system
        The system as posed.
    state
        Values by name to keep; the others are made consistent, starting from zero.
    parameters
        Values that override the defaults.
    inputs
        The values of inputs at the state.
    time
        The time, s. If the equations contain time, the matrix holds at this moment, and its
        eigenvalues show stability only if the matrix is the same at other times.
    coordinates
        The variables of the matrix: coordinates, with their rates where these are independent, and
        velocities. Their motion must not depend on that of others. By default, independent states
        are chosen, without the cyclic ones.
    tolerance
        The largest accepted `Linearization.residual`.

    Returns
    -------
    Linearization
        The matrix, its eigenvalues and modes.

    Raises
    ------
    NotStationaryError
        The state is neither an equilibrium nor a steady motion.
    InconsistentStateError, OutOfRangeError, UnknownNameError
        The state is inconsistent, a value is out of range, or a name is unknown.
    DegenerateStartError
        The constraints become dependent at the state.
    PosingError
        The coordinates depend on each other, or their motion depends on others.
    UnsupportedError
        The system has pairs of supports.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m")
    >>> rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1)
    >>> kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    >>> pendulum = ds.MechanicalSystem(q, kinetic=kinetic, potential=9 * q.y, goals=[rod])
    >>> [f"{value:.3g}" for value in ds.analysis.linearize(pendulum, {"y": -1.0}).eigenvalues]
    ['0-3j', '0+3j']
    """
    check_system(system)
    if not is_number(tolerance):
        raise OutOfRangeError(f"the tolerance is {tolerance!r}, but must be a number")
    given = {name: system.inputs.check(name, value) for name, value in (inputs or {}).items()}
    named = {**(parameters or {}), **given}
    system, _ = with_inputs(system, Request(until=time, parameters=named))
    dynamics = system.dynamics
    values = {name: system.owner_of(name).check(name, value) for name, value in named.items()}
    start, values = start_with_modes(dynamics, {**dynamics.values, **values}, state, time=time)
    numbers = dynamics.value_vector(values)
    return linearize_equations(
        dynamics, start.state, numbers, time=time, coordinates=coordinates, tolerance=tolerance
    )


def linearize_equations(
    dynamics: Dynamics,
    state: np.ndarray,
    p: np.ndarray,
    *,
    time: float = 0.0,
    coordinates: Sequence[str] = (),
    tolerance: float = 1e-8,
) -> Linearization:
    """Linearize equations about a consistent state.

    Parameters
    ----------
    dynamics
        The equations.
    state, p
        (nx,) and (np,)
    time, coordinates, tolerance
        As in `linearize`, which also lists the errors.
    """
    if guides_in(dynamics) is not None:
        raise UnsupportedError(
            "small motions need smooth equations, but dry friction of pairs of supports is not "
            "smooth at rest: leave out the pairs, and make their goals ideal"
        )
    kinks = kinks_at(dynamics, p, time, state)
    dynamics = dynamics.in_mode(p)
    states = dynamics.labels.states
    _check_names(coordinates, states)
    _check_rank(dynamics, time, state, p)
    field = Field(dynamics, p)
    here = field.at(time, state)
    cyclic = cyclic_coordinates(field, time, state)
    residual = check_stationary(field, time, state, cyclic, tolerance)
    shown = [i for i, name in enumerate(states) if i not in cyclic or name in coordinates]
    everything = any(states[index] in coordinates for index in cyclic)
    tangent = tangent_space(here.constraints, range(len(states)) if everything else shown)
    rows = own = _independent_states(tangent, states, dynamics.position_count)
    if coordinates:
        rows = _rows(dynamics, here, tangent, coordinates)
        _check_choice(here, tangent, rows, own)
        _check_steady(field, time, state, cyclic, rows)
    chosen = np.array([*rows.values()]).reshape(len(rows), len(states))
    seen = chosen @ tangent
    lifted = tangent @ np.linalg.pinv(seen)
    matrix = chosen @ here.gradient @ lifted
    eigenvalues, vectors = _eigensystem(matrix)
    answer = response(field, time, state)
    modes = _modes(here.gradient, eigenvalues, lifted @ vectors, tangent @ kernel(seen))
    return Linearization(
        names=tuple(rows),
        matrix=matrix,
        eigenvalues=eigenvalues,
        modes={states[index]: modes[index] for index in shown},
        cyclic=tuple(states[index] for index in cyclic),
        state={name: float(value) for name, value in zip(states, state, strict=True)},
        rates={name: float(value) for name, value in zip(states, here.rate, strict=True)},
        residual=residual,
        inputs=answer.inputs,
        outputs=answer.outputs,
        input_matrix=chosen @ answer.rates,
        output_matrix=answer.by_state @ lifted,
        feedthrough=answer.by_inputs,
        kinks=kinks,
    )


def _check_rank(dynamics: Dynamics, time: float, state: np.ndarray, p: np.ndarray) -> None:
    samples = sample_states(dynamics, p, around=state, time=time)
    dependent = constraint_rank(dynamics, samples, p).degenerate_at_start
    if dependent:
        raise DegenerateStartError(
            f"at this state the goals {', '.join(map(repr, dependent))} depend on each other, "
            "but not elsewhere: the consistent states have no tangent space here"
        )


# -- coordinates of the tangent space ------------------------------------------------------------


def _check_names(coordinates: Sequence[str], states: Sequence[str]) -> None:
    if isinstance(coordinates, str):
        raise PosingError(
            f"coordinates must be a sequence of names, ({coordinates!r},) for a single one"
        )
    check_names("state", coordinates, states)


def _independent_states(
    tangent: np.ndarray, states: Sequence[str], split: int
) -> dict[str, np.ndarray]:
    """Choose states that are independent in the tangent space: positions first, in order."""
    left = tangent.copy()
    chosen: list[int] = []
    for block in (slice(0, split), slice(split, None)):
        while True:
            lengths = np.linalg.norm(left[block], axis=1)
            longest = np.max(lengths, initial=0.0)
            if longest <= RANK_TOLERANCE:
                break
            index = int(np.argmax(lengths >= NEARLY_BEST * longest)) + (block.start or 0)
            chosen.append(index)
            direction = left[index] / np.linalg.norm(left[index])
            for _ in range(2):
                left -= np.outer(left @ direction, direction)
    return {states[index]: np.eye(len(states))[index] for index in sorted(chosen)}


def _rows(
    dynamics: Dynamics, here: FieldValues, tangent: np.ndarray, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return dz/dx by name: coordinates, their independent rates, velocities."""
    states = dynamics.labels.states
    asked = {name: np.eye(len(states))[states.index(name)] for name in names}
    positions = [name for name in asked if states.index(name) < dynamics.position_count]
    rates: dict[str, np.ndarray] = {}
    for name in positions:
        known = [*asked.values(), *rates.values()]
        rate = here.gradient[states.index(name)]
        if _rank([*known, rate], tangent) > _rank(known, tangent):
            rates[velocity_name(name)] = rate
    return {name: asked[name] for name in positions} | rates | asked


def _rank(rows: Sequence[np.ndarray], tangent: np.ndarray) -> int:
    """Return the number of rows that are independent on consistent small motions."""
    return tangent.shape[1] - kernel(np.array(rows) @ tangent).shape[1]


def _check_choice(
    here: FieldValues,
    tangent: np.ndarray,
    rows: Mapping[str, np.ndarray],
    own: Mapping[str, np.ndarray],
) -> None:
    """Refuse coordinates that depend on each other, or whose motion depends on others.

    Parameters
    ----------
    here, tangent
        The equations at the state, and the basis of small motions.
    rows
        The requested rows.
    own
        Independent states, named as alternatives.
    """
    chosen = np.array([*rows.values()])
    seen = chosen @ tangent
    asked = ", ".join(map(repr, rows))
    unseen = kernel(seen)
    if _rank([*rows.values()], tangent) < len(rows):
        raise PosingError(
            f"{asked} cannot be coordinates of small motions, because these depend on each "
            "other or vanish in consistent motions; independent are "
            f"{', '.join(map(repr, own))}"
        )
    rates = chosen @ here.gradient @ tangent
    missed = rates @ unseen
    if np.max(np.abs(missed), initial=0.0) > 10 * INFLUENCE_TOLERANCE * np.max(np.abs(rates)):
        others = {name: row for name, row in own.items() if name not in rows}
        acting = np.abs(missed @ (np.array([*others.values()]) @ tangent @ unseen).T).max(axis=0)
        names = [n for n, size in zip(others, acting, strict=True) if size > 1e-3 * acting.max()]
        raise PosingError(
            f"the motion of {asked} depends on that of {', '.join(map(repr, names))} too; add "
            "these to the coordinates"
        )


def _check_steady(
    field: Field,
    time: float,
    state: np.ndarray,
    cyclic: Sequence[int],
    rows: Mapping[str, np.ndarray],
) -> None:
    """Refuse cyclic coordinates whose motion depends on the position along the steady motion."""
    here = field.at(time, state)
    for later in MOMENTS:
        moved = state.copy()
        moved[list(cyclic)] += later * here.rate[list(cyclic)]
        change = np.abs(field.at(time, moved).gradient - here.gradient)
        least = INFLUENCE_TOLERANCE * np.max(np.abs(here.gradient), initial=0.0)
        for name, row in rows.items():
            if np.max(np.abs(row) @ change) > least:
                raise PosingError(
                    f"{name!r} cannot be a coordinate of small motions: its rate depends on "
                    "the position along the steady motion; leave it out"
                )


def _eigensystem(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues sorted by real and imaginary parts, and eigenvectors as columns."""
    values, vectors = np.linalg.eig(matrix)
    eigenvalues = np.asarray(values, dtype=complex)
    unit = ROUNDING * np.max(np.abs(eigenvalues), initial=0.0) or 1.0
    order = np.lexsort((np.imag(eigenvalues), np.round(np.real(eigenvalues) / unit)))
    return eigenvalues[order], vectors[:, order]


def _modes(
    gradient: np.ndarray, eigenvalues: np.ndarray, seen: np.ndarray, unseen: np.ndarray
) -> np.ndarray:
    """Return the motions (nx, n) of the eigenvalues in all states, with the largest component 1.

    Parameters
    ----------
    gradient
        f_x.
    eigenvalues
        (n,)
    seen
        (nx, n): for each, a motion that is right in the coordinates of the matrix.
    unseen
        (nx, m): an orthonormal basis of the motions that vanish there, which must be added.
    """
    among = unseen.T @ gradient @ unseen
    modes = np.zeros(seen.shape, dtype=complex)
    for index in range(len(eigenvalues)):
        value = complex(eigenvalues[index])
        missing = unseen.T @ (gradient @ seen[:, index] - value * seen[:, index])
        matrix = value * np.eye(len(among)) - among
        added = shortest_solution(matrix, missing, INFLUENCE_TOLERANCE)
        mode = seen[:, index] + unseen @ added
        modes[:, index] = mode / mode[np.argmax(np.abs(mode))]
    return modes
