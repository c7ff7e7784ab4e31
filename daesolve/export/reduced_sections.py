"""The reduced equations of a system as sections of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from daesolve.core.posing.symbols import velocity_name
from daesolve.export.eliminated_equations import Matrices, eliminated
from daesolve.export.forms import symbol
from daesolve.export.mode import InMode
from daesolve.export.reduced_equations import Lagrangian, ReducedEquations, rate_name
from daesolve.export.sections import (
    Entry,
    EquationSection,
    EquationWriter,
    displayed,
    named,
    not_zero,
)

TATARINOV = (
    "With the kinetic energy $T^* = \\frac{1}{2} w^{\\mathsf{T}} M^* w$ of the constrained system, "
    "$L^* = T^* - V$, and the momenta $P_a$ along the velocities $w_a$, the equations are\n\n$$\n"
    r"\frac{\mathrm{d}}{\mathrm{d} t} \frac{\partial L^*}{\partial w_a} + \{P_a, L^*\}"
    r" = \sum_b w_b \{P_a, P_b\} + Q_a"
    "\n$$\n\n(Ya. V. Tatarinov, 2003): Poisson brackets, evaluated at the momenta "
    r"$p = \partial L / \partial \dot{q}$ of the constrained motion. Those that are not listed are "
    "zero."
)
MAGGI = (
    "Maggi's equations are $M^* \\dot{w} = F^*$: the forces and the inertia of the motion with $w$ "
    "held constant, along the velocities $w$."
)
ELIMINATED = (
    "The motion obeys\n\n$$\n"
    r"M \dot{v} = h + B u, \quad J \dot{v} + b = 0"
    "\n$$\n\nwith the reactions $u$. Solved for these, they obey $A u = c$,\n\n$$\n"
    r"A = J M^{-1} B, \quad c = -(J M^{-1} h + b)"
    "\n$$"
)
TIED = " Relations between the reactions are further rows of $A$ and $c$."


def pseudo_symbols(reduced: ReducedEquations, symbols: Mapping[str, str]) -> dict[str, str]:
    """Return the LaTeX of pseudo-velocities and rates that do not have a symbol yet."""
    taken = {*symbols.values()}
    found: dict[str, str] = {}
    for name in reduced.pseudo.names:
        if name not in symbols:
            own = symbol(name)
            plain = name.replace("_", r"\_")
            found[name] = own if own not in taken else f"\\mathrm{{{plain}}}"
        rate = symbol(f"{name}_dot")
        plain = rate if rate not in taken else f"\\dot{{{symbols.get(name) or found[name]}}}"
        found[rate_name(name)] = plain
    return found


def mode_section(mode: InMode, symbols: Mapping[str, str]) -> list[EquationSection]:
    """Return the mode in which the equations hold; nothing if there is only one."""
    said = mode.said
    if not said:
        return []
    fixed = [f"${symbols.get(n, symbol(n))} = {v:g}$" for n, v in said.items() if n in mode.fixed]
    others = [
        f"${symbols.get(n, symbol(n))} = {v:g}$" for n, v in said.items() if n in mode.decided
    ]
    lines: list[str] = []
    if fixed:
        lines.append(f"The equations hold for {', '.join(fixed)}.")
    if others:
        lines.append(f"Conditions between parameters are decided as for {', '.join(others)}.")
    return [EquationSection("Mode", " ".join(lines))]


class ReducedSections:
    """Writes the sections of reduced equations.

    Parameters
    ----------
    reduced
        The equations.
    symbols
        LaTeX by name, including those of `pseudo_symbols`.
    writer
        The writer of the formulas.
    """

    def __init__(
        self, reduced: ReducedEquations, symbols: Mapping[str, str], writer: EquationWriter
    ) -> None:
        self._reduced, self._symbols, self._writer = reduced, symbols, writer
        self._names = [symbols[name] for name in reduced.pseudo.names]

    def all(self) -> list[EquationSection]:
        """Return the sections in order, without empty ones."""
        reduced = self._reduced
        written = (reduced.position_rates, reduced.mass, reduced.push, *reduced.reactions.values())
        self._writer.prepare(ca.SX(ca.veccat(*written)))
        found = [
            *mode_section(self._reduced.mode, self._symbols),
            self._velocities(),
            EquationSection("Reduced mass matrix", self._mass()),
            self._motion(),
            self._integrals(),
            self._reactions(),
        ]
        return [section for section in found if section.text]

    def _mass(self) -> str:
        return self._writer.matrix("M^*", self._reduced.mass, symmetric=True) if self._names else ""

    def _velocities(self) -> EquationSection:
        reduced = self._reduced
        pseudo = reduced.pseudo
        listed = ", ".join(f"$w_{{{k}}} = {name}$" for k, name in enumerate(self._names, 1))
        parts = [f"The pseudo-velocities are {listed}." if listed else "Nothing is free to move."]
        pairs = zip(self._names, ca.vertsplit(pseudo.meanings), pseudo.own, strict=True)
        own = [(name, meaning) for name, meaning, itself in pairs if not itself]
        if own:
            parts.append(f"where\n\n{self._equations(own)}")
        if pseudo.pivots:
            entries = [("", pivot) for pivot in pseudo.pivots]
            parts.append(
                "The constraints are solved for the other velocities, which takes that none of "
                f"these is zero:\n\n{self._equations(entries)}"
            )
        labels = reduced.mode.dynamics.labels.states[: reduced.positions.numel()]
        rates = zip(labels, ca.vertsplit(reduced.position_rates), strict=True)
        entries = [(symbol(velocity_name(n)), e) for n, e in rates if str(e) != velocity_name(n)]
        if entries:
            parts.append(f"They and the constraints give\n\n{self._equations(entries)}")
        return EquationSection("Pseudo-velocities", "\n\n".join(parts))

    def _equations(self, entries: Sequence[Entry]) -> str:
        return self._writer.equations(entries)

    def _motion(self) -> EquationSection:
        reduced = self._reduced
        if not self._names:
            return EquationSection("Equations of motion", "")
        parts: list[str] = []
        if reduced.lagrangian is None:
            parts.append(MAGGI)
        else:
            parts += self._brackets(reduced.lagrangian)
        sides = zip(
            ca.vertsplit(ca.densify(reduced.mass @ reduced.rates)),
            ca.vertsplit(reduced.push),
            strict=True,
        )
        parts.append(f"Written out:\n\n{self._writer.identities([*sides])}")
        return EquationSection("Equations of motion", "\n\n".join(parts))

    def _brackets(self, found: Lagrangian) -> list[str]:
        parts = [TATARINOV]
        brackets = [
            (f"\\{{P_{{{a + 1}}}, P_{{{b + 1}}}\\}}", bracket)
            for (a, b), bracket in found.brackets.items()
        ]
        slopes = not_zero(
            (f"\\{{P_{{{k}}}, L^*\\}}", slope)
            for k, slope in enumerate(ca.vertsplit(found.slopes), 1)
        )
        forces = not_zero(
            (f"Q_{{{k}}}", force) for k, force in enumerate(ca.vertsplit(found.forces), 1)
        )
        for entries in (brackets, slopes, forces):
            if entries:
                parts.append(self._equations(entries))
        if not brackets:
            parts.append("All brackets $\\{P_a, P_b\\}$ vanish.")
        return parts

    def _integrals(self) -> EquationSection:
        lines: list[str] = []
        for name, value in self._reduced.integrals.items():
            if name == "energy" and self._reduced.lagrangian is not None:
                lines.append(f"{named(name)}: $T^* + V$ is constant.")
            else:
                lines.append(f"{named(name)} is constant:\n\n{self._equations([('', value)])}")
        return EquationSection("First integrals", "\n\n".join(lines))

    def _reactions(self) -> EquationSection:
        if not self._reduced.reactions:
            return EquationSection("Reactions", "")
        entries = [
            (reaction_symbol(name, self._symbols), value)
            for name, value in self._reduced.reactions.items()
        ]
        text = "With the rates of the pseudo-velocities from the equations of motion:"
        if not ca.depends_on(ca.vertcat(*self._reduced.reactions.values()), self._reduced.rates):
            text = "As functions of the state:"
        return EquationSection("Reactions", f"{text}\n\n{self._equations(entries)}")


def reaction_symbol(name: str, symbols: Mapping[str, str]) -> str:
    """Return the LaTeX of a reaction; a goal's reaction has the symbol of its multiplier."""
    return symbols.get(name) or symbol(f"lambda_{name}")


