"""Derivatives of states, outputs and reactions at the samples of a run, and at its events."""

from __future__ import annotations

import csv
import json
import math

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import UnknownNameError
from tests.analysis.test_sensitivity import swing
from tests.derivatives import ROUNDING, ball, exact
from tests.systems import pendulum, projectile


def test_pendulum_has_the_derivatives_of_its_elliptic_functions_at_every_sample():
    times = [2.0, 0.0, 0.7, 1.3]
    start, by = -0.6, ["x", "gravity"]
    found = ds.analysis.sensitivity(
        pendulum(), 2.0, {"x": start}, guess={"y": -0.8}, by=by, at=times
    )
    along, run = found.along, found.run
    assert along is not None
    assert along.times.tolist() == run.times.tolist() == times
    y0 = -math.sqrt(1.0 - start**2)
    for k, time in enumerate(times):
        by_start, by_gravity = exact(lambda x, g, t=time: swing(x, 1, g, t), [start, 9.81])
        assert along["x"][k] == pytest.approx([by_start, by_gravity], rel=2e-13, abs=1e-14)
        x, y = run["x"][k], run["y"][k]
        assert along["y", "gravity"][k] == pytest.approx(-x / y * by_gravity, rel=1e-12, abs=1e-13)
        # m v^2 = 2 m g (y0 - y), and the rod (x^2 + y^2 - l^2 = 0) pulls by l = m (g y - v^2) / 2.
        moved = np.array([-x / y * by_start, -x / y * by_gravity])
        fallen = np.array([-start / y0, 0.0]) - moved
        pull = (9.81 * moved - 2 * 9.81 * fallen + np.array([0.0, y - 2 * (y0 - y)])) / 2
        (rod,) = found.run.reactions
        size = run.reactions[rod][k] / ((9.81 * y - 2 * 9.81 * (y0 - y)) / 2)
        assert along[rod][k] == pytest.approx(size * pull, rel=1e-11, abs=1e-12)
    assert found.matrix[0] == pytest.approx(along["x"][0], rel=1e-14)


def flight(time, height, gravity, restitution):
    """y and y' of a dropped ball at a time, in closed form."""
    fall = mp.sqrt(2 * height / gravity)
    moment, speed = mp.mpf(0), mp.mpf(0)
    y, following, count = height, fall, 0
    while following < time:
        moment, count = following, count + 1
        y, speed = mp.mpf(0), restitution**count * gravity * fall
        following = moment + 2 * speed / gravity
    since = time - moment
    return y + speed * since - gravity * since**2 / 2, speed - gravity * since


def test_bouncing_ball_has_its_exact_derivatives_at_every_sample():
    values = {"y": 1.0, "gravity": 9.81, "restitution": 0.8}
    found = ds.analysis.sensitivity(
        ball(), 2.5, {"y": 1.0, "y_dot": 0.0}, by=list(values), at=ds.every(0.1)
    )
    assert found.run.event_count >= 3
    along = found.along
    assert along is not None
    for k, time in enumerate(along.times.tolist()):
        for row, name in enumerate(("y", "y_dot")):
            expected = exact(lambda *v, t=time, r=row: flight(t, *v)[r], [*values.values()])
            assert along[name][k] == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_a_sample_at_an_event_is_the_arrival_and_the_event_has_both_sides():
    found = ds.analysis.sensitivity(
        ball(), 0.6, {"y": 9.81 / 8, "y_dot": 0.0}, by=["y"], at=[0.5, 0.6]
    )
    # It falls for 1/2 s: at a fixed time y is h - g t^2 / 2; the impact is dh / v later.
    assert found.run.events[0].time == 0.5
    assert found.along is not None
    assert found.along["y", "y"][0] == pytest.approx(1.0, rel=ROUNDING)
    assert found.along["y_dot", "y"][0] == pytest.approx(0.0, abs=ROUNDING)
    before, after = found.event_states[0]
    speed = 9.81 / 2
    assert before[:, 0] == pytest.approx([0.0, -9.81 / speed], abs=ROUNDING)
    assert after[:, 0] == pytest.approx([0.0, 0.8 * 9.81 / speed], abs=ROUNDING)


