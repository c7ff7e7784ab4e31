"""Prepares a request into a run that can start: consistent start, checks, choices, scales.

All automatic choices are made here, once, and noted in `Prepared.notes`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daesolve.core.equations.consistency import sample_states
from daesolve.core.equations.dynamics import Dynamics
from daesolve.core.equations.elimination.plan import choose_plan, regularisations
from daesolve.core.equations.elimination.saddle import (
    PROXIMAL_EPSILON,
    REFINED,
    SHARING_EPSILON,
    EliminationPlan,
)
from daesolve.core.equations.rank import Rank, Samples
from daesolve.core.events.transitions import transitions_of
from daesolve.core.expressions.memory_cache import built_once
from daesolve.core.formulations import Elimination, Formulation, OdeProblem
from daesolve.core.formulations.regularised import FadingFriction
from daesolve.core.posing.value_names import ValueKind
from daesolve.core.preparation.choosing import (
    Stiffness,
    automatic_rate,
    check_pair,
    choose_formulation,
    choose_solver,
    stiffness,
    stiffness_warning,
)
from daesolve.core.preparation.conserved_invariants import assumed_invariants
from daesolve.core.preparation.driven_probe import Drives
from daesolve.core.preparation.examination import InitialState, examined, initial_state, restricted
from daesolve.core.preparation.prepared import Prepared
from daesolve.core.preparation.probing import run_probe
from daesolve.core.preparation.redundant_rows import with_rows, with_same_rows, without_grip
from daesolve.core.preparation.request import (
    DEFAULT_RATE,
    Request,
    checked,
)
from daesolve.core.preparation.scale_exponents import (
    is_usual_step,
    lengths_note,
    scaling_note,
    scaling_of,
)
from daesolve.core.preparation.sizes import (
    Probe,
    floors,
    least_kinetic,
    scales,
    segment_length,
    typical_influences,
)
from daesolve.core.preparation.wrapping import periodic_angles
from daesolve.core.solvers import Compilation, RadauIIA, Solver
from daesolve.core.solvers.error_control import velocity_warning
from daesolve.core.solvers.scaling import Scaling
from daesolve.core.system.consistent_state import check_system
from daesolve.core.system.system import System

WEAK_GRIP = 1e-4
"""A grip below this fraction of its usual size costs digits, unless the elimination is refined."""


def prepare(system: System, request: Request) -> Prepared:
    """Prepare a request to run, or raise an error that says in one sentence why it cannot run.

    Raises
    ------
    DaesolveError
        A subclass for each kind of fault: an unknown name, a value out of range, a start with which
        no consistent state agrees, redundant constraints, a goal without influence, no freedom, a
        solver that lacks an operation.
    """
    check_system(system)
    system, request = checked(system, request)
    request = replace(request, until=float(request.until), start_time=float(request.start_time))
    notes = list(system.notes)
    posed = _posed(system, request, notes)
    stiff, probe = _short_run(posed, request)
    posed = _refined(posed, probe, notes)
    posed = _with_numbers(posed, request, probe, notes)
    scaling = _scaling(posed, request, probe, notes)
    solver, compilation = _compiled(posed, request, stiff, probe, scaling, notes)
    if stiff is not None and isinstance(solver, RadauIIA):
        probe = replace(probe, mean_step=max(probe.mean_step, stiff.implicit_step))
    dynamics, problem, start = posed.dynamics, posed.problem, posed.initial.start
    numbers = problem.value_vector(posed.values)
    angles = problem.labels.angles
    wrapped = periodic_angles(dynamics, problem, posed.values, notes) if angles else ()
    assumed = assumed_invariants(dynamics, problem, posed.samples, posed.values, notes)
    projects = problem.project is not None and not solver.projects_steps
    residual_scales = _scales(posed, request, probe)
    names = [watched.name for watched in problem.watched]
    sizes = dict(zip(names, map(float, residual_scales), strict=True))
    surplus: tuple[str, ...] = ()
    if posed.rank.groups:
        surplus = without_grip(problem, posed.samples, numbers, posed.rank)
    transitions = transitions_of(dynamics, posed.plan, problem, sizes, request.choices)
    if transitions is not None:
        initial = problem.enter(request.start_time, start.state, numbers)
        transitions.check_start(request.start_time, initial, numbers)
    return Prepared(
        system=system,
        request=request,
        dynamics=dynamics,
        problem=problem,
        formulation=posed.formulation,
        solver=solver,
        start=start,
        start_time=request.start_time,
        until=request.until,
        values=numbers,
        parameters={name: posed.initial.values[name] for name in system.dynamics.posed_ranges},
        rates=posed.rates,
        scales=residual_scales,
        least_kinetic=posed.least_kinetic,
        segment=segment_length(problem, probe, wrapped, projects=projects),
        wrapped=wrapped,
        samples=posed.samples,
        assumed=assumed,
        surplus=surplus,
        scaling=scaling,
        compilation=compilation,
        transitions=transitions,
        resting=posed.initial.resting,
        path=probe.path,
        mean_step=probe.mean_step,
        notes=tuple(notes),
    )


# -- what is integrated ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Posed:
    """The problem to integrate, and the numbers that are known so far.

    Parameters
    ----------
    system, dynamics
        Without the goals that were dropped, and its equations.
    formulation
        As requested or chosen.
    initial, samples
        Where it starts, and consistent states near there.
    rank, conserved
        What its constraints are worth, and which invariants are conserved.
    rates
        By goal; None if it is only measured.
    plan, problem
        How the reactions are eliminated, and what that makes.
    values
        p by name.
    least_kinetic
        The kinetic energy that counts as rounding, J.
    """

    system: System
    dynamics: Dynamics
    formulation: Formulation
    initial: InitialState
    samples: Samples
    rank: Rank
    conserved: Mapping[str, bool]
    rates: Mapping[str, float | None]
    plan: EliminationPlan
    problem: OdeProblem
    values: Mapping[str, float]
    least_kinetic: float = 0.0

    @property
    def fastest(self) -> float:
        """The highest rate with which something is fed back, 1/s."""
        rates = self.rates.items()
        return max((r for name, r in rates if r and self.conserved.get(name, True)), default=0.0)


def _posed(system: System, request: Request, notes: list[str]) -> _Posed:
    """Choose the formulation, examine the system at its start, and build the problem."""
    dynamics = system.dynamics
    formulation = choose_formulation(dynamics, request, notes)
    if request.solver is not None:
        check_pair(formulation, request.solver)
    rates = formulation.chosen_rates(dynamics, request.default_rate)
    begin = initial_state(dynamics, formulation, request)
    notes.extend(begin.notes)
    numbers, state = dynamics.value_vector(begin.values), begin.start.state
    samples = sample_states(dynamics, numbers, around=state, time=request.start_time)
    found = examined(system, begin.values, samples, request, formulation, notes)
    values, samples = begin.values, found.samples
    if found.dynamics is not dynamics:
        dynamics = found.dynamics
        values = {**restricted(dynamics, values), **found.kept}
    numbers = dynamics.value_vector(values)
    rates = {n: rate for n, rate in rates.items() if ValueKind.RATE.name_of(n) in dynamics.values}
    alternatives = dynamics.alternatives
    alike = samples if alternatives is None else with_same_rows(alternatives, samples, numbers)
    plan = choose_plan(dynamics, alike, numbers, proximal=found.proximal)
    if plan.refinements:
        notes.append(f"elimination refined {plan.refinements} times")
    if found.proximal or (alternatives is not None and alternatives.shared):
        shift = PROXIMAL_EPSILON if request.rank_loss == "pass" else SHARING_EPSILON
        weights, whole = request.redundant_weights, found.system.dynamics
        own = whole.value_vector(restricted(whole, values))
        values = {**values, **regularisations(whole, samples, own, shift, weights)}
    problem = _problem(found.system, dynamics, formulation, rates, plan, found.conserved)
    if alternatives is not None:
        place = request.start_time, begin.start.state
        values = with_rows(alternatives, problem, *place, values)
    return _Posed(
        system=found.system,
        dynamics=dynamics,
        formulation=formulation,
        initial=begin,
        samples=samples,
        rank=found.rank,
        conserved=found.conserved,
        rates=rates,
        plan=plan,
        problem=problem,
        values=values,
    )


@built_once
def _problems(system: System) -> dict[tuple[object, ...], OdeProblem]:
    """Return the problems of a system that were built so far."""
    return {}


def _problem(
    system: System,
    dynamics: Dynamics,
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
        None
        if dynamics.alternatives is None
        else (dynamics.alternatives.groups, dynamics.alternatives.shared),
        tuple(row.name for row in dynamics.aside),
        tuple(row.name for row in dynamics.rows if row.posed is not None),
    )
    built = _problems(system)
    if key not in built:
        built[key] = formulation.built(Elimination(dynamics, plan, conserved, rates))
    return built[key]


# -- numbers from a short run ---------------------------------------------------------------------


def _short_run(posed: _Posed, request: Request) -> tuple[Stiffness | None, Probe]:
    """Look for what dies out far faster than the motion, and integrate a few hundred steps."""
    problem, start, time = posed.problem, posed.initial.start, request.start_time
    whole = problem if problem.chart is None else problem.chart.whole
    values = whole.value_vector(_unheld(posed, time))
    whole = whole.in_mode(values)
    x = whole.enter(time, start.state, values)
    dynamics = posed.dynamics
    counts = dynamics.position_count, dynamics.velocity_count
    stiff = stiffness(whole, values, (time, x), request.until, posed.fastest, counts)
    recognised = stiff is not None and stiff.evident
    probe = run_probe(
        whole,
        values,
        start,
        time,
        request.until,
        stiff=recognised,
        switches=dynamics.switches,
        nudged=dynamics.needs_own_units,
        drives=Drives(whole, dynamics) if dynamics.drives else None,
    )
    return stiff and replace(stiff, stretch=probe.reset_after, step=probe.typical_step), probe


def _unheld(posed: _Posed, time: float) -> dict[str, float]:
    """Return p in which friction fades: where it holds a body, it hides the sizes of its motion."""
    initial, values = posed.initial, dict(posed.values)
    if not initial.resting or initial.energy is None:
        return values
    numbers = posed.dynamics.value_vector(initial.values)
    masses = posed.dynamics.matrices(time, initial.start.state, numbers)["mass"]
    speed = math.sqrt(2.0 * initial.energy / float(np.max(np.diag(masses)))) or 1.0
    for addition in posed.dynamics.additions:
        if isinstance(addition, FadingFriction):
            values |= addition.faded_values(speed)
    return values


def _refined(posed: _Posed, probe: Probe, notes: list[str]) -> _Posed:
    """Refine the elimination where a short run comes near to a place at which reactions fail."""
    plan = posed.plan
    if plan.proximal or plan.refinements >= REFINED or posed.formulation.form != "ode":
        return posed
    if probe.weakest >= WEAK_GRIP:
        return posed
    notes.append(
        f"elimination refined {REFINED} times, because the influence of a reaction falls to "
        f"{probe.weakest:.2g} of its usual size"
    )
    refined = replace(plan, refinements=REFINED)
    problem = _problem(
        posed.system, posed.dynamics, posed.formulation, posed.rates, refined, posed.conserved
    )
    return replace(posed, problem=problem)


def _with_numbers(posed: _Posed, request: Request, probe: Probe, notes: list[str]) -> _Posed:
    """Choose the chart, the rates, and the sizes that bound the corrections."""
    dynamics, rates = posed.dynamics, posed.rates
    values = _charted(posed, request.start_time, probe.path)
    if _leaves_the_rate(posed.formulation, request, probe):
        automatic, reason = automatic_rate(probe, passes=request.rank_loss == "pass")
        chosen = posed.formulation.chosen_rates(dynamics, automatic)
        rates = {goal: chosen[goal] for goal in rates}
        notes.append(f"rate {automatic:.4g} 1/s, for {reason}")
    direction = 1.0 if request.until >= request.start_time else -1.0
    values |= {ValueKind.RATE.name_of(n): direction * (rate or 0.0) for n, rate in rates.items()}
    numbers = _of(dynamics, values)
    least = least_kinetic(dynamics, numbers, posed.samples, probe)
    values |= floors(dynamics, numbers, posed.samples, probe, least, request.scales)
    values |= typical_influences(probe)
    return replace(posed, rates=rates, values=values, least_kinetic=least)


def _charted(posed: _Posed, time: float, path: np.ndarray) -> dict[str, float]:
    """Return the values, with the discrete ones of the chart in which the run starts."""
    problem = posed.problem
    if problem.chart is None or problem.chart.choose is None:
        return dict(posed.values)
    numbers = problem.value_vector(posed.values)
    numbers = problem.chart.choose(time, posed.initial.start.state, numbers, path)
    return dict(zip(problem.values, map(float, numbers), strict=True))


def _of(dynamics: Dynamics, values: Mapping[str, float]) -> np.ndarray:
    """Return p of the equations alone, without the values that a chart adds."""
    return dynamics.value_vector({name: values[name] for name in dynamics.values})


def _leaves_the_rate(formulation: Formulation, request: Request, probe: Probe) -> bool:
    """Return whether the rate is automatic: requested, or unset with an unsuitable default.

    That is where singular positions are passed, and in motions of nanoseconds or of years.
    """
    rate = formulation.common_rate
    unchosen = rate is None and request.default_rate == DEFAULT_RATE
    return rate == "auto" or (
        unchosen and (request.rank_loss == "pass" or not is_usual_step(probe.mean_step))
    )


def _scales(posed: _Posed, request: Request, probe: Probe) -> np.ndarray:
    """Return the scales of residuals: those requested, and others from the short run."""
    return scales(
        posed.dynamics,
        posed.problem,
        _of(posed.dynamics, posed.values),
        posed.initial.start,
        probe,
        request.start_time,
        _own_scales(posed.dynamics, posed.initial, request.scales),
    )


def _own_scales(
    dynamics: Dynamics, initial: InitialState, scales: Mapping[str, float]
) -> dict[str, float]:
    """Return the scales requested, and that of the energy of a body that stays at rest."""
    if initial.energy is None or not initial.resting:
        return dict(scales)
    energies = [row.name for row in dynamics.invariants if row.automatic]
    return {**dict.fromkeys(energies, initial.energy or 1.0), **scales}


# -- what integrates it ----------------------------------------------------------------------------


def _scaling(posed: _Posed, request: Request, probe: Probe, notes: list[str]) -> Scaling:
    """Choose the powers of two by which states and time are divided for the solver."""
    problem, start = posed.problem, posed.initial.start
    if posed.dynamics.needs_own_units:
        return Scaling()
    found = scaling_of(
        problem,
        problem.value_vector(posed.values),
        (request.start_time, start.state),
        (probe.times, probe.path),
        probe.exponents,
        probe.mean_step,
    )
    said = scaling_note(problem.labels.states, found), lengths_note(posed.dynamics, found)
    notes.extend(note for note in said if note is not None)
    return found


def _compiled(
    posed: _Posed,
    request: Request,
    stiff: Stiffness | None,
    probe: Probe,
    scaling: Scaling,
    notes: list[str],
) -> tuple[Solver, Compilation]:
    """Choose the solver, and compile the problem for it."""
    formulation, problem = posed.formulation, posed.problem
    steps = abs(request.until - request.start_time) / probe.mean_step
    notes.extend(formulation.notes(posed.dynamics))
    tolerances = (request.rtol, request.atol)
    solver = choose_solver(request.solver, formulation, problem, steps, notes, stiff, tolerances)
    warnings = (
        stiffness_warning(solver, posed.fastest, probe),
        velocity_warning(solver, problem, stiff.motion if stiff else 0.0, probe.states),
    )
    notes.extend(warning for warning in warnings if warning is not None)
    begins = problem.in_mode(problem.value_vector(posed.values))
    compilation = scaling.compiled(solver, begins)
    notes.extend(compilation.notes)
    return solver, compilation
