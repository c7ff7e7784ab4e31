"""Every room has its sentence in `docs/architecture.md` and its place in the picture there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def rooms():
    directory = ROOT / "daesolve"
    files = {path.stem for path in directory.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in directory.glob("*/__init__.py")}


def test_the_architecture_says_of_every_room_what_it_holds_in_the_order_of_the_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = re.findall(r"^\| `(\w+)/?` \|", PAGE, flags=re.MULTILINE)
    assert listed == layers[::-1]
    assert sorted(listed) == sorted(rooms())


def test_the_picture_shows_every_room():
    picture = (ROOT / "docs" / "_static" / "rooms.svg").read_text(encoding="utf-8")
    assert rooms() <= set(re.findall(r">\s*(\w+)\s*</text>", picture))


def test_the_modules_to_read_are_fourteen_at_most_and_there():
    table = PAGE.partition("## The modules to read first")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+\.py)` \|", table, flags=re.MULTILINE)
    assert 0 < len(named) <= 14
    mentioned = set(re.findall(r"`(\w+/\w+\.py)`", PAGE)) - {"docs/rooms.py"}
    assert [name for name in mentioned if not (ROOT / "daesolve" / name).exists()] == []
