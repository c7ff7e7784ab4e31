"""Vlakhova 2013, the general part: constraints of singular Lagrangians, limits of creep, bounds."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import daesolve as ds
from daesolve.errors import NoSlowManifoldError, SecondaryConstraintsError
from daesolve.nonholonomic import (
    Slip,
    creep_limit,
    separate_gyroscopic,
    singular_lagrangian,
    small_velocities,
)
from daesolve.reporting.papers import Compared, Shown
from daesolve_problems.gyroscope.models import full, moments, reduction
from daesolve_problems.wheelset import models, vehicles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def singular(quick: bool) -> Shown:
    """(1), (2), (4), (5), (16): constraints of singular Lagrangians."""
    system = full()
    q, p = system.coordinates, system.parameters
    spin = q.dot.alpha * ca.sin(q.beta) + q.dot.gamma
    bare = singular_lagrangian(q, p.eps / 2 * p.rotor_inertia * spin**2, p, force=moments(q, p))
    x = bare.states
    known = {
        "primary_alpha": ("p_α − p_γ sin β", x.momentum_alpha - x.momentum_gamma * ca.sin(x.beta)),
        "primary_beta": ("p_β", x.momentum_beta),
    }
    rows: list[Compared] = []
    for name, (words, printed) in known.items():
        off = ca.Function("off", [x.vector, p.vector], [bare.constraints[name] - printed])
        values = np.linspace(0.2, 1.1, len(x)), [p.defaults[n] for n in p.names]
        rows.append(Compared(f"(4), {words} = 0: difference of what follows from L", "0",
                             abs(float(off(*values)))))  # fmt: skip
    state = {"alpha": 0.1, "beta": 0.3, "momentum_gamma": 1.0}
    at = np.linspace(0.0, 1.0, 11)
    model = reduction()
    runs = [
        ds.solve(model.system, 1.0, model.start(state), at=at),
        ds.solve(bare.system(), 1.0, bare.start({**state, "momentum_alpha": math.sin(0.3)}), at=at),
    ]
    apart = max(float(np.max(np.abs(runs[0][n] - runs[1][n]))) for n in ("alpha", "beta"))
    rows += [
        Compared("(4), constraints of the second class", "2", bare.second_class),
        Compared("(5), both multipliers are determined", "λ₁ = α', λ₂ = β'",
                 "yes" if not bare.undetermined else "no"),
        Compared("angles by (5) and by the model of small velocities, largest difference", "0",
                 apart, "rad"),
    ]  # fmt: skip
    wheelset = vehicles.normalised(vehicles.WHEELSET, vehicles.harmonic)
    pushed = models.full(partial(vehicles.normalised, vehicles.WHEELSET), vehicles.linear)
    force: Any = dict(zip(pushed.coordinates.names, ca.vertsplit(_forces(pushed)), strict=True))
    rolling = singular_lagrangian(pushed.coordinates, wheelset.rolling, pushed.parameters,
                                  force=force)  # fmt: skip
    said = ", ".join(f"{value} = 0" for value in rolling.constraints.values())
    rows.append(Compared("(16), the wheelset", "p_Y = 0, p_ψ = 0", said))
    return Shown(rows, note="By the algorithm of Dirac and Bergmann, from L alone.")


def _forces(system: ds.MechanicalSystem) -> ca.SX:
    assert isinstance(system.force, dict)
    return ca.vertcat(*[ca.SX(system.force[name]) for name in system.coordinates.names])


def odd_matrix(quick: bool) -> Shown:
    """End of section 2: the separation of pendulum frequencies where the order is odd."""
    skew = np.array([[0.0, -1.0, 0.6], [1.0, 0.0, -0.8], [-0.6, 0.8, 0.0]])
    inertia = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.0], [0.2, 0.0, 1.0]])
    springs = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])
    found = separate_gyroscopic(inertia, skew, springs)
    sizes = (0.04, 0.02, 0.01)
    errors: dict[str, list[float]] = {"nutation": [], "pendulum": [], "precession": []}
    for eps in sizes:
        whole = np.block(
            [
                [np.zeros((3, 3)), np.eye(3)],
                [-np.linalg.solve(inertia, springs), -np.linalg.solve(inertia, skew) / eps],
            ]
        )
        exact = np.sort(np.abs(np.imag(np.linalg.eigvals(whole))))[::2]
        parts = {
            "precession": abs(float(found.precession(eps)[0].imag)),
            "pendulum": math.sqrt(float(found.pendulum()[0])),
            "nutation": float(found.nutation(eps)[0]),
        }
        for place, (name, value) in enumerate(parts.items()):
            errors[name].append(abs(value / float(exact[place]) - 1.0))
    rows = [
        Compared(
            f"{name}: relative error at ε = 0.01, order in ε",
            "to be separated" if name == "pendulum" else "not given",
            f"{row[-1]:.2e}, {float(np.polyfit(np.log(sizes), np.log(row), 1)[0]):.2f}",
        )
        for name, row in errors.items()
    ]
    return Shown(
        rows,
        formulas={
            "separation": r"q = N x + Z y,\quad G Z = 0,\quad N^\mathsf{T} A Z = 0"
            r"\;\Rightarrow\; Z^\mathsf{T} A Z\, y'' + Z^\mathsf{T} C (Z y + N x) = 0"
        },
        note="A q'' + G q'/ε + C q = 0 with three coordinates; the paper refers to its [13].",
    )


def limits(quick: bool) -> Shown:
    """(6) to (10): rolling or Dirac's constraints, by the equations and by motions."""
    rows: list[Compared] = []
    for power, says in ((0.0, "rolling"), (0.5, "not treated"), (1.0, "Dirac's constraints")):
        found = _body(power)
        rows.append(
            Compared(
                f"body on a wheel, column of B of the order {power:g}",
                says,
                f"{_named(found.kind)}, slip / velocities of the order "
                f"{round(found.principal[0].order, 2) + 0.0:.2f}",
                "",
                "" if power != 0.5 else "between both: rolling, which is approached slowly",
            )
        )
    figures: dict[str, Figure] = {}
    for problem, case, says in (
        ("wheelset", "forced", "Dirac's constraints"),
        ("wheelset", "free", "both coincide"),
        ("wheelset-bogie", "free", "rolling leaves the trivial motion alone"),
        ("gyroscope", "damped", "Dirac's constraints"),
    ):
        answer = ds.problem(problem).case(case).analyse("limit")
        values = answer.values
        swept = ", ".join(
            "0 to rounding" if order is None else f"{round(order, 2) + 0.0:.2f}"
            for order in values["sweep"]["orders"]
        )
        rolling = sum(one["kind"] == "rolling" for one in values["principal"])
        exact = _named(values["kind"])
        if values["kind"] == "mixed":
            exact += f": {rolling} of {len(values['principal'])} combinations of slips roll"
        rows.append(
            Compared(
                f"{problem}, {case}", says, exact, "", f"orders by a sweep of motions: {swept}"
            )
        )
        figures[f"{problem}, {case}"] = answer.figures["slips"]
    return Shown(
        rows,
        figures,
        note="A combination of slips rolls where it is small beside its terms B_ki q_i' as ε → 0.",
    )


