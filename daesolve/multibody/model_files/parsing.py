"""Finds the files of a model, and compiles it with MuJoCo's parser in a separate process."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, cast
from xml.parsers import expat

from daesolve.errors import MissingPackageError, ModelFileError
from daesolve.multibody.model_files.left_out import unread
from daesolve.multibody.model_files.model import FileModel
from daesolve.multibody.model_files.urdf import limited_joints

SECONDS = 30.0
"""The time allowed for compiling a file, s."""
SUFFIXES = (".xml", ".mjcf", ".urdf")
"""The suffixes of model files."""
LARGEST = 64 << 20
"""Bytes that a file may have."""
MOST_BODIES = 2000
"""Bodies that a model may have."""
DEEPEST = 500
"""Elements that may be within each other."""
ROOTS = {"mujoco": "MJCF", "robot": "URDF"}
"""The outermost elements of model files."""
ANYWHERE = ("http://", "https://", "package://", "model://", "file://")
"""Beginnings of names that are not paths."""

ENDS = ("range", "control_range", "force_range")
"""Numbers that may be infinite."""


def parsed(path: Path, within: Path | None = None, seconds: float = SECONDS) -> FileModel:
    """Return the model in a file.

    Parameters
    ----------
    path
        Of an MJCF or URDF file.
    within
        The directory that must contain all files of the model; None means the directory of the
        file.
    seconds
        How long it may take.

    Raises
    ------
    ModelFileError
        The file does not exist, or contains no model.
    MissingPackageError
        MuJoCo, whose parser reads it, is not installed.
    """
    sources(path, within)
    limited = limited_joints(path)
    given = _model_of(path, places_of(path, within), seconds)
    for joint in given["joints"]:
        joint["limited"] |= joint["name"] in limited
    _check_numbers(path, given)
    return FileModel.of({**given, "unread": unread(path)})


def _check_numbers(path: Path, given: Mapping[str, Any]) -> None:
    """Refuse numbers that are not finite, and ranges that MuJoCo ignores.

    A range may be infinite at one end or at both.

    Raises
    ------
    ModelFileError
        There are some.
    """
    for span in given["reversed"]:
        raise ModelFileError(f"{span} of {path} ends below where it begins: exchange its numbers")
    for kind in ("bodies", "joints", "equalities", "actuators", "sites", "geoms", "tendons", "keys",
                 "pairs"):  # fmt: skip
        for entry in given[kind]:
            if not _finite(entry):
                named = f" of {entry['name']!r}" if entry.get("name") else ""
                raise ModelFileError(
                    f"{path} has a number{named}, among its {kind}, that is not finite"
                )
    for name in ("gravity", "density", "viscosity", "wind", "overriding"):
        if not _finite(given[name]):
            raise ModelFileError(f"the {name} of {path} is not finite")


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return all(
            _finite(own) or (name in ENDS and _not_nan(own)) for name, own in entries.items()
        )
    if isinstance(value, list):
        return all(map(_finite, value))  # pyright: ignore[reportUnknownArgumentType]
    return not isinstance(value, float) or isfinite(value)


def _not_nan(ends: Sequence[float]) -> bool:
    return not any(map(isnan, ends))


def _model_of(path: Path, places: Mapping[str, str], seconds: float) -> dict[str, Any]:
    child = Path(__file__).with_name("child.py")
    try:
        # MuJoCo writes its log to where it is run.
        with TemporaryDirectory() as place:
            done = subprocess.run(
                [sys.executable, "-P", str(child), str(path.resolve()), json.dumps(places)],
                capture_output=True,
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=place,
            )
    except subprocess.TimeoutExpired:
        raise ModelFileError(f"{path} was not read within {seconds:g} s: it is too large") from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise ModelFileError(
            f"{path} cannot be read: MuJoCo's parser crashed (status {done.returncode})"
        ) from None
    if "missing" in answer:
        raise MissingPackageError(answer["missing"], "import")
    if "error" in answer:
        raise ModelFileError(f"{path} cannot be read: {answer['error']}")
    return answer["model"]


@dataclass(eq=False)
class _FileContents:
    """What is found in one file.

    Parameters
    ----------
    path, base
        Of the file, and the directory from which its names of others count.
    repeated
        How often what is open now is repeated, for each open element.
    included, attached
        The names of files that are parts of it, and of whole models.
    names
        The values of other attributes `file` and `filename`.
    folders
        Where the compiler looks for shapes and pictures.
    bodies
        How many there are, repeated ones each.
    """

    path: Path
    base: Path
    open: list[str] = field(default_factory=list[str])
    repeated: list[int] = field(default_factory=lambda: [1])
    included: list[str] = field(default_factory=list[str])
    attached: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    folders: list[str] = field(default_factory=list[str])
    root: str = ""
    bodies: int = 0

    def begins(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take up an element."""
        self.root = self.root or name
        self.open.append(name)
        if len(self.open) > DEEPEST:
            raise ModelFileError(f"{self.path} has more than {DEEPEST} nested elements")
        for attribute, text in attributes.items():
            if _has_no_number(attribute, text):
                raise ModelFileError(
                    f"{self.path} has {attribute}={text!r} in <{name}>, which is not finite"
                )
        times = 1
        if name == "replicate":
            times = _whole(attributes.get("count", "1"))
        self.repeated.append(self.repeated[-1] * times)
        if name in ("body", "link"):
            self.bodies += self.repeated[-1]
        if name == "include":
            self.included.append(attributes.get("file", ""))
        elif name == "model" and "file" in attributes:
            self.attached.append(attributes["file"])
        else:
            self.names += [attributes[key] for key in ("file", "filename") if key in attributes]
        if name == "compiler":
            folders = ("meshdir", "texturedir", "assetdir")
            self.folders += [attributes[key] for key in folders if key in attributes]

    def ends(self, _: str) -> None:
        """Leave an element."""
        self.open.pop()
        self.repeated.pop()

    def refuses(self, *_: object) -> NoReturn:
        """Refuse anything that could grow without limit."""
        raise ModelFileError(f"{self.path} declares entities, which a model file does not need")


