"""How narrow certified boxes are, and what they cost, beside those of codac.

Two ordinary differential equations are enclosed from a point on: a pendulum of 1 m from 1.5 rad and
Van der Pol's oscillator from 2. The table shows the half-width of the widest state at the end and
the processor seconds of the enclosure, without compilation and, for daesolve, without the run that
it accompanies. codac (`CtcLohner`, Lohner's method in doubles) takes slices of equal length. Both
boxes must have a point in common. Without codac (`pip install codac`) its rows are left out. CAPD,
which has Taylor's method of high order, comes without a Python package.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_until, add_update, options
from .common.tables import markdown

MARK = "enclosures"
SLICES = (0.01, 0.001)
"""The lengths of codac's slices, s."""
UNTIL = 5.0
GRAVITY = 9.81


@dataclass(frozen=True)
class Motion:
    """An equation x'' = a(x, x'), where it begins at rest, and a in the functions of codac."""

    name: str
    start: float
    system: Callable[[], ds.MechanicalSystem]
    acceleration: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Measurement:
    """What an enclosure says of the end of a motion, and the processor seconds that it took."""

    motion: str
    by: str
    middle: float
    width: float
    seconds: float


def pendulum() -> ds.MechanicalSystem:
    """Return a pendulum by its angle."""
    q = ds.coordinates(x="rad")
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-GRAVITY * ca.cos(q.x))


def oscillator() -> ds.MechanicalSystem:
    """Return Van der Pol's oscillator."""
    q = ds.coordinates(x="m")
    force = {"x": (1 - q.x**2) * q.dot.x}
    return ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force=force)


MOTIONS = (
    Motion("pendulum", 1.5, pendulum, lambda codac, x, _: -GRAVITY * codac.sin(x)),
    Motion("Van der Pol", 2.0, oscillator, lambda codac, x, v: (1.0 - codac.sqr(x)) * v - x),
)


def by_daesolve(motion: Motion, until: float) -> Measurement:
    """Measure a certified run."""
    system, start = motion.system(), {"x": motion.start, "x_dot": 0.0}
    ds.solve(system, until / 50, start, at=[until / 50], certify=True)
    certificate = ds.solve(system, until, start, at=[until], certify=True).certificate
    assert certificate is not None
    assert certificate.complete, certificate.message
    middle, seconds = float(certificate.centres["x"][-1]), certificate.seconds
    return Measurement(motion.name, "daesolve", middle, certificate.width, seconds)


def by_codac(motion: Motion, until: float, length: float) -> Measurement:
    """Measure Lohner's method of codac."""
    import codac  # pyright: ignore[reportMissingImports]

    library: Any = codac
    x = library.VectorVar(2)
    rate = library.vec(x[1], motion.acceleration(library, x[0], x[1]))
    contractor = library.CtcLohner(library.AnalyticFunction([x], rate))
    domain = library.create_tdomain([0.0, until], length, False)
    tube = library.SlicedTube(domain, library.IntervalVector(2))
    tube.set(library.IntervalVector([[motion.start, motion.start], [0.0, 0.0]]), 0.0)
    begun = time.process_time()
    contractor.contract(tube, library.TimePropag.FWD)
    seconds = time.process_time() - begun
    box = tube(until)
    width = max(float(box[k].rad()) for k in range(2))
    name = f"codac, slices of {length:g} s"
    return Measurement(motion.name, name, float(box[0].mid()), width, seconds)


def measured(until: float, slices: tuple[float, ...]) -> Iterator[Measurement]:
    """Measure all motions."""
    for motion in MOTIONS:
        own = by_daesolve(motion, until)
        yield own
        for length in slices if find_spec("codac") else ():
            other = by_codac(motion, until, length)
            if abs(other.middle - own.middle) > other.width + own.width + np.spacing(own.middle):
                raise RuntimeError(f"two enclosures of {motion.name} have no point in common")
            yield other


def table(found: list[Measurement], until: float) -> str:
    """Return the measurements as a table."""
    rows = [(m.motion, m.by, f"{m.width:.1e}", f"{m.seconds:.2f} s") for m in found]
    return markdown(("motion", "by", f"half-width at {until:g} s", "processor"), rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = options("benchmarks.enclosures", __doc__)
    add_until(made, UNTIL)
    made.add_argument("--slices", type=float, nargs="*", default=list(SLICES), help="of codac, s")
    add_json(made)
    add_read(made)
    add_update(made, MARK, "docs/benchmarks/enclosures.md")
    return made


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("python-flint", "codac", "numba")
        found = list(measured(given.until, tuple(given.slices)))
    end(given, known, found, table(found, given.until), MARK)


if __name__ == "__main__":
    main()
