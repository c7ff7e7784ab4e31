"""Every public name has a docstring that names its parameters, and a place in docs/api."""

import dataclasses
import doctest
import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

import pytest

import daesolve
import daesolve.drawing
import daesolve.errors

ROOT = Path(__file__).parent.parent
API = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
ENTRIES = set(re.findall(r"^ *\.\. (?:auto|py:)\w+:: ([\w.]+)", API, re.MULTILINE))
PUBLIC = {
    **{name: getattr(daesolve, name) for name in daesolve.__all__},
    **{name: getattr(daesolve.drawing, name) for name in daesolve.drawing.__all__},
    **{
        name: error
        for name, error in vars(daesolve.errors).items()
        if inspect.isclass(error) and issubclass(error, daesolve.DaesolveError)
    },
}
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
    assert {
        name for name in PUBLIC if name not in {entry.split(".")[-1] for entry in ENTRIES}
    } == set()


def test_every_entry_of_the_api_is_a_name():
    known = {*PUBLIC, *dir(importlib.import_module("daesolve.trajectory.results"))}
    known |= {*importlib.import_module("daesolve.typing").__all__, "typing"}
    known |= {"drift", "DriftTest", "DriftError", "__call__"}
    assert {entry for entry in ENTRIES if entry.split(".")[-1] not in known} == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_tells_its_parameters(name):
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert text
    assert [parameter for parameter in parameters if not re.search(rf"\b{parameter}\b", text)] == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_class_tells_its_fields_and_methods(name):
    kind = CLASSES[name]
    own = vars(kind).get("__doc__") or ""
    assert own
    assert not own.startswith(f"{name}(")  # what dataclasses write where there is nothing
    text = " ".join(base.__doc__ or "" for base in kind.__mro__)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    told = [field.name for field in fields if field.init and not field.name.startswith("_")]
    assert [field for field in told if not re.search(rf"\b{field}\b", text)] == []
    assert [member for member, function in members(kind) if not inspect.getdoc(function)] == []


EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "daesolve").rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_a_module_run_and_print_what_they_say(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_a_shell_completes_public_names_and_no_inner_modules():
    assert set(dir(daesolve)) == {*daesolve.__all__, "drawing", "errors", "typing"}
    assert all(hasattr(daesolve, name) for name in dir(daesolve))