def _has_no_number(attribute: str, text: str) -> bool:
    """Return whether there is a "nan" among numbers, which MuJoCo takes for none being given."""
    words = text.split()
    if "nan" not in text.lower() or (len(words) == 1 and attribute != "mass"):
        return False
    try:
        return any(isnan(float(word)) for word in words)
    except ValueError:
        return False


def _whole(text: str) -> int:
    try:
        return max(int(text), 1)
    except ValueError:
        return 1  # the parser will say what is wrong with it


def sources(path: Path, within: Path | None = None) -> list[Path]:
    """Return the file and those that it includes or takes shapes from, each once.

    Parameters
    ----------
    path
        Of the file.
    within
        The directory that must contain all files; None means the directory of the file.

    Raises
    ------
    ModelFileError
        The file does not exist, or is not the XML of a model; it includes itself, or lies outside
        the directory; or there are more bodies than a mechanism may have.
    """
    path, home = _resolved(path, within)
    contents = _contents_of(path, home)
    root = contents[path].root
    if root not in ROOTS:
        known = " or ".join(f"<{name}> ({kind})" for name, kind in ROOTS.items())
        raise ModelFileError(
            f"{path} is not a model file: it begins with <{root}>, not with {known}"
        )
    count = sum(file.bodies for file in contents.values())
    if count > MOST_BODIES:
        raise ModelFileError(
            f"{path} has {count} bodies, but a model may have at most {MOST_BODIES}"
        )
    found = dict.fromkeys(contents)
    for name, folders in _assets_of(contents):
        found |= dict.fromkeys(_places(path, home, folders, name))
    return list(found)


def places_of(path: Path, within: Path | None = None) -> dict[str, str]:
    """Return where the files are whose names in a model are not paths, as in `package://`.

    Such a file is looked for by the last parts of its name, as many of them as fit, in the
    directories of the model and those above.

    Parameters
    ----------
    path, within
        As in `sources`.
    """
    path, home = _resolved(path, within)
    return {
        name: str(place)
        for name, folders in _assets_of(_contents_of(path, home))
        if name.startswith(ANYWHERE)
        for place in _places(path, home, folders, name)
    }


