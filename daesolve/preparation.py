"""From a request to a run that can start: consistent start, checks, choices, scales.

Everything that is chosen automatically is chosen here, once, and told in `Prepared.notes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.choosing import check_pair, choose_solver
from daesolve.consistency import (
    Start,
    check_named,
    consistent_state,
    sample_states,
    time_states,
)
from daesolve.contact_changes import check_held_goals, check_held_reactions
from daesolve.dynamics import Dynamics
from daesolve.elimination import (
    PROXIMAL_EPSILON,
    REFINED,
    SHARING_EPSILON,
    EliminationPlan,
    choose_plan,
    regularisations,
)
from daesolve.errors import (
    DegenerateStartError,
    PosingError,
    RedundantConstraintsError,
    UndeterminedMotionError,
)
from daesolve.fitting import fitting_values, refuse_past
from daesolve.formulations import Feedback, Formulation, OdeProblem, Projected, Regularised, Viscous
from daesolve.friction.guides import SMOOTHING
from daesolve.linear import is_zero
from daesolve.rank import (
    POWER_TOLERANCE,
    Rank,
    Samples,
    check_mass,
    constraint_rank,
    relative_power,
)
from daesolve.rates import automatic_rate, stiffness_warning
from daesolve.redundancy import check_weights, friction_on_redundant
from daesolve.request import DEFAULT_RATE, RankLoss, Redundant, Request, check_request
from daesolve.setting_out import SettingOut, set_out
from daesolve.sizes import (
    Probe,
    floors,
    periodic_angles,
    run_probe,
    scales,
    segment_length,
    typical_influences,
)
from daesolve.sliding import Sliding, VariantPolicy
from daesolve.solvers import Compilation, Solver
from daesolve.starting import check_system, parameter_values
from daesolve.stiffness import Stiffness, stiffness
from daesolve.system import System
from daesolve.transitions import Transitions
from daesolve.translation import evaluate_block

TELLING = 3
"""Sample states below which it is not told from them that reactions do no work."""
WEAK_GRIP = 1e-4
"""Below this part of its usual size a grip costs digits, where the elimination is not refined."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that can start.

    Parameters
    ----------
    dynamics, problem, solver
        What is integrated, and by what, with every automatic choice made.
    formulation
        Its formulation.
    start
        The consistent start and what was changed for it; `start_time` and `until` are its times.
    values
        p as numbers, at the start; rates carry the sign of the direction of time.
    parameters, rates
        For the report; a rate is None where a goal is only measured.
    scales
        Of `problem.watched`; NaN for an energy that takes the largest kinetic energy.
    segment
        The length of a segment, s; boundaries lie at whole multiples of it from the start.
    wrapped
        Indices of the angles that are wrapped at the boundaries.
    rank_loss, max_evaluations
        As requested.
    samples
        Consistent states near the start, which show what is usual.
    surplus
        Goals that depend on the others everywhere: their reactions have no grip of their own.
    compilation
        What compiling took.
    transitions
        What its events reset; None where none does.
    resting
        Whether dry friction holds the body at rest from the start on.
    path
        (k, n) states that a short run went through.
    mean_step
        The mean step of that run, s.
    notes
        Every automatic choice in words.
    """

    dynamics: Dynamics
    problem: OdeProblem
    formulation: Formulation
    solver: Solver
    start: Start
    start_time: float
    until: float
    values: np.ndarray
    parameters: Mapping[str, float]
    rates: Mapping[str, float | None]
    scales: np.ndarray
    segment: float
    wrapped: tuple[int, ...]
    rank_loss: RankLoss
    max_evaluations: int | None
    samples: Samples
    surplus: tuple[str, ...]
    compilation: Compilation
    transitions: Transitions | None
    resting: bool
    path: np.ndarray
    mean_step: float
    notes: tuple[str, ...]

    @property
    def initial(self) -> np.ndarray:
        """The problem's start: what stands for the state, and zero for work integrals."""
        return self.problem.enter(self.start_time, self.start.state, self.values)


