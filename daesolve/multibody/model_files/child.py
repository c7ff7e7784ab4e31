"""Reads a model file in a separate process: `python child.py FILE`.

A foreign file may need more memory than there is, or crash the parser. MuJoCo's parser is written
in C++, and a crash ends the whole process. So it runs in a separate one, which prints its results
as JSON: `{"model": ...}`, or `{"error": sentence}`. Nothing of daesolve is imported here.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

MEMORY = 4 << 30
"""Bytes that the process may take."""
MOST_MISSING = 1000
"""Files that may be missing."""


def main(path: str) -> None:
    """Print the contents of a model file."""
    _limit_memory()
    try:
        answer = {"model": extracted(*compiled(Path(path)))}
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


def compiled(path: Path) -> tuple[Any, list[str]]:
    """Return the compiled model of a file, and the names of files that are missing.

    Pictures are not needed, nor are the shapes of bodies whose inertia the model gives.
    """
    mujoco: Any = importlib.import_module("mujoco")
    spec = mujoco.MjSpec.from_file(str(path))
    missing: list[str] = []
    for _ in range(MOST_MISSING):
        try:
            return spec.compile(), missing
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


def extracted(model: Any, missing: list[str]) -> dict[str, Any]:
    """Return the mechanics of a compiled model as plain data."""
    option = model.opt
    return {
        "gravity": _list(option.gravity),
        "density": float(option.density),
        "viscosity": float(option.viscosity),
        "wind": _list(option.wind),
        "disabled": int(option.disableflags),
        "idle": int(option.disableactuator),
        "qpos0": _list(model.qpos0),
        "bodies": [_body(model, number) for number in range(model.nbody)],
        "joints": [_joint(model, number) for number in range(model.njnt)],
        "equalities": [_equality(model, number) for number in range(model.neq)],
        "actuators": [_actuator(model, number) for number in range(model.nactuator)],
        "sites": [_placed(model, "site", number) for number in range(model.nsite)],
        "geoms": [_geom(model, number) for number in range(model.ngeom)],
        "tendons": [_tendon(model, number) for number in range(model.ntendon)],
        "keys": [_key(model, number) for number in range(model.nkey)],
        "counts": {
            name: int(getattr(model, f"n{name}"))
            for name in ("flex", "plugin", "pair", "hfield", "skin")
        },
        "missing": missing,
    }


def _list(array: Any) -> list[Any]:
    return array.tolist()


def _name(model: Any, kind: str, number: int) -> str:
    addresses = getattr(model, f"name_{kind}adr")
    first = int(addresses[number])
    return model.names[first : model.names.index(b"\0", first)].decode("utf-8", "replace")


def _placed(model: Any, kind: str, number: int) -> dict[str, Any]:
    return {
        "name": _name(model, kind, number),
        "body": int(getattr(model, f"{kind}_bodyid")[number]),
        "position": _list(getattr(model, f"{kind}_pos")[number]),
        "rotation": _list(getattr(model, f"{kind}_quat")[number]),
    }


def _body(model: Any, number: int) -> dict[str, Any]:
    return {
        "name": _name(model, "body", number),
        "parent": int(model.body_parentid[number]),
        "welded": _welded(model, number),
        "position": _list(model.body_pos[number]),
        "rotation": _list(model.body_quat[number]),
        "mass": float(model.body_mass[number]),
        "centre": _list(model.body_ipos[number]),
        "axes": _list(model.body_iquat[number]),
        "moments": _list(model.body_inertia[number]),
        "weightless": float(model.body_gravcomp[number]),
        "mocap": int(model.body_mocapid[number]) >= 0,
    }


def _welded(model: Any, number: int) -> int:
    """Return the outermost body that one is welded to: the ground where a program moves that."""
    root = int(model.body_weldid[number])
    return 0 if int(model.body_mocapid[root]) >= 0 else root


def _joint(model: Any, number: int) -> dict[str, Any]:
    kind = int(model.jnt_type[number])
    place, rate = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
    places = slice(place, place + (7, 4, 1, 1)[kind])
    rates = slice(rate, rate + (6, 3, 1, 1)[kind])
    return {
        "name": _name(model, "jnt", number),
        "kind": ("free", "ball", "slide", "hinge")[kind],
        "body": int(model.jnt_bodyid[number]),
        "position": _list(model.jnt_pos[number]),
        "axis": _list(model.jnt_axis[number]),
        "place": place,
        "rate": rate,
        "reference": _list(model.qpos0[places]),
        "slack": _list(model.qpos_spring[places]),
        "stiffness": float(model.jnt_stiffness[number]),
        "stiffness_more": _list(model.jnt_stiffnesspoly[number]),
        "yields": bool(model.jnt_springyield[number].any()),
        "limited": bool(model.jnt_limited[number]),
        "range": _list(model.jnt_range[number]),
        "force_limited": bool(model.jnt_actfrclimited[number]),
        "lifts": bool(model.jnt_actgravcomp[number]),
        "damping": _list(model.dof_damping[rates]),
        "damping_more": _list(model.dof_dampingpoly[rates]),
        "armature": _list(model.dof_armature[rates]),
        "friction": _list(model.dof_frictionloss[rates]),
    }


def _equality(model: Any, number: int) -> dict[str, Any]:
    return {
        "name": _name(model, "eq", number),
        "kind": int(model.eq_type[number]),
        "between": int(model.eq_objtype[number]),
        "first": int(model.eq_obj1id[number]),
        "second": int(model.eq_obj2id[number]),
        "active": bool(model.eq_active0[number]),
        "data": _list(model.eq_data[number]),
    }


def _actuator(model: Any, number: int) -> dict[str, Any]:
    first, controls = int(model.actuator_ctrladr[number]), int(model.actuator_ctrlnum[number])
    return {
        "name": _name(model, "actuator", number),
        "transmission": int(model.actuator_trntype[number]),
        "target": int(model.actuator_trnid[number][0]),
        "gear": _list(model.actuator_gear[int(model.actuator_outadr[number])]),
        "gain_kind": int(model.actuator_gaintype[number]),
        "gain": _list(model.actuator_gainprm[number]),
        "bias_kind": int(model.actuator_biastype[number]),
        "bias": _list(model.actuator_biasprm[number]),
        "dynamics": int(model.actuator_dyntype[number]),
        "controls": controls,
        "control": first,
        "control_limited": bool(model.actuator_ctrllimited[first : first + controls].any()),
        "damping": float(model.actuator_damping[number]),
        "damping_more": _list(model.actuator_dampingpoly[number]),
        "armature": float(model.actuator_armature[number]),
        "force_limited": bool(model.actuator_forcelimited[number]),
        "delay": float(model.actuator_delay[number]),
        "plugin": int(model.actuator_plugin[number]),
        "group": int(model.actuator_group[number]),
    }


def _geom(model: Any, number: int) -> dict[str, Any]:
    return {
        **_placed(model, "geom", number),
        "kind": int(model.geom_type[number]),
        "size": _list(model.geom_size[number]),
        "box": _list(model.geom_aabb[number]),
        "collides": [int(model.geom_contype[number]), int(model.geom_conaffinity[number])],
        "group": int(model.geom_group[number]),
    }


def _tendon(model: Any, number: int) -> dict[str, Any]:
    passive = ("stiffness", "damping", "frictionloss", "armature", "limited", "stiffnesspoly",
               "dampingpoly")  # fmt: skip
    acts = any(getattr(model, f"tendon_{name}")[number].any() for name in passive)
    return {"name": _name(model, "tendon", number), "acts": acts}


def _key(model: Any, number: int) -> dict[str, Any]:
    return {
        "name": _name(model, "key", number),
        "time": float(model.key_time[number]),
        "qpos": _list(model.key_qpos[number]),
        "qvel": _list(model.key_qvel[number]),
        "ctrl": _list(model.key_ctrl[number]),
    }


if __name__ == "__main__":
    main(sys.argv[1])
