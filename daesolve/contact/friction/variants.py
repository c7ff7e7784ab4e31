"""The loaded supports in a state: the piecewise linear equations there, and their answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daesolve.contact.complementarity.answers import VariantAnswer, VariantSolution
from daesolve.contact.complementarity.enumeration import every_variant
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.policies import MOST_ENUMERATED, solve
from daesolve.contact.complementarity.properties import (
    contraction,
    degree,
    friction_margin,
    frictionless_sign,
    w_property,
)
from daesolve.contact.friction.planar_slips import PlanarSlips
from daesolve.contact.friction.support_balance import BodyBalance, VariantState, along_of_others
from daesolve.contact.friction.variant_forms import (
    FORMS,
    NUMBERS,
    GaussFunction,
    SupportBalance,
    VariantForm,
    gauss_of,
    nonlinear_latex,
)
from daesolve.contact.posing.guides import SHARP, SMOOTHING, SupportAction, guides_in
from daesolve.core.equations.consistency import check_named, complete_start
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.system.consistent_state import check_system, parameter_values
from daesolve.core.system.system import MechanicalSystem
from daesolve.errors import OutOfRangeError, PosingError, VariantError, unknown_name

SLIPS = 1e-13
"""A slip counts as nonzero above this, relative to the fastest that the body's speed allows."""
GENTLE = 1e-30
"""The speed, in units of a given direction, at which slip directions of a body at rest are
evaluated. Friction depends only on directions, so the speed has no other effect."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Every answer in a state, with the accelerations of each.

    Parameters
    ----------
    solution
        The answers, and the chosen one.
    accelerations
        v' by the name of the velocity, for each of `solution.answers`.
    values
        The discrete values of the state: the sense of each slip in the plane.
    """

    solution: VariantSolution
    accelerations: tuple[Mapping[str, float], ...]
    values: Mapping[str, float]

    @property
    def chosen(self) -> VariantAnswer | None:
        """The chosen answer."""
        return self.solution.chosen

    @property
    def answers(self) -> tuple[VariantAnswer, ...]:
        """All answers that were found."""
        return self.solution.answers

    def __str__(self) -> str:
        return str(self.solution)