def eliminated_sections(
    found: Matrices, symbols: Mapping[str, str], writer: EquationWriter
) -> list[EquationSection]:
    """Return the sections of equations with eliminated reactions; none without reactions."""
    if not found.jacobian.shape[0] + found.ties.shape[0]:
        return []
    text = ELIMINATED + (TIED if found.ties.shape[0] else "")
    solution = eliminated(found)
    if solution is None:
        reason = "$M$ is too large for its inverse to be written down."
        return [EquationSection("Elimination of the reactions", f"{text}\n\n{reason}")]
    parts = [text, writer.matrix("A", solution.matrix), writer.matrix("c", solution.right)]
    sections = [EquationSection("Elimination of the reactions", "\n\n".join(parts))]
    if solution.reactions is not None:
        sections.append(_reactions(found, solution.reactions, symbols, writer))
    return sections


def reaction_section(
    found: Matrices, symbols: Mapping[str, str], writer: EquationWriter
) -> EquationSection:
    """Return the reactions as functions of the state, or why they are not written down."""
    solution = eliminated(found) if found.names else None
    if solution is not None and solution.reactions is not None:
        return _reactions(found, solution.reactions, symbols, writer)
    count, rows = len(found.names), found.jacobian.shape[0] + found.ties.shape[0]
    why = (
        "There are none."
        if not count
        else f"{count} reactions are not determined by {rows} equations."
        if count != rows
        else f"The equations for {count} reactions are too large to be solved in letters: "
        '`system.function("reactions")` computes them.'
    )
    return EquationSection("Reactions", why)


