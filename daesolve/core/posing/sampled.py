"""Sampled laws: a computer reads the state from time to time and holds its output in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from daesolve.core.encoding import is_mapping, is_tuple
from daesolve.core.posing.events import RISING, Event, Reset
from daesolve.core.posing.goals import Expression, as_scalar, check_constants, is_word
from daesolve.core.posing.inputs import Drive, PythonLaw, drive_values
from daesolve.core.posing.symbols import time
from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
    PosingError,
    ResetError,
    SymbolError,
    is_number,
    unknown_name,
)

Law = Expression | Callable[[Any], Any]
ROUNDING = 1e-9
"""The tolerance, as a fraction of a period, within which a delay counts as whole periods."""


class LawArguments(Mapping[str, Any]):
    """The arguments of a law by name: `seen.x`, `seen["x"]`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise unknown_name("value for a sampled law", name, self._values)
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """A law in discrete time; see `sampled`."""

    name: str
    period: float
    law: Law
    delay: float = 0.0
    states: Mapping[str, float] = field(default_factory=dict[str, float])
    limits: tuple[float, float] = (-math.inf, math.inf)
    before: float = 0.0
    traced: bool = True

    def drive(self, seen: Mapping[str, ca.SX]) -> tuple[ca.SX, Drive]:
        """Return the held value, and the parts that it adds to a system.

        Parameters
        ----------
        seen
            The quantities of the system by name: "t", states, parameters, inputs.

        Raises
        ------
        PosingError
            The law returns something other than a value and its own next states.
        """
        return _Loop(self, seen).drive()


