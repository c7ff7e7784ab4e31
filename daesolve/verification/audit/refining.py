"""Guards where the polynomials of steps do not show them: at poles, jumps and in narrow pulses.

The states of a step are polynomials all the same. So a guard is evaluated at any place in it, and a
step is divided until the polynomial through the nodes of each part is that of the guard.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from daesolve.verification.audit.certificate import Certificate, missed, sides
from daesolve.verification.audit.expressions import Expressions

ROUGH = 1e-6
"""The part of the largest value of a guard in a step that its polynomial may miss."""
APART = 1e-4
"""The part of its value by which it jumps between two parts, whose ends are not as good."""
SHORTEST = 2.0**-32
"""The part of a step that is not divided: what lies in it is a pole or a jump."""
POLE = 1e4
"""How many times its usual value a guard is on both sides of a pole."""
MOST = 10_000
"""So many more parts than steps there are at most, about."""
BESIDE_IT = 1e-8
"""How far before and behind an event, as a part of its step, a guard tells that it jumps."""


class Guard(NamedTuple):
    """A guard of an event: under which key it is written down, its place there, and what it is."""

    key: tuple[str, str]
    place: int
    expression: ca.SX


def divided(
    along: Expressions, guard: Guard, values: np.ndarray
) -> tuple[Certificate, np.ndarray, float]:
    """Return parts of the steps in which the values of a guard, (n, NODES), are polynomials.

    Also its values there, and beyond what value it has a pole; infinity where nothing is divided.
    """
    whole, count, known = along.certificate, len(values), values
    steps, firsts, parts = np.arange(count), np.zeros(count), np.ones(count)
    # Near its zeros a guard is no larger than its rounding.
    usual = max(usual_size(whole, values), ROUGH * float(np.max(np.abs(values))))
    while True:
        rough = np.flatnonzero(_rough(steps, known, usual) & (parts > SHORTEST))
        if not rough.size or len(steps) > MOST + 2 * count:
            break
        half, kept = parts[rough] / 2.0, np.delete(np.arange(len(steps)), rough)
        owners, begins = np.tile(steps[rough], 2), np.append(firsts[rough], firsts[rough] + half)
        halves = whole.parts_of(owners, begins, np.tile(half, 2))
        rows = Expressions(halves).terms_of(guard.key, guard.expression)[0]
        steps, firsts = np.append(steps[kept], owners), np.append(firsts[kept], begins)
        parts, known = np.append(parts[kept], np.tile(half, 2)), np.concatenate([known[kept], rows])
        order = np.lexsort((firsts, steps))
        steps, firsts, parts, known = steps[order], firsts[order], parts[order], known[order]
    if len(steps) == count:
        return whole, values, np.inf
    return whole.parts_of(steps, firsts, parts), known, POLE * usual


def _rough(steps: np.ndarray, values: np.ndarray, usual: float) -> np.ndarray:
    """Tell of which parts of steps the polynomial of a guard, (k, NODES), is not the guard.

    Where it jumps beyond the last node of a part, the next part begins elsewhere.
    """
    sizes = np.maximum(np.max(np.abs(values), axis=1), usual)
    rough = missed(values) > ROUGH * sizes
    ends, begins = sides(values)
    apart = np.abs(ends[:-1] - begins[1:]) > APART * np.maximum(sizes[:-1], sizes[1:])
    apart &= steps[:-1] == steps[1:]
    rough[:-1] |= apart
    rough[1:] |= apart
    return rough


def usual_size(certificate: Certificate, values: np.ndarray) -> float:
    """Return the magnitude below which a guard, (n, NODES), is for half of the time."""
    sizes = np.abs(values).ravel()
    order = np.argsort(sizes)
    lasts = np.cumsum(np.repeat(np.abs(certificate.lengths), values.shape[1])[order])
    return float(sizes[order][np.searchsorted(lasts, lasts[-1] / 2.0)])


def at_events(along: Expressions, guard: Guard, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return a guard at or beside events, (k,), with the inputs that are in force there.

    Parameters
    ----------
    along, guard
        The run, and the guard.
    steps, parts
        (k,) in which step each event lies, and where, as a fraction of it.
    """
    whole = along.certificate
    places = whole.at(steps, parts)
    after = np.minimum(steps + (parts > 1.0), len(whole.starts) - 1)
    given = {name: whole.values[name][after] for name in _inputs(whole)}
    places = replace(places, values={**places.values, **given})
    return Expressions(places).terms_of(guard.key, guard.expression)[0, :, 0]


def _inputs(certificate: Certificate) -> set[str]:
    """Return the names of the values that tables, sampled laws and what steps a run change."""
    system = certificate.system
    drives = {name for drive in system.drives for name in drive.values.names}
    return certificate.values.keys() & (drives | {*system.inputs.names})


def jump_through(
    along: Expressions, guard: Guard, direction: int, steps: np.ndarray, parts: np.ndarray
) -> np.ndarray:
    """Tell which events a guard has because it jumps through zero there, (k,).

    Where inputs step, reactions jump as well, to what nobody tells.
    """
    before = at_events(along, guard, steps, parts - BESIDE_IT)
    after = at_events(along, guard, steps, parts + BESIDE_IT)
    passed = (before * after < 0.0) & ((direction == 0) | (after * direction > 0.0))
    if ca.depends_on(guard.expression, ca.vertcat(ca.SX(0, 1), *along.reactions)):
        next_steps = np.minimum(steps + 1, len(along.certificate.starts) - 1)
        for name in _inputs(along.certificate):
            row = along.certificate.values[name]
            passed |= (row[steps] != row[next_steps]) & (parts + BESIDE_IT > 1.0)
    return passed
