"""A directory with a plant in C: source, header, an example, a test, a Makefile and a README."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.expressions.translation import ELEMENTARY, NUMPY_TABLE, translate
from daesolve.export.c_language import C, row_by_row
from daesolve.export.c_source import (
    array,
    comment,
    header,
    places_of,
    reset_words,
    said_of,
    source,
)
from daesolve.export.named import NamedFunction
from daesolve.export.plant import Plant
from daesolve.export.writing import MARK, fill_template

FLAGS = "-O2 -std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
"""Options that keep IEEE 754: no product is fused with a sum."""
TESTED = 3
"""The number of states at which the test compares."""
LARGEST = 500
"""Entries of a result beyond which the test leaves it out."""
EXACT = frozenset({ca.OP_SQRT, ca.OP_SIGN})
"""Elementary functions that IEEE 754 rounds correctly."""
RUNS = 8
MARGIN = 16.0
"""The factor on the largest change seen, as a margin for changes that were not tried."""
EPSILON = float(np.finfo(float).eps)


def c_project(plant: Plant, version: str) -> dict[str, str]:
    """Return the files of a plant in C by name.

    Raises
    ------
    UnsupportedError
        C lacks an operation; the message names it.
    """
    name, mark = plant.name, f"{MARK} {version}"
    first, *rest = said_of(plant, version)
    return {
        f"{name}.h": header(plant, version),
        f"{name}.c": source(plant, version),
        "main.c": _example(plant, mark),
        "test.c": _test(plant, mark),
        "Makefile": fill_template("Makefile", name=name, mark=mark, flags=FLAGS),
        "README.md": fill_template(
            "README.md",
            name=name,
            first=first,
            rest="\n\n".join("\n".join(wrap(sentence, 100)) for sentence in rest),
            flags=FLAGS,
            functions=plant.functions,
            events=plant.events,
            resets=reset_words(plant) if plant.resets else (),
        ),
    }


def _example(plant: Plant, mark: str) -> str:
    words = f"Integrates {plant.name} with the classical Runge-Kutta method, {mark}."
    places = zip(places_of(plant)["p"], plant.values, strict=True)
    return fill_template(
        "main.c",
        said=comment([words, "./main [until, s] [steps]"]),
        name=plant.name,
        upper=plant.name.upper(),
        values=plant.values,
        unset=[member for member, entry in places if entry.default is None],
        guarded="guards" in plant.functions,
        residuals="residuals" in plant.functions,
    )


# -- the test --------------------------------------------------------------------------------------


def sampled_values(plant: Plant) -> np.ndarray:
    """Return the values at which the test compares: 0.5 for an input that has no default."""
    return np.array([0.5 if e.default is None else e.default for e in plant.values])


def expected(
    plant: Plant, function: NamedFunction, time: float, state: np.ndarray, values: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the results of a function, row by row, and how much they may differ elsewhere."""
    given: list[Any] = [time, state, values]
    if plant.lookups:
        given.append(looked_up(plant, time, state, values))
    for key in list(function.inputs)[len(given) :]:
        given.append(np.ones(function.inputs[key].size[0]))
    found = function.call(given)
    reaches = reach_of_rounding(function, given)
    results: list[np.ndarray] = []
    allowed: list[np.ndarray] = []
    for result, reach, shape in zip(found, reaches, function.outputs.values(), strict=True):
        order = row_by_row(shape)
        results.append(np.asarray(result).ravel(order="F")[order])
        allowed.append(reach[order])
    return results, allowed


def looked_up(plant: Plant, time: float, state: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the tables at their arguments at the start of a run."""
    return np.asarray(plant.begun(time, state, values)).ravel()


def _test(plant: Plant, mark: str) -> str:
    name, values = plant.name, sampled_values(plant)
    parts = [array("static const double values", _written(values) or ["0.0"])]
    calls: list[str] = []
    largest = 1
    for number, (time, state) in enumerate(plant.equations.samples[:TESTED]):
        parts.append(array(f"static const double state_{number}", _written(state)))
        for key, function in plant.functions.items():
            size = function.outputs[key].size
            if size[0] * size[1] > LARGEST:
                continue
            largest = max(largest, size[0] * size[1])
            (result,), (reach,) = expected(plant, function, time, state, values)
            word = f"{key}_{number}"
            parts.append(array(f"static const double {word}", _written(result)))
            parts.append(array(f"static const double {word}_off", _written(reach)))
            calls.append(f"{name}_{key}({C.number(time)}, state_{number}, values, found);")
            calls.append(f'failed += compared("{key}", {len(result)}, found, {word}, {word}_off);')
    said = comment([f"Compares {name} with the numbers of daesolve, {mark}."])
    numbers = "".join(parts)
    return fill_template(
        "test.c", said=said, name=name, numbers=numbers, largest=largest, calls=calls
    )


def _written(numbers: Sequence[float] | np.ndarray) -> list[str]:
    return [C.number(float(number)) for number in numbers]


def reach_of_rounding(function: ca.Function, arguments: Sequence[Any]) -> list[np.ndarray]:
    """Return how much each result may differ between libraries of elementary functions.

    Parameters
    ----------
    function
        Of SX expressions, with dense inputs and outputs.
    arguments
        Numbers.

    Returns
    -------
    list of numpy.ndarray
        For each output, column by column.
    """
    given = [np.ravel(np.asarray(value, dtype=float), order="F") for value in arguments]
    shaken = [_results(function, given, np.random.default_rng(seed)) for seed in range(RUNS)]
    plain = _results(function, given, None)
    found: list[np.ndarray] = []
    for number, result in enumerate(plain):
        changes = [np.abs(other[number] - result) for other in shaken]
        change = np.max(changes, axis=0) if result.size else np.zeros(0)
        found.append(MARGIN * change + EPSILON * np.abs(result))
    return found


def _results(
    function: ca.Function, given: Sequence[Any], generator: np.random.Generator | None
) -> list[np.ndarray]:
    table = dict(NUMPY_TABLE)
    if generator is not None:
        shaky = {*ELEMENTARY, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ERF, ca.OP_HYPOT} - EXACT
        table |= {operation: _shaken(NUMPY_TABLE[operation], generator) for operation in shaky}
    with np.errstate(all="ignore"):
        found = translate(function, given, table)
    return [np.array(column, dtype=float) for column in found]


def _shaken(exact: Callable[..., Any], generator: np.random.Generator) -> Callable[..., Any]:
    def shaken(*operands: Any) -> Any:
        return exact(*operands) * (1.0 + generator.choice([-1.0, 0.0, 1.0]) * EPSILON)

    return shaken