def prepare(system: System, request: Request) -> Prepared:
    """Make a request ready to run, or say in one sentence why it cannot.

    Raises
    ------
    DaesolveError
        In its own type for each kind of fault: an unknown name, a value out of range, a start
        that no consistent state agrees with, redundant constraints, a goal without influence,
        no freedom, a solver that lacks an operation.
    """
    check_system(system)
    dynamics = system.dynamics
    check_request(dynamics, request)
    request = replace(request, until=float(request.until), start_time=float(request.start_time))
    notes: list[str] = []
    formulation = _formulation(dynamics, request, notes)
    if request.solver is not None:
        check_pair(formulation, request.solver)
    rates = formulation.chosen_rates(dynamics, request.default_rate)
    start, values = starting_point(dynamics, request)
    begun = _begun(dynamics, formulation, start, values, request)
    if begun is not None:
        start, values = replace(start, state=begun.state), {**values, **begun.values}
        notes.extend(begun.notes)
    values = fitting_values(dynamics, values, start.state, request.start_time)
    refuse_past(dynamics, values, start.state, request.start_time)
    parameters = {name: values[name] for name in dynamics.posed_ranges}
    samples = _samples(dynamics, values, start, request)
    system, surplus, proximal = _check_rank(
        system, dynamics, values, samples, request, notes, formulation
    )
    if system.dynamics is not dynamics:
        dynamics = system.dynamics
        values = {name: values.get(name, default) for name, default in dynamics.values.items()}
    numbers = dynamics.value_vector(values)
    conserved = _conserved(dynamics, samples, numbers, notes)
    rates = {goal: rate for goal, rate in rates.items() if f"rate_{goal}" in dynamics.values}
    plan = choose_plan(dynamics, samples, numbers, proximal=proximal)
    if plan.refinements:
        notes.append(f"elimination refined {plan.refinements} times")
    if proximal:
        shift = PROXIMAL_EPSILON if request.rank_loss == "pass" else SHARING_EPSILON
        weights = request.redundant_weights
        values |= regularisations(dynamics, samples, numbers, shift, weights)
    problem = _problem(system, formulation, rates, plan, conserved)
    direction = 1.0 if request.until >= request.start_time else -1.0
    whole = problem if problem.chart is None else problem.chart.whole
    stiff = _stiffness(whole, whole.value_vector(values), start, request, rates)
    probe = run_probe(
        whole,
        whole.value_vector(values),
        start,
        request.start_time,
        request.until,
        stiff=stiff is not None and stiff.recognised,
    )
    problem = _refined(system, formulation, rates, plan, conserved, problem, probe, notes)
    values = _charted(problem, start, request.start_time, values, probe.path)
    if _leaves_the_rate(formulation, request):
        automatic, reason = automatic_rate(probe, passes=request.rank_loss == "pass")
        automatic_rates = formulation.chosen_rates(dynamics, automatic)
        rates = {goal: automatic_rates[goal] for goal in rates}
        notes.append(f"rate {automatic:.4g} 1/s, for {reason}")
    values |= {f"rate_{goal}": direction * (rate or 0.0) for goal, rate in rates.items()}
    numbers = dynamics.value_vector({name: values[name] for name in dynamics.values})
    values |= floors(dynamics, numbers, samples, probe, request.scales)
    values |= typical_influences(probe)
    steps = abs(request.until - request.start_time) / probe.mean_step
    if isinstance(formulation, Viscous):
        notes.append(_friction(formulation, dynamics))
    solver = choose_solver(request.solver, formulation, problem, steps, notes, stiff)
    fastest = max((rate for rate in rates.values() if rate is not None), default=0.0)
    warning = stiffness_warning(solver, fastest, probe)
    if warning is not None:
        notes.append(warning)
    compilation = solver.compile(problem)
    notes.extend(compilation.notes)
    numbers = problem.value_vector(values)
    wrapped = periodic_angles(problem, samples, numbers, notes)
    scaling = scales(
        dynamics,
        problem,
        dynamics.value_vector({n: values[n] for n in dynamics.values}),
        start,
        probe,
        request.start_time,
        _own_scales(dynamics, begun, request.scales),
    )
    transitions = _transitions(dynamics, plan, problem, scaling, request.variant_policy)
    if transitions is not None:
        initial = problem.enter(request.start_time, start.state, numbers)
        transitions.check_start(request.start_time, initial, numbers)
    return Prepared(
        dynamics=dynamics,
        problem=problem,
        formulation=formulation,
        solver=solver,
        start=start,
        start_time=request.start_time,
        until=request.until,
        values=numbers,
        parameters=parameters,
        rates=rates,
        scales=scaling,
        segment=segment_length(
            problem,
            probe,
            wrapped,
            projects=problem.project is not None and not solver.projects_steps,
        ),
        wrapped=wrapped,
        rank_loss=request.rank_loss,
        max_evaluations=request.max_evaluations,
        samples=samples,
        surplus=_without_grip(problem, samples, numbers, surplus),
        compilation=compilation,
        transitions=transitions,
        resting=begun is not None and begun.resting,
        path=probe.path,
        mean_step=probe.mean_step,
        notes=tuple(notes),
    )


