"""Analyses of a wheelset or a bogie besides its motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.limits import limit_answer
from daesolve_problems.orders import judged, largest_difference, measured_orders, of_model
from daesolve_problems.wheelset import pictures
from daesolve_problems.wheelset.models import POSITIONS, SMALL, creeping, full, reduced
from daesolve_problems.wheelset.vehicles import STRAIGHT, nadal_limit

EPS = (0.04, 0.02, 0.01, 0.005, 0.0025)
LAYER = 0.25
"""Errors count from here on at the earliest, and from twelve eps: the fast motion has died away."""
SAMPLES = np.arange(0, 601) / 100
FACTORS = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Factors of eps in the search for a limit."""
MEASURED = 201
"""Samples of such a run."""
SPEEDS = np.arange(2.0, 81.0, 2.0)
"""The speeds of the root locus, m/s."""


def orders(case: BoundCase) -> ds.Answer:
    """Measure the errors of `dirac` and `refined` against eps: orders one and two.

    Raises
    ------
    OutOfRangeError
        The parameters are dimensional.
    """
    _check_normalised(case, "orders")
    found = measured_orders(
        case,
        ("dirac", "refined"),
        {"positions": POSITIONS, "velocities": SMALL},
        "eps",
        EPS,
        at=SAMPLES,
        since=lambda eps: max(LAYER, 12 * eps),
    )
    runs = {
        name: of_model(case, name).solve(SAMPLES[-1], at=SAMPLES) for name in case.problem.models
    }
    figures = {"orders": found.figure(), "trajectories": pictures.trajectories(runs)}
    return ds.Answer(found.described(), figures)


def slipping(case: BoundCase) -> ds.Answer:
    """Report the slips, and the distance of the full motion from the one without slip, against eps.

    Both tend to zero with eps if only creep acts, and neither does otherwise.

    Raises
    ------
    OutOfRangeError
        The parameters are dimensional.
    """
    _check_normalised(case, "no-slip")
    answer: dict[str, Any] = {"eps": list(EPS), "slip_x": [], "slip_y": [], "distance": []}
    for eps in EPS:
        full, rolling = (
            of_model(case, model, {"eps": eps}).solve(SAMPLES[-1], at=SAMPLES)
            for model in ("full", "no_slip")
        )
        since = max(LAYER, 12 * eps)
        for name in ("slip_x", "slip_y"):
            answer[name].append(float(np.max(np.abs(full[name][full.times >= since]))))
        answer["distance"].append(largest_difference(rolling, full, POSITIONS, since))
    return ds.Answer(answer, {"slips": pictures.slips_against(answer)})


def validity(case: BoundCase) -> ds.Answer:
    """Report the fast motion at the start, and whether the reduced models are valid."""
    model = reduced(**case.problem.meaning(case.full_structure))
    return judged(model, case.full_start, case.full_parameters)


