"""What `ds.` offers: few names, those that the stub lists, imported when they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import daesolve as ds

HEAVY = {"matplotlib", "PIL", "pyarrow", "rich", "jinja2", "distributed", "pandas", "pydantic"}
OTHER_METHODS = {"heyoka", "sksundae", "scipy.integrate", "scipy.optimize", "scipy.interpolate"}
"""What a short run by Taylor's method does without."""


def loaded_by(code):
    """Run a program in a process of its own, and return what it has imported by its end."""
    told = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    run = subprocess.run(told, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_names_fit_on_a_screen_so_that_a_shell_can_show_them_at_once():
    assert len(dir(ds)) <= 87


def test_stub_all_and_dir_list_the_same_names_and_each_can_be_had():
    stub = ast.parse(Path(ds.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    listed = [alias.name for node in imports for alias in node.names]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(ds.__all__) == set(dir(ds))
    assert all(hasattr(ds, name) for name in listed)


@pytest.mark.parametrize("room", ["drawing", "fmu", "friction", "solvers"])
def test_a_room_within_another_is_the_first_that_a_program_may_name(room):
    assert any(name.endswith(f".{room}") for name in loaded_by(f"import daesolve as ds\nds.{room}"))


def test_no_public_name_is_hidden_by_a_module_of_that_name():
    rooms = {path.stem for path in Path(ds.__file__).parent.iterdir()}
    modules = {name for name in dir(ds) if getattr(ds, name) is sys.modules.get(f"daesolve.{name}")}
    assert set(dir(ds)) & rooms == modules


def test_importing_daesolve_imports_no_room_and_none_of_the_packages_that_take_long():
    loaded = loaded_by("import daesolve")
    # Where features are registered, but none is imported.
    registered = {"daesolve.core", "daesolve.core.features", "daesolve.errors"}
    assert {name for name in loaded if name.startswith("daesolve.")} == registered
    assert loaded.isdisjoint(HEAVY | {"numpy", "scipy", "casadi", "heyoka"})


@pytest.mark.slow
def test_posing_and_running_a_system_draws_writes_and_distributes_nothing():
    loaded = loaded_by(
        "import daesolve as ds\n"
        "q = ds.coordinates(x='m')\n"
        "spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)\n"
        "ds.solve(spring, 1.0, {'x': 1.0})"
    )
    assert loaded.isdisjoint(HEAVY | OTHER_METHODS)
    assert loaded.isdisjoint(f"daesolve.{room}" for room in ("reporting", "gallery", "template"))


@pytest.mark.slow
def test_the_problems_that_come_with_daesolve_import_nothing_that_draws():
    loaded = loaded_by("import daesolve as ds; assert ds.problems()[0]")
    assert loaded.isdisjoint(
        {"matplotlib", "jinja2", "daesolve.reporting", "daesolve.reporting.gallery"}
    )


@pytest.mark.slow
def test_help_of_the_command_line_imports_no_room_of_the_library():
    loaded = loaded_by(
        "from typer.testing import CliRunner\n"
        "from daesolve.cli.app import app\n"
        "assert 'doctor' in CliRunner().invoke(app, ['--help']).stdout"
    )
    modules = {name for name in loaded if name.startswith("daesolve.")}
    core = {name for name in modules if name.startswith("daesolve.core.")}
    assert {name.split(".")[1] for name in modules} == {"cli", "core", "errors"}
    assert core == {"daesolve.core.features", "daesolve.core.interruptions"}
    assert loaded.isdisjoint({"numpy", "scipy", "casadi", "heyoka", "matplotlib"})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Body", r"did you mean ds\.multibody\.Body\?"),
        ("sensitivity", r"did you mean ds\.analysis\.sensitivity\?"),
        ("write_page", "`dir\\(ds\\)` lists all"),
        ("PosingError", r"did you mean ds\.errors\.PosingError\?"),
        ("coordinate", r"did you mean ds\.coordinates"),
    ],
)
def test_a_name_that_is_elsewhere_is_found_by_the_message(name, hint):
    with pytest.raises(AttributeError, match=f"daesolve has no name '{name}'.*{hint}"):
        getattr(ds, name)