def _stiffness(
    problem: OdeProblem,
    values: np.ndarray,
    start: Start,
    request: Request,
    rates: Mapping[str, float | None],
) -> Stiffness | None:
    """Look for what dies out far faster than the motion at the start."""
    x = problem.enter(request.start_time, start.state, values)
    fastest = max((rate for rate in rates.values() if rate is not None), default=0.0)
    return stiffness(problem, values, request.start_time, x, request.until, fastest)


def _formulation(dynamics: Dynamics, request: Request, notes: list[str]) -> Formulation:
    """Return what was asked for, else feedback, or friction where that is to replace constraints.

    Where constraints lose rank, what throws the motion off its branch is the error with which it
    arrives: there each step is projected besides.
    """
    if request.formulation is not None:
        return request.formulation
    if request.rank_loss == "pass" and dynamics.position_count and dynamics.rows:
        notes.append(
            "formulation projected, since positions where constraints lose rank are passed"
        )
        return Projected()
    if request.rank_loss == "viscous":
        return Viscous()
    return Feedback()


def _begun(
    dynamics: Dynamics,
    formulation: Formulation,
    start: Start,
    values: dict[str, float],
    request: Request,
) -> SettingOut | None:
    """Choose the loaded supports of guides at the start; tell whether friction holds the body."""
    if dynamics.guides is None:
        return None
    if isinstance(formulation, Regularised):
        values |= {SMOOTHING: float(formulation.speed)}
    return set_out(dynamics, values, start.state, request)


def _own_scales(
    dynamics: Dynamics, begun: SettingOut | None, scales: Mapping[str, float]
) -> dict[str, float]:
    """Return the scales asked for, and that of the energy of a body that stays at rest."""
    if begun is None or not begun.resting:
        return dict(scales)
    energies = [row.name for row in dynamics.invariants if row.automatic]
    return {**dict.fromkeys(energies, begun.energy or 1.0), **scales}


def _leaves_the_rate(formulation: Formulation, request: Request) -> bool:
    """Tell whether the rate is automatic: asked for, or nobody chose one for passing."""
    rate = getattr(formulation, "rate", request.default_rate)
    unchosen = rate is None and request.default_rate == DEFAULT_RATE
    return rate == "auto" or (unchosen and request.rank_loss == "pass")


def starting_point(dynamics: Dynamics, request: Request) -> tuple[Start, dict[str, float]]:
    """Return the consistent start, and the values of p by name, the references there included.

    Raises
    ------
    DaesolveError
        A parameter cannot be, or no consistent state agrees with the start values.
    """
    values = dict(dynamics.values)
    values |= parameter_values(dynamics, check_named("parameters", request.parameters))
    start = consistent_state(
        dynamics,
        dynamics.value_vector(values),
        request.initial,
        guess=request.guess,
        time=request.start_time,
    )
    return start, values | _references(dynamics, start.state, request.start_time, values)


def _references(
    dynamics: Dynamics, state: np.ndarray, time: float, values: Mapping[str, float]
) -> dict[str, float]:
    held = {row.name: row.held for row in dynamics.invariants}
    held |= {row.name: row.chain[0] for row in dynamics.rows if row.from_start}
    if not held:
        return {}
    function = ca.Function(
        "held", [dynamics.t, dynamics.x, dynamics.p], [ca.vertcat(*held.values())]
    )
    numbers = dynamics.value_vector({**values, **{f"reference_{name}": 0.0 for name in held}})
    found = np.asarray(function(time, state, numbers)).ravel()
    return {f"reference_{name}": float(v) for name, v in zip(held, found, strict=True)}


def _samples(
    dynamics: Dynamics, values: Mapping[str, float], start: Start, request: Request
) -> Samples:
    return sample_states(
        dynamics,
        dynamics.value_vector(values),
        around=start.state,
        time=request.start_time,
    )


