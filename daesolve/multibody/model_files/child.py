"""Reads a model file in a separate process: `python child.py FILE PLACES`.

A foreign file may need more memory than there is, or crash the parser. MuJoCo's parser is written
in C++, and a crash ends the whole process. So it runs in a separate one, which prints its results
as JSON: `{"model": ...}`, or `{"error": sentence}`. Nothing of daesolve is imported here.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEMORY = 4 << 30
"""Bytes that the process may take."""
MESH = 7
"""MuJoCo's number of a geom that is a mesh."""
OVERRIDE = 1
"""MuJoCo's bit of parameters of contacts that hold for all of them."""
MOST_MISSING = 1000
"""Files that may be missing."""
PARTS = {
    "bodies": ("body", "parent=parentid position=pos rotation=quat mass centre=ipos axes=iquat "
               "moments=inertia weightless=gravcomp"),
    "joints": ("jnt", "body=bodyid position=pos axis place=qposadr rate=dofadr stiffness "
               "stiffness_more=stiffnesspoly limited range margin force_limited=actfrclimited "
               "force_range=actfrcrange "
               "lifts=actgravcomp"),
    "equalities": ("eq", "kind=type between=objtype first=obj1id second=obj2id active=active0 "
                   "data"),
    "actuators": ("actuator", "transmission=trntype gain_kind=gaintype gain=gainprm "
                  "bias_kind=biastype bias=biasprm dynamics=dyntype controls=ctrlnum "
                  "control=ctrladr force_limited=forcelimited force_range=forcerange damping "
                  "damping_more=dampingpoly "
                  "armature delay plugin group"),
    "sites": ("site", "body=bodyid position=pos rotation=quat"),
    "geoms": ("geom", "body=bodyid position=pos rotation=quat kind=type size box=aabb group "
              "priority friction dimension=condim mix=solmix reference=solref margin"),
    "tendons": ("tendon", ""),
    "keys": ("key", "time qpos qvel ctrl"),
}  # fmt: skip
"""By kind, what MuJoCo calls it, and its columns: NAME=COLUMN where MuJoCo calls one otherwise."""


def main(path: str, places: str) -> None:
    """Print the contents of a model file; see `specified`."""
    _limit_memory()
    try:
        spec, model, missing = specified(Path(path), json.loads(places))
        answer = {"model": {**extracted(model, missing), "reversed": _reversed(spec)}}
    except ImportError:
        answer = {"missing": "mujoco"}
    except AttributeError as error:
        answer = {"error": f"this version of MuJoCo is too old, install 4.0 or newer: {error}"}
    except MemoryError:
        answer = {"error": "it needs more memory than allowed for a model"}
    except (ValueError, OSError, RuntimeError) as error:
        answer = {"error": " ".join(str(error).split())}
    json.dump(answer, sys.stdout)


def _limit_memory() -> None:
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def specified(path: Path, places: dict[str, str]) -> tuple[Any, Any, list[str]]:
    """Return the specification of a file, which can be changed, the model, and missing files.

    Pictures are not needed, nor are the shapes of bodies whose inertia the model gives.

    Parameters
    ----------
    path
        Of the file.
    places
        Where the shapes are whose names are not paths.
    """
    mujoco: Any = importlib.import_module("mujoco")
    spec = mujoco.MjSpec.from_file(str(path))
    for mesh in spec.meshes:
        mesh.file = places.get(mesh.file, mesh.file)
    missing: list[str] = []
    for _ in range(MOST_MISSING):
        try:
            return spec, spec.compile(), missing
        except ValueError as error:
            found = _without(spec, str(error), mujoco)
            if not found:
                raise
            missing += found
    raise ValueError(f"more than {MOST_MISSING} of its files are missing")