def _named(kind: str) -> str:
    return "Dirac's constraints" if kind == "dirac" else kind


def _body(power: float) -> Any:
    q, p = ds.coordinates(x="m", z="m"), ds.parameters(eps=1.0, column=1.0)
    system = ds.MechanicalSystem(q, p, kinetic=(q.dot.x**2 + q.dot.z**2) / 2, force={"x": 1.0})
    slip = q.dot.x - p.column * q.dot.z
    moving = {"x_dot": 1.0, "z_dot": 1.0}
    return creep_limit(
        system,
        [Slip("along", slip, -slip / p.eps)],
        lambda eps: (moving, {"eps": eps, "column": eps**power}),
        sizes=[1e-5 / 2**k for k in range(5)],
    )


def loads(quick: bool) -> Shown:
    """(6) to (9) where the normal load is the reaction of a goal that creep changes."""
    system = _car()
    model = small_velocities(system, ["slip"])
    sizes, at = (0.01, 0.005, 0.0025), np.linspace(0.5, 2.0, 7)
    errors = np.zeros((len(sizes), 4))
    for row, eps in enumerate(sizes):
        start, values = {"x": 0.2, "turn": 2.0, "slip": 2 * eps}, {"eps": eps}
        full = ds.solve(system, 2.0, start, parameters=values, at=at)
        for order, reduced in enumerate((model.system, model.refined)):
            first = model.start(start, values, order=1 if order else 0)
            run = ds.solve(reduced, 2.0, first, parameters=values, at=at)
            for place, name in enumerate(("slip", "road")):
                shown = run["road_reaction" if name == "road" else name]
                off = np.max(np.abs(shown - full[name])) / np.max(np.abs(full[name]))
                errors[row, 2 * order + place] = off
    slopes = np.log2(errors[-2] / errors[-1])
    words = [f"{model}, {what}" for model in ("Dirac's model", "refined") for what in ("slip", "N")]
    return Shown(
        [
            Compared(f"{word}: relative error at ε = {sizes[-1]:g}, order in ε",
                     "1" if place < 2 else "2 (for the wheelset)",
                     f"{errors[-1, place]:.1e}, {slopes[place]:.2f}")
            for place, word in enumerate(words)
        ],
        note="A car on a hilly road, a goal whose reaction N multiplies the creep of the wheel and "
        "contains the acceleration that this creep causes.",
    )  # fmt: skip


