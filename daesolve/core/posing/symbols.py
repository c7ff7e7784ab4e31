"""Named CasADi vectors: coordinates, velocities, parameters, reactions, discrete values.

Units are labels. The library shows them and never converts them.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Self

import casadi as ca

from daesolve.errors import OutOfRangeError, PosingError, unknown_name


def symbol(name: str, count: int = 1) -> ca.SX:
    """Return a new CasADi symbol of this name, or a column of several."""
    # The stubs of CasADi know `SX.sym` by another signature.
    return ca.SX.sym(name, count)  # pyright: ignore[reportArgumentType]


time = symbol("t")
"""The symbol of time, in s, for forces, goals and events that depend on it."""


class Angle(str):
    """The unit of a coordinate that repeats after a whole turn."""

    __slots__ = ()


ANGLE = Angle("rad")
"""The unit of an angle, which lets the library remove whole turns internally.

It is a label and not a promise: the library does not assume periodicity because of it.

- To keep its digits, an angle is wrapped to (-pi, pi] at the ends of segments if every equation,
  guard and output provably repeats after a whole turn: it occurs only within sines and cosines,
  multiplied by a whole number. Otherwise it is integrated like any other coordinate.
- Results always show it unwrapped: samples, events and end states count every turn.
- Events and discrete conditions use the unwrapped angle: a guard at 200 rad fires at 200 rad.
"""


@dataclass(frozen=True)
class Interval:
    """The values that a parameter may take.

    Parameters
    ----------
    low, high
        The ends of the interval. Both belong to it unless `open_low` excludes the lower end.
    open_low
        Whether to exclude `low`.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        return math.isfinite(value) and above and value <= self.high

    def __str__(self) -> str:
        if self.high == math.inf and self.low > -math.inf:
            return f"{'>' if self.open_low else '>='} {self.low:g}"
        if math.isinf(self.low) and math.isinf(self.high):
            return "any finite number"
        return f"in {'(' if self.open_low else '['}{self.low:g}, {self.high:g}]"


ANY = Interval()
POSITIVE = Interval(0.0, open_low=True)
NON_NEGATIVE = Interval(0.0)


def velocity_name(name: str) -> str:
    """Return the name of a coordinate's velocity; an index stays last.

    Examples
    --------
    >>> velocity_name("theta"), velocity_name("phi_1_3")
    ('theta_dot', 'phi_dot_1_3')
    """
    match = re.fullmatch(r"(.*?)((?:_\d+)*)", name)
    assert match is not None
    return f"{match[1]}_dot{match[2]}"