def _without(spec: Any, message: str, mujoco: Any) -> list[str]:
    """Take the file that could not be opened out of a model; return its name, if that is possible.

    Raises
    ------
    ValueError
        It is the shape of a body that takes its inertia from it.
    """
    if "opening file" not in message:
        return []
    for texture in list(spec.textures):
        if texture.file and texture.file in message:
            for material in list(spec.materials):
                if texture.name in list(material.textures):
                    material.textures = ["" for _ in material.textures]
            name = texture.file
            spec.delete(texture)
            return [name]
    for mesh in list(spec.meshes):
        if mesh.file and Path(mesh.file).name in message:
            name = mesh.file
            own = mesh.name or Path(name).stem
            computed = (
                spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
            )
            for geom in [geom for geom in spec.geoms if geom.meshname == own]:
                moves = geom.parent.name != "world"
                if moves and (computed or not geom.parent.explicitinertial):
                    raise ValueError(
                        f"the file {name} is missing, and the inertia of the body "
                        f"{geom.parent.name!r} depends on it: give the file, or the inertia "
                        "itself"
                    )
                spec.delete(geom)
            spec.delete(mesh)
            return [name]
    return []


def _reversed(spec: Any) -> list[str]:
    """Return the ranges that end below where they begin, which MuJoCo ignores, by their owners."""
    limits = (
        ("joints", ("range", "limited"), ("actfrcrange", "actfrclimited")),
        ("tendons", ("range", "limited"), ("actfrcrange", "actfrclimited")),
        ("actuators", ("ctrlrange", "ctrllimited"), ("forcerange", "forcelimited")),
    )
    return [
        f"the {span} of the {kind[:-1]} {entry.name or f'number {number}'}"
        for kind, *spans in limits
        for number, entry in enumerate(getattr(spec, kind))
        for span, limited in spans
        if int(getattr(entry, limited)) and (ends := getattr(entry, span))[0] > ends[1]
    ]


def extracted(model: Any, missing: list[str]) -> dict[str, Any]:
    """Return the mechanics of a compiled model as plain data."""
    option = model.opt
    counted = ("flex", "plugin", "pair", "hfield", "skin")
    return {
        "gravity": option.gravity.tolist(),
        "density": float(option.density),
        "viscosity": float(option.viscosity),
        "wind": option.wind.tolist(),
        "overriding": _overriding(model),
        "disabled": int(option.disableflags),
        "idle": int(option.disableactuator),
        "qpos0": model.qpos0.tolist(),
        **{kind: _entries(model, kind) for kind in PARTS},
        "pairs": _pairs(model),
        "excludes": [[int(one) >> 16, int(one) & 0xFFFF] for one in model.exclude_signature],
        "counts": {name: int(getattr(model, f"n{name}")) for name in counted},
        "missing": missing,
    }


def _overriding(model: Any) -> list[float]:
    """Return margin, friction along two directions and solref of all contacts, if they override."""
    option = model.opt
    if not option.enableflags & OVERRIDE:
        return []
    return [float(option.o_margin), *option.o_friction[:2].tolist(), *option.o_solref.tolist()]


def _entries(model: Any, kind: str) -> list[dict[str, Any]]:
    """Return the entries of a kind by the names of `PARTS`, with what their columns do not tell."""
    own, listed = PARTS[kind]
    pairs = [entry.partition("=") for entry in listed.split()]
    columns = {n: getattr(model, f"{own}_{column or n}").tolist() for n, _, column in pairs}
    derived: dict[str, Callable[[Any, int], dict[str, Any]]] = {
        "bodies": _of_body,
        "joints": _of_joint,
        "actuators": _of_actuator,
        "geoms": _of_geom,
        "tendons": _of_tendon,
    }
    more = derived.get(kind, lambda _, __: {})
    return [
        {
            "name": _text(model.names, first),
            **{name: column[number] for name, column in columns.items()},
            **more(model, number),
        }
        for number, first in enumerate(getattr(model, f"name_{own}adr").tolist())
    ]


def _text(names: bytes, first: int) -> str:
    return names[first : names.index(b"\0", first)].decode("utf-8", "replace")


def _of_body(model: Any, number: int) -> dict[str, Any]:
    """Return the outermost body that one is welded to, or the ground where a program moves that."""
    root, moved = int(model.body_weldid[number]), model.body_mocapid >= 0
    return {"welded": 0 if moved[root] else root, "root": root, "mocap": bool(moved[number])}


