"""How large the errors of motions are after 1e5 s and more, and what the runs cost.

Three motions: a pendulum in Cartesian coordinates (against elliptic functions), a hoop that rolls
on a curve (against the exact quadrature), and a skate on springs whose heading is turned by an
uneven rotor (against a power of its monodromy). The skate is non-holonomic, and because the rotor
keeps rotating in one direction, no reversal maps the motion to itself. Contestants: daesolve with
its defaults, with the energy driven or only measured; Gauss's method of order 16 in minimal
coordinates; RATTLE (the non-holonomic leapfrog for the skate) composed to order 8. The latter two
use several fixed steps, in compensated arithmetic, compiled by numba. Seconds are processor seconds
without compilation, from one run each.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common.conditions import as_json, conditions, from_json
from benchmarks.common.options import above_zero, add_json, add_read, add_update, options
from benchmarks.common.tables import markdown, update

from .measuring import METHODS, MOTIONS, Measurement, measured

MARK = "long-horizon"
HORIZONS = (1e5, 1e6, 1e7)


def best(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the step with the smallest error for each method and horizon."""
    least: dict[tuple[str, str, float], Measurement] = {}
    for one in found:
        key = (one.motion, one.method, one.until)
        if key not in least or one.error < least[key].error:
            least[key] = one
    return list(least.values())


def table(found: Sequence[Measurement]) -> str:
    """Return errors and seconds of each method at its best step."""
    return markdown(
        ["motion", "method", "step, s", "until, s", "error, m", "energy", "growth", "cpu s"],
        [
            [
                one.motion,
                one.method,
                f"1/{1 / one.step:g}" if one.step else "its own",
                f"{one.until:g}",
                f"{one.error:.1e}",
                f"{one.energy:.1e}",
                "–" if one.exponent is None else f"t^{one.exponent:.2f}",
                f"{one.seconds:.1f}",
            ]
            for one in best(found)
        ],
    )


def draw(found: Sequence[Measurement], wanted: Path) -> None:
    """Draw error against seconds; a line joins all steps of a method at one horizon."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "daesolve"
    colours = dict(zip(METHODS, ("#1f77b4", "#17becf", "#dd8452", "#c44e52"), strict=True))
    motions = [name for name in MOTIONS if any(one.motion == name for one in found)]
    figure, axes = plt.subplots(
        1, len(motions), figsize=(9.0, 3.4), layout="constrained", squeeze=False
    )
    for place, motion in zip(axes[0], motions, strict=True):
        for method in METHODS:
            for until, mark in zip(HORIZONS, "os^", strict=True):
                those = [
                    (one.seconds, one.error)
                    for one in found
                    if (one.motion, one.method, one.until) == (motion, method, until)
                ]
                if those:
                    label = f"{method}, {until:g} s"
                    style = {"color": colours[method], "marker": mark, "label": label}
                    place.loglog(*zip(*those, strict=True), linewidth=1, **style)
        place.set(title=motion, xlabel="processor seconds")
        place.grid(alpha=0.3)
    axes[0][0].set(ylabel="error (m)")
    handles = {
        label: handle
        for place in axes[0]
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize="x-small"
    )
    figure.savefig(wanted, metadata={"Date": None})


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.long_horizon", __doc__)
    help_text = "one of them; repeatable (all)"
    parser.add_argument("--motion", choices=MOTIONS, action="append", help=help_text)
    parser.add_argument("--method", choices=METHODS, action="append", help=help_text)
    help_text = f"s; repeatable ({', '.join(f'{s:g}' for s in HORIZONS)})"
    parser.add_argument("--horizon", type=above_zero, action="append", metavar="S", help=help_text)
    help_text = "skip a horizon that would take more processor seconds (%(default)g)"
    parser.add_argument("--patience", type=above_zero, default=600.0, metavar="S", help=help_text)
    parser.add_argument("--quick", action="store_true", help="only the horizon 100 s")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw error against seconds")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/long-horizon.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known, found = conditions("numba"), list[Measurement]()
        horizons = [100.0] if given.quick else list(given.horizon or HORIZONS)
        for motion in given.motion or MOTIONS:
            for method in given.method or METHODS:
                found += measured(motion, method, horizons, given.patience)
                if given.json:
                    given.json.write_text(as_json(known, found))
    text = f"{known}\n\n{table(found)}"
    print(text)
    if given.update:
        update(given.update, MARK, text)
    if given.figure:
        draw(found, given.figure)


if __name__ == "__main__":
    main()