class _Loop:
    """A sampled law in a system: its discrete values, and the events that change them."""

    def __init__(self, sampled: SampledLaw, seen: Mapping[str, ca.SX]) -> None:
        self.sampled, self.name = sampled, sampled.name
        late = sampled.delay / sampled.period
        whole = math.floor(late + ROUNDING)
        self.rest = 0.0 if late - whole <= ROUNDING else sampled.delay - whole * sampled.period
        # If the delay is not a whole number of periods, the value from that many samples ago acts
        # later.
        self.stored = whole + (1 if self.rest else 0)
        own = {f"{self.name}_{state}": value for state, value in sampled.states.items()}
        queue = {f"{self.name}_late_{k + 1}": sampled.before for k in range(self.stored)}
        further = {f"{self.name}_applied": 0.0} if self.rest else {}
        if not sampled.traced and callable(sampled.law):
            further |= dict.fromkeys(self._results, 0.0)
        self.values = drive_values(
            {self._of("first"): 0.0, self._of("sample"): 0.0, self._of("held"): sampled.before}
            | further | queue | own
        )  # fmt: skip
        for state in sampled.states:
            if state in seen:
                raise PosingError(
                    f"the state {state!r} of the sampled law {self.name!r} has the same name "
                    "as one of its arguments: rename it"
                )
        self.seen = {**seen, **{s: self.values[f"{self.name}_{s}"] for s in sampled.states}}

    def _of(self, word: str) -> str:
        return f"{self.name}_{word}"

    def drive(self) -> tuple[ca.SX, Drive]:
        """Return the held value, and the parts that it adds to a system."""
        tick = self._of("tick")
        due = self.values[self._of("first")] + self.sampled.period * (self._count + 1)
        found, python = self._decided(tick)
        changed = self._changes(found)
        begin = {self._of("first"): time, **changed}
        changed = {self._of("sample"): self._count + 1, **changed}
        events = [Event(tick, time - due, RISING, Reset(changed), listed=False)]
        if self.rest:
            events.append(self._application())
        period = self.sampled.period
        drive = Drive(self.name, self.values, tuple(events), begin, python, period)
        return self.values[self._of("held")], drive

    @property
    def _count(self) -> ca.SX:
        return self.values[self._of("sample")]

    def _decided(self, tick: str) -> tuple[dict[str, ca.SX], PythonLaw | None]:
        """Return the value and the next states: expressions, or symbols that Python fills in."""
        law, states = self.sampled.law, self.sampled.states
        if not callable(law):
            if states:
                raise PosingError(
                    f"the sampled law {self.name!r} has its own states, {', '.join(states)}: "
                    "give a function of named values that returns the value and the next "
                    "states"
                )
            return self._checked(as_scalar(f"the sampled law {self.name!r}", law)), None
        if not self.sampled.traced:
            return self._called(tick, law)
        return self._checked(self._traced(law)), None

    def _traced(self, law: Callable[[Any], Any]) -> Any:
        """Return the result of a function of named values for symbols."""
        try:
            return law(LawArguments(self.seen))
        except Exception as error:
            if isinstance(error, DaesolveError) and not isinstance(error, SymbolError):
                raise
            raise PosingError(
                f"the sampled law {self.name!r} cannot be traced: its function raised "
                f"{_said(error)}; where it branches on values or needs plain numbers, write it "
                "with casadi's functions (casadi.if_else), or have it called at each sample "
                "with traced=False"
            ) from error

    def _checked(self, given: Any) -> dict[str, ca.SX]:
        """Return the results of a law by name; the value has an empty name."""
        owner = f"the sampled law {self.name!r}"
        value, following = split(owner, given, self.sampled.states)
        found = {"": as_scalar(owner, value)}
        for state, entry in following.items():
            found[state] = as_scalar(f"the state {state!r} of {owner}", entry)
        check_constants((owner, entry) for entry in found.values())
        return found

    @property
    def _results(self) -> list[str]:
        """The places where a law in Python puts its value and its next states."""
        return [self._of("given"), *(self._of(f"given_{state}") for state in self.sampled.states)]

    def _called(self, tick: str, law: Callable[[Any], Any]) -> tuple[dict[str, ca.SX], PythonLaw]:
        """Return the places for the results of a law in Python, and the law."""
        owner, states = f"the sampled law {self.name!r}", self.sampled.states

        def call(values: Mapping[str, float]) -> list[float]:
            try:
                given = law(LawArguments(values))
            except DaesolveError:
                raise
            except Exception as error:
                raise ResetError(
                    f"{owner} raised {_said(error)} at t = {values['t']:.10g} s"
                ) from error
            value, following = split(owner, given, states)
            return [as_number(owner, entry) for entry in (value, *(following[s] for s in states))]

        found = [self.values[name] for name in self._results]
        python = PythonLaw(tick, self.seen, tuple(self._results), call)
        return dict(zip(["", *states], found, strict=True)), python

    def _changes(self, found: Mapping[str, ca.SX]) -> dict[str, ca.SX]:
        low, high = self.sampled.limits
        value = found[""]
        # NaN stays NaN: fmin and fmax would return the limit.
        value = value if high == math.inf else ca.if_else(value > high, high, value)
        value = value if low == -math.inf else ca.if_else(value < low, low, value)
        changes = {f"{self.name}_{state}": found[state] for state in self.sampled.states}
        queue = [self._of(f"late_{k + 1}") for k in range(self.stored)]
        moved = [value, *(self.values[name] for name in queue)]
        changes |= dict(zip(queue, moved, strict=False))
        if not self.rest:
            changes[self._of("held")] = moved[-1]
        return changes

    def _application(self) -> Event:
        """Return the event that applies a value found one delay earlier."""
        applied, first = self.values[self._of("applied")], self.values[self._of("first")]
        due = first + self.sampled.period * applied + self.rest
        oldest = self.values[self._of(f"late_{self.stored}")]
        change = Reset({self._of("applied"): applied + 1, self._of("held"): oldest})
        return Event(self._of("acts"), time - due, RISING, change, listed=False)