def limit(case: BoundCase) -> ds.Answer:
    """Report which combinations of slips may be neglected as eps becomes small.

    The examined state is the state of the full motion at half of its time. With dimensional
    parameters positions become small with eps, as in the paper's normalisation; forces and loads do
    not.
    """
    structure = case.problem.meaning(case.full_structure)
    whole, (system, slips) = full(**structure), creeping(**structure)
    own, first = case.full_parameters, case.full_parameters["eps"]
    given = {name: value for name, value in own.items() if name not in case.derived}
    dimensional = "speed" in own
    until = float(case.case.until)

    def parameters(eps: float) -> dict[str, float]:
        return given | {"eps": eps}

    def motion(eps: float) -> ds.Trajectory:
        size = eps / first if dimensional else 1.0
        start = {name: size * value for name, value in case.full_start.items()}
        since = 0.1 * until if dimensional else max(LAYER, 12 * eps)
        at = np.linspace(since, until, MEASURED)
        return ds.solve(whole, until, start, parameters=parameters(eps), at=at)

    middle = motion(first)
    state = {name: float(middle[name][MEASURED // 2]) for name in (*POSITIONS, *SMALL)}

    def family(eps: float) -> tuple[dict[str, float], dict[str, float]]:
        size = eps / first if dimensional else 1.0
        return {name: size * value for name, value in state.items()}, parameters(eps)

    times = [0.1 * until, 0.35 * until, 0.7 * until]
    return limit_answer(system, slips, family, times, motion, [first * size for size in FACTORS])


def derailment(case: BoundCase) -> ds.Answer:
    """Report when a flange touches its rail, and how hard it would be pressed there.

    The model ends where the free play does. Its measure of derailment is the lateral force L that
    would have to hold the axle there, over the load N of the wheel, against Nadal's limit. After
    the first contact this refers to a motion that no flange has held, and is only a warning.

    Raises
    ------
    OutOfRangeError
        The parameters are normalised: they have neither free play nor loads.
    """
    p = case.full_parameters
    if "play" not in p:
        raise OutOfRangeError(
            "normalised parameters have no free play and no wheel load: set units=dimensional"
        )
    until = float(case.case.until)
    even = np.linspace(0.0, until, 1001)
    events = case.solve(at=[until]).events
    flange = [event.time for event in events if event.name == "flange"]
    nadal = [event.time for event in events if event.name == "beyond_nadal"]
    # With samples at these.
    run = case.solve(at=np.unique([*even, *flange, *nadal]))
    limit = float(nadal_limit(ca.SX(p["flange_angle"]), ca.SX(p["friction"])))
    quotient, at_rail = run["flange_quotient"], np.abs(run["y"]) >= p["play"] * (1 - 1e-9)
    first = np.isin(run.times, flange[:1])
    derails = run.times[at_rail & (quotient >= limit * (1 - 1e-9))]
    answer = {
        "nadal_limit": limit,
        "flange_at": flange,
        "quotient_at_the_first": float(quotient[first][0]) if np.any(first) else None,
        "derailment_at": float(derails[0]) if len(derails) else None,
        "largest_quotient_at_the_rail": (
            float(np.max(quotient[at_rail])) if np.any(at_rail) else None
        ),
        "largest_shift": float(np.max(np.abs(run["y"]))),
    }
    return ds.Answer(answer, {"derailment": pictures.pressed(run, p["play"], limit)})


def _check_normalised(case: BoundCase, analysis: str) -> None:
    if "speed" in case.full_parameters:
        raise OutOfRangeError(
            f"the analysis {analysis!r} varies only eps, which is not a scale of the motion in "
            "dimensional parameters: set units=normalised"
        )


def locus(case: BoundCase) -> ds.Answer:
    """Return the eigenvalues of the straight motion over the speed, and the critical speeds.

    Normalised parameters have no speed: for them the case `suspended` is used, and named.

    Raises
    ------
    OutOfRangeError
        Normalised parameters were set, which that case does not have.
    """
    if "speed" not in case.full_parameters:
        if case.parameters:
            names = ", ".join(map(repr, case.parameters))
            raise OutOfRangeError(
                f"normalised parameters have no speed, and {names} would have no effect: set "
                "units=dimensional, or choose another case"
            )
        assert isinstance(case.problem, ds.Problem)
        creep = case.full_structure["creep"]
        case = case.problem.case("suspended", model=case.model, creep=creep)
    quiet = {**case.full_parameters, **STRAIGHT}
    given = {name: value for name, value in quiet.items() if name not in case.derived}
    found = {
        model: _over_speed(of_model(case, model), given) for model in ("full", "dirac", "refined")
    }
    answer: dict[str, Any] = {"of_case": case.case.name, "with": given, "speed": SPEEDS.tolist()}
    answer |= {name: _locus(locus) for name, locus in found.items()}
    return ds.Answer(answer, {"root-locus": pictures.root_locus(found)})


def _over_speed(case: BoundCase, parameters: Mapping[str, float]) -> ds.analysis.RootLocus:
    rest = dict.fromkeys(case.system.dynamics.labels.states, 0.0)
    return ds.analysis.root_locus(case.system, {"speed": SPEEDS}, rest, parameters=parameters)


def _locus(locus: ds.analysis.RootLocus) -> dict[str, Any]:
    return {
        "growth": locus.growth.tolist(),
        "real": np.real(locus.eigenvalues).T.tolist(),
        "imaginary": np.imag(locus.eigenvalues).T.tolist(),
        "critical": [
            {"speed": at.value, "frequency": at.frequency, "lost": at.lost} for at in locus.critical
        ],
    }