def _of_joint(model: Any, number: int) -> dict[str, Any]:
    kind = int(model.jnt_type[number])
    place, rate = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
    places = slice(place, place + (7, 4, 1, 1)[kind])
    rates = slice(rate, rate + (6, 3, 1, 1)[kind])
    return {
        "kind": ("free", "ball", "slide", "hinge")[kind],
        "reference": model.qpos0[places].tolist(),
        "slack": model.qpos_spring[places].tolist(),
        "yields": bool(model.jnt_springyield[number].any()),
        "damping": model.dof_damping[rates].tolist(),
        "damping_more": model.dof_dampingpoly[rates].tolist(),
        "armature": model.dof_armature[rates].tolist(),
        "friction": model.dof_frictionloss[rates].tolist(),
    }


def _of_actuator(model: Any, number: int) -> dict[str, Any]:
    first, controls = int(model.actuator_ctrladr[number]), int(model.actuator_ctrlnum[number])
    own = slice(first, first + controls)
    return {
        "target": int(model.actuator_trnid[number][0]),
        "gear": model.actuator_gear[int(model.actuator_outadr[number])].tolist(),
        "control_limited": bool(model.actuator_ctrllimited[own].any()),
        "control_range": model.actuator_ctrlrange[own].ravel().tolist(),
    }


def _of_geom(model: Any, number: int) -> dict[str, Any]:
    return {
        "collides": [int(model.geom_contype[number]), int(model.geom_conaffinity[number])],
        "vertices": _hull(model, number),
        "pulls": bool(model.geom_adhesion[number].any() or model.geom_surfacevel[number].any()),
    }


def _hull(model: Any, number: int) -> list[list[float]]:
    """Return the vertices of the convex hull of a geom that is a mesh, if it has one."""
    mesh = int(model.geom_dataid[number])
    if model.geom_type[number] != MESH or model.mesh_graphadr[mesh] < 0:
        return []
    first = int(model.mesh_graphadr[mesh])
    count = int(model.mesh_graph[first])
    own = model.mesh_graph[first + 2 + count : first + 2 + 2 * count]
    return model.mesh_vert[int(model.mesh_vertadr[mesh]) + own].tolist()


def _pairs(model: Any) -> list[dict[str, Any]]:
    """Return the pairs of geoms that touch whatever else is said of them."""
    names = "first=geom1 second=geom2 dimension=dim friction reference=solref margin"
    pairs = [entry.partition("=") for entry in names.split()]
    columns = {n: getattr(model, f"pair_{column or n}").tolist() for n, _, column in pairs}
    return [{n: column[k] for n, column in columns.items()} for k in range(model.npair)]


def _of_tendon(model: Any, number: int) -> dict[str, Any]:
    passive = ("stiffness", "damping", "frictionloss", "armature", "limited", "stiffnesspoly",
               "dampingpoly")  # fmt: skip
    own: dict[str, Any] = {
        name: getattr(model, f"tendon_{name}")[number].tolist()
        for name in (*passive, "range", "margin", "lengthspring", "actfrclimited", "actfrcrange")
    }
    first = int(model.tendon_adr[number])
    places = slice(first, first + int(model.tendon_num[number]))
    motion: dict[str, Any] = {
        "name": _text(model.names, int(model.name_tendonadr[number])),
        "kind": "sum" if (model.wrap_type[places] == 1).all() else "tendon",
        **dict.fromkeys(("body", "place", "rate"), 0),
        "position": [0.0] * 3,
        "axis": [0.0] * 3,
        **dict.fromkeys(("yields", "lifts"), False),
        "reference": [0.0],
        "slack": own["lengthspring"],
        "stiffness": own["stiffness"],
        "stiffness_more": own["stiffnesspoly"],
        "limited": bool(own["limited"]),
        "range": own["range"],
        "margin": own["margin"],
        "force_limited": bool(own["actfrclimited"]),
        "force_range": own["actfrcrange"],
        "damping": [own["damping"]],
        "damping_more": own["dampingpoly"],
        "armature": [own["armature"]],
        "friction": [own["frictionloss"]],
    }
    return {
        "acts": any(getattr(model, f"tendon_{name}")[number].any() for name in passive),
        "motion": motion,
        "kinds": model.wrap_type[places].tolist(),
        "over": model.wrap_objid[places].tolist(),
        "numbers": model.wrap_prm[places].tolist(),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
