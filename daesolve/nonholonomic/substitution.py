"""Constraints substituted into the Lagrangian: a smaller system, with the original reactions.

The equations that follow from L* = L(t, z, w, g) equal those of the original system except for

    N = sum_i p_i [g_i],    p_i = dL/dy_i' where y' = g,

with Hamel's operator applied to g. If the constraints are quasi-holonomic, the multipliers of the
remaining constraints f absorb N = (df/dw)^T alpha,

    lambda = apparent - alpha,    mu_i = d/dt p_i - Q_i,

where lambda and mu are the reactions of the original system. Otherwise N is added to the forces
(Voronets). Forces are mapped by Q + (dg/dw)^T Q_y.

A. V. Borisov, A. A. Kilin, I. S. Mamaev, On the Hadamard-Hamel problem and the dynamics of wheeled
vehicles, Regular and Chaotic Dynamics 20 (2015) 752-766.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import casadi as ca

from daesolve.core.equations.generic_state import value_at_generic_state
from daesolve.core.expressions.linear import orthogonal_rows, solve_definite, solve_small
from daesolve.core.expressions.singular_values import independent_rows
from daesolve.core.posing.events import Event, Reset, joined
from daesolve.core.posing.goals import (
    AnyGoal,
    Expression,
    Goal,
    Holonomic,
    Implicit,
    Invariant,
    Relation,
)
from daesolve.core.posing.symbols import symbol
from daesolve.core.system.system import MechanicalSystem, Output, unswitched
from daesolve.errors import NotQuasiHolonomicError, PosingError
from daesolve.nonholonomic.quasi_holonomic import (
    QuasiHolonomic,
    is_quasi_holonomic,
    residual_at_other_parameters,
)
from daesolve.nonholonomic.solved_rates import INDEPENDENT, Substitution

Gyroscopic = Literal["refuse", "keep"]


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A system without some coordinates, after substituting their constraints.

    Parameters
    ----------
    system
        The smaller system, in the symbols and names of the original. The eliminated coordinates
        become quadratures and so remain states of a run; their rates are outputs. Reactions that a
        run shows under their own names belong to the original system. If constraints remain, the
        multipliers of the smaller system are `<goal>_apparent`.
    report
        Whether the constraints are quasi-holonomic.
    """

    system: MechanicalSystem
    report: QuasiHolonomic


def eliminate(
    system: MechanicalSystem,
    eliminate: Sequence[str],
    *,
    gyroscopic: Gyroscopic = "refuse",
    parameters: Mapping[str, float] | None = None,
    at: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Eliminated:
    """Substitute constraints into the Lagrangian, and map forces and reactions.

    Parameters
    ----------
    system, eliminate
        As in `is_quasi_holonomic`. Forces may contain the eliminated coordinates.
    gyroscopic
        What to do if the constraints are not quasi-holonomic: "refuse", or "keep" the change due to
        the substitution as a force (Voronets' equations). With "keep" the change is always kept,
        and the multipliers need no correction.
    parameters, at, time
        As in `is_quasi_holonomic`. The constraints must be quasi-holonomic at other parameter
        values too, because the parameters of the smaller system may vary.

    Returns
    -------
    Eliminated
        The smaller system and the verdict.

    Raises
    ------
    NotQuasiHolonomicError
        The constraints are not quasi-holonomic, or only at these parameter values, and gyroscopic
        is "refuse".
    PosingError
        The message names something that cannot be carried over. Also as in `is_quasi_holonomic`.

    Notes
    -----
    If `report.evidence` is not "proved", the part of N that is not the combination is kept as a
    force. It is zero at the samples; with it, the smaller system is right everywhere.

    A run of the smaller system integrates the eliminated coordinates and never compares them with
    solved holonomic goals, which keep the residual they have at the start.

    To study it without a constraint, remove that constraint from the original system (`without`)
    and eliminate again: the substitution relied on the remaining constraints.
    """
    if gyroscopic not in get_args(Gyroscopic):
        raise PosingError(f"gyroscopic is {gyroscopic!r}, but must be 'refuse' or 'keep'")
    report = is_quasi_holonomic(system, eliminate, parameters=parameters, at=at, time=time)
    if gyroscopic == "refuse" and not report:
        raise NotQuasiHolonomicError(
            f"{', '.join(report.by)} must not be substituted into the Lagrangian: the "
            "resulting change is not a combination of the remaining constraints (by "
            f"{report.residual:.1e} of its size); gyroscopic='keep' adds it to the forces"
        )
    solution = report.substitution
    _check(solution)
    corrected = gyroscopic == "refuse"
    if corrected and report.evidence != "proved":
        _check_parameters(report, at, time)
    goals = _goals(solution, corrected)
    meaning = _meaning(solution, goals, corrected)
    beside = _beside_the_forces(report, corrected)
    smaller = _without_outputs(solution, goals, meaning, beside)
    reactions = {**meaning.reactions, **_lost_reactions(solution, smaller, meaning)}
    meaning = replace(meaning, reactions=reactions)
    return Eliminated(_with_outputs(solution, smaller, meaning, corrected), report)


@dataclass(frozen=True, eq=False)
class _Meaning:
    """The replacements of the symbols that the smaller system lacks.

    Parameters
    ----------
    rates, rate_values
        The rates of y in all their notations, and g.
    reactions
        The reactions of constraints by the names of their goals.
    system
        The original system.
    corrections
        Symbols of rewritten invariants, and their replacements.
    """

    system: MechanicalSystem
    rates: ca.SX
    rate_values: ca.SX
    reactions: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX])
    corrections: Sequence[tuple[ca.SX, ca.SX]] = ()

    def __call__(self, expression: Expression) -> ca.SX:
        """Write an expression in the symbols of the smaller system."""
        pairs = [(_goal(self.system, name).reaction, u) for name, u in self.reactions.items()]
        pairs += self.corrections
        old = ca.vertcat(self.rates, *[symbol for symbol, _ in pairs])
        new = ca.vertcat(self.rate_values, *[value for _, value in pairs])
        return ca.substitute(ca.SX(expression), old, new)

    def output(self, entry: Output) -> Output:
        """Write an output likewise."""
        return (self(entry[0]), entry[1]) if isinstance(entry, tuple) else self(entry)


