"""The parts of a system as Markdown: energies, kinematics, forces, goals, events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from daesolve.contact.posing.contacts import Contact
from daesolve.contact.posing.supports import Support, VariantPair, pairs_of
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.posing.events import Action, Direction, Event, Record, Reset, Stop
from daesolve.core.posing.goals import AnyGoal, Expression, Goal, Implicit, Invariant, Relation
from daesolve.core.posing.symbols import velocity_name
from daesolve.core.system.posed import PosedControl, PosedMechanics
from daesolve.export.forms import letters, symbol
from daesolve.export.sections import PAGE, EquationSection, EquationWriter, named, not_zero

System = PosedMechanics | PosedControl
LAGRANGE = (
    "The motion obeys Lagrange's equations, each reaction λ along the gradient of its goal, a row "
    "of J:\n\n$$\n"
    r"\frac{\mathrm{d}}{\mathrm{d} t} \frac{\partial T}{\partial \dot{q}}"
    r" - \frac{\partial (T - V)}{\partial q} = Q + J^{\mathsf{T}} \lambda"
    "\n$$"
)
HAMEL = (
    "The motion obeys Hamel's equations, which are Lagrange's in quasi-velocities, each reaction λ "
    "along the gradient of its goal."
)
NEWTON_EULER = (
    "The motion obeys the equations of Newton and Euler, each reaction λ along the gradient of its "
    "goal, a row of J:\n\n$$\n"
    r"M \dot{v} = \Gamma + Q - S^{\mathsf{T}} \frac{\partial V}{\partial q}"
    r" + J^{\mathsf{T}} \lambda"
    "\n$$"
)
DIRECTIONS = {
    Direction.FALLING: "falls through zero",
    Direction.RISING: "rises through zero",
    Direction.EITHER: "passes through zero",
}


@dataclass(frozen=True)
class GoalLine:
    """A goal: its name, kind and relative degree, and the reaction that fulfils it.

    An invariant has no reaction and hence no relative degree.
    """

    name: str
    kind: str
    degree: str
    reaction: str


def symbols_of(system: System) -> dict[str, str]:
    """Return the LaTeX of every name of a system; a goal's name denotes its reaction."""
    own = [*system.parameters.names, *system.discrete.names, *system.inputs.names]
    if isinstance(system, PosedControl):
        return letters(own, ["t", *system.states.names, *system.controls.names])
    vectors = [
        system.coordinates,
        system.coordinates.rates,
        system.implicit,
        system.implicit.rates,
        system.auxiliaries,
        system.auxiliaries.rates,
        system.quadratures,
        system.v,
        system.reactions,
    ]
    names = dict.fromkeys(["t", *(name for vector in vectors for name in vector.names)])
    found = letters(own, names)
    multipliers = {
        goal.name: symbol(f"lambda_{goal.reaction_label}")
        for goal in system.goals
        if isinstance(goal, Goal) and goal.ideal
    }
    # Names of goals may contain any letters, some of which cannot be printed.
    many = Counter(multipliers.values())
    for number, (name, text) in enumerate(multipliers.items(), 1):
        if many[text] > 1:
            multipliers[name] = f"\\lambda_{{{number}}}"
    supports = {pair.name: symbol(f"N_{pair.name}") for pair in pairs_of(system.pairs)}
    return {**multipliers, **supports, **found}


def constants_of(system: System) -> list[str]:
    """Return the names of quantities that no motion changes."""
    return [*system.parameters.names, *system.discrete.names, *system.inputs.names]


def sections(
    system: System, dynamics: Dynamics, writer: EquationWriter | None = None
) -> list[EquationSection]:
    """Return the parts of a system, in the order in which they are posed.

    Parameters
    ----------
    system, dynamics
        The posed system, and its equations.
    writer
        The writer of the formulas; None creates one for a page.
    """
    symbols = symbols_of(system)
    page = _Page(
        system, dynamics, symbols, writer or EquationWriter(symbols, constants_of(system), PAGE)
    )
    if isinstance(system, PosedControl):
        found = [page.rates(system)]
    else:
        found = [
            page.coordinates(system),
            page.named(system),
            page.energies(system),
            page.masses(system),
            page.kinematics(system),
            page.forces(system),
            page.supports(system),
        ]
    found += [page.goals(system), page.events(system)]
    return [section for section in found if section is not None and section.text]


def goal_lines(system: System, dynamics: Dynamics) -> list[GoalLine]:
    """Return a line for each goal."""
    rows = {row.name: row for row in dynamics.rows}
    lines: list[GoalLine] = []
    directed = "the controls" if isinstance(system, PosedControl) else "those in the forces"
    for goal in system.goals:
        if isinstance(goal, Goal):
            row = rows[goal.name]
            kind = f"contact ({row.kind})" if isinstance(goal, Contact) else row.kind
            own = directed if row.reaction is None else named(goal.reaction_label)
            lines.append(GoalLine(goal.name, kind, str(row.degree), own))
        else:
            lines.append(_other_line(goal))
    known = {goal.name for goal in system.goals}
    for row in dynamics.invariants:
        if row.name not in known:
            lines.append(
                GoalLine(
                    row.name, "invariant, automatic", "none", "none; along v where it is driven"
                )
            )
    return lines


