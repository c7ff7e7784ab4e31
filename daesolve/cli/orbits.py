"""`daesolve analyse` for periodic motions: orbits, branches, maps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daesolve.cli import options
from daesolve.errors import OutOfRangeError
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Answer

if TYPE_CHECKING:
    import casadi as ca

    from daesolve.analysis.orbits import PeriodicOrbit
    from daesolve.analysis.orbits.symmetry import Symmetry

ORBIT = {"period", "section", "passages", "up_to", "reflect", "family", "steady"}
TAKES = {
    "orbit": ORBIT,
    "branch": {*ORBIT, "over", "plot", "step"},
    "circle-map": {"period", "angle", "modulo"},
    "stability-map": {*ORBIT, "over", "cells", "follow", "workers", "scheduler"},
}
"""The options of each analysis."""
ANALYSES = tuple(TAKES)
STEP = 0.02
"""The longest step along a branch, by default."""
PERIODS = 4000
"""Over which a rotation number is a mean."""
CELLS = (40, 40)
"""The default number of cells of a stability map."""
POINTS = "points"
"""The directory of stored points, inside the directory of the answer."""


@dataclass(frozen=True)
class OrbitOptions:
    """The options of an orbit, and of what builds on it."""

    period: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="For orbits: a period in s, such as 2*pi/w."),
    ] = None
    section: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="For orbits: the event where they start and end."),
    ] = None
    passages: Annotated[
        int, typer.Option(help="For orbits: number of passages until an orbit closes.")
    ] = 1
    up_to: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For orbits: states that need not return."),
    ] = None
    reflect: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For orbits: states that return mirrored."),
    ] = None
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="For orbits: which one, if several."),
    ] = None
    steady: Annotated[
        bool, typer.Option("--steady", help="For orbits: follow only the shifted states.")
    ] = False
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="For branch and stability-map."),
    ] = None
    plot: Annotated[
        str | None, typer.Option(metavar="X:Y", help="For branch: the axes of its plot.")
    ] = None
    step: Annotated[
        float | None,
        typer.Option(
            help="For branch: the longest step, as a fraction of the range; by default 0.02."
        ),
    ] = None
    cells: Annotated[
        str | None,
        typer.Option(metavar="NX:NY", help="For stability-map: number of cells; by default 40:40."),
    ] = None
    follow: Annotated[
        bool,
        typer.Option("--follow", help="For stability-map: also compute the borders as curves."),
    ] = False
    workers: Annotated[
        int | None,
        typer.Option(
            help="For stability-map: number of processes; by default one per core. 0 uses only "
            "this one."
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="For stability-map: a Dask cluster instead of local processes."
        ),
    ] = None
    angle: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="For circle-map: equivalent angles.")
    ] = None
    modulo: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="For circle-map: the full circle; by default 2*pi."),
    ] = None

    def check(self, analysis: str) -> None:
        """Refuse options that belong to another analysis.

        Raises
        ------
        OutOfRangeError
            The message names the first of them.
        """
        for entry in fields(self):
            given = getattr(self, entry.name) not in (entry.default, [])
            if given and entry.name not in TAKES.get(analysis, set()):
                raise OutOfRangeError(
                    f"the analysis {analysis!r} does not use --{entry.name.replace('_', '-')}"
                )


def answer(
    bound: BoundCase, analysis: str, asked: OrbitOptions, out: Path | None, *, quiet: bool
) -> Answer:
    """Compute an orbit, or an analysis that builds on it.

    Long analyses keep their results in `out` as they find them, and continue from there.

    Raises
    ------
    OutOfRangeError
        An option is invalid or missing.
    DaesolveError
        As in `daesolve.analysis.periodic_orbit` and what follows it.
    """
    from daesolve.analysis.orbits import presentation

    if analysis == "circle-map":
        return Answer(*presentation.circle_answer(_circle(bound, asked), PERIODS))
    if analysis == "orbit":
        orbit = _orbit(bound, asked)
        return Answer(*presentation.orbit_answer(orbit), words=str(orbit))
    kept = None if out is None else out / POINTS
    follow = _map if analysis == "stability-map" else _branch
    with _stoppable(kept):
        return follow(bound, asked, kept, quiet)


def goes_on(analysis: str, out: Path) -> bool:
    """Return whether a directory contains only what an interrupted analysis left there."""
    if analysis not in ("branch", "stability-map") or not out.is_dir():
        return False
    return [entry.name for entry in out.iterdir()] == [POINTS]


@contextmanager
def _stoppable(kept: Path | None) -> Generator[None]:
    """End what is stopped with a sentence that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        how = "with --out DIR the results so far would have been kept"
        if kept is not None and kept.is_dir():
            how = f"repeat the command to continue from the results in {kept}"
        typer.echo(f"daesolve: interrupted; {how}", err=True)
        raise typer.Exit(options.COULD_NOT_GO_ON) from None


