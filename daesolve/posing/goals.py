"""What a system must fulfil: constraints, relations, invariants.

A goal's residual is driven to zero by the choice of the reactions, (d/dt + rate)^r residual = 0,
r the relative degree: 2 for `Holonomic`, 1 for `Nonholonomic`, 0 for `Relation`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca

from daesolve.errors import OutOfRangeError, PosingError, is_number
from daesolve.posing.symbols import symbol

Expression = ca.SX | float | int

COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


def as_scalar(owner: str, value: Expression, *, finite: bool = True) -> ca.SX:
    """Return a scalar SX, or say whose expression is none.

    A caller that looks at the range of a constant itself needs none that is finite.
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
    return expression


def no_number(owner: str, constant: float) -> PosingError:
    """Return what says that an expression holds a constant that is no finite number."""
    return PosingError(
        f"{owner} contains the constant {constant}: Python's math functions and float() do not "
        "work on symbols; use casadi's functions (casadi.cos(q.x)) and finite constants"
    )


def check_constants(expressions: Iterable[tuple[str, ca.SX]]) -> None:
    """Refuse expressions with a constant in them that is no finite number.

    Parameters
    ----------
    expressions
        What to look at, each with the name of what it belongs to.

    Raises
    ------
    PosingError
        Python's own functions have made NaN of a symbol, or a constant is infinite.
    """
    found = [(owner, ca.vec(ca.SX(expression))) for owner, expression in expressions]
    if _irregular(ca.vertcat(*(expression for _, expression in found))) is None:
        return
    for owner, expression in found:
        constant = _irregular(expression)
        if constant is not None:
            raise no_number(owner, constant)


def _irregular(expression: ca.SX) -> float | None:
    """Return the first constant in a column that is not finite; None where all are."""
    walk = ca.Function("walk", [ca.vertcat(*ca.symvar(expression))], [expression])
    for place in range(walk.n_instructions()):
        if walk.instruction_id(place) == ca.OP_CONST:
            constant = float(walk.instruction_constant(place))
            if not math.isfinite(constant):
                return constant
    return None


def _residual(name: str, value: Expression) -> ca.SX:
    """Return the residual of a goal, or say why it is none."""
    residual = as_scalar(f"goal {name!r}", value)
    if residual.op() in COMPARISONS:
        raise PosingError(
            f"the goal {name!r} is a comparison, which is 0 or 1: give the expression that "
            "must be zero, without =="
        )
    return residual


def is_word(name: object) -> bool:
    """Return whether a name begins with a letter, and has letters, digits and underscores."""
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None


def check_feedback(name: str, rate: float | None, scale: float | None) -> None:
    """Refuse a rate or a scale of a goal that is none.

    Raises
    ------
    OutOfRangeError
        The rate is no finite number >= 0, or the scale no finite number > 0.
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
        The goal's own name; its reaction carries the same, unless it has another.
    residual
        A CasADi scalar that is zero where the goal is met.
    ideal
        Whether the goal brings a reaction of its own along its gradient (a multiplier). False
        where the directions of the reactions are given by how they enter the forces.
    rate
        Its feedback rate in 1/s, in place of the formulation's.
    scale
        The size of the residual that counts as one, in place of the automatic one.
    unit
        The unit of its reaction.
    from_start
        Whether the residual is measured from its value at the start: an energy that is to be kept
        by the reactions.
    singular_at_rest
        Whether to accept a residual that no reaction influences at rest (one that is quadratic in
        the velocities). The run ends `degenerate` where the motion comes to rest, unless it is
        stepped over.
    reaction_name
        The name of its reaction in results, where that is not the goal's own.
    at_start
        Whether a control system is to start where the goal is met, as it would with a constraint.
        Other goals of control systems are approached from where it starts.
    held_by
        The name of a discrete value: the constraint holds while that is 1.0, and is let go of
        while it is 0.0; its reaction is zero then, and its residual is nobody's. Empty where it
        always holds.
    """

    name: str
    residual: Expression
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
    def reaction_label(self) -> str:
        """What its reaction is called in results."""
        return self.reaction_name or self.name


class Holonomic(Goal):
    """A constraint on positions and time, of relative degree 2.

    Its parameters are those of a `Goal`. Its reaction acts along the gradient of the residual,
    and appears in outputs as `reaction`.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, p = ds.coordinates(x="m", y="m"), ds.parameters(length=(1.0, "m"))
    >>> rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2, unit="N/m")
    >>> outputs = {"tension": (-2 * p.length * rod.reaction, "N")}  # |gradient| = 2 length
    """


class Nonholonomic(Goal):
    """A constraint on velocities, of relative degree 1.

    Its parameters are those of a `Goal`.

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
    """An equation that defines a massless unknown; the unknown tracks it.

    The unknown s is a state with s' = -g_s^-1 (g_q q' + g_t + rate g), so that g' = -rate g.

    Parameters
    ----------
    name
        The goal's name.
    residual
        g(t, q, s), zero where the unknown is right.
    unknown
        The symbol from `implicit` that this equation defines.
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
    """An equation between reactions, of relative degree 0: torque - radius * force.

    Parameters
    ----------
    name
        The goal's name.
    residual
        An expression that is linear in the reactions.
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
    """A conserved quantity, measured, and driven to its first value on request.

    Parameters
    ----------
    name
        The goal's name.
    value
        The quantity.
    drive
        Whether errors in it are fed back. An invariant has no reaction of its own: it acts along
        its metric gradient, projected on the admissible velocities.
    on
        "velocities" where it acts on v', "positions" where it acts on q' (a unit quaternion).
    rate, scale
        As in `Goal`.
    reference
        The value to hold, where it is known (that of a unit quaternion's norm); the start is moved
        to it. None takes the value at the start.

    Notes
    -----
    A relation between reactions may drive it in the library's place: `correction` is the symbol of
    rate * (value - first value), to be put beside the quantity's power.
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
    """Return what a goal is about: its residual, or the value of an invariant."""
    return ca.SX(goal.value if isinstance(goal, Invariant) else goal.residual)
