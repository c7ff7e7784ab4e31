"""Model files that are broken, too large, or lead elsewhere: one sentence, and no crash."""

from __future__ import annotations

from pathlib import Path

import pytest

import daesolve as ds
from daesolve.errors import DaesolveError, ModelFileError
from daesolve.multibody.model_files.parsing import places_of, sources

pytest.importorskip("mujoco")

WORLD = "<mujoco><worldbody>{}</worldbody></mujoco>"
BODY = '<body name="a"><joint axis="0 1 0"/><geom size="{}" pos="0.2 0 0"/></body>'
REPLICATED = '<replicate count="{0}"><replicate count="{0}">{1}</replicate></replicate>'
NEEDED = """<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><body name="b">
<joint axis="0 1 0"/>{}<geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
TEXTS = {
    "empty": ("", "is not XML"),
    "text": ("hello", "is not XML"),
    "control characters": ("\0\1\2", "is not XML"),
    "page": ("<html><body/></html>", "begins with <html>"),
    "sdf": ('<sdf version="1.5"/>', "begins with <sdf>"),
    "entities": ('<!DOCTYPE a [<!ENTITY b "c">]><mujoco model="&b;"/>', "declares entities"),
    "deep": ("<mujoco>" * 5000, "nested elements"),
    "nothing moves": (WORLD.format('<geom size="1"/>'), "no body that can move"),
    "nan size": (WORLD.format(BODY.format("nan")), "nan size"),
    "nan place": (WORLD.format(BODY.format(0.1).replace("<body", '<body pos="nan 0 0"')), "finite"),
    "infinite damping": (
        WORLD.format(BODY.format(0.1).replace("<joint", '<joint damping="inf"')),
        "finite",
    ),
    "nan of a contact": (WORLD.format(BODY.format('0.1" friction="nan 0 0')), "not finite"),
    "nan margin": (WORLD.format(BODY.format('0.1" margin="nan')), "not finite"),
    "nan mass": (WORLD.format(BODY.format('0.1" mass="nan')), "not finite"),
    "nan medium": ("<mujoco><option density='nan'/></mujoco>", "the density of"),
    "negative friction": (
        WORLD.format(BODY.format(0.1).replace("<joint", '<joint frictionloss="-5"')),
        "negative",
    ),
    "reversed range": (
        WORLD.format(BODY.format(0.1).replace("<joint", '<joint name="j" range="10 -10"')),
        "the range of the joint j .* ends below",
    ),
    "reversed controls": (
        WORLD.format(BODY.format(0.1).replace("<joint", '<joint name="j"')).replace(
            "</mujoco>", '<actuator><motor joint="j" ctrlrange="1 -1"/></actuator></mujoco>'
        ),
        "the ctrlrange of the actuator number 0 .* ends below",
    ),
    "too large": (WORLD.format(BODY.format("1e400")), "too large"),
    "no mass": (WORLD.format(BODY.format('0.1" mass="0')), "mass"),
    "twice": (WORLD.format(2 * BODY.format(0.1)), "repeated name 'a'"),
    "a million": (WORLD.format(REPLICATED.format(1000, BODY.format(0.1))), "1000000 bodies"),
    "without end": (WORLD.format(REPLICATED.format(10**9, BODY.format(0.1))), "bodies"),
    "includes nothing": ('<mujoco><include file="no.xml"/></mujoco>', "does not exist"),
    "includes itself": ('<mujoco><include file="model.xml"/></mujoco>', "within itself"),
    "attaches itself": (
        '<mujoco><asset><model name="m" file="model.xml"/></asset></mujoco>',
        "within itself",
    ),
    "attaches from elsewhere": (
        '<mujoco><asset><model name="m" file="../m.xml"/></asset></mujoco>',
        "lies outside",
    ),
    "leads out": ('<mujoco><include file="../../etc/passwd"/></mujoco>', "lies outside"),
    "leads out from the root": ('<mujoco><include file="/etc/passwd"/></mujoco>', "lies outside"),
    "shape leads out": (NEEDED.format("../../etc/passwd", ""), "lies outside"),
    "shape is missing": (NEEDED.format("m.stl", ""), "depends on it"),
    "null": ('<mujoco><include file="a&#0;b"/></mujoco>', "is not XML"),
    "unknown attribute": (WORLD.format('<body shape="round"/>'), "shape"),
    "plugin": ('<mujoco><extension><plugin plugin="no.such"/></extension></mujoco>', "no.such"),
    "links in a ring": (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
        '<parent link="a"/><child link="b"/></joint><joint name="k" type="fixed">'
        '<parent link="b"/><child link="a"/></joint></robot>',
        "cannot be read",
    ),
    "one name of two joints": (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint></robot>',
        "two joints of .* are called 'j'",
    ),
    "link without mass": (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>',
        "mass",
    ),
}


@pytest.mark.long_beyond(4)
@pytest.mark.default_rows(1)
@pytest.mark.slow_rows(
    "nothing moves",
    "plugin",
    "unknown attribute",
    "link without mass",
    "nan place",
    "nan margin",
    "nan medium",
    "no mass",
    "negative friction",
    "reversed range",
    "reversed controls",
    "shape is missing",
)
@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_is_no_model_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    text, said = TEXTS[name]
    path = tmp_path / "model.xml"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=said) as caught:
        ds.multibody.read(path)
    assert "\n" not in str(caught.value)


def test_includes_in_a_ring_are_refused(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.xml").write_text(f'<mujoco><include file="{other}.xml"/></mujoco>')
    with pytest.raises(ModelFileError, match="within itself"):
        ds.multibody.read(tmp_path / "a.xml")


def test_models_that_are_attached_are_sources_with_their_own_shapes(tmp_path: Path) -> None:
    inner = tmp_path / "legs" / "leg.xml"
    (inner.parent / "meshes").mkdir(parents=True)
    asset = '<mujoco><compiler meshdir="meshes"/><asset><mesh file="{}"/></asset></mujoco>'
    inner.write_text(asset.format("foot.stl"))
    shape = inner.parent / "meshes" / "foot.stl"
    shape.write_text("")
    path = tmp_path / "model.xml"
    path.write_text('<mujoco><asset><model file="legs/leg.xml"/></asset></mujoco>')
    assert sources(path) == [path, inner, shape]
    inner.write_text(asset.format("../../../foot.stl"))
    with pytest.raises(ModelFileError, match="lies outside"):
        ds.multibody.read(path)


@pytest.mark.parametrize("given", ["absent.xml", "", ".", "a\0b.xml", None, 3, b"model.xml"])
def test_what_is_no_path_of_a_file_is_refused(given: object) -> None:
    with pytest.raises(DaesolveError):
        ds.multibody.read(given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_files_of_a_wider_directory_are_read_where_it_is_named(tmp_path: Path) -> None:
    inner = tmp_path / "model"
    inner.mkdir()
    (tmp_path / "common.xml").write_text('<mujoco><option gravity="0 0 -1"/></mujoco>')
    text = WORLD.format(BODY.format(0.1)).replace(
        "<worldbody", '<include file="../common.xml"/><worldbody'
    )
    (inner / "model.xml").write_text(text)
    with pytest.raises(ModelFileError, match="within=DIR"):
        ds.multibody.read(inner / "model.xml")
    mechanism = ds.multibody.read(inner / "model.xml", within=tmp_path)
    assert mechanism.gravity == [0.0, 0.0, -1.0]


@pytest.mark.slow
def test_shapes_of_packages_are_found_by_the_ends_of_their_names(tmp_path: Path) -> None:
    home = tmp_path / "arm"
    for folder in ("urdf", "meshes"):
        (home / folder).mkdir(parents=True)
    (home / "meshes" / "link.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    (tmp_path / "link.obj").write_text("elsewhere")
    path = home / "urdf" / "arm.urdf"
    path.write_text(
        """<robot name="arm"><link name="base"/><link name="link"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
        <mesh filename="package://arm/meshes/link.obj"/></geometry></collision></link>
        <joint name="pin" type="continuous"><parent link="base"/><child link="link"/></joint>
        </robot>"""
    )
    mechanism = ds.multibody.read(path, within=home)
    assert not mechanism.left_out
    (geom,) = mechanism.assembly.model.geoms
    assert len(geom.vertices) == 4
    # In the directory of the file alone it is missing.
    assert not places_of(path)
    (path.parent / "link.obj").write_text("")
    assert places_of(path) == {"package://arm/meshes/link.obj": str(path.parent / "link.obj")}


def test_a_missing_shape_is_left_out_where_the_inertia_is_given(tmp_path: Path) -> None:
    inertia = '<inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>'
    path = tmp_path / "model.xml"
    path.write_text(NEEDED.format("m.stl", inertia))
    mechanism = ds.multibody.read(path)
    assert [(entry.kind, entry.names) for entry in mechanism.left_out] == [
        ("files that are missing", ("m.stl",))
    ]


@pytest.mark.slow
def test_a_missing_shape_of_the_ground_is_left_out(tmp_path: Path) -> None:
    ground = '<geom type="mesh" mesh="m"/>' + BODY.format(0.1)
    path = tmp_path / "model.xml"
    asset = '<mujoco><asset><mesh name="m" file="m.stl"/></asset>'
    path.write_text(WORLD.format(ground).replace("<mujoco>", asset))
    mechanism = ds.multibody.read(path)
    assert ("files that are missing", ("m.stl",)) in [
        (entry.kind, entry.names) for entry in mechanism.left_out
    ]


@pytest.mark.slow
def test_names_that_are_no_words_become_words_each_once(tmp_path: Path) -> None:
    named = ["left-knee", "left_knee", "колено", "ground", "", "1st", "left knee"]
    bodies = [
        f'<body name="{name}"><joint name="{name}"/><geom size="1" pos="1 0 0"/></body>'
        for name in named
    ]
    motors = [f'<motor name="{name}" joint="{name}"/>' for name in named if name]
    text = WORLD.format("".join(bodies)).replace(
        "</mujoco>", f"<actuator>{''.join(motors)}</actuator></mujoco>"
    )
    path = tmp_path / "model.xml"
    path.write_text(text, encoding="utf-8")
    mechanism = ds.multibody.read(path)
    names = [
        *(body.name for body in mechanism.bodies),
        *mechanism.freedoms,
        *mechanism.inputs.names,
    ]
    assert len(set(names)) == len(names) == 20
    assert all(name.isidentifier() and name.isascii() for name in names)
    run = ds.solve(mechanism.system(), 0.01, guess=mechanism.start)
    assert run.outcome is ds.Outcome.COMPLETED


def test_a_parser_that_is_too_slow_is_stopped(tmp_path: Path) -> None:
    from daesolve.multibody.model_files.parsing import parsed

    path = tmp_path / "model.xml"
    path.write_text(WORLD.format(BODY.format(0.1)))
    with pytest.raises(ModelFileError, match=r"within 0\.001 s"):
        parsed(path, seconds=1e-3)
