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
from daesolve.export.writing import MARK

FLAGS = "-O2 -std=c99 -pedantic -Wall -Wextra -ffp-contract=off"
"""Options that keep IEEE 754: no product is fused with a sum."""
TESTED = 3
"""The number of states at which the test compares."""
LARGEST = 500
"""Entries of a result beyond which the test leaves it out."""


def c_project(plant: Plant, version: str) -> dict[str, str]:
    """Return the files of a plant in C by name.

    Raises
    ------
    UnsupportedError
        C lacks an operation; the message names it.
    """
    name = plant.name
    return {
        f"{name}.h": header(plant, version),
        f"{name}.c": source(plant, version),
        "main.c": _example(plant, version),
        "test.c": _test(plant, version),
        "Makefile": _makefile(plant, version),
        "README.md": _readme(plant, version),
    }


def _makefile(plant: Plant, version: str) -> str:
    name = plant.name
    return (
        f"# {name}: {MARK} {version}.\n"
        "# -ffp-contract=off: fused products and sums would round differently.\n"
        f"CC ?= cc\nCFLAGS ?= {FLAGS}\n\n"
        "all: main test\n\n"
        f"{name}.o: {name}.c {name}.h\n\t$(CC) $(CFLAGS) -c {name}.c\n\n"
        f"main: main.c {name}.o\n\t$(CC) $(CFLAGS) main.c {name}.o -lm -o main\n\n"
        f"test: test.c {name}.o\n\t$(CC) $(CFLAGS) test.c {name}.o -lm -o test\n\n"
        "check: test\n\t./test\n\n"
        f"clean:\n\trm -f main test {name}.o\n\n.PHONY: all check clean\n"
    )


def _readme(plant: Plant, version: str) -> str:
    name = plant.name
    first, *rest = said_of(plant, version)
    wrapped = "\n\n".join("\n".join(wrap(sentence, 100)) for sentence in rest)
    functions = "".join(
        f"| `{name}_{key}` | {', '.join(f'`{n}`' for n in function.outputs[key].names)} |\n"
        for key, function in plant.functions.items()
    )
    events = "".join(
        f"| `{event.name}` | {event.direction} | {event.does} |\n" for event in plant.events
    )
    events = f"\n| event | its guard passes zero | what happens |\n|---|---|---|\n{events}"
    resets = "".join(f"\n- `{word}`" for word in reset_words(plant))
    resets = f"\nResets, which return the state and the values after the event:\n{resets}\n"
    return (
        f"# {first}\n\n{wrapped}\n\n"
        f"`make` builds an example and a test; `./main 10 10000` integrates to 10 s in 10 000\n"
        "steps of the classical Runge-Kutta method; `make check` compares with the numbers of\n"
        f"daesolve. To use the equations, take `{name}.h` and `{name}.c`, and compile with\n"
        f"`{FLAGS}`.\n"
        "Each export overwrites all files: copy the example to change it.\n\n"
        "| function | entries, or rows |\n|---|---|\n"
        f"{functions}{events if plant.events else ''}{resets if plant.resets else ''}"
    )


def _example(plant: Plant, version: str) -> str:
    name, upper = plant.name, plant.name.upper()
    unset = [
        f"    values[{member}] = 0.0; /* an input: zero in this example; set your own. */\n"
        for member, entry in zip(places_of(plant)["p"], plant.values, strict=True)
        if entry.default is None
    ]
    guarded = "guards" in plant.functions
    before = BEFORE.replace("NAME", name).replace("GUARDS", f"{upper}_GUARDS") if guarded else ""
    after = AFTER.replace("NAME", name) if guarded else ""
    residual = ""
    if "residuals" in plant.functions:
        residual = (
            f"    double residuals[{upper}_RESIDUALS], largest = 0.0;\n"
            f"    {name}_residuals(time, state, values, residuals);\n"
            f"    for (int k = 0; k < {upper}_RESIDUALS; ++k)\n"
            "        largest = fmax(largest, fabs(residuals[k]));\n"
            '    printf("largest residual of a constraint: %.3g\\n", largest);\n'
        )
    said = comment(
        [
            f"Integrates {name} with the classical Runge-Kutta method, {MARK} {version}.",
            "./main [until, s] [steps]",
        ]
    )
    return (
        f'{said}#include "{name}.h"\n\n'
        "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n"
        f"enum {{ STATES = {upper}_STATES, VALUES = {max(len(plant.values), 1)} }};\n\n"
        + RUNGE_KUTTA.replace("NAME", name)
        + (PASSED.replace("NAME", name).replace("GUARDS", f"{upper}_GUARDS") if guarded else "")
        + MAIN.replace("NAME", name)
        .replace("    UNSET\n", "".join(unset))
        .replace("    RESIDUAL\n", residual)
        .replace("    BEFORE\n", before)
        .replace("        AFTER\n", after)
    )


