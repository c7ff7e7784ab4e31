"""The goals of a system: constraints, relations, invariants.

The reactions drive the residual of a goal to zero, (d/dt + rate)^r residual = 0, with the relative
degree r: 2 for `Holonomic`, 1 for `Nonholonomic`, 0 for `Relation`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Literal

import casadi as ca

from daesolve.core.posing.symbols import symbol
from daesolve.errors import OutOfRangeError, PosingError, is_number

Expression = ca.SX | float | int

COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


def as_scalar(owner: str, value: Expression, *, finite: bool = True) -> ca.SX:
    """Return a scalar SX, or raise an error that names the owner of the expression.

    A caller that checks the range of a constant separately may skip the check that it is finite.
    """
    try:
        expression = ca.SX(value)
    except Exception:
        raise PosingError(
            f"{owner} must be a CasADi SX expression, not {type(value).__name__}"
        ) from None
    if expression.shape != (1, 1):
        raise PosingError(f"{owner} must be a scalar expression, not one of {expression.shape}")
    if finite and expression.is_constant() and not math.isfinite(float(expression)):
        raise no_number(owner, float(expression))
    return without_calls(owner, expression)


def no_number(owner: str, constant: float) -> PosingError:
    """Return the error for an expression that contains a constant that is not finite."""
    return PosingError(
        f"{owner} contains the constant {constant}: Python's math functions and float() do not "
        "work on symbols; use casadi's functions (casadi.cos(q.x)) and finite constants"
    )


def without_calls(owner: str, expression: ca.SX) -> ca.SX:
    """Return an expression, or refuse it if it calls a function instead of containing operations.

    Parameters
    ----------
    owner
        The owner of the expression, for the message.
    expression
        Of any shape.

    Raises
    ------
    PosingError
        It calls an interpolant, a callback, an external function, a root finder, an integrator.
    """
    if expression.is_constant() or expression.is_symbolic():
        return expression
    called = ca.Function("walk", [], [expression], {"allow_free": True}).find_functions(0)
    if called:
        raise PosingError(
            f"{owner} calls the CasADi function {called[0].name()!r}, which is no expression: "
            "write what it computes with CasADi's operations; for measured or tabulated values use "
            "ds.table, whose nodes a run meets exactly"
        )
    return expression


def check_constants(expressions: Iterable[tuple[str, ca.SX]]) -> None:
    """Refuse expressions that call functions, or contain a constant that is not a finite number.

    Parameters
    ----------
    expressions
        The expressions to check, each with the name of its owner.

    Raises
    ------
    PosingError
        One of Python's functions has turned a symbol into NaN, or a constant is infinite, or an
        expression calls a function.
    """
    found = [(owner, ca.vec(ca.SX(expression))) for owner, expression in expressions]
    for owner, expression in found:
        without_calls(owner, expression)
    if _irregular(ca.vertcat(*(expression for _, expression in found))) is None:
        return
    for owner, expression in found:
        constant = _irregular(expression)
        if constant is not None:
            raise no_number(owner, constant)


def _irregular(expression: ca.SX) -> float | None:
    """Return the first constant in a column that is not finite; None if all are finite."""
    walk = ca.Function("walk", [ca.vertcat(*ca.symvar(expression))], [expression])
    for place in range(walk.n_instructions()):
        if walk.instruction_id(place) == ca.OP_CONST:
            constant = float(walk.instruction_constant(place))
            if not math.isfinite(constant):
                return constant
    return None


def _residual(name: str, value: Expression) -> ca.SX:
    """Return the residual of a goal, or raise an error that names the goal."""
    residual = as_scalar(f"goal {name!r}", value)
    if residual.op() in COMPARISONS:
        raise PosingError(
            f"the goal {name!r} is a comparison, which is 0 or 1: give the expression that "
            "must be zero, without =="
        )
    return residual


def is_word(name: object) -> bool:
    """Return whether a name is a letter followed by letters, digits and underscores."""
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None


def check_feedback(name: str, rate: float | None, scale: float | None) -> None:
    """Refuse an invalid rate or scale of a goal.

    Raises
    ------
    OutOfRangeError
        The rate is not a finite number >= 0, or the scale is not a finite number > 0.
    """
    if rate is not None and not (is_number(rate) and rate >= 0.0):
        raise OutOfRangeError(f"the rate of the goal {name!r} is {rate!r}, but must be >= 0")
    if scale is not None and not (is_number(scale) and scale > 0.0):
        raise OutOfRangeError(f"the scale of the goal {name!r} is {scale!r}, but must be > 0")


@dataclass(frozen=True, eq=False)
class Goal:
    """A residual that the reactions drive to zero.

    Parameters
    ----------
    name
        The goal's name. Its reaction has the same name unless `reaction_name` gives another.
    residual
        A CasADi scalar that is zero where the goal holds.
    ideal
        Whether the goal has its own reaction along its gradient (a multiplier). False if reactions
        that appear in the forces determine the directions.
    rate
        The goal's feedback rate in 1/s, instead of the formulation's rate.
    scale
        The typical size of the residual, instead of the automatic scale.
    unit
        The unit of the reaction.
    from_start
        Whether to measure the residual from its value at the start, for example an energy that the
        reactions conserve.
    singular_at_rest
        Whether to accept a residual that no reaction influences at rest, such as one quadratic in
        the velocities. If the motion comes to rest, the run ends `degenerate`, unless a step passes
        over the rest.
    reaction_name
        The name of the reaction in results, if it differs from the goal's name.
    at_start
        Whether a control system starts on the goal, as it would on a constraint. Control systems
        approach their other goals from the given start.
    held_by
        The name of a discrete value. The constraint holds while this value is 1.0. While it is 0.0,
        the constraint is released and its reaction is zero. Empty if the constraint always holds.
    """

    name: str
    residual: Expression
    _: KW_ONLY
    ideal: bool = True
    rate: float | None = None
    scale: float | None = None
    unit: str = ""
    from_start: bool = False
    singular_at_rest: bool = False
    reaction_name: str = ""
    at_start: bool = False
    held_by: str = ""
    reaction: ca.SX = field(init=False)
    completed_at: ClassVar[str] = ""
    """The point at which a feature adds what such goals bring along to a system, as it is made."""
    posed_at: ClassVar[str] = ""
    """The point at which a feature poses a system with such goals anew, for its equations."""
    bears_impulses: ClassVar[bool] = True
    """Whether its reaction may be infinite for an instant: that of dry friction may not."""

    def __post_init__(self) -> None:
        check_feedback(self.name, self.rate, self.scale)
        if isinstance(self, Holonomic) and (self.from_start or self.singular_at_rest):
            option = "from_start" if self.from_start else "singular_at_rest"
            raise PosingError(
                f"the holonomic goal {self.name!r} cannot have {option}, which is for "
                "residuals of velocities"
            )
        if self.at_start and type(self) is not Goal:
            raise PosingError(
                f"the constraint {self.name!r} always holds at the start: leave out at_start"
            )
        object.__setattr__(self, "residual", _residual(self.name, self.residual))
        if not isinstance(self.name, str):
            raise PosingError(f"the goal name {self.name!r} is not a valid identifier")
        named = self.reaction_name != ""
        if named and not (self.ideal and is_word(self.reaction_name)):
            raise PosingError(
                f"the goal {self.name!r} cannot name its reaction {self.reaction_name!r}: the "
                "name must be a word, and the goal ideal"
            )
        constraint = isinstance(self, Holonomic | Nonholonomic)
        if self.held_by and not (constraint and self.ideal and not self.singular_at_rest):
            raise PosingError(
                f"the goal {self.name!r} cannot be held by {self.held_by!r}: only ideal "
                "constraints, linear in the velocities, can be"
            )
        object.__setattr__(self, "reaction", symbol(self.name))

    @property
    def slips(self) -> tuple[Goal, ...]:
        """Goals on the slip of its bodies, which let go of it where it jumps."""
        return ()

    @property
    def reaction_label(self) -> str:
        """The name of the reaction in results."""
        return self.reaction_name or self.name


class Holonomic(Goal):
    """A constraint on positions and time, with relative degree 2.

    It takes the parameters of `Goal`. Its reaction acts along the gradient of the residual; outputs
    can use it as `reaction`.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, p = ds.coordinates(x="m", y="m"), ds.parameters(length=(1.0, "m"))
    >>> rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2, unit="N/m")
    >>> outputs = {"tension": (-2 * p.length * rod.reaction, "N")}  # |gradient| = 2 length
    """


class Nonholonomic(Goal):
    """A constraint on velocities, with relative degree 1.

    It takes the parameters of `Goal`.

    Examples
    --------
    >>> import casadi as ca
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    >>> across = q.dot.y * ca.cos(q.phi) - q.dot.x * ca.sin(q.phi)
    >>> blade = ds.Nonholonomic("blade", across, unit="N")  # a skate does not move sideways
    """


@dataclass(frozen=True, eq=False)
class Implicit:
    """An equation that defines a massless unknown, which the library tracks.

    The unknown s is a state with s' = -g_s^-1 (g_q q' + g_t + rate g), so that g' = -rate g.

    Parameters
    ----------
    name
        The goal's name.
    residual
        g(t, q, s), zero for the right value of the unknown.
    unknown
        The symbol from `implicit` that the equation defines.
    rate, scale
        As in `Goal`.
    """

    name: str
    residual: Expression
    unknown: ca.SX
    rate: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        check_feedback(self.name, self.rate, self.scale)
        object.__setattr__(self, "residual", _residual(self.name, self.residual))


@dataclass(frozen=True, eq=False)
class Relation:
    """An equation between reactions, with relative degree 0, such as torque - radius * force.

    Parameters
    ----------
    name
        The goal's name.
    residual
        An expression linear in the reactions.
    scale
        As in `Goal`.
    """

    name: str
    residual: Expression
    scale: float | None = None

    def __post_init__(self) -> None:
        check_feedback(self.name, None, self.scale)
        object.__setattr__(self, "residual", _residual(self.name, self.residual))


@dataclass(frozen=True, eq=False)
class Invariant:
    """A conserved quantity. The library measures it, and on request drives it to its first value.

    Parameters
    ----------
    name
        The goal's name.
    value
        The quantity.
    drive
        Whether to feed errors back. An invariant has no reaction; its correction acts along its
        metric gradient, projected on the admissible velocities.
    on
        "velocities" if the correction acts on v', "positions" if it acts on q' (a unit quaternion).
    rate, scale
        As in `Goal`.
    reference
        The value to hold, if it is known, such as 1 for the norm of a unit quaternion. The start is
        moved to it. None uses the value at the start.

    Notes
    -----
    A relation between reactions may drive the quantity instead of the library: add `correction`,
    the symbol of rate * (value - first value), to the power of the quantity.
    """

    name: str
    value: Expression
    drive: bool = False
    on: Literal["velocities", "positions"] = "velocities"
    rate: float | None = None
    scale: float | None = None
    reference: float | None = None
    correction: ca.SX = field(init=False)

    def __post_init__(self) -> None:
        check_feedback(self.name, self.rate, self.scale)
        if self.reference is not None:
            if not is_number(self.reference):
                raise OutOfRangeError(
                    f"the reference of the invariant {self.name!r} is {self.reference!r}, but must "
                    "be a finite number or None"
                )
            if self.on != "positions":
                raise PosingError(
                    f"the invariant {self.name!r} cannot have a reference: only invariants on "
                    "positions move the start to one"
                )
        object.__setattr__(self, "value", as_scalar(f"invariant {self.name!r}", self.value))
        object.__setattr__(self, "correction", symbol(f"correction_{self.name}"))


AnyGoal = Goal | Implicit | Relation | Invariant


def expression_of(goal: AnyGoal) -> ca.SX:
    """Return the expression of a goal: its residual, or the value of an invariant."""
    return ca.SX(goal.value if isinstance(goal, Invariant) else goal.residual)
