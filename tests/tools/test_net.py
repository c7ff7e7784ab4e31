"""The net tells whether results are the same in every bit."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import daesolve as ds
from tools.net import analyses, commands, motions, names, stored, systems
from tools.net.__main__ import foreign, main
from tools.net.comparing import differences
from tools.net.fingerprints import digest
from tools.net.registry import NET, fingerprint

QUICK = "asked at times"


def swing(gravity):
    """The quick run, with another gravity."""
    run = NET[QUICK]
    return motions.Posed(
        run.system, run.until, run.initial, {**run.options, "parameters": {"gravity": gravity}}
    )


def record(file, *only):
    assert main(["record", str(file), "--only", *only]) == 0
    return json.loads(file.read_text(encoding="utf-8"))


def test_a_run_that_is_recorded_twice_is_alike(tmp_path, capsys):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    assert list(record(before, QUICK)) == [QUICK]
    record(after, QUICK)
    capsys.readouterr()
    assert main(["compare", str(before), str(after)]) == 0
    assert capsys.readouterr().out == "1 of 1 runs are alike in every bit\n"


def test_one_bit_of_a_parameter_is_seen(tmp_path, capsys, monkeypatch):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    monkeypatch.setitem(NET, QUICK, swing(9.81))
    record(before, QUICK)
    monkeypatch.setitem(NET, QUICK, swing(math.nextafter(9.81, 10.0)))
    record(after, QUICK)
    capsys.readouterr()
    assert main(["compare", str(before), str(after)]) == 1
    line, summary = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{QUICK}: ")
    assert "parameters" in line
    assert summary == "0 of 1 runs are alike in every bit"


def test_one_bit_of_a_state_is_seen():
    states = np.linspace(0.0, 1.0, 5)
    other = states.copy()
    other[2] = np.nextafter(other[2], 1.0)
    assert digest({"x": states}) == digest({"x": states.copy()})
    assert digest({"x": states}) != digest({"x": other})
    assert digest(0.0) != digest(-0.0)
    with pytest.raises(TypeError):
        digest(object())


def test_what_differs_is_reported_by_run_and_field():
    one = {"end_state": {"x": "1.0", "y": "2.0"}, "states": "a", "outcome": "completed"}
    other = {"end_state": {"x": "1.0", "y": "2.5"}, "states": "b", "outcome": "completed"}
    raised = {"raised": "ValueError", "message": "it cannot be"}
    before = {"moved": one, "raising": one, "gone": one, "same": one}
    after = {"moved": other, "raising": raised, "new": one, "same": one}
    assert differences(before, after) == [
        "gone: only in the first recording",
        "moved: end_state, states; end state by 2.0e-01 (y 2 -> 2.5)",
        "new: only in the second recording",
        "raising: completed -> raised ValueError (it cannot be)",
    ]


def test_what_is_raised_is_the_fingerprint(monkeypatch):
    found = fingerprint("refused name")
    assert found["raised"] == "UnknownNameError"
    assert "lenght" in found["message"]


def test_a_name_that_moved_to_a_section_is_found(monkeypatch):
    monkeypatch.setattr(names, "modules", lambda: [SimpleNamespace(Moved="moved")])
    assert names.Moved == "moved"


def test_every_part_of_the_net_has_runs_and_only_public_names():
    modules = [analyses, commands, motions, stored]
    assert all(module.__doc__ for module in modules)
    assert len(NET) > 150
    assert names.Mechanism is names.public("Mechanism")
    with pytest.raises(AttributeError, match="no public name 'prepare'"):
        names.public("prepare")
    assert foreign() == []
    assert isinstance(systems.block(), ds.MechanicalSystem)
