"""The members of a sweep: their values, fixed and checked before the first one runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from daesolve.core.encoding import is_list, native
from daesolve.core.equations.consistency import start_value
from daesolve.errors import OutOfRangeError, is_number, unknown_name
from daesolve.plugins.bound_case import BoundCase

MOST_MEMBERS = 10_000_000
"""More would not fit into memory."""


@dataclass(frozen=True)
class Distribution:
    """Values drawn at random; `kind` is its name in a manifest and on the command line.

    Parameters
    ----------
    first, second
        The bounds, or the mean and the standard deviation of `normal`.
    """

    first: float
    second: float
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not (is_number(self.first) and is_number(self.second) and self._holds()):
            raise OutOfRangeError(
                f"{self.kind}({self.first!r}, {self.second!r}) is not a distribution: "
                f"{self._rule()}"
            )

    def _holds(self) -> bool:
        return self.first < self.second

    def _rule(self) -> str:
        return "it needs two numbers, the lower bound first"

    def values(self, parts: np.ndarray) -> np.ndarray:
        """Return the quantiles at these probabilities."""
        raise NotImplementedError


class Uniform(Distribution):
    """The uniform distribution between two bounds."""

    kind = "uniform"

    def values(self, parts: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        return self.first + (self.second - self.first) * parts


class LogUniform(Distribution):
    """The log-uniform distribution between two positive bounds."""

    kind = "log_uniform"

    def _holds(self) -> bool:
        return 0.0 < self.first < self.second

    def _rule(self) -> str:
        return "it needs two numbers above zero, the lower bound first"

    def values(self, parts: np.ndarray) -> np.ndarray:
        """Return the quantiles, none beyond the bounds by rounding."""
        low, high = math.log(self.first), math.log(self.second)
        return np.clip(np.exp(low + (high - low) * parts), self.first, self.second)


class Normal(Distribution):
    """The normal distribution."""

    kind = "normal"

    def _holds(self) -> bool:
        return self.second > 0.0

    def _rule(self) -> str:
        return "it needs the mean and a standard deviation above zero"

    def values(self, parts: np.ndarray) -> np.ndarray:
        """Return the quantiles."""
        return self.first + self.second * scipy.special.ndtri(parts)


def uniform(low: float, high: float) -> Uniform:
    """Draw uniformly between `low` and `high`."""
    return Uniform(low, high)


def log_uniform(low: float, high: float) -> LogUniform:
    """Draw log-uniformly between `low` > 0 and `high`."""
    return LogUniform(low, high)


def normal(mean: float, deviation: float) -> Normal:
    """Draw from the normal distribution with a mean and a standard deviation."""
    return Normal(mean, deviation)


DISTRIBUTIONS = {"uniform": uniform, "log_uniform": log_uniform, "normal": normal}

Over = Mapping[str, Sequence[Any] | np.ndarray | Distribution] | Sequence[Mapping[str, Any]]
Table = dict[str, list[Any]]
"""The values of every member by name, a list of one value for each."""


def members(over: Over, samples: int | None = None, seed: int = 0) -> Table:
    """Fix the values of every member.

    Parameters
    ----------
    over
        Name -> values or a distribution: the members are the product of all, with the last name
        varying fastest. Or the members one by one, each name -> value.
    samples
        How many members each point of the grid has if something is drawn at random.
    seed
        Of the draws; each name has its own stream.

    Raises
    ------
    OutOfRangeError
        There is nothing to vary, or its description makes no sense.
    """
    if isinstance(over, Mapping):
        return _product(_named(over), samples, seed)
    if samples is not None:
        raise OutOfRangeError("a list of members is complete: leave out samples")
    return _listed(over)


def _named(over: Mapping[str, Any]) -> dict[str, list[Any] | Distribution]:
    if not over:
        raise OutOfRangeError("over is empty: give a name and its values")
    found: dict[str, list[Any] | Distribution] = {}
    for name, given in over.items():
        if isinstance(given, Distribution):
            found[name] = given
            continue
        if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
            raise OutOfRangeError(
                f"over {name!r} is {given!r}, but must be a list of values or a distribution such "
                "as uniform(0.1, 1)"
            )
        found[name] = [_plain(name, value) for value in given]
        if not found[name]:
            raise OutOfRangeError(f"over {name!r} has no value")
    return found


def _product(over: Mapping[str, list[Any] | Distribution], samples: int | None, seed: int) -> Table:
    drawn = {name: law for name, law in over.items() if isinstance(law, Distribution)}
    grid = {name: values for name, values in over.items() if isinstance(values, list)}
    if drawn and samples is None:
        raise OutOfRangeError(
            f"samples are missing: give the number of draws of {', '.join(map(repr, drawn))}"
        )
    if samples is not None and not drawn:
        raise OutOfRangeError("samples are given, but nothing is drawn at random: leave them out")
    for option, given, least in (("samples", samples, 1), ("seed", seed, 0)):
        if given is not None and (type(given) is not int or given < least):
            raise OutOfRangeError(f"{option} is {given!r}, but must be a whole number >= {least}")
    each = samples or 1
    count = math.prod(len(values) for values in grid.values()) * each
    _check_count(count)
    points = list(itertools.product(*grid.values()))
    streams = np.random.SeedSequence(seed).spawn(len(drawn))
    table: Table = {}
    for column, name in enumerate(grid):
        table[name] = [point[column] for point in points for _ in range(each)]
    for (name, law), stream in zip(drawn.items(), streams, strict=True):
        # The generator's integers are the same in every version of NumPy, and so are these parts,
        # which leave out 0 and 1.
        integers = np.random.PCG64(stream).random_raw(count)
        parts = ((integers >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52
        table[name] = law.values(parts).tolist()
    return {name: table[name] for name in over}


def _listed(over: Sequence[Mapping[str, Any]]) -> Table:
    if isinstance(over, str) or not isinstance(over, Sequence | Iterator):
        raise OutOfRangeError(
            f"over is {over!r}, but must be a mapping of names to values or a list of members"
        )
    given = list(over)
    if not given or not all(isinstance(member, Mapping) and member for member in given):
        raise OutOfRangeError(
            "a list of members must contain at least one mapping of names to values"
        )
    _check_count(len(given))
    names = list(given[0])
    for number, member in enumerate(given):
        if set(member) != set(names):
            raise OutOfRangeError(
                f"member {number} has values of {', '.join(member)}, but member 0 of "
                f"{', '.join(names)}: give each member the same names"
            )
    return {name: [_plain(name, member[name]) for member in given] for name in names}


def _check_count(count: int) -> None:
    if count > MOST_MEMBERS:
        raise OutOfRangeError(f"there are {count} members, more than {MOST_MEMBERS}")


def _plain(name: str, value: Any) -> Any:
    """Return a value as a manifest can hold it; a NumPy number as one of Python's own."""
    plain = native(value)
    if not isinstance(plain, bool | int | float | str):
        raise OutOfRangeError(
            f"a value of {name!r} is {value!r}, but must be a number, true, false or a name"
        )
    return plain