class SymbolVector:
    """An ordered set of named CasADi scalars, accessible as attributes or by key.

    Parameters
    ----------
    names
        The names, in the order of the vector.
    units
        The unit of each symbol, as a label.
    kind
        The kind of these symbols, for messages ("coordinate").
    """

    def __init__(self, names: tuple[str, ...], units: tuple[str, ...], kind: str) -> None:
        for name in names:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
                raise PosingError(f"the {kind} name {name!r} is not a valid identifier")
        for name, unit in zip(names, units, strict=True):
            if not isinstance(unit, str):
                raise PosingError(
                    f"the unit of the {kind} {name!r} is {unit!r}, but must be a word"
                )
        self.names = names
        self.units = units
        self.kind = kind
        self._symbols: dict[str, ca.SX] = {name: symbol(name) for name in names}
        self.vector: ca.SX = ca.vertcat(ca.SX(0, 1), *self._symbols.values())
        self.angles = frozenset(
            n for n, u in zip(names, units, strict=True) if isinstance(u, Angle)
        )

    def part(self, names: Iterable[str]) -> Self:
        """Return a vector of some of these symbols, in the order of the names.

        Raises
        ------
        UnknownNameError
            A name does not exist.
        """
        chosen = copy.copy(self)
        chosen.names = tuple(names)
        units = dict(zip(self.names, self.units, strict=True))
        chosen._symbols = {name: self[name] for name in chosen.names}
        chosen.units = tuple(units[name] for name in chosen.names)
        chosen.vector = ca.vertcat(ca.SX(0, 1), *chosen._symbols.values())
        chosen.angles = self.angles & {*chosen.names}
        return chosen

    def joined(self, other: SymbolVector) -> Self:
        """Join these symbols with those of another vector."""
        whole = copy.copy(self)
        whole.names, whole.units = self.names + other.names, self.units + other.units
        whole._symbols = self._symbols | other._symbols
        whole.vector = ca.vertcat(self.vector, other.vector)
        whole.angles = self.angles | other.angles
        return whole

    def with_symbols(self, symbols: Mapping[str, ca.SX]) -> Self:
        """Return the vector with other symbols under the same names."""
        other = copy.copy(self)
        other._symbols = {name: symbols[name] for name in self.names}
        other.vector = ca.vertcat(ca.SX(0, 1), *other._symbols.values())
        return other

    def __getattr__(self, name: str) -> ca.SX:
        if name.startswith("__") or "_symbols" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> ca.SX:
        if name not in self._symbols:
            raise unknown_name(self.kind, name, self._symbols)
        return self._symbols[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._symbols

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        pairs = ", ".join(f"{n} [{u}]" for n, u in zip(self.names, self.units, strict=True))
        return f"<{self.kind}s: {pairs}>"


class DifferentiableVector(SymbolVector):
    """Symbols together with the symbols of their rates: `q.x` and `q.dot.x`."""

    def __init__(self, names: tuple[str, ...], units: tuple[str, ...], kind: str) -> None:
        super().__init__(names, units, kind)
        rate_units = tuple(f"{unit}/s" if unit else "1/s" for unit in units)
        self._rate_names = tuple(velocity_name(name) for name in names)
        self.rates = SymbolVector(self._rate_names, rate_units, f"rate of a {kind}")
        self.dot = _Dot(self)

    def part(self, names: Iterable[str]) -> Self:
        """Return a vector of some of these symbols, with their rates."""
        chosen = super().part(names)
        chosen._rate_names = tuple(velocity_name(name) for name in chosen.names)
        chosen.rates = self.rates.part(chosen._rate_names)
        chosen.dot = _Dot(chosen)
        return chosen

    def joined(self, other: SymbolVector) -> Self:
        """Join these symbols with others, including their rates."""
        whole = super().joined(other)
        assert isinstance(other, DifferentiableVector)
        whole._rate_names = self._rate_names + other._rate_names
        whole.rates = self.rates.joined(other.rates)
        whole.dot = _Dot(whole)
        return whole


class _Dot:
    """`q.dot.x`: a rate by the name of its coordinate; `q.dot.vector`: all of them."""

    def __init__(self, owner: DifferentiableVector) -> None:
        self._owner = owner
        self.vector = owner.rates.vector

    def __getattr__(self, name: str) -> ca.SX:
        if name.startswith("__") or "_owner" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> ca.SX:
        if name not in self._owner:
            raise unknown_name(self._owner.kind, name, self._owner.names)
        return self._owner.rates[velocity_name(name)]


class Auxiliaries(DifferentiableVector):
    """Names for expressions of time and positions: a contact point, an elongation.

    The chain rule differentiates goals written in them, each shape once, for the same motion.
    """

    def __init__(self, meanings: Mapping[str, ca.SX], units: Mapping[str, str]) -> None:
        super().__init__(tuple(meanings), tuple(units.values()), "auxiliary quantity")
        self.meanings: ca.SX = ca.vertcat(ca.SX(0, 1), *meanings.values())


class Parameters(SymbolVector):
    """Symbols with a default value and a range each."""

    def __init__(
        self,
        defaults: Mapping[str, float],
        units: Mapping[str, str],
        ranges: Mapping[str, Interval],
        kind: str = "parameter",
    ) -> None:
        names = tuple(defaults)
        super().__init__(names, tuple(units[n] for n in names), kind)
        self.ranges = dict(ranges)
        self.defaults = {name: self.check(name, value) for name, value in defaults.items()}

    def joined(self, other: SymbolVector) -> Self:
        """Join these parameters with others, including ranges and defaults."""
        whole = super().joined(other)
        assert isinstance(other, Parameters)
        whole.ranges = self.ranges | other.ranges
        whole.defaults = self.defaults | other.defaults
        return whole

    def check(self, name: str, value: object) -> float:
        """Return a value as a float, or raise an error if it is invalid.

        Raises
        ------
        UnknownNameError
            There is no parameter of this name.
        OutOfRangeError
            The value is not a finite number, or lies outside the range of the parameter.
        """
        if name not in self:
            raise unknown_name(self.kind, name, self.names)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise OutOfRangeError(f"{self.kind} {name!r} must be a number, not {value!r}")
        if float(value) not in self.ranges[name]:
            raise OutOfRangeError(
                f"{self.kind} {name!r} is {value!r}, but must be {self.ranges[name]}"
            )
        return float(value)

    def values(self, overrides: Mapping[str, object] | None = None) -> dict[str, float]:
        """Return every value, with given ones overriding the defaults."""
        given = {name: self.check(name, value) for name, value in (overrides or {}).items()}
        return self.defaults | given


NO_DISCRETE = Parameters({}, {}, {}, "discrete value")


class DiscreteValues:
    """The type of a field that accepts discrete values or a list of several, and joins them.

    Each friction law brings its own values: `discrete=[one.discrete, other.discrete]`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Parameters:
        return NO_DISCRETE if instance is None else instance.__dict__[self._name]

    def __set__(self, instance: object, given: Parameters | Sequence[Parameters]) -> None:
        parts = [given] if isinstance(given, SymbolVector) else given
        if not isinstance(parts, Sequence) or not all(isinstance(p, Parameters) for p in parts):
            raise PosingError(
                "discrete values must come from discrete() or from laws, one or a list of "
                f"them, not {given!r}"
            )
        whole, names = NO_DISCRETE, list[str]()
        for part in parts:
            names += part.names
            whole = whole.joined(part)
        for name in names:
            if names.count(name) > 1:
                raise PosingError(f"two discrete values have the same name, {name!r}")
        instance.__dict__[self._name] = whole


def coordinates(**units: str) -> DifferentiableVector:
    """Declare coordinates by name and unit: `coordinates(x="m", theta=ANGLE)`.

    The velocity of `x` is the symbol `q.dot.x` and the state `x_dot`.

    Parameters
    ----------
    **units
        The unit of each coordinate by name. `ANGLE` may be wrapped internally; see there.

    Examples
    --------
    >>> import daesolve as ds
    >>> q = ds.coordinates(x="m", theta=ds.ANGLE)
    >>> q.x**2 + q.dot.x  # CasADi expressions, of q["x"] as well
    SX((sq(x)+x_dot))
    """
    return DifferentiableVector(tuple(units), tuple(units.values()), "coordinate")


def implicit(**units: str) -> DifferentiableVector:
    """Declare massless unknowns, each defined by an `Implicit` equation.

    Parameters
    ----------
    **units
        The unit of each unknown by name.
    """
    return DifferentiableVector(tuple(units), tuple(units.values()), "implicit unknown")


def auxiliaries(**entries: ca.SX | tuple[ca.SX, str]) -> Auxiliaries:
    """Name expressions of time and positions: `auxiliaries(contact_x=(q.x + r * n, "m"))`.

    Parameters
    ----------
    **entries
        The expression of each quantity by name, optionally with its unit.

    Raises
    ------
    PosingError
        An entry is not an expression.
    """
    pairs = {n: entry if isinstance(entry, tuple) else (entry, "") for n, entry in entries.items()}
    for name, (meaning, _) in pairs.items():
        if not isinstance(meaning, ca.SX | float | int):
            raise PosingError(
                f"auxiliary {name!r} must be a CasADi SX expression, not {type(meaning).__name__}"
            )
    return Auxiliaries(
        {name: ca.SX(meaning) for name, (meaning, _) in pairs.items()},
        {name: unit for name, (_, unit) in pairs.items()},
    )


def states(**units: str) -> SymbolVector:
    """Declare the states of a `ControlSystem`.

    Parameters
    ----------
    **units
        The unit of each state by name.
    """
    return SymbolVector(tuple(units), tuple(units.values()), "state")


def velocities(**units: str) -> SymbolVector:
    """Declare quasi-velocities v, with q' = S(q) v.

    Parameters
    ----------
    **units
        The unit of each velocity by name.
    """
    return SymbolVector(tuple(units), tuple(units.values()), "velocity")


def reactions(**units: str) -> SymbolVector:
    """Declare reactions whose directions follow from where they appear in the forces.

    Parameters
    ----------
    **units
        The unit of each reaction by name.
    """
    return SymbolVector(tuple(units), tuple(units.values()), "reaction")


def parameters(
    **entries: float | tuple[float, str] | tuple[float, str, Interval],
) -> Parameters:
    """Declare parameters: `parameters(mass=(1.0, "kg", POSITIVE), offset=(0.0, "m"))`.

    Parameters
    ----------
    **entries
        The default of each parameter by name, optionally with a unit and a range (an `Interval`).

    Raises
    ------
    PosingError
        An entry is something else, or a name is not a valid identifier.

    Examples
    --------
    >>> import daesolve as ds
    >>> p = ds.parameters(mass=(2.0, "kg", ds.POSITIVE), drag=(0.1, "kg/s", ds.Interval(0, 5)))
    >>> p.mass / 2
    SX((mass/2))
    """
    defaults: dict[str, float] = {}
    units: dict[str, str] = {}
    ranges: dict[str, Interval] = {}
    for name, entry in entries.items():
        fields = entry if isinstance(entry, tuple) else (entry,)
        if not 1 <= len(fields) <= 3:
            raise PosingError(f"the parameter {name!r} must be (value, unit, range), not {entry!r}")
        if len(fields) == 3 and not isinstance(fields[2], Interval):
            raise PosingError(
                f"the range of the parameter {name!r} is {fields[2]!r}, which is not an Interval"
            )
        defaults[name] = fields[0]
        units[name] = fields[1] if len(fields) > 1 else ""
        ranges[name] = fields[2] if len(fields) > 2 else ANY  # pyright: ignore
    return Parameters(defaults, units, ranges)


def discrete(**defaults: float) -> Parameters:
    """Declare discrete values: numbers that only resets change.

    Parameters
    ----------
    **defaults
        The value of each at the start, by name.

    Examples
    --------
    Pass `driving = daesolve.discrete(motor=1.0)` to the system as `discrete=driving`. If a force
    has the factor `driving.motor`, then `Reset({"motor": 0.0})` switches it off.
    """
    return Parameters(
        defaults, dict.fromkeys(defaults, ""), dict.fromkeys(defaults, ANY), "discrete value"
    )


@dataclass(frozen=True)
class Labels:
    """Names and units of everything that a run shows.

    The `reactions` are unknowns of the equations; other reactions are `recovered` from the motion.
    """

    states: tuple[str, ...]
    state_units: tuple[str, ...]
    reactions: tuple[str, ...]
    reaction_units: tuple[str, ...]
    outputs: tuple[str, ...]
    output_units: tuple[str, ...]
    accelerations: tuple[str, ...]
    angles: tuple[int, ...] = ()
    recovered: tuple[str, ...] = ()
    recovered_units: tuple[str, ...] = ()

    def units(self) -> dict[str, str]:
        """Return the unit of every state, reaction and output by name."""
        names = self.states + self.shown_reactions + self.outputs
        units = self.state_units + self.shown_reaction_units + self.output_units
        return dict(zip(names, units, strict=True))

    @property
    def shown_reactions(self) -> tuple[str, ...]:
        """The reactions that are unknowns, and the recovered ones."""
        return self.reactions + self.recovered

    @property
    def shown_reaction_units(self) -> tuple[str, ...]:
        """The units of `shown_reactions`."""
        return self.reaction_units + self.recovered_units