def _check_parameters(report: QuasiHolonomic, at: Mapping[str, float] | None, time: float) -> None:
    """Refuse constraints that may be substituted only for some parameter values.

    Raises
    ------
    NotQuasiHolonomicError
        The constraints are of this kind.
    """
    residual = residual_at_other_parameters(report, at, time)
    if residual is not None and residual > report.tolerance:
        raise NotQuasiHolonomicError(
            f"{', '.join(report.by)} may be substituted into the Lagrangian only at these "
            "parameter values, but the parameters of the smaller system may vary: write values "
            "instead of parameters, or use gyroscopic='keep'"
        )


def _check(solution: Substitution) -> None:
    """Refuse parts that cannot be carried over.

    Raises
    ------
    PosingError
        The message names them.
    """
    system = solution.system
    if ca.depends_on(solution.slopes, solution.velocities):
        raise PosingError(
            f"the goals {', '.join(solution.by)} are not linear in the velocities: substituting "
            "them gives a kinetic energy that is not quadratic"
        )
    if len(system.quadratures):
        raise PosingError(
            f"the system has quadratures already ({', '.join(system.quadratures)}): eliminate all "
            "coordinates at once, and add quadratures to the smaller system"
        )
    y = system.coordinates.part(solution.eliminated).vector
    for name in solution.remaining:
        goal = _goal(system, name)
        if isinstance(goal, Holonomic) and ca.depends_on(goal.residual, y):
            raise PosingError(
                f"the holonomic goal {name!r} contains {', '.join(solution.eliminated)}, but is "
                "not needed to solve for their rates: leave it out"
            )
    lost = ca.vertcat(*[_goal(system, name).reaction for name in solution.by])
    owners = [("the force", system.applied_force)]
    owners += [
        (f"the relation {goal.name!r}", ca.SX(goal.residual))
        for goal in system.goals
        if isinstance(goal, Relation)
    ]
    for owner, expression in owners:
        if ca.depends_on(expression, lost):
            raise PosingError(
                f"{owner} contains the reaction of a goal that is eliminated "
                f"({', '.join(solution.by)}), which follows from the accelerations alone"
            )
    for event in system.events:
        _check_reset(solution, event)