def _resolved(path: Path, within: Path | None) -> tuple[Path, Path]:
    try:
        path = path.resolve()
        return path, path.parent if within is None else within.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a null character
        raise ModelFileError(f"{str(path)!r} cannot be read: {error}") from None


def _contents_of(path: Path, home: Path) -> dict[Path, _FileContents]:
    contents: dict[Path, _FileContents] = {}
    _gather(path, path.parent, home, (), contents)
    return contents


def _assets_of(contents: Mapping[Path, _FileContents]) -> Iterator[tuple[str, list[Path]]]:
    """Yield the names of shapes and pictures, and the directories where they may be."""
    folders_by_base: dict[Path, list[Path]] = {}
    for file in contents.values():
        folders = folders_by_base.setdefault(file.base, [file.base])
        folders += [file.base / folder for folder in file.folders]
    for file in contents.values():
        folders = folders_by_base[file.base]
        for name in file.names:
            yield name, folders


def _places(path: Path, home: Path, folders: list[Path], name: str) -> list[Path]:
    """Return where a shape or picture may be that are there."""
    if name.startswith(ANYWHERE):
        parts = PurePosixPath(name.partition("://")[2]).parts
        above = [folder for folder in path.parent.parents if folder.is_relative_to(home)]
        tried = [
            (folder / Path(*parts[first:])).resolve()
            for first in range(len(parts))
            for folder in (*folders, *above)
        ]
        return [place for place in tried if place.is_relative_to(home) and place.is_file()][:1]
    places = [(folder / name).resolve() for folder in folders if name and "\0" not in name]
    for place in places:
        if not place.is_relative_to(home):
            _leads_out(path, name, home)
    return [place for place in places if place.is_file()]


def _leads_out(path: Path, name: str, home: Path) -> NoReturn:
    raise ModelFileError(
        f"{path} names the file {name!r}, which lies outside {home}: keep a model in one "
        "directory, or allow another one in Python, daesolve.multibody.read(path, within=DIR)"
    )


def _gather(
    path: Path, base: Path, home: Path, above: tuple[Path, ...], contents: dict[Path, _FileContents]
) -> None:
    if path in above:
        raise ModelFileError(f"{above[0]} includes {path.name} within itself")
    if path in contents:
        return
    own = contents[path] = _scan(path, base)
    for name in (*own.included, *own.attached):
        inner = (base / name).resolve()
        if not inner.is_relative_to(home):
            _leads_out(path, name, home)
        if not inner.is_file():
            raise ModelFileError(f"{path} includes {name!r}, which does not exist")
        its_base = inner.parent if name in own.attached else base
        _gather(inner, its_base, home, (*above, path), contents)


def _scan(path: Path, base: Path) -> _FileContents:
    content = _content(path)
    contents = _FileContents(path, base)
    reader = expat.ParserCreate()
    reader.StartElementHandler = contents.begins
    reader.EndElementHandler = contents.ends
    reader.EntityDeclHandler = contents.refuses
    try:
        reader.Parse(content, True)
    except expat.ExpatError as error:
        raise ModelFileError(f"{path} is not XML: {error}") from None
    except ValueError as error:  # an encoding that it does not know
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is not XML: {error}") from None
    return contents


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ModelFileError(f"the model file {path} does not exist")
        if path.stat().st_size > LARGEST:
            raise ModelFileError(f"{path} is larger than {LARGEST >> 20} MB, the limit for a model")
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}") from None


def digest_of_model(path: Path) -> str:
    """Return the SHA-256 of a model file and of all files that it uses.

    Raises
    ------
    ModelFileError
        As in `sources`.
    """
    whole = hashlib.sha256()
    for file in sources(path):
        content = file.read_bytes()
        whole.update(len(content).to_bytes(8, "little") + content)
    return whole.hexdigest()