def _branch(bound: BoundCase, asked: OrbitOptions, kept: Path | None, quiet: bool) -> Answer:
    from daesolve.analysis.orbits import continue_orbit, presentation

    orbit, over = _orbit(bound, asked), _ranges(asked.over or [])
    name = next(iter(over))
    with _bar(f"{bound.problem.name} · branch", None, quiet=quiet) as update:

        def found(count: int, value: float) -> None:
            update(completed=count, what=f"{name} = {value:.6g}")

        step = STEP if asked.step is None else asked.step
        branch = continue_orbit(orbit, over, step=step, out=kept, progress=found)
    return Answer(*presentation.branch_answer(branch, _axes(asked.plot)), words=str(branch))


def _map(bound: BoundCase, asked: OrbitOptions, kept: Path | None, quiet: bool) -> Answer:
    from daesolve.analysis.orbits import presentation
    from daesolve.ensembles import sweep_stability

    cells = _cells(asked.cells)
    with _bar(f"{bound.problem.name} · stability map", cells[1], quiet=quiet) as update:

        def found(count: int, total: int) -> None:
            update(completed=count, what="rows")

        result = sweep_stability(
            bound,
            _ranges(asked.over or []),
            workers=asked.workers,
            scheduler=asked.scheduler,
            cells=cells,
            follow=asked.follow,
            out=kept,
            progress=found,
            **_which(bound, asked),
        )
    return Answer(*presentation.map_answer(result))


@contextmanager
def _bar(label: str, total: int | None, *, quiet: bool) -> Generator[Callable[..., None]]:
    """Show how many points or rows are known, and yield what updates this."""
    text = "{task.fields[what]}"
    with options.progress_bar(
        label, text, quiet=quiet, remaining=False, total=total, what=""
    ) as update:
        yield update or _ignore


def _ignore(**state: object) -> None:
    """Show nothing."""


def _orbit(bound: BoundCase, asked: OrbitOptions) -> PeriodicOrbit:
    from daesolve.analysis.orbits import periodic_orbit

    return periodic_orbit(bound, None, **_which(bound, asked))


def _which(bound: BoundCase, asked: OrbitOptions) -> dict[str, Any]:
    """Return which orbit is requested, as arguments of `periodic_orbit`."""
    from daesolve.analysis.orbits import Reflect, Shift

    symmetries: list[Symmetry] = []
    if asked.reflect:
        symmetries.append(Reflect(*asked.reflect))
    if asked.up_to:
        symmetries.append(Shift(*asked.up_to))
    return {
        "period": _period(bound, asked.period),
        "section": asked.section,
        "passages": asked.passages,
        "up_to": symmetries or None,
        "family": options.numbers("--family", asked.family or []) or None,
        "steady": asked.steady,
    }


def _circle(bound: BoundCase, asked: OrbitOptions) -> Any:
    from daesolve.analysis.orbits import circle_map

    period = _number(bound, "--period", asked.period)
    if not asked.angle:
        raise OutOfRangeError("a circle map needs --angle NAME, once for each equivalent angle")
    names = tuple(asked.angle)

    def start(angle: float) -> Mapping[str, float]:
        return dict.fromkeys(names, angle)

    modulo = _number(bound, "--modulo", asked.modulo or "2*pi")
    return circle_map(bound, start, names[0], modulo=modulo, period=period)


def _period(bound: BoundCase, text: str | None) -> float | ca.SX | None:
    """Read a number, or an expression of parameters."""
    import casadi as ca  # which takes long to import

    from daesolve.core.system.driving import named_symbols
    from daesolve.core.system.written import expression_in

    if text is None:
        return None
    symbols = {"pi": ca.SX(ca.pi), **named_symbols(bound.system)}
    found = expression_in("--period", text, symbols)
    return float(found) if found.is_constant() else found


def _number(bound: BoundCase, option: str, text: str | None) -> float:
    found = _period(bound, text)
    if not isinstance(found, float):
        raise OutOfRangeError(f"{option} must be a number, not {text!r}")
    return found


def _ranges(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Read NAME=LOW:HIGH."""
    found = options.ranges("--over", words)
    if not found:
        raise OutOfRangeError(
            "--over NAME=LOW:HIGH is missing: name the parameter to follow the branch over"
        )
    return found


def _cells(text: str | None) -> tuple[int, int]:
    """Read NX:NY."""
    if text is None:
        return CELLS
    x, _, y = text.partition(":")
    try:
        return int(x), int(y)
    except ValueError:
        raise OutOfRangeError(f"--cells needs NX:NY, two whole numbers, not {text!r}") from None


def _axes(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    x, colon, y = text.partition(":")
    if not colon or not x or not y:
        raise OutOfRangeError(f"--plot needs X:Y, two columns of the branch, not {text!r}")
    return x, y