def _check_reset(solution: Substitution, event: Event) -> None:
    reset = event.then.reset
    if reset is None:
        return
    for entry in reset.impose:
        if isinstance(entry, str) and entry in solution.by:
            raise PosingError(
                f"the event {event.name!r} imposes the goal {entry!r}, which is eliminated and "
                "always holds: leave it out of impose"
            )
    fired = symbol("fired", event.count)
    symbols = dict(
        zip(solution.dynamics.labels.states, ca.vertsplit(solution.dynamics.x), strict=True)
    )
    symbols |= {name: solution.system.discrete[name] for name in solution.system.discrete.names}
    for name in reset.changes_where(event.name, fired):
        if name in solution.rate_names:
            raise PosingError(
                f"the event {event.name!r} changes {name!r}, which is eliminated: it follows from "
                "the other velocities"
            )
        if reset.impose and ca.depends_on(solution.g, symbols[name]):
            raise PosingError(
                f"the event {event.name!r} imposes constraints and changes {name!r}, by which "
                f"{', '.join(solution.rate_names)} would jump without an impulse: leave the change "
                "out, or eliminate less"
            )


def _goals(solution: Substitution, corrected: bool) -> list[AnyGoal]:
    """Return the remaining goals except relations, with y' replaced by g."""
    put = _rates_alone(solution)
    goals: list[AnyGoal] = []
    for goal in solution.system.goals:
        if isinstance(goal, Invariant):
            goals.append(replace(goal, value=put(goal.value)))
        elif isinstance(goal, Goal) and goal.name not in solution.by:
            name = f"{goal.name}_apparent" if corrected else goal.reaction_name
            goals.append(replace(goal, residual=put(goal.residual), reaction_name=name))
        elif isinstance(goal, Implicit | Relation):
            goals.append(goal)
    return goals


def _rates_alone(solution: Substitution) -> _Meaning:
    system = solution.system
    if system.velocities is None:
        return _Meaning(system, solution.rates, solution.g)
    rates = [system.coordinates.dot[name] for name in solution.eliminated]
    return _Meaning(system, ca.vertcat(solution.rates, *rates), ca.vertcat(solution.g, solution.g))


def _meaning(solution: Substitution, goals: Sequence[AnyGoal], corrected: bool) -> _Meaning:
    """Return the replacements of rates, of the reactions of remaining goals and of corrections."""
    own = {goal.name: goal for goal in goals}
    apparent = [_own_reaction(own[name]) for name in solution.remaining]
    alpha = ca.vertsplit(_combination(solution)) if corrected else [ca.SX(0)] * len(apparent)
    true = {
        name: value - part
        for name, value, part in zip(solution.remaining, apparent, alpha, strict=True)
    }
    corrections: list[tuple[ca.SX, ca.SX]] = []
    for old in solution.system.goals:
        new = own.get(old.name)
        if isinstance(old, Invariant) and isinstance(new, Invariant):
            corrections.append((old.correction, new.correction))
    return replace(_rates_alone(solution), reactions=true, corrections=corrections)


def _own_reaction(goal: AnyGoal) -> ca.SX:
    assert isinstance(goal, Goal)
    return goal.reaction


def _without_outputs(
    solution: Substitution, goals: Sequence[AnyGoal], meaning: _Meaning, beside: ca.SX
) -> MechanicalSystem:
    """Return the smaller system without outputs, events and recovered reactions.

    `beside` is added to the forces, (nw, 1).
    """
    given = solution.system
    left = [name for name in given.coordinates.names if name not in solution.eliminated]
    column = meaning(given.applied_force)
    force = column[solution.kept] + solution.slopes.T @ column[solution.lost]
    kinematics = None
    if given.kinematics is not None:
        rows = [given.coordinates.names.index(name) for name in left]
        kinematics = ca.SX(given.kinematics)[rows]
    assert given.kinetic is not None
    return MechanicalSystem(
        given.coordinates.part(left),
        given.parameters,
        kinetic=meaning(given.kinetic),
        potential=given.potential,
        goals=[
            replace(goal, residual=meaning(goal.residual)) if isinstance(goal, Relation) else goal
            for goal in goals
        ],
        force=force + beside,
        implicit=given.implicit,
        reactions=given.reactions,
        discrete=given.discrete,
        velocities=None
        if given.velocities is None
        else given.velocities.part([given.v.names[index] for index in solution.kept]),
        kinematics=kinematics,
        auxiliaries=given.auxiliaries,
        independent={name: meaning(value) for name, value in given.independent.items()},
        quadratures=given.coordinates.part(solution.eliminated),
        integrands=solution.g,
        switches=given.switches,
    )


def _beside_the_forces(report: QuasiHolonomic, corrected: bool) -> ca.SX:
    """Return the part of N that the remaining multipliers do not absorb, (nw, 1).

    It is zero if that is proved for all parameter values, because parameters may vary. If only
    random states agree, N minus its combination is kept, so that the smaller system is right
    elsewhere.
    """
    solution = report.substitution
    if not corrected:
        return solution.extra
    if report.evidence == "proved":
        return ca.SX(*solution.velocities.shape)
    return solution.extra - solution.gradients.T @ _combination(solution)


