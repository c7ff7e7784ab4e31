"""A million seconds of the rolling hoop: drift, error at the end, memory, and runs on disk.

Each run of the three parts has a separate process, so its peak memory is measured separately:

    drift    26 million steps with the energy as a goal and with it only measured; the latter
             with both engines, with optimised and unoptimised code, and with the constraints driven
             at 10/s and 30/s: errors against the exact quadrature, residuals, the growth of the
             energy error, and its components: a bias per step, and the random walk of rounding
    memory   runs in memory of 1e4 s and 1e5 s with 1001 samples
    store    runs of 1e4 s and 1e5 s with samples every 0.1 s, alternately in memory and on disk;
             the median counts

"s" are wall-clock seconds, "cpu s" are processor seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.common.conditions import as_json, conditions
from benchmarks.common.options import above_zero, add_json, add_repeats, add_until, options
from benchmarks.common.tables import aligned

from .measuring import FORMULATIONS, Measurement, apart, on_disk

UNTIL = 1e6
HORIZONS = (1e4, 1e5)
PARTS = ("drift", "memory", "store")
HEADS = (
    *("run", "until", "steps", "s", "cpu s", "MB"),
    *("energy", "exp.", "residual", "exp.", "bias/step", "walk/step", "state", "outcome"),
)


def table(found: Sequence[Measurement]) -> str:
    """Return the measurements as text."""
    return aligned(
        HEADS,
        [
            [
                one.name,
                f"{one.until:g}",
                str(one.steps),
                f"{one.seconds:.1f}",
                f"{one.processor_seconds:.1f}",
                f"{one.peak_megabytes:.0f}",
                f"{one.energy_error:.1e}",
                _exponent(one.energy_exponent),
                f"{one.residual:.1e}",
                _exponent(one.residual_exponent),
                f"{one.bias:+.1e} ± {one.bias_error:.0e}",
                f"{one.walk:.1e}",
                f"{one.state_error:.1e}",
                one.outcome,
            ]
            for one in found
        ],
    )


def _exponent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def cost_of_disk(found: Sequence[Measurement]) -> list[str]:
    """Return how much more processor time a run on disk takes, one line for each horizon."""
    work = {(one.name, one.until): one.processor_seconds for one in found if one.part == "store"}
    return [
        f"{until:g} s: on disk {100 * (disk / work['in memory', until] - 1):+.1f} % "
        "of the work in memory"
        for (name, until), disk in work.items()
        if name == "on disk"
    ]


def measured(part: str, given: argparse.Namespace) -> list[Measurement]:
    """Measure a part."""
    if part == "drift":
        names = given.formulation or FORMULATIONS
        return [apart(part, name, given.until) for name in names]
    horizons = given.horizon or HORIZONS
    if part == "memory":
        return [apart(part, "driven", until) for until in horizons]
    return [one for until in horizons for one in on_disk(until, given.repeats)]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.long_runs", __doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="repeatable (all)")
    add_until(parser, UNTIL, "horizon of part drift")
    help_text = (
        f"s, of the parts memory and store; repeatable ({', '.join(f'{s:g}' for s in HORIZONS)})"
    )
    parser.add_argument("--horizon", type=above_zero, action="append", metavar="S", help=help_text)
    help_text = "of the part drift; repeatable (all)"
    parser.add_argument("--formulation", choices=FORMULATIONS, action="append", help=help_text)
    add_repeats(parser, 3, "runs of part store; the median counts")
    add_json(parser)
    return parser


def main() -> None:
    """Run the requested parts, print tables and write the figures."""
    given = parser().parse_args()
    known = conditions("pyarrow")
    print(known)
    found: list[Measurement] = []
    for part in given.part or PARTS:
        now = measured(part, given)
        found += now
        print("\n".join(["", part, table(now), *cost_of_disk(now)]), flush=True)
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
