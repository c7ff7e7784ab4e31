"""Runs of the net that analyse systems and motions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

import daesolve as ds
from tools.net import mechanisms, names, systems
from tools.net.fingerprints import Fingerprint, digest, masked, of_fields, of_run, readable
from tools.net.registry import named

STANDING = {"x": 0.0, "x_dot": 0.0}


@named("compared")
def compared(scratch: Path) -> Fingerprint:
    """Compare pairs of formulations and solvers at two tolerances."""
    found = ds.problem("pendulum").case().compare(
        ["feedback", "index-2", "null-space"], ["taylor", "cvodes", "idas"], 2.0,
        tolerances=[1e-6, 1e-9],
    )  # fmt: skip
    runs: Fingerprint = {}
    for run in found.runs:
        comparison = of_fields(run, leave=["trajectory"])
        motion = None if run.trajectory is None else of_run(run.trajectory)
        runs[f"{run.pair} {run.tolerance}"] = {**comparison, "run": motion}
    rest = {name: digest(getattr(found, name)) for name in ("refused", "agreement")}
    return {**runs, **rest, "standard": masked(found.standard.note)}


@named("compared with hits")
def compared_with_hits(scratch: Path) -> Fingerprint:
    """Compare runs with resets against a given end."""
    found = names.compare(
        systems.peg_pendulum(), [ds.Feedback()], [ds.Taylor(), ds.Dop853()], 2.0,
        {"x": 0.84, "x_dot": 0.0, "y_dot": 0.0},
    )  # fmt: skip
    runs = {run.pair: of_fields(run, leave=["trajectory"]) for run in found.runs}
    return {**runs, "standard": masked(found.standard.note), "agreement": digest(found.agreement)}


@named("reference in quadruple precision")
def reference(scratch: Path) -> Fingerprint:
    """Run a reference for a smooth motion, and for one with impacts."""
    smooth = ds.problem("pendulum").case().reference_run(2.0, at=[1.0, 2.0])
    released = {"x": 0.84, "x_dot": 0.0, "y_dot": 0.0}
    hits = names.reference_run(systems.peg_pendulum(), 1.5, released, at=[1.5])
    return {"smooth": of_fields(smooth), "hits": of_fields(hits)}


@named("sensitivity")
def sensitivity(scratch: Path) -> Fingerprint:
    """Differentiate a smooth motion, one with impacts, and one with constraints and resets."""
    smooth = ds.problem("pendulum").case().sensitivity(["gravity"], 3.0)
    ball = names.sensitivity(
        systems.bouncing_ball(), 3.0, {"y": 1.0, "y_dot": 0.0}, by=["y", "restitution", "gravity"]
    )
    turned = names.sensitivity(systems.pendulum("turn", "stop"), 5.0, {"x": -0.8}, by=["gravity"])
    found = {"smooth": smooth, "ball": ball, "turned": turned}
    return {name: of_fields(entry) for name, entry in found.items()}


@named("lyapunov exponents")
def lyapunov(scratch: Path) -> Fingerprint:
    """Measure exponents of a regular motion, of a chaotic one, and of a billiard."""
    start = {"x": -0.7, "y": 0.1, "x_dot": 1.0, "y_dot": 0.3}
    found = {
        "regular": names.lyapunov_exponent(systems.pendulum(), 50.0, {"x": -0.8}),
        "rods": names.lyapunov_exponent(
            ds.problem("pendulum-chain").case("double"), 20.0, count=None
        ),
        "billiard": names.lyapunov_exponent(systems.billiard(0.3), 60.0, start),
    }
    return {name: of_fields(entry) for name, entry in found.items()}


@named("sections")
def sections(scratch: Path) -> Fingerprint:
    """Take sections by a guard, by an event, and of a finished run."""
    q = ds.coordinates(x="m", y="m")
    kinetic, well = (q.dot.x**2 + q.dot.y**2) / 2, (q.x**2 + q.y**2) / 2
    henon = ds.MechanicalSystem(
        q, kinetic=kinetic, potential=well + q.x**2 * q.y - q.y**3 / 3,
        outputs={"speed": (kinetic, "")},
    )  # fmt: skip
    start = {"x": 0.0, "y": 0.1, "x_dot": 0.4, "y_dot": 0.1}
    by_guard = names.sections(henon, q.x, 100.0, start, direction=ds.RISING)
    swinging = systems.pendulum("lowest")
    by_name = names.sections(swinging, "lowest", 20.0, {"x": -0.8})
    finished = names.section_of(ds.solve(swinging, 20.0, {"x": -0.8}), "lowest")
    found = {"guard": by_guard, "event": by_name, "finished": finished}
    return {name: of_fields(entry) for name, entry in found.items()}


@named("linearized")
def linearized(scratch: Path) -> Fingerprint:
    """Linearize a bicycle at two speeds, and a hanging pendulum."""
    bicycle = ds.problem("bicycle").case().system
    found: Fingerprint = {}
    for speed in (4.0, 5.0):
        state = {"speed": speed, "lean": 0.0, "steer": 0.0}
        small = names.linearize(bicycle, state, coordinates=("lean", "steer"))
        found[f"bicycle at {speed}"] = of_fields(small) | _eigenvalues(small.eigenvalues)
    hanging = names.linearize(systems.pendulum(), {"y": -1.0})
    return {**found, "hanging": of_fields(hanging) | _eigenvalues(hanging.eigenvalues)}


def _eigenvalues(values: np.ndarray) -> Fingerprint:
    parts = {f"{k}": value.real for k, value in enumerate(values)}
    return {"end_state": readable(parts)}


@named("root locus")
def root_locus(scratch: Path) -> Fingerprint:
    """Follow the eigenvalues of a wheelset and of a bicycle over the speed."""
    case = ds.problem("wheelset").case("suspended")
    values = {"speed": np.arange(5.0, 81.0, 15.0)}
    wheelset = names.root_locus(case.system, values, parameters=case.full_parameters)
    bicycle = names.root_locus(
        ds.problem("bicycle").case().system,
        {"speed": [3.0, 4.0, 5.0, 5.5, 7.0]},
        {"lean": 0.0, "steer": 0.0},
    )
    found = {"wheelset": wheelset, "bicycle": bicycle}
    return {name: {**of_fields(entry), "text": str(entry)} for name, entry in found.items()}


@named("consistent state")
def consistent(scratch: Path) -> Fingerprint:
    """Find consistent states of a pendulum and of a linkage."""
    swing = names.consistent_state(systems.pendulum(), {"x": 0.7, "y": -0.5, "x_dot": 1.0})
    crank = ds.problem("slider-crank").case()
    start = names.consistent_state(crank.system, {"phi_1": 1.0}, ["phi_1"])
    return {"pendulum": of_fields(swing), "slider-crank": of_fields(start)}


# -- dry friction ---------------------------------------------------------------------------------


@named("friction variants")
def variants(scratch: Path) -> Fingerprint:
    """Ask which supports of a prism are loaded, case by case."""
    problem = ds.problem("prism")
    found: Fingerprint = {}
    for entry in problem.cases:
        case = problem.case(entry.name)
        guides = names.variant_problem(case.system, case.values)
        solution = guides.solve({"x": 0.0, "x_dot": -1.0}, policy="all")
        answers = [_answer(answer) for answer in solution.answers]
        found[entry.name] = {"answers": answers, "accelerations": digest(solution.accelerations)}
    return found


def _answer(answer: Any) -> dict[str, Any]:
    """Return the loaded supports and their reactions."""
    return {
        "variant": list(answer.variant),
        "reactions": [repr(float(value)) for value in answer.reactions],
        "determinant": repr(float(answer.determinant)),
        "physical": answer.physical,
    }


@named("friction at rest")
def at_rest(scratch: Path) -> Fingerprint:
    """Ask whether friction holds a drawer and a disc, and up to which load."""
    drawer, disc = systems.drawer(), systems.disc()
    held = {
        "drawer": names.stiction(drawer, {"x": 0.42}, {"pull": 1e6}),
        "disc": names.stiction(disc, {"x": 0.0}, {"push": 2.0}),
        "disc pushed": names.stiction(disc, {"x": 0.0}, {"push": 4.0}),
    }
    limits = {
        "drawer limit": names.stiction_limit(drawer, {"x": 0.0}, "off", between=(0.0, 1.0)),
        "disc limit": names.stiction_limit(disc, {"x": 0.0}, "push", between=(0.0, 10.0)),
    }
    found = {name: {**_rest(entry), "text": str(entry)} for name, entry in held.items()}
    return {**found, **{name: _rest(entry) for name, entry in limits.items()}}


def _rest(found: Any) -> Fingerprint:
    return {**of_fields(found, leave=["answer"]), "answer": _answer(found.answer)}


@named("friction by time steps")
def time_steps(scratch: Path) -> Fingerprint:
    """Step a drawer and a block until they rest."""
    drawer = names.moreau(systems.drawer(), STANDING, 0.5, 1e-3)
    block = names.moreau(systems.block(), {"x": 0.0, "x_dot": 1.0}, 0.5, 1e-2, {"push": 1.0})
    return {
        name: {**of_fields(found), "end_state": readable(found.end_state)}
        for name, found in (("drawer", drawer), ("block", block))
    }


@named("friction of pads")
def pads(scratch: Path) -> Fingerprint:
    """Compute the reduced friction of pads with several distributions of pressure."""
    ratios = np.array([0.0, 1e-3, 0.3, 0.653, 0.999, 1.0, 1.001, 4.0, 1e3])
    found = {
        f"{exponent}": digest(names.reduced_friction(ratios, exponent=exponent))
        for exponent in (-0.5, 0.0, 1.0, 2.0)
    }
    return {**found, "nodes": digest(names.pad_nodes(6, 4))}


# -- constraints ----------------------------------------------------------------------------------


@named("substituted")
def substituted(scratch: Path) -> Fingerprint:
    """Ask what may be substituted, substitute it, and run the smaller system."""
    unicycle = systems.unicycle()
    start = {"psi": 0.4, "along": -0.9, "turning": 0.7}
    found = names.is_quasi_holonomic(unicycle, ["phi"])
    less = names.is_quasi_holonomic(unicycle.without(["skate"]), ["phi"])
    sleigh = names.eliminate(unicycle, ["phi"]).system
    return {
        "asked": str(found),
        "asked without the skate": str(less),
        "full": of_run(ds.solve(unicycle, 10.0, start)),
        "sleigh": of_run(ds.solve(sleigh, 10.0, start)),
    }


@named("small velocities")
def small_velocities(scratch: Path) -> Fingerprint:
    """Make the models of small velocities of a wheelset, and run them."""
    model = names.small_velocities(systems.wheelset(), small=["y_dot", "psi_dot"])
    start = {"y": 1.0, "psi": 0.3, "y_dot": -0.4, "psi_dot": 0.9}
    runs = {
        f"order {order}": of_run(ds.solve(system, 6.0, model.start(start, order=order)))
        for order, system in enumerate((model.system, model.refined))
    }
    slow = model.on_slow_manifold(start)
    kinds = list(model.fast_spectrum(start).kinds)
    return {**runs, "slow": readable(slow), "kinds": kinds, "validity": str(model.validity(start))}


@named("distributions")
def distributions(scratch: Path) -> Fingerprint:
    """Ask for the consequences of constraints: growth, combinations, closure."""
    cart, bogies = ds.problem("cart").case().system, ds.problem("bogies").case().system
    growth = names.growth_vector(bogies, {"theta_1": 0.4, "theta_2": -0.3})
    combinations = names.substitutable_combinations(cart)
    closure = names.no_slip_closure(cart)
    return {
        "growth": of_fields(growth),
        "combinations": of_fields(combinations),
        "closure": of_fields(closure),
    }


@named("drawn")
def drawn(scratch: Path) -> Fingerprint:
    """Draw a mechanism in its motion."""
    made = mechanisms.double_pendulum()
    run = ds.solve(made.system(), 0.5, guess=made.start, at=[0.0, 0.25, 0.5])
    drawing = names.drawing_of(made)(
        {"parameters": run.description["parameters"], "states": dict(run.states)}
    )
    return {"series": digest(drawing.series), "shapes": len(drawing.shapes), "start": made.start}


@named("public names")
def public_names(scratch: Path) -> Fingerprint:
    """List every public name of daesolve and its sections, with its parameters."""
    found = {name: names.public(name) for name in ds.__all__}
    for module in names.modules():
        found |= {name: getattr(module, name) for name in module.__all__}
    kinds = {name: _kind(value) for name, value in found.items() if not inspect.ismodule(value)}
    errors = {name: "an exception" for name in dir(ds.errors) if name.endswith("Error")}
    return {"names": kinds, "errors": errors}


def _kind(value: Any) -> str:
    """Return what a public name calls, with the names of its parameters."""
    if not callable(value):
        return type(value).__name__
    try:
        return f"({', '.join(inspect.signature(value).parameters)})"
    except ValueError:
        return "a class"
