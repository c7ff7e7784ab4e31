"""Runs whose inputs change: measured forces, kept on disk, killed, resumed, verified."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import daesolve as ds
from daesolve.errors import NotResumableError, UnsupportedError

COUNT = 1000


def measured():
    """A force at a thousand uneven times: a swing and noise."""
    generator = np.random.default_rng(3)
    times = np.cumsum(generator.uniform(0.005, 0.015, COUNT))
    times -= times[0]
    return times, 5 * np.sin(3 * times) + generator.normal(size=COUNT)


def pendulum(force, q, **options):
    """A cart of 2 kg with a pendulum of 0.7 kg and 1 m, in minimal coordinates."""
    across = q.dot.x + q.dot.phi * ca.cos(q.phi)
    kinetic = q.dot.x**2 + 0.35 * (across**2 + (q.dot.phi * ca.sin(q.phi)) ** 2)
    potential = -0.7 * 9.81 * ca.cos(q.phi)
    return ds.MechanicalSystem(
        q, kinetic=kinetic, potential=potential, force={"x": force}, **options
    )


def pushed():
    q, u = ds.coordinates(x="m", phi="rad"), ds.inputs(push="N", damp=(0.0, "N"))
    return pendulum(u.push + u.damp, q, inputs=u)


@pytest.mark.long_beyond(1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_a_thousand_measured_points_are_integrated_as_piece_by_piece(kind):
    times, values = measured()
    run = ds.solve(
        pushed(), times[-1], {"phi": 0.4}, inputs={"push": ds.table("pull", times, values, kind)}
    )
    q = ds.coordinates(x="m", phi="rad")
    p = ds.parameters(c_0=0.0, c_1=0.0, c_2=0.0, c_3=0.0, base=0.0)
    away = ds.time - p.base
    system = pendulum(p.c_0 + away * (p.c_1 + away * (p.c_2 + away * p.c_3)), q, parameters=p)
    rows = np.zeros((4, COUNT - 1))
    if kind == "cubic":
        rows = CubicSpline(times, values).c[::-1]
    else:
        rows[0], rows[1] = values[:-1], np.diff(values) / np.diff(times)
    state = {"phi": 0.4}
    for k in range(COUNT - 1):
        given = {f"c_{power}": float(rows[power, k]) for power in range(4)}
        piece = ds.solve(
            system, times[k + 1], state, start_time=times[k],
            parameters={**given, "base": times[k]}, solver="taylor", at=[],
        )  # fmt: skip
        state = {name: piece.end_state[name] for name in ("x", "phi", "x_dot", "phi_dot")}
    assert max(abs(run.end_state[name] - state[name]) for name in state) < 1e-12


RUN = textwrap.dedent("""
    import os, signal, sys
    import daesolve as ds
    from tests.core.run.integration.test_driven_runs import driving, pushed

    def progress(time, monitor, events):
        if time >= float(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    ds.solve(pushed(), 60.0, {"phi": 0.4}, inputs=driving(), store=sys.argv[1], progress=progress)
""")


def driving():
    """A table, and a law with a state of its own and a delay."""
    times, values = measured()

    def law(seen):
        return -seen.x - seen.x_dot - 0.1 * seen.sum, {"sum": seen.sum + 0.02 * seen.x}

    damp = ds.sampled("brake", 0.02, law, delay=0.013, states={"sum": 0.0})
    return {"push": ds.table("pull", times, values, "cubic"), "damp": damp}


def columns(directory):
    run = ds.Trajectory.from_run(directory)
    return {name: np.array(run[name]) for name in ("x", "phi", "phi_dot", "push", "damp")}


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_bits(tmp_path):
    for directory, until in (("whole", "inf"), ("killed", "30")):
        words = [sys.executable, "-c", RUN, str(tmp_path / directory), until]
        root = Path(__file__).parents[4]
        path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        status = subprocess.run(words, check=False, env={**os.environ, "PYTHONPATH": path})
        assert status.returncode == (0 if directory == "whole" else -signal.SIGKILL)
    # Nothing is given once more: the directory holds the table and the law.
    run = ds.resume(tmp_path / "killed", source=pushed())
    assert run.outcome is ds.Outcome.COMPLETED
    whole, killed = columns(tmp_path / "whole"), columns(tmp_path / "killed")
    assert all(np.array_equal(whole[name], killed[name]) for name in whole)


@pytest.mark.slow
def test_what_drives_a_run_is_on_disk_as_data_and_others_are_refused(tmp_path):
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    given = {
        "number": 2.0,
        "words": "sin(t)",
        "expression": 3 * ca.cos(q.x) + ds.time,
        "table": ds.table("pull", [0, 1], [1, 2]),
        "law": ds.sampled("loop", 0.1, -q.x, limits=(-1, 1)),
    }
    for name, value in given.items():
        run = ds.solve(system, 1.0, {"x": 0.5}, inputs={"push": value}, store=tmp_path / name)
        longer = ds.resume(tmp_path / name, 2.0, source=system)
        again = ds.solve(system, 2.0, {"x": 0.5}, inputs={"push": value})
        assert run.outcome is ds.Outcome.COMPLETED
        assert abs(longer.end_state["x"] - again.end_state["x"]) < 1e-13
    other = ds.table("pull", [0, 1], [1, 3])
    with pytest.raises(NotResumableError, match="the inputs differ from those"):
        ds.resume(tmp_path / "table", 3.0, source=system, inputs={"push": other})


@pytest.mark.slow
def test_laws_that_share_parts_with_others_and_with_the_system_are_resumed(tmp_path):
    """A directory holds each by itself: the run begins with them as it finds them there."""
    q, u = ds.coordinates(x="m", y="m"), ds.inputs(push="N", pull="N", wind="N")
    shared = ca.cos(q.x) + q.y**2
    system = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=shared,
        force={"x": u.push + u.wind, "y": u.pull},
        inputs=u,
    )
    inputs = {
        "push": ds.sampled("first", 0.1, -shared * q.dot.x),
        "pull": ds.sampled("second", 0.1, shared - q.dot.y),
        "wind": shared * q.y,
    }
    begin = {"x": 0.5, "y": 0.2, "x_dot": 0.0, "y_dot": 0.0}
    ds.solve(system, 0.5, begin, inputs=inputs, store=tmp_path / "run")
    longer = ds.resume(tmp_path / "run", 1.0, source=system)
    whole = ds.solve(system, 1.0, begin, inputs=inputs, store=tmp_path / "whole")
    for name, value in whole.end_state.items():
        assert longer.end_state[name] == pytest.approx(value, abs=1e-13)


@pytest.mark.slow
def test_a_law_in_python_is_given_once_more(tmp_path):
    q, u = ds.coordinates(x="m"), ds.inputs(push="N")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2, force={"x": u.push}, inputs=u)
    law = ds.sampled("loop", 0.1, lambda seen: -1.0 if seen.x > 0 else 1.0, traced=False)
    ds.solve(system, 1.0, {"x": 0.5}, inputs={"push": law}, store=tmp_path)
    with pytest.raises(NotResumableError, match="the sampled law 'loop' is not stored on disk"):
        ds.resume(tmp_path, 2.0, source=system)
    longer = ds.resume(tmp_path, 2.0, source=system, inputs={"push": law})
    again = ds.solve(system, 2.0, {"x": 0.5}, inputs={"push": law})
    assert abs(longer.end_state["x"] - again.end_state["x"]) < 1e-13
    with pytest.raises(UnsupportedError, match="no derivative"):
        ds.analysis.sensitivity(
            system, by=["x"], until=1.0, initial={"x": 0.5}, inputs={"push": law}
        )


@pytest.mark.long
def test_a_driven_run_is_verified_by_another_method_and_compared():
    times, values = measured()
    table = ds.table("pull", times[:60], values[:60], "cubic")
    system, options = pushed(), {"initial": {"phi": 0.4}, "inputs": {**driving(), "push": table}}
    run = ds.solve(system, 0.6, verify=True, **options)
    assert run.verification is not None
    assert max(run.verification.difference.values()) < 1e-9
    found = ds.compare(system, ["feedback"], ["taylor", "dop853"], until=0.6, **options)
    ends = [one.trajectory.end_state["x"] for one in found.runs]
    assert abs(ends[0] - ends[1]) < 1e-11


def _two_laws(swapped):
    """A mass on a spring is pushed by two laws, each of which sees the push of the other."""
    q, u = ds.coordinates(x="m"), ds.inputs(f=(0.0, "N"), g=(0.0, "N"))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": u.f + u.g - q.x}, inputs=u)
    laws = {
        "f": ds.sampled("F", 0.1, lambda seen: 1.0 - seen.x - 0.5 * seen.g),
        "g": ds.sampled("G", 0.1, lambda seen: 0.3 - 0.5 * seen.f),
    }
    inputs = dict(reversed(laws.items())) if swapped else laws
    return ds.solve(system, 3.0, {"x": 1.0}, inputs=inputs)


@pytest.mark.parametrize("swapped", [False, True])
def test_laws_that_are_due_together_see_what_was_there_before(swapped):
    f = g = 0.0
    x, v = 1.0, 0.0
    for _ in range(30):
        f, g = 1.0 - x - 0.5 * g, 0.3 - 0.5 * f
        away, c, s = x - f - g, np.cos(0.1), np.sin(0.1)
        x, v = f + g + away * c + v * s, v * c - away * s
    run = _two_laws(swapped)
    # 30 stretches, in each of which rounding moves a state by a few units in the last place.
    assert run.end_state["x"] == pytest.approx(x, abs=30 * 1e-15)
    assert run.end_state["x_dot"] == pytest.approx(v, abs=30 * 1e-15)
    assert run.audit().holds


@pytest.mark.parametrize("traced", [True, False])
def test_a_law_sees_all_turns_of_an_angle(traced):
    q, u = ds.coordinates(phi=ds.ANGLE), ds.inputs(f=(0.0, "N m"))
    system = ds.MechanicalSystem(q, kinetic=q.dot.phi**2 / 2, force={"phi": u.f}, inputs=u)
    law = ds.sampled("L", 0.2, lambda seen: -0.05 * (seen.phi - 100.0), traced=traced)
    run = ds.solve(system, 4.0, {"phi_dot": 30.0}, inputs={"f": law})
    phi, rate = 0.0, 30.0
    for _ in range(20):
        push = -0.05 * (phi - 100.0)
        phi, rate = phi + 0.2 * rate + 0.02 * push, rate + 0.2 * push
    assert run.end_state["phi"] == pytest.approx(phi, rel=1e-13)
    assert run.audit().holds
