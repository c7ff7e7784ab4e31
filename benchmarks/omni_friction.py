"""What a second of the omni vehicle with dry friction costs, reduced and body by body.

Each run uses `radau` for straight motion, with a tenth of the wheels' mass in the rollers and no
samples on the way. Seconds are processor seconds on as many threads as the linear algebra uses.
Preparation is listed separately and includes posing the equations. For the integration the shortest
repeat counts; for the preparation the longest, because later repeats find the equations already
posed. The integration time is given per simulated second. Ratios compare it with that of the
reduced model at the same tolerance; x is the platform's position at the end, where the models
should agree.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import daesolve as ds
from daesolve.core.run.solving import solving

from .common.conditions import as_json, conditions
from .common.options import above_zero, add_json, add_repeats, add_until, options
from .common.tables import aligned
from .common.timing import in_turn, seconds_in_parts

MODELS = ("reduced", "maximal")
RTOL = 1e-6


@dataclass(frozen=True)
class Measurement:
    """A model at a tolerance.

    Parameters
    ----------
    model, rtol, until
        The model and tolerance, and the simulated seconds.
    steps
        Number of steps.
    prepare, integrate
        Processor seconds before the first step, and for the rest of the run.
    x
        The platform's position at the end, m.
    """

    model: str
    rtol: float
    until: float
    steps: int
    prepare: float
    integrate: float
    x: float


def measured_once(model: str, until: float, rtol: float) -> Measurement:
    """Run a model once."""
    case = ds.problem("omni-friction").case("straight", model=model)
    runs: list[ds.Trajectory] = []

    def solve() -> None:
        solver = ds.RadauIIA(rtol=rtol, atol=rtol / 100)
        runs.append(case.solve(until=until, at=[until], solver=solver))

    spent = seconds_in_parts(solve, {"integrate": (solving, "simulate")})
    (run,) = runs
    if run.outcome is not ds.Outcome.COMPLETED:
        raise SystemExit(run.message)
    integrate, steps = spent["integrate"], run.statistics.steps
    x = float(run["x"][-1])
    return Measurement(model, rtol, until, steps, spent["total"] - integrate, integrate, x)


def measured(models: Sequence[str], until: float, rtol: float, repeats: int) -> list[Measurement]:
    """Run the models in turn."""
    runs = {model: lambda model=model: measured_once(model, until, rtol) for model in models}
    found: list[Measurement] = []
    for model, again in in_turn(runs, repeats).items():
        least = min(again, key=lambda one: one.integrate)
        prepare = max(one.prepare for one in again)
        found.append(
            Measurement(model, rtol, until, least.steps, prepare, least.integrate, least.x)
        )
    return found


def table(found: Sequence[Measurement]) -> str:
    """Return all measurements, with the ratio to the reduced model."""
    reduced = {one.rtol: one.integrate for one in found if one.model == MODELS[0]}
    rows = [
        [
            one.model,
            f"{one.rtol:.0e}",
            str(one.steps),
            f"{one.prepare:.2f}",
            f"{one.integrate / one.until:.3f}",
            f"{one.integrate / reduced[one.rtol]:.1f}" if one.rtol in reduced else "-",
            f"{one.x:.10f}",
        ]
        for one in found
    ]
    return aligned(
        ["model", "rtol", "steps", "prepare, s", "s a second", "/ reduced", "x, m"], rows
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.omni_friction", __doc__)
    parser.add_argument("--model", choices=MODELS, action="append", help="repeatable (both)")
    add_until(parser, 0.5, "simulated time")
    help_text = f"relative tolerance; repeatable ({RTOL:g})"
    parser.add_argument("--rtol", type=above_zero, action="append", metavar="R", help=help_text)
    add_repeats(parser, 3, "runs of each model, in turn")
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions("scipy")
    models = [model for model in MODELS if model in (given.model or MODELS)]
    found: list[Measurement] = []
    for rtol in given.rtol or (RTOL,):
        found += measured(models, given.until, rtol, given.repeats)
    print(f"{known}\n\n{table(found)}")
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