def _car() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m", y="m", phi="rad")
    w = ds.velocities(slip="m/s", turn="rad/s", lift="m/s")
    p = ds.parameters(eps=(0.01, "", ds.POSITIVE))
    slope = 0.3 * ca.cos(q.x)
    length = ca.sqrt(1 + slope**2)
    along = (w.slip + 0.5 * w.turn) / length
    rise = slope * along + w.lift
    road = ds.Holonomic("road", q.y - 0.3 * ca.sin(q.x), unit="N")
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=1.3 * (along**2 + rise**2) / 2 + 0.2 * w.turn**2 + 0.2 * rise * w.turn,
        potential=1.3 * 9.81 * q.y,
        velocities=w,
        kinematics=ca.vertcat(along, rise, w.turn),
        goals=[road],
        force={"slip": -0.3 * road.reaction * length * w.slip / p.eps, "turn": 0.8},
    )


def bound(quick: bool) -> Shown:
    """After (18): the forces up to which there is a slow motion."""
    rows: list[Compared] = []
    model = models.reduced(partial(vehicles.normalised, vehicles.WHEELSET), vehicles.saturated)
    for moment in (0.0, 1.2, 1.8):
        low, high = 0.0, 3.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            values = {**vehicles.STRAIGHT, "force_mean": middle, "moment_mean": moment}
            try:
                model.start({"y": 0.5, "psi": 0.2}, values)
                low = middle
            except (NoSlowManifoldError, SecondaryConstraintsError):
                high = middle
        rows.append(
            Compared(
                f"largest f_y beside m_z = {moment:g}",
                f"√(4 − m_z²) = {math.sqrt(4 - moment**2):.7f}",
                low,
            )
        )
    return Shown(rows, note="By bisection: beyond it the model of small velocities is refused.")


