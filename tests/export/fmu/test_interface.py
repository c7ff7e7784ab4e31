"""What a unit answers: saved states, parameters, derivatives, and calls that make no sense."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest

import daesolve as ds
from tests.export.fmu.driving import STEPPED, Log, begun, driven, opened, pendulum

DRIVER = Path(__file__).with_name("driver.c")
RESTORING = """
import sys
import fmpy
from fmpy.fmi3 import FMU3Slave

path, saved, out, until = sys.argv[1:]
about = fmpy.read_model_description(path)
unit = FMU3Slave(
    guid=about.instantiationToken, unzipDirectory=fmpy.extract(path),
    modelIdentifier=about.coSimulation.modelIdentifier, instanceName="other",
)
unit.instantiate()
state = unit.deserializeFMUState(open(saved, "rb").read())
unit.setFMUState(state)
time = unit.getFloat64([0])[0]
for ends in (2.1, 3.7, float(until)):
    unit.doStep(time, ends - time)
    time = unit.getFloat64([0])[0]
open(out, "w").write(repr([value.hex() for value in unit.getFloat64(list(range(9)))]))
unit.freeFMUState(state)
unit.freeInstance()
"""


@pytest.fixture(scope="module")
def wall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a unit of a pendulum that strikes a wall."""
    path = tmp_path_factory.mktemp("unit") / "wall.fmu"
    return pendulum().to_fmu(path, {"x": 0.9}).path


@pytest.mark.slow
def test_a_state_saved_in_one_process_goes_on_in_another_to_the_same_bits(
    wall: Path, tmp_path: Path
) -> None:
    unit, _ = opened(wall)
    begun(unit, tolerance=1e-12)
    unit.doStep(0.0, 1.7)
    state = unit.getFMUState()
    (tmp_path / "saved").write_bytes(bytes(unit.serializeFMUState(state)))
    found: list[str] = []
    for number in range(2):
        out = tmp_path / f"out{number}"
        command = [sys.executable, "-c", RESTORING, str(wall), str(tmp_path / "saved"), str(out)]
        subprocess.run([*command, "5.0"], check=True)
        found.append(out.read_text())
    for begins, ends in ((1.7, 2.1), (2.1, 3.7), (3.7, 5.0)):
        unit.doStep(begins, ends - begins)
    own = repr([value.hex() for value in unit.getFloat64(list(range(9)))])
    assert found == [own, own]
    unit.freeFMUState(state)
    unit.freeInstance()


def test_instances_are_independent_and_a_reset_one_is_as_new(wall: Path) -> None:
    def states(unit: Any) -> list[float]:
        return list(unit.getFloat64(range(1, 5)))

    one, _ = opened(wall)
    other, _ = opened(wall)
    begun(one)
    begun(other)
    before = states(other)
    one.doStep(0.0, 2.0)
    assert states(other) == before
    after = states(one)
    one.reset()
    begun(one)
    assert states(one) == before
    one.doStep(0.0, 2.0)
    assert states(one) == after
    one.freeInstance()
    other.freeInstance()


def test_a_step_lands_where_it_is_asked_to_however_it_is_divided(wall: Path) -> None:
    whole, _ = opened(wall)
    begun(whole, tolerance=1e-13)
    whole.doStep(0.0, 3.0)
    parted, _ = opened(wall)
    begun(parted, tolerance=1e-13)
    for k in range(7):
        parted.doStep(3.0 * k / 7, 3.0 * (k + 1) / 7 - 3.0 * k / 7)
    assert whole.getFloat64([0])[0] == parted.getFloat64([0])[0] == 3.0
    # Steps end elsewhere: what they are apart is of the size of their tolerance.
    assert np.allclose(whole.getFloat64(range(1, 5)), parted.getFloat64(range(1, 5)), atol=1e-10)
    whole.freeInstance()
    parted.freeInstance()


@pytest.mark.slow
def test_a_guard_of_time_passes_where_no_number_lies_between_a_step_and_its_zero(
    tmp_path: Path,
) -> None:
    """Steps of 0.075 s from -8 s add up to one rounding before the zero, or behind it."""
    q, count = ds.coordinates(x="m"), ds.discrete(one=0.0, other=0.0)
    clock = ds.time + 8.0
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        discrete=count,
        events=[
            ds.Event("one", clock - 0.375, ds.EITHER, ds.Reset({"one": count.one + 1})),
            ds.Event("other", clock - 0.53, ds.RISING, ds.Reset({"other": count.other + 1})),
        ],
    )
    unit, variables = opened(system.to_fmu(tmp_path / "c.fmu", {"x": 1.0}, start_time=-8.0).path)
    begun(unit, start=-8.0, tolerance=1e-12)
    time = -8.0
    for _ in range(20):
        _, _, _, time = unit.doStep(time, 0.075)
    values = unit.getFloat64([variables[name] for name in ("one", "other", "x")])
    unit.freeInstance()
    assert values[:2] == [1.0, 1.0]
    assert values[2] == pytest.approx(np.cos(time + 8.0), abs=1e-9)


