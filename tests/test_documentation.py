"""Every public name has a docstring that names its parameters, and a place in docs/api."""

import dataclasses
import doctest
import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.core.expressions.linear import solve_definite
from daesolve.core.results.trajectory import results
from daesolve.reporting import papers
from daesolve.reporting.gallery import write_page
from daesolve.verification.audit import audit_samples

ROOT = Path(__file__).parent.parent
ROOMS = {name: room for name in dir(ds) if inspect.ismodule(room := getattr(ds, name))}


def public_names():
    """Every public name, as it is written after `daesolve.`."""
    at_the_top = {name: getattr(ds, name) for name in dir(ds) if name not in ROOMS}
    yield from at_the_top.items()
    for module in ROOMS.values():
        errors = [
            name
            for name, error in vars(module).items()
            if inspect.isclass(error) and issubclass(error, ds.DaesolveError | Warning)
        ]
        for name in getattr(module, "__all__", errors):
            if at_the_top.get(name) is not getattr(module, name):
                yield f"{module.__name__}.{name}".removeprefix("daesolve."), getattr(module, name)
    yield "core.expressions.linear.solve_definite", solve_definite
    yield "verification.audit.audit_samples", audit_samples
    yield "reporting.gallery.write_page", write_page
    yield from ((f"reporting.papers.{name}", getattr(papers, name)) for name in papers.__all__)


def entries():
    """Every name that has an entry in the pages of the API, as it is written after `daesolve.`."""
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```{eval-rst}\n(.*?)```", text, re.DOTALL):
            module = ""
            for kind, name in re.findall(r"^ *\.\. ([\w:]+):: ([\w.]+)$", block, re.MULTILINE):
                if kind == "currentmodule":
                    module = f"{name}."
                elif kind.startswith(("auto", "py:")) and kind != "automethod":
                    yield f"{module}{name}".removeprefix("daesolve.")


ENTRIES = set(entries())
PUBLIC = dict(public_names())
CLASSES = {name: item for name, item in PUBLIC.items() if inspect.isclass(item)}
FUNCTIONS = {name: item for name, item in PUBLIC.items() if inspect.isfunction(item)}


def members(kind):
    """What a user may call or read of a class, with what holds its docstring."""
    for name, member in vars(kind).items():
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        elif isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        if not name.startswith("_") and inspect.isfunction(member):
            yield name, member


def test_every_public_name_has_an_entry_in_the_api():
    assert set(PUBLIC) - ENTRIES == set()


def test_every_entry_of_the_api_is_a_public_name_or_what_one_returns():
    returned = {f"core.results.trajectory.results.{name}" for name in dir(results)}
    pytest_plugin = {
        "daesolve_pytest.drift",
        "reporting.drift_testing.DriftTest",
        "reporting.drift_testing.DriftError",
    }
    assert ENTRIES - {*PUBLIC, *returned, *pytest_plugin, "typing"} == set()


def untold_of_function(function):
    """What the docstring of a function lacks."""
    text = inspect.getdoc(function) or ""
    if not text:
        return ["a docstring"]
    parameters = inspect.signature(function).parameters
    return [parameter for parameter in parameters if not re.search(rf"\b{parameter}\b", text)]


def untold_of_class(kind):
    """What the docstrings of a class and of its methods lack."""
    own = vars(kind).get("__doc__") or ""
    if not own or own.startswith(f"{kind.__name__}("):  # dataclasses write that where nothing is
        return ["a docstring"]
    text = " ".join(base.__doc__ or "" for base in kind.__mro__)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    told = [field.name for field in fields if field.init and not field.name.startswith("_")]
    untold = [field for field in told if not re.search(rf"\b{field}\b", text)]
    return untold + [name for name, member in members(kind) if not inspect.getdoc(member)]


def test_every_public_function_tells_its_parameters():
    assert FUNCTIONS
    untold = {name: untold_of_function(function) for name, function in FUNCTIONS.items()}
    assert {name: lacking for name, lacking in untold.items() if lacking} == {}


def test_every_public_class_tells_its_fields_and_methods():
    assert CLASSES
    untold = {name: untold_of_class(kind) for name, kind in CLASSES.items()}
    assert {name: lacking for name, lacking in untold.items() if lacking} == {}


EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "daesolve").rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.long_beyond(21)
@pytest.mark.default_rows(3)
@pytest.mark.slow_rows(
    "daesolve.analysis.exponents",
    "daesolve.analysis.inverse_dynamics",
    "daesolve.analysis.orbits.continuation",
    "daesolve.analysis.orbits.stability_maps",
    "daesolve.export.fmu.exporting",
    "daesolve.core.posing.sampled",
)
@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_a_module_run_and_print_what_they_say(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
