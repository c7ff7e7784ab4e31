"""Loops over a segment, and code that checks the type of a formulation."""

from __future__ import annotations

import ast
from collections.abc import Callable

from structure.sources import FUNCTIONS, Measures, Module, called, calls, last_name

LOOPS = (ast.While, ast.For, ast.AsyncFor)


def segment_loops(modules: list[Module]) -> list[str]:
    """List the solvers' loops over a segment, as `module:class` or `module:function`."""
    marks = {"StepBlock", "SegmentEnd", "observe"}
    return [
        f"{module.name}:{node.name}"
        for module in modules
        if module.stands_in("solvers")
        for node in module.tree.body
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and calls(node) & marks
        if any(isinstance(part, LOOPS) for part in ast.walk(node))
    ]


def makers(modules: list[Module], made: str) -> list[str]:
    """List the top-level classes and functions of a module that call something of this name."""
    return [
        f"{module.name}:{node.name}"
        for module in modules
        for node in module.tree.body
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and made in calls(node)
    ]


def descendants(modules: list[Module], ancestor: str) -> dict[str, ast.ClassDef]:
    """Find the classes that derive from a class, by name."""
    classes = [
        node for module in modules for node in module.tree.body if isinstance(node, ast.ClassDef)
    ]
    found: dict[str, ast.ClassDef] = {}
    while True:
        known = {ancestor, *found}
        new = {
            node.name: node
            for node in classes
            if node.name not in known and known & {last_name(base) for base in node.bases}
        }
        if not new:
            return found
        found |= new


def names_on_the_command_line(classes: dict[str, ast.ClassDef]) -> set[str]:
    """Return the values of `name` in the bodies of classes."""
    return {
        statement.value.value
        for node in classes.values()
        for statement in node.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
        for target in getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        if isinstance(target, ast.Name) and target.id == "name"
    }


class TypeQuestions:
    """Finds the code that checks the type of a formulation.

    Parameters
    ----------
    modules
        All modules of the library.
    """

    def __init__(self, modules: list[Module]) -> None:
        self.modules = [module for module in modules if not module.stands_in("formulations")]
        classes = descendants(modules, "Formulation")
        self.classes = set(classes)
        self.names = names_on_the_command_line(classes)

    def by_type(self) -> list[str]:
        """List, as `module:line`, the checks for a class."""
        return self._places(self._asks_for_class)

    def by_name(self) -> list[str]:
        """List, as `module:line`, the comparisons with a name."""
        return self._places(self._compares_name)

    def _places(self, asks: Callable[[ast.AST], bool]) -> list[str]:
        return [
            f"{module.name}:{line}"
            for module in self.modules
            for line in sorted(
                getattr(node, "lineno", 0) for node in ast.walk(module.tree) if asks(node)
            )
        ]

    def _asks_for_class(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and called(node) in ("isinstance", "issubclass"):
            return len(node.args) > 1 and self._holds_class(node.args[1])
        if isinstance(node, ast.MatchClass):
            return last_name(node.cls) in self.classes
        if isinstance(node, ast.Compare):
            return any(
                last_name(part) in self.classes
                for side in (node.left, *node.comparators)
                for part in (
                    side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
                )
            )
        return False

    def _holds_class(self, node: ast.AST) -> bool:
        return any(last_name(part) in self.classes for part in ast.walk(node))

    def _compares_name(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Compare):
            return False
        sides = [node.left, *node.comparators]
        if any(
            isinstance(part, ast.Attribute)
            and part.attr == "name"
            and last_name(part.value) in self.classes
            for side in sides
            for part in ast.walk(side)
        ):
            return True
        constants = {
            part.value
            for side in sides
            for part in ast.walk(side)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        asked = {last_name(side) for side in sides} & {"name", "formulation"}
        return bool(asked and constants & self.names)


def questions(modules: list[Module]) -> Measures:
    """Count the loops over a segment and the checks of a formulation's type."""
    loops, asking = segment_loops(modules), TypeQuestions(modules)
    by_type, by_name = asking.by_type(), asking.by_name()
    places = sorted({place.rpartition(":")[0] for place in by_type + by_name})
    return {
        "loops over a segment": len(loops),
        "places of these loops": loops,
        "places that make a SegmentEnd": makers(modules, "SegmentEnd"),
        "questions for a formulation's class": len(by_type),
        "where a class is asked for": by_type,
        "comparisons with a formulation's name": len(by_name),
        "where a name is compared": by_name,
        "modules with such questions": len(places),
    }