def _reactions(
    found: Matrices, reactions: ca.SX, symbols: Mapping[str, str], writer: EquationWriter
) -> EquationSection:
    names = [reaction_symbol(name, symbols) for name in found.names]
    solved = list(zip(names, ca.vertsplit(ca.densify(reactions)), strict=True))
    return EquationSection("Reactions", writer.equations(solved))


def matrix_sections(
    found: Matrices, symbols: Mapping[str, str], writer: EquationWriter
) -> list[EquationSection]:
    """Return the matrices of the equations of motion used for integration."""
    labels = found.mode.dynamics.labels
    count = found.mode.dynamics.velocity_count
    velocities = [symbols.get(n, symbol(n)) for n in labels.states[-count:]] if count else []
    parts = [displayed(r"M \dot{v} = h + B u, \quad J \dot{v} + b = 0")]
    listed = ", ".join(f"$v_{{{k}}} = {name}$" for k, name in enumerate(velocities, 1))
    parts.append(f"with {listed}.")
    parts.append(writer.matrix("M", found.mass, symmetric=True))
    for letter, given in (("h", found.force), ("J", found.jacobian), ("b", found.bias)):
        if given.shape[0]:
            parts.append(writer.matrix(letter, given))
    names = [reaction_symbol(name, symbols) for name in found.names]
    if names:
        listed = ", ".join(f"$u_{{{k}}} = {name}$" for k, name in enumerate(names, 1))
        parts.append(f"The reactions are {listed}.")
        transposed = found.influence.shape == found.jacobian.T.shape and (
            ca.is_equal(found.influence, ca.SX(found.jacobian.T), 1)
        )
        if transposed:
            parts.append(r"All act along the gradients of their goals: $B = J^{\mathsf{T}}$.")
        else:
            parts.append(writer.matrix("B", found.influence))
    if found.ties.shape[0]:
        parts.append(f"Between the reactions there are relations:\n\n{displayed('D u + e = 0')}")
        parts.append(writer.matrix("D", found.ties))
        parts.append(writer.matrix("e", found.offsets))
    return [EquationSection("Equations of motion", "\n\n".join(parts))]