@pytest.mark.slow
def test_a_contact_answers_at_once_to_an_input_that_jumps(tmp_path: Path) -> None:
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(lift="N", push="N")
    floor = ds.Contact("floor", q.y, restitution=0.5)
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10.0 * q.y,
        goals=[floor],
        force={"y": u.lift, "x": u.push},
        inputs=u,
    )
    unit, variables = opened(block.to_fmu(tmp_path / "block.fmu", {"y": 0.0}).path)
    sim = ds.Simulator(block, {"y": 0.0}, inputs={"lift": 0.0, "push": 0.0})
    begun(unit, tolerance=1e-13)
    names, lifts = ("x", "y", "x_dot", "y_dot"), (4.0, 13.0, 13.0, 0.0, 0.0, 2.0, 14.0, 1.0, 1.0)
    held = [variables[name] for name in ("lift", "push")]
    closed = []
    for k, lift in enumerate(lifts):
        values = sim.step(0.3, lift=lift, push=float(k))
        unit.setFloat64(held, [lift, float(k)])
        unit.doStep(0.3 * k, 0.3 * (k + 1) - 0.3 * k)
        own = unit.getFloat64([variables[name] for name in (*names, "floor")])
        assert np.allclose(own, [values[name] for name in (*names, "floor")], atol=1e-9)
        closed.append(unit.getFloat64([variables["contact_floor"]])[0])
    assert {*closed} == {0.0, 1.0}
    unit.freeInstance()


@pytest.mark.slow
def test_other_parameters_lead_to_a_start_that_constraints_agree_with(tmp_path: Path) -> None:
    system = pendulum(-2.0)
    path = system.to_fmu(tmp_path / "long.fmu", {"x": 0.6}).path
    times = np.linspace(0.0, 3.0, 31)
    shown = driven(path, STEPPED, times, start_values={"length": 1.5, "x": 0.9})
    start = {name: float(shown[name][0]) for name in ("x", "y", "x_dot", "y_dot")}
    assert start["x"] == 0.9
    # The rod is met to rounding of its terms.
    assert abs(start["x"] ** 2 + start["y"] ** 2 - 1.5**2) < 1e-14
    run = ds.solve(system, 3.0, initial=start, parameters={"length": 1.5}, at=times)
    assert max(np.max(np.abs(run[name] - shown[name])) for name in ("x", "y", "y_dot")) < 1e-9


def test_a_start_that_no_constraint_agrees_with_is_an_error(wall: Path) -> None:
    log = Log()
    unit, variables = opened(wall, log=log)
    unit.setFloat64([variables["x"], variables["y"]], [3.0, 0.0])
    unit.enterInitializationMode(startTime=0.0)
    with pytest.raises(Exception, match="error"):
        unit.exitInitializationMode()
    assert "no start with the given values satisfies rod" in log.lines[-1]
    unit.freeInstance()


@pytest.mark.slow
def test_a_start_follows_from_parameters_where_its_rule_is_an_expression(tmp_path: Path) -> None:
    # The wheel rolls: how fast it turns at the start follows from its radius.
    case, times = ds.problem("unicycle").case(), np.linspace(0.0, 2.0, 21)
    path = case.to_fmu(tmp_path / "wheel.fmu").path
    radius = 1.2 * case.full_parameters["wheel_radius"]
    shown = driven(path, STEPPED, times, start_values={"wheel_radius": radius})
    run = case.changed({"wheel_radius": radius}).solve(2.0, at=times)
    assert run["phi_dot"][0] != case.solve(0.1)["phi_dot"][0]
    assert max(np.max(np.abs(shown[state] - run[state])) for state in run.states) < 1e-9


@pytest.mark.slow
def test_a_parameter_from_which_the_start_follows_by_a_rule_is_refused(tmp_path: Path) -> None:
    case = ds.problem("slider-crank").case("spin")
    unit, variables = opened(case.to_fmu(tmp_path / "slider.fmu").path, log=(log := Log()))
    about = fmpy.read_model_description(str(tmp_path / "slider.fmu"))
    ruled = [v.name for v in about.modelVariables if v.description and "rule" in v.description]
    assert {*ruled} == {"crank_length", "rod_length"}
    with pytest.raises(Exception, match="error"):
        unit.setFloat64([variables[ruled[0]]], [0.123])
    assert f"export it again with --set {ruled[0]}=0.123" in log.lines[-1]
    unit.freeInstance()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("contacts", [False, True])
def test_its_sources_compile_without_a_warning_and_run_without_python(
    wall: Path, tmp_path: Path, contacts: bool
) -> None:
    if contacts:
        case = ds.problem("thrown-rod").case("thrown")
        wall = case.to_fmu(tmp_path / "rod.fmu", horizon=4.0).path
    with zipfile.ZipFile(wall) as packed:
        packed.extractall(tmp_path)
    shutil.copy(DRIVER, tmp_path / "sources")
    strict = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]
    checks = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    printed: list[str] = []
    for more in ([], checks):
        subprocess.run(
            [*strict, "-O1", *more, "driver.c", "-lm", "-o", "driver"],
            cwd=tmp_path / "sources", check=True,
        )  # fmt: skip
        done = subprocess.run(
            ["./driver", "4.0"],
            cwd=tmp_path / "sources",
            check=True,
            capture_output=True,
            text=True,
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1] != ""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_its_declarations_are_those_of_the_standard(wall: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wall) as packed:
        packed.extractall(tmp_path)
    headers = Path(fmpy.__file__).parent / "c-code"
    # The standard's headers in place of the unit's own: what is declared otherwise is an error.
    command = ["gcc", "-std=c99", "-fsyntax-only", "-Werror", "-DDAESOLVE_FMI3_H"]
    subprocess.run(
        [*command, f"-I{headers}", "-include", "fmi3Functions.h", "unit.c"],
        cwd=tmp_path / "sources",
        check=True,
    )
    declared = (headers / "fmi3Functions.h").read_text()
    written = "".join(source.read_text() for source in (tmp_path / "sources").glob("*.c"))
    names = {word.removesuffix("TYPE") for word in declared.split() if word.endswith("TYPE")}
    assert names
    for name in names:
        kind = name.removeprefix("fmi3Get").removeprefix("fmi3Set")
        assert name in written or f"OTHER_TYPE({kind}," in written
