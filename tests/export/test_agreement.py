"""Exported Python and C have the numbers of the equations that they come from, bit by bit."""

import ctypes
import subprocess
import sys
from types import ModuleType
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.equations.fitting import fitting_values
from daesolve.export.c_project import reach_of_rounding
from daesolve.export.plant import Plant
from daesolve.export.quantities import Equations
from tests.export.compiled import built, called, needs_compiler
from tests.export.modules import loaded
from tests.export.plants import controlled, driven, quaternion, switched

EPSILON = float(np.finfo(float).eps)
PROBLEMS = [
    ("rolling-wheel", "hoop"),
    ("omni-rolling", None),
    ("four-bar", None),
    ("slider-crank", None),
    ("chaplygin-sleigh", None),
    ("clutches", None),
    ("caster", None),
    ("robot-arm", None),
    ("prism", None),
    ("rattleback", None),
    ("block-on-belt", None),
    pytest.param("bicycle", None, marks=pytest.mark.slow),
]
POSED = {f.__name__: f for f in (driven, switched, quaternion, controlled)}


def states_near(begin: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Return the start and random states about it, the last of which meet no constraint."""
    generator = np.random.default_rng(3)
    spreads = (0.0, 1e-2, 0.1, 0.1, 1.0)
    return [
        (float(generator.uniform(0.0, 3.0)), begin + spread * generator.normal(size=len(begin)))
        for spread in spreads
    ]


def agree(found: np.ndarray, ours: np.ndarray, elsewhere: np.ndarray) -> bool:
    """Compare to 1e-15, and what sines that are rounded otherwise may make of it."""
    with np.errstate(invalid="ignore"):
        near = np.abs(found - ours) <= 1e-15 * np.abs(ours) + elsewhere
    return bool(np.all(near | (found == ours) | (np.isnan(found) & np.isnan(ours))))


def compare(plant: Plant, module: ModuleType, library: ctypes.CDLL, system: Any) -> None:
    """Compare every quantity at random states, with our own functions of the system as posed."""
    dynamics = system.dynamics
    for time, state in states_near(plant.begin):
        values = np.array([0.7 if e.default is None else e.default for e in plant.values])
        for name in plant.functions:
            tables = [plant.begun(time, state, values)] if plant.lookups else []
            function = plant.functions[name]
            ours = np.asarray(function.call([time, state, values, *tables])[0])
            elsewhere = reach_of_rounding(function, [time, state, values, *tables])[0]
            elsewhere = elsewhere.reshape(ours.shape, order="F") - EPSILON * np.abs(ours)
            in_python = getattr(module, name)(time, state, values).reshape(ours.shape)
            assert agree(in_python, ours, elsewhere), f"{name} of Python at {state}"
            in_c = np.zeros(ours.shape)
            called(library, f"{plant.name}_{name}", time, state, values, in_c)
            assert agree(in_c, ours, elsewhere), f"{name} of C at {state}"
    assert set(plant.functions) >= {"rhs", "accelerations"}
    assert [entry.name for entry in plant.states] == list(dynamics.labels.states)


@pytest.mark.long_beyond(3)
@pytest.mark.long_rows("bicycle-None", "omni-rolling-None")
@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("problem", "name"), PROBLEMS)
def test_exported_problems_have_our_numbers(tmp_path, problem, name):
    case = ds.problem(problem).case(name)
    system = case.system
    start = dict(zip(system.dynamics.labels.states, case.consistent_start().state, strict=True))
    plant = system.plant("plant", start, values=case.values)
    module = loaded(system.to_python(tmp_path / "plant.py", start, values=case.values))
    directory = system.to_c(tmp_path / "plant", start, values=case.values)
    compare(plant, module, built(directory / "plant.c", "-O1"), system)


@pytest.mark.long_beyond(3)
@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.0-driven", "5.0-driven", "5.0-quaternion", "5.0-switched")
@needs_compiler
@pytest.mark.parametrize("pose", POSED.values(), ids=POSED)
@pytest.mark.parametrize("rate", [0.0, 5.0])
def test_exported_systems_have_our_numbers(tmp_path, pose, rate):
    system = pose()
    plant = system.plant("plant", rate=rate)
    module = loaded(system.to_python(tmp_path / "plant.py", rate=rate))
    directory = system.to_c(tmp_path / "plant", rate=rate)
    compare(plant, module, built(directory / "plant.c"), system)


@pytest.mark.slow_rows("driven")
@pytest.mark.parametrize("pose", [driven, switched])
def test_functions_and_the_module_find_pieces_and_branches_that_a_run_would_be_in(tmp_path, pose):
    """A run has them as discrete values, which `begin` and the switches' own events set."""
    system = pose()
    module = loaded(system.to_python(tmp_path / "plant.py"))
    function, dynamics = system.function("rhs"), system.dynamics
    equations = Equations(dynamics, {})
    in_mode = ca.Function(
        "rhs", [dynamics.t, dynamics.x, dynamics.p], [equations.written("rhs")[0]]
    )
    for time, state in states_near(np.full(len(dynamics.labels.states), 0.8)):
        values = dict(dynamics.values) | ({"push": 0.7} if "push" in dynamics.values else {})
        for row in dynamics.drives:
            given = [time, state, dynamics.value_vector(values)]
            found = begun(dynamics, row, given)
            values |= found
        values = fitting_values(dynamics, values, state, time)
        ours = np.asarray(in_mode(time, state, dynamics.value_vector(values))).ravel()
        given = {"push": 0.7} if "push" in values else {}
        at = function.at(dict(zip(dynamics.labels.states, state, strict=True)), given, time)
        # The same sums in another order: some units in the last place of the largest terms.
        for theirs in (module.rhs(time, state, given), list(at.values())):
            np.testing.assert_allclose(theirs, ours, rtol=1e-13, atol=1e-13 * np.max(np.abs(ours)))


def begun(dynamics, row, given):
    """Return the values with which a table begins, by our own expressions of them."""
    column = ca.vertcat(*row.begin.values())
    found = ca.Function("begin", [dynamics.t, dynamics.x, dynamics.p], [column])(*given)
    return dict(zip(row.begin, np.asarray(found).ravel().tolist(), strict=True))


ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("daesolve", "casadi", "scipy", "numba"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
import numpy as np
import plant

state = plant.state(x=0.5)
print(repr(float(plant.rhs(0.25, state, {"push": 2.0})[2])))
after, values = plant.reset_strike(0.0, plant.state(x=2.0, y=np.sin(2.0)), {"push": 0.0})
print(repr(float(plant.residuals(0.0, after, values)[1])))
assert not {"daesolve", "casadi"} & {*sys.modules}
"""


@pytest.mark.slow
def test_the_module_runs_where_neither_daesolve_nor_casadi_can_be_imported(tmp_path):
    system = driven()
    start = {"x": 0.0, "y": 0.0, "x_dot": 1.0, "y_dot": 1.0}
    system.to_python(tmp_path / "plant.py", start)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)], check=True, capture_output=True, text=True
    )
    rate, left = map(float, done.stdout.split())
    plant = system.plant("plant", start)
    state, values = np.array([0.5, 0.0, 1.0, 1.0]), np.array([2.0, 30.0, 2.0, 0.25])
    assert [entry.name for entry in plant.values] == ["mass", "stiffness", "push", "brake"]
    tables = plant.begun(0.25, state, values)
    ours = plant.functions["rhs"].call([0.25, state, values, tables])[0]
    assert rate == float(ours[2])
    assert abs(left) < 1e-15
