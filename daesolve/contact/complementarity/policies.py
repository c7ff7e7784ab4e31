"""The choice of loaded supports: how answers are found, and which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daesolve.contact.complementarity.answers import (
    VariantAnswer,
    VariantSolution,
    answer_at,
    have_same_reactions,
)
from daesolve.contact.complementarity.branching import branch_and_bound
from daesolve.contact.complementarity.enumeration import (
    MOST_PAIRS,
    enumerate_variants,
    every_variant,
    solve_orthants,
    undetermined_variants,
)
from daesolve.contact.complementarity.homotopy import homotopy
from daesolve.contact.complementarity.horizontal import (
    HorizontalComplementarity,
    signs_of,
    variant_of,
)
from daesolve.contact.complementarity.lemke import lemke
from daesolve.contact.complementarity.newton import newton
from daesolve.contact.complementarity.properties import (
    contracts,
    friction_margin,
    frictionless_sign,
)
from daesolve.errors import (
    AmbiguousVariant,
    BranchLost,
    FrictionlessIllPosed,
    NoValidVariant,
    PosingError,
    UnphysicalVariant,
    VariantError,
    unknown_name,
)

POLICIES = ("homotopy", "continuity", "strict", "all")
METHODS = ("auto", "enumerate", "newton", "lemke", "homotopy", "branch-and-bound")

MOST_ENUMERATED = 10
"""The number of pairs up to which all variants are solved unless a method is requested."""

_SHOWN = 4


def solve(
    problem: HorizontalComplementarity,
    *,
    policy: str = "homotopy",
    warm: Sequence[int] | None = None,
    method: str = "auto",
) -> VariantSolution:
    """Find the loaded supports.

    Parameters
    ----------
    problem
        The pairs and their load.
    policy
        Which answer to choose. "homotopy": the one that continues the frictionless answer as
        friction grows; if this branch ends early, the only one that keeps the sign of its
        determinant. "continuity": the variant that was loaded, or the one that follows it after
        reactions have changed sign. "strict": the only answer. "all": choose an answer only if
        there is just one, and raise no error for lack of a choice.
    warm
        The variant that was loaded. "continuity" needs it, and the methods "newton" and "lemke"
        start there.
    method
        How to find answers: "enumerate", "newton", "lemke", "homotopy", "branch-and-bound". "auto":
        all variants of up to `MOST_ENUMERATED` pairs. For more pairs, "newton", "lemke" and
        "homotopy" in turn if the answer is known to be unique; otherwise the branch from zero
        friction and, if that does not decide, all variants as long as that is quick, or branch and
        bound. "continuity" then examines only two variants.

    Raises
    ------
    NoValidVariant
        If there is no answer: self-locking.
    UnphysicalVariant
        If no answer keeps the sign that its determinant has without friction.
    AmbiguousVariant
        If nothing decides between several answers.
    BranchLost
        If "continuity" finds neither the variant nor one that follows it.
    FrictionlessIllPosed
        If the supports do not hold the body even without friction.
    VariantError
        If a method that proves nothing finds nothing.
    """
    if policy not in POLICIES:
        raise unknown_name("policy", policy, POLICIES)
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if policy == "all":
        return _all(problem, method, warm)
    frictionless_sign(problem)
    if policy == "continuity":
        return _continued(problem, method, warm)
    if policy == "strict":
        return _strict(problem, _found(problem, method, warm, every=True))
    return _from_no_friction(problem, method, warm)


def _with_answer(
    problem: HorizontalComplementarity, search: VariantSolution, answer: VariantAnswer
) -> VariantSolution:
    """Return what was found with an answer that replaces its equal, or is added."""
    others = (one for one in search.answers if not have_same_reactions(problem, one, answer))
    answers = sorted((*others, answer), key=lambda one: one.variant)
    return replace(search, answers=tuple(answers))


def _choose(
    problem: HorizontalComplementarity, search: VariantSolution, chosen: VariantAnswer | None
) -> VariantSolution:
    """Return what was found with a choice, or with every variant if there is no answer."""
    few = search.complete and not search.answers and problem.count <= MOST_ENUMERATED
    return replace(
        search,
        chosen=chosen,
        candidates=every_variant(problem) if few else (),
        margin=None if chosen is None else friction_margin(problem, chosen.signs),
    )


def _found(
    problem: HorizontalComplementarity, method: str, warm: Sequence[int] | None, *, every: bool
) -> VariantSolution:
    """Search for answers: all of them, or one."""
    alone = contracts(problem)
    names = _methods(problem.count, every, alone) if method == "auto" else (method,)
    for name in names:
        if name == "enumerate":
            return _enumerated(problem)
        if name == "branch-and-bound":
            answers, complete = branch_and_bound(problem, all=every)
        else:
            answer = _one_answer(problem, name, warm)
            answers, complete = (() if answer is None else (answer,)), False
        if answers or complete:
            return VariantSolution(None, answers, complete or alone, name)
    return VariantSolution(None, (), False, names[-1])


def _methods(count: int, every: bool, alone: bool) -> tuple[str, ...]:
    """Return the methods to try in turn; `alone` if the answer is known to be unique."""
    if count <= MOST_ENUMERATED:
        return ("enumerate",)
    if alone:
        return ("newton", "lemke", "homotopy", "branch-and-bound")
    if every:
        return ("enumerate",) if count <= MOST_PAIRS else ("branch-and-bound",)
    return ("homotopy",)


def _one_answer(
    problem: HorizontalComplementarity, method: str, warm: Sequence[int] | None
) -> VariantAnswer | None:
    if method == "newton":
        start = None if warm is None else signs_of(warm, problem.count).astype(float)
        return newton(problem, start)
    if method == "lemke":
        return lemke(problem, warm)
    return homotopy(problem).answer


def _enumerated(problem: HorizontalComplementarity) -> VariantSolution:
    loose = undetermined_variants(problem)
    notes = tuple(
        f"the equations of variant {variant} are singular and allow this load: its reactions are"
        " not determined"
        for variant in loose
    )
    return VariantSolution(None, enumerate_variants(problem), not loose, "enumerate", notes=notes)


def _all(
    problem: HorizontalComplementarity, method: str, warm: Sequence[int] | None
) -> VariantSolution:
    notes: tuple[str, ...] = ()
    try:
        frictionless_sign(problem)
    except FrictionlessIllPosed as error:
        notes = (str(error),)
    if notes and method == "auto":
        # The other methods begin without friction.
        method = "enumerate" if problem.count <= MOST_PAIRS else "branch-and-bound"
    search = _found(problem, method, warm, every=True)
    search = replace(search, notes=(*search.notes, *notes))
    return _choose(problem, search, search.answers[0] if search.alone and not notes else None)


def _strict(problem: HorizontalComplementarity, search: VariantSolution) -> VariantSolution:
    if search.alone:
        return _choose(problem, search, search.answers[0])
    solution = _choose(problem, search, None)
    _refuse_none(solution)
    raise _ambiguous(solution)


def _from_no_friction(
    problem: HorizontalComplementarity, method: str, warm: Sequence[int] | None
) -> VariantSolution:
    if contracts(problem):
        search = _found(problem, method, warm, every=False)
        if search.alone:
            return _choose(problem, search, search.answers[0])
    path = homotopy(problem)
    arrived = path.answer if path.answer is not None and path.answer.physical else None
    if arrived is not None:
        search = _found(problem, method, warm, every=False)
        return _choose(problem, _with_answer(problem, search, arrived), arrived)
    search = _found(problem, method, warm, every=True)
    ends = f"the branch from no friction ends at {path.kappa_reached:.4g} of the friction"
    solution = replace(_choose(problem, search, None), jam_at=path.kappa_reached)
    _refuse_none(solution)
    if len(solution.physical) != 1 or not solution.complete:
        raise _ambiguous(solution, ends)
    chosen = next(iter(solution.physical))
    return replace(
        solution,
        chosen=chosen,
        margin=friction_margin(problem, chosen.signs),
        notes=(*solution.notes, "no other answer keeps the sign of its determinant"),
    )


def _continued(
    problem: HorizontalComplementarity, method: str, warm: Sequence[int] | None
) -> VariantSolution:
    if warm is None:
        raise PosingError('policy "continuity" needs the previous variant: warm=(2, 1, ...)')
    following = _following(problem, signs_of(warm, problem.count))
    if following is not None and method == "auto":
        return _choose(problem, VariantSolution(None, (following,), False, "continuity"), following)
    search = _found(problem, method, warm, every=True)
    if following is None:
        raise BranchLost(
            f"the motion cannot go on from variant {tuple(warm)}: reactions have changed sign, "
            "and the next variant is not an answer, or leads back",
            _choose(problem, search, None),
        )
    return _choose(problem, _with_answer(problem, search, following), following)


def _following(problem: HorizontalComplementarity, signs: np.ndarray) -> VariantAnswer | None:
    """Return the answer of a variant, or of the one with the pairs that changed sign reversed."""
    answer, wrong = _solved(problem, signs)
    if answer is None or not wrong.any():
        return answer
    turned, wrong = _solved(problem, np.where(wrong, -signs, signs))
    return None if wrong.any() else turned


def _solved(
    problem: HorizontalComplementarity, signs: np.ndarray
) -> tuple[VariantAnswer | None, np.ndarray]:
    """Return a variant's answer, None if not physical, and where its signs are wrong."""
    solved = solve_orthants(problem, signs[None])
    reactions = solved.settled()[0] * problem.scaling.factors(signs)
    answer = answer_at(problem, reactions, variant_of(signs))
    known = answer if solved.regular[0] and answer.physical else None
    return known, solved.wrong()[0]


