"""The core stands alone, and a feature can be deleted without the others noticing."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "daesolve"
BASE = {"core", "errors"}
NEEDS = {
    "errors": set(),
    "core": {"errors"},
    "contact": BASE,
    "simulator": BASE,
    "solvers": BASE,
    "nonholonomic": BASE,
    "export": BASE | {"contact"},
    "verification": BASE | {"contact"},
    "multibody": BASE | {"contact", "verification"},
    "analysis": BASE | {"contact", "export", "nonholonomic", "verification"},
    "plugins": BASE
    | {"analysis", "contact", "export", "multibody", "nonholonomic", "verification"},
    "typing": {"contact", "core", "plugins"},
    "ensembles": BASE | {"analysis", "plugins", "verification"},
    "reporting": BASE
    | {"analysis", "contact", "ensembles", "export", "multibody", "plugins", "verification"},
    "cli": BASE
    | {"analysis", "ensembles", "export", "multibody", "plugins", "reporting", "verification"},
}
"""What each room builds on; the others it does not know."""
FEATURES = (
    *("solvers", "contact", "nonholonomic", "export"),
    *("verification", "simulator", "multibody", "analysis"),
)
COPY_ALONE = """
import importlib, pkgutil, sys
# An editable installation would find what was deleted.
editable = [one for one in sys.meta_path if "editable" in getattr(one, "__module__", "")]
sys.meta_path[:] = [one for one in sys.meta_path if one not in editable]
"""
TESTS = f"{COPY_ALONE}import pytest; sys.exit(pytest.main(sys.argv[1:]))"
SMOKE = (
    COPY_ALONE
    + """
import daesolve as ds
for module in pkgutil.walk_packages(ds.__path__, "daesolve."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
q = ds.coordinates(x="m", y="m")
rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
kinetic, potential = (q.dot.x**2 + q.dot.y**2) / 2, 9.81 * q.y
low = ds.Event("low", q.x, ds.EITHER)
pendulum = ds.MechanicalSystem(q, kinetic=kinetic, potential=potential, goals=[rod], events=[low])
run = ds.solve(pendulum, 2.0, {"x": -1.0}, solver=sys.argv[1])
assert run.outcome.good and run.drift["energy"].max_relative < 1e-8, run
assert len(run.events) == 2, run.events
"""
)


def uses(room: str) -> set[str]:
    """The other rooms that a room imports, wherever in its modules."""
    folder = LIBRARY / room
    files = [*folder.rglob("*.py")] if folder.is_dir() else [LIBRARY / f"{room}.py"]
    names: set[str] = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "daesolve":
                names |= {f"daesolve.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("daesolve.")} - {room}


def building_on(room: str) -> set[str]:
    """The rooms that need a room, or one that needs it."""
    found = {room}
    while more := {name for name, needed in NEEDS.items() if needed & found} - found:
        found |= more
    return found


def library_without(rooms: set[str], folder: Path) -> dict[str, str]:
    """Copy the library without some rooms, and return the environment in which it is found."""
    shutil.copytree(LIBRARY, folder / "daesolve")
    for room in rooms:
        found = folder / "daesolve" / room
        shutil.rmtree(found) if found.is_dir() else found.with_suffix(".py").unlink()
    return os.environ | {"PYTHONPATH": str(folder)}


@pytest.mark.slow
def test_no_two_public_classes_have_one_name():
    bearers: dict[str, list[str]] = {}
    for file in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bearers.setdefault(node.name, []).append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in bearers.items() if len(files) > 1} == {}


def run(environment: dict[str, str], solver: str) -> None:
    command = [sys.executable, "-c", SMOKE, solver]
    subprocess.run(command, check=True, env=environment, cwd=environment["PYTHONPATH"])


@pytest.mark.slow
def test_each_room_imports_the_rooms_on_which_it_is_said_to_build_and_no_other():
    assert {room: uses(room) for room in NEEDS} == NEEDS


@pytest.mark.slow
@pytest.mark.parametrize("room", FEATURES)
def test_a_feature_can_be_deleted_and_what_does_not_build_on_it_works(room, tmp_path):
    run(library_without(building_on(room), tmp_path), "dop853")


@pytest.mark.slow
def test_the_core_works_alone(tmp_path):
    run(library_without(NEEDS.keys() - BASE, tmp_path), "taylor")


@pytest.mark.long
def test_the_tests_of_the_core_pass_without_the_features(tmp_path):
    environment = library_without(NEEDS.keys() - BASE, tmp_path) | {"DAESOLVE_CORE_ALONE": "1"}
    for name in ("core", "reference"):
        shutil.copytree(ROOT / "tests" / name, tmp_path / "tests" / name)
    for file in (ROOT / "tests").glob("[!t]*.*"):
        shutil.copy(file, tmp_path / "tests")
    for name in ("tests/tiers.py", "pyproject.toml", "daesolve_pytest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-c", TESTS, "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "tests/core"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    counts = {
        kind: int(count) for count, kind in re.findall(r"(\d+) (passed|skipped)", done.stdout)
    }
    # What holds runs of the core against the audit, or goes into a feature, is skipped.
    assert counts["passed"] >= 10 * counts["skipped"], counts
