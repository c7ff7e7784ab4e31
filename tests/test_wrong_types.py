"""Values of the wrong type are refused by name before anything is computed with them."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import daesolve as ds
from daesolve.cli.app import app
from daesolve.errors import (
    OutOfRangeError,
    PosingError,
    UndefinedDegreeError,
    UnknownNameError,
    UnsupportedError,
)

from .systems import pendulum
from .test_bad_input import feedback, posed, solved


def controlled(goal):
    """a' = b, b' = u."""
    x, u = ds.states(a="m", b="m/s"), ds.reactions(push="N")
    return ds.ControlSystem(x, {"a": x.b, "b": u.push}, controls=u, goals=[ds.Goal("g", goal(x))])


FAULTS = {
    "until a word": (OutOfRangeError, "until is 'x'", lambda: solved(until="x")),
    "until None": (OutOfRangeError, "until is None", lambda: solved(until=None)),
    "until a list": (OutOfRangeError, r"until is \[1.0\]", lambda: solved(until=[1.0])),
    "until true": (OutOfRangeError, "until is True", lambda: solved(until=True)),
    "until too large": (OutOfRangeError, "until is 1000", lambda: solved(until=10**400)),
    "start time a word": (OutOfRangeError, "the start time is '0'",
                          lambda: solved(start_time="0")),
    "parameters a list": (OutOfRangeError, "parameters must be a mapping",
                          lambda: solved(parameters=[1.0])),
    "a parameter's name": (UnknownNameError, "unknown parameter 3",
                           lambda: solved(parameters={3: 1.0})),
    "scales a list": (OutOfRangeError, "scales must be a mapping", lambda: solved(scales=[1.0])),
    "a scale a word": (OutOfRangeError, "scale of the goal 'energy' is 'x'",
                       lambda: solved(scales={"energy": "x"})),
    "a solver's name": (UnknownNameError, "unknown solver 'tailor': did you mean 'taylor'",
                        lambda: solved(solver="tailor")),
    "a solver a number": (UnsupportedError, r"the solver is 3.*ds.Taylor\(\)",
                          lambda: solved(solver=3)),
    "a solver's class": (UnsupportedError, r"ds.Taylor\(\)", lambda: solved(solver=ds.Taylor)),
    "a formulation's name": (UnknownNameError, "unknown formulation 'index-4': did you mean",
                             lambda: solved(formulation="index-4")),
    "a formulation a number": (UnsupportedError, r"the formulation is 3.*ds.Feedback\(\)",
                               lambda: solved(formulation=3)),
    "a repeating solver's name": (UnknownNameError, "unknown solver 'tailor'",
                                  lambda: solved(verify="tailor")),
    "a repeating number": (OutOfRangeError, "verify is 3, but must be True, False, 'same'",
                           lambda: solved(verify=3)),
    "a formulation's class": (UnsupportedError, r"ds.Feedback\(\)",
                              lambda: solved(formulation=ds.Feedback)),
    "rates a list": (OutOfRangeError, "rates must map", lambda: feedback(rates=["rod"])),
    "a rate a list": (OutOfRangeError, "the rate is", lambda: feedback(rate=[1.0])),
    "default rate a word": (OutOfRangeError, "rate is 'x'", lambda: solved(default_rate="x")),
    "samples a word": (OutOfRangeError, "not '0.5'", lambda: solved(at="0.5")),
    "samples words": (OutOfRangeError, "must be numbers", lambda: solved(at=["a"])),
    "samples ragged": (OutOfRangeError, "must be numbers", lambda: solved(at=[[0.1], [0.2, 0.3]])),
    "samples nan": (OutOfRangeError, "must be numbers", lambda: solved(at=[np.nan])),
    "interval a word": (OutOfRangeError, "interval is 'x'", lambda: ds.every("x")),
    "interval tiny": (OutOfRangeError, "more than 1e.08 samples",
                      lambda: solved(at=ds.every(1e-300))),
    "system None": (PosingError, "not NoneType", lambda: ds.solve(None, 1.0)),
    "system a case": (PosingError, "case has its own solve",
                      lambda: ds.solve(ds.problem("pendulum").case(), 1.0)),
    "a goal's name": (PosingError, "goal name 1", lambda: ds.Holonomic(1, ds.time)),
    "a goal's rate": (OutOfRangeError, "'c' is 'x'", lambda: ds.Holonomic("c", ds.time, rate="x")),
    "force a number": (PosingError, "by names or as a column", lambda: posed(force=1.0)),
    "kinetic a word": (PosingError, "kinetic energy must be", lambda: posed(kinetic="T")),
    "potential None": (PosingError, "potential must be", lambda: posed(potential=None)),
    "coordinates a word": (PosingError, "coordinates must be",
                           lambda: ds.MechanicalSystem("x", kinetic=1.0)),
    "no coordinates": (PosingError, "at least one",
                       lambda: ds.MechanicalSystem(ds.coordinates(), kinetic=0.0)),
    "output of three": (PosingError, "output 'o' must be an expression or",
                        lambda: posed(outputs=lambda q, p: {"o": (q.x, "m", 1)})),
    "output's unit": (PosingError, "output 'o'",
                      lambda: posed(outputs=lambda q, p: {"o": (q.x, 3)})),
    "coordinate's unit": (PosingError, "unit of the coordinate 'x' is 3",
                          lambda: ds.coordinates(x=3)),
    "parameter's unit": (PosingError, "unit of the parameter 'm' is None",
                         lambda: ds.parameters(m=(1.0, None))),
    "parameter a word": (OutOfRangeError, "'m' must be a number", lambda: ds.parameters(m="1")),
    "parameter None": (OutOfRangeError, "'m' must be a number", lambda: ds.parameters(m=None)),
    "parameter a list": (OutOfRangeError, "'m' must be a number",
                         lambda: ds.parameters(m=[1.0, "kg"])),
    "parameter's range": (PosingError, "not an Interval", lambda: ds.parameters(m=(1.0, "kg", 3))),
    "parameter of four": (PosingError, "value, unit, range",
                          lambda: ds.parameters(m=(1.0, "kg", ds.POSITIVE, 1))),
    "parameter of none": (PosingError, "value, unit, range", lambda: ds.parameters(m=())),
    "auxiliary a word": (PosingError, "auxiliary 'x'", lambda: ds.auxiliaries(x="a")),
    "time of a result": (OutOfRangeError, "the time is 'x'", lambda: solved().at("x")),
    "a case's name": (UnknownNameError, "unknown case 3", lambda: ds.problem("pendulum").case(3)),
    "no model": (UnknownNameError, "unknown model ''",
                 lambda: ds.problem("pendulum").case(model="")),
    "a problem's name": (UnknownNameError, "unknown problem None", lambda: ds.problem(None)),
    "a case's start": (OutOfRangeError, "'x' must be a number, not 'a'",
                       lambda: ds.problem("pendulum").case().solve(1.0, initial={"x": "a"})),
    "a case's starts": (OutOfRangeError, "initial must be a mapping",
                        lambda: ds.problem("pendulum").case().solve(1.0, initial=[1.0])),
    "around incomplete": (OutOfRangeError, "around has no value for the state 'y'",
                          lambda: pendulum().function("rhs", {"x": 1.0})),
    "quadratic in a speed": (UndefinedDegreeError, "'g'.*where b = 0",
                             lambda: controlled(lambda x: x.b**2 - 1)),
    "an energy": (UndefinedDegreeError, "'g'.*where b = 0",
                  lambda: controlled(lambda x: x.a**2 + x.b**2 - 1)),
}  # fmt: skip


@pytest.mark.default_rows(16)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_type_is_reported_by_name(fault):
    kind, words, request = FAULTS[fault]
    with pytest.raises(kind, match=words):
        request()


def test_numbers_of_any_kind_are_numbers():
    for mass in (2, 2.0, np.float32(2.0), np.int64(2)):
        assert solved(parameters={"mass": mass}, until=0.1).outcome is ds.Outcome.COMPLETED


def test_a_goal_that_is_linear_in_a_speed_is_taken():
    assert controlled(lambda x: x.a - 1.0).dynamics.rows[0].degree == 2


MODELS = {
    "raises": ("    raise ValueError('boom')\n", "ValueError: boom"),
    "names a stranger": ("    return k\n", "NameError"),
    "returns nothing": ("    pass\n", "must return a system, not NoneType"),
}


@pytest.mark.parametrize("fault", MODELS)
def test_a_model_that_cannot_be_posed_ends_with_status_2(fault, tmp_path):
    body, told = MODELS[fault]
    path = tmp_path / "mine.py"
    path.write_text(
        f"import daesolve as ds\ndef model():\n{body}"
        "problem = ds.Problem('p', title='', models={'one': model},\n"
        "    cases=[ds.Case('a', until=1.0)])\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, ["run", str(path)])
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("times", ["", ","])
def test_times_without_any_end_with_status_2(times):
    result = CliRunner().invoke(app, ["run", "pendulum", "--at", times])
    assert result.exit_code == 2
    assert "--at needs times" in result.stderr


def test_a_file_of_parameters_that_is_no_text_ends_with_status_2(tmp_path):
    path = tmp_path / "numbers.json"
    path.write_bytes(b"\xff\xfe\x00")
    result = CliRunner().invoke(app, ["run", "pendulum", "--parameters", str(path)])
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