def _other_line(goal: AnyGoal) -> GoalLine:
    if isinstance(goal, Implicit):
        unknown = f"the unknown {named(str(goal.unknown))}"
        return GoalLine(goal.name, "implicit equation", "tracked", unknown)
    if isinstance(goal, Relation):
        return GoalLine(goal.name, "relation between reactions", "0", "those in it")
    assert isinstance(goal, Invariant)
    kind = "invariant, driven" if goal.drive else "invariant, measured"
    return GoalLine(goal.name, kind, "none", f"none; it acts on {goal.on}")


class _Page:
    """Writes the sections of one system; names introduced in one are known in the next."""

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        symbols: Mapping[str, str],
        writer: EquationWriter,
    ) -> None:
        self._system, self._dynamics, self._symbols = system, dynamics, symbols
        self._writer, self._extent = writer, writer.extent
        self.equations = writer.equations

    def coordinates(self, system: PosedMechanics) -> EquationSection:
        groups = [
            ("Coordinates", system.coordinates.names),
            ("Quasi-velocities", system.velocities.names if system.velocities else ()),
            ("Massless unknowns", system.implicit.names),
            ("Quadratures", system.quadratures.names),
            ("Reactions that the forces direct", system.reactions.names),
            ("Discrete values", system.discrete.names),
            ("Inputs", system.inputs.names),
        ]
        lines = [f"- {title}: {self._all(names)}." for title, names in groups if names]
        return EquationSection("Coordinates", "\n".join(lines))

    def _all(self, names: Sequence[str]) -> str:
        """Return names as symbols; of many names, the first ones and the total number."""
        listed = ", ".join(f"${self._symbols[name]}$" for name in names[: self._extent.rows])
        return (
            listed
            if len(names) <= self._extent.rows
            else f"{listed} and so on, {len(names)} in all"
        )

    def named(self, system: PosedMechanics) -> EquationSection | None:
        meanings = ca.vertsplit(system.auxiliaries.meanings) if len(system.auxiliaries) else []
        entries = [
            (self._symbols[name], meaning)
            for name, meaning in zip(system.auxiliaries.names, meanings, strict=True)
        ]
        if not entries:
            return None
        return EquationSection("Names for expressions", self.equations(entries))

    def energies(self, system: PosedMechanics) -> EquationSection:
        parts: list[str] = []
        if system.kinetic is not None:
            parts.append(f"Kinetic energy:\n\n{self.equations([('T', system.kinetic)])}")
        if not ca.SX(system.potential).is_zero():
            parts.append(f"Potential energy:\n\n{self.equations([('V', system.potential)])}")
        if system.mass_matrix is None:
            parts.append(LAGRANGE if system.velocities is None else HAMEL)
        return EquationSection("Energies", "\n\n".join(parts))

    def masses(self, system: PosedMechanics) -> EquationSection | None:
        if system.mass_matrix is None:
            return None
        parts = [NEWTON_EULER, self._writer.matrix("M", ca.SX(system.mass_matrix))]
        gyroscopic = not_zero(self._column(system.gyroscopic, r"\Gamma", _force_names(system)))
        if gyroscopic:
            parts.append(f"Inertial forces that do no work:\n\n{self.equations(gyroscopic)}")
        return EquationSection("Masses", "\n\n".join(parts))

    def kinematics(self, system: PosedMechanics) -> EquationSection | None:
        parts: list[str] = []
        if system.kinematics is not None:
            rates = ca.vertsplit(ca.densify(ca.SX(system.kinematics)))
            pairs = zip(system.coordinates.rates.names, rates, strict=True)
            own = [(self._symbols[n], e) for n, e in pairs if str(e) != n]
            if own:
                parts.append(self.equations(own))
        integrated = self._column(system.integrands, "", system.quadratures.names)
        if integrated:
            named = zip(system.quadratures.names, integrated, strict=True)
            entries = [(symbol(velocity_name(name)), rate) for name, (_, rate) in named]
            parts.append(f"Integrated along the motion:\n\n{self.equations(entries)}")
        return EquationSection("Kinematics", "\n\n".join(parts)) if parts else None

    def forces(self, system: PosedMechanics) -> EquationSection | None:
        entries = not_zero(self._column(system.force, "Q", _force_names(system)))
        if not entries:
            return None
        return EquationSection("Forces", self.equations(entries))

    def _column(
        self, given: Mapping[str, Expression] | Sequence[Expression] | ca.SX, left: str,
        names: Sequence[str],
    ) -> list[tuple[str, Expression]]:  # fmt: skip
        """Return the entries of a column given by name or in order."""
        if isinstance(given, Mapping):
            pairs = [(name, given.get(name, 0.0)) for name in names] if given else []
        else:
            dense = ca.vertsplit(ca.densify(given)) if isinstance(given, ca.SX) else [*given]
            pairs = [*zip(names, dense, strict=False)] if len(dense) == len(names) else []
        return [(f"{left}_{{{self._symbols[name]}}}", force) for name, force in pairs]

    def supports(self, system: PosedMechanics) -> EquationSection | None:
        if not len(system.pairs):
            return None
        parts = [
            "At most one support of each pair is loaded; the library finds out which. The "
            "reaction of a pair is its second support's reaction minus its first support's."
        ]
        parts += [self._pair(pair) for pair in pairs_of(system.pairs)]
        return EquationSection("Pairs of supports", "\n\n".join(parts))

    def _pair(self, pair: VariantPair) -> str:
        texts = [f"{named(pair.name)} ({pair.kind}), r its place, n its normal, μ its friction:"]
        entries: list[tuple[str, Expression]] = []
        for place, support in enumerate(pair.supports, start=1):
            entries += self._support(support, place)
        return "\n\n".join([*texts, self.equations(entries)])

    def _support(self, support: Support, place: int) -> list[tuple[str, Expression]]:
        found: list[tuple[str, Expression]] = []
        for letter, vector in (
            ("r", support.point),
            (r"\dot{r}", support.velocity),
            ("n", support.normal),
        ):
            if vector is not None:
                given = ca.vertsplit(vector) if isinstance(vector, ca.SX) else vector
                axes = zip("xyz", given, strict=False)
                found += [(f"{letter}_{{{place},{axis}}}", entry) for axis, entry in axes]
        return [*found, (f"\\mu_{{{place}}}", support.friction)]

    def rates(self, system: PosedControl) -> EquationSection:
        column = self._column(system.rate, "", system.states.names)
        entries = [
            (symbol(velocity_name(name)), rate)
            for name, (_, rate) in zip(system.states.names, column, strict=True)
            if str(rate) != velocity_name(name)
        ]
        lines = [f"States: {self._all(system.states.names)}."]
        if len(system.controls):
            lines.append(f"Controls: {self._all(system.controls.names)}.")
        return EquationSection(
            "Equations of motion", "\n\n".join([*lines, self.equations(entries)])
        )

    def goals(self, system: System) -> EquationSection | None:
        lines = goal_lines(system, self._dynamics)
        if not lines:
            return None
        table = [
            "| goal | kind | relative degree | reaction |",
            "|---|---|---|---|",
            *(
                f"| {named(one.name)} | {one.kind} | {one.degree} | {one.reaction} |"
                for one in lines
            ),
        ]
        formulas = self._writer.each(system.goals, self._goal, "goals", "system.goals")
        return EquationSection("Goals", "\n\n".join(["\n".join(table), *formulas]))

    def _goal(self, goal: AnyGoal) -> str:
        if isinstance(goal, Invariant):
            return f"{named(goal.name)} is constant:\n\n{self.equations([('', goal.value)])}"
        if isinstance(goal, Goal) and goal.from_start:
            kept = self.equations([("", goal.residual)])
            return f"{named(goal.name)} keeps its value at the start:\n\n{kept}"
        return f"{named(goal.name)}:\n\n{self.equations([('', goal.residual)], '= 0')}"

    def events(self, system: System) -> EquationSection | None:
        listed = [event for event in system.events if event.listed]
        formulas = self._writer.each(listed, self._event, "events", "system.events")
        return EquationSection("Events", "\n\n".join(formulas)) if formulas else None

    def _event(self, event: Event) -> str:
        guards = [("", guard) for guard in ca.vertsplit(event.guards)]
        shown = guards[: self._extent.formulas]
        more = f" (the first of {len(guards)})" if len(guards) > len(shown) else ""
        which = "one of" if len(guards) > 1 else "this"
        return (
            f"{named(event.name)}, where {which} {DIRECTIONS[event.direction]}{more}: "
            f"{_done(event.then)}.\n\n{self.equations(shown)}"
        )


def _force_names(system: PosedMechanics) -> tuple[str, ...]:
    given = system.coordinates if system.velocities is None else system.velocities
    return given.names


def _done(action: Action) -> str:
    """Describe the action of an event."""
    phrases: list[str] = []
    for part in action.parts:
        if isinstance(part, Stop):
            phrases.append("the motion cannot be continued" if part.why else "the run ends")
        elif isinstance(part, Reset):
            phrases.append(_reset(part))
        elif isinstance(part, Record):
            phrases.append("it is recorded")
    return ", ".join(phrases)


def _reset(reset: Reset) -> str:
    phrases: list[str] = []
    if callable(reset.changes):
        phrases.append("values change with the guards that passed")
    elif reset.changes:
        phrases.append(f"{', '.join(named(name) for name in reset.changes)} change")
    if reset.impose:
        names = [goal if isinstance(goal, str) else goal.name for goal in reset.impose]
        phrases.append(f"an impact imposes {', '.join(named(name) for name in names)}")
    return " and ".join(phrases) or "the state is made consistent"