def growth(quick: bool) -> Shown:
    """After (19): the roots of the characteristic polynomials."""
    found: dict[str, list[complex]] = {"full": [], "dirac": [], "refined": []}
    sizes = (0.02, 0.01, 0.005)
    for model, roots in found.items():
        for eps in sizes:
            case = ds.problem("wheelset").case("free", model=model, eps=eps)
            rest = dict.fromkeys(case.system.dynamics.labels.states, 0.0)
            values = ds.analysis.linearize(case.system, rest, parameters=case.values).eigenvalues
            roots.append(complex(values[-1]))
    slope = np.polyfit(np.log(sizes), np.log([root.real for root in found["refined"]]), 1)[0]
    still = abs(found["dirac"][1].real) < 1e-12
    off = [abs(a - b) for a, b in zip(found["full"], found["refined"], strict=True)]
    return Shown(
        [
            Compared("(17), frequency", "1", abs(found["dirac"][1].imag)),
            Compared("(17), growth", "0", "0 to rounding" if still else found["dirac"][1].real),
            Compared("(19), order in ε of the growth", "1", float(slope)),
            Compared(
                "(19), growth at ε = 0.01",
                "positive, of the order ε",
                found["refined"][1].real,
                "",
                "ε Λ (1 + ρ_z²)/4",
            ),
            Compared("full equations, growth at ε = 0.01", "positive", found["full"][1].real),
            Compared(
                "order in ε of the roots' difference",
                "2",
                float(np.polyfit(np.log(sizes), np.log(off), 1)[0]),
            ),
        ]
    )


def derailment(quick: bool) -> Shown:
    """End of section 4: derailment in the model."""
    rows: list[Compared] = []
    figures: dict[str, Figure] = {}
    light: dict[str, Any] = {"axle_load": 20e3, "force_amplitude": 25e3, "creep": "saturated"}
    loads: list[tuple[str, dict[str, Any]]]
    loads = [("220 kN on the axle", {}), ("20 kN, strong wind, limited creep", light)]
    for name, changes in loads:
        answer = ds.problem("wheelset").case("gust", **changes).analyse("derailment")
        values = answer.values
        pressed, derailed = values["quotient_at_the_first"], values["derailment_at"]
        for words, exact, unit in (
            ("Nadal's limit of L/N", values["nadal_limit"], ""),
            ("flange first at the rail", values["flange_at"][0], "s"),
            ("L/N on arrival there", "nowhere" if pressed is None else pressed, ""),
            ("L/N beyond the limit", "never" if derailed is None else derailed, "s"),
        ):
            shown_unit = "" if isinstance(exact, str) else unit
            rows.append(Compared(f"{name}: {words}", "refers to [7]", exact, shown_unit))
        figures[name] = answer.figures["derailment"]
    return Shown(
        rows,
        figures,
        note=(
            "F_y(T) and M_z(T) by a table. The model ends where the free play of 15 mm is "
            "used up: L is the force that would have to hold the axle there. The next item shows "
            "the motion after that."
        ),
    )


def flange(quick: bool) -> Shown:
    """End of section 4: a flange that holds the wheelset, and climbs at Nadal's limit."""
    rows: list[Compared] = []
    figures: dict[str, Figure] = {}
    for name in ("climbing", "light", *(() if quick else ("gust", "hunting"))):
        answer = ds.problem("wheelset-flanges").case(name).analyse("derailment")
        found = answer.values
        if name == "climbing":
            limit, reached = found["nadal_limit"], found["quotient_of_loads"]
            rows += [
                Compared("climbing: L/N of the loads where the tread loses its rail",
                         f"Nadal: {limit:.10f}", f"{reached:.10f}", "",
                         f"relative difference {abs(reached / limit - 1.0):.0e}"),
                Compared("climbing: the tread loses its rail", "refers to [7]",
                         found["tread_lost_at"], "s"),
            ]  # fmt: skip
        else:
            ended = "back on both treads" if found["outcome"] == "completed" else found["outcome"]
            rows.append(Compared(f"{name}: largest lift of a wheel", "refers to [7]",
                                 1e3 * found["largest_lift"], "mm", ended))  # fmt: skip
        figures[name] = answer.figures["derailment"]
    return Shown(
        rows,
        figures,
        note="Treads and flanges are contacts, flanges with friction: a wheel that has lifted off "
        "slides up its flange, and back where the load falls below Nadal's limit.",
    )