def _said(error: Exception) -> str:
    """Return an exception as one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def as_number(owner: str, value: Any) -> float:
    """Return the result of a law in Python as a number.

    Raises
    ------
    ResetError
        It is not a finite number.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ResetError(f"{owner} returned {value!r}, which is not a finite number")
    return number


def split(owner: str, given: Any, states: Mapping[str, float]) -> tuple[Any, Mapping[str, Any]]:
    """Split the result of a function into the value of the law and its next states.

    Raises
    ------
    PosingError
        It is something else.
    """
    if not states:
        return given, {}
    if is_tuple(given) and len(given) == 2:
        value, following = given
        if is_mapping(following) and {*following} == {*states}:
            return value, following
    wanted = ", ".join(f"{state!r}: ..." for state in states)
    raise PosingError(
        f"{owner} must return (value, {{{wanted}}}): its value and all its next states, not "
        f"{given!r}"
    )


def sampled(
    name: str,
    period: float,
    law: Law,
    delay: float = 0.0,
    states: Mapping[str, float] | None = None,
    limits: Sequence[float] | None = None,
    before: float = 0.0,
    traced: bool = True,
) -> SampledLaw:
    """Return a law in discrete time for an input, which holds its value between samples.

    The first sample is at the start of the run, the others follow at whole periods.

    Parameters
    ----------
    name
        A word.
    period
        The time between samples, s.
    law
        An expression of time, states, parameters and other inputs; or a function of named values,
        `lambda seen: -seen.gain * seen.x`, which returns the value, or (value, next states).
    delay
        The time from a sample until its value begins to act, s.
    states
        The law's own states, with their values before the first sample.
    limits
        (lowest, highest) value.
    before
        The value that acts before the first sampled one, if there is a delay.
    traced
        Whether the function is called only once, with symbols, to find the expression that it
        computes. Compiled loops can follow such a law. If False, the function is called with
        numbers at each sample.

    Raises
    ------
    PosingError, OutOfRangeError
        A name is not a word, or a number is out of range.

    Examples
    --------
    >>> import daesolve as ds
    >>> q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    >>> cart = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.push}, inputs=u)
    >>> law = ds.sampled("controller", 0.01, -4 * q.x - 3 * q.dot.x, limits=(-1, 1))
    >>> run = ds.solve(cart, 10.0, {"x": 1.0}, inputs={"push": law})
    >>> abs(run.end_state["x"]) < 1e-3
    True
    """
    if not isinstance(states, Mapping | None):
        raise PosingError(
            f"the states of the sampled law {name!r} must map names to values, not {states!r}"
        )
    own = dict(states or {})
    for word in (name, *own):
        if not is_word(word):
            raise PosingError(f"a name in the sampled law {name!r} must be a word, not {word!r}")
    what = f"the sampled law {name!r}"
    if not is_number(period) or not period > 0:
        raise OutOfRangeError(f"the period of {what} is {period!r}, but must be > 0 s")
    if not is_number(delay) or not delay >= 0:
        raise OutOfRangeError(f"the delay of {what} is {delay!r}, but must be >= 0 s")
    for word, value in {**own, "before": before}.items():
        if not is_number(value):
            raise OutOfRangeError(f"{word!r} of {what} is {value!r}, but must be a finite number")
    low, high = (-math.inf, math.inf) if limits is None else _pair(what, limits)
    if not low < high:
        raise OutOfRangeError(
            f"the limits of {what} are {limits!r}: the first must be the lower one"
        )
    reserved = {"first", "sample", "held", "applied", "tick", "acts", "given"} & {*own}
    if reserved:
        raise PosingError(f"{what} cannot call a state {min(reserved)!r}: that name is reserved")
    numbers = float(period), float(delay), float(before)
    return SampledLaw(name, numbers[0], law, numbers[1], own, (low, high), numbers[2], traced)


def _pair(what: str, limits: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in limits)
    except (TypeError, ValueError):
        raise OutOfRangeError(
            f"the limits of {what} are {limits!r}, but must be two numbers"
        ) from None
    return low, high