RUNGE_KUTTA = """\
/* One step of the classical Runge-Kutta method. */
static void step(double time, double h, double *state, const double *values)
{
    static const double ahead[4] = {0.0, 0.5, 0.5, 1.0}, weights[4] = {1.0, 2.0, 2.0, 1.0};
    double at[STATES], rate[STATES], sum[STATES];
    for (int k = 0; k < STATES; ++k)
        rate[k] = sum[k] = 0.0;
    for (int stage = 0; stage < 4; ++stage) {
        for (int k = 0; k < STATES; ++k)
            at[k] = state[k] + h * ahead[stage] * rate[k];
        NAME_rhs(time + h * ahead[stage], at, values, rate);
        for (int k = 0; k < STATES; ++k)
            sum[k] += weights[stage] * rate[k];
    }
    for (int k = 0; k < STATES; ++k)
        state[k] += h / 6.0 * sum[k];
}

"""
PASSED = """\
/* The guard that passes zero in its direction, or -1. */
static int passed(const double *before, const double *after)
{
    for (int k = 0; k < GUARDS; ++k) {
        const int falls = before[k] > 0.0 && after[k] <= 0.0;
        const int rises = before[k] < 0.0 && after[k] >= 0.0;
        if ((falls && NAME_directions[k] <= 0) || (rises && NAME_directions[k] >= 0))
            return k;
    }
    return -1;
}

"""
MAIN = """\
int main(int argc, char **argv)
{
    const double until = argc > 1 ? atof(argv[1]) : 1.0;
    const int steps = argc > 2 ? atoi(argv[2]) : 1000;
    double state[STATES], values[VALUES];
    const double begin = NAME_start(state), h = until / steps;
    double time = begin;
    NAME_defaults(values);
    UNSET
    BEFORE
    printf("time");
    for (int k = 0; k < STATES; ++k)
        printf(" %s", NAME_state_names[k]);
    printf("\\n");
    for (int n = 0; n <= steps; ++n) {
        time = begin + n * h;
        if (n % (steps / 10 > 0 ? steps / 10 : 1) == 0) {
            printf("%.6g", time);
            for (int k = 0; k < STATES; ++k)
                printf(" %.17g", state[k]);
            printf("\\n");
        }
        AFTER
        if (n < steps)
            step(time, h, state, values);
    }
    RESIDUAL
    return 0;
}
"""
BEFORE = """\
    double before[GUARDS], after[GUARDS];
    NAME_guards(time, state, values, before);
"""
AFTER = """\
        NAME_guards(time, state, values, after);
        if (passed(before, after) >= 0) {
            printf("guard %d passed zero before %.6g s: the example ends here\\n",
                   passed(before, after), time);
            break;
        }
        NAME_guards(time, state, values, before);
"""


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


def _test(plant: Plant, version: str) -> str:
    name = plant.name
    samples = plant.equations.samples[:TESTED]
    values = sampled_values(plant)
    said = comment([f"Compares {name} with the numbers of daesolve, {MARK} {version}."])
    parts = [f'{said}#include "{name}.h"\n\n#include <math.h>\n#include <stdio.h>\n\n']
    parts.append(array("static const double values", _written(values) or ["0.0"]))
    calls: list[str] = []
    largest = 1
    for number, (time, state) in enumerate(samples):
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
            calls.append(f"    {name}_{key}({C.number(time)}, state_{number}, values, found);")
            calls.append(
                f'    failed += compared("{key}", {len(result)}, found, {word}, {word}_off);'
            )
    parts.append(COMPARED)
    parts.append(f"int main(void)\n{{\n    double found[{largest}];\n    int failed = 0;\n")
    parts.append("\n".join(calls) + "\n" + VERDICT)
    return "".join(parts)


def _written(numbers: Sequence[float] | np.ndarray) -> list[str]:
    return [C.number(float(number)) for number in numbers]


COMPARED = """
/* The number of entries off by more than math libraries may differ. */
static int compared(const char *name, int count, const double *found, const double *expected,
                    const double *allowed)
{
    int failed = 0;
    for (int k = 0; k < count; ++k) {
        const int same = found[k] == expected[k] || (isnan(found[k]) && isnan(expected[k]));
        if (!same && !(fabs(found[k] - expected[k]) <= allowed[k])) {
            printf("%s[%d] is %.17g, but should be %.17g\\n", name, k, found[k], expected[k]);
            ++failed;
        }
    }
    return failed;
}

"""
VERDICT = """\
    if (failed)
        printf("%d numbers differ\\n", failed);
    else
        printf("all numbers agree\\n");
    return failed != 0;
}
"""


EXACT = frozenset({ca.OP_SQRT, ca.OP_SIGN})
"""Elementary functions that IEEE 754 rounds correctly."""
RUNS = 8
MARGIN = 16.0
"""The factor on the largest change seen, as a margin for changes that were not tried."""
EPSILON = float(np.finfo(float).eps)


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
