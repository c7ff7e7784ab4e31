"""A large system that was prepared before is read from disk, and moves as it did, bit for bit."""

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.events.transitions import LAWS
from daesolve.core.expressions import disk_cache
from daesolve.core.features import Reference, references
from daesolve.core.preparation import lately
from daesolve.core.preparation.request import Request
from daesolve.core.solvers.scaling import Scaling, scaled
from daesolve.core.system.system import System

REQUEST = Request(0.5)


def chain(rods: int = 14, gravity: float = 9.81) -> System:
    """Rods in the plane, each with its place and angle, hung one below the other at a slant."""
    names = {f"{letter}_{k}": "m" for k in range(rods) for letter in "xy"}
    q = ds.coordinates(**names, **{f"angle_{k}": ds.ANGLE for k in range(rods)})
    import casadi as ca

    kinetic, potential, goals = ca.SX(0), ca.SX(0), []
    ends = [(ca.SX(0), ca.SX(0))]
    for k in range(rods):
        x, y, angle = q[f"x_{k}"], q[f"y_{k}"], q[f"angle_{k}"]
        kinetic += (q.dot[f"x_{k}"] ** 2 + q.dot[f"y_{k}"] ** 2 + q.dot[f"angle_{k}"] ** 2 / 12) / 2
        potential += gravity * y
        half = (ca.cos(angle) / 2, ca.sin(angle) / 2)
        for letter, place, own, end in zip("xy", (x, y), half, ends[-1], strict=True):
            goals.append(ds.Holonomic(f"pin_{letter}_{k}", place - own - end))
        ends.append((x + half[0], y + half[1]))
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, goals=goals)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path))
    lately.forget()
    yield tmp_path
    lately.forget()


def run_of(system: System) -> ds.Trajectory:
    return ds.solve(system, 0.5, at=ds.every(0.1))


@pytest.mark.long
def test_what_was_prepared_by_another_process_moves_in_the_same_bits(place):
    found = [
        subprocess.run(
            [sys.executable, "-c", "from tests.core.preparation.test_kept import told; told()"],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    first, second = (json.loads(text) for text in found)
    assert (first.pop("prepared"), second.pop("prepared")) == (1, 0)
    assert first == second


def told() -> None:
    """Print how often it was prepared, and the bits of the run."""
    count = 0
    own = lately.prepare

    def counted(*arguments):
        nonlocal count
        count += 1
        return own(*arguments)

    lately.prepare = counted
    run = run_of(chain())
    bits = {name: [value.hex() for value in run[name].tolist()] for name in ("x_7", "angle_dot_0")}
    drift = {name: float(entry.max_abs).hex() for name, entry in run.drift.items()}
    notes = list(run.description["notes"])
    print(json.dumps({"prepared": count, "bits": bits, "drift": drift, "notes": notes}))


@pytest.mark.slow
def test_everything_that_is_read_is_what_was_prepared(place):
    system = chain()
    first = lately.prepare_once(system, REQUEST)
    second = lately.read_preparation(system, REQUEST)
    assert second is not None
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name in ("values", "scales", "path"):
            assert one.tobytes() == other.tobytes(), field.name
        elif field.name == "samples":
            assert [t for t, _ in one] == [t for t, _ in other]
            assert all(np.array_equal(x, y) for (_, x), (_, y) in zip(one, other, strict=True))
        elif field.name == "start":
            assert np.array_equal(one.state, other.state)
            assert one.changes == other.changes
        elif field.name not in ("problem", "compilation"):
            assert one == other, field.name
    for name in lately.PLAIN:
        assert getattr(first.problem, name) == getattr(second.problem, name), name
    for name in lately.FUNCTIONS:
        one, other = getattr(first.problem, name), getattr(second.problem, name)
        assert one.serialize() == other.serialize(), name


@pytest.mark.slow
def test_what_was_prepared_serves_no_other_system_request_or_laws(place, monkeypatch):
    lately.prepare_once(chain(), REQUEST)
    lighter, system = chain(gravity=9.80), chain()
    assert lately.read_preparation(lighter, REQUEST) is None
    other = Request(0.5, initial={"angle_0": 0.1})
    assert lately.read_preparation(system, other) is None
    assert lately.read_preparation(system, REQUEST) is not None
    laws = (Reference("a", "Law"), *references(LAWS))
    monkeypatch.setattr(lately, "references", lambda _: laws)
    assert lately.read_preparation(system, REQUEST) is None


@pytest.mark.slow
def test_what_changed_between_posing_and_preparing_is_not_kept(place):
    outputs = {}
    system = replace(chain(), outputs=outputs)
    outputs["doubled"] = 2.0 * system.coordinates.x_0
    lately.prepare_once(system, REQUEST)
    assert lately.read_preparation(system, REQUEST) is None


@pytest.mark.slow
def test_stiff_solvers_find_the_equations_that_their_jacobians_are_of(place):
    system, solver = chain(), ds.RadauIIA(rtol=1e-8)
    first = ds.solve(system, 0.2, solver=solver)
    lately.forget()
    second = ds.solve(system, 0.2, solver=solver)
    assert first.end_state == second.end_state


@pytest.mark.slow
def test_what_was_kept_is_scaled_as_what_was_prepared(place):
    """A solver that sees states in other units gets the same equations of both."""
    system = chain()
    first = lately.prepare_once(system, REQUEST)
    second = lately.read_preparation(system, REQUEST)
    assert second is not None
    scaling = Scaling(states=(2,) * len(first.problem.labels.states), time=1)
    one, other = (scaled(found.problem, scaling) for found in (first, second))
    assert one.rhs.serialize() == other.rhs.serialize()
    assert one.equations is not None
    assert other.equations is not None
    assert other.equations.rate.shape == one.equations.rate.shape
    assert other.equations.refinements == one.equations.refinements


@pytest.mark.slow
def test_spoiled_files_are_prepared_anew(place):
    first = run_of(chain())
    for path in place.glob("*" + disk_cache.SUFFIX):
        path.write_bytes(path.read_bytes()[:-7])
    lately.forget()
    assert run_of(chain()).end_state == first.end_state


def test_small_systems_are_not_kept(place):
    run_of(chain(1))
    assert not list(place.iterdir())