def test_samples_at_every_event_move_with_it():
    found = ds.analysis.sensitivity(
        ball(), 1.0, {"y": 1.0, "y_dot": 0.0}, by=["y", "gravity"], at=ds.every_event()
    )
    assert found.along is not None
    assert found.run.event_count == 1
    assert found.along["y"] == pytest.approx(
        np.array([[1.0, 0.0], [0.0, 0.0], found.matrix[0]]), abs=ROUNDING
    )
    # It arrives with -(2 g h)^(1/2).
    speed = math.sqrt(2 * 9.81)
    expected = [-9.81 / speed, -1.0 / speed]
    assert found.along["y_dot"][1] == pytest.approx(expected, rel=ROUNDING)


def test_the_last_sample_of_a_run_that_an_event_ends_moves_with_its_end():
    system = projectile(events=lambda q: [ds.Event("ground", q.y, ds.FALLING, ds.Stop())])
    found = ds.analysis.sensitivity(
        system, 10.0, {"y": 0.5, "y_dot": 3.0}, by=["y", "y_dot"], at=[0.1, 9.0]
    )
    assert found.along is not None
    assert found.along.times.tolist() == [0.1, found.run.end_time]
    assert found.along["y"] == pytest.approx(np.array([[1.0, 0.1], [0.0, 0.0]]), abs=ROUNDING)
    assert found.along["y_dot"][1] == pytest.approx(found.matrix[1], rel=1e-14)


def test_outputs_know_time_parameters_and_reactions():
    q, p = ds.coordinates(x="m"), ds.parameters(k=(2.0, ""))
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        goals=[ds.Holonomic("led", q.x - p.k * ca.sin(ds.time))],
        outputs={"power": p.k * q.dot.x * ca.cos(ds.time) + ds.time},
    )
    found = ds.analysis.sensitivity(system, 2.0, {}, by=["k"], at=[0.0, 0.5, 2.0])
    assert found.along is not None
    t = found.along.times
    assert found.along["x", "k"] == pytest.approx(np.sin(t), abs=1e-12)
    assert found.along["led", "k"] == pytest.approx(-np.sin(t), abs=1e-12)
    assert found.along["power", "k"] == pytest.approx(4.0 * np.cos(t) ** 2, rel=1e-12)
    table = found.along.to_pandas()
    assert {"x_by_k", "x_dot_by_k", "power_by_k", "reaction_led_by_k"} <= {*table.columns}
    assert table["power_by_k"].tolist() == found.along["power", "k"].tolist()
    assert table.index.tolist() == t.tolist()
    with pytest.raises(UnknownNameError, match="did you mean 'power'"):
        found.along["powr"]
    with pytest.raises(UnknownNameError, match="parameter or start value of the derivatives"):
        found.along["x", "x"]


def test_without_samples_the_end_alone_is_differentiated():
    found = ds.analysis.sensitivity(ball(), 0.1, {"y": 1.0, "y_dot": 0.0}, by=["y"])
    assert found.along is None


def test_the_command_writes_samples_as_a_table(tmp_path):
    pytest.importorskip("daesolve_problems")
    asked = ["analyse", "pendulum", "sensitivity", "--of", "gravity", "--json"]
    told = CliRunner().invoke(app, [*asked, "--at", "0.5,1", "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    answer = json.loads(told.output)
    with (tmp_path / "samples.csv").open() as file:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert rows == answer["samples"]
    assert [row["t"] for row in rows] == [0.5, 1.0]
    assert rows[1]["x_by_gravity"] == answer["derivatives"]["gravity"]["x"]
    refused = CliRunner().invoke(app, ["analyse", "pendulum", "rank", "--at", "1"])
    assert refused.exit_code == 2
    assert "'rank' does not use sample times" in refused.output
    refused = CliRunner().invoke(app, ["analyse", "pendulum", "orbit", "--every", "1"])
    assert refused.exit_code == 2
    assert "'orbit' does not use sample times" in refused.output