def count_of(table: Table) -> int:
    """Return how many members there are."""
    return len(next(iter(table.values())))


def values_of(table: Table, number: int) -> dict[str, Any]:
    """Return the values of one member by name."""
    return {name: column[number] for name, column in table.items()}


def described(over: Over) -> Any:
    """Return the varied quantities, for a manifest."""
    if not isinstance(over, Mapping):
        return [{name: _plain(name, value) for name, value in member.items()} for member in over]
    return {
        name: {law.kind: [law.first, law.second]}
        if isinstance(law, Distribution)
        else [_plain(name, value) for value in law]
        for name, law in over.items()
    }


def over_from(over: Any) -> Over:
    """Return the varied quantities from their description in a manifest."""
    if is_list(over):
        return over
    return {name: given if is_list(given) else _distribution(given) for name, given in over.items()}


def _distribution(given: Mapping[str, Sequence[float]]) -> Distribution:
    ((kind, numbers),) = given.items()
    return DISTRIBUTIONS[kind](*numbers)


def member_case(case: BoundCase, values: Mapping[str, Any]) -> BoundCase:
    """Return the case of a member: each name is a structural choice, a parameter or a start value.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is not possible.
    """
    structure, parameters, starts = _sorted(case, values)
    changed = case.changed({name: values[name] for name in structure})
    changed = changed.changed({name: values[name] for name in parameters})
    return changed.starting({name: values[name] for name in starts})


def _sorted(case: BoundCase, values: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    structure = [name for name in values if name in case.problem.structure]
    shaped = case.changed({name: values[name] for name in structure})
    known = shaped.system.dynamics.posed_ranges
    numbers = [name for name in values if name not in structure]
    starts = [name for name in numbers if name not in known]
    open_names = [
        *shaped.system.dynamics.labels.states,
        *case.problem.start_names(shaped.full_structure),
    ]
    for name in starts:
        if name not in open_names:
            names = dict.fromkeys([*known, *case.problem.structure, *open_names])
            raise unknown_name("parameter, structural choice or start value", name, list(names))
    return structure, [name for name in numbers if name in known], starts


def checked(case: BoundCase, table: Table) -> Table:
    """Return the values of every member, parameters and start values as floats.

    Raises
    ------
    UnknownNameError, OutOfRangeError
        A name is unknown, or a value is not possible.
    """
    found = {name: list(column) for name, column in table.items()}
    structural = [name for name in table if name in case.problem.structure]
    for numbers in _alike(table, structural):
        first = values_of(table, numbers[0])
        _, parameters, starts = _sorted(case, first)
        shaped = member_case(case, first)
        # A value that follows from the others cannot be set, in no member of a structure.
        _ = shaped.values
        system = shaped.system
        for name in parameters:
            owner = system.owner_of(name)
            for number in numbers:
                found[name][number] = owner.check(name, table[name][number])
        for name in starts:
            for number in numbers:
                found[name][number] = start_value(name, table[name][number])
    return found


def _alike(table: Table, structural: Sequence[str]) -> list[list[int]]:
    """Return the numbers of the members of each structure."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    columns = [table[name] for name in structural]
    for number in range(count_of(table)):
        key: tuple[Any, ...] = tuple((type(column[number]), column[number]) for column in columns)
        groups.setdefault(key, []).append(number)
    return list(groups.values())