def _refuse_none(solution: VariantSolution) -> None:
    """Raise an error if no answer was found that could occur."""
    if solution.physical or solution.notes or (solution.answers and not solution.complete):
        return
    if solution.answers:
        raise UnphysicalVariant(
            "the load is balanced, but only with a determinant whose sign differs from the "
            "friction-free one; this diverges if the supports yield: "
            f"{_listed(solution.unphysical)}",
            solution,
        )
    if not solution.complete:
        raise VariantError(f"no answer was found: {_left_open(solution)}", solution)
    tried = f": {_listed(solution.candidates)}" if solution.candidates else ""
    raise NoValidVariant(
        "self-locking: no choice of the loaded supports balances the load, every variant has a"
        f" reaction of the wrong sign{tried}",
        solution,
    )


def _ambiguous(solution: VariantSolution, *reasons: str) -> AmbiguousVariant:
    count = len(solution.answers)
    clauses = [
        f"{count} {'answer balances' if count == 1 else 'answers balance'} the load,"
        f" {len(solution.physical)} with the friction-free sign of the determinant",
        *reasons,
        *solution.notes,
    ]
    if not solution.complete and not solution.notes:
        clauses.append(_left_open(solution))
    listed = f": {_listed(solution.answers)}" if solution.answers else ""
    return AmbiguousVariant(f"{'; '.join(clauses)}{listed}", solution)


def _left_open(solution: VariantSolution) -> str:
    if solution.method == "branch-and-bound":
        return "the equations of some variants are singular, so it is open whether they are answers"
    return (
        f'{solution.method} does not prove that there are no others; method="branch-and-bound" does'
    )


def _listed(answers: Sequence[VariantAnswer]) -> str:
    more = f"; and {len(answers) - _SHOWN} more" if len(answers) > _SHOWN else ""
    return "; ".join(str(answer) for answer in answers[:_SHOWN]) + more
