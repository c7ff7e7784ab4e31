"""The drawing of a live page: shapes as data, and the numbers that the unit computes for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.encoding import is_list, is_mapping
from daesolve.multibody.drawing import moves, names, to_json
from daesolve.multibody.drawing.sums import FOLLOWED
from daesolve.multibody.drawing.traced import Traced, column
from daesolve.reporting.document import DrawingRule, document
from daesolve.reporting.live.posing import LiveRun
from daesolve.reporting.live.sums import EventSums
from daesolve.reporting.sampling import Document

SAMPLES, FEW = 200, 12
"""Samples of the stored run that its drawing is made from, and from which it is tested."""
LOOKS = ("kind", "role", "label")
"""Parts of a shape that are no numbers."""
SAME = 1e-9
"""How far a number may be from that of the stored drawing, relative to the largest of its kind."""
DIGITS = 8
"""Of the numbers of a drawing."""
NOTHING = ca.SX(0, 1)
CHANGED = 1.1
"""The factor by which a parameter is changed to see which shapes follow."""


@dataclass(frozen=True, eq=False)
class LiveDrawing:
    """A drawing whose numbers follow from a motion.

    Parameters
    ----------
    stored
        Its shapes as data; None if there is nothing to draw.
    columns
        The names of the numbers that `function` computes.
    periods
        Of those that are known up to multiples of a period.
    function
        (t, x, p, shown, sums) -> these numbers, named "page_drawn".
    added, counted
        (t, x before, x after, p) -> what an event adds to each sum, named "page_added"; and the
        index of the event that adds to it.
    fixed
        For each shape the parameters that it does not follow, though it should.
    axes
        In space: the directions across, up, and towards the eye.
    notes
        What is not drawn, in words.
    """

    stored: Mapping[str, Any] | None
    columns: tuple[str, ...]
    periods: Mapping[str, float]
    function: ca.Function
    added: ca.Function
    counted: tuple[int, ...]
    fixed: tuple[tuple[str, ...], ...]
    axes: np.ndarray | None
    notes: tuple[str, ...]


class _Arguments:
    """The arguments of the unit by the names of a document."""

    def __init__(self, live: LiveRun) -> None:
        problem, variables = live.prepared.problem, live.unit.sheet.variables
        self.t, self.x, self.p = (problem.rhs.sx_in(k) for k in range(3))
        self.shown = ca.SX.sym("shown", len(variables.shown))
        self.series: dict[str, ca.SX] = {
            **{name: self.shown[k] for k, (name, _, _) in enumerate(variables.shown)},
            **{state.name: self.x[k] for k, state in enumerate(live.states)},
        }
        self.parameters = {name: self.p[k] for k, name in enumerate(problem.values)}
        self.sums = EventSums(live, self.p)

    @property
    def all(self) -> list[ca.SX]:
        """In the order of the function."""
        return [self.t, self.x, self.p, self.shown, self.sums.column]

    @property
    def moving(self) -> ca.SX:
        """What changes during a motion."""
        return ca.vertcat(self.t, self.x, self.shown, self.sums.column)


def live_drawing(live: LiveRun) -> LiveDrawing:
    """Return the drawing of a run, so that a page can draw other motions."""
    arguments = _Arguments(live)
    empty = ca.Function("page_drawn", arguments.all, [NOTHING]), arguments.sums.function
    rule = live.origin.rule
    told = document(live.run.thinned(SAMPLES), live.origin.identity)
    known = None if rule is None else rule(told)
    if rule is None or known is None:
        return LiveDrawing(None, (), {}, *empty, (), (), None, ("It has no drawing.",))
    try:
        followed = rule(_traced(told, arguments))
    except Exception:  # It is a plugin's, and made for plain numbers.
        followed = None
    numbers = _Numbers(arguments, live, told)
    own = to_json(known if followed is None else followed)
    plain = to_json(known)
    columns: Mapping[str, Any] = {} if followed is None else own["series"]
    lost = numbers.take_columns(columns, plain["series"])
    same = followed is not None and len(own["shapes"]) == len(plain["shapes"])
    shapes = list(_shapes(own["shapes"] if same else plain["shapes"], plain["shapes"], numbers))
    camera = plain.get("camera")
    if same and camera is not None:
        camera = numbers.named(own.get("camera"), camera)
    drawn = [
        (shape, entry)
        for shape, entry in zip(known.shapes, shapes, strict=True)
        if not names(shape) & lost
    ]
    notes = list[str]()
    if len(drawn) < len(shapes):
        notes.append(
            "Parts of the drawing are left out: they follow from the whole run by code that is "
            "not in this page."
        )
    if camera is not None and known.camera is not None and names(known.camera) & lost:
        camera = None
    series = {*live.run.states, *live.run.outputs, *live.run.reactions, *known.series, "t"}
    entries = [{**entry, "moves": moves(shape, series)} for shape, entry in drawn]
    stored = {
        "shapes": shortened(entries),
        "camera": shortened(camera),
        "xLabel": known.x_label,
        "yLabel": known.y_label,
        "inSpace": known.in_space,
    }
    fixed = _fixed(live, told, shapes, numbers)
    kept = [place for place, shape in enumerate(known.shapes) if not names(shape) & lost]
    return LiveDrawing(
        stored if entries else None,
        tuple(numbers.columns),
        numbers.periods,
        numbers.function,
        arguments.sums.function,
        tuple(arguments.sums.events),
        tuple(fixed[place] for place in kept),
        known.axes if known.in_space else None,
        tuple(notes),
    )


def _traced(told: Document, arguments: _Arguments) -> dict[str, Any]:
    """Return a document whose numbers carry their expressions."""
    traced = dict(told)
    traced["times"] = column(told["times"], arguments.t)
    for kind in ("states", "outputs", "reactions"):
        traced[kind] = {
            name: column(np.array(values, dtype=float), arguments.series[name])
            if name in arguments.series
            else values
            for name, values in told[kind].items()
        }
    traced["parameters"] = {
        name: Traced(value, arguments.parameters[name]) if name in arguments.parameters else value
        for name, value in told["parameters"].items()
    }
    traced[FOLLOWED] = arguments.sums.follow
    return traced


class _Numbers:
    """The numbers of a drawing that follow from the motion or from parameters, by name."""

    def __init__(self, arguments: _Arguments, live: LiveRun, told: Document) -> None:
        self.arguments = arguments
        self.columns: dict[str, ca.SX] = {}
        self.periods: dict[str, float] = {}
        self._live, self._told = live, told
        self._constants: dict[str, str] = {}

    @property
    def function(self) -> ca.Function:
        """(t, x, p, shown, sums) -> the numbers."""
        column_ = ca.vertcat(NOTHING, *self.columns.values())
        return ca.Function("page_drawn", self.arguments.all, [ca.densify(column_)], {"cse": True})

    def take_columns(self, own: Mapping[str, Any], plain: Mapping[str, Any]) -> set[str]:
        """Take the series that follow from the motion; return the names of the others."""
        lost: set[str] = set()
        for name, numbers in plain.items():
            known = np.array(numbers, dtype=float)
            entry = own.get(name, [None])[0]
            if not isinstance(entry, Traced):
                expression = ca.SX(float(known[0]))
            else:
                expression = entry.expression
            period = entry.period if isinstance(entry, Traced) else 0.0
            if self._agrees(expression, known, period):
                self.columns[name] = expression
                self.periods |= {name: period} if period else {}
            else:
                lost.add(name)
        return lost

    def _agrees(self, expression: ca.SX, known: np.ndarray, period: float) -> bool:
        own = self._evaluated(expression)
        if period:
            own = own + period * np.round((known - own) / period)
        both = np.isfinite(known)
        size = max(float(np.max(np.abs(known[both]), initial=0.0)), 1e-300)
        return bool(np.all(np.abs(own[both] - known[both]) <= SAME * size))

    def _evaluated(self, expression: ca.SX) -> np.ndarray:
        """Return an expression at the samples of the stored run."""
        function = ca.Function("own", self.arguments.all, [expression])
        return np.asarray(function(*self._samples())).ravel()

    def _samples(self) -> tuple[np.ndarray, ...]:
        live, told = self._live, self._told
        count = len(told["times"])
        series = {**told["outputs"], **told["reactions"]}
        variables = live.unit.sheet.variables
        x = np.zeros((len(variables.states), count))
        for place, state in enumerate(live.states):
            x[place] = np.array(told["states"][state.name], dtype=float)
        shown = np.array(
            [series.get(name, [np.nan] * count) for name, _, _ in variables.shown], dtype=float
        ).reshape(len(variables.shown), count)
        values = live.prepared.values.reshape(-1, 1)
        sums = self.arguments.sums.samples.reshape(-1, count)
        return np.array(told["times"]).reshape(1, -1), x, np.tile(values, count), shown, sums

    def constants_with(self, name: str, value: float) -> dict[str, tuple[float, float]]:
        """Return the numbers that follow from parameters, before and with another value of one."""
        if not self._constants:
            return {}
        names_ = list(self._constants.values())
        column_ = ca.vertcat(*[self.columns[one] for one in names_])
        function = ca.Function("constants", [self.arguments.p], [column_])
        values = self._live.prepared.values.copy()
        before = np.asarray(function(values)).ravel().tolist()
        values[list(self.arguments.parameters).index(name)] = value
        pairs = zip(before, np.asarray(function(values)).ravel().tolist(), strict=True)
        return dict(zip(names_, pairs, strict=True))

    def named(self, own: Any, plain: Any) -> Any:
        """Return a part of a drawing with names instead of the numbers that parameters change."""
        if is_mapping(own) and is_mapping(plain):
            return {
                name: self.named(part, plain.get(name, part)) if name != "label" else part
                for name, part in own.items()
            }
        if is_list(own) and is_list(plain) and len(own) == len(plain):
            return [self.named(*pair) for pair in zip(own, plain, strict=True)]
        if isinstance(own, Traced):
            return self._constant(own, plain)
        return plain

    def _constant(self, own: Traced, plain: Any) -> Any:
        """Return the name of a number of the drawing that follows from parameters."""
        expression = own.expression
        if ca.depends_on(expression, self.arguments.moving) or float(own) != plain:
            return plain  # it is a measure of the whole run
        key = str(expression)
        if key not in self._constants:
            self._constants[key] = f"={len(self._constants)}"
            self.columns[self._constants[key]] = expression
        return self._constants[key]


def _shapes(own: list[Any], plain: list[Any], numbers: _Numbers) -> Iterator[dict[str, Any]]:
    for one, other in zip(own, plain, strict=True):
        yield numbers.named(one, other)


def _fixed(
    live: LiveRun, told: Document, shapes: list[dict[str, Any]], numbers: _Numbers
) -> list[tuple[str, ...]]:
    """Return for each shape the parameters that it should follow, but does not."""
    rule = live.origin.rule
    assert rule is not None
    found: list[dict[str, None]] = [{} for _ in shapes]
    few = document(live.run.thinned(FEW), live.origin.identity)
    base = _drawn(rule, few, len(shapes))
    for slider in live.sliders:
        if slider.kind == "start" or slider.locked or slider.name not in told["parameters"]:
            continue
        value = slider.value * CHANGED or CHANGED
        other = _drawn(
            rule, {**few, "parameters": {**few["parameters"], slider.name: value}}, len(shapes)
        )
        known = numbers.constants_with(slider.name, value)
        for place, (entry, names_) in enumerate(zip(shapes, found, strict=True)):
            # Where the rule fails, what stands still may be elsewhere.
            unsure = (base is None or other is None) and not _varies(entry, known)
            if unsure or not (
                base is None or other is None or _alike(entry, base[place], other[place], known)
            ):
                names_[slider.name] = None
    return [tuple(entries) for entries in found]


def _drawn(rule: DrawingRule, told: Document, count: int) -> list[Any] | None:
    """Return the shapes that a rule draws; None if it fails, or draws another number of them."""
    try:
        drawing = rule(told)
    except Exception:  # It is a plugin's, and this is no run of it.
        return None
    shapes = None if drawing is None else to_json(drawing)["shapes"]
    return shapes if shapes is not None and len(shapes) == count else None


def _varies(entry: Any, known: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether a part of a drawing follows from the motion, and not from parameters."""
    if is_mapping(entry):
        return any(_varies(part, known) for name, part in entry.items() if name not in LOOKS)
    if is_list(entry):
        return any(_varies(part, known) for part in entry)
    return isinstance(entry, str) and entry not in known


