"""What `daesolve analyse` says of periodic motions: orbits, branches, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daesolve.cli import options
from daesolve.errors import OutOfRangeError
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Answer

if TYPE_CHECKING:
    import casadi as ca

    from daesolve.analysis.orbits import PeriodicOrbit
    from daesolve.analysis.orbits.symmetry import Symmetry

ANALYSES = ("orbit", "branch", "circle-map", "stability-map")
STEP = 0.02
"""Of a branch, where none is given."""
PERIODS = 4000
"""Over which a rotation number is a mean."""


@dataclass(frozen=True)
class Asked:
    """What the options say of an orbit; see the command `analyse`."""

    period: str | None
    section: str | None
    passages: int
    up_to: Sequence[str]
    reflect: Sequence[str]
    family: Sequence[str]
    over: Sequence[str]
    plot: str | None
    angle: Sequence[str]
    modulo: str | None
    steady: bool
    step: float | None

    def check(self, analysis: str) -> None:
        """Refuse options that another analysis takes.

        Raises
        ------
        OutOfRangeError
            The first of them is named.
        """
        takes = {
            "orbit": {"period", "section", "passages", "up_to", "reflect", "family", "steady"},
            "circle-map": {"period", "angle", "modulo"},
        }
        takes["stability-map"] = {*takes["orbit"], "over"}
        takes["branch"] = {*takes["stability-map"], "plot", "step"}
        for name, value in vars(self).items():
            given = value != 1 if name == "passages" else value not in (None, False, [])
            if given and name not in takes.get(analysis, set()):
                raise OutOfRangeError(
                    f"the analysis {analysis!r} takes no --{name.replace('_', '-')}"
                )


def answer(bound: BoundCase, analysis: str, asked: Asked, out: Path | None) -> Answer:
    """Compute an orbit or what is built on it.

    Raises
    ------
    OutOfRangeError
        An option cannot be, or is missing.
    DaesolveError
        As in `daesolve.analysis.periodic_orbit` and what follows it.
    """
    from daesolve.analysis.orbits import answers, continue_orbit, stability_map

    if analysis == "circle-map":
        return Answer(*answers.circle_answer(_circle(bound, asked), PERIODS))
    orbit = _orbit(bound, asked)
    if analysis == "orbit":
        return Answer(*answers.orbit_answer(orbit), words=str(orbit))
    ranges = _ranges(asked.over)
    if analysis == "stability-map":
        return Answer(*answers.map_answer(stability_map(orbit, ranges)))
    kept = None if out is None else out / "points"
    step = STEP if asked.step is None else asked.step
    branch = continue_orbit(orbit, ranges, step=step, out=kept)
    return Answer(*answers.branch_answer(branch, _axes(asked.plot)), words=str(branch))


def _orbit(bound: BoundCase, asked: Asked) -> PeriodicOrbit:
    from daesolve.analysis.orbits import Reflect, Shift, periodic_orbit

    symmetries: list[Symmetry] = []
    if asked.reflect:
        symmetries.append(Reflect(*asked.reflect))
    if asked.up_to:
        symmetries.append(Shift(*asked.up_to))
    return periodic_orbit(
        bound,
        None,
        _period(bound, asked.period),
        section=asked.section,
        passages=asked.passages,
        up_to=symmetries or None,
        family=options.numbers("--family", asked.family) or None,
        steady=asked.steady,
    )


def _circle(bound: BoundCase, asked: Asked) -> Any:
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

    from daesolve.system.driving import named_symbols
    from daesolve.system.written import expression_in

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
    found: dict[str, tuple[float, float]] = {}
    for word in words:
        name, _, text = word.partition("=")
        low, _, high = text.partition(":")
        try:
            found[name] = float(low), float(high)
        except ValueError:
            raise OutOfRangeError(f"--over needs NAME=LOW:HIGH, not {word!r}") from None
    if not found:
        raise OutOfRangeError(
            "--over NAME=LOW:HIGH is missing: the parameter to follow the branch over"
        )
    return found


def _axes(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    x, colon, y = text.partition(":")
    if not colon or not x or not y:
        raise OutOfRangeError(f"--plot needs X:Y, two columns of the branch, not {text!r}")
    return x, y
