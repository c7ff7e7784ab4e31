"""``python -m tests.verification.enclosure.survey``: random systems, certified, against 40 digits.

Each system comes from the composer. Its motion is computed once more in 40 digits, from what was
posed: every box and every interval of an event must contain it. Every second system is certified
with remainders far below rounding, so that a rounding that is not enclosed is missed.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

import daesolve as ds
from daesolve.verification.enclosure import enclosing
from tests.composer.composing import Composition, compose
from tests.composer.writing import script_of

from .exact_motion import BITS, Moment, NoReferenceError, PosedMotion

SAMPLES = 5
LONGEST = 0.6
"""What is left of a motion, s."""
TOLERANCES = (1e-28, 1e-34)
"""Of remainders, in turn."""
REFUSED = "ds.table|ds.sampled|multibody|ds.velocities"


@dataclass(frozen=True)
class Outcome:
    """What became of a system: how many numbers were compared, which were missed, or why none."""

    compared: int = 0
    missed: tuple[str, ...] = ()
    why: str = ""
    until: float = 1.0


def examined(seed: int, index: int) -> Outcome:
    """Compose a system, certify its run, and compare."""
    composition = compose(seed, index)
    composition = replace(
        composition, way="solve", options={}, length=min(abs(composition.length), LONGEST)
    )
    names = posed(composition)
    if isinstance(names, str):
        return Outcome(why=names)
    system, initial, options = names["system"], names["initial"], names["options"]
    begin, until = names["begin"], names["until"]
    try:
        motion = PosedMotion(system)
    except NoReferenceError as reason:
        return Outcome(why=f"no reference: {reason}")
    at = np.linspace(begin, until, SAMPLES)
    before = enclosing.TOLERANCE
    enclosing.TOLERANCE = TOLERANCES[index % 2]
    try:
        run = ds.solve(system, until, initial, at=at, certify=True, **options)
    except ds.DaesolveError as error:
        return Outcome(why=f"refused: {type(error).__name__}")
    finally:
        enclosing.TOLERANCE = before
    certificate = run.certificate
    assert certificate is not None
    precision = flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        outcome = compared(motion, run)
    except NoReferenceError as reason:
        return Outcome(why=f"no reference: {reason}")
    finally:
        flint.ctx.prec = precision
    part = (certificate.until - begin) / (until - begin)
    return replace(outcome, why=certificate.message, until=part)


def posed(composition: Composition) -> dict[str, Any] | str:
    """Pose the system of a composition, or return why not."""
    script = script_of(composition).split("run = ds.solve(")[0]
    for part in REFUSED.split("|"):
        if part in script:
            return f"left out: {part}"
    names: dict[str, Any] = {}
    try:
        exec(compile(script, "<composed>", "exec"), names)
    except ds.DaesolveError as error:
        return f"refused: {type(error).__name__}"
    return names


def compared(motion: PosedMotion, run: ds.Trajectory) -> Outcome:
    """Compare boxes and intervals with the motion in 40 digits."""
    certificate = run.certificate
    assert certificate is not None
    if not len(certificate.times):
        return Outcome()
    states = [*motion.names, *(f"{name}_dot" for name in motion.names)]

    def box(name: str, k: int) -> Any:
        middle = flint.arb(float(certificate.centres[name][k]))
        middle += flint.arb(float(certificate.offsets[name][k]))
        return middle + flint.arb(0, float(certificate.radii[name][k]))

    first = [box(name, 0) for name in states]
    # What the constraints determine is no double.
    free = {name for name in states if certificate.offsets[name][0] != 0.0}
    middles = [value.mid() for value in first]
    count = len(motion.names)
    begun = Moment(
        flint.arb(float(certificate.times[0])), middles[:count], middles[count:], motion.first
    )
    m = motion.consistent(begun, free)
    missed: list[str] = []
    pairs = [(time, k, None) for k, time in enumerate(certificate.times.tolist())]
    pairs += [(event.time, -1, event) for event in certificate.events]
    number, fresh = 0, False
    for moment, k, event in sorted(pairs, key=lambda pair: pair[0]):
        seen = [m]
        m = motion.until(m, flint.arb(moment), seen)
        if event is None:
            for name, value in zip(states, [*m.q, *m.v], strict=True):
                number += 1
                if not box(name, k).contains(value):
                    missed.append(f"{name} at {moment!r}")
        elif event.name not in motion.guards and not motion.is_lost(event.name):
            raise NoReferenceError("an event of a switch")
        else:
            m = motion.crossing(m, event.name)
            number += 1
            interval = flint.arb(event.time) + flint.arb(event.offset)
            if not (interval + flint.arb(0, event.radius)).contains(m.t):
                missed.append(f"{event.name} at {moment!r}")
            m = motion.reset(m, event.name)
        # Beside an event its guard is zero.
        inner = seen[1 if fresh else 0 : -1]
        for a, b in itertools.pairwise(inner):
            missed += [f"{name} is left out near {float(b.t)!r}" for name in motion.fired(a, b)]
        fresh = event is not None
    return Outcome(number, tuple(missed))


def survey(seed: int, first: int, count: int, *, tell: bool = False) -> list[Outcome]:
    """Examine systems until so many were compared."""
    found: list[Outcome] = []
    index = first
    while sum(outcome.compared > SAMPLES for outcome in found) < count:
        begun = time.process_time()
        outcome = examined(seed, index)
        found.append(outcome)
        if tell:
            spent = time.process_time() - begun
            if outcome.compared:
                sys.stderr.write(f"{index} {spent:.1f} s {outcome}\n")
        index += 1
    return found


def main() -> None:
    """Examine systems, and print how many were compared, refused and missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.verification.enclosure.survey")
    parser.add_argument("--systems", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="INDEX")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = survey(given.seed, given.first, given.systems, tell=True)
    whole = [outcome for outcome in found if outcome.compared > SAMPLES]
    numbers = sum(outcome.compared for outcome in whole)
    complete = sum(not outcome.why for outcome in whole)
    missed = [text for outcome in found for text in outcome.missed]
    sys.stdout.write(f"{len(whole)} systems, {complete} to their end, {numbers} numbers compared, ")
    sys.stdout.write(f"{len(missed)} missed\n")
    for text, many in collections.Counter(o.why[:60] for o in found if o.why).most_common():
        sys.stdout.write(f"{many:6} {text}\n")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