def _lost_reactions(
    solution: Substitution, smaller: MechanicalSystem, meaning: _Meaning
) -> dict[str, ca.SX]:
    """Return the reactions of the goals that were solved, from the accelerations.

    With E and D the derivatives of solved and remaining goals by y', E^T u + D^T lambda = mu.
    """
    dynamics = unswitched(smaller).dynamics
    accelerations = solve_definite(
        dynamics.mass, dynamics.force + dynamics.influence @ dynamics.reactions
    )
    accelerations = dynamics.without_feedback(accelerations)
    changing = ca.substitute(
        solution.along(solution.momenta), solution.accelerations, accelerations
    )
    true = ca.vertcat(ca.SX(0, 1), *[meaning.reactions[name] for name in solution.remaining])
    mu = changing - meaning(solution.system.applied_force)[solution.lost]
    reactions = solve_small(solution.pivot.T, mu - solution.cross.T @ true)
    return dict(zip(solution.by, ca.vertsplit(reactions), strict=True))


def _with_outputs(
    solution: Substitution, smaller: MechanicalSystem, meaning: _Meaning, corrected: bool
) -> MechanicalSystem:
    """Add outputs, events and the recovered reactions."""
    given = solution.system
    units = [given.v.units[index] for index in solution.lost]
    rates = ca.vertsplit(solution.g)
    outputs: dict[str, Output] = {
        name: (rate, unit)
        for name, rate, unit in zip(solution.rate_names, rates, units, strict=True)
    }
    recovered: dict[str, Output] = {}
    for name, reaction in meaning.reactions.items():
        if corrected or name in solution.by:
            goal = _goal(given, name)
            recovered[goal.reaction_label] = (reaction, goal.unit)
    return replace(
        smaller,
        outputs=outputs | {name: meaning.output(entry) for name, entry in given.outputs.items()},
        recovered=recovered
        | {name: meaning.output(entry) for name, entry in given.recovered.items()},
        events=tuple(_event(event, meaning) for event in given.events),
    )


def _event(event: Event, meaning: _Meaning) -> Event:
    parts = [
        _reset(event.name, part, meaning) if isinstance(part, Reset) else part
        for part in event.then.parts
    ]
    return replace(event, guard=meaning(event.guards), then=joined(parts))


def _reset(owner: str, reset: Reset, meaning: _Meaning) -> Reset:
    def changes(fired: ca.SX) -> dict[str, ca.SX]:
        given = reset.changes_where(owner, fired)
        return {name: meaning(value) for name, value in given.items()}

    def energies(fired: ca.SX) -> list[ca.SX]:
        return [meaning(value) for value in reset.energies_where(owner, fired)]

    return replace(
        reset,
        changes=changes,
        energies=energies if reset.energies else (),
        impose=[
            replace(goal, residual=meaning(goal.residual)) if isinstance(goal, Goal) else goal
            for goal in reset.impose
        ],
        restitution=meaning(reset.restitution),
    )


def _goal(system: MechanicalSystem, name: str) -> Goal:
    return next(g for g in system.goals if isinstance(g, Goal) and g.name == name)


def _combination(solution: Substitution) -> ca.SX:
    """Return alpha, N = (df/dw)^T alpha, by orthogonal rows of df/dw: (k, 1).

    Raises
    ------
    PosingError
        The remaining goals depend on each other.
    """
    count = len(solution.remaining)
    gradients = solution.gradients
    if (
        len(independent_rows(value_at_generic_state(solution.dynamics, gradients), INDEPENDENT))
        < count
    ):
        raise PosingError(
            f"the goals {', '.join(solution.remaining)} depend on each other, and so do their "
            "reactions: leave one of them out"
        )
    size = solution.velocities.numel()
    basis = orthogonal_rows([[gradients[i, j] for j in range(size)] for i in range(count)])
    extra = ca.vertsplit(solution.extra)
    alpha = [ca.SX(0)] * count
    for i in reversed(range(count)):
        part = sum((a * b for a, b in zip(basis.rows[i], extra, strict=True)), ca.SX(0))
        for j in range(i + 1, count):
            part = part - basis.triangle[j][i] * alpha[j]
        alpha[i] = part / basis.norms[i]
    return ca.vertcat(ca.SX(0, 1), *alpha)