def _check_rank(
    system: System,
    dynamics: Dynamics,
    values: Mapping[str, float],
    samples: Samples,
    request: Request,
    notes: list[str],
    formulation: Formulation,
) -> tuple[System, Rank, bool]:
    """Apply the rules for dependent constraints.

    Returns
    -------
    system, rank, proximal
        The system without what was dropped; what its constraints are worth, and whether to be
        proximal.
    """
    numbers = dynamics.value_vector(values)
    check_mass(dynamics, samples, numbers)
    check_weights(dynamics, request.redundant_weights)
    check_held_goals(dynamics, formulation, values)
    rank = constraint_rank(dynamics.in_mode(numbers), samples, numbers)
    proximal = request.rank_loss == "pass"
    if rank.groups:
        check_held_reactions(dynamics, rank)
        moving = friction_on_redundant(dynamics, samples, numbers)
        notes.append(_selection(rank, moving, request.redundant))
        if request.redundant == "drop":
            return system.without(rank.droppable), replace(rank, groups=(), droppable=()), proximal
        proximal = True
    if rank.degenerate_at_start and not proximal and not isinstance(formulation, Viscous):
        names = ", ".join(map(repr, rank.degenerate_at_start))
        singular = {row.name for row in dynamics.rows if row.typical is not None}
        if set(rank.degenerate_at_start) <= singular:
            raise DegenerateStartError(
                f"at the start no reaction influences the goals {names} (rank {rank.at_start} of "
                f"{len(dynamics.rows)}), since it is at rest; start in motion, or pose them "
                "linear in the velocities"
            )
        raise DegenerateStartError(
            f"at the start the goals {names} depend on each other, though not elsewhere; start "
            "beside this position, or ask for rank_loss = 'pass'"
        )
    return system, rank, proximal


def _selection(rank: Rank, moving: Sequence[str], redundant: Redundant) -> str:
    """Say by which rule undetermined reactions are chosen, or why none may be.

    Raises
    ------
    RedundantConstraintsError
        No rule was asked for.
    UndeterminedMotionError
        The reactions enter a force, and no rule for sharing them was asked for.
    """
    first, *others = [", ".join(map(repr, group)) for group in rank.groups]
    depend = f"the goals {first} depend on each other everywhere" + "".join(
        f", and so do {other}" for other in others
    )
    surplus = ", ".join(map(repr, rank.droppable))
    if moving and redundant != "minimum-norm":
        raise UndeterminedMotionError(
            f"{depend}, and the reactions {', '.join(map(repr, moving))}, which they do not "
            f"determine, enter a force: neither is the motion; leave out {surplus}, or ask for "
            "redundant = 'minimum-norm', which shares them by redundant_weights"
        )
    if redundant == "error":
        raise RedundantConstraintsError(
            f"{depend}, so their reactions are not determined; leave out {surplus}, or ask for "
            "redundant = 'drop' or 'minimum-norm'"
        )
    if redundant == "drop":
        return f"dropped as redundant: {', '.join(rank.droppable)}; the motion is the same"
    chosen = f"{depend}: their reactions are not unique, shown are those of minimum norm"
    if moving:
        return f"{chosen}; they enter a force, so the motion is one of many, that of this choice"
    return f"{chosen}; the motion is unique"


def _without_grip(
    problem: OdeProblem, samples: Samples, numbers: np.ndarray, rank: Rank
) -> tuple[str, ...]:
    """Name the dependent goals whose pivots are the proximal shift alone, in elimination's order.

    These pivots say nothing of the rank along the run.
    """
    if not rank.groups:
        return ()
    times, visible = time_states(samples)
    states = np.hstack([visible, np.zeros((len(visible), problem.size - visible.shape[1]))])
    table, _ = evaluate_block(problem.residuals, times, states, numbers)
    typical = np.nanmedian(table[:, len(problem.watched) + 1 :], axis=0)
    pivots = dict(zip(problem.pivot_goals, typical, strict=True))
    redundant = [name for name in rank.redundant if name in pivots]
    return tuple(sorted(redundant, key=lambda name: pivots[name])[: len(rank.droppable)])