def _alike(one: Any, base: Any, other: Any, known: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether a part of a drawing with names for numbers changes as it should.

    Parameters
    ----------
    one, base, other
        The part with names, as the rule draws it, and with another value of a parameter.
    known
        The numbers with names, before and with that value.
    """
    if is_mapping(one) and is_mapping(base) and is_mapping(other):
        return all(
            _alike(part, base.get(name), other.get(name), known)
            for name, part in one.items()
            if name not in LOOKS
        )
    if is_list(one) and is_list(base) and is_list(other) and len(one) == len(base) == len(other):
        return all(_alike(*three, known) for three in zip(one, base, other, strict=True))
    if not (isinstance(base, float) and isinstance(other, float)):
        return bool(base == other)
    before, after = known.get(one, (base, base)) if isinstance(one, str) else (base, base)
    # A measure of the samples may be its factor, or added to it.
    return isclose(other * before, base * after, rel_tol=SAME) or isclose(
        other - base, after - before, rel_tol=SAME, abs_tol=SAME * max(abs(base), abs(other))
    )


def shortened(value: Any) -> Any:
    """Return data with numbers of as many digits as can be seen."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if is_mapping(value):
        return {name: shortened(part) for name, part in value.items()}
    return [shortened(part) for part in value] if is_list(value) else value
