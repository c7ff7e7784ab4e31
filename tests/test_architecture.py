"""Every room has its sentence in `docs/architecture.md` and its place in the picture there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def rooms(floor):
    """The rooms in a folder of the library."""
    files = {path.stem for path in floor.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in floor.glob("*/__init__.py")}


TOP, CORE = rooms(ROOT / "daesolve"), rooms(ROOT / "daesolve" / "core")


def test_the_architecture_says_of_every_room_what_it_holds_in_the_order_of_the_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    core, top = (entry["layers"] for entry in settings["tool"]["importlinter"]["contracts"][:2])
    listed = re.findall(r"^\| `(core/)?(\w+)/?` \|", PAGE, flags=re.MULTILINE)
    assert [name for floor, name in listed if floor] == core[::-1]
    assert [name for floor, name in listed if not floor] == top[::-1]
    assert (set(core), set(top)) == (CORE, TOP)


def test_the_picture_shows_every_room():
    picture = (ROOT / "docs" / "_static" / "rooms.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r">\s*(\w+)\s*</text>", picture))
    assert drawn >= (TOP | CORE) - {"core"}


def test_the_modules_to_read_are_fourteen_at_most_and_there():
    table = PAGE.partition("## The modules to read first")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+\.py)` \|", table, flags=re.MULTILINE)
    assert 0 < len(named) <= 14
    mentioned = set(re.findall(r"`([\w/]+/\w+\.py)`", PAGE)) - {"docs/rooms.py"}
    assert [name for name in mentioned if not (ROOT / "daesolve" / name).exists()] == []