def _conserved(
    dynamics: Dynamics, samples: Samples, values: np.ndarray, notes: list[str]
) -> dict[str, bool]:
    """Decide which invariants are, at consistent states, the power of reactions included."""
    conserved: dict[str, bool] = {}
    few = len(samples) < TELLING and not _is_ideal(dynamics)
    for row in dynamics.invariants:
        doubt = row.doubt
        if row.automatic and few and not doubt:
            doubt = "reactions may do work, and hardly a consistent state was found to see it at"
        if doubt:
            conserved[row.name] = False
            notes.append(
                f"{row.name} may not be conserved, for {doubt}: its power is metered as work, "
                "and it is not driven"
            )
            continue
        power = relative_power(dynamics, row, samples, values)
        conserved[row.name] = power <= POWER_TOLERANCE
        if conserved[row.name]:
            if row.automatic and row.note:
                notes.append(f"{row.name} is conserved: {row.note}")
            continue
        if row.automatic:
            notes.append(
                f"{row.name} is not conserved (relative power {power:.2g} at sample states): its "
                "power is metered as work, and it is not driven"
            )
        elif row.drive:
            raise PosingError(
                f"the invariant {row.name!r} is to be driven, but is not conserved: its rate is "
                f"{power:.2g} of its terms at a sample state; set drive=False"
            )
        else:
            notes.append(f"{row.name} is not conserved (relative rate {power:.2g})")
    return conserved


def _is_ideal(dynamics: Dynamics) -> bool:
    """Tell whether every reaction acts along the gradient of its goal."""
    directed = dynamics.reactions.numel() - len(dynamics.rows)
    return not directed and all(
        row.reaction is not None
        and is_zero(ca.SX(ca.sparsify(dynamics.influence[:, row.reaction] - row.jacobian.T)))
        for row in dynamics.rows
    )


_problems: WeakKeyDictionary[System, dict[tuple[object, ...], OdeProblem]] = WeakKeyDictionary()


def _problem(
    system: System,
    formulation: Formulation,
    rates: Mapping[str, float | None],
    plan: EliminationPlan,
    conserved: Mapping[str, bool],
) -> OdeProblem:
    """Build the problem, or return the one of an earlier run that differs in numbers only."""
    driven = tuple(sorted(name for name, rate in rates.items() if rate is not None))
    scales = tuple(sorted(plan.block_scales.items()))
    key = (
        formulation.shape,
        driven,
        (plan.refinements, plan.proximal, scales),
        tuple(sorted(conserved.items())),
    )
    built = _problems.setdefault(system, {})
    if key not in built:
        built[key] = formulation.problem(system.dynamics, plan, conserved, rates)
    return built[key]


def _friction(formulation: Viscous, dynamics: Dynamics) -> str:
    """Say what stands in place of which constraints."""
    names = ", ".join(row.name for row in dynamics.rows if row.degree == 1)
    return (
        f"friction of mobility {formulation.mobility:g} in place of {names}: what comes after they "
        "come to depend on each other depends on it"
    )


def _refined(
    system: System,
    formulation: Formulation,
    rates: Mapping[str, float | None],
    plan: EliminationPlan,
    conserved: Mapping[str, bool],
    problem: OdeProblem,
    probe: Probe,
    notes: list[str],
) -> OdeProblem:
    """Refine the elimination where a short run comes near to a place at which reactions fail."""
    if plan.proximal or plan.refinements >= REFINED or formulation.form != "ode":
        return problem
    if probe.weakest >= WEAK_GRIP:
        return problem
    notes.append(
        f"elimination refined {REFINED} times, since a grip falls to {probe.weakest:.2g} of its "
        "usual size"
    )
    return _problem(system, formulation, rates, replace(plan, refinements=REFINED), conserved)


def _transitions(
    dynamics: Dynamics,
    plan: EliminationPlan,
    problem: OdeProblem,
    scaling: np.ndarray,
    policy: VariantPolicy,
) -> Transitions | None:
    if not dynamics.resets:
        return None
    names = [watched.name for watched in problem.watched]
    sizes = dict(zip(names, map(float, scaling), strict=True))
    sliding = None if dynamics.guides is None else Sliding(dynamics, policy)
    return Transitions(dynamics, plan, problem, sizes, sliding)


def _charted(
    problem: OdeProblem,
    start: Start,
    time: float,
    values: Mapping[str, float],
    path: np.ndarray,
) -> dict[str, float]:
    """Add the discrete values of the chart in which the run starts."""
    if problem.chart is None or problem.chart.choose is None:
        return dict(values)
    numbers = problem.chart.choose(time, start.state, problem.value_vector(values), path)
    return dict(zip(problem.values, map(float, numbers), strict=True))