class VariantProblem:
    """The equations for the reactions of supports, in any state of a system.

    Parameters
    ----------
    dynamics
        The equations of the system, which has pairs of supports.
    values
        The parameters by name; missing ones have their defaults.

    Raises
    ------
    PosingError
        The system has no pairs of supports.
    """

    def __init__(self, dynamics: Dynamics, values: Mapping[str, float] | None = None) -> None:
        guides = guides_in(dynamics)
        if guides is None:
            raise PosingError(
                "the system has no pairs of supports: give it pairs=[VariantPair(...), ...]"
            )
        self.dynamics, self.guides = dynamics, guides
        self.numbers = dynamics.value_vector(values or {})
        self.names = self.guides.reactions.names
        labels = dynamics.labels.states
        self.velocity_names = labels[dynamics.position_count :]
        self.slips = PlanarSlips(dynamics, self.guides)
        self._places = {name: index for index, name in enumerate(dynamics.values)}

    def at(
        self, state: Mapping[str, float] | np.ndarray, time: float = 0.0,
        direction: Mapping[str, float] | np.ndarray | None = None,
        numbers: np.ndarray | None = None,
        senses: Mapping[str, float] | None = None,
    ) -> VariantState:  # fmt: skip
        """Return the equations in a state.

        Parameters
        ----------
        state
            The state by name (missing values follow from the constraints), or (nx,).
        time
            s
        direction
            Velocities, by name or (nv,), in whose direction a body at rest is about to slide; of
            any length.
        numbers
            p, if it differs from that of the problem.
        senses
            The senses of slips in the plane, if they do not follow from the velocities.
        """
        x, turned, p, values = self._placed(state, time, direction, numbers, senses)
        parts = self.dynamics.matrices(time, x, p)
        columns = [np.asarray(column) for column in self._columns(time, turned, p)]
        return BodyBalance(self.dynamics, self.guides, parts).at(columns, values)

    def in_place(
        self, x: np.ndarray, time: float, numbers: np.ndarray
    ) -> Callable[[np.ndarray], VariantState]:
        """Return a direction (nv,) -> the equations, for a body at rest in a place; see `at`."""
        _, turned, p, _ = self._placed(x, time, None, numbers, {})
        balance = BodyBalance(self.dynamics, self.guides, self.dynamics.matrices(time, x, p))
        split, first = self.dynamics.position_count, True

        def at(direction: np.ndarray) -> VariantState:
            nonlocal first
            state = turned.copy()
            state[split:] = GENTLE * self._velocities(direction)
            values, own = self._senses(time, state, p), p
            if values:
                own = p.copy()
                for name, value in values.items():
                    own[self._places[name]] = value
            columns = [np.asarray(column) for column in self._columns(time, state, own)]
            here = balance
            if self.guides.brakes:  # Their friction is a load against the direction.
                here = BodyBalance(self.dynamics, self.guides, self.dynamics.matrices(time, x, own))
            found = here.at(columns, values, pushing=first)
            first = False
            return found

        return at

    def _placed(
        self,
        state: Mapping[str, float] | np.ndarray,
        time: float,
        direction: Mapping[str, float] | np.ndarray | None,
        numbers: np.ndarray | None,
        senses: Mapping[str, float] | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Mapping[str, float]]:
        """Return the state, the state for slips, p, and the senses of the slips."""
        p = (self.numbers if numbers is None else numbers).copy()
        x = self.state(state, time)
        turned = x
        if direction is not None:
            turned = x.copy()
            turned[self.dynamics.position_count :] = GENTLE * self._velocities(direction)
        values = self._senses(time, turned, p) if senses is None else senses
        for name, value in values.items():
            p[self._places[name]] = value
        return x, turned, p, values

    def form(self, number: int) -> VariantForm:
        """Return one of the three linear forms of the equations, like (2.5) to (2.7) for a prism.

        Parameters
        ----------
        number
            1, 2 or 3.

        Raises
        ------
        OutOfRangeError
            There is no such form.
        """
        if isinstance(number, bool) or number not in FORMS:
            raise OutOfRangeError(f"the form is {number!r}, but must be 1, 2 or 3")
        return VariantForm(number, self.guides, tuple(self.velocity_names), self.balance)

    def nonlinear_latex(self, number: str = "3.3") -> str:
        r"""Return the form without indices as a LaTeX environment `aligned`.

        Parameters
        ----------
        number
            "3.1": friction and normal reactions with the switches :math:`\delta_k^p`; "3.2": the
            same with the moduli of the reactions; "3.3": the equations of motion with these; "Z":
            the generalised function of Gauss. Normals point into the body: the paper's sign in its
            :math:`\delta` is corrected.

        Raises
        ------
        OutOfRangeError
            There is no such equation.
        """
        if number not in NUMBERS:
            raise OutOfRangeError(f"the equation is {number!r}, but must be 3.1, 3.2, 3.3 or Z")
        return nonlinear_latex(self.guides, self.velocity_names, number)

    def balance(
        self,
        state: Mapping[str, float] | np.ndarray,
        time: float = 0.0,
        direction: Mapping[str, float] | np.ndarray | None = None,
    ) -> SupportBalance:
        """Return the parts of the equations, and the residual of (3.3), in a state.

        Parameters
        ----------
        state, time, direction
            As in `at`.
        """
        x, turned, p, _ = self._placed(state, time, direction, None, None)
        parts = self.dynamics.matrices(time, x, p)
        columns = [np.asarray(column) for column in self._columns(time, turned, p)]
        kept = np.array([row.reaction is None for row in self.dynamics.rows], dtype=bool)
        order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
        return SupportBalance(
            parts["mass"],
            parts["force"].ravel(),
            np.stack([columns[0], columns[2]]),
            np.stack([columns[1], columns[3]]),
            parts["jacobian"][order],
            parts["bias"].ravel()[order],
            along_of_others(self.dynamics, parts["influence"], ~kept),
        )

    def gauss_function(
        self,
        state: Mapping[str, float] | np.ndarray,
        time: float = 0.0,
        direction: Mapping[str, float] | np.ndarray | None = None,
        *,
        weights: Sequence[float] | None = None,
    ) -> GaussFunction:
        """Return Z, the generalised function of Gauss, in a state.

        Parameters
        ----------
        state, time, direction
            As in `at`.
        weights
            mu, one per row of (3.3); 1 by default.

        Raises
        ------
        OutOfRangeError
            The weights are not one positive number per row.
        """
        return gauss_of(self.balance(state, time, direction), weights)

    def with_numbers(self, numbers: np.ndarray) -> VariantProblem:
        """Return the same equations with other values of p."""
        other = copy.copy(self)
        other.numbers = numbers
        return other

    def solve(
        self,
        state: Mapping[str, float] | np.ndarray,
        time: float = 0.0,
        direction: Mapping[str, float] | np.ndarray | None = None,
        *,
        policy: str = "homotopy",
        method: str = "auto",
        warm: tuple[int, ...] | None = None,
    ) -> Variants:
        """Return the loaded supports.

        Parameters
        ----------
        state, time, direction
            As in `at`.
        policy, method, warm
            As in `complementarity.solve`.

        Raises
        ------
        VariantError
            Depending on its kind: there is no answer, none that is physical, or several.
        """
        here = self.at(state, time, direction)
        return self.described(
            here, solve(here.complementarity, policy=policy, method=method, warm=warm)
        )

    def report(
        self,
        state: Mapping[str, float] | np.ndarray,
        time: float = 0.0,
        direction: Mapping[str, float] | np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Return every variant in a state, and properties of the problem.

        Parameters
        ----------
        state, time, direction
            As in `at`.

        Returns
        -------
        dict
            `answers`: for every variant (with more than ten pairs, for every answer) `variant`,
            `reactions` (signed, by pair), `acceleration` (by velocity), `determinant` (of the
            balance of forces), `valid` (whether the reactions have the signs of the loaded
            supports) and `physical` (whether the determinant has its friction-free sign). `count`
            of the valid ones; the `chosen` variant (None if there is none) with the `message` that
            explains it; `degree`, `w_property` (whether every load has one answer), `contraction`
            and `friction_margin` (of the chosen variant), None if unknown.
        """
        here = self.at(state, time, direction)
        equations = here.complementarity
        message = ""
        try:
            solution = solve(equations)
        except VariantError as error:
            message = str(error)
            solution = solve(equations, policy="all")
        valid = {answer.variant for answer in solution.answers}
        few = equations.count <= MOST_ENUMERATED
        others = [a for a in every_variant(equations) if a.variant not in valid] if few else []
        chosen = None if message else solution.chosen
        return {
            "answers": [
                self._entry(here, answer, valid=answer.variant in valid)
                for answer in sorted([*solution.answers, *others], key=lambda a: a.variant)
            ],
            "count": len(valid),
            "chosen": None if chosen is None else list(chosen.variant),
            "message": message,
            "degree": _known(_degree, equations) if few else None,
            "w_property": w_property(equations),
            "contraction": contraction(equations),
            "friction_margin": None if chosen is None else friction_margin(equations, chosen.signs),
        }

    def _entry(self, here: VariantState, answer: VariantAnswer, *, valid: bool) -> dict[str, Any]:
        accelerations = here.accelerations_of(answer).tolist()
        return {
            "variant": list(answer.variant),
            "reactions": dict(zip(self.names, answer.reactions.tolist(), strict=True)),
            "acceleration": dict(zip(self.velocity_names, accelerations, strict=True)),
            "determinant": answer.determinant,
            "valid": valid,
            "physical": answer.physical,
        }

    def described(self, here: VariantState, solution: VariantSolution) -> Variants:
        """Return answers with their accelerations."""
        found = [here.accelerations(answer.reactions).tolist() for answer in solution.answers]
        named = tuple(dict(zip(self.velocity_names, entry, strict=True)) for entry in found)
        return Variants(solution, named, here.values)

    def state(self, given: Mapping[str, float] | np.ndarray, time: float = 0.0) -> np.ndarray:
        """Return a state (nx,) from values by name, made consistent, or unchanged.

        Raises
        ------
        OutOfRangeError
            It is an array of the wrong size, or not finite.
        UnknownNameError, InconsistentStateError
            There is no such state, or no consistent state is near.
        """
        if isinstance(given, Mapping):
            start = check_named("state", given)
            return complete_start(self.dynamics, self.numbers, start, time=time).state
        x = np.asarray(given, dtype=float)
        if x.shape != (self.dynamics.x.numel(),) or not np.isfinite(x).all():
            raise OutOfRangeError(
                f"a state must be {self.dynamics.x.numel()} finite numbers, or some of them by name"
            )
        return x

    def sliding(self, x: np.ndarray, time: float = 0.0) -> bool:
        """Return whether any support slides or any pad spins, beyond rounding."""
        slips, sizes = (np.asarray(o).ravel() for o in self._moved(time, x, self.numbers))
        return bool(np.any(np.abs(slips) > SLIPS * sizes))

    def _velocities(self, given: Mapping[str, float] | np.ndarray) -> np.ndarray:
        if isinstance(given, Mapping):
            for name in check_named("direction", given):
                if name not in self.velocity_names:
                    raise unknown_name("velocity", name, self.velocity_names)
            given = np.array([given.get(name, 0.0) for name in self.velocity_names])
        direction = np.asarray(given, dtype=float)
        largest = np.max(np.abs(direction), initial=0.0)
        return direction / largest if largest > 0.0 else direction

    def _senses(self, time: float, x: np.ndarray, p: np.ndarray) -> dict[str, float]:
        """Return the sense of each slip in the plane, between -1 and 1 if friction is smooth."""
        if not self.slips.senses:
            return {}
        slips, slopes = self.slips.at(time, x, p)
        sizes = np.abs(slopes) @ np.abs(x[self.dynamics.position_count :])
        smoothing = p[self._places[SMOOTHING]]
        if smoothing > SHARP:
            senses = slips / np.hypot(slips, smoothing)
        else:
            senses = np.sign(slips)
            if np.any(np.abs(slips) <= SLIPS * sizes):
                raise OutOfRangeError(
                    "a support does not slide in this state, so its friction has no direction: "
                    "give the direction in which it is about to slide"
                )
        return dict(zip(self.slips.senses, senses.tolist(), strict=True))

    @cached_property
    def _columns(self) -> ca.Function:
        """(t, x, p) -> normals and frictions of first and of second supports, (nv, m) each."""
        count = self.dynamics.velocity_count
        nothing = SupportAction(ca.SX(count, 1), ca.SX(count, 1), ca.SX(0, 1))
        firsts = [first or nothing for first, _ in self.guides.supports]
        seconds = [second for _, second in self.guides.supports]
        columns = [
            ca.horzcat(*parts)
            for supports in (firsts, seconds)
            for parts in ([s.normal for s in supports], [s.friction for s in supports])
        ]
        return self.dynamics.function("columns", *columns)

    @cached_property
    def _moved(self) -> ca.Function:
        """(t, x, p) -> all slips and spins, and the sizes of their terms."""
        spins = [support.spin for support in self.guides.rubbing if support.spin is not None]
        moved = ca.vertcat(*[support.slip for support in self.guides.rubbing], *spins)
        v = self.dynamics.velocities
        sizes = ca.fabs(ca.jacobian(moved, v)) @ ca.fabs(v)
        return self.dynamics.function("moved", moved, sizes)


def variant_problem(
    system: MechanicalSystem, parameters: Mapping[str, float] | None = None
) -> VariantProblem:
    """Return the equations for the reactions of a system's supports.

    Parameters
    ----------
    system
        A system with pairs of supports.
    parameters
        Values that override the defaults.

    Raises
    ------
    PosingError
        The system has no pairs of supports.
    UnknownNameError, OutOfRangeError
        A parameter is unknown or out of range.
    """
    check_system(system)
    given = check_named("parameters", parameters)
    return VariantProblem(system.dynamics, parameter_values(system.dynamics, given))


def _known(
    find: Callable[[HorizontalComplementarity], int], equations: HorizontalComplementarity
) -> int | None:
    """Return the known properties; None where singular variants leave one undetermined."""
    try:
        return find(equations)
    except VariantError:
        return None


def _degree(equations: HorizontalComplementarity) -> int:
    """Return how many more answers are physical than unphysical, the same for every load."""
    sign = frictionless_sign(equations)
    assert sign is not None  # It is known for few pairs.
    return degree(equations) * sign


def with_variant(values: Mapping[str, float], answer: VariantAnswer) -> dict[str, float]:
    """Return discrete values with those of the loaded supports."""
    signs = zip(answer.names, answer.signs, strict=True)
    return {**values, **{ValueKind.VARIANT.name_of(name): float(sign) for name, sign in signs}}
