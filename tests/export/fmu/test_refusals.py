"""What a unit cannot be made of is refused by name, and what ends a motion ends it there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from fmpy.fmi3 import FMU3Slave

import daesolve as ds
from daesolve.errors import (
    InconsistentStateError,
    MissingBackendError,
    MissingPackageError,
    OutOfRangeError,
    StorageError,
    UnsupportedError,
)
from daesolve.export.fmu import building, exporting, findings, to_fmu
from tests.export.fmu.driving import Log, begun, cart_pole, opened, pendulum


def five_walls() -> ds.MechanicalSystem:
    """Pose a mass between five walls."""
    q = ds.coordinates(x="m", y="m")
    walls = [
        ds.Contact(f"wall_{k}", 1.0 + np.cos(k) * q.x + np.sin(k) * q.y, closed=False)
        for k in range(5)
    ]
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, goals=walls)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("n-trailer-back-the input 'steer' appears in the constraint 'steered'")
@pytest.mark.parametrize(
    ("problem", "case", "said"),
    [
        ("bouncing-ball-3d", "tennis", "at the contacts 'floor' is decided by complementarity"),
        ("prism", "two-solutions", "the pairs of supports is decided by complementarity"),
        ("n-trailer", "back", "the input 'steer' appears in the constraint 'steered'"),
    ],
)
def test_cases_that_no_expression_decides_are_refused(
    tmp_path: Path, problem: str, case: str, said: str
) -> None:
    with pytest.raises(UnsupportedError, match=said):
        ds.problem(problem).case(case).to_fmu(tmp_path / "no.fmu", horizon=1.0)
    assert not [*tmp_path.iterdir()]


def test_more_than_four_contacts_are_refused_by_their_names(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"'wall_3', 'wall_4' open, stick .* at most 4"):
        five_walls().to_fmu(tmp_path / "no.fmu", {"x": 0.0, "x_dot": 1.0})


def test_a_brake_beside_a_rough_floor_is_refused_by_its_name(tmp_path: Path) -> None:
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.1)
    brake = ds.multibody.Coulomb(0.2, 0.3).act("brake", q.dot.x, 5.0)
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[floor, *brake.goals],
        force={"x": brake.force},
        discrete=brake.discrete,
        events=brake.events,
    )
    with pytest.raises(UnsupportedError, match="dry friction 'brake' stick and slide is decided"):
        block.to_fmu(tmp_path / "no.fmu", {"x": 0.0, "x_dot": 1.0})
    assert not [*tmp_path.iterdir()]


def test_a_reset_that_may_jump_past_a_contact_is_refused(tmp_path: Path) -> None:
    q = ds.coordinates(y="m")
    ground = ds.Contact("ground", q.y, restitution=0.5, closed=False)
    down = ds.Event("down", ds.time - 1.0, ds.RISING, ds.Reset({"y": q.y - 1.0}))
    ball = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, goals=[ground], events=[down])
    with pytest.raises(UnsupportedError, match="'down' may jump past the contact 'ground'"):
        ball.to_fmu(tmp_path / "no.fmu", {"y": 1.0, "y_dot": 0.0})


def test_laws_in_python_and_formulations_with_multipliers_are_refused(tmp_path: Path) -> None:
    def decide(seen: object) -> float:
        return math.copysign(1.0, seen.angle)  # pyright: ignore

    law = ds.sampled("relay", 0.1, decide, traced=False)
    with pytest.raises(UnsupportedError, match="'relay' is a Python function"):
        cart_pole().to_fmu(tmp_path / "no.fmu", {"angle": 0.1}, inputs={"torque": law})
    with pytest.raises(UnsupportedError, match="use 'feedback'"):
        pendulum(-2.0).to_fmu(tmp_path / "no.fmu", {"x": 0.6}, formulation="null-space")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerance": 2.0}, "between 0 and 1"),
        ({"horizon": -1.0}, "must be a number > 0"),
    ],
)
def test_numbers_that_are_none_are_refused(
    tmp_path: Path, options: dict[str, float], said: str
) -> None:
    with pytest.raises(OutOfRangeError, match=said):
        to_fmu(cart_pole(), tmp_path / "no.fmu", **options)  # pyright: ignore
    with pytest.raises(UnsupportedError, match="to_fmu takes no 'solver'"):
        to_fmu(cart_pole(), tmp_path / "no.fmu", solver="dop853")


def test_without_a_compiler_or_fmpy_a_sentence_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building.shutil, "which", lambda _: None)
    with pytest.raises(MissingBackendError, match="a C compiler, but none is installed here: "):
        cart_pole().to_fmu(tmp_path / "no.fmu")

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(exporting, "import_module", absent)
    (tmp_path / "any.fmu").touch()
    with pytest.raises(MissingPackageError, match=r"pip install 'daesolve\[fmi\]'"):
        findings(tmp_path / "any.fmu")
    with pytest.raises(OutOfRangeError, match=r"the file .* does not exist"):
        findings(tmp_path / "none.fmu")


@pytest.mark.slow
def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"none/cart\.fmu cannot be written: No such file"):
        cart_pole().to_fmu(tmp_path / "none" / "cart.fmu")


@pytest.mark.slow
def test_a_stop_asks_the_tool_to_terminate_at_its_instant(tmp_path: Path) -> None:
    q = ds.coordinates(height="m")
    lands = ds.Event("lands", q.height, ds.FALLING, ds.Stop())
    stone = ds.MechanicalSystem(
        q, kinetic=q.dot.height**2 / 2, potential=10.0 * q.height, events=[lands]
    )
    log = Log()
    path = stone.to_fmu(tmp_path / "stone.fmu", {"height": 5.0}).path
    unit, variables = opened(path, FMU3Slave, log)
    begun(unit, tolerance=1e-13)
    _, terminates, _, last = unit.doStep(0.0, 2.0)
    assert terminates
    # The height is a parabola, which the method has without an error: t = sqrt(2 h / g) = 1 s.
    assert abs(last - 1.0) <= 4.0 * np.spacing(1.0)
    assert abs(unit.getFloat64([variables["height_dot"]])[0] + 10.0) < 1e-13
    assert "the motion ends at t = 1 s: lands" in log.lines[-1]
    unit.freeInstance()


@pytest.mark.slow
def test_a_unit_has_the_same_bytes_whenever_it_is_written(tmp_path: Path) -> None:
    one = cart_pole().to_fmu(tmp_path / "cart.fmu", {"angle": 0.1}).path.read_bytes()
    assert cart_pole().to_fmu(tmp_path / "cart.fmu", {"angle": 0.1}).path.read_bytes() == one


def test_a_run_as_the_start_is_refused(tmp_path):
    """What a run has decided, such as what a sampled law holds, a unit decides anew."""
    q = ds.coordinates(x="m")
    spring = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    run = ds.solve(spring, 1.0, {"x": 1.0})
    with pytest.raises(ds.errors.OutOfRangeError, match=r"initial=dict\(run.end_state\)"):
        spring.to_fmu(tmp_path / "spring.fmu", run)


def test_a_start_that_an_input_of_zero_spoils_names_the_input(tmp_path: Path) -> None:
    q, u = ds.coordinates(x="m"), ds.inputs(far="m")
    stop = ds.Contact("stop", u.far - q.x, closed=False)
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, goals=[stop], inputs=u)
    with pytest.raises(InconsistentStateError, match="not given, here 'far', are zero at the sta"):
        to_fmu(system, tmp_path / "stop.fmu", {"x": 1.0})
